"""Runs the clients and servers of the SDK for a test: a line of JSON on standard
input asks, lines of JSON on standard output answer. It ends when its input does."""

import asyncio
import inspect
import itertools
import json
import os
import re
import sys

from a2a.utils.errors import A2AError
from client import Client
from server import Server

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the SDK prints is no answer


def tell(line):
    answers.write(json.dumps(line) + "\n")
    answers.flush()


def describe(error):
    """Tells an error as the protocol names it, or by the status of HTTP."""
    message = str(error)
    status = re.search(r"HTTP (?:Error )?(\d{3})", message)
    if status:
        return {"reason": "HTTP " + status[1], "message": message}
    reason = type(error).__name__.removesuffix("Error") if isinstance(error, A2AError) else ""
    return {"reason": reason, "message": message or repr(error)}


class Root:
    def __init__(self):
        self.objects = {0: self}
        self.ids = itertools.count(1)

    async def client(self, **settings):
        made = next(self.ids)
        self.objects[made] = Client(settings)
        return {"object": made}

    async def server(self, **settings):
        made = next(self.ids)
        server = self.objects[made] = Server()
        await server.start(settings, lambda event: tell({"on": made, "event": event}))
        return {"object": made, "url": server.url, "grpc": server.grpc}

    async def close(self, object):
        await self.objects.pop(object).close()


async def run(call_id, method, params):
    try:
        result = method(**params)
        if inspect.isasyncgen(result):
            async for event in result:
                tell({"id": call_id, "event": event})
            result = None
        else:
            result = await result
        tell({"id": call_id, "result": result})
    except asyncio.CancelledError:
        tell({"id": call_id, "error": {"reason": "Aborted", "message": "the test is no longer interested"}})
    except Exception as error:  # the test judges it
        tell({"id": call_id, "error": describe(error)})


async def main():
    root, running = Root(), {}
    lines = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        asked = json.loads(line)
        call_id = asked["id"]
        if asked["call"] == "abort":
            if call_id in running:
                running[call_id].cancel()
            continue
        method = getattr(root.objects[asked["on"]], asked["call"])
        task = asyncio.create_task(run(call_id, method, asked.get("params") or {}))
        running[call_id] = task
        task.add_done_callback(lambda _, done=call_id: running.pop(done, None))
    os._exit(0)


asyncio.run(main())
