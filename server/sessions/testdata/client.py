"""A client of docs/protocols/sessions.md, written from the page alone: it makes a session and a
turn, follows the events, approves what is asked, and goes on in the same session.

usage: client.py BASE TOKEN
"""

import json
import sys
import urllib.error
import urllib.request

base, token = sys.argv[1], sys.argv[2]


def send(method, path, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Authorization": "Bearer " + token, **(headers or {})}, method=method)
    return urllib.request.urlopen(request, timeout=30)


def call(method, path, body=None, headers=None):
    with send(method, path, body, headers) as response:
        return json.load(response)


def follow(turn, after=0, until="terminal", most=None):
    """Returns the events of a stream to its end, or as many as are wanted."""
    events, number = [], None
    with send("GET", f"/turns/{turn}/events/stream?until={until}", headers={"Last-Event-ID": str(after)}) as stream:
        for line in stream:
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "id":
                number = int(value)
            elif field == "data":
                event = json.loads(value)
                assert event["seq"] == number, (event["seq"], number)
                events.append(event)
                if len(events) == most:
                    break
    return events


def types(events):
    return [e["type"] for e in events if e["visibility"] == "public"]


# Create.
providers = call("GET", "/providers")["providers"]
name = next(p["name"] for p in providers if p.get("default"))
session = call("POST", "/sessions", {"provider": name, "clientRef": "python"})
asked = {"messages": [{"role": "user", "text": "pay"}], "toolRefs": [{"appName": "pay"}]}
turn = call("POST", f"/sessions/{session['id']}/turns", asked, {"Idempotency-Key": "k1"})
again = call("POST", f"/sessions/{session['id']}/turns", asked, {"Idempotency-Key": "k1"})
assert again["id"] == turn["id"], again

# Stream: in two connections, without a gap or a repetition.
first = follow(turn["id"], until="blocked_or_terminal", most=2)
rest = follow(turn["id"], after=first[-1]["seq"], until="blocked_or_terminal")
assert [e["seq"] for e in first + rest] == list(range(1, len(first + rest) + 1)), first + rest
assert types(first + rest)[-2:] == ["interaction.requested", "turn.waiting"], types(first + rest)
assert call("GET", f"/turns/{turn['id']}")["status"] == "waiting_for_input"

# Approval.
(question,) = call("GET", f"/turns/{turn['id']}/interactions")
assert (question["type"], question["state"]) == ("approval", "pending"), question
answer = call("POST", f"/turns/{turn['id']}/interactions/{question['id']}/resolve", {"resolution": {"approved": True}})
assert answer["state"] == "resolved", answer

# Resume: the stream, from the last number, and then the session.
end = follow(turn["id"], after=(first + rest)[-1]["seq"])
assert types(end)[-1] == "turn.completed", types(end)
done = call("GET", f"/turns/{turn['id']}")
text = "".join(e["display"]["text"] for e in end if e["type"] == "assistant.delta")
assert done["status"] == "succeeded" and done["outputText"] == text, (done, text)
latest = max(call("GET", "/sessions?state=active&view=summary&limit=50"), key=lambda s: (s.get("lastTurnAt") or s["createdAt"], s["id"]))
assert latest["id"] == session["id"], latest
more = call("POST", f"/sessions/{latest['id']}/turns", {"messages": [{"role": "user", "text": "and goodbye"}]})
follow(more["id"])
assert call("GET", f"/turns/{more['id']}")["outputText"] == "and goodbye"

# An error.
try:
    call("GET", "/turns/unknown")
    raise AssertionError("a turn that is unknown was found")
except urllib.error.HTTPError as error:
    assert error.code == 404 and json.load(error)["error"] == 'turn "unknown" not found', error
print("done")
