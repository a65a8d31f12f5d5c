"""Which sectors of a file system have which role: journal, superblock, the block of an inode.

Read from the image when it is made: nothing here moves while the file system lives. Layouts:
fs/ext4/ext4.h (struct ext4_super_block, ext4_group_desc), fs/xfs/libxfs/xfs_format.h (struct xfs_dsb),
fs/btrfs/disk-io.h (btrfs_sb_offset).
"""

import struct
from collections.abc import Callable

import msgspec

from fsyncgate.storage.table import Range

SECTOR = 512
Read = Callable[[int, int], bytes]
"""Returns so many bytes of the image (second) from a byte on (first)."""

_EXT4_64BIT = 0x80
_XFS_CHECKSUMS = 5
"""The version from which on an inode cluster grows with the inode (xfs_ialloc_setup_geometry())."""
_XFS_CLUSTER, _XFS_SMALLEST_INODE = 8192, 256
_BTRFS_SUPERBLOCKS = (64 * 2**10, 64 * 2**20, 256 * 2**30)
_BTRFS_SUPERBLOCK = 4096


class InodeTables(msgspec.Struct, frozen=True, tag=True):
    """Where ext4 keeps its inodes; sizes are bytes."""

    block: int
    inode: int
    inodes_per_group: int
    tables: tuple[int, ...]
    """The first block of each group's table."""

    def sectors(self, number: int) -> Range:
        """Return the block that holds an inode. Raises ValueError for a number that is none."""
        group, index = divmod(number - 1, self.inodes_per_group)
        if number < 1 or group >= len(self.tables):
            raise ValueError(f"there is no inode {number}")
        block = self.tables[group] + index * self.inode // self.block
        return block * self.block // SECTOR, self.block // SECTOR


class InodeNumbers(msgspec.Struct, frozen=True, tag=True):
    """How the number of an XFS inode says where it lies."""

    block: int
    """Bytes."""
    group_blocks: int
    group_bits: int
    """Bits of a block's number within its allocation group."""
    inode_bits: int
    """Bits of an inode's number within its block."""
    cluster: int
    """Bytes that XFS writes at once when it writes an inode: a whole number of blocks."""

    def sectors(self, number: int) -> Range:
        """Return the cluster that holds an inode: group, block within it and inode are bits of its number."""
        group, block = divmod(number >> self.inode_bits, 1 << self.group_bits)
        block -= block % (self.cluster // self.block)
        at = group * self.group_blocks + block
        return at * self.block // SECTOR, self.cluster // SECTOR


class Roles(msgspec.Struct, frozen=True):
    """The places of a file system that do not move, in 512-byte sectors."""

    journal: tuple[Range, ...] = ()
    """Empty where the file system has no journal."""
    superblock: tuple[Range, ...] = ()
    """The superblocks that are written as it is used; empty where they are not known."""
    inodes: InodeTables | InodeNumbers | None = None
    """None where an inode has no place of its own, as in btrfs."""


def ext4_roles(read: Read, journal: tuple[Range, ...]) -> Roles:
    """Return the roles in an ext2, ext3 or ext4."""
    superblock = read(1024, 1024)
    inodes, blocks = struct.unpack_from("<2I", superblock, 0)
    first, log_block = struct.unpack_from("<2I", superblock, 20)
    (per_group, _, inodes_per_group) = struct.unpack_from("<3I", superblock, 32)
    (inode,) = struct.unpack_from("<H", superblock, 88)
    (incompatible,) = struct.unpack_from("<I", superblock, 96)
    (descriptor,) = struct.unpack_from("<H", superblock, 254) if incompatible & _EXT4_64BIT else (32,)
    block = 1024 << log_block
    groups = -(-(blocks - first) // per_group)
    if inodes != groups * inodes_per_group:
        raise ValueError(f"{inodes} inodes do not fill {groups} groups of {inodes_per_group}")
    descriptors = read((first + 1) * block, groups * descriptor)
    tables = tuple(
        _table(descriptors[number * descriptor : (number + 1) * descriptor]) for number in range(groups)
    )
    at = first * block // SECTOR
    return Roles(journal, ((at, block // SECTOR),), InodeTables(block, inode, inodes_per_group, tables))


def _table(descriptor: bytes) -> int:
    low: int = struct.unpack_from("<I", descriptor, 8)[0]
    high: int = struct.unpack_from("<I", descriptor, 40)[0] if len(descriptor) >= 64 else 0
    return high << 32 | low


def xfs_roles(read: Read, journal: tuple[Range, ...]) -> Roles:
    """Return the roles in an XFS: of its superblocks only the first is written."""
    superblock = read(0, 512)
    (block,) = struct.unpack_from(">I", superblock, 4)
    (group_blocks,) = struct.unpack_from(">I", superblock, 84)
    (sector,) = struct.unpack_from(">H", superblock, 102)
    (version, _, inode) = struct.unpack_from(">3H", superblock, 100)
    inode_bits, group_bits = superblock[123], superblock[124]
    cluster = _XFS_CLUSTER * (inode // _XFS_SMALLEST_INODE if version & 0xF == _XFS_CHECKSUMS else 1)
    numbers = InodeNumbers(block, group_blocks, group_bits, inode_bits, max(block, cluster))
    return Roles(journal, ((0, sector // SECTOR),), numbers)


def btrfs_roles(size: int) -> Roles:
    """Return the roles in a btrfs of `size` bytes: all its superblocks are written with each commit."""
    written = (at for at in _BTRFS_SUPERBLOCKS if at + _BTRFS_SUPERBLOCK <= size)
    return Roles(superblock=tuple((at // SECTOR, _BTRFS_SUPERBLOCK // SECTOR) for at in written))
