"""A file of the volume: its bytes in memory and on the disk, and where they lie."""

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from fsyncgate.data import BLOCK, STALE, name
from fsyncgate.errors import GuestError, Unsupported
from fsyncgate.guest import pages
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import Out
from fsyncgate.guest.constants import AT_FDCWD, O_CREAT, O_DIRECT, O_RDONLY, O_RDWR
from fsyncgate.guest.process import OpenFile, Process
from fsyncgate.guest.witness import Witness
from fsyncgate.history import ContentSeen, Outcome, PageSeen
from fsyncgate.storage.aim import inode_number
from fsyncgate.storage.layout import InPlace
from fsyncgate.storage.place import Place
from fsyncgate.storage.status import Status, age, status
from fsyncgate.storage.table import SECTOR, Range

if TYPE_CHECKING:
    from fsyncgate.storage.volume import Volume

PATIENCE = 30.0
"""Seconds to wait for something that the kernel must do by itself."""


class File:
    """A file by name, and what is known of its bytes in memory and on the disk."""

    def __init__(self, volume: "Volume", actor: Actor, witness: Witness, path: str) -> None:
        """Name it; nothing is done yet."""
        self._volume = volume
        self._actor = actor
        self._witness = witness
        self.path = path
        self._free: list[Range] = []

    def filled_with(self, data: bytes) -> "File":
        """Create the file with `data` in it, on the disk, and leave nothing dirty."""
        opened = self._actor.call("openat", AT_FDCWD, self.path, O_CREAT | O_RDWR, 0o644).must(
            f"create '{self.path}'"
        )
        if data:
            self._actor.call("pwrite64", opened, data, len(data), 0).must(f"write '{self.path}'")
        self._actor.call("fsync", opened).must(f"sync '{self.path}'")
        self._actor.call("close", opened)
        self._volume.write_back()
        self._free = self._volume.layout_of(self.path).free(self.path)
        return self

    def aged(self) -> "File":
        """Put the file's times far into the past, on the disk, so that a change of them is seen."""
        age(self._actor, self.path)
        self._volume.write_back()
        return self

    def status(self) -> Status:
        """Return size, time of modification and state of the first block as the file system has them now.

        Raises GuestError if the file is not there.
        """
        began = time.monotonic()
        seen = status(self._actor, self.path)
        process = self._volume.process
        named: dict[str, object] = {"file": self.path, **asdict(seen)}
        self._witness.called(process.name, "stat", named, 0, began)
        return seen

    def open(self, flags: int = O_RDWR, *, by: Process | None = None) -> OpenFile:
        """Open the file in a process: the volume's own one, or another."""
        return (by or self._volume.process).open(self.path, flags)

    def opens(self) -> Outcome:
        """Try to open the file for reading and writing: 0, or the name of the errno."""
        process = self._volume.process
        answer = process.call(
            "open", {"path": self.path, "flags": O_RDWR}, "openat", AT_FDCWD, self.path, O_RDWR, 0
        )
        return answer if isinstance(answer, str) else process.call("close", {"fd": answer}, "close", answer)

    @property
    def data(self) -> Place:
        """Where a write to this file's bytes will go; asked before it is made."""
        return Place("data", tuple(self._volume.layout_of(self.path).data(self.path)))

    def block(self, index: int) -> Place:
        """Where a write to one block will go. Raises Unsupported where that is not known before."""
        return Place("data", (self._volume.aim.piece(self.path, index * BLOCK, BLOCK),))

    @property
    def half_a_block(self) -> Place:
        """The second half of where a write to the first block will go. Raises Unsupported as `block` does."""
        return Place("half", (self._volume.aim.piece(self.path, BLOCK // 2, BLOCK // 2),))

    @property
    def inode_block(self) -> Place:
        """The block or cluster of inodes that is written when the file's inode is."""
        return self._volume.aim.inode(self.path)

    @property
    def metadata(self) -> Place:
        """Everything that is neither this file's data nor the journal nor a superblock."""
        return self._volume.aim.metadata(self.path)

    def data_at(self, at: int) -> Place:
        """Where a write to the block at offset `at` will go. Raises Unsupported if it is not known before."""
        found = self._volume.layout_of(self.path)
        if not isinstance(found, InPlace):
            raise Unsupported("A file system that writes each time into a new place tells no block's place.")
        extent = next(e for e in found.on_disk(self.path) if e.offset <= at < e.offset + e.length)
        return Place("data", (((extent.start + at - extent.offset) // SECTOR, BLOCK // SECTOR),))

    def write_out(self) -> None:
        """Let the file's data be written, and its metadata not: what a direct read of the file asks for.

        It also waits for what btrfs does after a write in a work queue (the ordered extent), which would
        otherwise race with the next fsync.
        """
        descriptor = self._actor.call("openat", AT_FDCWD, self.path, O_RDONLY | O_DIRECT, 0)
        descriptor.must(f"open '{self.path}' past the cache")
        self._actor.call("pread64", descriptor.value, Out(BLOCK), BLOCK, 0).must(f"read '{self.path}'")
        self._actor.call("close", descriptor.value)
        self._witness.look()

    def hot(self, *, at: int = 0) -> str:
        """Return the name of the block at offset `at` as a reader finds it now."""
        return self._seen("hot", at, self._read(at))

    def cold(self, *, at: int = 0) -> str:
        """Return the name of the block after every process ended and the volume was mounted again."""
        self._volume.remount()
        return self._seen("cold", at, self._read(at))

    def raw(self, *, at: int = 0) -> str:
        """Return the name of the block on the disk, where the file's map says it lies."""
        for extent in self._volume.layout_of(self.path).on_disk(self.path):
            if extent.offset <= at < extent.offset + extent.length:
                if not extent.on_disk:
                    return self._seen("raw", at, extent.describe().upper())
                return self._seen("raw", at, name(self._volume.read_disk(extent.start + at - extent.offset)))
        return self._seen("raw", at, "NOWHERE")

    def exists(self) -> bool:
        """Tell whether the name is there. Raises GuestError if the volume is not mounted."""
        self._volume.must_be_up()
        opened = self._actor.call("openat", AT_FDCWD, self.path, O_RDONLY, 0)
        if opened.ok:
            self._actor.call("close", opened.value)
        return opened.ok

    def page(self, index: int = 0) -> list[str]:
        """Return the flags of a page of the file in the page cache; none of them if it is not cached."""
        seen = self._flags(index)
        self._witness.write(PageSeen(self._witness.now(), self.path, index, seen))
        return seen or []

    def page_in_writeback(self, index: int = 0) -> list[str]:
        """Wait until a page is being written, and return its flags. Raises GuestError if it never is."""
        return self._wait_for_page(index, lambda flags: "writeback" in flags)

    def page_written(self, index: int = 0) -> list[str]:
        """Wait until a page is neither dirty nor being written, and return its flags.

        Raises GuestError if it stays so.
        """
        return self._wait_for_page(index, lambda flags: not {"dirty", "writeback"} & set(flags))

    def _wait_for_page(self, index: int, good: Callable[[list[str]], bool]) -> list[str]:
        deadline = time.monotonic() + PATIENCE
        while not good(flags := self._flags(index) or []):
            if time.monotonic() > deadline:
                raise GuestError(
                    f"Page {index} of '{self.path}' was not written back within {PATIENCE:.0f} s: {flags}."
                )
        self._witness.write(PageSeen(self._witness.now(), self.path, index, flags))
        return flags

    def _flags(self, index: int) -> list[str] | None:
        self._witness.look()
        number = self._witness.page_number(self.inode(), index)
        return None if number is None else pages.flags(self._actor, number)

    def inode(self) -> int:
        """Return the number of the file's inode."""
        return inode_number(self._actor, self.path)

    def stain(self, *, at: int) -> None:
        """Put STALE on the disk where the block at offset `at` will be written: a stranger's old bytes.

        For a write that is held. btrfs tells nobody its place before the write is done, so there every
        place that it might take is stained. Raises GuestError if the block has no place yet.
        """
        if self._free:
            for start, count in self._free:
                self._volume.write_disk(start * SECTOR, STALE * (count * SECTOR // BLOCK))
            return
        for extent in self._volume.layout_of(self.path).on_disk(self.path):
            if extent.offset <= at < extent.offset + extent.length and extent.start:
                self._volume.write_disk(extent.start + at - extent.offset, STALE)
                return
        raise GuestError(f"The block at {at} of '{self.path}' has no place on the disk yet.")

    def _read(self, at: int) -> str:
        self._volume.must_be_up()
        descriptor = self._actor.call("openat", AT_FDCWD, self.path, O_RDONLY, 0)
        if not descriptor.ok:
            return descriptor.error
        answer = self._actor.call("pread64", descriptor.value, Out(BLOCK), BLOCK, at)
        self._actor.call("close", descriptor.value)
        return answer.error or name(answer.out[0][: answer.value])

    def _seen(self, way: str, at: int, content: str) -> str:
        self._witness.look()
        self._witness.write(ContentSeen(self._witness.now(), self.path, way, at, content))
        return content
