"""A disk that is taken away while its file system is mounted, and put back with all that had reached it.

The case's image is taken from the machine's own disk and put into one that is plugged in when the case
begins (QMP commands `device_add` and `device_del`). The image is a node of its own in QEMU, so it outlives
the device, and its file has no name on the host, so nothing outlives QEMU.

Requests can be held on their way to the image, by a throttle that lets a byte a second through and has let so
many through already that it owes hours. QEMU lets them go when it takes the device away, and tells the guest
that they were aborted (docs/throttle.txt; scsi_device_purge_requests() in hw/scsi/scsi-bus.c).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from fsyncgate.errors import GuestError, Unsupported
from fsyncgate.guest.constants import AT_FDCWD, O_RDONLY
from fsyncgate.guest.files import names, read_file, write_file
from fsyncgate.history import DiskBack, DiskGone
from fsyncgate.inject.blkdebug import node_of, path_of
from fsyncgate.machine.argv import BUS, DISK, DISK_ID, SLOTS
from fsyncgate.machine.snapshot import Machine
from fsyncgate.model import Fault
from fsyncgate.storage.disk import Disk
from fsyncgate.storage.place import Place

SERIAL = "fsyncgate-plugged"
PATIENCE = 30.0
"""Seconds for the guest to see that a disk came or went."""
_IMAGE, _NOTHING, _BRAKE = "plugged-image", "nothing", "brake"
_USB = "usb"
_OWED = "read 0 64k"
_SETTLE = "/sys/module/usb_storage/parameters/delay_use"
"""Seconds that usb-storage waits before it asks a new stick who it is."""


@dataclass(frozen=True)
class Way:
    """How a disk is plugged in, and found in the guest."""

    driver: str
    """QEMU's device."""
    bus: str
    serial: str
    """The file in the disk's folder in sysfs that has its serial."""
    needs: tuple[str, ...]
    """The drivers of the guest, as folders below /sys/bus."""
    torn: bool = False
    """QEMU takes the disk away and says so afterwards; else the guest is asked, and has to let go of it."""
    deleted: bool = False
    """The guest deletes the disk by itself, and it is unplugged later."""


_SCSI = Way("scsi-hd", f"{BUS}.0", "device/vpd_pg80", ("virtio/drivers/virtio_scsi", "scsi/drivers/sd"))
WAYS = {
    "scsi-delete": replace(_SCSI, deleted=True),
    "unplug-scsi": replace(_SCSI, torn=True),
    "unplug-virtio": Way("virtio-blk-pci", SLOTS[0], "serial", ("virtio/drivers/virtio_blk",)),
    "unplug-usb": Way(
        "usb-storage",
        f"{_USB}.0",
        "device/../../../../serial",
        ("pci/drivers/xhci_hcd", "usb/drivers/usb-storage", "scsi/drivers/sd"),
        torn=True,
    ),
}
"""By the names of the mechanisms."""


class PluggedDisk:
    """The layers of a bare disk that may be another one after a removal."""

    def __init__(self, machine: Machine, way: Way) -> None:
        """Know of the second disk; the first is yet to come."""
        self._actor = machine.guest.root
        self._monitor = machine.qemu.monitor
        self._way = way
        self.second_path = Disk(self._actor).second_path
        self.targets: dict[str, str] = {}
        self.devices: dict[str, str] = {}
        self.name = self.disk_path = self.volume_path = ""
        self.hangs = False

    def came(self, name: str) -> None:
        """Let `name` be the disk from now on."""
        self.name = name
        self.disk_path = self.volume_path = f"/dev/{name}"
        number = read_file(self._actor, f"/sys/block/{name}/dev").strip()
        self.devices[number.replace(":", ",")] = "disk"

    def goes(self) -> None:
        """Let the disk be one that is taken away, under which its requests go into the history."""
        self.devices = dict.fromkeys(self.devices, "removed")

    def hold(self) -> None:
        """Let every request wait on its way to the image.

        Raises Unsupported where the guest would wait for the request before it lets go of the disk.
        """
        if not self._way.torn:
            raise Unsupported(
                f"Requests to a disk that the guest lets go of ('{self._way.driver}') cannot be held."
            )
        self._limit(1)
        self._monitor.execute("human-monitor-command", command_line=f'qemu-io {_IMAGE} "{_OWED}"')

    def release(self) -> None:
        """Let the requests go on that waited: to stop a guest is to wait for what it has under way."""
        self.let_go()
        self._monitor.execute("stop")
        self._monitor.execute("cont")

    def let_go(self) -> None:
        """Hold nothing any more, when nothing waits: QEMU itself reads the image of a new disk."""
        self._limit(0)

    def _limit(self, rate: int) -> None:
        """Let so many bytes a second through; 0: as many as come."""
        limits = {"bps-total": rate}
        self._monitor.execute("qom-set", path=f"/objects/{_BRAKE}", property="limits", value=limits)


class Removal:
    """Takes the disk away and puts it back."""

    def __init__(self, machine: Machine, way: Way) -> None:
        """Plug in a disk with the case's image. Raises Unsupported if the guest has no driver for it."""
        self._way = way
        self._actor = machine.guest.root
        self._monitor = machine.qemu.monitor
        for driver in way.needs:
            self._need(driver)
        self.layers = PluggedDisk(machine, way)
        self._take_image()
        if way.bus.startswith(_USB):
            write_file(self._actor, _SETTLE, "0", missing_ok=True)
            self._monitor.execute("device_add", driver="qemu-xhci", id=_USB, bus=SLOTS[1])
        self._plugged = 0
        self._plug()

    def arm(self, fault: Fault, place: Place) -> DiskGone:  # noqa: ARG002
        """Take the disk away and wait until the guest has none any more."""
        self.layers.goes()
        name = self.layers.name
        if self._way.deleted:
            write_file(self._actor, f"/sys/block/{name}/device/delete", "1")
        else:
            self._monitor.unplug(self._id)
        self.layers.let_go()
        if not self._seen(lambda: name not in names(self._actor, "/sys/block")):
            raise GuestError(f"The guest has not noticed within {PATIENCE:.0f} s that '{name}' is gone.")
        return DiskGone(0.0, name)

    def heal(self) -> DiskBack:
        """Put a disk with the same image in, and wait until the guest can open it."""
        if self._way.deleted:
            self._monitor.unplug(self._id)
        self._plug()
        return DiskBack(0.0, self.layers.name)

    @property
    def _id(self) -> str:
        """QEMU's name of the device: a new one each time."""
        return f"plugged-{self._plugged}"

    def _take_image(self) -> None:
        """Take the image out of the machine's own disk, into a node that belongs to no device."""
        image = node_of(self._monitor, DISK_ID)
        self._monitor.execute("object-add", qom_type="throttle-group", id=_BRAKE)
        self._monitor.execute(
            "blockdev-add", driver="throttle", node_name=_IMAGE, throttle_group=_BRAKE, file=image
        )
        nothing = {"driver": "null-co", "size": DISK, "read-zeroes": True}
        self._monitor.execute("blockdev-add", node_name=_NOTHING, **nothing)
        self._monitor.execute("qom-set", path=path_of(DISK_ID), property="drive", value=_NOTHING)

    def _plug(self) -> None:
        self._plugged += 1
        way = self._way
        on_error = {"werror": "report", "rerror": "report"}
        self._monitor.execute(
            "device_add", driver=way.driver, id=self._id, bus=way.bus, drive=_IMAGE, serial=SERIAL,
            write_cache="on", **on_error,
        )  # fmt: skip
        if not self._seen(self._is_there):
            raise Unsupported(
                f"This kernel has not noticed within {PATIENCE:.0f} s that a disk was plugged in."
            )

    def _is_there(self) -> bool:
        for name in names(self._actor, "/sys/block"):
            if SERIAL in self._read(f"/sys/block/{name}/{self._way.serial}"):
                opened = self._actor.call("openat", AT_FDCWD, f"/dev/{name}", O_RDONLY, 0)
                if opened.ok:
                    self._actor.call("close", opened.value)
                    self.layers.came(name)
                    return True
        return False

    def _read(self, path: str) -> str:
        """Return the text of a file, which may not be there, or not yet."""
        try:
            return read_file(self._actor, path)
        except GuestError:
            return ""

    def _need(self, driver: str) -> None:
        opened = self._actor.call("openat", AT_FDCWD, f"/sys/bus/{driver}", O_RDONLY, 0)
        if not opened.ok:
            raise Unsupported(f"This kernel has no driver '{driver.rpartition('/')[2]}'.")
        self._actor.call("close", opened.value)

    def _seen(self, look: Callable[[], bool]) -> bool:
        """Look until there is something to see, or patience ends."""
        deadline = time.monotonic() + PATIENCE
        while not (seen := look()) and time.monotonic() < deadline:
            pass
        return seen


REMOVALS: dict[str, Callable[[Machine], Removal]] = {
    name: partial(Removal, way=way) for name, way in WAYS.items()
}
