"""The structures of io_uring, as include/uapi/linux/io_uring.h lays them out."""

import errno
import struct

import pytest

from fsyncgate.errors import GuestError, Unsupported
from fsyncgate.guest.actor import Actor, Answer
from fsyncgate.guest.arguments import Argument, InOut, Out
from fsyncgate.guest.uring import FSYNC_DATASYNC, OP_FSYNC, OP_WRITE, RWF_DSYNC, Request, ask

SQ, CQ, SQES = 0x1000, 0x2000, 0x3000
SQ_TAIL, ARRAY, CQ_TAIL, CQES = 4, 320, 132, 192


def test_a_datasync_is_an_fsync_with_a_flag() -> None:
    entry = Request(OP_FSYNC, 7, FSYNC_DATASYNC).entry()
    assert len(entry) == 64
    assert struct.unpack_from("<BBHi", entry) == (3, 0, 0, 7)
    assert struct.unpack_from("<QQII", entry, 8) == (0, 0, 0, 1)


def test_a_write_names_its_buffer() -> None:
    entry = Request(OP_WRITE, 7, RWF_DSYNC, offset=8192, address=0x5000, length=4096).entry()
    assert struct.unpack_from("<BBHiQQII", entry) == (23, 0, 0, 7, 8192, 0x5000, 4096, 2)


class Ring(Actor):
    """An actor in a kernel that has an io_uring, as far as one request goes."""

    def __init__(self, result: int = 0, *, done: int = 1, setup: int = 0, stranger: bool = False) -> None:
        self.memory: dict[int, bytes] = {}
        self.file = b""
        self.entered: list[Request | bytes] = []
        self.result, self.done, self.setup, self.stranger = result, done, setup, stranger

    def call(self, name: str, *values: Argument, timeout: float | None = None, align: int = 0) -> Answer:  # noqa: ARG002
        match name, values:
            case "io_uring_setup", (1, InOut()):
                return Answer(-1, self.setup) if self.setup else Answer(5, 0, (self._params(),))
            case "mmap", (0, _, _, _, 5, int() as where):
                return Answer({0: SQ, 0x8000000: CQ, 0x10000000: SQES}[where], 0)
            case "pwrite64", (_, bytes() as data, _, 0):
                self.file = data
            case "pwrite64", (_, int() as address, int() as size, 0):
                self.file = self.memory[address][:size]
            case "pread64", (_, Out(), _, 0):
                return Answer(len(self.file), 0, (self.file,))
            case "pread64", (_, int() as address, int() as size, 0):
                self.memory[address] = self.file[:size]
            case "io_uring_enter", (5, 1, 1, 1, 0, 0):
                return self._enter()
            case _:
                pass
        return Answer(3, 0)

    def _params(self) -> bytes:
        sq = (0, SQ_TAIL, 8, 12, 16, 20, ARRAY, 0, 0)
        cq = (128, CQ_TAIL, 136, 140, 144, CQES, 148, 0, 0)
        return struct.pack("<10I8IQ8IQ", 1, 2, *[0] * 8, *sq, *cq)

    def _enter(self) -> Answer:
        """Take what lies at the tail, as the kernel does; without it there is nothing to take."""
        (tail,) = struct.unpack("<I", self.memory[SQ + SQ_TAIL])
        (slot,) = struct.unpack("<I", self.memory[SQ + ARRAY])
        entry = self.memory[SQES + 64 * slot]
        self.entered.append(entry)
        ticket = 99 if self.stranger else struct.unpack_from("<Q", entry, 32)[0]
        self.memory[CQ + CQ_TAIL] = struct.pack("<I", self.done)
        self.memory[CQ + CQES] = struct.pack("<QiI", ticket, self.result, 0)
        return Answer(tail, 0)


@pytest.mark.parametrize("result", [0, 4096, -errno.EIO])
def test_the_answer_is_what_the_completion_says(result: int) -> None:
    ring, request = Ring(result), Request(OP_FSYNC, 7)
    assert ask(ring, request) == result
    assert ring.entered == [request.entry()]


@pytest.mark.parametrize("ring", [Ring(done=0), Ring(done=2), Ring(stranger=True)])
def test_a_completion_that_is_not_the_one_of_the_request_is_no_answer(ring: Ring) -> None:
    with pytest.raises(GuestError, match="completed"):
        ask(ring, Request(OP_FSYNC, 7))


@pytest.mark.parametrize(("number", "reason"), [(errno.ENOSYS, "CONFIG_IO_URING"), (errno.EPERM, "disabled")])
def test_a_kernel_without_io_uring_is_not_asked(number: int, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        ask(Ring(setup=number), Request(OP_FSYNC, 7))
