"""A bounded pool of threads that never keeps the process alive."""

from __future__ import annotations

import queue
import threading
from typing import Callable


class ThreadPool:
    """Threads for functions that block. They start when they are needed, and end with the process."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._work: "queue.SimpleQueue[Callable[[], None]]" = queue.SimpleQueue()
        self._lock = threading.Lock()
        # How many threads wait for work; below zero, how much work waits for a thread.
        self._idle = 0
        self._started = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Runs a function as soon as a thread is free. The function must not raise."""
        with self._lock:
            self._idle -= 1
            if self._idle < 0 and self._started < self._limit:
                self._started += 1
                self._idle += 1
                threading.Thread(target=self._run, name=f"tool-{self._started}", daemon=True).start()
        self._work.put(work)

    def _run(self) -> None:
        while True:
            self._work.get()()
            with self._lock:
                self._idle += 1
