"""What a system call takes, and where its buffers lie while it is made."""

import os
import struct
from dataclasses import dataclass

from fsyncgate.errors import UsageError

WORD = 1 << 64
PAGE = 4096
_SMALL = 16
_PAGE_FROM = 512
"""Buffers of so many bytes and more begin at a page, as O_DIRECT wants it; smaller ones at 16 bytes."""


@dataclass(frozen=True, slots=True)
class Out:
    """A buffer of `size` bytes that the call fills and that comes back whole.

    Up to a page it is cleared before; a larger one holds old bytes where the call wrote nothing.
    """

    size: int


@dataclass(frozen=True, slots=True)
class InOut:
    """A buffer that holds `data` before the call and comes back as the call left it."""

    data: bytes


class Words:
    """A structure of 64-bit words: each number as it is, each buffer as its address.

    This expresses an iovec (`Words(b"abc", 3)`), a msghdr or an array of pointers. With `back` the words
    themselves come back too, before the buffers they point to.
    """

    def __init__(self, *words: "Argument", back: bool = False) -> None:
        """Keep the words, in order."""
        self.words = words
        self.back = back


Argument = int | bytes | str | Out | InOut | Words
"""What a system call takes: a number, bytes to read, a path (NUL is added), or a place for an answer."""


class Layout:
    """Gives the buffers of one call their addresses in the arena, from its beginning."""

    def __init__(self, base: int, size: int, align: int) -> None:
        """Begin at the address `base` of an arena of `size` bytes; `align` 0 chooses for each buffer."""
        self._next = base
        self._end = base + size
        self._align = align
        self.writes: list[tuple[int, bytes]] = []
        self.reads: list[tuple[int, int]] = []

    def word(self, argument: Argument) -> int:
        """Return what stands for `argument` in a register or a structure."""
        match argument:
            case int():
                return argument % WORD
            case Words():
                at = self._place(8 * len(argument.words), 0)
                if argument.back:
                    self.reads.append((at, 8 * len(argument.words)))
                words = [self.word(word) for word in argument.words]
                self.writes.append((at, struct.pack(f"<{len(words)}Q", *words)))
                return at
            case Out():
                return self._returned(argument.size, bytes(argument.size if argument.size <= PAGE else 0))
            case InOut():
                return self._returned(len(argument.data), argument.data)
            case str():
                return self._written(os.fsencode(argument) + b"\0")
            case bytes():
                return self._written(argument)

    def _written(self, data: bytes) -> int:
        at = self._place(len(data), self._align)
        self.writes.append((at, data))
        return at

    def _returned(self, size: int, before: bytes) -> int:
        at = self._place(size, self._align)
        self.writes.append((at, before))
        self.reads.append((at, size))
        return at

    def _place(self, size: int, align: int) -> int:
        align = align or (PAGE if size >= _PAGE_FROM else _SMALL)
        at = -(-self._next // align) * align
        self._next = at + size
        if self._next > self._end:
            raise UsageError(f"The buffers of one call do not fit in the {self._end - at} bytes left.")
        return at
