"""The kernel's own flusher, which writes what has been dirty for a while (fs/fs-writeback.c)."""

import time
from typing import Protocol

from fsyncgate.errors import GuestError
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.files import write_file
from fsyncgate.guest.tracing import TRACEFS, WRITEBACK, KernelEvent
from fsyncgate.guest.witness import Witness
from fsyncgate.history import InodeWritten, WritebackBegan

_IMPATIENT = {
    "/proc/sys/vm/dirty_expire_centisecs": "1",
    "/proc/sys/vm/dirty_writeback_centisecs": "1",
}
"""A page is old after 10 ms, and the flusher looks every 10 ms; by default 30 s and 5 s.

A machine begins with hours (`machine.pool.SETTINGS`). A change of the interval wakes the flusher at once.
"""
_PATIENCE = 30.0
"""Seconds to wait for what takes it milliseconds."""
_TASK = "kworker/"
"""How the tasks of a work queue are called: a system call has the name of its caller."""


class _File(Protocol):
    path: str

    def inode(self) -> int: ...

    def page_written(self, index: int = 0) -> list[str]: ...


class Flusher:
    """Writes by itself, and is watched."""

    def __init__(self, actor: Actor, witness: Witness) -> None:
        """Switch on its tracepoints and make it impatient, until the machine ends."""
        self._witness = witness
        self._reasons: dict[str, str] = {}
        self._written: dict[int, str] = {}
        witness.listeners.append(self._looked)
        for event in WRITEBACK:
            write_file(actor, f"{TRACEFS}/events/{event}/enable", "1")
        for path, value in _IMPATIENT.items():
            write_file(actor, path, value)

    def wrote(self, file: _File) -> str:
        """Wait until the flusher has written the first page of a file, and return its reason.

        Raises GuestError if it never does.
        """
        inode = file.inode()
        deadline = time.monotonic() + _PATIENCE
        while inode not in self._written:
            if time.monotonic() > deadline:
                raise GuestError(f"The kernel's flusher wrote no page of '{file.path}' in {_PATIENCE:.0f} s.")
            self._witness.look()
        file.page_written()
        return self._written[inode]

    def _looked(self, events: list[KernelEvent]) -> None:
        for event in events:
            match event:
                case WritebackBegan():
                    self._reasons[event.task] = event.reason
                case InodeWritten() if event.pages and event.task.startswith(_TASK):
                    self._written[event.inode] = self._reasons.get(event.task, "")
                case _:
                    pass
