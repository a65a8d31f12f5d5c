"""Where a journal lies, from what debugfs and xfs_db print; and images that the tools really make."""

import shutil
from pathlib import Path

import pytest

from fsyncgate import catalogue
from fsyncgate.cache import Cache
from fsyncgate.errors import SetupError
from fsyncgate.images.filesystem import ext4_journal, image, xfs_log
from fsyncgate.machine.argv import DISK, SPARE
from fsyncgate.model import FileSystem
from fsyncgate.storage.roles import Roles

STAT = """\
Inode: 8   Type: regular    Mode:  0600   Flags: 0x80000
Generation: 0    Version: 0x00000000:00000000
User:     0   Group:     0   Project:     0   Size: 16777216
File ACL: 0
Links: 1   Blockcount: 32768
Fragment:  Address: 0    Number: 0    Size: 0
 ctime: 0x6b006307:00000000 -- Fri Nov 20 15:11:03 2026
Size of extra inode fields: 32
Inode checksum: 0x19aab5b5
EXTENTS:
(0-4095):65536-69631
"""


def test_the_journal_of_ext4_in_sectors() -> None:
    assert ext4_journal(STAT) == [(65536 * 8, 4096 * 8)]


def test_a_journal_in_pieces_has_each_of_them() -> None:
    stat = "EXTENTS:\n(ETB0):33024, (0-4094):65536-69630, (4095):70000, (4096-8191):71000-75095\n"
    assert ext4_journal(stat) == [(524288, 4095 * 8), (560000, 8), (568000, 4096 * 8)]


def test_blocks_of_one_kilobyte_are_two_sectors() -> None:
    assert ext4_journal("EXTENTS:\n(0-1023):1-1024\n", block=1024) == [(2, 2048)]


def test_the_journal_of_ext3_is_mapped_by_blocks_and_its_map_is_no_part_of_it() -> None:
    stat = (
        "BLOCKS:\n(0-11):2085-2096, (IND):2097, (12-1035):2098-3121, (DIND):3122, (IND):3123, (1036):3124\n"
    )
    assert ext4_journal(stat) == [(2085 * 8, 12 * 8), (2098 * 8, 1024 * 8), (3124 * 8, 8)]


def test_an_inode_that_maps_nothing_is_no_journal() -> None:
    assert ext4_journal(STAT.partition("EXTENTS:")[0] + "BLOCKS:\n\n") == []
    assert ext4_journal(STAT.partition("EXTENTS:")[0] + "(0-11):65536-65547\n") == []


def test_the_log_of_xfs_lies_in_its_allocation_group() -> None:
    fields = """\
blocksize = 4096
agblklog = 15
agblocks = 32704
logstart = 65542
logblocks = 16384
"""
    # Group 65542 >> 15 = 2, and block 6 of it.
    assert xfs_log(fields) == [((2 * 32704 + 6) * 8, 16384 * 8)]


def test_the_log_of_an_xfs_of_one_group() -> None:
    fields = "blocksize = 1024\nagblklog = 17\nagblocks = 131072\nlogstart = 100\nlogblocks = 10\n"
    assert xfs_log(fields) == [(200, 20)]


def test_a_log_on_another_disk_is_not_on_this_one() -> None:
    assert (
        xfs_log("blocksize = 4096\nagblklog = 15\nagblocks = 32704\nlogstart = 0\nlogblocks = 16384\n") == []
    )


EXT4 = catalogue.filesystems()["ext4-ordered"]


@pytest.mark.skipif(
    shutil.which("mkfs.ext4", path="/usr/sbin:/sbin:/usr/bin") is None, reason="needs mkfs.ext4"
)
def test_an_image_is_made_once_with_room_behind_it_that_is_no_part_of_the_file_system(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    made = image(EXT4, cache)
    assert [Path(disk).stat().st_size for disk in made.disks] == [DISK, DISK]
    ((first, count),) = made.roles.journal
    assert 0 < first < first + count < (DISK - SPARE) // 512
    written = Path(made.disks[0]).stat().st_mtime_ns
    assert image(EXT4, cache) == made
    assert Path(made.disks[0]).stat().st_mtime_ns == written


def test_a_bare_device_is_a_disk_of_zeros_without_a_journal(tmp_path: Path) -> None:
    made = image(catalogue.filesystems()["raw"], Cache(tmp_path))
    assert [Path(disk).stat().st_size for disk in made.disks] == [DISK, DISK]
    assert not Path(made.disks[0]).read_bytes().strip(b"\0")
    assert made.roles == Roles()


def broken(*mkfs: str) -> FileSystem:
    return FileSystem("mine", "mine", "", mkfs, "mine-progs", ())


def test_a_tool_that_is_not_there_is_named_with_its_package(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        image(broken("mkfs.mine"), Cache(tmp_path))
    assert caught.value.message == "'mkfs.mine' is not installed, so 'mine' cannot be made."
    assert "'mine-progs'" in caught.value.hint


def test_a_tool_that_fails_is_quoted_and_leaves_no_image(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"'ls' could not make 'mine': .*ls: .*/no/such/file"):
        image(broken("ls", "/no/such/file"), Cache(tmp_path))
    assert not list((tmp_path / "filesystems").iterdir())


@pytest.mark.skipif(
    shutil.which("mkfs.xfs", path="/usr/sbin:/sbin:/usr/bin") is None, reason="needs mkfs.xfs"
)
def test_a_log_on_the_second_disk_is_made_there(tmp_path: Path) -> None:
    made = image(catalogue.filesystems()["xfs-external-log"], Cache(tmp_path))
    first, second = map(Path, made.disks)
    assert made.roles.journal == ()
    assert first.read_bytes()[:4] == b"XFSB"
    assert second.stat().st_blocks > 0
