"""What a file system's own checker says of a disk, without changing it.

A log that is to be replayed comes first: until then the checkers see a state that nobody will meet.
"""

import os
import shutil
import struct
import subprocess
from pathlib import Path

from fsyncgate.errors import SetupError, Unsupported
from fsyncgate.storage.roles import Read

CLEAN, NEEDS_RECOVERY, ERRORS = "clean", "needs recovery", "errors"

_COMMANDS: dict[str, tuple[str, ...]] = {
    "ext4": ("e2fsck", "-fn"),
    "ext3": ("e2fsck", "-fn"),
    "ext2": ("e2fsck", "-fn"),
    "xfs": ("xfs_repair", "-n"),
    "btrfs": ("btrfs", "check", "--readonly"),
}
_EXT4_RECOVER = 0x4
_XFS_DIRTY_LOG = "valuable metadata changes in a log"
_PATIENCE = 60.0


def fsck(kind: str, package: str, disk: Path) -> tuple[str, str]:
    """Return `clean`, `needs recovery` or `errors`, and all that the checker of `kind` said of `disk`.

    Raises Unsupported for a file system that has none here, SetupError if it is not installed.
    """
    if kind not in _COMMANDS:
        raise Unsupported(f"There is no checker for '{kind}' here.")
    name, *arguments = _COMMANDS[kind]
    tool = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if tool is None:
        raise SetupError(f"'{name}' is not installed.", hint=f"install the Debian package '{package}'.")
    done = subprocess.run(
        [tool, *arguments, str(disk)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"LC_ALL": "C"},
        timeout=_PATIENCE,
        check=False,
    )
    said = done.stdout.decode(errors="replace")
    with disk.open("rb") as opened:
        recovery = needs_recovery(kind, lambda at, size: os.pread(opened.fileno(), size, at), said)
    if recovery:
        return NEEDS_RECOVERY, said
    return (ERRORS if done.returncode else CLEAN), said


def needs_recovery(kind: str, read: Read, said: str) -> bool:
    """Tell whether a journal or a log is to be replayed before anything else can be said.

    The superblock says so of ext4 (the feature needs_recovery) and of btrfs (log_root); of XFS the checker.
    """
    match kind:
        case "ext4" | "ext3":
            (features,) = struct.unpack("<I", read(1024 + 96, 4))
            return bool(features & _EXT4_RECOVER)
        case "btrfs":
            (log_root,) = struct.unpack("<Q", read(65536 + 96, 8))
            return bool(log_root)
        case "xfs":
            return _XFS_DIRTY_LOG in " ".join(said.split())
        case _:
            return False
