"""A process of a scenario that watches a file system for errors, as a monitoring daemon does."""

import time

from fsyncgate.guest.fanotify import FsError, Group, handle
from fsyncgate.guest.process import Process


class Watch:
    """FAN_FS_ERROR events of one file system."""

    def __init__(self, process: Process, path: str) -> None:
        """Begin to watch the file system of `path`. Raises Unsupported without fanotify."""
        began = time.monotonic()
        self._process = process
        self._group = Group(process.actor, path)
        self.answer = self._group.answer
        """0, or the errno of a kernel that knows no such event."""
        named: dict[str, object] = {"file system": path, "event": "FAN_FS_ERROR"}
        process.witness.called(process.name, "fanotify_mark", named, self.answer, began)

    def told(self, path: str) -> list[str]:
        """Return what was told since the last time, as `EIO: the file` or `EIO: the file system`.

        `path` is the file that is meant; an error of any other is said to be so.
        """
        began = time.monotonic()
        errors = self._group.read()
        meant = handle(self._process.actor, path) if any(error.file for error in errors) else None
        said = [f"{error.error}: {_whose(error, meant)}" for error in errors]
        named: dict[str, object] = {"told": said, "counts": [error.count for error in errors]}
        self._process.witness.called(self._process.name, "fanotify read", named, len(errors), began)
        return said


def _whose(error: FsError, meant: tuple[int, bytes] | None) -> str:
    if error.file is None:
        return "the file system"
    return "the file" if error.file == meant else "another file"
