"""The fault of a case, as a scenario holds it: armed at a place, healed, and how often it fired."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from msgspec.structs import replace

from fsyncgate.check.firing import fired
from fsyncgate.check.waiting import Traced, makes_wait
from fsyncgate.errors import GuestError, MachineLost, UsageError
from fsyncgate.guest.tracing import KernelEvent
from fsyncgate.guest.witness import Witness
from fsyncgate.history import Armed, BlockDone, BlockQueued, DiskBack, DiskGone, Healed, LetGo
from fsyncgate.model import Fault, Persistence
from fsyncgate.storage.disk import Layers
from fsyncgate.storage.place import Place

PATIENCE = 30.0
"""Seconds to wait for a request to come."""


class Mechanism(Protocol):
    """What a file of `inject/` provides: made from a machine, it knows the block devices of its own."""

    @property
    def layers(self) -> Layers:
        """The block devices from the disk up to what is mounted."""
        ...

    def arm(self, fault: Fault, place: Place) -> DiskGone | None:
        """Make the fault; return what the guest shows of it at once. Raises Unsupported if it cannot."""
        ...

    def heal(self) -> DiskBack | None:
        """Make the disk good again; return what the guest shows of that."""
        ...


class FaultControl:
    """The fixture `fault`."""

    def __init__(self, fault: Fault, mechanism: Mechanism, witness: Witness) -> None:
        """Nothing is armed yet."""
        self.fault = fault
        self._mechanism = mechanism
        self._witness = witness
        self._armed: Armed | None = None
        self._seen: list[Traced] = []
        witness.listeners.append(self._looked)

    @contextmanager
    def on(self, place: Place) -> Generator[None]:
        """Arm the fault at a place; heal it at the end, unless it lasts for ever.

        A fault that lasts `once` is healed as soon as the first call that met it has returned.
        """
        self.arm(place)
        try:
            yield
        except MachineLost:
            self._armed = None  # nobody is left who could be healed, or waited for
            raise
        finally:
            if self.fault.persistence is not Persistence.FOR_EVER:
                self.heal()

    def arm(self, place: Place) -> None:
        """Arm the fault. Raises UsageError if the fault is made for another kind of place."""
        if place.role != self.fault.target:
            raise UsageError(f"The fault '{self.fault.id}' hits '{self.fault.target}', not '{place.role}'.")
        self._witness.look()
        self._seen.clear()
        gone = self._mechanism.arm(self.fault, place)
        self._armed = Armed(self._witness.now(), self.fault.id, place.role, list(place.sectors))
        self._witness.write(self._armed)
        if gone is not None:
            self._seen.append(gone)
            self._witness.write(replace(gone, at=self._witness.now()))

    def heal(self) -> None:
        """Make the disk good again; does nothing if it is."""
        armed, self._armed = self._armed, None
        if armed is None:
            return
        self._witness.look()
        if makes_wait(self.fault):
            self._witness.write(LetGo(self._witness.now(), armed.fault))
        back = self._mechanism.heal()
        self._witness.look()  # what failed while the disk was being healed is the fault's as well
        if back is not None:
            self._witness.write(replace(back, at=self._witness.now()))
        self._witness.write(Healed(self._witness.now(), armed.fault))

    def met(self, *, times: int = 1) -> None:
        """Wait until the fault has fired: for one that hangs, until a request waits. Raises GuestError.

        With `times` until it has fired that often.
        """
        deadline = time.monotonic() + PATIENCE
        while self.fired < times:
            if time.monotonic() > deadline:
                raise GuestError(f"Nothing met the fault '{self.fault.id}' within {PATIENCE:.0f} s.")

    @property
    def fired(self) -> int:
        """How often the fault has fired since it was armed."""
        if self._armed is None:
            return 0
        self._witness.look()
        return fired(self.fault, self._armed, self._seen)

    def _looked(self, events: list[KernelEvent]) -> None:
        """Heal what lasts `once` when it has fired."""
        if self._armed is None:
            return
        self._seen += [event for event in events if isinstance(event, BlockDone | BlockQueued)]
        if self.fault.persistence is Persistence.ONCE and fired(self.fault, self._armed, self._seen):
            self.heal()
