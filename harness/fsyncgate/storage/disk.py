"""The disk that is broken, as the guest has it."""

from typing import Protocol

from fsyncgate.errors import GuestError, Unsupported
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.files import names, read_file
from fsyncgate.machine.argv import DISK, DISK_SERIAL, SECOND_SERIAL, SPARE
from fsyncgate.storage.made import unmake
from fsyncgate.storage.table import SECTOR, Range

SECTORS = DISK // SECTOR
UNUSED: Range = ((DISK - SPARE) // SECTOR, SPARE // SECTOR)
"""Sectors behind the end of every file system: a place to catch flushes without touching data."""


class Layers(Protocol):
    """The block devices from the disk up to what is mounted."""

    disk_path: str
    """The disk itself, below every fault that is made in the guest."""
    volume_path: str
    """What is mounted."""
    second_path: str
    """The second disk, which is never broken."""
    hangs: bool
    """Whether the disk itself keeps requests without an answer: a fault made outside of the guest."""

    @property
    def devices(self) -> dict[str, str]:
        """Return `major,minor`, as the tracepoints write it, with the device's role."""
        ...

    @property
    def targets(self) -> dict[str, str]:
        """Return the versions of the device-mapper targets, where there is one."""
        ...

    def hold(self) -> None:
        """Let every request wait below the volume until `release`, or until a fault is armed."""
        ...

    def release(self) -> None:
        """Let the requests go on that waited."""
        ...


class Disk:
    """The disk with nothing upon it: its own layers, for faults that are made outside of the guest."""

    def __init__(self, actor: Actor, name: str = "", *, below: bool = False) -> None:
        """Find it by its serial, as names shuffle between boots, or take the disk of that name.

        What a saved machine has upon it is removed, unless the disk is wanted as what lies `below` that.
        Raises GuestError without the disk.
        """
        if not (name or below):
            unmake(actor)
        name, self.number = (name, _number(actor, name)) if name else _found(actor, DISK_SERIAL)
        self.second_path = f"/dev/{_found(actor, SECOND_SERIAL)[0]}"
        self.disk_path = self.volume_path = f"/dev/{name}"
        self.targets: dict[str, str] = {}
        self.hangs = False

    @property
    def devices(self) -> dict[str, str]:
        """Return the disk alone."""
        return {self.number.replace(":", ","): "disk"}

    def hold(self) -> None:
        """Raise Unsupported: only device-mapper can hold requests."""
        raise Unsupported("Requests to a bare disk cannot be held.")

    def release(self) -> None:
        """Do nothing: nothing is held."""


def _found(actor: Actor, serial: str) -> tuple[str, str]:
    """Return the name and the number of a disk; they stay while the guest runs, saved and restored or not."""
    notes = actor.guest.notes
    if serial not in notes:
        notes[serial] = f"{(name := _name(actor, serial))} {_number(actor, name)}"
    name, _, number = notes[serial].partition(" ")
    return name, number


def _name(actor: Actor, serial: str) -> str:
    for name in names(actor, "/sys/block"):
        if name.startswith("vd") and read_file(actor, f"/sys/block/{name}/serial") == serial:
            return name
    raise GuestError(f"The guest has no disk with the serial '{serial}'.")


def _number(actor: Actor, name: str) -> str:
    """Return `major:minor`, for tables."""
    return read_file(actor, f"/sys/block/{name}/dev").strip()
