"""Passing an open file from one process to another over a Unix socket (unix(7), SCM_RIGHTS)."""

import struct
from collections.abc import Callable

from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import InOut, Words
from fsyncgate.guest.constants import AF_UNIX, SCM_RIGHTS, SOCK_DGRAM, SOL_SOCKET

_CONTROL = struct.Struct("<Q i i i 4x")
"""struct cmsghdr (cmsg_len, cmsg_level, cmsg_type) and one descriptor, padded."""
_HEADER_AND_FD = 20


def receive(actor: Actor) -> tuple[bytes, Callable[[], int]]:
    """Let a process listen; return its address, and a function that takes the descriptor that comes."""
    inbox = actor.call("socket", AF_UNIX, SOCK_DGRAM, 0).must("make a socket")
    address = struct.pack("<H", AF_UNIX) + f"\0fsyncgate-{actor.pid}".encode()
    actor.call("bind", inbox, address, len(address)).must("bind a socket")

    def take() -> int:
        control = InOut(bytes(_CONTROL.size))
        message = Words(0, 0, Words(bytes(1), 1), 1, control, _CONTROL.size, 0)
        answer = actor.call("recvmsg", inbox, message, 0)
        answer.must("receive a descriptor")
        actor.call("close", inbox)
        descriptor: int = _CONTROL.unpack(answer.out[0])[3]
        return descriptor

    return address, take


def send(actor: Actor, descriptor: int, address: bytes) -> None:
    """Send a descriptor to an address that `receive` gave."""
    outbox = actor.call("socket", AF_UNIX, SOCK_DGRAM, 0).must("make a socket")
    control = _CONTROL.pack(_HEADER_AND_FD, SOL_SOCKET, SCM_RIGHTS, descriptor)
    message = Words(address, len(address), Words(b"\0", 1), 1, control, len(control), 0)
    actor.call("sendmsg", outbox, message, 0).must("send a descriptor")
    actor.call("close", outbox)
