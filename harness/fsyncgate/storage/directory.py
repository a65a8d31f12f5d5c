"""A directory of the volume, and the names in it."""

from typing import TYPE_CHECKING

from fsyncgate.guest.constants import AT_FDCWD, O_CREAT, O_DIRECTORY, O_RDONLY, O_RDWR
from fsyncgate.guest.process import OpenFile, Process
from fsyncgate.history import Outcome
from fsyncgate.storage.place import Place

if TYPE_CHECKING:
    from fsyncgate.storage.volume import Volume


class Directory:
    """The root directory of a file system."""

    def __init__(self, volume: "Volume", path: str) -> None:
        """Take the volume's root, or that of the file system below it."""
        self._volume = volume
        self._path = path

    def open(self, *, by: Process | None = None) -> OpenFile:
        """Open the directory, to call fsync or syncfs on it."""
        return (by or self._volume.process).open(self._path, O_RDONLY | O_DIRECTORY)

    @property
    def block(self) -> Place:
        """Where the directory's names lie."""
        return self._volume.aim.directory(self._path)

    def make(self, name: str) -> Outcome:
        """mkdir(2): a change that answers 0."""
        path = f"{self._path}/{name}"
        return self._volume.process.call("mkdir", {"path": path}, "mkdir", path, 0o755)

    def create(self, name: str) -> Outcome:
        """Create an empty file."""
        process = self._volume.process
        path = f"{self._path}/{name}"
        return process.call("create", {"path": path}, "openat", AT_FDCWD, path, O_CREAT | O_RDWR, 0o644)

    def rename(self, old: str, new: str) -> Outcome:
        """rename(2) within the directory."""
        paths = (f"{self._path}/{old}", f"{self._path}/{new}")
        return self._volume.process.call("rename", {"old": paths[0], "new": paths[1]}, "rename", *paths)

    def has(self, name: str) -> bool:
        """Tell whether the volume, mounted again, still has that name."""
        self._volume.remount()
        return self._volume.file(name).exists()
