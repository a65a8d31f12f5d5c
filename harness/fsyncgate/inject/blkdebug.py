"""Faults of the disk itself, by QEMU's blkdebug: outside of the guest, whose kernel needs nothing for it.

The disk's node is swapped for one that fails, and back, while the guest runs
(docs/devel/blkdebug.rst and the QMP command `blockdev-add` in QEMU's documentation).
"""

from typing import Any

from fsyncgate.errors import Unsupported
from fsyncgate.machine.argv import DISK_ID
from fsyncgate.machine.snapshot import Machine
from fsyncgate.model import Fault
from fsyncgate.storage.disk import Disk
from fsyncgate.storage.place import Place

_BROKEN = "broken"
_DEVICE = f"/machine/peripheral/{DISK_ID}"
_STEP = 8
"""Sectors from rule to rule: a rule hits every request that covers its sector, and none is below a page."""
_EIO = 5


class Blkdebug:
    """Swaps the node behind the disk."""

    def __init__(self, machine: Machine) -> None:
        """Use the machine's disk as it is."""
        self.layers = Disk(machine.guest.root)
        self._monitor = machine.qemu.monitor
        blocks = self._monitor.execute("query-block")
        self._good: str = next(
            block["inserted"]["node-name"]
            for block in blocks
            if str(block.get("qdev", "")).startswith(_DEVICE)
        )

    def arm(self, fault: Fault, place: Place) -> None:
        """Swap the disk for one that fails as the fault says. Raises Unsupported if it cannot."""
        rules = _rules(fault, place)
        if not rules:
            raise Unsupported(f"blkdebug cannot make '{fault.id}' ({fault.operation} of {fault.target}).")
        self._monitor.execute(
            "blockdev-add", driver="blkdebug", node_name=_BROKEN, image=self._good, inject_error=rules
        )
        self._put(_BROKEN)

    def heal(self) -> None:
        """Swap the good disk back."""
        self._put(self._good)
        self._monitor.execute("blockdev-del", node_name=_BROKEN)

    def _put(self, node: str) -> None:
        self._monitor.execute("qom-set", path=_DEVICE, property="drive", value=node)


def _rules(fault: Fault, place: Place) -> list[dict[str, Any]]:
    """Return blkdebug's rules; without a sector a rule hits every request of its kind."""
    always: dict[str, Any] = {"event": "none", "errno": _EIO, "once": False}
    match fault.operation, fault.target:
        case "flush", _:
            return [always | {"iotype": "flush"}]
        case "write", "any":
            return [always | {"iotype": "write"}, always | {"iotype": "flush"}]
        case "write", _:
            sectors = (at for start, count in place.sectors for at in range(start, start + count, _STEP))
            return [always | {"iotype": "write", "sector": sector} for sector in sectors]
        case _:
            return []
