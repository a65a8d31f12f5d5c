"""The frames that host and agent exchange: a pure codec. The agent's side is vms/agent/agent.h.

A frame is a header of seven little-endian u32 (magic, body length, request, actor, operation, CRC of the
body, CRC of the six numbers before) and a body of at most 4 MiB.
"""

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

PROTOCOL = 1
MAGIC = 0x74677366
MAX_BODY = 4 << 20
REPLY = 0x80000000
"""An answer carries the operation of its request and this bit."""

_NUMBERS = struct.Struct("<6I")
_HEADER = struct.Struct("<7I")
HEADER_SIZE = _HEADER.size


class Op(IntEnum):
    """What the host asks for, and what the agent says beside plain answers."""

    HELLO = 1
    CALL = 2
    FORK = 3
    SPAWN = 4
    RUN = 5
    REFUSED = REPLY | 256
    LOST = REPLY | 257
    EXITED = REPLY | 258


@dataclass(frozen=True, slots=True)
class Frame:
    """One message. `actor` 0 is the supervisor; `request` 0 belongs to no request of the host."""

    request: int
    actor: int
    op: int
    body: bytes = b""


def encode(frame: Frame) -> bytes:
    """Return the bytes of `frame`; ValueError when the body is longer than MAX_BODY."""
    if len(frame.body) > MAX_BODY:
        raise ValueError(f"A body of {len(frame.body)} bytes is longer than {MAX_BODY}.")
    numbers = _NUMBERS.pack(
        MAGIC, len(frame.body), frame.request, frame.actor, frame.op, zlib.crc32(frame.body)
    )
    return numbers + zlib.crc32(numbers).to_bytes(4, "little") + frame.body


class Decoder:
    """Turns a stream of bytes, cut anywhere, into frames.

    After damage it goes on at the next good header: a broken header is skipped byte by byte, a good header
    with a body that is too long by itself alone, a damaged body together with its header.
    """

    def __init__(self) -> None:
        """Start with nothing held."""
        self._held = bytearray()
        self.skipped = 0
        """How many bytes belonged to no good frame."""

    def feed(self, data: bytes) -> list[Frame]:
        """Add `data` and return the frames that are complete now, in order."""
        self._held += data
        frames: list[Frame] = []
        at = 0
        magic = MAGIC.to_bytes(4, "little")
        while len(self._held) - at >= HEADER_SIZE:
            number, length, request, actor, op, body_crc, own_crc = _HEADER.unpack_from(self._held, at)
            if number != MAGIC or own_crc != zlib.crc32(self._held[at : at + _NUMBERS.size]):
                found = self._held.find(magic, at + 1)
                # Without the magic the last bytes may still be the beginning of one.
                following = found if found >= 0 else len(self._held) - len(magic) + 1
                self.skipped += following - at
                at = following
                continue
            if length > MAX_BODY:
                self.skipped += HEADER_SIZE
                at += HEADER_SIZE
                continue
            start, end = at + HEADER_SIZE, at + HEADER_SIZE + length
            if end > len(self._held):
                break
            body = bytes(self._held[start:end])
            if zlib.crc32(body) == body_crc:
                frames.append(Frame(request, actor, op, body))
            else:
                self.skipped += end - at
            at = end
        del self._held[:at]
        return frames
