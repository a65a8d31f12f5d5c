"""The state of a page in the guest's page cache.

Flags: include/uapi/linux/kernel-page-flags.h; semantics: Documentation/admin-guide/mm/pagemap.rst.
"""

import struct

from fsyncgate.errors import GuestError
from fsyncgate.guest.actor import Actor, Out
from fsyncgate.guest.constants import AT_FDCWD, MAP_SHARED, O_RDONLY, PROT_READ

PAGE = 4096
FLAGS = {1: "error", 3: "uptodate", 4: "dirty", 8: "writeback"}
"""Bits of /proc/kpageflags that tell what becomes of the data."""

_PRESENT, _NUMBER = 1 << 63, (1 << 55) - 1


def flags(actor: Actor, path: str, index: int) -> list[str] | None:
    """Return the flags of page `index` of a file by name, or None if the page is not cached.

    Looks through a read-only mapping of its own, and only at a page that is there already, so
    neither reads the disk nor changes the page.
    """
    descriptor = actor.call("openat", AT_FDCWD, path, O_RDONLY, 0).must(f"open '{path}'")
    answer = actor.call("mmap", 0, PAGE, PROT_READ, MAP_SHARED, descriptor, index * PAGE)
    actor.call("close", descriptor)
    address = answer.must(f"map '{path}'")
    try:
        cached = actor.call("mincore", address, PAGE, Out(1))
        cached.must(f"ask for the cached pages of '{path}'")
        if not cached.out[0][0] & 1:
            return None
        actor.read_memory(address, 1)
        entry = _word(actor, "/proc/self/pagemap", address // PAGE)
        if not entry & _PRESENT:
            raise GuestError(f"Page {index} of '{path}' is cached but could not be mapped.")
        return names(_word(actor, "/proc/kpageflags", entry & _NUMBER))
    finally:
        actor.call("munmap", address, PAGE)


def names(word: int) -> list[str]:
    """Return the names of the flags that are set."""
    return [name for bit, name in FLAGS.items() if word >> bit & 1]


def _word(actor: Actor, path: str, index: int) -> int:
    """Return the 64-bit word number `index` of a file of procfs."""
    descriptor = actor.call("openat", AT_FDCWD, path, O_RDONLY, 0).must(f"open '{path}'")
    answer = actor.call("pread64", descriptor, Out(8), 8, index * 8)
    actor.call("close", descriptor)
    answer.must(f"read '{path}'")
    (word,) = struct.unpack("<Q", answer.out[0])
    return int(word)
