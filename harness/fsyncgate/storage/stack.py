"""The block devices under a file system: disk, then `fault`, then `volume`.

The fault sits in a device of its own, below the one that is mounted: so the block tracepoints show
each request that failed as it comes back from there, even one whose error is lost on its way up.
"""

from fsyncgate.guest.actor import Actor
from fsyncgate.storage.devicemapper import Mapper
from fsyncgate.storage.disk import SECTORS, Disk
from fsyncgate.storage.table import Segment, linear


class Stack:
    """The two device-mapper devices on the disk that is broken."""

    def __init__(self, actor: Actor) -> None:
        """Build them. Raises Unsupported without device-mapper, GuestError without the disk."""
        self.mapper = Mapper(actor)
        self.disk = Disk(actor)
        self.disk_path, self.second_path = self.disk.disk_path, self.disk.second_path
        self._fault = self.mapper.create("fault", linear(self.disk.number, SECTORS))
        self._volume = self.mapper.create("volume", linear(self._fault, SECTORS))
        self.extra: dict[str, str] = {}
        self.volume_path = f"/dev/dm-{self._volume.partition(':')[2]}"
        self.targets = {name: ".".join(map(str, numbers)) for name, numbers in self.mapper.targets().items()}

    @property
    def devices(self) -> dict[str, str]:
        """Return `major,minor`, as the tracepoints write it, with the device's role."""
        roles = {"fault": self._fault, "volume": self._volume, **self.extra}
        return self.disk.devices | {number.replace(":", ","): role for role, number in roles.items()}

    def lay(self, table: list[Segment]) -> None:
        """Put a table under the `fault` device."""
        self.mapper.replace("fault", table)

    def mend(self) -> None:
        """Let everything through again."""
        self.lay(linear(self.disk.number, SECTORS))

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
