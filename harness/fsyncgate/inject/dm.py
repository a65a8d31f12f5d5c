"""Faults by device-mapper, in the guest: `error`, `delay`, and `flakey` with error_writes or drop_writes."""

from fsyncgate.errors import Unsupported
from fsyncgate.machine.snapshot import Machine
from fsyncgate.model import Fault
from fsyncgate.storage.disk import SECTORS, UNUSED
from fsyncgate.storage.place import Place
from fsyncgate.storage.stack import Stack
from fsyncgate.storage.table import HANG_MS, SLOW_MS, Segment, carved, failing, flaky, waiting

CATCHER = "catcher"
"""The device that stands behind the volume's unused sectors and fails the flushes it is handed."""


class DeviceMapper:
    """Swaps the table of the device below the volume."""

    def __init__(self, machine: Machine) -> None:
        """Build the devices in the guest. Raises Unsupported if its kernel has no device-mapper."""
        self.layers = self._stack = Stack(machine.guest.root)

    def arm(self, fault: Fault, place: Place) -> None:
        """Lay the table that fails as the fault says. Raises Unsupported without the target."""
        disk = self._stack.disk.number
        ranges = list(place.sectors)
        match fault.operation, fault.target:
            case "write", "any":
                self._need("flakey")
                self._stack.lay(flaky(disk, SECTORS, ranges, "error_writes"))
            case "write", _:
                self._need("error")
                self._stack.lay(failing(disk, SECTORS, ranges))
            case "drop", _:
                self._need("flakey")
                self._stack.lay(flaky(disk, SECTORS, ranges, "drop_writes"))
            case ("hang" | "slow") as operation, target:
                self._need("delay")
                time = HANG_MS if operation == "hang" else SLOW_MS
                self._stack.lay(waiting(disk, SECTORS, ranges, time, flush=time if target == "any" else 0))
            case "flush", _:
                self._need("flakey")
                self._stack.lay(self._flush_failing(disk))
            case _:
                raise Unsupported(
                    f"device-mapper cannot make '{fault.id}' ({fault.operation} of {fault.target})."
                )

    def heal(self) -> None:
        """Let everything through again."""
        self._stack.mend()
        if CATCHER in self._stack.extra:
            self._stack.take_away(CATCHER)

    def _flush_failing(self, disk: str) -> list[Segment]:
        """Return a table whose every data sector is good and whose flushes all fail.

        device-mapper hands a flush to each device of a table. The unused sectors lie on a device of
        their own whose writes, flushes included, fail: so the flush that fails has a completion of
        its own, for the tracepoint to show.
        """
        start, length = UNUSED
        catcher = self._stack.add(
            CATCHER, [Segment(0, length, "flakey", f"{disk} {start} 0 1 1 error_writes")]
        )
        return carved(
            disk, SECTORS, [UNUSED], lambda start, length: Segment(start, length, "linear", f"{catcher} 0")
        )

    def _need(self, target: str) -> None:
        if target not in self._stack.targets:
            raise Unsupported(f"This kernel has no device-mapper target '{target}'.")
