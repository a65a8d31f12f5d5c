"""The blocks that scenarios write, and the names of what is read back."""

BLOCK = 4096
"""Bytes of a block: one page, one file-system block."""


def pattern(name: str) -> bytes:
    """Return a block that says what it is in every 16 bytes of it."""
    return f"{name:<15}\n".encode() * (BLOCK // 16)


OLD = pattern("OLD")
"""What was on the disk before the fault."""
NEW = pattern("NEW")
"""What the application writes while the disk fails."""
LATER = pattern("LATER")
"""What is written when the disk is good again."""
STALE = pattern("STALE")
"""What the disk held before the file system gave the block away: a stranger's old bytes."""
ZEROS = bytes(BLOCK)
"""A hole, or a block that was allocated and never written."""

SECTOR = 512
"""Bytes of what a disk writes whole or not at all."""

_NAMES = {OLD: "OLD", NEW: "NEW", LATER: "LATER", STALE: "STALE", ZEROS: "ZEROS", b"": "NOTHING"}
_SECTORS = {block[:SECTOR] for block in (OLD, NEW, LATER, STALE, ZEROS)}


def name(block: bytes) -> str:
    """Return the name of what was read.

    `NOTHING` past the end of the file, `TORN` if its sectors are of several blocks, `OTHER` if unknown.
    """
    if known := _NAMES.get(block):
        return known
    if len(block) == BLOCK and all(block[at : at + SECTOR] in _SECTORS for at in range(0, BLOCK, SECTOR)):
        return "TORN"
    return "OTHER"
