"""Which sectors of the volume hold a file's bytes: FIEMAP, and the chunk map of btrfs.

Structures: include/uapi/linux/fiemap.h, include/uapi/linux/btrfs.h, include/uapi/linux/btrfs_tree.h.
"""

import struct
from dataclasses import dataclass

from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import InOut
from fsyncgate.guest.constants import AT_FDCWD, FS_IOC_FIEMAP, O_RDONLY
from fsyncgate.storage.table import Range

SECTOR = 512

_FIEMAP = struct.Struct("<Q Q I I I I")
"""fm_start, fm_length, fm_flags, fm_mapped_extents, fm_extent_count, fm_reserved."""
_EXTENT = struct.Struct("<Q Q Q 16x I 12x")
"""fe_logical, fe_physical, fe_length, reserved, fe_flags, reserved."""
_EXTENTS = 64

UNKNOWN, DELALLOC, INLINE, UNWRITTEN = 0x2, 0x4, 0x200, 0x800
_NAMES = {UNKNOWN: "unknown", DELALLOC: "delayed", INLINE: "inline", UNWRITTEN: "unwritten"}

TREE_SEARCH_V2 = 0xC0709411
_KEY = struct.Struct("<Q 6Q 4I 32x")
"""tree_id, min_objectid, max_objectid, min_offset, max_offset, min_transid, max_transid, min_type,
max_type, nr_items, unused; then four unused words."""


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


@dataclass(frozen=True)
class Chunk:
    """A btrfs chunk on one device, in bytes: logical addresses from `logical` on lie at `stripes`."""

    logical: int
    length: int
    is_data: bool
    stripes: tuple[int, ...]
    """Where its copies begin on the device."""


def chunks(actor: Actor, mount: str) -> list[Chunk]:
    """Return the chunk map of the btrfs mounted at `mount`."""
    descriptor = actor.call("openat", AT_FDCWD, mount, O_RDONLY, 0).must(f"open '{mount}'")
    try:
        room = 32768
        top = 2**64 - 1
        key = _KEY.pack(CHUNK_TREE, FIRST_CHUNK, FIRST_CHUNK, 0, top, 0, top, CHUNK_ITEM, CHUNK_ITEM, 1000, 0)
        answer = actor.call(
            "ioctl",
            descriptor,
            TREE_SEARCH_V2,
            InOut((key + struct.pack("<Q", room)).ljust(room + 112, b"\0")),
        )
        answer.must(f"read the chunk tree of '{mount}'")
        return parse_chunks(answer.out[0])
    finally:
        actor.call("close", descriptor)


CHUNK_TREE, FIRST_CHUNK, CHUNK_ITEM, BLOCK_GROUP_DATA = 3, 256, 228, 1


def parse_chunks(answer: bytes) -> list[Chunk]:
    """Return the chunks in what a tree search answered."""
    (count,) = struct.unpack_from("<I", answer, 64)
    position, found = 112, list[Chunk]()
    for _ in range(count):
        _, _, logical, _, length = struct.unpack_from("<QQQII", answer, position)
        item = position + 32
        size, _, _, kind = struct.unpack_from("<4Q", answer, item)
        (stripes,) = struct.unpack_from("<H", answer, item + 44)
        starts = tuple(
            struct.unpack_from("<Q", answer, item + 48 + 32 * number + 8)[0] for number in range(stripes)
        )
        found.append(Chunk(logical, size, bool(kind & BLOCK_GROUP_DATA), starts))
        position = item + length
    return found


def physical(chunk_map: list[Chunk], logical: int) -> int:
    """Return the byte on the device of the first copy. Raises ValueError outside of all chunks."""
    for chunk in chunk_map:
        if chunk.logical <= logical < chunk.logical + chunk.length:
            return chunk.stripes[0] + logical - chunk.logical
    raise ValueError(f"no chunk holds the logical address {logical}")


def data_ranges(chunk_map: list[Chunk]) -> list[Range]:
    """Return the sectors of all data chunks: where btrfs may put what is written next."""
    return [
        (start // SECTOR, chunk.length // SECTOR)
        for chunk in chunk_map
        if chunk.is_data
        for start in chunk.stripes
    ]
