"""The fault as a scenario holds it: armed at a place, healed at the end, and written down in order."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from fsyncgate.errors import GuestError, UsageError
from fsyncgate.guest.tracing import KernelEvent, Tracer
from fsyncgate.guest.witness import Witness
from fsyncgate.history import (
    Armed,
    BlockDone,
    BlockQueued,
    DiskBack,
    DiskGone,
    Event,
    Healed,
    LetGo,
    Recorder,
    read,
)
from fsyncgate.inject import control
from fsyncgate.inject.control import FaultControl
from fsyncgate.model import Fault, Persistence
from fsyncgate.storage.disk import Layers
from fsyncgate.storage.place import Place

FAULT = Fault("data-eio", "", "write", "data", "EIO", "dm", Persistence.UNTIL_HEALED, "")
DATA = Place("data", ((266240, 8),))
GOOD = BlockDone(0.0, 4.25, "fault", "WS", 266240, 8, "")
FAILED = replace(GOOD, error="EIO")


class Traced(Tracer):
    """A tracer that says what the test puts into `waiting`."""

    def __init__(self) -> None:
        self.waiting: list[KernelEvent] = []

    def drain(self, at: float) -> list[KernelEvent]:
        del at
        events, self.waiting = self.waiting, []
        return events


class Noted:
    """A mechanism that does nothing; while it heals, what is in `meanwhile` happens."""

    def __init__(self, tracer: Traced) -> None:
        self.done: list[str] = []
        self.meanwhile: list[KernelEvent] = []
        self._tracer = tracer

    @property
    def layers(self) -> Layers:
        raise NotImplementedError

    def arm(self, fault: Fault, place: Place) -> DiskGone | None:
        self.done.append(f"arm {fault.id} at {place.role}")
        return None

    def heal(self) -> DiskBack | None:
        self._tracer.waiting += self.meanwhile
        self.done.append("heal")
        return None


class Pulled(Noted):
    """A mechanism that takes the disk away."""

    def arm(self, fault: Fault, place: Place) -> DiskGone:
        super().arm(fault, place)
        return DiskGone(0.0, "sda")

    def heal(self) -> DiskBack:
        super().heal()
        return DiskBack(0.0, "sdb")


class Bench:
    """A fault control, and the history that comes of it."""

    def __init__(self, history: Path, fault: Fault) -> None:
        self._history = history
        self.recorder = Recorder(history)
        self.kernel = Traced()
        self.mechanism = Noted(self.kernel)
        self.witness = Witness(self.recorder, self.kernel)
        self.fault = FaultControl(fault, self.mechanism, self.witness)

    def happens(self, *events: KernelEvent) -> None:
        self.kernel.waiting += events

    @property
    def story(self) -> list[Event]:
        """The history, with the clock of the host left out."""
        return [replace(event, at=0.0) for event in read(self._history)]


@contextmanager
def bench(folder: Path, persistence: Persistence = Persistence.UNTIL_HEALED) -> Generator[Bench]:
    made = Bench(folder / "history.jsonl", replace(FAULT, persistence=persistence))
    yield made
    made.recorder.close()


ARMED, HEALED = Armed(0.0, "data-eio", "data", [(266240, 8)]), Healed(0.0, "data-eio")


def test_a_fault_is_armed_and_healed_around_what_fails(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        with made.fault.on(DATA):
            made.happens(FAILED)
            assert made.fault.fired == 1
        assert made.mechanism.done == ["arm data-eio at data", "heal"]
        assert made.story == [ARMED, FAILED, HEALED]


def test_what_happened_before_is_written_down_before(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        made.happens(GOOD)
        with made.fault.on(DATA):
            pass
        assert made.story == [GOOD, ARMED, HEALED]


def test_what_still_fails_while_the_disk_is_being_healed_belongs_to_the_fault(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        made.mechanism.meanwhile = [FAILED]
        with made.fault.on(DATA):
            pass
        assert made.story == [ARMED, FAILED, HEALED]


def test_a_fault_that_lasts_once_is_healed_when_the_first_call_that_met_it_has_returned(
    tmp_path: Path,
) -> None:
    with bench(tmp_path, Persistence.ONCE) as made, made.fault.on(DATA):
        made.happens(GOOD)
        made.witness.look()
        assert made.mechanism.done == ["arm data-eio at data"]
        made.happens(FAILED)
        made.witness.look()
        assert made.mechanism.done == ["arm data-eio at data", "heal"]
        made.happens(GOOD)
        made.witness.look()
        assert made.story == [ARMED, GOOD, FAILED, HEALED, GOOD]


def test_a_fault_that_lasts_for_ever_is_not_healed(tmp_path: Path) -> None:
    with bench(tmp_path, Persistence.FOR_EVER) as made:
        with made.fault.on(DATA):
            made.happens(FAILED)
        made.happens(FAILED)
        made.witness.look()
        assert made.mechanism.done == ["arm data-eio at data"]
        assert made.story == [ARMED, FAILED, FAILED]


def test_a_scenario_that_fails_heals_all_the_same(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        with pytest.raises(RuntimeError), made.fault.on(DATA):
            raise RuntimeError
        assert made.mechanism.done == ["arm data-eio at data", "heal"]


def test_to_heal_what_is_not_armed_does_nothing(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        made.fault.heal()
        assert (made.mechanism.done, made.story, made.fault.fired) == ([], [], 0)


def test_each_arming_counts_anew(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        for failures in (2, 1):
            with made.fault.on(DATA):
                made.happens(*[FAILED] * failures)
                assert made.fault.fired == failures


def test_a_fault_is_made_for_one_kind_of_place(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        with pytest.raises(UsageError, match="The fault 'data-eio' hits 'data', not 'journal'"):
            made.fault.arm(Place("journal", ()))
        assert (made.mechanism.done, made.story) == ([], [])


# Faults that let requests wait

HANG = replace(FAULT, id="data-hang", operation="hang", errno="")
QUEUED = BlockQueued(0.0, 3.25, "fault", "WS", 266240, 8)


@contextmanager
def hanging(folder: Path, persistence: Persistence) -> Generator[Bench]:
    made = Bench(folder / "history.jsonl", replace(HANG, persistence=persistence))
    yield made
    made.recorder.close()


def test_what_waited_is_told_apart_from_what_was_let_go(tmp_path: Path) -> None:
    with hanging(tmp_path, Persistence.UNTIL_HEALED) as made:
        made.mechanism.meanwhile = [GOOD]
        with made.fault.on(DATA):
            made.happens(QUEUED)
            made.fault.met()
            assert made.fault.fired == 1
        armed, healed = replace(ARMED, fault="data-hang"), replace(HEALED, fault="data-hang")
        assert made.story == [armed, QUEUED, LetGo(0.0, "data-hang"), GOOD, healed]


def test_who_hangs_for_ever_is_never_let_go(tmp_path: Path) -> None:
    with hanging(tmp_path, Persistence.FOR_EVER) as made:
        with made.fault.on(DATA):
            made.happens(QUEUED)
        made.witness.look()
        assert (made.mechanism.done, made.fault.fired) == (["arm data-hang at data"], 1)
        assert made.story == [replace(ARMED, fault="data-hang"), QUEUED]


def test_to_wait_for_a_request_that_never_comes_ends_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "PATIENCE", 0.0)
    with hanging(tmp_path, Persistence.UNTIL_HEALED) as made:
        made.fault.arm(DATA)
        with pytest.raises(GuestError, match="Nothing met the fault 'data-hang'"):
            made.fault.met()


def test_a_disk_that_goes_and_comes_back_is_told_of_where_it_happened(tmp_path: Path) -> None:
    removal = Fault("removal", "", "remove", "any", "", "unplug-scsi", Persistence.UNTIL_HEALED, "")
    place = Place("any", ((0, 1048576),))
    refused = BlockDone(0.0, 4.3, "removed", "W", 266240, 8, "ENODEV")
    with bench(tmp_path) as on:
        fault = FaultControl(removal, Pulled(on.kernel), on.witness)
        with fault.on(place):
            assert fault.fired == 1
            on.happens(refused)
            on.witness.look()
    armed = Armed(0.0, "removal", "any", [(0, 1048576)])
    gone, back = DiskGone(0.0, "sda"), DiskBack(0.0, "sdb")
    assert on.story == [armed, gone, refused, back, Healed(0.0, "removal")]
