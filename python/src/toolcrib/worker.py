"""The worker that serves the tools of a module to the runtime: ``python -m toolcrib.worker modules/reports``.

It speaks JSON lines over its standard input and output, as ``docs/reference/worker-protocol.md`` describes. What tools print goes
to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import contextlib
import itertools
import json
import math
import os
import pathlib
import sys
import threading
import time
import traceback
from concurrent.futures import Future, InvalidStateError
from typing import Any, BinaryIO, Callable, NoReturn, Optional

from .context import Context
from .convert import dumps
from .declare import Declaration
from .discover import Discovered, discover
from .errors import ToolError
from .sdk import AsyncSdk, Sdk
from .threads import ThreadPool

PROTOCOL = 1

# The bounds of a runtime that names none.
DEFAULT_LINE_BYTES = 8 * 1024 * 1024
DEFAULT_CALLS = 64

# How many lines of a traceback are in the error of a call.
TRACEBACK_LINES = 20

# How long calls may take to end when the input has ended, in seconds; the runtime waits for two.
CLOSE_SECONDS = 1.0

_HERE = os.path.dirname(os.path.abspath(__file__))


class Channel:
    """The two pipes to the runtime, for any number of threads."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = writer
        self._lock = threading.Lock()
        self.line_bytes = DEFAULT_LINE_BYTES

    def receive(self) -> Optional[dict[str, Any]]:
        """Returns the next message, or ``None`` at the end of the input."""
        line = self._reader.readline()
        if not line.endswith(b"\n"):
            return None
        message = json.loads(line)
        return message if isinstance(message, dict) else {}

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message. ``ValueError`` and ``TypeError`` say that it is not JSON, or too long."""
        line = dumps(message)
        if len(line) > self.line_bytes:
            raise ValueError(f"it has {len(line)} bytes, and at most {self.line_bytes} are sent; return less")
        try:
            with self._lock:
                self._writer.write(line + b"\n")
                self._writer.flush()
        except (BrokenPipeError, OSError):
            # Nobody reads any more: the end of the input follows.
            pass


class RunningCall:
    """A call between its message and its result."""

    def __init__(self, worker: "Worker", message: dict[str, Any], declaration: Declaration) -> None:
        self.id = message["id"]
        self.declaration = declaration
        self.given = message.get("arguments") or {}
        self.context = Context.from_message(message.get("context") or {})
        self.cancelled = threading.Event()
        self.task: Optional["asyncio.Task[None]"] = None
        self._worker = worker
        self._requests: dict[int, "Future[Any]"] = {}

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of the function, with those that no model supplies."""
        arguments = self.declaration.arguments(self.given)
        for name in self.declaration.injected:
            if name == "sdk":
                form = AsyncSdk if self.declaration.is_async else Sdk
                arguments[name] = form(self.request, self.report, self.cancelled)
            else:
                arguments[name] = self.context
        return arguments

    def request(self, method: str, params: dict[str, Any]) -> "Future[Any]":
        """Asks the runtime for something on behalf of this call."""
        future: "Future[Any]" = Future()
        if self.cancelled.is_set():
            future.set_exception(_cancelled())
            return future
        number = self._worker.register(future)
        self._requests[number] = future
        future.add_done_callback(lambda _: self._forget(number))
        try:
            self._worker.channel.send(
                {"type": "request", "id": number, "call": self.id, "method": method, "params": params}
            )
        except (TypeError, ValueError) as error:
            _fail(future, ToolError(f"`{method}`: {error}", kind="invalid_args"))
        return future

    def _forget(self, number: int) -> None:
        self._requests.pop(number, None)
        self._worker.forget(number)

    def report(self, done: float, total: Optional[float], message: Optional[str]) -> None:
        """Tells how far the call is."""
        if not math.isfinite(done) or (total is not None and not math.isfinite(total)):
            raise ValueError("the progress of a call is a finite number")
        progress = {"type": "progress", "id": self.id, "done": done, "total": total, "message": message}
        self._worker.channel.send({key: value for key, value in progress.items() if value is not None})

    def cancel(self) -> None:
        """Ends what can be ended: a task, and whatever waits for the runtime."""
        self.cancelled.set()
        if self.task is not None:
            self.task.cancel()
        self.drop_requests()

    def drop_requests(self) -> None:
        """Ends the requests that nobody waits for any more."""
        for future in list(self._requests.values()):
            _fail(future, _cancelled())


class Worker:
    """The tools of one module, and the calls of them that are under way."""

    def __init__(self, folder: pathlib.Path, name: str, channel: Channel) -> None:
        self.channel = channel
        self._folder = folder
        self._name = name
        self._found: Optional[Discovered] = None
        self._calls: dict[Any, RunningCall] = {}
        self._requests: dict[int, "Future[Any]"] = {}
        self._numbers = itertools.count(1)
        self._threads = ThreadPool(DEFAULT_CALLS)
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    def run(self) -> None:
        """Serves until the input ends."""
        handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "hello": self._hello,
            "list": self._list,
            "call": self._call,
            "cancel": self._cancel,
            "reply": self._reply,
        }
        while True:
            message = self.channel.receive()
            if message is None:
                return
            handler = handlers.get(str(message.get("type")))
            # A later version of the runtime may say more than this one knows.
            if handler is not None:
                handler(message)

    def register(self, future: "Future[Any]") -> int:
        """Takes in a request, and returns its number."""
        number = next(self._numbers)
        self._requests[number] = future
        return number

    def forget(self, number: int) -> None:
        """Lets a request go whose reply has no reader."""
        self._requests.pop(number, None)

    def close(self, patience: float) -> None:
        """Cancels the calls that are under way, and waits for their end, but not for ever."""
        for identifier in list(self._calls):
            self._cancel({"id": identifier})
        end = time.monotonic() + patience
        while self._calls and time.monotonic() < end:
            time.sleep(0.01)

    def _hello(self, message: dict[str, Any]) -> None:
        limits = message.get("limits") or {}
        self.channel.line_bytes = int(limits.get("line_bytes", DEFAULT_LINE_BYTES))
        self._threads = ThreadPool(int(limits.get("calls", DEFAULT_CALLS)))
        self.channel.send(
            {
                "type": "hello",
                "protocol": PROTOCOL,
                "name": self._name,
                "worker": {"name": "toolcrib-python", "version": _version(), "pid": os.getpid()},
            }
        )

    def _discovered(self) -> Discovered:
        if self._found is None:
            try:
                self._found = discover(self._folder)
            except (OSError, ValueError) as error:
                reject = {"name": str(self._folder), "kind": "unreadable", "reason": str(error)}
                return Discovered(rejected=[reject])
        return self._found

    def _list(self, message: dict[str, Any]) -> None:
        found = self._discovered()
        tools, rejected = [], list(found.rejected)
        for declaration in found.tools.values():
            definition = declaration.definition()
            try:
                dumps(definition)
            except (TypeError, ValueError) as error:
                reason = f"the definition of `{declaration.name}` is not JSON: {error}"
                rejected.append({"name": declaration.name, "kind": "invalid_tool", "reason": reason})
                continue
            tools.append(definition)
        listing = {"type": "tools", "id": message.get("id"), "description": found.description, "tools": tools,
                   "rejected": rejected}
        try:
            self.channel.send(listing)
        except ValueError as error:
            reject = {"name": self._name, "kind": "too_large", "reason": f"the list of tools is too long: {error}"}
            self.channel.send({"type": "tools", "id": message.get("id"), "tools": [], "rejected": [reject]})

    def _call(self, message: dict[str, Any]) -> None:
        declaration = self._discovered().tools.get(str(message.get("tool")))
        if declaration is None:
            error = ToolError(f"the worker has no tool `{message.get('tool')}`", kind="unavailable", retryable=False)
            self.channel.send({"type": "result", "id": message.get("id"), "error": error.to_dict()})
            return
        call = RunningCall(self, message, declaration)
        self._calls[call.id] = call
        if declaration.is_async:
            self._event_loop().call_soon_threadsafe(self._start, call)
        else:
            self._threads.submit(lambda: self._run_function(call))

    def _cancel(self, message: dict[str, Any]) -> None:
        call = self._calls.get(message.get("id"))
        if call is None:
            return
        if call.declaration.is_async:
            self._event_loop().call_soon_threadsafe(call.cancel)
        else:
            call.cancel()

    def _reply(self, message: dict[str, Any]) -> None:
        future = self._requests.get(message.get("id"))  # type: ignore[arg-type]
        if future is None:
            return
        error = message.get("error")
        if error is None:
            _succeed(future, message.get("value"))
        else:
            _fail(future, ToolError.from_dict(error))

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="tools", daemon=True).start()
        return self._loop

    def _start(self, call: RunningCall) -> None:
        call.task = asyncio.get_running_loop().create_task(self._run_coroutine(call))
        if call.cancelled.is_set():
            call.task.cancel()

    def _run_function(self, call: RunningCall) -> None:
        try:
            if call.cancelled.is_set():
                raise _cancelled()
            value = call.declaration.function(**call.arguments())
        except BaseException as error:  # `sys.exit` in a tool ends the call and not the worker.
            self._end(call, error=error)
        else:
            self._end(call, value=value)

    async def _run_coroutine(self, call: RunningCall) -> None:
        try:
            value = await call.declaration.function(**call.arguments())
        except asyncio.CancelledError as error:
            self._end(call, error=_cancelled() if call.cancelled.is_set() else error)
        except BaseException as error:
            self._end(call, error=error)
        else:
            self._end(call, value=value)

    def _end(self, call: RunningCall, *, value: Any = None, error: Optional[BaseException] = None) -> None:
        call.drop_requests()
        self._calls.pop(call.id, None)
        if error is None:
            try:
                self.channel.send({"type": "result", "id": call.id, "value": value})
                return
            except (TypeError, ValueError, RecursionError) as unsendable:
                error = ToolError(f"the result of `{call.declaration.name}` cannot be sent: {unsendable}")
        try:
            self.channel.send({"type": "result", "id": call.id, "error": _error_of(call, error)})
        except (TypeError, ValueError, RecursionError):
            plain = ToolError(f"`{call.declaration.name}` failed with an error that cannot be sent")
            self.channel.send({"type": "result", "id": call.id, "error": plain.to_dict()})


def _error_of(call: RunningCall, error: BaseException) -> dict[str, Any]:
    """Returns the error of a call: one that was raised as such, else the end of the traceback."""
    if isinstance(error, ToolError):
        return error.to_dict()
    traceback.print_exception(type(error), error, error.__traceback__)
    summary = "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if os.path.dirname(os.path.abspath(frame.filename)) != _HERE]
    lines = "".join(traceback.format_list(frames)).splitlines()[-TRACEBACK_LINES:]
    message = "\n".join([f"`{call.declaration.name}` raised {summary}", *lines])
    return ToolError(message).to_dict()


def _cancelled() -> ToolError:
    return ToolError("the caller gave the call up", kind="cancelled")


def _succeed(future: "Future[Any]", value: Any) -> None:
    # A task that is cancelled cancels what it waits for, at any moment.
    with contextlib.suppress(InvalidStateError):
        future.set_result(value)


def _fail(future: "Future[Any]", error: BaseException) -> None:
    with contextlib.suppress(InvalidStateError):
        future.set_exception(error)


def _version() -> str:
    from . import __version__

    return __version__


def protected_channel() -> Channel:
    """Takes standard input and output for the protocol, and gives tools the null device and standard error instead.

    This holds for the descriptors, so programs that a tool starts cannot break the protocol either.
    """
    reader = os.fdopen(os.dup(0), "rb")
    writer = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        # A tool that prints what it cannot encode should not fail of it.
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    return Channel(reader, writer)


def main(arguments: Optional[list[str]] = None) -> NoReturn:
    """Serves the tools of the folder that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m toolcrib.worker", description="Serves the tools of a module.")
    parser.add_argument("folder", type=pathlib.Path, help="the folder of the module, which has a folder `tools`")
    parser.add_argument("--name", help="the name of the module; that of the folder by default")
    parser.add_argument("--list", action="store_true", help="print the tools as JSON, and serve nothing")
    options = parser.parse_args(arguments)
    name = options.name or options.folder.resolve().name
    # It is meant for this process. Scripts that tools start import what is beside them.
    os.environ.pop("PYTHONSAFEPATH", None)
    if options.list:
        found = discover(options.folder)
        tools = [declaration.definition() for declaration in found.tools.values()]
        print(json.dumps({"name": name, "tools": tools, "rejected": found.rejected}, indent=2))
        sys.exit(1 if found.rejected else 0)
    worker = Worker(options.folder, name, protected_channel())
    worker.run()
    worker.close(CLOSE_SECONDS)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of tools that still run would hold up the interpreter.
    os._exit(0)


if __name__ == "__main__":
    main()
