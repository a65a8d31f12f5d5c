"""Where a file's bytes lie: the answers of FIEMAP and of btrfs, byte by byte."""

import struct

import pytest

from fsyncgate.storage.extents import (
    DELALLOC,
    INLINE,
    UNKNOWN,
    UNWRITTEN,
    Chunk,
    Extent,
    data_ranges,
    parse_chunks,
    parse_fiemap,
    physical,
)

LAST, ENCODED, NOT_ALIGNED = 0x1, 0x8, 0x100
MIB = 1 << 20


def fiemap(*found: tuple[int, int, int, int]) -> bytes:
    """Make an answer from (logical, physical, length, flags): struct fiemap, with room for more extents."""
    answer = struct.pack("<QQIIII", 0, 2**63 - 1, 0, len(found), 64, 0)
    for logical, start, length, flags in found:
        answer += struct.pack("<QQQQQIIII", logical, start, length, 0, 0, flags, 0, 0, 0)
    return answer.ljust(32 + 64 * 56, b"\0")


def test_a_written_file_of_one_extent() -> None:
    (extent,) = parse_fiemap(fiemap((0, 136314880, 4096, LAST)))
    assert extent == Extent(offset=0, start=136314880, length=4096, flags=LAST)
    assert (extent.on_disk, extent.describe()) == (True, "written")


def test_an_empty_file_has_none() -> None:
    assert parse_fiemap(fiemap()) == []


def test_an_allocated_block_that_was_never_written() -> None:
    _, second = parse_fiemap(fiemap((0, 136314880, 4096, 0), (4096, 136318976, 4096, UNWRITTEN | LAST)))
    assert (second.offset, second.on_disk, second.describe()) == (4096, True, "unwritten")


def test_delayed_allocation_has_no_place_yet() -> None:
    (extent,) = parse_fiemap(fiemap((0, 0, 4096, UNKNOWN | DELALLOC | LAST)))
    assert (extent.on_disk, extent.describe()) == (False, "unknown+delayed")


def test_delayed_allocation_of_no_length_is_left_out() -> None:
    assert parse_fiemap(fiemap((0, 0, 0, UNKNOWN | DELALLOC | LAST))) == []


def test_a_small_file_in_the_metadata_of_btrfs_has_no_place_of_its_own() -> None:
    (extent,) = parse_fiemap(fiemap((0, 0, 2048, INLINE | NOT_ALIGNED | LAST)))
    assert not extent.on_disk


def chunk_item(logical: int, length: int, kind: int, *stripes: int) -> bytes:
    """Make an item of the chunk tree: struct btrfs_ioctl_search_header, struct btrfs_chunk, its stripes."""
    chunk = struct.pack("<4Q", length, 2, 65536, kind)  # length, owner, stripe_len, type
    chunk += struct.pack("<3I", 4096, 4096, 4096)  # io_align, io_width, sector_size
    chunk += struct.pack("<2H", len(stripes), 0)  # num_stripes, sub_stripes
    for start in stripes:
        chunk += struct.pack("<2Q", 1, start) + bytes(16)  # devid, offset, dev_uuid
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
CHUNKS = parse_chunks(ANSWER)


def test_the_chunks_of_a_new_btrfs() -> None:
    assert parse_chunks(ANSWER) == [
        Chunk(logical=13 * MIB, length=8 * MIB, is_data=True, stripes=(13 * MIB,)),
        Chunk(logical=21 * MIB, length=8 * MIB, is_data=False, stripes=(21 * MIB, 29 * MIB)),
        Chunk(logical=29 * MIB, length=32 * MIB, is_data=False, stripes=(37 * MIB, 69 * MIB)),
    ]


def test_a_tree_without_chunks() -> None:
    assert parse_chunks(chunk_tree()) == []


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
    chunks = parse_chunks(chunk_tree(chunk_item(0, MIB, DATA | 0x20, MIB, 4 * MIB)))
    assert data_ranges(chunks) == [(2048, 2048), (8192, 2048)]
