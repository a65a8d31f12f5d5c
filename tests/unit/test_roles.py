"""Which sectors have which role: from superblocks byte by byte, and held against what the tools say."""

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from fsyncgate import catalogue
from fsyncgate.cache import Cache
from fsyncgate.images.filesystem import image
from fsyncgate.storage.roles import (
    InodeNumbers,
    InodeTables,
    Read,
    Roles,
    btrfs_roles,
    ext4_roles,
    xfs_roles,
)

SBIN = "/usr/sbin:/sbin:/usr/bin"
FILESYSTEMS = catalogue.filesystems()


def reader(content: bytes) -> Read:
    return lambda at, size: content[at : at + size]


def ext4(
    block: int = 4096, inodes: int = 64, blocks: int = 65536, tables: tuple[int, ...] = (37, 40)
) -> bytes:
    """Make the first blocks of an ext4 with 64-byte descriptors."""
    superblock = bytearray(1024)
    first = 1 if block == 1024 else 0
    struct.pack_into("<2I", superblock, 0, inodes, blocks)
    struct.pack_into("<2I", superblock, 20, first, block.bit_length() - 11)
    struct.pack_into("<3I", superblock, 32, 32768, 32768, 32)
    struct.pack_into("<H", superblock, 88, 256)
    struct.pack_into("<I", superblock, 96, 0x80)
    struct.pack_into("<H", superblock, 254, 64)
    descriptors = b"".join(
        struct.pack("<3I", 0, 0, table & 0xFFFFFFFF).ljust(40, b"\0")
        + struct.pack("<I", table >> 32).ljust(24, b"\0")
        for table in tables
    )
    content = (bytes(1024) + superblock).ljust((first + 1) * block, b"\0")
    return content + descriptors


def test_the_inodes_of_ext4_lie_in_the_table_of_their_group() -> None:
    roles = ext4_roles(reader(ext4()), ((8, 8),))
    assert roles.journal == ((8, 8),)
    assert roles.superblock == ((0, 8),)
    assert isinstance(roles.inodes, InodeTables)
    assert [roles.inodes.sectors(number) for number in (1, 16, 17, 32, 33)] == [
        (37 * 8, 8), (37 * 8, 8), (38 * 8, 8), (38 * 8, 8), (40 * 8, 8),
    ]  # fmt: skip


def test_a_table_behind_sixteen_tebibytes_has_a_number_of_two_halves() -> None:
    roles = ext4_roles(reader(ext4(tables=(37, 1 << 32 | 5))), ())
    assert isinstance(roles.inodes, InodeTables)
    assert roles.inodes.tables == (37, (1 << 32) + 5)


def test_with_blocks_of_one_kilobyte_the_superblock_is_the_second() -> None:
    roles = ext4_roles(reader(ext4(block=1024, blocks=65537)), ())
    assert roles.superblock == ((2, 2),)
    assert isinstance(roles.inodes, InodeTables)
    assert roles.inodes.sectors(5) == (38 * 2, 2)


@pytest.mark.parametrize("number", [0, 65])
def test_an_inode_that_is_none_has_no_place(number: int) -> None:
    roles = ext4_roles(reader(ext4()), ())
    assert isinstance(roles.inodes, InodeTables)
    with pytest.raises(ValueError, match=f"no inode {number}"):
        roles.inodes.sectors(number)


def test_a_superblock_that_contradicts_itself_is_not_believed() -> None:
    with pytest.raises(ValueError, match="do not fill"):
        ext4_roles(reader(ext4(inodes=63)), ())


def test_the_number_of_an_xfs_inode_says_where_it_lies() -> None:
    superblock = bytearray(512)
    struct.pack_into(">I", superblock, 4, 4096)
    struct.pack_into(">I", superblock, 84, 32704)
    struct.pack_into(">3H", superblock, 100, 0xB4A5, 512, 512)
    superblock[123], superblock[124] = 3, 15
    roles = xfs_roles(reader(bytes(superblock)), ())
    assert roles.superblock == ((0, 1),)
    assert isinstance(roles.inodes, InodeNumbers)
    assert roles.inodes.sectors(128) == (16 * 8, 32)
    assert roles.inodes.sectors((2 << 15 | 18) << 3 | 5) == ((2 * 32704 + 16) * 8, 32)


def test_btrfs_has_as_many_superblocks_as_fit() -> None:
    assert btrfs_roles(512 * 2**20).superblock == ((128, 8), (131072, 8))
    assert btrfs_roles(2**20).superblock == ((128, 8),)


def made(name: str, tmp_path: Path) -> tuple[str, Roles]:
    filesystem = FILESYSTEMS[name]
    if shutil.which(filesystem.mkfs[0], path=SBIN) is None:
        pytest.skip(f"needs {filesystem.mkfs[0]}")
    found = image(filesystem, Cache(tmp_path))
    return found.disks[0], found.roles


def said(path: str, *command: str) -> str:
    environ = os.environ | {"PATH": SBIN}
    done = subprocess.run([*command, path], capture_output=True, text=True, check=True, env=environ)
    return done.stdout


def test_debugfs_finds_the_same_inodes_of_ext4(tmp_path: Path) -> None:
    path, roles = made("ext4-ordered", tmp_path)
    assert isinstance(roles.inodes, InodeTables)
    for number in (2, 12, 40000):
        answer = said(path, "debugfs", "-R", f"imap <{number}>")
        block = re.search(r"located at block (\d+)", answer)
        assert block is not None, answer
        assert roles.inodes.sectors(number) == (int(block[1]) * 8, 8)


def test_an_xfs_has_its_root_where_its_number_says(tmp_path: Path) -> None:
    path, roles = made("xfs", tmp_path)
    assert isinstance(roles.inodes, InodeNumbers)
    answer = said(path, "xfs_db", "-r", "-c", "sb 0", "-c", "print rootino", "-c", "inode", "-c", "daddr")
    root = re.search(r"rootino = (\d+)", answer)
    assert root is not None, answer
    with Path(path).open("rb") as opened:
        opened.seek(roles.inodes.sectors(int(root[1]))[0] * 512)
        assert opened.read(2) == b"IN"


def test_btrfs_has_its_mark_in_each_superblock(tmp_path: Path) -> None:
    path, roles = made("btrfs", tmp_path)
    assert len(roles.superblock) == 2
    with Path(path).open("rb") as opened:
        for first, _ in roles.superblock:
            opened.seek(first * 512 + 64)
            assert opened.read(8) == b"_BHRfS_M"
