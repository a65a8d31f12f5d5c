"""What fanotify tells of errors of a file system (FAN_FS_ERROR).

Structures: include/uapi/linux/fanotify.h and Documentation/admin-guide/filesystem-monitoring.rst.
"""

import struct
from dataclasses import dataclass
from errno import errorcode

from fsyncgate.errors import GuestError, Unsupported
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import InOut, Out
from fsyncgate.guest.constants import AT_FDCWD, O_RDONLY
from fsyncgate.guest.files import read_file
from fsyncgate.history import Outcome

FAN_FS_ERROR = 0x8000
_INIT = 0x1 | 0x2 | 0x200
"""FAN_CLOEXEC, FAN_NONBLOCK and FAN_REPORT_FID; the class is FAN_CLASS_NOTIF, 0."""
_MARK = 0x1 | 0x100
"""FAN_MARK_ADD and FAN_MARK_FILESYSTEM."""
_INFO_FID, _INFO_ERROR = 1, 5
_METADATA = struct.Struct("<I B x H Q i i")
"""event_len, vers, metadata_len, mask, fd, pid."""
_INFO = struct.Struct("<B x H")
"""info_type, len."""
_ERROR = struct.Struct("<4x i I")
"""Behind the header: error, error_count."""
_FID = struct.Struct("<4x 8x I i")
"""Behind the header and the fsid: handle_bytes, handle_type; the handle follows."""
_HANDLE = struct.Struct("<I i")
_NO_FILE = 0xFF
"""FILEID_INVALID: the error belongs to the file system as a whole."""
_BUFFER, _MAX_HANDLE = 4096, 128

Handle = tuple[int, bytes]
"""A file as name_to_handle_at(2) calls it: type and bytes."""


@dataclass(frozen=True, slots=True)
class FsError:
    """One event: the first error since the last read, and how many there were."""

    error: str
    """The errno's name. ext4 before v7.0 may give it a sign: that is kept, as in `-EIO`."""
    count: int
    file: Handle | None
    """None: not the error of one file."""


def parse(records: bytes) -> list[FsError]:
    """Return the error events in what a read of a fanotify descriptor gave; others are left out.

    Raises GuestError where a record is cut off or lies about its length.
    """
    found: list[FsError] = []
    while records:
        if len(records) < _METADATA.size:
            raise GuestError("A fanotify event is cut off.")
        length, _, head, mask, _, _ = _METADATA.unpack_from(records)
        if not _METADATA.size <= head <= length <= len(records):
            raise GuestError("A fanotify event lies about its length.")
        if mask & FAN_FS_ERROR:
            found.append(_event(records[head:length]))
        records = records[length:]
    return found


def _event(infos: bytes) -> FsError:
    error, count = 0, 0
    file: Handle | None = None
    while infos:
        kind, length = _INFO.unpack_from(infos) if len(infos) >= _INFO.size else (0, 0)
        if not _INFO.size <= length <= len(infos):
            raise GuestError("A record of a fanotify event lies about its length.")
        if kind == _INFO_ERROR and length >= _ERROR.size:
            error, count = _ERROR.unpack_from(infos)
        elif kind == _INFO_FID and length >= _FID.size:
            size, handle = _FID.unpack_from(infos)
            file = None if handle == _NO_FILE else (handle, infos[_FID.size : _FID.size + size])
        infos = infos[length:]
    if not count:
        raise GuestError("A fanotify event of an error does not say which.")
    return FsError(("-" if error < 0 else "") + errorcode.get(abs(error), str(abs(error))), count, file)


class Group:
    """A fanotify group of one process, which watches a file system for errors."""

    def __init__(self, actor: Actor, path: str) -> None:
        """Watch the file system of `path`; `answer` is 0, or the errno for a kernel that cannot.

        Raises Unsupported where the kernel has no fanotify at all.
        """
        self._actor = actor
        group = actor.call("fanotify_init", _INIT, O_RDONLY)
        if group.error == "ENOSYS":
            raise Unsupported("This kernel has no fanotify (CONFIG_FANOTIFY).")
        self._group = group.must("make a fanotify group")
        marked = actor.call("fanotify_mark", self._group, _MARK, FAN_FS_ERROR, AT_FDCWD, path)
        self.answer: Outcome = marked.error or 0

    def read(self) -> list[FsError]:
        """Return the errors told since the last read.

        From v7.0 on a work queue tells them: whatever was put there before is done when a later entry of
        the same queue is, which is what a read of stat_refresh waits for (the guest has one processor).
        """
        read_file(self._actor, "/proc/sys/vm/stat_refresh")
        found: list[FsError] = []
        while (answer := self._actor.call("read", self._group, Out(_BUFFER), _BUFFER)).error != "EAGAIN":
            answer.must("read what fanotify tells")
            found += parse(answer.data)
        return found


def handle(actor: Actor, path: str) -> Handle:
    """Return the handle of a file. Raises GuestError if the file system gives none."""
    before = InOut(_HANDLE.pack(_MAX_HANDLE, 0) + bytes(_MAX_HANDLE))
    answer = actor.call("name_to_handle_at", AT_FDCWD, path, before, Out(4), 0)
    answer.must(f"name a handle of '{path}'")
    size, kind = _HANDLE.unpack_from(answer.out[0])
    return kind, answer.out[0][_HANDLE.size : _HANDLE.size + size]
