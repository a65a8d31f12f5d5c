"""The host's end of the link to an agent: requests go out, answers come back in any order."""

import os
import secrets
import select
import socket
import time
from types import TracebackType
from typing import Self

from fsyncgate.errors import MachineLost
from fsyncgate.guest.frame import MAX_BODY, Decoder, Frame, Op, encode

PATIENCE = 60.0
"""Seconds to wait for an answer when nobody says how long."""

_CHUNK = 1 << 18


class Channel:
    """Frames over a connected socket, or over a pair of descriptors (to read from, to write to).

    Several requests may be under way at once. There is no thread: `submit`, `wait`, `answered` and `pump`
    move whatever can be moved, so a large request and a large answer never wait for each other. The channel
    owns the socket or the descriptors and closes them.
    """

    def __init__(self, link: socket.socket | tuple[int, int], *, patience: float = PATIENCE) -> None:
        """Take over `link`, of which nothing may have been read; wait `patience` seconds for an answer."""
        self.patience = patience
        self._socket = link if isinstance(link, socket.socket) else None
        self._in, self._out = (link.fileno(), link.fileno()) if isinstance(link, socket.socket) else link
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._decoder = Decoder()
        self._unsent = bytearray()
        # A restored machine may still send what another host had asked for: begin anywhere.
        self._last_request = secrets.randbits(32)
        self._outstanding: set[int] = set()
        self._answers: dict[int, Frame] = {}
        self._ended = ""
        self.exits: dict[int, int] = {}
        """The wait status of each actor that has ended, by its number."""
        self.complaints: list[str] = []
        """What the agent said about bytes it could not make sense of."""

    def submit(self, actor: int, op: int, body: bytes = b"") -> int:
        """Send a request without waiting for anything, and return its number.

        Raises MachineLost when the link is known to be closed, ValueError when `body` is too long.
        """
        request = self._last_request % 0xFFFFFFFF + 1
        data = encode(Frame(request, actor, op, body))
        if self._ended:
            raise self._lost()
        self._last_request = request
        self._outstanding.add(request)
        self._unsent += data
        self.pump()
        return request

    def wait(self, request: int, timeout: float | None = None) -> Frame:
        """Return the answer to `request`, which may be REFUSED or LOST, once it is there.

        Raises MachineLost when it does not come within `timeout` seconds or the link is closed. After a
        time-out the same request may be waited for again. KeyError for a request that is not under way.
        """
        self._check(request)
        timeout = self.patience if timeout is None else timeout
        deadline = time.monotonic() + timeout
        while request not in self._answers:
            if self._ended:
                raise self._lost()
            left = deadline - time.monotonic()
            if left <= 0:
                raise MachineLost(self._silence(timeout), hint="a slow host needs more --patience.")
            self.pump(left)
        return self._answers.pop(request)

    def answered(self, request: int) -> bool:
        """Whether `wait(request)` would return, or raise MachineLost, at once. Does not block."""
        self._check(request)
        if request not in self._answers:
            self.pump()
        return request in self._answers or bool(self._ended)

    def pump(self, timeout: float = 0.0) -> None:
        """Move what can be moved, waiting up to `timeout` seconds for the first thing to move."""
        if self._ended:
            return
        poll = select.poll()
        poll.register(self._in, select.POLLIN)
        if self._unsent:
            poll.register(self._out, select.POLLOUT | (select.POLLIN if self._out == self._in else 0))
        for fd, event in poll.poll(timeout * 1000):
            if fd == self._out and event & ~select.POLLIN:
                self._send()
            if fd == self._in and event & ~select.POLLOUT:
                self._receive()

    def pad(self) -> None:
        """Send as many zeroes as a body may have: they end a frame that another host left unfinished.

        The agent complains about those that were not needed, and is ready for the next frame.
        """
        self._unsent += bytes(MAX_BODY)

    def forget(self, request: int) -> None:
        """Drop an answer that nobody will wait for."""
        self._outstanding.discard(request)
        self._answers.pop(request, None)

    def close(self) -> None:
        """Close the link. What is under way stays unanswered."""
        self._ended = self._ended or "The channel to the guest has been closed."
        if self._socket is not None:
            self._socket.close()
        elif self._in >= 0:
            for fd in {self._in, self._out}:
                os.close(fd)
        self._in = self._out = -1

    def __enter__(self) -> Self:
        """Return the channel itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the link."""
        self.close()

    def _send(self) -> None:
        try:
            with memoryview(self._unsent) as unsent:
                sent = os.write(self._out, unsent[:_CHUNK])
            del self._unsent[:sent]
        except BlockingIOError:
            pass
        except OSError:
            # What the guest has still answered can be read: only the reading side ends the channel.
            self._unsent.clear()

    def _receive(self) -> None:
        try:
            data = os.read(self._in, _CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            self._ended = f"The guest closed the channel ({error.strerror})."
            return
        if not data:
            self._ended = "The guest closed the channel."
        for frame in self._decoder.feed(data):
            self._accept(frame)

    def _accept(self, frame: Frame) -> None:
        if frame.op == Op.EXITED and len(frame.body) == 4:
            self.exits[frame.actor] = int.from_bytes(frame.body, "little")
        elif frame.op == Op.REFUSED and frame.request == 0:
            self.complaints.append(frame.body.decode(errors="replace"))
        elif frame.request in self._outstanding:
            self._outstanding.remove(frame.request)
            self._answers[frame.request] = frame

    def _check(self, request: int) -> None:
        if request not in self._answers and request not in self._outstanding:
            raise KeyError(f"Request {request} is not under way.")

    def _lost(self) -> MachineLost:
        return MachineLost(self._ended, hint="read the console of the machine")

    def _silence(self, timeout: float) -> str:
        sentence = f"The guest did not answer within {timeout:g} s."
        if self._decoder.skipped:
            sentence += f" {self._decoder.skipped} bytes from it belonged to no frame."
        if self.complaints:
            sentence += f" Its agent complained: '{self.complaints[-1]}'."
        return sentence
