"""What btrfs tells of one of its devices, byte by byte."""

import struct

import pytest

from fsyncgate.storage.btrfs import (
    SUPERBLOCK,
    Chunk,
    data_ranges,
    device_number,
    metadata_ranges,
    parse_chunks,
    parse_write_errors,
    physical,
)

MIB = 1 << 20


def chunk_item(logical: int, length: int, kind: int, *stripes: int | tuple[int, int]) -> bytes:
    """Make an item of the chunk tree: struct btrfs_ioctl_search_header, struct btrfs_chunk, its stripes.

    A stripe is the byte where it begins on device 1, or the device and the byte.
    """
    chunk = struct.pack("<4Q", length, 2, 65536, kind)  # length, owner, stripe_len, type
    chunk += struct.pack("<3I", 4096, 4096, 4096)  # io_align, io_width, sector_size
    chunk += struct.pack("<2H", len(stripes), 0)  # num_stripes, sub_stripes
    for stripe in stripes:
        device, start = stripe if isinstance(stripe, tuple) else (1, stripe)
        chunk += struct.pack("<2Q", device, start) + bytes(16)  # devid, offset, dev_uuid
    return struct.pack("<QQQII", 7, 256, logical, 228, len(chunk)) + chunk


def chunk_tree(*items: bytes) -> bytes:
    """Make what BTRFS_IOC_TREE_SEARCH_V2 answers: struct btrfs_ioctl_search_key, buf_size, the items."""
    key = struct.pack("<Q6Q4I32x", 3, 256, 256, 0, 2**64 - 1, 0, 2**64 - 1, 228, 228, len(items), 0)
    return (key + struct.pack("<Q", 32768) + b"".join(items)).ljust(112 + 32768, b"\0")


DATA, SYSTEM_DUP, METADATA_DUP = 0x1, 0x22, 0x24
ANSWER = chunk_tree(
    chunk_item(13 * MIB, 8 * MIB, DATA, 13 * MIB),
    chunk_item(21 * MIB, 8 * MIB, SYSTEM_DUP, 21 * MIB, 29 * MIB),
    chunk_item(29 * MIB, 32 * MIB, METADATA_DUP, 37 * MIB, 69 * MIB),
)
CHUNKS = parse_chunks(ANSWER, 1)


def test_the_chunks_of_a_new_btrfs() -> None:
    assert parse_chunks(ANSWER, 1) == [
        Chunk(logical=13 * MIB, length=8 * MIB, is_data=True, stripes=(13 * MIB,)),
        Chunk(logical=21 * MIB, length=8 * MIB, is_data=False, stripes=(21 * MIB, 29 * MIB)),
        Chunk(logical=29 * MIB, length=32 * MIB, is_data=False, stripes=(37 * MIB, 69 * MIB)),
    ]


def test_a_tree_without_chunks() -> None:
    assert parse_chunks(chunk_tree(), 1) == []


@pytest.mark.parametrize(
    ("logical", "where"),
    [
        pytest.param(13 * MIB, 13 * MIB, id="first byte of a chunk"),
        pytest.param(21 * MIB - 1, 21 * MIB - 1, id="last byte of a chunk"),
        pytest.param(29 * MIB + 4096, 37 * MIB + 4096, id="first of two copies"),
    ],
)
def test_a_logical_address_has_a_byte_on_the_device(logical: int, where: int) -> None:
    assert physical(CHUNKS, logical) == where


@pytest.mark.parametrize("logical", [0, 13 * MIB - 1, 61 * MIB])
def test_an_address_in_no_chunk_is_an_error(logical: int) -> None:
    with pytest.raises(ValueError, match=f"no chunk holds the logical address {logical}"):
        physical(CHUNKS, logical)


def test_data_may_go_to_the_data_chunks_alone() -> None:
    assert data_ranges(CHUNKS) == [(13 * 2048, 8 * 2048)]


def test_data_that_is_kept_twice_may_go_to_either_copy() -> None:
    chunks = parse_chunks(chunk_tree(chunk_item(0, MIB, DATA | 0x20, MIB, 4 * MIB)), 1)
    assert data_ranges(chunks) == [(2048, 2048), (8192, 2048)]


def test_what_is_no_data_chunk_is_metadata_with_both_its_copies() -> None:
    twice = [(21 * 2048, 8 * 2048), (29 * 2048, 8 * 2048), (37 * 2048, 32 * 2048), (69 * 2048, 32 * 2048)]
    assert metadata_ranges(CHUNKS) == twice


MIRRORED = chunk_tree(
    chunk_item(0, MIB, DATA | 0x10, (1, 7 * MIB), (2, 3 * MIB)), chunk_item(MIB, MIB, DATA, (1, 9 * MIB))
)


def test_of_two_legs_only_the_one_on_the_device_is_aimed_at() -> None:
    assert data_ranges(parse_chunks(MIRRORED, 2)) == [(3 * 2048, 2048)]
    assert data_ranges(parse_chunks(MIRRORED, 1)) == [(7 * 2048, 2048), (9 * 2048, 2048)]


def test_an_address_on_the_other_device_alone_has_no_byte_here() -> None:
    chunks = parse_chunks(MIRRORED, 2)
    assert physical(chunks, 4096) == 3 * MIB + 4096
    with pytest.raises(ValueError, match="no chunk holds the logical address"):
        physical(chunks, MIB)


def test_the_number_of_a_device_stands_in_its_superblock() -> None:
    # struct btrfs_super_block: csum, fsid, bytenr, flags, magic, ... ; dev_item.devid comes at byte 201.
    block = bytearray(4096)
    struct.pack_into("<Q8s", block, 48, SUPERBLOCK, b"\0" * 8)
    struct.pack_into("<Q", block, 201, 2)
    assert device_number(bytes(block)) == 2


def test_the_errors_of_a_device_are_told_apart() -> None:
    answer = struct.pack("<3Q5Q", 2, 5, 0, 7, 1, 2, 3, 4).ljust(1032, b"\0")
    assert parse_write_errors(answer) == 7
