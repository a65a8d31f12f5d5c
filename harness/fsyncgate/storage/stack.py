"""The block devices under a file system: disk, then `fault`, then `volume`.

The fault sits in a device of its own, below the one that is mounted: so the block tracepoints show
each request that failed as it comes back from there, even one whose error is lost on its way up.
"""

from contextlib import suppress

from fsyncgate.errors import GuestError
from fsyncgate.guest.actor import Actor
from fsyncgate.storage.devicemapper import Mapper
from fsyncgate.storage.disk import SECTORS, Disk
from fsyncgate.storage.made import FAULT, VOLUME, Made, note, noted
from fsyncgate.storage.table import Segment, linear


class Stack:
    """The two device-mapper devices on the disk that is broken."""

    def __init__(self, actor: Actor) -> None:
        """Build them, or take those that are there. Raises Unsupported without device-mapper.

        GuestError without the disk.
        """
        self.disk = Disk(actor, below=True)
        self.disk_path, self.second_path = self.disk.disk_path, self.disk.second_path
        self._made = made = noted(actor) or _make(actor, self.disk)
        self.mapper = Mapper(actor, made.control)
        self.extra: dict[str, str] = {}
        self.hangs = False
        self.volume_path = f"/dev/dm-{made.volume.partition(':')[2]}"
        self.targets = made.targets

    @property
    def devices(self) -> dict[str, str]:
        """Return `major,minor`, as the tracepoints write it, with the device's role."""
        roles = {"fault": self._made.fault, "volume": self._made.volume, **self.extra}
        return self.disk.devices | {number.replace(":", ","): role for role, number in roles.items()}

    def lay(self, table: list[Segment]) -> None:
        """Put a table under the `fault` device."""
        self.mapper.replace(FAULT, table)

    def mend(self) -> None:
        """Let everything through again."""
        self.lay(linear(self.disk.number, SECTORS))

    def hold(self) -> None:
        """Let every request wait below the volume until `release`, or until a table is laid."""
        self.mapper.hold(FAULT)

    def release(self) -> None:
        """Let the requests go on that waited."""
        self.mapper.release(FAULT)

    def add(self, role: str, table: list[Segment]) -> str:
        """Make one more device; return its number."""
        self.extra[role] = self.mapper.create(role, table)
        return self.extra[role]

    def take_away(self, role: str) -> None:
        """Remove a device that was added."""
        self.mapper.remove(role)
        del self.extra[role]


def prepare(actor: Actor) -> None:
    """Make the devices before the machine is saved.

    What cannot be made now is no case's loss: the case that needs it says why it cannot.
    """
    with suppress(GuestError):
        note(actor, _make(actor, Disk(actor, below=True)))


def _make(actor: Actor, disk: Disk) -> Made:
    mapper = Mapper(actor)
    fault = mapper.create(FAULT, linear(disk.number, SECTORS))
    volume = mapper.create(VOLUME, linear(fault, SECTORS))
    versions = {name: ".".join(map(str, numbers)) for name, numbers in mapper.targets().items()}
    return Made(mapper.control, fault, volume, versions)
