"""One request through an io_uring: a ring is made, asked one thing, and taken away.

Structures and numbers: include/uapi/linux/io_uring.h. A process cannot be read from outside where a ring is
mapped (VM_PFNMAP before v6.9), so what goes into the ring and out of it takes the way of a read and a write.
"""

import struct
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from fsyncgate.errors import GuestError, Unsupported
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import InOut, Out
from fsyncgate.guest.constants import MAP_SHARED, PROT_READ, PROT_WRITE

OP_FSYNC, OP_WRITE = 3, 23
FSYNC_DATASYNC = 1
RWF_DSYNC = 2

_ENTER_GETEVENTS = 1
_OFF_SQ_RING, _OFF_CQ_RING, _OFF_SQES = 0, 0x8000000, 0x10000000
_PARAMS = struct.Struct("<10I 8I Q 8I Q")
"""struct io_uring_params: its own words, then struct io_sqring_offsets and struct io_cqring_offsets."""
_SQE = struct.Struct("<B B H i Q Q I I Q 24x")
"""opcode, flags, ioprio, fd, off, addr, len, the operation's flags, user_data."""
_CQE = struct.Struct("<Q i I")
"""user_data, res, flags."""
_U32 = struct.Struct("<I")
_TICKET = 0x6673796E6367
"""The user_data of the one request: the completion must bear it."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a submission queue entry says."""

    opcode: int
    descriptor: int
    flags: int = 0
    """fsync_flags or rw_flags, by the opcode."""
    offset: int = 0
    address: int = 0
    length: int = 0

    def entry(self) -> bytes:
        """Return struct io_uring_sqe."""
        return _SQE.pack(
            self.opcode, 0, 0, self.descriptor, self.offset, self.address, self.length, self.flags, _TICKET
        )


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where things lie in the mappings of a ring, in bytes."""

    entries: int
    sq_tail: int
    sq_array: int
    cq_head: int
    cq_tail: int
    cq_entries: int
    cqes: int

    @classmethod
    def of(cls, params: bytes) -> Self:
        """Read them from what io_uring_setup(2) answered."""
        words = _PARAMS.unpack(params)
        sq, cq = words[10:18], words[19:27]
        return cls(words[0], sq[1], sq[6], cq[0], cq[1], words[1], cq[5])


def ask(actor: Actor, request: Request) -> int:
    """Make one request and return what its completion says: a count, or a negative errno.

    Raises Unsupported where the kernel has no io_uring or has it switched off, GuestError if the ring does
    not behave: no completion, or another one than that of the request.
    """
    with _ring(actor) as (ring, offsets), _bounce(actor) as bounce:
        sq = _mapped(actor, ring, _OFF_SQ_RING, offsets.sq_array + _U32.size * offsets.entries)
        cq = _mapped(actor, ring, _OFF_CQ_RING, offsets.cqes + _CQE.size * offsets.cq_entries)
        sqes = _mapped(actor, ring, _OFF_SQES, _SQE.size * offsets.entries)
        bounce.store(sqes[0], request.entry())
        bounce.store(sq[0] + offsets.sq_array, _U32.pack(0))
        bounce.store(sq[0] + offsets.sq_tail, _U32.pack(1))
        entered = actor.call("io_uring_enter", ring, 1, 1, _ENTER_GETEVENTS, 0, 0)
        if entered.must("enter an io_uring") != 1:
            raise GuestError("The io_uring took no request.")
        (done,) = _U32.unpack(bounce.load(cq[0] + offsets.cq_tail, _U32.size))
        ticket, result, _ = _CQE.unpack(bounce.load(cq[0] + offsets.cqes, _CQE.size))
        for address, size in (sq, cq, sqes):
            actor.call("munmap", address, size).must("unmap an io_uring")
    if (done, ticket) != (1, _TICKET):
        raise GuestError(f"The io_uring completed {done} requests, the first of them number {ticket:#x}.")
    return int(result)


@contextmanager
def _ring(actor: Actor) -> Generator[tuple[int, Offsets]]:
    answer = actor.call("io_uring_setup", 1, InOut(bytes(_PARAMS.size)))
    if answer.error == "ENOSYS":
        raise Unsupported("This kernel has no io_uring (CONFIG_IO_URING).")
    if answer.error == "EPERM":
        raise Unsupported("io_uring is switched off in this kernel (sysctl 'kernel.io_uring_disabled').")
    ring = answer.must("make an io_uring")
    try:
        yield ring, Offsets.of(answer.out[0])
    finally:
        actor.call("close", ring)


def _mapped(actor: Actor, ring: int, what: int, size: int) -> tuple[int, int]:
    answer = actor.call("mmap", 0, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, what)
    return answer.must("map an io_uring"), size


class _Bounce:
    """A file in memory through which bytes come to an address of a process, and from there."""

    def __init__(self, actor: Actor, descriptor: int) -> None:
        self._actor = actor
        self._descriptor = descriptor

    def store(self, address: int, data: bytes) -> None:
        self._actor.call("pwrite64", self._descriptor, data, len(data), 0).must("fill a buffer")
        self._actor.call("pread64", self._descriptor, address, len(data), 0).must("write to an io_uring")

    def load(self, address: int, size: int) -> bytes:
        self._actor.call("pwrite64", self._descriptor, address, size, 0).must("read an io_uring")
        answer = self._actor.call("pread64", self._descriptor, Out(size), size, 0)
        answer.must("empty a buffer")
        return answer.out[0]


@contextmanager
def _bounce(actor: Actor) -> Generator[_Bounce]:
    descriptor = actor.call("memfd_create", "bounce", 0).must("make a file in memory")
    try:
        yield _Bounce(actor, descriptor)
    finally:
        actor.call("close", descriptor)
