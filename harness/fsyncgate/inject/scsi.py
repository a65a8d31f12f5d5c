"""Faults of a SCSI disk, by QEMU's blkdebug: the guest is told not only that a request failed, but why.

When the case begins, its image is taken from the machine's own disk and put into a SCSI disk that is plugged
in. QEMU turns the errno of a failed request into a SCSI status with sense data (scsi_sense_from_errno() in
its scsi/utils.c): medium error, space allocation failed, target failure, reservation conflict. The guest's
SCSI layer turns that into a status of the block layer (scsi_result_to_blk_status()), which has an errno.
"""

import time

from fsyncgate.errors import GuestError, Unsupported
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.constants import AT_FDCWD, O_RDONLY
from fsyncgate.guest.files import names, read_file
from fsyncgate.inject.blkdebug import NodeSwap, node_of, path_of
from fsyncgate.machine.argv import BUS, DISK, DISK_ID
from fsyncgate.machine.monitor import Monitor
from fsyncgate.machine.snapshot import Machine
from fsyncgate.model import Fault
from fsyncgate.storage.disk import Disk
from fsyncgate.storage.place import Place

SERIAL = "fsyncgate-scsi"
PATIENCE = 30.0
"""Seconds for the guest to find a disk that was plugged in."""
_DEVICE, _IMAGE, _NOTHING = "scsi-disk", "scsi-image", "nothing"


class ScsiDisk:
    """Plugs in a SCSI disk, and swaps the node behind it."""

    def __init__(self, machine: Machine) -> None:
        """Plug it in with the case's image. Raises Unsupported if the guest has no driver for it."""
        actor, monitor = machine.guest.root, machine.qemu.monitor
        for driver in ("virtio/drivers/virtio_scsi", "scsi/drivers/sd"):
            _need(actor, driver)
        _take_image(monitor)
        monitor.execute(
            "device_add", driver="scsi-hd", id=_DEVICE, bus=f"{BUS}.0", drive=_IMAGE, serial=SERIAL,
            write_cache="on", share_rw=True, werror="report", rerror="report",
        )  # fmt: skip
        self.layers = Disk(actor, _found(actor))
        self._swap = NodeSwap(monitor, _DEVICE, _IMAGE)

    def arm(self, fault: Fault, place: Place) -> None:
        """Let the disk fail as the fault says. Raises Unsupported if it cannot."""
        self._swap.break_as(fault, place)

    def heal(self) -> None:
        """Make the disk good again."""
        self._swap.mend()


def _take_image(monitor: Monitor) -> None:
    """Take the image out of the machine's own disk, into a node that belongs to no device."""
    image = node_of(monitor, DISK_ID)
    monitor.execute("blockdev-add", driver="blkdebug", node_name=_IMAGE, image=image)
    monitor.execute("blockdev-add", driver="null-co", node_name=_NOTHING, size=DISK, read_zeroes=True)
    monitor.execute("qom-set", path=path_of(DISK_ID), property="drive", value=_NOTHING)


def _found(actor: Actor) -> str:
    """Wait until the guest can open the disk, and return its name. Raises GuestError if it never can."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for name in names(actor, "/sys/block"):
            if name.startswith("sd") and SERIAL in _serial(actor, name):
                opened = actor.call("openat", AT_FDCWD, f"/dev/{name}", O_RDONLY, 0)
                if opened.ok:
                    actor.call("close", opened.value)
                    return name
    raise GuestError(f"The guest has not found the SCSI disk within {PATIENCE:.0f} s.")


def _serial(actor: Actor, name: str) -> str:
    """Return the page of a disk that holds its serial; empty if it is not there yet."""
    try:
        return read_file(actor, f"/sys/block/{name}/device/vpd_pg80")
    except GuestError:
        return ""


def _need(actor: Actor, driver: str) -> None:
    opened = actor.call("openat", AT_FDCWD, f"/sys/bus/{driver}", O_RDONLY, 0)
    if not opened.ok:
        raise Unsupported(f"This kernel has no driver '{driver.rpartition('/')[2]}'.")
    actor.call("close", opened.value)
