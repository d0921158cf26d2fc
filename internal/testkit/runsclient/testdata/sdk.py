"""What programs do with the Python SDK, against the server at URL."""

import asyncio
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import mantyx
from mantyx.errors import MantyxAuthError, MantyxError, MantyxOAuthError, MantyxRunError, MantyxScopeError

URL, KEY = os.environ["URL"], os.environ["KEY"]
HELP = {"system_prompt": "You help."}
OPTIONS = {"workspace_slug": "acme", "base_url": URL}
client = mantyx.MantyxClient(api_key=KEY, **OPTIONS)


def weather(answer):
    def run(_):
        if isinstance(answer, Exception):
            raise answer
        return answer

    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    return mantyx.define_local_tool(name="weather", execute=run, parameters=parameters, long_running=True)


def ask(model, *tools, prompt="Go.", **more):
    return client.run_agent(prompt=prompt, model_id=model + "-1", tools=list(tools), **HELP, **more)


def raised(kind, do, **want):
    try:
        do()
    except kind as e:
        for name, value in want.items():
            assert getattr(e, name) == value, (name, getattr(e, name), value)
        return e
    raise AssertionError(f"no {kind.__name__}")


def runs():
    deltas = []
    r = ask("hello", reasoning_level="medium", metadata={"a": "b"}, on_assistant_delta=deltas.append)
    assert r.text == "".join(deltas) == "Hello there, whoever you are.", r
    assert (r.tokens.input_tokens, r.turns, r.model.reasoning_effort) == (20, 1, "medium"), r
    assert [e.type for e in client.stream_agent(prompt="Hi.", model_id="hello-1", **HELP)][-1] == "result"
    assert client.run_agent(prompt="Hi.", agent_id="helper").text == r.text
    messages = [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}, {"role": "user", "content": "C"}]
    assert client.run_agent(messages=messages, model_id="idle", **HELP).text == "echo: C"
    schema = {"name": "weather", "schema": {"type": "object"}}
    assert mantyx.parse_run_output(ask("structured", output_schema=schema))["city"] == "Paris"
    assert [m.vendor_model_id for m in client.list_models().models if m.id == "platform:idle"] == ["idle"]


def tools():
    assert ask("local_tool", weather("sunny")).text == "It is sunny."
    assert ask("local_tool", weather({"sky": "sunny"})).text == "It is sunny."
    assert ask("local_tool", weather(ValueError("no such place"))).text == "There is no such place."
    assert ask("local_tool", weather("")).text == "I was told nothing."
    file = mantyx.ToolResultFile(filename="sky.txt", mime_type="text/plain", data="Ymx1ZQ==")
    assert ask("local_tool", weather(mantyx.ToolResult(result="sunny", files=[file]))).text == "It is sunny."
    assert ask("two_local_tools", weather("sunny")).text == "All done."
    assert ask("same_id", weather("sunny")).text == "All done."
    assert ask("server_tool", mantyx.mantyx_tool("word_count")).text == "Three words."
    with Peer() as url:
        assert ask("agent", mantyx.define_local_a2a(name="peer", agent_card_url=url)).text == "It is the peer."
        assert ask("agent", mantyx.mantyx_a2a(name="peer", agent_card_url=url)).text == "It is the peer."


def guards():
    detection = {"consecutive_threshold": 3, "hard_cutoff_threshold": 4}
    types = [e.type for e in ask("loop", weather("sunny"), loop_detection=detection).events]
    assert types.count("loop_detected") == 2, types
    types = [e.type for e in ask("budget", weather("sunny"), tool_budgets={"weather": {"max_calls": 1}}).events]
    assert types.count("tool_budget_exceeded") == 1, types
    limit = {"maxToolTurns": 1}
    raised(MantyxRunError, lambda: ask("two_local_tools", weather("x"), budgets=limit), subtype="error_max_tool_turns")


def failures():
    e = raised(MantyxRunError, lambda: ask("truncated"), subtype="truncation", partial_text="It was a dark and", retryable=False)
    assert e.turns == 1 and e.tokens and e.model, e
    raised(MantyxRunError, lambda: ask("failing", prompt="rate"), error_class="rate_limit", retryable=True)
    raised(MantyxError, lambda: ask("nothing"), code="invalid_model", status=400)
    raised(MantyxError, lambda: client.run_agent(prompt="Hi.", agent_id="nobody"), code="forbidden", status=403)
    stranger = mantyx.MantyxClient(api_key="test-key", **OPTIONS)
    raised(MantyxAuthError, stranger.list_models, message="Invalid API key or OAuth access token")
    astray = mantyx.MantyxClient(api_key=KEY, workspace_slug="umbrella", base_url=URL)
    raised(MantyxError, astray.list_models, status=404, hint="acme")


def cancel():
    session = client.create_session(model_id="slow-1", **HELP)
    types = []
    for e in session.stream("Go."):
        types.append(e.type)
        if e.type == "assistant_delta":
            session.end()
    assert types[-1] == "cancelled", types


def sessions():
    s = client.create_session(model_id="remember-1", metadata={"a": "b"}, **HELP)
    assert [s.send(text).text for text in ("one", "two")] == ["echo: one", "echo: two"]
    assert client.resume_session(s.id).send("three").text == "echo: three"
    assert [m["content"] for m in s.history()] == ["one", "echo: one", "two", "echo: two", "three", "echo: three"]
    s.end()
    assert s.info().status == "ended" and s.info().ended_at
    raised(MantyxError, lambda: s.send("four"), status=409)
    s = client.create_session(model_id="local_tool-1", tools=[weather("sunny")], **HELP)
    assert s.send("Go.").text == s.send("Go.").text == "It is sunny."


def oauth():
    o = mantyx.MantyxOAuthClient(client_id=os.environ["CLIENT"], client_secret=os.environ["SECRET"], base_url=URL)
    refresh = os.environ["REFRESH"].strip()
    assert o.refresh(refresh_token=refresh).refresh_token == refresh
    source = o.refresh_token_source(refresh_token=refresh)

    def stale(reason="initial"):
        return "mantyx_at_stale" if reason == "initial" else source(reason)

    refreshed = mantyx.MantyxClient(token_source=stale, **OPTIONS)
    assert refreshed.run_agent(prompt="Hi.", model_id="local_tool-1", tools=[weather("sunny")], **HELP).text == "It is sunny."
    narrow = o.refresh(refresh_token=refresh, scope=["models:read"]).access_token
    limited = mantyx.MantyxClient(access_token=narrow, **OPTIONS)
    run = lambda: limited.run_agent(prompt="Hi.", model_id="idle", **HELP)
    raised(MantyxScopeError, run, required_scopes=("runs:write",))
    o.revoke(token=narrow)
    raised(MantyxAuthError, limited.list_models)
    raised(MantyxOAuthError, lambda: o.refresh(refresh_token="mantyx_rt_nothing"), oauth_error="invalid_grant")


async def concurrent():
    async with mantyx.AsyncMantyxClient(api_key=KEY, **OPTIONS) as c:

        async def run(_):
            await asyncio.sleep(0)
            return "sunny"

        tool = mantyx.define_local_tool(name="weather", execute=run)
        asked = [c.run_agent(prompt="Go.", model_id="two_local_tools-1", tools=[tool], **HELP) for _ in range(5)]
        assert {r.text for r in await asyncio.gather(*asked)} == {"All done."}


class Peer:
    """An agent somewhere else: the URL of its card."""

    def __enter__(self):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.reply({"name": "Peer", "description": "Knows itself.", "url": f"http://127.0.0.1:{self.server.server_port}/"})

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                message = {"kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": "I am the peer."}]}
                self.reply({"jsonrpc": "2.0", "id": request.get("id"), "result": message})

            def reply(self, body):
                data = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}/.well-known/agent-card.json"

    def __exit__(self, *_):
        self.server.shutdown()


for flow in (runs, tools, guards, failures, cancel, sessions, oauth):
    flow()
asyncio.run(concurrent())
