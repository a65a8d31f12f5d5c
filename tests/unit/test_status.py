"""What a file system remembers of a file: read out of what stat(2) and FIEMAP answer."""

import os
import struct
from pathlib import Path

from fsyncgate.guest.actor import Actor, Answer
from fsyncgate.guest.arguments import Argument, InOut
from fsyncgate.storage.status import Status, age, status

WRITTEN, UNWRITTEN = 0, 0x800


class Host(Actor):
    """An actor that looks at a file of this host; its extents are as they are said to be."""

    def __init__(self, *extents: int) -> None:
        self.flags = extents
        self.names: list[str] = []

    def call(self, name: str, *values: Argument, timeout: float | None = None, align: int = 0) -> Answer:  # noqa: ARG002
        self.names.append(name)
        match name, values:
            case "utimensat", (_, str() as path, bytes() as times, _):
                seconds = struct.unpack("<4q", times)
                os.utime(path, (seconds[0], seconds[2]))
            case "stat", (str() as path, _):
                seen = Path(path).stat()
                fields = bytearray(144)
                struct.pack_into("<q", fields, 48, seen.st_size)
                struct.pack_into("<q", fields, 88, int(seen.st_mtime))
                return Answer(0, 0, (bytes(fields),))
            case "ioctl", (_, _, InOut()):
                extents = b"".join(
                    struct.pack("<QQQ16xI12x", 4096 * n, 8192, 4096, flags)
                    for n, flags in enumerate(self.flags)
                )
                return Answer(0, 0, (struct.pack("<QQIIII", 0, 0, 0, len(self.flags), 64, 0) + extents,))
            case _:
                pass
        return Answer(3, 0)


def test_an_aged_file_counts_as_unchanged_until_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(bytes(4096))
    host = Host(WRITTEN, UNWRITTEN)
    age(host, str(path))
    assert "fsync" in host.names
    assert status(host, str(path)) == Status(size=4096, changed=False, extent="written")
    path.write_bytes(bytes(100))
    assert status(host, str(path)) == Status(size=100, changed=True, extent="written")


def test_the_first_extent_is_told() -> None:
    assert status(Host(UNWRITTEN, WRITTEN), __file__).extent == "unwritten"
    assert status(Host(), __file__).extent == "none"
