"""Where f2fs appends data, from a superblock and two checkpoints, byte by byte."""

import struct

from fsyncgate.storage.f2fs import data_ranges, node_ranges

CHECKPOINT, MAIN = 512, 5120
SEGMENT = 512


def superblock() -> bytes:
    """Make the first block: struct f2fs_super_block at byte 1024, segments of 512 blocks."""
    fields = struct.pack("<I2H4I", 0xF2F52010, 1, 15, 9, 3, 12, 9)
    addresses = struct.pack("<6I", CHECKPOINT, CHECKPOINT, 1536, 2560, 4096, MAIN)
    return (bytes(1024) + fields.ljust(72, b"\0") + addresses).ljust(4096, b"\0")


def checkpoint(version: int, *segments: int) -> bytes:
    """Make the first block of a checkpoint: struct f2fs_checkpoint; node logs stand in segments 70 to 72."""
    head = struct.pack("<3Q3I", version, 0, 0, 0, 0, 0)
    nodes = struct.pack("<8I8H", 70, 71, 72, *[0xFFFFFFFF] * 5, *[0] * 8)
    return (head + nodes + struct.pack("<8I", *segments, *[0xFFFFFFFF] * 5)).ljust(4096, b"\0")


def disk(first: bytes, second: bytes) -> dict[int, bytes]:
    """Put two checkpoints where they belong: one segment apart."""
    return {0: superblock(), CHECKPOINT * 4096: first, (CHECKPOINT + SEGMENT) * 4096: second}


def test_data_is_appended_to_the_segments_of_the_newest_checkpoint() -> None:
    where = [((MAIN + number * SEGMENT) * 8, SEGMENT * 8) for number in (3, 1, 2)]
    old, new = checkpoint(7, 8, 9, 10), checkpoint(8, 3, 1, 2)
    assert data_ranges(disk(old, new).__getitem__) == where
    assert data_ranges(disk(new, old).__getitem__) == where


def test_nodes_are_appended_to_segments_of_their_own() -> None:
    read = disk(checkpoint(7, 8, 9, 10), checkpoint(8, 3, 1, 2)).__getitem__
    assert node_ranges(read) == [((MAIN + number * SEGMENT) * 8, SEGMENT * 8) for number in (70, 71, 72)]
    assert not set(node_ranges(read)) & set(data_ranges(read))
