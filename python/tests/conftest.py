"""What the tests share: modules on disk, and a worker to talk to."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import textwrap
from typing import Any, Callable, Iterator, Optional

import pytest

SOURCE = pathlib.Path(__file__).parent.parent / "src"


class Client:
    """A worker in a process of its own, and the runtime's side of the protocol."""

    def __init__(self, folder: pathlib.Path, module: str, limits: Optional[dict[str, int]] = None) -> None:
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONSAFEPATH": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "toolcrib.worker", module],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self.send({"type": "hello", "protocol": 1, "limits": limits or {}})
        self.hello = self.receive()

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the worker ended"
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    def listing(self) -> dict[str, Any]:
        self.send({"type": "list", "id": 0})
        return self.receive()

    def call(self, number: int, tool: str, arguments: Any = None, context: Any = None) -> None:
        self.send({"type": "call", "id": number, "tool": tool, "arguments": arguments or {}, "context": context or {}})

    def result(self, tool: str, arguments: Any = None, context: Any = None) -> dict[str, Any]:
        self.call(1, tool, arguments, context)
        return self.receive()

    def close(self) -> str:
        assert self.process.stdin is not None and self.process.stderr is not None
        self.process.stdin.close()
        said = self.process.stderr.read().decode()
        assert self.process.wait(10) == 0
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process.stderr.close()
        return said


Write = Callable[[str, str], pathlib.Path]


@pytest.fixture
def write(tmp_path: pathlib.Path) -> Write:
    """Writes a file of tools of the module `modules/reports`, and returns the folder of the module."""

    def write(name: str, text: str) -> pathlib.Path:
        folder = tmp_path / "modules" / "reports"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return folder

    return write


@pytest.fixture
def connect(tmp_path: pathlib.Path) -> Iterator[Callable[..., Client]]:
    """Starts workers, and ends those that a test leaves."""
    clients: list[Client] = []

    def connect(**options: Any) -> Client:
        clients.append(Client(tmp_path, "modules/reports", **options))
        return clients[-1]

    yield connect
    for client in clients:
        client.process.kill()
        client.process.wait()
        for stream in (client.process.stdin, client.process.stdout, client.process.stderr):
            if stream is not None:
                stream.close()
