"""Where a file's bytes lie: the answers of FIEMAP, byte by byte."""

import struct

from fsyncgate.storage.extents import (
    DELALLOC,
    INLINE,
    UNKNOWN,
    UNWRITTEN,
    Extent,
    parse_fiemap,
)

LAST, ENCODED, NOT_ALIGNED = 0x1, 0x8, 0x100


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
