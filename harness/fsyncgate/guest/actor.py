"""Processes in the guest that make the system calls the host asks for.

    guest = Guest(Channel(sock))
    fd = guest.root.call("open", "/mnt/f", os.O_RDWR).value
    guest.root.call("pwrite64", fd, b"new", 3, 0)
    answer = guest.root.call("fsync", fd)           # answer.error == "EIO"

A machine may be saved once actors exist. Its restored copies have a new socket and the same actors:
`Guest.attach(Channel(sock), [1])` finds them. Save only while no request is under way.
"""

import errno
import os
import signal
import struct
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from fsyncgate.errors import GuestError, MachineLost, UsageError
from fsyncgate.guest.arguments import PAGE, WORD, Argument, Layout
from fsyncgate.guest.channel import Channel
from fsyncgate.guest.frame import MAX_BODY, PROTOCOL, Frame, Op
from fsyncgate.guest.numbers import number_of

_CALL = struct.Struct("<7QII")
_RANGE = struct.Struct("<QI")
_RESULT = struct.Struct("<qi")
_HELLO = struct.Struct("<IIQQ")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_I64 = struct.Struct("<q")
_MEMORY_ONLY = WORD - 1
_ARGUMENTS = 6
_PIECE = 1 << 20
_GREETING_EVERY = 1.0


class ActorLost(GuestError):
    """The actor ended before it answered; `status` is its wait status."""

    def __init__(self, message: str, status: int) -> None:
        """Keep the status beside the sentence."""
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system call answered; `out` holds the buffers that came back, in the order of the arguments."""

    value: int
    errno: int
    out: tuple[bytes, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.errno == 0

    @property
    def error(self) -> str:
        """The name of the error ('EIO'), or '' after success."""
        return errno.errorcode.get(self.errno, f"E{self.errno}") if self.errno else ""

    @property
    def data(self) -> bytes:
        """The first buffer as far as the returned length goes: what a read has read."""
        return self.out[0][: max(self.value, 0)]

    def must(self, what: str) -> int:
        """Return the value; GuestError "The guest could not <what>: EIO." when the call failed."""
        if not self.ok:
            raise GuestError(f"The guest could not {what}: {self.error}.")
        return self.value


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that has ended: its wait status, and up to 1 MiB of what it wrote to stdout and stderr."""

    status: int
    output: bytes

    @property
    def code(self) -> int:
        """The exit code; the negative signal number for a command that was killed."""
        return os.waitstatus_to_exitcode(self.status)

    @property
    def ok(self) -> bool:
        """Whether the command exited with 0."""
        return self.status == 0


class Pending:
    """A system call under way."""

    def __init__(self, actor: "Actor", name: str, request: int) -> None:
        """Belong to `actor`, which was asked for the call `name`."""
        self._actor = actor
        self._request = request
        self._answer: Answer | None = None
        self.name = name

    def done(self) -> bool:
        """Whether `wait` would return at once (or raise, when the actor or the machine is lost)."""
        return self._answer is not None or self._actor.channel.answered(self._request)

    def wait(self, timeout: float | None = None) -> Answer:
        """Return the answer. Raises as `Actor.call` does; after a time-out it may be asked again.

        Here and elsewhere, who names no `timeout` waits for as long as the channel's patience lasts.
        """
        if self._answer is None:
            frame = self._actor.channel.wait(self._request, timeout)
            self._answer = _answer(self._actor.checked(frame, self.name).body, self.name)
        return self._answer


class Actor:
    """A process in the guest with its own descriptor table; one system call at a time."""

    def __init__(self, guest: "Guest", number: int, pid: int) -> None:
        """Be the actor that exists in `guest` under this number. Users ask the guest for actors."""
        self.guest = guest
        self.channel = guest.channel
        self.id = number
        self.pid = pid
        self._reserved = 0

    @property
    def exited(self) -> int | None:
        """The wait status once the process has ended, else None. Does not block."""
        self.channel.pump()
        return self.channel.exits.get(self.id)

    def submit(self, name: str, *arguments: Argument, align: int = 0) -> Pending:
        """Start a system call and return at once; calls of one actor are made in order.

        `align` is the alignment of every buffer; by default a page from 512 bytes on, for O_DIRECT.
        Raises UsageError for an unknown name or buffers that do not fit, MachineLost for a closed link.
        """
        return self._submit(name, number_of(name), arguments, align)

    def call(self, name: str, *arguments: Argument, timeout: float | None = None, align: int = 0) -> Answer:
        """Make a system call and return its answer, whatever the kernel said.

        Raises what `submit` raises; MachineLost after `timeout` seconds; ActorLost when the process ends
        before it answers; GuestError when the agent refuses the request.
        """
        return self.submit(name, *arguments, align=align).wait(timeout)

    def fork(self) -> "Actor":
        """Return a child made by fork(2): it shares the open files and has a copy of the memory."""
        child = self.guest.adopt(Op.FORK, self.id, "fork")
        child._reserved = self._reserved
        return child

    def run(self, *argv: str, timeout: float | None = None) -> Completed:
        """Run a command with the descriptors of this actor, and wait until it ends.

        A command that cannot be executed has code 127 and says why. Raises as `call` does.
        """
        body = b"".join(os.fsencode(argument) + b"\0" for argument in argv)
        request = self.channel.submit(self.id, Op.RUN, body)
        frame = self.checked(self.channel.wait(request, timeout), f"run {argv[0]}")
        status = int.from_bytes(frame.body[: _I32.size], "little")
        return Completed(status, frame.body[_I32.size :])

    def kill(self, timeout: float | None = None) -> None:
        """End the process by SIGKILL and wait until it is gone, its descriptors closed.

        Raises MachineLost if it is not gone after `timeout` seconds: a process that hangs in the kernel.
        """
        self.guest.root.call("kill", self.pid, signal.SIGKILL).must(f"end actor {self.id}")
        timeout = self.channel.patience if timeout is None else timeout
        deadline = time.monotonic() + timeout
        while self.exited is None:
            if (left := deadline - time.monotonic()) <= 0:
                raise MachineLost(f"Actor {self.id} did not die within {timeout:g} s of SIGKILL.")
            self.channel.pump(left)

    def read_memory(self, address: int, size: int) -> bytes:
        """Return `size` bytes of the actor's memory. Raises GuestError where nothing is mapped."""
        pieces: list[bytes] = []
        for at in range(address, address + size, _PIECE):
            piece = (at, min(_PIECE, address + size - at))
            pieces += self._submit_raw("read memory", _MEMORY_ONLY, (), (), (piece,)).wait().out
        return b"".join(pieces)

    def write_memory(self, address: int, data: bytes) -> None:
        """Store `data` in the actor's memory. Raises GuestError where nothing writable is mapped.

        The kernel stores it (process_vm_writev), so a shared mapping becomes dirty as by a store.
        """
        for at in range(0, len(data), _PIECE):
            self.submit_store(address + at, data[at : at + _PIECE]).wait()

    def submit_store(self, address: int, data: bytes) -> Pending:
        """Start to store up to 1 MiB as `write_memory` does, and return at once: a page fault may hang."""
        return self._submit_raw("write memory", _MEMORY_ONLY, (), ((address, data),), ())

    def reserve(self, size: int, align: int = PAGE) -> int:
        """Return the address of `size` bytes that no later call of this actor will use.

        For memory that outlives one call: io_uring, asynchronous input and output, odd alignments. It is
        never given back, and an attached actor knows nothing of reservations made before.
        """
        end = self.guest.arena + self.guest.arena_size
        at = (end - self._reserved - size) // align * align
        if at < self.guest.arena:
            raise UsageError(f"The arena of actor {self.id} has no {size} bytes left to reserve.")
        self._reserved = end - at
        return at

    def checked(self, frame: Frame, name: str) -> Frame:
        """Return `frame`, the answer to what `name` says, unless it tells of a refusal or a loss."""
        if frame.op == Op.REFUSED:
            why = frame.body.decode(errors="replace")
            raise GuestError(f"The agent refused '{name}' for actor {self.id}: {why}.")
        if frame.op == Op.LOST:
            status = self.channel.exits.get(self.id, 0)
            code = os.waitstatus_to_exitcode(status)
            how = f"by signal {-code}" if code < 0 else f"with code {code}"
            raise ActorLost(f"Actor {self.id} ended {how} before it answered '{name}'.", status)
        return frame

    def _submit(self, name: str, number: int, arguments: Sequence[Argument], align: int) -> Pending:
        if len(arguments) > _ARGUMENTS:
            raise UsageError(f"System call '{name}' takes at most 6 arguments, not {len(arguments)}.")
        layout = Layout(self.guest.arena, self.guest.arena_size - self._reserved, align)
        words = [layout.word(argument) for argument in arguments]
        return self._submit_raw(name, number, words, layout.writes, layout.reads)

    def _submit_raw(
        self,
        name: str,
        number: int,
        words: Sequence[int],
        writes: Sequence[tuple[int, bytes]],
        reads: Sequence[tuple[int, int]],
    ) -> Pending:
        padded = [*words, *[0] * (_ARGUMENTS - len(words))]
        parts = [_CALL.pack(number, *padded, len(writes), len(reads))]
        for address, data in writes:
            parts += (_RANGE.pack(address, len(data)), data)
        parts += [_RANGE.pack(address, size) for address, size in reads]
        body = b"".join(parts)
        answer = _RESULT.size + sum(_I32.size + size for _, size in reads)
        if max(len(body), answer) > MAX_BODY:
            raise UsageError(
                f"The buffers of '{name}' are longer than {MAX_BODY} bytes.", hint="make several calls"
            )
        return Pending(self, name, self.channel.submit(self.id, Op.CALL, body))


class Guest:
    """A running agent and its actors. Actor 1, `root`, is there from the beginning."""

    def __init__(
        self,
        channel: Channel,
        *,
        timeout: float | None = None,
        attach: Collection[int] = (),
        notes: Mapping[str, str] | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Wait up to `timeout` seconds for the agent; then spawn actor 1, or find the actors of `attach`.

        `meanwhile` is called about once a second, and may raise what makes waiting pointless. Raises
        MachineLost when nobody answers, GuestError for an actor that does not exist.
        """
        self._meanwhile = meanwhile
        timeout = channel.patience if timeout is None else timeout
        self.channel = channel
        self.actors: dict[int, Actor] = {}
        self.notes = dict(notes or {})
        """What was found out or made in the guest before it was saved, so that it need not be done again."""
        self.arena: int
        self.arena_size: int
        protocol, _, self.arena, self.arena_size = _HELLO.unpack(self._greeted(timeout, bool(attach)).body)
        if protocol != PROTOCOL:
            raise GuestError(
                f"The agent speaks protocol {protocol}, not {PROTOCOL}.", hint="build it anew from vms/agent"
            )
        for number in attach:
            actor = Actor(self, number, 0)
            request = channel.submit(number, Op.HELLO)
            frame = actor.checked(channel.wait(request, timeout), "hello")
            actor.pid = _HELLO.unpack(frame.body)[1]
            self.actors[number] = actor
        self._next = max(self.actors, default=0) + 1
        if not self.actors:
            self.spawn()

    @classmethod
    def attach(
        cls,
        channel: Channel,
        actors: Collection[int] = (1,),
        *,
        timeout: float | None = None,
        notes: Mapping[str, str] | None = None,
    ) -> Self:
        """Find actors that exist already, by number: after a machine was restored. See `__init__`.

        Name all that exist, as `pids` did: new actors get the numbers after the highest of these.
        """
        return cls(channel, timeout=timeout, attach=actors, notes=notes)

    @property
    def root(self) -> Actor:
        """Actor 1."""
        return self.actors[1]

    @property
    def pids(self) -> dict[int, int]:
        """The process id of each actor that has not ended, by number: what `attach` takes."""
        self.channel.pump()
        return {
            number: actor.pid for number, actor in self.actors.items() if number not in self.channel.exits
        }

    def spawn(self) -> Actor:
        """Return a fresh actor: no descriptors beyond stdin (/dev/null), stdout and stderr."""
        return self.adopt(Op.SPAWN, 0, "spawn")

    def adopt(self, op: Op, parent: int, name: str) -> Actor:
        """Ask `parent` for a new actor by FORK or SPAWN, and return it."""
        actor = Actor(self, self._next, 0)
        request = self.channel.submit(parent, op, _U32.pack(actor.id))
        self._next += 1
        frame = self.actors.get(parent, actor).checked(self.channel.wait(request), name)
        (actor.pid,) = _I64.unpack(frame.body)
        self.actors[actor.id] = actor
        return actor

    def close(self) -> None:
        """Close the channel. An agent on stdin and stdout then ends and kills its actors."""
        self.channel.close()

    def _greeted(self, timeout: float, served: bool) -> Frame:
        """Ask until somebody answers: what is sent while the guest notices its new host may be lost.

        An agent that has `served` another host may also still wait for the rest of that host's last frame.
        """
        asked: list[int] = []
        deadline = time.monotonic() + timeout
        try:
            while True:
                left = deadline - time.monotonic()
                if served and len(asked) == 1:
                    self.channel.pad()
                asked.append(self.channel.submit(0, Op.HELLO))
                again = time.monotonic() + min(left, _GREETING_EVERY)
                while (now := time.monotonic()) < again:
                    for request in asked:
                        if self.channel.answered(request):
                            return self.channel.wait(request)
                    self.channel.pump(again - now)
                self._meanwhile()
                if left <= _GREETING_EVERY:
                    raise MachineLost(f"The guest's agent did not answer within {timeout:g} s.")
        finally:
            for request in asked:
                self.channel.forget(request)


def _answer(body: bytes, name: str) -> Answer:
    value, error = _RESULT.unpack_from(body)
    at = _RESULT.size
    out: list[bytes] = []
    while at < len(body):
        (length,) = _I32.unpack_from(body, at)
        at += _I32.size
        if length < 0:
            why = errno.errorcode.get(-length, str(-length))
            raise GuestError(f"A buffer of '{name}' could not be read from the actor's memory: {why}.")
        out.append(body[at : at + length])
        at += length
    return Answer(value, error, tuple(out))
