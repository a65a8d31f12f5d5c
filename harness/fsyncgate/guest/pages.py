"""The state of a page in the guest's page cache, found without touching it.

A page's number comes from the tracepoint that told of its way into the cache, so nothing is mapped and
nothing is read: a look at a page that is no longer up to date would bring it back from the disk.
Flags: include/uapi/linux/kernel-page-flags.h; semantics: Documentation/admin-guide/mm/pagemap.rst.
"""

import struct

from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import Out
from fsyncgate.guest.constants import AT_FDCWD, O_RDONLY

PAGE = 4096
FLAGS = {1: "error", 3: "uptodate", 4: "dirty", 8: "writeback"}
"""Bits of /proc/kpageflags that tell what becomes of the data; `error` is unused since v6.12."""


def flags(actor: Actor, number: int) -> list[str]:
    """Return the names of the flags that are set on the page with that number."""
    descriptor = actor.call("openat", AT_FDCWD, "/proc/kpageflags", O_RDONLY, 0).must("open /proc/kpageflags")
    answer = actor.call("pread64", descriptor, Out(8), 8, number * 8)
    actor.call("close", descriptor)
    answer.must("read /proc/kpageflags")
    return names(struct.unpack("<Q", answer.out[0])[0])


def names(word: int) -> list[str]:
    """Return the names of the flags that are set in a word of /proc/kpageflags."""
    return [name for bit, name in FLAGS.items() if word >> bit & 1]


class Cached:
    """Which pages of which inodes are in the cache, as the tracepoints tell."""

    def __init__(self) -> None:
        """Begin with none."""
        self._numbers: dict[tuple[int, int], int] = {}

    def added(self, inode: int, offset: int, number: int, pages: int) -> None:
        """Note that `pages` pages from the byte `offset` on came into the cache."""
        for page in range(pages):
            self._numbers[inode, offset // PAGE + page] = number + page

    def removed(self, inode: int, offset: int, pages: int) -> None:
        """Note that they left it."""
        for page in range(pages):
            self._numbers.pop((inode, offset // PAGE + page), None)

    def number(self, inode: int, index: int) -> int | None:
        """Return the number of a page, or None if it is not in the cache."""
        return self._numbers.get((inode, index))
