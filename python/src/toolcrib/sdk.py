"""The way from a tool back to the runtime: other tools, and progress."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any, Callable, Optional

from .registry import Tool

# Sends a request on behalf of a call, and returns what its reply will be.
Request = Callable[[str, dict[str, Any]], "Future[Any]"]

# Sends how far a call is.
Report = Callable[[float, Optional[float], Optional[str]], None]


class _Calls:
    """What both forms of the SDK share."""

    def __init__(self, request: Request, report: Report, cancelled: threading.Event) -> None:
        self._request = request
        self._report = report
        self._cancelled = cancelled

    @property
    def cancelled(self) -> bool:
        """Tells whether the caller has given the call up. A long loop should look now and then."""
        return self._cancelled.is_set()

    def progress(self, done: float, total: Optional[float] = None, message: Optional[str] = None) -> None:
        """Tells those who wait how far the call is, which also extends its deadline."""
        self._report(done, total, message)


def _listing(module: Optional[str], user_selectable_only: bool) -> dict[str, Any]:
    return {"module": module, "user_selectable_only": user_selectable_only}


class Sdk(_Calls):
    """The runtime, as a tool sees it that is an ordinary function.

    What it calls passes the gate on behalf of whoever called the tool, and has no more time than the tool itself.
    """

    def list_tools(self, module: Optional[str] = None, *, user_selectable_only: bool = True) -> list[Tool]:
        """Returns the tools that this call may use, of one module or of all."""
        listed = self._request("list_tools", _listing(module, user_selectable_only)).result()
        return [Tool.from_dict(tool) for tool in listed]

    def get_tool(self, name: str) -> Tool:
        """Returns the tool of this name, in any spelling. A ``ToolError`` says that there is none."""
        return Tool.from_dict(self._request("get_tool", {"name": name}).result())

    def run_tool(self, name: str, arguments: Optional[dict[str, Any]] = None) -> Any:
        """Calls a tool and returns its result. A ``ToolError`` says why there is none."""
        return self._request("run_tool", {"name": name, "arguments": arguments or {}}).result()


class AsyncSdk(_Calls):
    """The same for a tool that is a coroutine function: its methods are awaited."""

    async def list_tools(self, module: Optional[str] = None, *, user_selectable_only: bool = True) -> list[Tool]:
        """Returns the tools that this call may use, of one module or of all."""
        listed = await asyncio.wrap_future(self._request("list_tools", _listing(module, user_selectable_only)))
        return [Tool.from_dict(tool) for tool in listed]

    async def get_tool(self, name: str) -> Tool:
        """Returns the tool of this name, in any spelling. A ``ToolError`` says that there is none."""
        return Tool.from_dict(await asyncio.wrap_future(self._request("get_tool", {"name": name})))

    async def run_tool(self, name: str, arguments: Optional[dict[str, Any]] = None) -> Any:
        """Calls a tool and returns its result. A ``ToolError`` says why there is none."""
        params = {"name": name, "arguments": arguments or {}}
        return await asyncio.wrap_future(self._request("run_tool", params))
