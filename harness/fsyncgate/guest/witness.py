"""The witness stands beside every system call of a scenario and writes down what the kernel did."""

import time
from collections.abc import Callable

from fsyncgate.guest.tracing import KernelEvent, Tracer
from fsyncgate.history import Called, Event, Outcome, Recorder


class Witness:
    """Records calls, and before each of them what the kernel's tracepoints said meanwhile."""

    def __init__(self, recorder: Recorder, tracer: Tracer) -> None:
        """Start with nobody listening."""
        self.recorder = recorder
        self._tracer = tracer
        self.listeners: list[Callable[[list[KernelEvent]], None]] = []

    def now(self) -> float:
        """Return seconds since the case began."""
        return self.recorder.now()

    def write(self, event: Event) -> None:
        """Write one event down."""
        self.recorder.write(event)

    def look(self) -> list[KernelEvent]:
        """Write down what the kernel recorded since the last look, tell the listeners, return it."""
        events = self._tracer.drain(self.now())
        for event in events:
            self.write(event)
        for listener in self.listeners:
            listener(events)
        return events

    def page_number(self, inode: int, index: int) -> int | None:
        """Return the number of a page in the cache, or None if it is not there."""
        return self._tracer.cached.number(inode, index)

    def called(
        self, process: str, call: str, arguments: dict[str, object], result: Outcome, began: float
    ) -> None:
        """Write down a call that returned; `began` is a time.monotonic()."""
        seconds = round(time.monotonic() - began, 6)
        self.look()
        self.write(Called(self.now(), process, call, arguments, result, seconds))
