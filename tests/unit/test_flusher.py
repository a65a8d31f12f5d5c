"""Who wrote the page: the kernel's flusher, or somebody who asked?"""

import pytest

from fsyncgate.errors import GuestError
from fsyncgate.guest.actor import Actor, Answer
from fsyncgate.guest.arguments import Argument
from fsyncgate.guest.tracing import KernelEvent
from fsyncgate.guest.witness import Witness
from fsyncgate.history import InodeWritten, WritebackBegan
from fsyncgate.storage import flusher
from fsyncgate.storage.flusher import Flusher

BEGAN = WritebackBegan(0.0, 1.0, "kworker/u2:1", "periodic")


class Willing(Actor):
    """An actor for which every call succeeds."""

    def __init__(self) -> None: ...

    def call(self, name: str, *_: Argument, timeout: float | None = None, align: int = 0) -> Answer:  # noqa: ARG002
        return Answer(3, 0)


class Told(Witness):
    """A witness who tells these events at the first look."""

    def __init__(self, *events: KernelEvent) -> None:
        self.listeners = []
        self._events = list(events)

    def look(self) -> list[KernelEvent]:
        events, self._events = self._events, []
        for listener in self.listeners:
            listener(events)
        return events


class Inode:
    path = "/mnt/f"

    def inode(self) -> int:
        return 12

    def page_written(self, index: int = 0) -> list[str]:  # noqa: ARG002
        return []


def test_a_flusher_that_wrote_the_file_says_why() -> None:
    written = InodeWritten(0.0, 1.1, "kworker/u2:1", 12, 1)
    assert Flusher(Willing(), Told(BEGAN, written)).wrote(Inode()) == "periodic"


@pytest.mark.parametrize(
    "written",
    [
        InodeWritten(0.0, 1.1, "agent", 12, 1),
        InodeWritten(0.0, 1.1, "kworker/u2:1", 13, 1),
        InodeWritten(0.0, 1.1, "kworker/u2:1", 12, 0),
    ],
    ids=["a system call wrote", "another file", "no page"],
)
def test_nothing_else_counts(written: InodeWritten, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flusher, "_PATIENCE", 0.0)
    with pytest.raises(GuestError, match="flusher wrote no page"):
        Flusher(Willing(), Told(BEGAN, written)).wrote(Inode())
