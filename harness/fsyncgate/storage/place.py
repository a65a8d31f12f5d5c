"""Places that can fail: named by role, resolved to sectors before the write is made."""

from dataclasses import dataclass

from fsyncgate.storage.table import Range


@dataclass(frozen=True)
class Place:
    """Where a fault is aimed."""

    role: str
    """`data`, `journal`, `superblock`, `inode`, `directory`, `metadata`, `half` (of a block), `flush`
    or `any`.
    """
    sectors: tuple[Range, ...]
    """512-byte sectors of the volume (first, count); for `flush` those that no file system uses."""
