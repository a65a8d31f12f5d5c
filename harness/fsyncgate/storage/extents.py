"""Where a file system says that a file's bytes lie: FIEMAP.

Structures: include/uapi/linux/fiemap.h.
"""

import struct
from dataclasses import dataclass

from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import InOut
from fsyncgate.guest.constants import AT_FDCWD, FS_IOC_FIEMAP, O_RDONLY

_FIEMAP = struct.Struct("<Q Q I I I I")
"""fm_start, fm_length, fm_flags, fm_mapped_extents, fm_extent_count, fm_reserved."""
_EXTENT = struct.Struct("<Q Q Q 16x I 12x")
"""fe_logical, fe_physical, fe_length, reserved, fe_flags, reserved."""
_EXTENTS = 64

UNKNOWN, DELALLOC, INLINE, UNWRITTEN = 0x2, 0x4, 0x200, 0x800
_NAMES = {UNKNOWN: "unknown", DELALLOC: "delayed", INLINE: "inline", UNWRITTEN: "unwritten"}


@dataclass(frozen=True)
class Extent:
    """A piece of a file, in bytes; `start` is where the file system says it lies."""

    offset: int
    start: int
    length: int
    flags: int

    @property
    def on_disk(self) -> bool:
        """Tell whether the extent has a place on the disk."""
        return not self.flags & (UNKNOWN | DELALLOC | INLINE)

    def describe(self) -> str:
        """Return the flags' names, or `written`."""
        return "+".join(name for flag, name in _NAMES.items() if self.flags & flag) or "written"


def extents(actor: Actor, path: str) -> list[Extent]:
    """Return the extents of a file as FIEMAP answers *without* its SYNC flag, so nothing is flushed."""
    descriptor = actor.call("openat", AT_FDCWD, path, O_RDONLY, 0).must(f"open '{path}'")
    try:
        request = _FIEMAP.pack(0, 2**63 - 1, 0, 0, _EXTENTS, 0).ljust(
            _FIEMAP.size + _EXTENTS * _EXTENT.size, b"\0"
        )
        answer = actor.call("ioctl", descriptor, FS_IOC_FIEMAP, InOut(request))
        answer.must(f"map the extents of '{path}'")
        return parse_fiemap(answer.out[0])
    finally:
        actor.call("close", descriptor)


def parse_fiemap(answer: bytes) -> list[Extent]:
    """Return the extents of a FIEMAP answer; those of no length (delayed allocation) are dropped."""
    count: int = _FIEMAP.unpack_from(answer)[3]
    found = [_EXTENT.unpack_from(answer, _FIEMAP.size + number * _EXTENT.size) for number in range(count)]
    return [Extent(*fields) for fields in found if fields[2]]
