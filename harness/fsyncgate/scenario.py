"""What a scenario may use: blocks with names, errnos, and the types of its fixtures.

A system call answers its value or the name of its errno; content is told by name.
"""

from errno import errorcode
from typing import Protocol

from fsyncgate.data import BLOCK, LATER, NEW, OLD, STALE, ZEROS
from fsyncgate.guest.constants import O_CREAT, O_DIRECT, O_DSYNC, O_RDONLY, O_RDWR, O_SYNC
from fsyncgate.guest.process import OpenFile, Process
from fsyncgate.inject.control import FaultControl as Fault
from fsyncgate.storage.directory import Directory
from fsyncgate.storage.file import File
from fsyncgate.storage.volume import Volume


class Observe(Protocol):
    """The fixture `observe`: state what was seen, by name."""

    def __call__(self, **values: object) -> None:
        """Write the values into the history; `expected.toml` speaks of them by these names."""
        ...


EIO, ENOSPC, EROFS = (errorcode[number] for number in (5, 28, 30))


__all__ = [
    "BLOCK", "EIO", "ENOSPC", "EROFS", "LATER", "NEW", "OLD", "O_CREAT", "O_DIRECT", "O_DSYNC", "O_RDONLY",
    "O_RDWR", "O_SYNC", "STALE", "ZEROS", "Directory", "Fault", "File", "Observe", "OpenFile", "Process",
    "Volume",
]  # fmt: skip
