"""What a read of a fanotify descriptor gives, as include/uapi/linux/fanotify.h lays it out."""

import struct

import pytest

from fsyncgate.errors import GuestError
from fsyncgate.guest.fanotify import FAN_FS_ERROR, FsError, parse

FAN_MODIFY = 0x2
INO32_GEN, INVALID = 1, 0xFF


def info(kind: int, body: bytes) -> bytes:
    return struct.pack("<BBH", kind, 0, 4 + len(body)) + body


def error(number: int, count: int = 1) -> bytes:
    return info(5, struct.pack("<iI", number, count))


def fid(handle: bytes = b"", kind: int = INVALID) -> bytes:
    return info(1, b"fsid8byt" + struct.pack("<Ii", len(handle), kind) + handle)


def event(*infos: bytes, mask: int = FAN_FS_ERROR) -> bytes:
    body = b"".join(infos)
    return struct.pack("<IBBHQii", 24 + len(body), 3, 0, 24, mask, -1, 0) + body


def test_nothing_was_told() -> None:
    assert parse(b"") == []


def test_an_error_of_the_whole_file_system() -> None:
    assert parse(event(error(5), fid())) == [FsError("EIO", 1, None)]


def test_an_error_of_a_file_names_its_handle() -> None:
    handle = struct.pack("<II", 12, 0x5EED)
    assert parse(event(error(5), fid(handle, INO32_GEN))) == [FsError("EIO", 1, (INO32_GEN, handle))]


def test_later_errors_are_only_counted() -> None:
    assert parse(event(error(108, 3), fid())) == [FsError("ESHUTDOWN", 3, None)]


def test_a_sign_that_should_not_be_there_is_kept() -> None:
    assert parse(event(error(-5), fid())) == [FsError("-EIO", 1, None)]


def test_several_events_come_in_their_order() -> None:
    records = event(error(5), fid()) + event(mask=FAN_MODIFY) + event(fid(), error(28))
    assert [found.error for found in parse(records)] == ["EIO", "ENOSPC"]


def test_a_record_of_a_kind_that_is_not_known_is_passed_over() -> None:
    assert parse(event(info(6, bytes(20)), error(5), fid())) == [FsError("EIO", 1, None)]


WHOLE = event(error(5), fid(struct.pack("<II", 12, 1), INO32_GEN))


@pytest.mark.parametrize("length", range(1, len(WHOLE)))
def test_what_is_cut_off_is_no_answer(length: int) -> None:
    with pytest.raises(GuestError):
        parse(WHOLE[:length])


@pytest.mark.parametrize(
    "records",
    [
        struct.pack("<IBBHQii", 0, 3, 0, 24, FAN_FS_ERROR, -1, 0),
        struct.pack("<IBBHQii", 24, 3, 0, 0, FAN_FS_ERROR, -1, 0),
        event(struct.pack("<BBH", 5, 0, 0)),
        event(struct.pack("<BBH", 5, 0, 99)),
        event(fid()),
    ],
    ids=["no length", "no head", "a record without length", "a record beyond the end", "no error"],
)
def test_what_lies_is_no_answer(records: bytes) -> None:
    with pytest.raises(GuestError):
        parse(records)
