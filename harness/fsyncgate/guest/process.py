"""Processes of a scenario and the files they hold open. Every call goes into the history.

A call answers its value, or the name of its errno: `0`, `4096`, `"EIO"`. It never raises for what
the kernel answers, because that answer is what the scenario is about.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from errno import errorcode

from fsyncgate.data import BLOCK, name
from fsyncgate.guest import uring
from fsyncgate.guest.actor import Actor, Pending
from fsyncgate.guest.arguments import Argument, Out
from fsyncgate.guest.constants import (
    AT_FDCWD,
    FIFREEZE,
    FITHAW,
    MADV_RANDOM,
    MAP_SHARED,
    MS_ASYNC,
    MS_SYNC,
    O_RDWR,
    PROT_READ,
    PROT_WRITE,
    SIGKILL,
    SYNC_FILE_RANGE_WAIT_AFTER,
    SYNC_FILE_RANGE_WAIT_BEFORE,
    SYNC_FILE_RANGE_WRITE,
)
from fsyncgate.guest.passing import receive, send
from fsyncgate.guest.rest import where
from fsyncgate.guest.witness import Witness
from fsyncgate.history import Outcome


class Process:
    """A process in the guest with its own descriptor table."""

    def __init__(
        self, name: str, actor: Actor, witness: Witness, spawn: Callable[[Actor | None], "Process"]
    ) -> None:
        """`spawn` makes a new process: a fork of the given one, or one of its own."""
        self.name = name
        self.actor = actor
        self.witness = witness
        self._spawn = spawn

    def open(self, path: str, flags: int = O_RDWR) -> "OpenFile":
        """Open a file that exists. Raises GuestError if the kernel refuses."""
        began = time.monotonic()
        answer = self.actor.call("openat", AT_FDCWD, path, flags, 0o644)
        result = answer.error or answer.value
        self.witness.called(self.name, "open", {"path": path, "flags": flags}, result, began)
        return OpenFile(self, answer.must(f"open '{path}'"), path)

    def fork(self) -> "Process":
        """Return a child that shares the open files, as after fork(2)."""
        return self._spawn(self.actor)

    def end(self) -> None:
        """End the process as `kill -9` does, and wait until its files are closed."""
        self.actor.kill()

    def sync(self) -> Outcome:
        """sync(2), which has nothing to say."""
        return self.call("sync", {}, "sync")

    def sync_in_background(self) -> "Background":
        """Start a sync(2) and return at once."""
        return self.start("sync", {}, "sync")

    def kill(self) -> str:
        """Send SIGKILL and do not wait for the end; return the state that the process is in then.

        `D`: it sleeps and was not woken, so it cannot be killed. `gone`: it is no more.
        """
        root, began = self.actor.guest.root, time.monotonic()
        root.call("kill", self.actor.pid, SIGKILL).must(f"kill process {self.name}")
        state = where(root, self.actor.pid).state
        self.witness.called(self.name, "kill", {"signal": "SIGKILL", "state": state}, 0, began)
        return state

    def start(self, what: str, arguments: dict[str, object], call: str, *values: Argument) -> "Background":
        """Start a system call and return at once; it is written down as `what` when its result is asked."""
        began = time.monotonic()
        return Background(self, what, arguments, self.actor.submit(call, *values), began)

    def call(self, what: str, arguments: dict[str, object], call: str, *values: int | bytes | str) -> Outcome:
        """Make one system call and write it down as `what` with `arguments`."""
        began = time.monotonic()
        answer = self.actor.call(call, *values)
        result = answer.error or answer.value
        self.witness.called(self.name, what, arguments, result, began)
        return result


@dataclass(frozen=True)
class OpenFile:
    """A descriptor of one process."""

    process: Process
    descriptor: int
    path: str

    def write(self, data: bytes, *, at: int = 0) -> Outcome:
        """Write `data` at the byte offset `at` (pwrite64)."""
        named: dict[str, object] = {"file": self.path, "data": name(data), "at": at, "bytes": len(data)}
        return self.process.call("write", named, "pwrite64", self.descriptor, data, len(data), at)

    def read(self, *, at: int = 0, size: int = BLOCK) -> str:
        """Read `size` bytes at offset `at`; return the name of what was read, or of the errno."""
        began = time.monotonic()
        answer = self.process.actor.call("pread64", self.descriptor, Out(size), size, at)
        read = answer.error or name(answer.out[0][: answer.value])
        named: dict[str, object] = {"file": self.path, "at": at, "read": read}
        self.process.witness.called(self.process.name, "read", named, answer.error or answer.value, began)
        return read

    def copy_to(self, other: "OpenFile", *, size: int = BLOCK) -> Outcome:
        """Read the first `size` bytes and write them to another file of the same process, as `cp` does."""
        began = time.monotonic()
        answer = self.process.actor.call("pread64", self.descriptor, Out(size), size, 0)
        read = answer.error or name(answer.data)
        named: dict[str, object] = {"file": self.path, "at": 0, "read": read}
        self.process.witness.called(self.process.name, "read", named, answer.error or answer.value, began)
        return other.write(answer.data) if answer.ok else answer.error

    def fsync(self) -> Outcome:
        """fsync(2)."""
        return self._plain("fsync")

    def fdatasync(self) -> Outcome:
        """fdatasync(2)."""
        return self._plain("fdatasync")

    def syncfs(self) -> Outcome:
        """syncfs(2) on the file system this file is on."""
        return self._plain("syncfs")

    def fsync_by_io_uring(self) -> Outcome:
        """IORING_OP_FSYNC: what its completion says. Raises Unsupported without io_uring."""
        return self._io_uring("io_uring FSYNC", uring.Request(uring.OP_FSYNC, self.descriptor))

    def fdatasync_by_io_uring(self) -> Outcome:
        """IORING_OP_FSYNC with IORING_FSYNC_DATASYNC. Raises Unsupported without io_uring."""
        request = uring.Request(uring.OP_FSYNC, self.descriptor, uring.FSYNC_DATASYNC)
        return self._io_uring("io_uring FSYNC DATASYNC", request)

    def write_by_io_uring(self, data: bytes, *, at: int = 0) -> Outcome:
        """IORING_OP_WRITE with RWF_DSYNC, at the byte offset `at`. Raises Unsupported without io_uring."""
        address = self.process.actor.reserve(len(data))
        self.process.actor.write_memory(address, data)
        request = uring.Request(uring.OP_WRITE, self.descriptor, uring.RWF_DSYNC, at, address, len(data))
        return self._io_uring("io_uring WRITE RWF_DSYNC", request, data=name(data), at=at)

    def start_writeback(self) -> Outcome:
        """sync_file_range(2) with SYNC_FILE_RANGE_WRITE: begin to write, wait for nothing."""
        return self._sync_file_range("sync_file_range WRITE", SYNC_FILE_RANGE_WRITE)

    def wait_for_writeback(self) -> Outcome:
        """sync_file_range(2) with WAIT_BEFORE, WRITE and WAIT_AFTER: write, and wait for it."""
        every = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER
        return self._sync_file_range("sync_file_range WAIT_BEFORE|WRITE|WAIT_AFTER", every)

    def mapped(self, size: int = BLOCK) -> "Mapping":
        """Map the first `size` bytes of the file, shared and writable. Raises GuestError if refused."""
        protection = PROT_READ | PROT_WRITE
        answer = self.process.actor.call("mmap", 0, size, protection, MAP_SHARED, self.descriptor, 0)
        return Mapping(self, answer.must(f"map '{self.path}'"), size)

    def close(self) -> Outcome:
        """close(2)."""
        return self._plain("close")

    def fsync_in_background(self) -> "Background":
        """Start an fsync and return at once: it may hang."""
        return self._started("fsync")

    def freeze_in_background(self) -> "Background":
        """Start to freeze the file system this file is on (FIFREEZE) and return at once."""
        return self.process.start("freeze", {"file": self.path}, "ioctl", self.descriptor, FIFREEZE, 0)

    def thaw(self) -> Outcome:
        """Let the file system go on that was frozen (FITHAW)."""
        return self.process.call("thaw", {"file": self.path}, "ioctl", self.descriptor, FITHAW, 0)

    def syncfs_in_background(self) -> "Background":
        """Start a syncfs and return at once."""
        return self._started("syncfs")

    def freeze(self) -> Outcome:
        """Stop all changes and bring everything to its place, as before a snapshot (FIFREEZE)."""
        return self.process.call("freeze", {"file": self.path}, "ioctl", self.descriptor, FIFREEZE, 0)

    def write_in_background(self, data: bytes, *, at: int = 0) -> "Background":
        """Start to write `data` at the byte offset `at` and return at once."""
        named: dict[str, object] = {"file": self.path, "data": name(data), "at": at, "bytes": len(data)}
        return self.process.start("write", named, "pwrite64", self.descriptor, data, len(data), at)

    def read_in_background(self, *, at: int = 0, size: int = BLOCK) -> "Background":
        """Start to read `size` bytes at offset `at` and return at once; the result is their number."""
        named: dict[str, object] = {"file": self.path, "at": at}
        return self.process.start("read", named, "pread64", self.descriptor, Out(size), size, at)

    def dup(self) -> "OpenFile":
        """Return a second descriptor of the same open file, in the same process."""
        copy = self._plain("dup")
        assert isinstance(copy, int), copy
        return OpenFile(self.process, copy, self.path)

    def inherited_by(self, child: Process) -> "OpenFile":
        """Return this descriptor as a child has it that was forked after the open."""
        return OpenFile(child, self.descriptor, self.path)

    def sent_to(self, other: Process) -> "OpenFile":
        """Pass the open file to another process over a Unix socket (SCM_RIGHTS)."""
        began = time.monotonic()
        address, inbox = receive(other.actor)
        send(self.process.actor, self.descriptor, address)
        copy = inbox()
        arguments: dict[str, object] = {"file": self.path, "to": other.name}
        self.process.witness.called(self.process.name, "send", arguments, 0, began)
        return OpenFile(other, copy, self.path)

    def _io_uring(self, what: str, request: uring.Request, **named: object) -> Outcome:
        began = time.monotonic()
        value = uring.ask(self.process.actor, request)
        result = errorcode.get(-value, f"E{-value}") if value < 0 else value
        arguments: dict[str, object] = {"file": self.path, "fd": self.descriptor, **named}
        self.process.witness.called(self.process.name, what, arguments, result, began)
        return result

    def _sync_file_range(self, what: str, flags: int) -> Outcome:
        named: dict[str, object] = {"file": self.path, "fd": self.descriptor}
        return self.process.call(what, named, "sync_file_range", self.descriptor, 0, 0, flags)

    def _started(self, call: str) -> "Background":
        return self.process.start(call, {"file": self.path, "fd": self.descriptor}, call, self.descriptor)

    def _plain(self, call: str) -> Outcome:
        return self.process.call(call, {"file": self.path, "fd": self.descriptor}, call, self.descriptor)


@dataclass(frozen=True)
class Mapping:
    """A file's bytes in the memory of a process."""

    file: OpenFile
    address: int
    size: int

    def store(self, data: bytes, *, at: int = 0) -> None:
        """Change the bytes from the offset `at` on in memory; nobody else is told."""
        self.file.process.actor.write_memory(self.address + at, data)

    def store_in_background(self, data: bytes, *, at: int = 0) -> "Background":
        """Start to change the bytes and return at once; the result is 0."""
        began, process = time.monotonic(), self.file.process
        named: dict[str, object] = {"file": self.file.path, "data": name(data), "at": at, "bytes": len(data)}
        return Background(process, "store", named, process.actor.submit_store(self.address + at, data), began)

    def read(self, *, at: int = 0) -> str:
        """Look at the block at offset `at` in memory; return its name."""
        return name(self.file.process.actor.read_memory(self.address + at, BLOCK))

    def without_readahead(self) -> "Mapping":
        """Let a look at one block read that block alone (madvise with MADV_RANDOM)."""
        named: dict[str, object] = {"file": self.file.path, "bytes": self.size}
        self.file.process.call("madvise RANDOM", named, "madvise", self.address, self.size, MADV_RANDOM)
        return self

    def msync(self) -> Outcome:
        """msync(2) with MS_SYNC."""
        return self._msync("msync MS_SYNC", MS_SYNC)

    def msync_async(self) -> Outcome:
        """msync(2) with MS_ASYNC."""
        return self._msync("msync MS_ASYNC", MS_ASYNC)

    def _msync(self, what: str, flags: int) -> Outcome:
        named: dict[str, object] = {"file": self.file.path, "bytes": self.size}
        return self.file.process.call(what, named, "msync", self.address, self.size, flags)


@dataclass(frozen=True)
class Background:
    """A call that was started and may not have returned."""

    process: Process
    name: str
    arguments: dict[str, object]
    pending: Pending
    began: float

    def done(self) -> bool:
        """Tell whether the call has returned."""
        return self.pending.done()

    def result(self) -> Outcome:
        """Wait for the call and write it down."""
        answer = self.pending.wait()
        result = answer.error or answer.value
        self.process.witness.called(self.process.name, self.name, self.arguments, result, self.began)
        return result
