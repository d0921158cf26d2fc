# Drives the server with the vendor's SDK.
import json
import os

import openai
from openai import OpenAI
from pydantic import BaseModel

url = os.environ["URL"] + "/v1"
client = OpenAI(base_url=url, api_key="alice")
chat = client.chat.completions


class Person(BaseModel):
    name: str
    age: int


parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
chat_tool = {"type": "function", "function": {"name": "get_weather", "parameters": parameters, "strict": True}}
tool = {"type": "function", "name": "get_weather", "parameters": parameters, "strict": True}


def say(text):
    return [{"role": "user", "content": text}]


def raises(kind, call, **want):
    try:
        call()
    except kind as e:
        for name, value in want.items():
            assert getattr(e, name) == value, (name, getattr(e, name), value)
        assert e.request_id, e
        return e
    raise AssertionError(f"{kind} is not raised")


def models():
    assert sorted(m.id for m in client.models.list()) == ["clerk", "plain"]
    assert client.models.retrieve("clerk").object == "model"
    raises(openai.NotFoundError, lambda: client.models.retrieve("nope"), code="model_not_found", param="model")


def completions():
    whole = chat.create(model="clerk", messages=say("hi"))
    assert whole.choices[0].message.content == "You said hi" and whole.usage.total_tokens > 0 and whole._request_id, whole
    text, usage = "", None
    for chunk in chat.create(model="clerk", messages=say("hi"), stream=True, stream_options={"include_usage": True}):
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
        usage = chunk.usage
    assert text == "You said hi" and usage.prompt_tokens_details.cached_tokens == 4, (text, usage)
    with chat.stream(model="clerk", messages=say("look")) as stream:
        for _ in stream:
            pass
        assert stream.get_final_completion().choices[0].message.content == "Let me look.\n\nIt is look done."
    parsed = chat.parse(model="clerk", messages=say("json"), response_format=Person)
    assert parsed.choices[0].message.parsed == Person(name="Ada", age=36), parsed
    raises_plain(openai.LengthFinishReasonError, lambda: chat.parse(model="clerk", messages=say("long"), response_format=Person, max_completion_tokens=3))


def raises_plain(kind, call):
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{kind} is not raised")


def functions():
    for prompt, rounds, calls in [("weather again", 2, 1), ("weather twice", 1, 2)]:
        messages = say(prompt)
        for n in range(rounds):
            message = chat.create(model="clerk", messages=messages, tools=[chat_tool], parallel_tool_calls=True).choices[0].message
            assert len(message.tool_calls) == calls and json.loads(message.tool_calls[0].function.arguments) == {"city": "Bern"}, message
            messages.append(message)
            for i, call in reversed(list(enumerate(message.tool_calls))):
                messages.append({"role": "tool", "tool_call_id": call.id, "content": f"sunny {n}{i}"})
        last = chat.create(model="clerk", messages=messages, tools=[chat_tool])
        assert last.choices[0].message.content == ("It is sunny 10." if rounds == 2 else "It is sunny 00 and sunny 01."), last


def responses():
    first = client.responses.create(model="clerk", input="one", metadata={"a": "b"})
    assert first.output_text == "You said one" and first.status == "completed" and first.metadata == {"a": "b"}, first
    second = client.responses.create(model="clerk", input="history", previous_response_id=first.id)
    assert second.output_text.endswith("user:one|assistant:You said one|user:history"), second
    with client.responses.stream(model="clerk", input="look") as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    assert final.output_text == "Let me look.\nIt is look done." and [i.type for i in final.output] == ["message", "mcp_call", "message"], final
    assert client.responses.retrieve(final.id).output_text == final.output_text
    parsed = client.responses.parse(model="clerk", input="json", text_format=Person)
    assert parsed.output_parsed == Person(name="Ada", age=36), parsed
    thought = client.responses.create(model="clerk", input="think", reasoning={"summary": "auto"})
    assert thought.output[0].summary[0].text == "Hm, yes.", thought
    r = client.responses.create(model="clerk", input="weather again", tools=[tool])
    for n in range(2):
        call = r.output[-1]
        output = {"type": "function_call_output", "call_id": call.call_id, "output": f"sunny {n}"}
        r = client.responses.create(model="clerk", input=[output], previous_response_id=r.id, tools=[tool])
    assert r.output_text == "It is sunny 1.", r
    items = [i.type for i in client.responses.input_items.list(r.id, order="asc", limit=1)]
    assert items == ["function_call_output"], items
    cut = client.responses.create(model="clerk", input="long", max_output_tokens=3)
    assert cut.status == "incomplete" and cut.incomplete_details.reason == "max_output_tokens", cut


def approvals():
    asked = client.responses.create(model="clerk", input="pay")
    request = asked.output[-1]
    assert request.type == "mcp_approval_request" and request.name == "pay", asked
    answer = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": True}
    done = client.responses.create(model="clerk", input=[answer], previous_response_id=asked.id)
    assert done.output_text == "It is pay done." and done.output[0].approval_request_id == request.id, done


def background():
    r = client.responses.create(model="clerk", input="hi", background=True)
    assert r.status == "queued", r
    while r.status in ("queued", "in_progress"):
        r = client.responses.retrieve(r.id)
    assert r.output_text == "You said hi", r
    # The connection drops after five events.
    seen = []
    with client.responses.create(model="clerk", input="look", background=True, stream=True) as stream:
        for event in stream:
            seen.append(event.sequence_number)
            if event.type == "response.created":
                id = event.response.id
            if len(seen) == 5:
                break
    for event in client.responses.retrieve(id, stream=True, starting_after=seen[-1]):
        seen.append(event.sequence_number)
    assert seen == list(range(len(seen))) and event.response.output_text.endswith("look done."), seen
    with client.responses.stream(response_id=id, starting_after=4) as stream:
        assert next(iter(stream)).sequence_number == 5
        assert stream.get_final_response().output_text.endswith("look done.")
    long = client.responses.create(model="clerk", input="hang", background=True)
    assert client.responses.cancel(long.id).status == "cancelled"
    assert client.responses.cancel(long.id).status == "cancelled"
    client.responses.delete(long.id)
    raises(openai.NotFoundError, lambda: client.responses.retrieve(long.id))


def conversations():
    v = client.conversations.create(metadata={"a": "b"}, items=[{"type": "message", "role": "user", "content": "one"}])
    r = client.responses.create(model="clerk", input="history", conversation=v.id)
    assert r.output_text.endswith("user:one|user:history"), r
    client.conversations.items.create(v.id, items=[{"type": "message", "role": "user", "content": "two"}])
    items = list(client.conversations.items.list(v.id, order="asc", limit=1))
    assert [i.role for i in items] == ["user", "user", "assistant", "user"] and items[3].content[0].text == "two", items
    assert client.conversations.items.retrieve(items[2].id, conversation_id=v.id).id == items[2].id
    assert client.conversations.update(v.id, metadata={"c": "d"}).metadata == {"c": "d"}
    assert client.conversations.delete(v.id).deleted
    raises(openai.NotFoundError, lambda: client.conversations.retrieve(v.id))


def exceptions():
    bad = lambda **fields: lambda: chat.create(model="clerk", messages=say("hi"), **fields)
    raises(openai.BadRequestError, bad(n=2), code="unsupported_parameter", param="n")
    raises(openai.NotFoundError, lambda: chat.create(model="nope", messages=say("hi")), code="model_not_found")
    raises(openai.AuthenticationError, lambda: OpenAI(base_url=url, api_key="nobody").models.list(), code="invalid_api_key")
    raises(openai.PermissionDeniedError, lambda: OpenAI(base_url=url, api_key="joe").models.list())
    raises(openai.BadRequestError, lambda: client.responses.create(model="clerk", input="x", previous_response_id="resp_x"), code="previous_response_not_found")
    raises(openai.BadRequestError, lambda: chat.create(model="clerk", messages=say("break")))
    try:
        for _ in chat.create(model="clerk", messages=say("break"), stream=True):
            pass
    except openai.APIError as e:
        assert "does not like it" in e.message, e
    else:
        raise AssertionError("the stream does not fail")
    failed = client.responses.create(model="clerk", input="break")
    assert failed.status == "failed" and "does not like it" in failed.error.message, failed


def parameters_are_judged():
    from openai.types.chat import completion_create_params
    from openai.types.responses import response_create_params

    for variable, base in (("CHAT", completion_create_params.CompletionCreateParamsBase), ("RESPONSES", response_create_params.ResponseCreateParamsBase)):
        unknown = set(base.__annotations__) - set(os.environ[variable].split())
        assert not unknown, (variable, unknown)


for case in (parameters_are_judged, models, completions, functions, responses, approvals, background, conversations, exceptions):
    case()
