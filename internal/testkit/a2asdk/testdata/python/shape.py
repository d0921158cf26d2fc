"""What the SDK calls things, in the words that the tests use for every SDK."""

import base64

from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value


def state(number):
    return pb.TaskState.Name(number).removeprefix("TASK_STATE_").lower().replace("_", "-")


def to_state(word):
    return pb.TaskState.Value("TASK_STATE_" + word.upper().replace("-", "_"))


def part(p):
    made = {"mediaType": p.media_type, "filename": p.filename}
    match p.WhichOneof("content"):
        case "text":
            made["text"] = p.text
        case "data":
            made["data"] = MessageToDict(p.data)
        case "raw":
            made["raw"] = base64.b64encode(p.raw).decode()
        case "url":
            made["url"] = p.url
    return made


def to_part(p):
    made = pb.Part(media_type=p.get("mediaType", ""), filename=p.get("filename", ""))
    if "text" in p:
        made.text = p["text"]
    elif "data" in p:
        made.data.CopyFrom(ParseDict(p["data"], Value()))
    elif "raw" in p:
        made.raw = base64.b64decode(p["raw"])
    else:
        made.url = p["url"]
    return made


def message(m):
    return {
        "messageId": m.message_id,
        "taskId": m.task_id,
        "contextId": m.context_id,
        "role": pb.Role.Name(m.role).removeprefix("ROLE_").lower(),
        "parts": [part(p) for p in m.parts],
        "metadata": MessageToDict(m.metadata),
    }


def to_message(m):
    return pb.Message(
        message_id=m["messageId"],
        task_id=m.get("taskId", ""),
        context_id=m.get("contextId", ""),
        role=pb.Role.Value("ROLE_" + m.get("role", "user").upper()),
        parts=[to_part(p) for p in m["parts"]],
        metadata=m.get("metadata"),
    )


def artifact(a):
    return {"id": a.artifact_id, "name": a.name, "parts": [part(p) for p in a.parts]}


def task(t):
    return {
        "id": t.id,
        "contextId": t.context_id,
        "state": state(t.status.state),
        "message": message(t.status.message) if t.status.HasField("message") else None,
        "artifacts": [artifact(a) for a in t.artifacts],
        "history": [message(m) for m in t.history],
        "metadata": MessageToDict(t.metadata),
    }


def event(e):
    """An element of a stream, and what answers a message."""
    match e.WhichOneof("payload"):
        case "task":
            return {"task": task(e.task)}
        case "message":
            return {"message": message(e.message)}
        case "status_update":
            u = e.status_update
            told = message(u.status.message) if u.status.HasField("message") else None
            return {"status": {
                "taskId": u.task_id, "contextId": u.context_id, "state": state(u.status.state),
                "message": told, "metadata": MessageToDict(u.metadata),
            }}
        case _:
            u = e.artifact_update
            return {"artifact": {
                "taskId": u.task_id, "contextId": u.context_id, "append": u.append, "lastChunk": u.last_chunk,
                **artifact(u.artifact),
            }}


def card(c):
    return {
        "name": c.name,
        "description": c.description,
        "streaming": c.capabilities.streaming,
        "push": c.capabilities.push_notifications,
        "interfaces": [
            {"url": i.url, "transport": i.protocol_binding, "version": i.protocol_version} for i in c.supported_interfaces
        ],
        "skills": [s.id for s in c.skills],
    }
