"""Small files of the guest, read and written whole: procfs, sysfs, tracefs."""

import struct

from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import Out
from fsyncgate.guest.constants import AT_FDCWD, O_DIRECTORY, O_RDONLY, O_TRUNC, O_WRONLY

_CHUNK = 65536


def read_file(actor: Actor, path: str) -> str:
    """Return the text of `path`. Raises GuestError if it cannot be opened or read."""
    descriptor = actor.call("openat", AT_FDCWD, path, O_RDONLY, 0).must(f"open '{path}'")
    try:
        text = b""
        while size := (answer := actor.call("read", descriptor, Out(_CHUNK), _CHUNK)).must(f"read '{path}'"):
            text += answer.out[0][:size]
        return text.decode(errors="replace")
    finally:
        actor.call("close", descriptor)


def write_file(actor: Actor, path: str, text: str, *, missing_ok: bool = False) -> None:
    """Write `text` to a file that exists. Raises GuestError unless it is missing and may be."""
    opened = actor.call("openat", AT_FDCWD, path, O_WRONLY | O_TRUNC, 0)
    if missing_ok and opened.error == "ENOENT":
        return
    descriptor = opened.must(f"open '{path}'")
    try:
        data = text.encode()
        actor.call("write", descriptor, data, len(data)).must(f"write '{path}'")
    finally:
        actor.call("close", descriptor)


def names(actor: Actor, folder: str) -> list[str]:
    """Return the names in a folder, sorted. Raises GuestError if it cannot be read."""
    descriptor = actor.call("openat", AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0).must(f"open '{folder}'")
    try:
        found: list[str] = []
        while size := (answer := actor.call("getdents64", descriptor, Out(_CHUNK), _CHUNK)).must(
            f"read '{folder}'"
        ):
            found += directory_entries(answer.out[0][:size])
        return sorted(set(found) - {".", ".."})
    finally:
        actor.call("close", descriptor)


def directory_entries(records: bytes) -> list[str]:
    """Return the names in what getdents64(2) answered."""
    found: list[str] = []
    position = 0
    while position < len(records):
        (length,) = struct.unpack_from("<H", records, position + 16)
        found.append(records[position + 19 : position + length].split(b"\0", 1)[0].decode())
        position += length
    return found
