"""A server written with FastMCP, for the integration tests: `fastmcp_server.py ERA TRANSPORT [PORT]`.

ERA is `both`, or `old` for a server that does not know `server/discover`. TRANSPORT is `stdio`, or `http` on PORT.
"""

import sys
from dataclasses import dataclass

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import Middleware
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND


class Old(Middleware):
    """Forgets the revision that has no handshake."""

    async def on_discover(self, context, call_next):
        raise MCPError(METHOD_NOT_FOUND, "Method not found")


@dataclass
class Sum:
    sum: int


era, transport, *rest = sys.argv[1:]
server = FastMCP("fast", middleware=[Old()] if era == "old" else [])


@server.tool
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(a + b)


@server.tool
def refuse(reason: str) -> str:
    """Fails for a reason."""
    raise ToolError(reason)


@server.tool
async def revision(context: Context) -> str:
    """The revision of the protocol in which this call came."""
    return context.request_context.protocol_version


if transport == "stdio":
    server.run("stdio", show_banner=False)
else:
    server.run("http", show_banner=False, host="127.0.0.1", port=int(rest[0]))
