"""A server with the Python SDK, on standard input and output or over HTTP."""

import base64
import socket
import sys
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve, Sample
from mcp.server.mcpserver.utilities.types import Image
from mcp.types import CreateMessageResult, SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("python")
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")


class Seats(BaseModel):
    count: int


def ask_seats() -> Elicit[Seats]:
    return Elicit("How many seats?", Seats)


def ask_model() -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text="Capital of France?"))], max_tokens=10)


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def picture() -> Image:
    """Returns a pixel."""
    return Image(data=PIXEL, format="png")


@server.tool()
def seats(chosen: Annotated[Seats, Resolve(ask_seats)]) -> str:
    """Books seats."""
    return f"{chosen.count} seats"


@server.tool()
def capital(answer: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Asks the model."""
    return answer.content.text


@server.tool()
async def steps(ctx: Context) -> str:
    """Reports progress."""
    for i in (1, 2):
        await ctx.report_progress(i, 2)
        await anyio.sleep(0.2)
    return "done"


@server.resource("note://{number}")
def note(number: str) -> str:
    """Returns a note."""
    return f"note {number}"


@server.prompt()
def review(what: str) -> str:
    """Reviews something."""
    return f"Review {what}"


if len(sys.argv) > 1:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    server.run("streamable-http", host="127.0.0.1", port=port)
else:
    server.run()
