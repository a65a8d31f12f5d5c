"""The cache: what was fetched or built once, outside the tree, shared by every process of a user.

Three rules keep it whole. Things are made in a temporary folder on the same file system, synced, and renamed
into place. A maker holds a lock (flock) by name, so that others wait instead of making it again. A temporary
folder is locked by its owner and swept by anybody once the owner is gone.
"""

import errno
import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from fsyncgate.errors import SetupError

_POLL = 0.1
"""Seconds between two looks at a lock that somebody else holds."""

_MOVE_IT = "set FSYNCGATE_CACHE to a folder with room that you may write."


class Stopped(Exception):
    """The caller's stop event was set while something was under way; nothing is left half-done."""


def disk_error(error: OSError, folder: Path) -> SetupError:
    """Turn what the file system says into a sentence about the cache."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            said = f"The disk below '{folder}' is full."
        case errno.EROFS:
            said = f"The cache '{folder}' is on a file system that is mounted read-only."
        case errno.EACCES | errno.EPERM:
            said = f"The cache '{folder}' may not be written by this user."
        case _:
            said = f"The cache '{folder}' cannot be used: {error.strerror or error}."
    return SetupError(said, hint=_MOVE_IT)


def disk_full(folder: Path) -> SetupError:
    """Return the sentence for a disk without room, whoever met it."""
    return disk_error(OSError(errno.ENOSPC, ""), folder)


def _ignore(_text: str) -> None:
    pass


class Cache:
    """A folder tree; nothing is created before it is needed."""

    def __init__(self, root: Path) -> None:
        """Use `root`, which need not exist."""
        self.root = root

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "Cache":
        """Choose `$FSYNCGATE_CACHE`, else `$XDG_CACHE_HOME/fsyncgate`, else `~/.cache/fsyncgate`."""
        if own := environ.get("FSYNCGATE_CACHE"):
            return cls(Path(own).absolute())
        xdg = Path(environ.get("XDG_CACHE_HOME", ""))
        return cls((xdg if xdg.is_absolute() else Path.home() / ".cache") / "fsyncgate")

    def path(self, *parts: str) -> Path:
        """Return a path below the root, without touching the disk."""
        return self.root.joinpath(*parts)

    def folder(self, *parts: str) -> Path:
        """Return a folder below the root, made if it was missing."""
        path = self.path(*parts)
        with self.telling():
            path.mkdir(parents=True, exist_ok=True)
        return path

    @contextmanager
    def telling(self) -> Generator[None]:
        """Turn every OSError of the block into a SetupError; for blocks that touch the cache only."""
        try:
            yield
        except OSError as error:
            raise disk_error(error, self.root) from error

    @contextmanager
    def lock(
        self, name: str, *, waiting: Callable[[str], None] = _ignore, stop: threading.Event | None = None
    ) -> Generator[None]:
        """Hold the lock of that name among all processes and threads; it ends with its holder.

        `waiting` is told once if somebody else holds it; Stopped is raised if `stop` is set meanwhile.
        """
        path = self.folder("locks") / f"{name}.lock"
        with self.telling():
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if not self._taken(fd):
                waiting(f"waiting for another process that makes '{name}'")
                stop = stop or threading.Event()
                while not self._taken(fd):
                    if stop.wait(_POLL):
                        raise Stopped
            yield
        finally:
            os.close(fd)

    def _taken(self, fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise disk_error(error, self.root) from error
        return True

    @contextmanager
    def temporary(self) -> Generator[Path]:
        """Give an empty folder on the cache's file system; whatever is still in it afterwards is removed."""
        self.sweep()
        parent = self.folder("tmp")
        with self.telling(), self.lock("tmp"):
            outer = Path(tempfile.mkdtemp(dir=parent))
            owner = os.open(outer / "owner", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(owner, fcntl.LOCK_EX)
        try:
            with self.telling():
                work = outer / "work"
                work.mkdir()
            yield work
        finally:
            shutil.rmtree(outer, ignore_errors=True)
            os.close(owner)

    def sweep(self) -> None:
        """Remove the temporary folders of owners that are gone."""
        dead: list[tuple[Path, int]] = []
        try:
            with self.lock("tmp"), self.telling():
                for outer in self.folder("tmp").iterdir():
                    with suppress(FileNotFoundError, PermissionError):
                        owner = os.open(outer / "owner", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                        if self._taken(owner):
                            dead.append((outer, owner))
                        else:
                            os.close(owner)
            for outer, _ in dead:
                shutil.rmtree(outer, ignore_errors=True)
        finally:
            for _, owner in dead:
                os.close(owner)

    def publish(self, made: Path, final: Path) -> None:
        """Sync `made` (a file or a folder of `temporary`) and rename it to `final`.

        What is already at `final` is replaced: hold a lock if it is a folder, for its readers lose it.
        """
        with self.telling():
            final.parent.mkdir(parents=True, exist_ok=True)
            _sync_tree(made)
            if os.path.lexists(final) and (made.is_dir() or final.is_dir()):
                with self.temporary() as aside:
                    final.rename(aside / "old")
                    made.rename(final)
            else:
                made.rename(final)
            _sync(final.parent)

    def write(self, final: Path, content: bytes) -> None:
        """Write a small file so that it is there whole or not at all."""
        with self.temporary() as work, self.telling():
            made = work / final.name
            made.write_bytes(content)
            self.publish(made, final)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_tree(top: Path) -> None:
    """Bring a file, or a folder with all below it, to the disk, so that the rename cannot overtake it."""
    if top.is_file():
        _sync(top)
        return
    for folder, _, names in os.walk(top):
        for name in names:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                _sync(path)
        _sync(Path(folder))
