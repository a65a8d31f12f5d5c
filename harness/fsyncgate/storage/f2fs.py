"""Where f2fs puts data next: the segments that its logs of data stand in.

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
_DATA_SEGMENTS = 84
"""The byte of a checkpoint at which the segments of the data logs are listed: hot, warm, cold."""
_LOGS = 3


def data_ranges(read: Callable[[int], bytes]) -> list[Range]:
    """Return the sectors of the segments that data is appended to, as the newest checkpoint on the disk says.

    `read` returns the block at a byte of the disk. Nodes, the metadata of files, have logs of their own, in
    other segments of the same area.
    """
    superblock = read(0)[SUPERBLOCK:]
    scale, checkpoint, main = (
        struct.unpack_from("<I", superblock, at)[0] for at in (_LOG_BLOCKS_PER_SEGMENT, _CHECKPOINT, _MAIN)
    )
    packs = [read((checkpoint + (pack << scale)) * BLOCK) for pack in range(2)]
    newest = max(packs, key=lambda pack: int(struct.unpack_from("<Q", pack)[0]))
    segments: tuple[int, ...] = struct.unpack_from(f"<{_LOGS}I", newest, _DATA_SEGMENTS)
    sectors = BLOCK // SECTOR
    return [((main + (segment << scale)) * sectors, sectors << scale) for segment in segments]
