"""A thin pool without space: it was promised more than there is, and now somebody wants it."""

from fsyncgate.errors import Unsupported
from fsyncgate.machine.snapshot import Machine
from fsyncgate.model import Fault
from fsyncgate.storage.place import Place
from fsyncgate.storage.thinpool import ThinStack


class ThinPool:
    """Fills the pool that the volume gets its blocks from, and lets it grow."""

    def __init__(self, machine: Machine) -> None:
        """Build the pool in the guest. Raises Unsupported if its kernel has no thin provisioning."""
        self.layers = self._stack = ThinStack(machine.guest.root)
        self._queues = False

    def arm(self, fault: Fault, place: Place) -> None:
        """Take the pool's last block. Raises Unsupported for a fault that is no lack of space."""
        if place.role != "space":
            raise Unsupported(f"A thin pool cannot make '{fault.id}' ({fault.operation} of {fault.target}).")
        self._queues = not fault.errno
        self._stack.fill(error=not self._queues)

    def heal(self) -> None:
        """Let the pool grow; if it makes wait, not before somebody does."""
        if self._queues:
            self._stack.wait_until_asked()
        self._stack.grow()
