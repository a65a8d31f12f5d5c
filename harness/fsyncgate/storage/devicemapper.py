"""device-mapper by its ioctls, made in the guest: no dmsetup, so no userland and no waiting.

Layout of the messages: include/uapi/linux/dm-ioctl.h.
"""

import struct

from fsyncgate.errors import GuestError, Unsupported
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import InOut
from fsyncgate.guest.constants import AT_FDCWD, O_RDWR
from fsyncgate.storage.table import Segment

HEADER = struct.Struct("<3I I I I i I I I Q 128s 129s 7s")
"""struct dm_ioctl: version[3], data_size, data_start, target_count, open_count, flags, event_nr,
padding, dev, name, uuid, data."""

TARGET = struct.Struct("<Q Q i I 16s")
"""struct dm_target_spec: sector_start, length, status, next, target_type."""

ROOM = 16384
"""Bytes for a message and its answer."""

DEV_CREATE, DEV_REMOVE, DEV_SUSPEND, TABLE_LOAD, TABLE_STATUS, LIST_VERSIONS, TARGET_MSG = (
    3,
    4,
    6,
    9,
    12,
    13,
    14,
)
SUSPEND, SKIP_LOCKFS, NOFLUSH = 1 << 1, 1 << 10, 1 << 11


def request(command: int) -> int:
    """Return the ioctl number of a device-mapper command."""
    return (3 << 30) | (HEADER.size << 16) | (0xFD << 8) | command


def message(name: str, *, flags: int = 0, targets: int = 0, payload: bytes = b"") -> bytes:
    """Return a message about the device `name`, padded to ROOM bytes."""
    header = HEADER.pack(
        4, 0, 0, ROOM, HEADER.size + 7 & ~7, targets, 0, flags, 0, 0, 0, name.encode(), b"", b""
    )
    body = header.ljust(HEADER.size + 7 & ~7, b"\0") + payload
    if len(body) > ROOM:
        raise ValueError(f"a device-mapper message of {len(body)} bytes is over {ROOM}")
    return body.ljust(ROOM, b"\0")


def targets(table: list[Segment]) -> bytes:
    """Return the table as the kernel reads it: each target at a multiple of eight bytes."""
    out = b""
    for segment in table:
        parameters = segment.parameters.encode() + b"\0"
        size = TARGET.size + len(parameters) + 7 & ~7
        spec = TARGET.pack(segment.start, segment.length, 0, size, segment.target.encode())
        out += (spec + parameters).ljust(size, b"\0")
    return out


class Mapper:
    """The guest's device-mapper."""

    def __init__(self, actor: Actor, control: int | None = None) -> None:
        """Open the control node, if it is not. Raises Unsupported if this kernel has no device-mapper."""
        self._actor = actor
        self.control = self._opened() if control is None else control

    def _opened(self) -> int:
        answer = self._actor.call("openat", AT_FDCWD, "/dev/mapper/control", O_RDWR, 0)
        if not answer.ok:
            raise Unsupported(f"This kernel has no device-mapper (/dev/mapper/control: {answer.error}).")
        return answer.value

    def targets(self) -> dict[str, tuple[int, int, int]]:
        """Return the targets this kernel has, with their versions."""
        return parse_versions(self._ioctl(LIST_VERSIONS, message("")))

    def create(self, name: str, table: list[Segment]) -> str:
        """Make a device that is in use at once; return its number as `major:minor`."""
        answer = HEADER.unpack_from(self._ioctl(DEV_CREATE, message(name)))
        self._load(name, table)
        self.release(name)
        device: int = answer[10]
        return f"{device >> 8 & 0xFFF}:{device & 0xFF | device >> 12 & 0xFFF00}"

    def replace(self, name: str, table: list[Segment]) -> None:
        """Swap the table under a device in use, without a flush and without freezing its file system."""
        self._load(name, table)
        self.hold(name)
        self.release(name)

    def hold(self, name: str) -> None:
        """Let every request to a device wait until `release` or `replace`."""
        self._ioctl(DEV_SUSPEND, message(name, flags=SUSPEND | SKIP_LOCKFS | NOFLUSH))

    def release(self, name: str) -> None:
        """Let the requests go on that waited; does nothing if none were held."""
        self._ioctl(DEV_SUSPEND, message(name))

    def drain(self, name: str) -> None:
        """Wait until a device has answered every request that it has; those that come meanwhile wait."""
        self._ioctl(DEV_SUSPEND, message(name, flags=SUSPEND | SKIP_LOCKFS))
        self.release(name)

    def remove(self, name: str) -> None:
        """Remove a device that nothing uses."""
        self._ioctl(DEV_REMOVE, message(name))

    def status(self, name: str) -> str:
        """Return what the first target of a device says of itself."""
        answer = self._ioctl(TABLE_STATUS, message(name))
        begin: int = HEADER.unpack_from(answer)[4] + TARGET.size
        return answer[begin : answer.index(b"\0", begin)].decode()

    def tell(self, name: str, text: str) -> None:
        """Send a message to the first target of a device."""
        self._ioctl(TARGET_MSG, message(name, payload=struct.pack("<Q", 0) + text.encode() + b"\0"))

    def _load(self, name: str, table: list[Segment]) -> None:
        self._ioctl(TABLE_LOAD, message(name, targets=len(table), payload=targets(table)))

    def _ioctl(self, command: int, body: bytes) -> bytes:
        answer = self._actor.call("ioctl", self.control, request(command), InOut(body))
        if not answer.ok:
            raise GuestError(f"device-mapper refused command {command}: {answer.error}.")
        return answer.out[0]


def parse_versions(answer: bytes) -> dict[str, tuple[int, int, int]]:
    """Return name -> version from the answer to LIST_VERSIONS."""
    position: int = HEADER.unpack_from(answer)[4]
    found: dict[str, tuple[int, int, int]] = {}
    while True:
        following, *version = struct.unpack_from("<I3I", answer, position)
        name = answer[position + 16 : answer.index(b"\0", position + 16)].decode()
        found[name] = (version[0], version[1], version[2])
        if not following:
            return found
        position += following
