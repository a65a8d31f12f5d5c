"""What the guest's kernel answers about pages and folders, byte by byte."""

import struct

import pytest

from fsyncgate.guest.files import directory_entries
from fsyncgate.guest.pages import Cached, names


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (0, []),
        (1 << 4 | 1 << 3, ["uptodate", "dirty"]),
        (1 << 8 | 1 << 3, ["uptodate", "writeback"]),
        (1 << 3 | 1 << 1, ["error", "uptodate"]),
        pytest.param(1 << 0 | 1 << 2 | 1 << 5 | 1 << 11, [], id="flags that do not matter"),
    ],
)
def test_the_flags_of_a_page(word: int, expected: list[str]) -> None:
    assert names(word) == expected


def test_pages_are_known_by_inode_and_index() -> None:
    cached = Cached()
    cached.added(12, 8192, 1000, 2)
    assert [cached.number(12, index) for index in range(5)] == [None, None, 1000, 1001, None]
    assert cached.number(13, 2) is None
    cached.removed(12, 8192, 1)
    assert [cached.number(12, 2), cached.number(12, 3)] == [None, 1001]


def test_to_remove_what_was_never_seen_does_nothing() -> None:
    Cached().removed(12, 0, 4)


def entry(name: str, kind: int = 8) -> bytes:
    """Make a struct linux_dirent64: d_ino, d_off, d_reclen, d_type, d_name."""
    record = struct.pack("<QqHB", 12, 1, 0, kind) + name.encode() + b"\0"
    length = -(-len(record) // 8) * 8
    return (record[:16] + struct.pack("<H", length) + record[18:]).ljust(length, b"\0")


def test_the_names_in_a_folder() -> None:
    records = entry(".", 4) + entry("..", 4) + entry("vda") + entry("a name of some length")
    assert directory_entries(records) == [".", "..", "vda", "a name of some length"]


def test_an_empty_answer_has_no_names() -> None:
    assert directory_entries(b"") == []
