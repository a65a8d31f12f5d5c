"""Faults of the disk itself, by QEMU's blkdebug: outside of the guest, whose kernel needs nothing for it.

The disk's node is swapped for one that fails, and back, while the guest runs
(docs/devel/blkdebug.rst and the QMP command `blockdev-add` in QEMU's documentation).
"""

import errno
from typing import Any

from fsyncgate.errors import Unsupported
from fsyncgate.machine.argv import DISK_ID
from fsyncgate.machine.monitor import Monitor
from fsyncgate.machine.snapshot import Machine
from fsyncgate.model import Fault
from fsyncgate.storage.disk import UNUSED, Disk
from fsyncgate.storage.place import Place
from fsyncgate.storage.table import SECTOR

_BROKEN = "broken"
_WRITE = "pwritev"
"""The event of every write, in whatever way QEMU comes by it."""
_STEP = 8
"""Sectors from rule to rule: a rule hits every request that covers its sector, and none is below a page."""


class Blkdebug:
    """Swaps the node behind the disk."""

    def __init__(self, machine: Machine) -> None:
        """Use the machine's disk as it is."""
        self.layers = Disk(machine.guest.root)
        self._swap = NodeSwap(machine.qemu.monitor, DISK_ID, node_of(machine.qemu.monitor, DISK_ID))

    def arm(self, fault: Fault, place: Place) -> None:
        """Swap the disk for one that fails as the fault says. Raises Unsupported if it cannot."""
        self._swap.break_as(fault, place)

    def heal(self) -> None:
        """Swap the good disk back."""
        self._swap.mend()


class NodeSwap:
    """QEMU's node behind a disk, which can be swapped for one that fails."""

    def __init__(self, monitor: Monitor, device: str, good: str) -> None:
        """Stand behind the device of that id, whose node is `good`."""
        self._monitor = monitor
        self._device = path_of(device)
        self._good = good

    def break_as(self, fault: Fault, place: Place) -> None:
        """Swap the node for one that fails as the fault says. Raises Unsupported if blkdebug cannot."""
        rules = failing(fault, place)
        if not rules:
            raise Unsupported(f"blkdebug cannot make '{fault.id}' ({fault.operation} of {fault.target}).")
        self._monitor.execute(
            "blockdev-add", driver="blkdebug", node_name=_BROKEN, image=self._good,
            inject_error=rules, **({"set_state": states} if (states := counting(fault)) else {}),
        )  # fmt: skip
        self._put(_BROKEN)
        if any(rule.get("iotype") == "flush" for rule in rules):
            self._write_once()

    def mend(self) -> None:
        """Swap the good node back."""
        self._put(self._good)
        self._monitor.execute("blockdev-del", node_name=_BROKEN)

    def _write_once(self) -> None:
        """Write to sectors that nobody uses: QEMU does not flush a node to which nothing was written.

        A guest's flush would succeed if the guest itself had written nothing since the nodes were swapped
        (bdrv_co_flush() in QEMU's block/io.c). Whether this write fails as well makes no difference.
        """
        start, _ = UNUSED
        said = self._monitor.execute(
            "human-monitor-command", command_line=f'qemu-io {_BROKEN} "write -q {start * SECTOR} {SECTOR}"'
        )
        if said and "write failed" not in said:
            raise Unsupported(f"QEMU lets nobody write beside the guest: {said.strip()}")

    def _put(self, node: str) -> None:
        self._monitor.execute("qom-set", path=self._device, property="drive", value=node)


def path_of(device: str) -> str:
    """Return where QEMU's object tree has the device of that id."""
    return f"/machine/peripheral/{device}"


def node_of(monitor: Monitor, device: str) -> str:
    """Return the name of the node behind a disk."""
    return next(
        str(block["inserted"]["node-name"])
        for block in monitor.execute("query-block")
        if str(block.get("qdev", "")).startswith(path_of(device))
    )


def counting(fault: Fault) -> list[dict[str, Any]]:
    """Return blkdebug's rules that count writes, in states from 1 on, if the fault is of the n-th."""
    return [{"event": _WRITE, "state": state, "new_state": state + 1} for state in range(1, fault.nth + 1)]


def failing(fault: Fault, place: Place) -> list[dict[str, Any]]:
    """Return blkdebug's rules; without a sector a rule hits every request of its kind.

    Empty if blkdebug cannot make such a fault.
    """
    number = getattr(errno, fault.errno or "EIO")
    always: dict[str, Any] = {"event": "none", "errno": number, "once": False}
    match fault.operation, fault.target:
        case "write", "any" if fault.nth:
            return [always | {"event": _WRITE, "state": fault.nth, "iotype": "write", "once": True}]
        case "flush", _:
            return [always | {"iotype": "flush"}]
        case "write", "any":
            return [always | {"iotype": "write"}, always | {"iotype": "flush"}]
        case "write" | "read" as kind, _:
            sectors = (at for start, count in place.sectors for at in range(start, start + count, _STEP))
            return [always | {"iotype": kind, "sector": sector} for sector in sectors]
        case _:
            return []
