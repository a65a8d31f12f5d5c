"""The block devices under a file system: disk, then `fault`, then `volume`.

The fault sits in a device of its own, below the one that is mounted: so the block tracepoints show
each request that failed as it comes back from there, even one whose error is lost on its way up.
"""

from fsyncgate.errors import GuestError
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.files import names, read_file
from fsyncgate.machine.argv import DISK, DISK_SERIAL, SPARE
from fsyncgate.storage.devicemapper import Mapper
from fsyncgate.storage.table import Range, Segment, linear

SECTOR = 512
SECTORS = DISK // SECTOR
UNUSED: Range = ((DISK - SPARE) // SECTOR, SPARE // SECTOR)
"""Sectors behind the end of every file system: a place to catch flushes without touching data."""


class Stack:
    """The two device-mapper devices on the disk that is broken."""

    def __init__(self, actor: Actor) -> None:
        """Build them. Raises Unsupported without device-mapper, GuestError without the disk."""
        self._actor = actor
        self.mapper = Mapper(actor)
        name = _disk(actor)
        self.disk_path = f"/dev/{name}"
        self._disk = read_file(actor, f"/sys/block/{name}/dev").strip()
        self._fault = self.mapper.create("fault", linear(self._disk, SECTORS))
        self._volume = self.mapper.create("volume", linear(self._fault, SECTORS))
        self.extra: dict[str, str] = {}
        self.volume_path = f"/dev/dm-{self._volume.partition(':')[2]}"

    @property
    def disk(self) -> str:
        """Return the disk's number as `major:minor`, for tables."""
        return self._disk

    @property
    def devices(self) -> dict[str, str]:
        """Return `major,minor`, as the tracepoints write it, with the device's role."""
        roles = {"disk": self._disk, "fault": self._fault, "volume": self._volume, **self.extra}
        return {number.replace(":", ","): role for role, number in roles.items()}

    def lay(self, table: list[Segment]) -> None:
        """Put a table under the `fault` device."""
        self.mapper.replace("fault", table)

    def mend(self) -> None:
        """Let everything through again."""
        self.lay(linear(self._disk, SECTORS))

    def hold(self) -> None:
        """Let every request wait below the volume until `release`, or until a table is laid."""
        self.mapper.hold("fault")

    def release(self) -> None:
        """Let the requests go on that waited."""
        self.mapper.release("fault")

    def add(self, role: str, table: list[Segment]) -> str:
        """Make one more device; return its number."""
        self.extra[role] = self.mapper.create(role, table)
        return self.extra[role]

    def take_away(self, role: str) -> None:
        """Remove a device that was added."""
        self.mapper.remove(role)
        del self.extra[role]


def _disk(actor: Actor) -> str:
    """Return the name of the disk with our serial: names shuffle between boots, serials do not."""
    for name in names(actor, "/sys/block"):
        if name.startswith("vd") and read_file(actor, f"/sys/block/{name}/serial") == DISK_SERIAL:
            return name
    raise GuestError(f"The guest has no disk with the serial '{DISK_SERIAL}'.")
