"""Where f2fs puts what it writes next: the segments in which its logs of data and of nodes stand.

Structures: include/linux/f2fs_fs.h. All numbers are little-endian.
"""

import struct
from collections.abc import Callable

from fsyncgate.storage.table import SECTOR, Range

BLOCK = 4096
SUPERBLOCK = 1024
"""The byte of the first block at which the superblock begins."""
_LOG_BLOCKS_PER_SEGMENT, _CHECKPOINT, _MAIN = 20, 76, 92
"""Bytes of the superblock: how many blocks a segment has, where the checkpoints and the main area begin."""
_NODE_SEGMENTS, _DATA_SEGMENTS = 36, 84
"""The bytes of a checkpoint at which the segments of the node and data logs are listed: hot, warm, cold."""
_LOGS = 3


def data_ranges(read: Callable[[int], bytes]) -> list[Range]:
    """Return the sectors of the segments that data is appended to, as the newest checkpoint on the disk says.

    `read` returns the block at a byte of the disk.
    """
    return _segments(read, _DATA_SEGMENTS)


def node_ranges(read: Callable[[int], bytes]) -> list[Range]:
    """Return the same for nodes, the metadata of files: they never lie in one segment with data."""
    return _segments(read, _NODE_SEGMENTS)


def _segments(read: Callable[[int], bytes], at: int) -> list[Range]:
    superblock = read(0)[SUPERBLOCK:]
    scale, checkpoint, main = (
        struct.unpack_from("<I", superblock, at)[0] for at in (_LOG_BLOCKS_PER_SEGMENT, _CHECKPOINT, _MAIN)
    )
    packs = [read((checkpoint + (pack << scale)) * BLOCK) for pack in range(2)]
    newest = max(packs, key=lambda pack: int(struct.unpack_from("<Q", pack)[0]))
    segments: tuple[int, ...] = struct.unpack_from(f"<{_LOGS}I", newest, at)
    sectors = BLOCK // SECTOR
    return [((main + (segment << scale)) * sectors, sectors << scale) for segment in segments]
