"""What a file system remembers of a file beside its data: size, time of modification, state of its blocks."""

import struct
from dataclasses import dataclass

from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import Out
from fsyncgate.guest.constants import AT_FDCWD, O_RDWR
from fsyncgate.storage import extents

_LONG_AGO = 86400
"""Seconds since the epoch: no clock in a guest will say that again."""
_STAT = 144
_SIZE_AT, _MODIFIED_AT = 48, 88
"""Offsets of st_size and st_mtime in struct stat of x86-64."""


@dataclass(frozen=True, slots=True)
class Status:
    """The metadata of a file."""

    size: int
    """Bytes."""
    changed: bool
    """Whether its time of modification is another than `age` gave it."""
    extent: str
    """The state of its first extent: `written`, `unwritten`, ...; `none` if it has none."""


def age(actor: Actor, path: str) -> None:
    """Put a file's times far into the past, and sync it. Raises GuestError if that is refused."""
    times = struct.pack("<4q", _LONG_AGO, 0, _LONG_AGO, 0)
    actor.call("utimensat", AT_FDCWD, path, times, 0).must(f"set the times of '{path}'")
    opened = actor.call("openat", AT_FDCWD, path, O_RDWR, 0).must(f"open '{path}'")
    # XFS counts what fdatasync must wait for from the last fsync on, and a sync in between is none.
    actor.call("fsync", opened).must(f"sync '{path}'")
    actor.call("close", opened)


def status(actor: Actor, path: str) -> Status:
    """Return the metadata of a file. Raises GuestError if it is not there."""
    first = next((extent.describe() for extent in extents.extents(actor, path)), "none")
    answer = actor.call("stat", path, Out(_STAT))
    answer.must(f"look at '{path}'")
    (size,) = struct.unpack_from("<q", answer.out[0], _SIZE_AT)
    (modified,) = struct.unpack_from("<q", answer.out[0], _MODIFIED_AT)
    return Status(size, modified != _LONG_AGO, first)
