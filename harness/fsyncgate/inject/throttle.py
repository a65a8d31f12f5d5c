"""A disk that hangs, made outside of the guest by QEMU's throttle filter.

The disk's node is swapped for one that lets a byte a second through, after a first read that is too long for
it: so everything that comes after that waits for hours. When the good node comes back, what waits goes on
(docs/throttle.txt in QEMU's sources).
"""

from fsyncgate.errors import MachineLost, Unsupported
from fsyncgate.inject.blkdebug import node_of, path_of
from fsyncgate.machine.argv import DISK_ID
from fsyncgate.machine.snapshot import Machine
from fsyncgate.model import Fault
from fsyncgate.storage.disk import Disk
from fsyncgate.storage.place import Place

_GROUP, _NODE = "hours", "hanging"
_FIRST = 65536
"""Bytes of the read that everybody else has to wait for, a byte a second."""


class Throttle:
    """Swaps the node behind the disk."""

    def __init__(self, machine: Machine) -> None:
        """Use the machine's disk as it is."""
        self.layers = Disk(machine.guest.root)
        self._monitor = machine.qemu.monitor
        self._good = node_of(self._monitor, DISK_ID)

    def arm(self, fault: Fault, place: Place) -> None:
        """Swap the disk for one that hangs. Raises Unsupported for any other fault."""
        del place  # a throttle knows no sectors
        if (fault.operation, fault.target) != ("hang", "any"):
            raise Unsupported(f"A throttle cannot make '{fault.id}' ({fault.operation} of {fault.target}).")
        self._monitor.execute("object-add", qom_type="throttle-group", id=_GROUP, limits={"bps-total": 1})
        self._monitor.execute(
            "blockdev-add", driver="throttle", node_name=_NODE, throttle_group=_GROUP, file=self._good
        )
        said = self._monitor.execute(
            "human-monitor-command", command_line=f'qemu-io {_NODE} "read 0 {_FIRST}"'
        )
        if said:
            raise MachineLost(f"QEMU could not fill the throttle: {said.strip()}")
        self._put(_NODE)
        self.layers.hangs = True

    def heal(self) -> None:
        """Swap the good disk back: what waits goes on."""
        self._put(self._good)
        self._monitor.execute("blockdev-del", node_name=_NODE)
        self._monitor.execute("object-del", id=_GROUP)
        self.layers.hangs = False

    def _put(self, node: str) -> None:
        self._monitor.execute("qom-set", path=path_of(DISK_ID), property="drive", value=node)
