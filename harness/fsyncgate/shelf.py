"""Things that the cache makes for itself: each a folder, made when it is missing or damaged.

A seal beside the files says how they were when they were made. It tells damage - a host that went down,
a file that somebody cut - and not malice, so a CRC is enough, and quick: half a gigabyte of mostly
empty memory in a tenth of a second.
"""

import os
import shutil
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from fsyncgate.cache import Cache, disk_full
from fsyncgate.errors import FsyncgateError

SEAL = "seal.json"
KEPT = 8
"""So many things of one kind stay, however old they are."""
UNUSED = 14 * 24 * 3600.0
"""Seconds after which others are thrown away that nobody has used."""

_CHUNK = 1 << 18
_NO_ROOM = 1 << 20
"""Bytes: what fails on a disk with less room than this has failed for want of room."""


class File(msgspec.Struct, frozen=True):
    """What a file was like when it was sealed."""

    size: int
    crc: int


class Shelf:
    """The things of one kind."""

    def __init__(self, cache: Cache, kind: str) -> None:
        """Use the folder `kind` of the cache."""
        self._cache = cache
        self._kind = kind
        self._trusted: set[str] = set()

    def get(self, name: str, make: Callable[[Path], None]) -> Path:
        """Return the folder of that name; `make` fills it, in a folder of its own, if it is not there whole.

        Its files are looked at when this shelf is first asked for it. Names are `<what>-<key>`: one process
        at a time makes a <what>. Raises what `make` raises, SetupError if the disk is full.
        """
        folder = self._cache.folder(self._kind) / name
        if name not in self._trusted and not whole(folder):
            with self._cache.lock(f"{self._kind}-{name.rpartition('-')[0]}"):
                if not whole(folder):
                    self._make(folder, make)
        self._trusted.add(name)
        with self._cache.telling():
            os.utime(folder)
        return folder

    def doubt(self, name: str) -> None:
        """Look at the files again when the thing is asked for next."""
        self._trusted.discard(name)

    def _make(self, folder: Path, make: Callable[[Path], None]) -> None:
        with self._cache.temporary() as work:
            made = work / folder.name
            made.mkdir()
            try:
                with self._cache.telling():
                    make(made)
                    seal(made)
            except FsyncgateError:
                if shutil.disk_usage(self._cache.root).free < _NO_ROOM:
                    raise disk_full(self._cache.root) from None
                raise
            self._cache.publish(made, folder)
        self._prune()

    def _prune(self) -> None:
        """Throw away what nobody has used for long."""
        used: list[tuple[float, Path]] = []
        for folder in self._cache.folder(self._kind).iterdir():
            with suppress(FileNotFoundError):  # another process has thrown it away
                used.append((folder.stat().st_mtime, folder))
        for last, folder in sorted(used, reverse=True)[KEPT:]:
            if last < time.time() - UNUSED:
                with self._cache.temporary() as aside, suppress(FileNotFoundError):
                    folder.rename(aside / folder.name)


def seal(folder: Path) -> None:
    """Write down what the files of a folder are like."""
    files = {path.name: _state(path) for path in sorted(folder.iterdir())}
    (folder / SEAL).write_bytes(msgspec.json.encode(files))


def whole(folder: Path) -> bool:
    """Tell whether a folder is there and its files are as they were sealed."""
    try:
        files = msgspec.json.decode((folder / SEAL).read_bytes(), type=dict[str, File])
        return all(_state(folder / name) == state for name, state in files.items())
    except (OSError, msgspec.DecodeError):
        return False


def _state(path: Path) -> File:
    """Read a file, but for its holes."""
    nothing = bytes(_CHUNK)
    crc = at = 0
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        while at < size:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA) // _CHUNK * _CHUNK
            except OSError:  # nothing but a hole to the end
                break
            chunk = os.pread(file.fileno(), _CHUNK, at)
            if chunk != nothing[: len(chunk)]:
                crc = zlib.crc32(chunk, zlib.crc32(at.to_bytes(8, "little"), crc))
            at += _CHUNK
    return File(size, crc)
