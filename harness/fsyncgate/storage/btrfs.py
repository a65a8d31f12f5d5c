"""What btrfs tells of the disk that is broken: which chunks lie on it, and which errors it has counted.

Structures: include/uapi/linux/btrfs.h, include/uapi/linux/btrfs_tree.h.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import InOut
from fsyncgate.guest.constants import AT_FDCWD, O_RDONLY
from fsyncgate.storage.table import SECTOR, Range

SUPERBLOCK = 65536
"""The byte at which each device has its superblock."""
_DEVICE = 201
"""The byte of the superblock at which the device's own item begins, with its number."""

TREE_SEARCH_V2 = 0xC0709411
_KEY = struct.Struct("<Q 6Q 4I 32x")
"""tree_id, min_objectid, max_objectid, min_offset, max_offset, min_transid, max_transid, min_type,
max_type, nr_items, unused; then four unused words."""
CHUNK_TREE, FIRST_CHUNK, CHUNK_ITEM, BLOCK_GROUP_DATA = 3, 256, 228, 1

GET_DEV_STATS = 0xC4089434
_STATS = struct.Struct("<3Q 5Q 968x")
"""devid, nr_items, flags; then errors of write, read, flush, corruption, generation."""


@dataclass(frozen=True)
class Chunk:
    """A btrfs chunk, in bytes: logical addresses from `logical` on lie at `stripes` of one device."""

    logical: int
    length: int
    is_data: bool
    stripes: tuple[int, ...]
    """Where its copies begin on that device; empty if it has none there."""


def device_number(superblock: bytes) -> int:
    """Return the number that btrfs has given to the device with this superblock."""
    (number,) = struct.unpack_from("<Q", superblock, _DEVICE)
    return int(number)


def chunks(actor: Actor, mount: str, device: int) -> list[Chunk]:
    """Return the chunk map of the btrfs mounted at `mount`, as far as it is about one device."""
    room = 32768
    top = 2**64 - 1
    key = _KEY.pack(CHUNK_TREE, FIRST_CHUNK, FIRST_CHUNK, 0, top, 0, top, CHUNK_ITEM, CHUNK_ITEM, 1000, 0)
    request = (key + struct.pack("<Q", room)).ljust(room + 112, b"\0")
    return parse_chunks(_asked(actor, mount, TREE_SEARCH_V2, request), device)


def write_errors(actor: Actor, mount: str, device: int) -> int:
    """Return how many failed writes btrfs has counted of a device."""
    return parse_write_errors(_asked(actor, mount, GET_DEV_STATS, _STATS.pack(device, 5, 0, *[0] * 5)))


def parse_write_errors(answer: bytes) -> int:
    """Return the write errors in what BTRFS_IOC_GET_DEV_STATS answered."""
    return int(_STATS.unpack(answer)[3])


def parse_chunks(answer: bytes, device: int) -> list[Chunk]:
    """Return the chunks in what a tree search answered, with their stripes on one device."""
    (count,) = struct.unpack_from("<I", answer, 64)
    position, found = 112, list[Chunk]()
    for _ in range(count):
        _, _, logical, _, length = struct.unpack_from("<QQQII", answer, position)
        item = position + 32
        size, _, _, kind = struct.unpack_from("<4Q", answer, item)
        (number,) = struct.unpack_from("<H", answer, item + 44)
        stripes = [struct.unpack_from("<2Q", answer, item + 48 + 32 * stripe) for stripe in range(number)]
        here = tuple(start for holder, start in stripes if holder == device)
        found.append(Chunk(logical, size, bool(kind & BLOCK_GROUP_DATA), here))
        position = item + length
    return found


def physical(chunk_map: list[Chunk], logical: int) -> int:
    """Return the byte on the device of the first copy there. Raises ValueError outside of all chunks."""
    for chunk in chunk_map:
        if chunk.stripes and chunk.logical <= logical < chunk.logical + chunk.length:
            return chunk.stripes[0] + logical - chunk.logical
    raise ValueError(f"no chunk holds the logical address {logical}")


def data_ranges(chunk_map: list[Chunk]) -> list[Range]:
    """Return the sectors of all data chunks: where btrfs may put what is written next."""
    return _ranges(chunk for chunk in chunk_map if chunk.is_data)


def metadata_ranges(chunk_map: list[Chunk]) -> list[Range]:
    """Return the sectors of all other chunks, metadata and system: every tree of btrfs lies there."""
    return _ranges(chunk for chunk in chunk_map if not chunk.is_data)


def _ranges(chunk_map: Iterable[Chunk]) -> list[Range]:
    return [(start // SECTOR, chunk.length // SECTOR) for chunk in chunk_map for start in chunk.stripes]


def _asked(actor: Actor, mount: str, request: int, argument: bytes) -> bytes:
    descriptor = actor.call("openat", AT_FDCWD, mount, O_RDONLY, 0).must(f"open '{mount}'")
    try:
        answer = actor.call("ioctl", descriptor, request, InOut(argument))
        answer.must(f"ask btrfs at '{mount}'")
        return answer.out[0]
    finally:
        actor.call("close", descriptor)
