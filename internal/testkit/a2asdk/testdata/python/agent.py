"""The agent of the server. The first word of a message selects the script it
plays; what follows is the script's own."""

import asyncio


def text(value):
    return [{"text": value}]


def status(state, value=None):
    return {"status": state, "parts": text(value) if value is not None else None}


def artifact(name, parts, append=False, last=True):
    return {"artifact": name, "parts": parts, "append": append, "last": last}


def chunks(count):
    for i in range(count):
        yield artifact("answer", text(f"{i};"), append=i > 0, last=i == count - 1)


class Turn:
    def __init__(self, task, word, rest):
        self.task, self.word, self.rest = task, word, rest
        self.answer = None
        self.go = asyncio.Event()


class Agent:
    """tell reports what happens to the test."""

    def __init__(self, tell):
        self.tell = tell
        self.turns = {}

    async def play(self, told, known, publish):
        """Publishes the events of one message. known is true if the task exists."""
        word, _, rest = told["text"].partition(" ")
        turn = self.turns.get(told["taskId"]) if known else None
        self.tell({"kind": "continued" if turn else "started", **told})
        if turn:
            turn.answer = told["text"]
        else:
            turn = self.turns[told["taskId"]] = Turn(told["taskId"], word, rest)
        if turn.word != "message":
            if not known:
                await publish({"task": "submitted"})  # a stream begins with the task
            await publish(status("working"))
        async for event in self.script(turn):
            await publish(event)
        self.tell({"kind": "ended", "taskId": turn.task, "contextId": told["contextId"]})

    async def hold(self, turn):
        """Waits until the test lets the turn go on. A cancel ends the wait."""
        self.tell({"kind": "holding", "taskId": turn.task})
        await turn.go.wait()

    async def script(self, turn):
        match turn.word:
            case "stream":
                for event in chunks(int(turn.rest)):
                    yield event
                yield status("completed")
            case "hold":
                for event in chunks(int(turn.rest)):
                    yield event
                await self.hold(turn)
                yield status("completed", "released")
            case "parts":
                yield artifact("prose", text("a text"))
                yield artifact("table", [{"data": {"rows": [1, 2]}}])
                yield artifact("picture", [{"raw": "Ynl0ZXM=", "mediaType": "image/png", "filename": "p.png"}])
                yield artifact("link", [{"url": "https://files.example/report.pdf", "mediaType": "application/pdf", "filename": "report.pdf"}])
                yield status("completed")
            case "ask" | "authorize" if turn.answer is None:
                yield status("input-required" if turn.word == "ask" else "auth-required", turn.rest)
            case "ask" | "authorize":
                yield artifact("answer", text(f"you said {turn.answer}" if turn.word == "ask" else "authorized"))
                yield status("completed")
            case "fail":
                yield status("failed", turn.rest)
            case "reject":
                yield status("rejected", turn.rest)
            case "message":
                yield {"message": text(turn.rest)}
            case _:
                yield artifact("answer", text(turn.rest))
                yield status("completed")

    def release(self, task):
        if task in self.turns:
            self.turns[task].go.set()
