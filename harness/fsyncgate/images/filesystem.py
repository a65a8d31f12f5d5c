"""File-system images, made once on the host by the file system's own mkfs and kept in the cache."""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec

from fsyncgate.cache import Cache
from fsyncgate.errors import SetupError
from fsyncgate.machine.argv import DISK, SPARE
from fsyncgate.machine.snapshot import Disks
from fsyncgate.model import SECOND, FileSystem
from fsyncgate.shelf import Shelf
from fsyncgate.storage.roles import Roles, btrfs_roles, ext4_roles, xfs_roles

SECTOR = 512
IMAGE, SECOND_IMAGE, ROLES = "image", "second", "roles.json"

Range = tuple[int, int]
"""First sector and number of sectors."""


class Image(msgspec.Struct, frozen=True):
    """A made file system: where its disks' images are, and which sectors of the first have which role.

    The second disk is empty if the file system lies on one.
    """

    disks: Disks
    roles: Roles


def image(filesystem: FileSystem, cache: Cache) -> Image:
    """Return the image of an empty `filesystem`, made now if the cache does not have it."""
    made_of = [filesystem.mkfs, filesystem.newer, _version(filesystem), DISK, SPARE, SECOND_IMAGE]
    record = msgspec.json.schema(Roles)
    key = hashlib.sha256(msgspec.json.encode([made_of, record])).hexdigest()[:16]
    folder = Shelf(cache, "filesystems").get(f"{filesystem.id}-{key}", lambda work: _make(filesystem, work))
    roles = msgspec.json.decode((folder / ROLES).read_bytes(), type=Roles)
    return Image((str(folder / IMAGE), str(folder / SECOND_IMAGE)), roles)


def _make(filesystem: FileSystem, work: Path) -> None:
    path, second = work / IMAGE, work / SECOND_IMAGE
    for image in (path, second):
        with image.open("wb") as file:
            file.truncate(DISK - SPARE)
    mkfs = [argument.replace(SECOND, str(second)) for argument in filesystem.mkfs]
    if mkfs:
        try:
            _output(filesystem, [*mkfs, *filesystem.newer, str(path)])
        except SetupError:
            _output(filesystem, [*mkfs, str(path)])
    for image in (path, second):
        os.truncate(image, DISK)
    (work / ROLES).write_bytes(msgspec.json.encode(_roles(filesystem, path)))


def _roles(filesystem: FileSystem, path: Path) -> Roles:
    journal = tuple(_journal(filesystem, path))
    with path.open("rb") as opened:

        def read(at: int, size: int) -> bytes:
            return os.pread(opened.fileno(), size, at)

        match filesystem.type:
            case "ext4" | "ext3" | "ext2":
                return ext4_roles(read, journal)
            case "xfs":
                return xfs_roles(read, journal)
            case "btrfs":
                return btrfs_roles(DISK - SPARE)
            case _:
                return Roles(journal)


def _journal(filesystem: FileSystem, path: Path) -> list[Range]:
    match filesystem.type:
        case "ext2" | "ext3" | "ext4":
            return ext4_journal(_output(filesystem, ["debugfs", "-R", "stat <8>", str(path)]))
        case "xfs":
            fields = "print blocksize agblklog agblocks logstart logblocks"
            return xfs_log(_output(filesystem, ["xfs_db", "-r", "-c", "sb 0", "-c", fields, str(path)]))
        case _:
            return []


def ext4_journal(stat: str, block: int = 4096) -> list[Range]:
    """Return the journal's sectors from what debugfs prints of inode 8, mapped by extents or by blocks.

    There are none if that inode has no data: a file system without a journal.
    """
    mapped = re.split(r"^(?:EXTENTS|BLOCKS):$", stat, maxsplit=1, flags=re.MULTILINE)[1:]
    extents = re.findall(r"\(\d+(?:-\d+)?\):(\d+)(?:-(\d+))?", "".join(mapped))
    scale = block // SECTOR
    return [(int(first) * scale, (int(last or first) - int(first) + 1) * scale) for first, last in extents]


def xfs_log(fields: str) -> list[Range]:
    """Return the log's sectors from what xfs_db prints of the superblock; none if it is on another disk."""
    value = {name: int(text) for name, text in re.findall(r"^(\w+) = (\d+)$", fields, re.MULTILINE)}
    if not value["logstart"]:
        return []
    group, block = divmod(value["logstart"], 1 << value["agblklog"])
    scale = value["blocksize"] // SECTOR
    return [((group * value["agblocks"] + block) * scale, value["logblocks"] * scale)]


def _version(filesystem: FileSystem) -> str:
    """Return what the tool says of its own version: the image depends on it. Empty without a tool."""
    if not filesystem.mkfs:
        return ""
    tool = _tool(filesystem, filesystem.mkfs[0])
    done = subprocess.run([tool, "-V"], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().splitlines()[0]


def _output(filesystem: FileSystem, command: list[str]) -> str:
    tool = _tool(filesystem, command[0])
    done = subprocess.run([tool, *command[1:]], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise SetupError(
            f"'{command[0]}' could not make '{filesystem.id}': {said[-1] if said else 'no message'}."
        )
    return done.stdout


def program(name: str) -> str | None:
    """Return the path of a program; Debian keeps some in sbin, which an ordinary user's PATH lacks."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def _tool(filesystem: FileSystem, name: str) -> str:
    """Return the path of a program. Raises SetupError that names its package."""
    found = program(name)
    if found is None:
        raise SetupError(
            f"'{name}' is not installed, so '{filesystem.id}' cannot be made.",
            hint=f"install the Debian package '{filesystem.package}', or run 'make setup'.",
        )
    return found
