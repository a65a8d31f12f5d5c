"""Messages for device-mapper's control node, byte by byte, and what it answers."""

import struct

import pytest

from fsyncgate.storage.devicemapper import (
    DEV_CREATE,
    HEADER,
    LIST_VERSIONS,
    NOFLUSH,
    ROOM,
    SKIP_LOCKFS,
    SUSPEND,
    TABLE_LOAD,
    message,
    parse_versions,
    request,
    targets,
)
from fsyncgate.storage.table import Segment


@pytest.mark.parametrize(
    ("command", "number"), [(DEV_CREATE, 0xC138FD03), (TABLE_LOAD, 0xC138FD09), (LIST_VERSIONS, 0xC138FD0D)]
)
def test_ioctl_numbers_are_those_of_the_kernel_headers(command: int, number: int) -> None:
    assert request(command) == number


def test_the_header_is_as_long_as_struct_dm_ioctl() -> None:
    assert HEADER.size == 312


def test_a_message_names_its_device_its_flags_and_where_the_targets_begin() -> None:
    body = message("fault", flags=SUSPEND | SKIP_LOCKFS | NOFLUSH, targets=2, payload=b"targets")
    assert len(body) == ROOM
    assert struct.unpack_from("<3I", body) == (4, 0, 0)
    assert struct.unpack_from("<4I", body, 12) == (ROOM, 312, 2, 0)
    assert struct.unpack_from("<I", body, 28) == (0x2 | 0x400 | 0x800,)
    assert body[48:54] == b"fault\0"
    assert body[312:319] == b"targets"
    assert not any(body[319:])


def test_targets_are_packed_one_after_the_other_at_multiples_of_eight() -> None:
    packed = targets([Segment(0, 96, "linear", "254:0 0"), Segment(96, 8, "error")])
    # struct dm_target_spec is 40 bytes: sector_start, length, status, next, target_type[16].
    assert struct.unpack_from("<QQiI16s", packed) == (0, 96, 0, 48, b"linear".ljust(16, b"\0"))
    assert packed[40:48] == b"254:0 0\0"
    assert struct.unpack_from("<QQiI16s", packed, 48) == (96, 8, 0, 48, b"error".ljust(16, b"\0"))
    assert packed[88:] == bytes(8)


def test_parameters_that_fill_eight_bytes_still_get_their_zero() -> None:
    packed = targets([Segment(0, 8, "linear", "253:10 0")])
    assert struct.unpack_from("<I", packed, 20) == (56,)
    assert packed[40:] == b"253:10 0".ljust(16, b"\0")


def test_a_table_too_long_for_one_message_is_refused() -> None:
    table = [Segment(start, 1, "linear", f"254:0 {start}") for start in range(400)]
    with pytest.raises(ValueError, match="over 16384"):
        message("fault", targets=len(table), payload=targets(table))


def test_the_list_of_targets_and_their_versions() -> None:
    # struct dm_target_versions: next (0 in the last), version[3], name.
    flakey = struct.pack("<4I", 24, 1, 5, 0) + b"flakey\0\0"
    linear = struct.pack("<4I", 24, 1, 4, 0) + b"linear\0\0"
    error = struct.pack("<4I", 0, 1, 5, 0) + b"error\0\0\0"
    answer = message("", payload=flakey + linear + error)
    assert parse_versions(answer) == {"flakey": (1, 5, 0), "linear": (1, 4, 0), "error": (1, 5, 0)}


def test_a_kernel_with_one_target() -> None:
    answer = message("", payload=struct.pack("<4I", 0, 1, 4, 0) + b"linear\0")
    assert parse_versions(answer) == {"linear": (1, 4, 0)}
