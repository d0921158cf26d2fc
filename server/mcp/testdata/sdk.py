"""Uses the agents with the Python SDK, over HTTP and over stdio."""

import asyncio
import os

import httpx2
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def ask(_, params):
    content = {"answer": "Bern"} if "city" in params.message else {"approved": True}
    return types.ElicitResult(action="accept", content=content)


async def use(read, write):
    async with ClientSession(read, write, elicitation_callback=ask) as client:
        await client.initialize()
        tools = (await client.list_tools()).tools
        names = [t.name for t in tools]
        assert {"clerk", "greeter", "list", "plain"} <= set(names), names
        object_tool = next(t.name for t in tools if t.title == "team:object")

        async def call(tool, message, **more):
            return await client.call_tool(tool, {"message": message, **more})

        progress = []

        async def on_progress(done, total, message):
            progress.append(done)

        looked = await client.call_tool("clerk", {"message": "call look"}, progress_callback=on_progress)
        assert looked.content[0].text == "It is paid.", looked
        assert progress, progress
        assert (await call("clerk", "call pay")).content[0].text == "It is paid."
        assert "Bern" in (await call("clerk", "call ask")).content[0].text
        assert structured(await call(object_tool, '{"name":"Ada"}')) == {"name": "Ada"}
        assert structured(await call("list", "[1,2]")) == {"result": [1, 2]}
        first = await call("plain", "one")
        session = first.model_dump(by_alias=True)["_meta"]["agentruntime/session_id"]
        assert (await call("plain", "history", session_id=session)).content[0].text == "one|You said one|history"
        wrong = (await client.call_tool("plain", {})).model_dump(by_alias=True)
        assert wrong["isError"], wrong
        prompt = await client.get_prompt("greet", {"name": "Ada"})
        assert prompt.messages[0].content.text == "Greet Ada "
        assert (await client.read_resource("doc://rules")).contents[0].text == "Be nice."


def structured(result):
    return result.model_dump(by_alias=True)["structuredContent"]


async def main():
    async with httpx2.AsyncClient(headers={"Authorization": "Bearer alice"}, timeout=30) as http:
        async with streamable_http_client(os.environ["URL"] + "/mcp", http_client=http) as streams:
            await use(*streams[:2])
    program = StdioServerParameters(command=os.environ["PROGRAM"], env={**os.environ, "MCP_TEST_STDIO": "1"})
    async with stdio_client(program) as (read, write):
        await use(read, write)


asyncio.run(main())
