"""What a checker says of a disk: of good ones, of damaged ones, and of those with a log to replay."""

import os
import shutil
import struct
from pathlib import Path

import pytest

from fsyncgate import catalogue
from fsyncgate.cache import Cache
from fsyncgate.errors import SetupError, Unsupported
from fsyncgate.images.filesystem import image
from fsyncgate.storage.fsck import fsck, needs_recovery

FILESYSTEMS = catalogue.filesystems()
SBIN = "/usr/sbin:/sbin:/usr/bin"


def disk(name: str, tmp_path: Path) -> Path:
    """Make a file system that may be damaged."""
    filesystem = FILESYSTEMS[name]
    if shutil.which(filesystem.mkfs[0], path=SBIN) is None:
        pytest.skip(f"needs {filesystem.mkfs[0]}")
    return Path(image(filesystem, Cache(tmp_path)).disks[0])


def put(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as opened:
        os.pwrite(opened.fileno(), data, at)


@pytest.mark.parametrize("name", ["ext4-ordered", "xfs", "btrfs"])
def test_a_new_file_system_is_clean(name: str, tmp_path: Path) -> None:
    answer, said = fsck(FILESYSTEMS[name].type, "", disk(name, tmp_path))
    assert answer == "clean", said


@pytest.mark.parametrize("name", ["ext4-ordered", "xfs", "btrfs"])
def test_a_damaged_one_has_errors(name: str, tmp_path: Path) -> None:
    path = disk(name, tmp_path)
    roles = image(FILESYSTEMS[name], Cache(tmp_path)).roles
    if roles.inodes is None:
        put(path, roles.superblock[0][0] * 512 + 80, bytes(8))  # the tree of trees
    else:
        put(path, roles.inodes.sectors(2 if name.startswith("ext4") else 128)[0] * 512, bytes(4096))
    answer, said = fsck(FILESYSTEMS[name].type, "", path)
    assert answer == "errors", said


def test_a_journal_that_is_to_be_replayed_comes_first(tmp_path: Path) -> None:
    path = disk("ext4-ordered", tmp_path)
    with path.open("rb") as opened:
        (features,) = struct.unpack("<I", os.pread(opened.fileno(), 4, 1024 + 96))
    put(path, 1024 + 96, struct.pack("<I", features | 4))
    assert fsck("ext4", "", path)[0] == "needs recovery"


def test_a_btrfs_with_a_log_tree_needs_recovery() -> None:
    def read(at: int, size: int) -> bytes:
        assert (at, size) == (65536 + 96, 8)
        return struct.pack("<Q", 30720000)

    assert needs_recovery("btrfs", read, "")


def nothing(at: int, size: int) -> bytes:
    raise AssertionError(f"nobody is to read {size} bytes at {at}")


def test_the_dirty_log_of_xfs_is_what_its_checker_tells() -> None:
    said = "ALERT: The filesystem has valuable metadata changes in a log which is being\nignored"
    assert needs_recovery("xfs", nothing, said)
    assert not needs_recovery("xfs", nothing, "No modify flag set, skipping phase 5")


def test_a_checker_that_is_missing_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(name: str, path: str | None = None) -> None:
        del name, path

    monkeypatch.setattr(shutil, "which", nowhere)
    with pytest.raises(SetupError, match="'xfs_repair' is not installed") as caught:
        fsck("xfs", "xfsprogs", tmp_path)
    assert "'xfsprogs'" in caught.value.hint


def test_what_has_no_checker_here_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="no checker for 'overlay'"):
        fsck("overlay", "", tmp_path)
