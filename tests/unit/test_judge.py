"""From a history to a verdict. Every history here is written out, so that it reads as the story it tells."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fsyncgate.check.judge import differences, fitting, judge, observations
from fsyncgate.history import (
    Armed,
    Began,
    BlockDone,
    Called,
    ConsoleSaid,
    Ended,
    Event,
    Healed,
    Observed,
    Panicked,
    TraceLost,
)
from fsyncgate.model import Expectation, Fault, Judgement, KernelRecord, Persistence, Scenario, Verdict

FAULT = Fault("data-eio", "", "write", "data", "EIO", "dm", Persistence.UNTIL_HEALED, "")
NO_FAULT = Fault("none", "", "none", "nowhere", "", "dm", Persistence.UNTIL_HEALED, "")

ROW = Expectation(
    {"first": "EIO", "second": 0},
    "the first fsync waits for the write",
    safe=True,
    commit='5660e13d2fd6 ("fs: new infrastructure") (in v4.13)',
)
OLD_ROW = Expectation({"first": 0, "second": "EIO"}, "it ends with the journal", safe=False, lesson="a lie")


def scenario(*rows: Expectation) -> Scenario:
    return Scenario("reporting/first_fsync", "Does it say so?", ("data-eio", "none"), (), rows)


def began(version: str = "6.1.176") -> Began:
    kernel = KernelRecord("linux-6.1", "6.1.0-50-cloud-amd64", version, "linux-image", "0" * 64)
    return Began(0.0, "linux-6.1/xfs/data-eio/reporting/first_fsync", kernel, {"error": "1.5.0"})


BEGAN = began()
ARMED = Armed(0.3, "data-eio", "data", [(266240, 8)])
FAILED = BlockDone(0.4, 4.25, "fault", "WS", 266240, 8, "EIO")
FAILED_ABOVE = BlockDone(0.4, 4.26, "volume", "WS", 266240, 8, "EIO")
FSYNC = Called(0.5, "A", "fsync", {"file": "/mnt/f", "fd": 3}, "EIO", 0.002)
OBSERVED = Observed(0.6, {"first": "EIO", "second": 0})
HEALED = Healed(0.7, "data-eio")
ENDED = Ended(0.9)

STORY: tuple[Event, ...] = (BEGAN, ARMED, FAILED, FAILED_ABOVE, FSYNC, OBSERVED, HEALED, ENDED)
"""A file's data cannot be written, once; the first fsync says so."""


def verdict(*events: Event, rows: tuple[Expectation, ...] = (ROW,), fault: Fault = FAULT) -> Verdict:
    return judge(events, scenario(*rows), fault, "xfs")


def reason(*events: Event, rows: tuple[Expectation, ...] = (ROW,), fault: Fault = FAULT) -> str:
    """Return why nothing can be learnt from a history."""
    found = verdict(*events, rows=rows, fault=fault)
    assert found.verdict is Judgement.UNKNOWN
    assert found.safe is None
    assert found.because == ""
    return found.reason


def without(*left_out: Event) -> tuple[Event, ...]:
    return tuple(event for event in STORY if event not in left_out)


def with_(event: Event, *, before: Event) -> tuple[Event, ...]:
    at = STORY.index(before)
    return (*STORY[:at], event, *STORY[at:])


# What is known


def test_a_history_as_expected_conforms() -> None:
    assert verdict(*STORY) == Verdict(
        Judgement.CONFORMS,
        observed={"first": "EIO", "second": 0},
        expected={"first": "EIO", "second": 0},
        fired=1,
        safe=True,
        because='the first fsync waits for the write [5660e13d2fd6 ("fs: new infrastructure") (in v4.13)]',
    )


def test_a_kernel_can_conform_and_be_unsafe_and_then_there_is_a_lesson() -> None:
    seen = Observed(0.6, {"first": 0, "second": "EIO"})
    found = verdict(BEGAN, ARMED, FAILED, seen, ENDED, rows=(OLD_ROW,))
    assert (found.verdict, found.safe, found.lesson) == (Judgement.CONFORMS, False, "a lie")
    assert found.because == "it ends with the journal"


def test_a_history_that_is_not_as_expected_deviates_and_is_neither_safe_nor_unsafe() -> None:
    found = verdict(BEGAN, ARMED, FAILED, Observed(0.6, {"first": 0, "second": 0}), ENDED)
    assert (found.verdict, found.safe, found.fired) == (Judgement.DEVIATES, None, 1)
    assert found.reason == "'first' is 0, expected 'EIO'"
    assert found.because.startswith("the first fsync waits for the write")


def test_everything_that_differs_is_said() -> None:
    assert differences({"a": 0, "more": 1}, {"a": "EIO", "b": True}) == [
        "'a' is 0, expected 'EIO'",
        "'b' is 'missing', expected True",
        "'more' is 1, expected 'nothing of that name'",
    ]


def test_what_the_scenario_states_bit_by_bit_is_one_observation() -> None:
    events: list[Event] = [Observed(0.1, {"first": "EIO"}), FSYNC, Observed(0.2, {"second": 0})]
    assert observations(events) == {"first": "EIO", "second": 0}


@pytest.mark.parametrize(
    "seen",
    [{"first": "EIO"}, {"first": "EIO", "second": 0, "third": 0}, {}],
    ids=["one less", "one more", "none"],
)
def test_an_observation_that_is_missing_or_too_many_deviates(seen: dict[str, object]) -> None:
    assert verdict(BEGAN, ARMED, FAILED, Observed(0.6, seen), ENDED).verdict is Judgement.DEVIATES


def test_the_same_history_gives_the_same_verdict_after_it_was_stored() -> None:
    stored = [msgspec.json.decode(msgspec.json.encode(event), type=Event) for event in STORY]
    assert judge(stored, scenario(ROW), FAULT, "xfs") == verdict(*STORY)


# Which expectation speaks of a case


def test_rows_are_chosen_by_version_file_system_and_fault() -> None:
    rows = (
        replace(ROW, kernel=(">=6.4",)),
        replace(ROW, kernel=("<6.4",), filesystem=("ext4-journal",)),
        replace(ROW, kernel=("<6.4",), filesystem=("xfs",), fault=("data-eio-once",)),
        replace(ROW, kernel=("<6.4",), filesystem=("xfs",), fault=("data-eio",)),
    )
    asked = scenario(*rows)
    assert fitting(asked, "6.12.3", "xfs", "data-eio") == [rows[0]]
    assert fitting(asked, "6.1.176", "ext4-journal", "data-eio") == [rows[1]]
    assert fitting(asked, "6.1.176", "xfs", "data-eio-once") == [rows[2]]
    assert fitting(asked, "6.1.176", "xfs", "data-eio") == [rows[3]]
    assert fitting(asked, "6.1.176", "btrfs", "data-eio") == []


def test_the_row_of_the_kernel_that_ran_counts() -> None:
    rows = (replace(ROW, kernel=(">=6.4",)), replace(OLD_ROW, kernel=("<6.4",)))
    seen = Observed(0.6, {"first": 0, "second": "EIO"})
    assert verdict(began("6.1.176"), ARMED, FAILED, seen, ENDED, rows=rows).verdict is Judgement.CONFORMS
    assert verdict(began("6.4"), ARMED, FAILED, seen, ENDED, rows=rows).verdict is Judgement.DEVIATES


def test_without_a_row_nothing_is_known_but_what_was_seen_is_told() -> None:
    found = verdict(*STORY, rows=(replace(ROW, kernel=(">=6.12",)),))
    assert (found.verdict, found.expected) == (Judgement.UNKNOWN, None)
    assert found.observed == {"first": "EIO", "second": 0}
    assert found.reason.startswith("no expectation fits this kernel and file system")


def test_two_rows_contradict_each_other() -> None:
    assert reason(*STORY, rows=(ROW, OLD_ROW)) == (
        "several expectations fit: the first fsync waits for the write / it ends with the journal"
    )


# Histories that prove nothing


def test_a_history_without_an_end_was_cut_off() -> None:
    assert reason(*without(ENDED)) == "the history was cut off"


def test_an_empty_history_was_cut_off() -> None:
    assert reason() == "the history was cut off"


def test_a_history_without_a_beginning() -> None:
    assert reason(*without(BEGAN)) == "the history has no beginning"


def test_a_scenario_that_did_not_come_to_its_end_says_why() -> None:
    lost = Ended(0.9, "QEMU was ended by SIGKILL in mid-case.")
    assert reason(*without(ENDED), lost) == "QEMU was ended by SIGKILL in mid-case."


def test_a_machine_that_never_came_up_has_an_end_and_no_beginning() -> None:
    assert reason(Ended(0.9, "The guest's agent did not answer within 90 s.")).startswith("The guest's agent")


def test_a_fault_that_never_fired_proves_nothing() -> None:
    found = verdict(*without(FAILED, FAILED_ABOVE))
    assert (found.verdict, found.reason, found.fired) == (Judgement.UNKNOWN, "the fault never fired", 0)
    assert found.expected == {"first": "EIO", "second": 0}


def test_a_fault_that_was_never_armed_proves_nothing() -> None:
    assert reason(*without(ARMED, FAILED, FAILED_ABOVE, HEALED)) == "the fault was never armed"


def test_each_time_that_a_fault_is_armed_it_must_fire() -> None:
    again = (ARMED, HEALED)
    assert reason(*without(ENDED), *again, ENDED) == "the fault never fired"
    assert verdict(*without(ENDED), ARMED, FAILED, HEALED, ENDED).fired == 2


def test_an_error_outside_of_any_window() -> None:
    early = replace(FAILED, sector=8)
    assert reason(*with_(early, before=ARMED)) == (
        "a request failed (EIO, WS at sector 8) while no fault was armed"
    )
    assert "while no fault was armed" in reason(*with_(FAILED, before=ENDED))


def test_an_error_at_other_sectors_is_not_the_fault() -> None:
    stray = replace(FAILED, sector=524360)
    assert reason(*with_(stray, before=FSYNC)) == (
        "a request failed outside of the fault: EIO, WS at sector 524360 of 'fault'"
    )


def test_the_disk_itself_failed() -> None:
    broken = replace(FAILED, device="disk")
    assert reason(*with_(broken, before=FAILED)) == (
        "a request failed outside of the fault: EIO, WS at sector 266240 of 'disk'"
    )


@pytest.mark.parametrize("alarm", ["panic", "oops", "hung"])
def test_a_guest_kernel_that_failed_proves_nothing(alarm: str) -> None:
    said = ConsoleSaid(0.8, alarm, "BUG: kernel NULL pointer dereference, address: 0000000000000008")
    assert reason(*with_(said, before=ENDED)) == (
        "the guest kernel failed: BUG: kernel NULL pointer dereference, address: 0000000000000008"
    )


def test_a_panic_says_more_than_the_machine_that_was_lost_by_it() -> None:
    said = ConsoleSaid(0.8, "panic", "Kernel panic - not syncing: Fatal exception")
    lost = Ended(0.9, "The guest closed the channel.")
    assert reason(*without(ENDED), said, lost).startswith("the guest kernel failed: Kernel panic")


@pytest.mark.parametrize("alarm", ["disk", "file-system", "warning"])
def test_what_the_console_says_of_the_broken_disk_is_no_failure_of_the_kernel(alarm: str) -> None:
    said = ConsoleSaid(0.8, alarm, "Buffer I/O error on device dm-1, logical block 33280")
    assert verdict(*with_(said, before=ENDED)).verdict is Judgement.CONFORMS


def test_a_trace_with_gaps_proves_nothing() -> None:
    lost = TraceLost(0.4, "CPU:0 [LOST 317 EVENTS]")
    assert reason(*with_(lost, before=FSYNC)) == ("the guest's trace lost events: CPU:0 [LOST 317 EVENTS]")


# Controls

HEALTHY = Expectation({"first": 0}, "nothing failed", safe=True)
GOOD = replace(FAILED, error="")
SEEN = Observed(0.6, {"first": 0})


def test_a_control_needs_no_fault() -> None:
    found = verdict(BEGAN, GOOD, SEEN, ENDED, rows=(HEALTHY,), fault=NO_FAULT)
    assert (found.verdict, found.fired) == (Judgement.CONFORMS, 0)


def test_a_fault_in_a_control_is_a_mistake() -> None:
    said = reason(BEGAN, ARMED, GOOD, SEEN, ENDED, rows=(HEALTHY,), fault=NO_FAULT)
    assert said == "a fault was armed in a case that has none"


def test_an_error_in_a_control_is_a_mistake() -> None:
    said = reason(BEGAN, FAILED, SEEN, ENDED, rows=(HEALTHY,), fault=NO_FAULT)
    assert said.endswith("while no fault was armed")


# Flushes and dropped writes

FLUSH = replace(FAULT, id="flush-eio", operation="flush", target="flush")
FLUSH_ARMED = Armed(0.3, "flush-eio", "flush", [(1046528, 2048)])
CAUGHT = BlockDone(0.4, 4.25, "catcher", "FWS", 18446744073708505088, 0, "EIO")


def test_a_flush_that_failed_counts_where_it_was_caught() -> None:
    above = replace(CAUGHT, device="fault", sector=0)
    found = verdict(BEGAN, FLUSH_ARMED, CAUGHT, above, OBSERVED, ENDED, fault=FLUSH)
    assert (found.verdict, found.fired) == (Judgement.CONFORMS, 1)


def test_no_flush_was_sent() -> None:
    assert reason(BEGAN, FLUSH_ARMED, GOOD, OBSERVED, ENDED, fault=FLUSH) == "the fault never fired"


LIES = replace(FAULT, id="data-dropped", operation="drop", errno="")


def test_a_write_that_was_dropped_ended_well_and_is_missing_below() -> None:
    found = verdict(BEGAN, ARMED, GOOD, OBSERVED, ENDED, fault=LIES)
    assert (found.verdict, found.fired) == (Judgement.CONFORMS, 1)


def test_a_write_that_came_through_was_not_dropped() -> None:
    below = replace(GOOD, device="disk")
    assert reason(BEGAN, ARMED, below, GOOD, OBSERVED, ENDED, fault=LIES) == "the fault never fired"


# What holds for every history

ERRORS = st.sampled_from(["", "EIO", "ENOSPC"])
REQUESTS = st.builds(
    BlockDone,
    st.just(0.4),
    st.just(4.25),
    st.sampled_from(["disk", "fault", "volume", "catcher"]),
    st.sampled_from(["R", "WS", "FWS", "FF", "WFSM"]),
    st.sampled_from([0, 266240, 524360]),
    st.sampled_from([0, 8]),
    ERRORS,
)
ANYTHING = st.one_of(
    REQUESTS,
    st.sampled_from([
        ARMED, HEALED, ENDED, BEGAN, FSYNC,
        Ended(0.9, "a lost machine"), TraceLost(0.4, "CPU:0 [LOST 2 EVENTS]"),
        ConsoleSaid(0.8, "panic", "Kernel panic - not syncing"), ConsoleSaid(0.8, "disk", "I/O error"),
    ]),
)  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, len(STORY)), ANYTHING), max_size=4))
def test_nothing_but_an_observation_makes_a_case_deviate(added: list[tuple[int, Event]]) -> None:
    events = list(STORY)
    for at, event in added:
        events.insert(at, event)
    assert verdict(*events).verdict is not Judgement.DEVIATES


@given(st.lists(ANYTHING, max_size=12))
def test_no_history_without_a_firing_conforms(events: list[Event]) -> None:
    found = verdict(BEGAN, *events, OBSERVED, ENDED)
    assert found.fired > 0 or found.verdict is Judgement.UNKNOWN


@given(st.lists(ANYTHING, max_size=12))
def test_every_history_has_a_verdict_and_an_unknown_one_its_reason(events: list[Event]) -> None:
    found = verdict(*events, fault=FAULT)
    assert bool(found.reason) == (found.verdict is not Judgement.CONFORMS)
    assert found.safe is None or found.verdict is Judgement.CONFORMS


# A panic that was asked for

PANIC = "Kernel panic - not syncing: EXT4-fs (device dm-1): panic forced after error"
ASKED_FOR = Panicked(0.75, "EXT4-fs", PANIC)


def console(text: str, alarm: str = "panic") -> ConsoleSaid:
    return ConsoleSaid(0.8, alarm, text)


def test_a_panic_that_was_asked_for_is_an_answer() -> None:
    assert verdict(*STORY[:-1], ASKED_FOR, console(PANIC), ENDED).verdict is Judgement.CONFORMS


def test_a_panic_that_nobody_asked_for_is_none() -> None:
    assert PANIC in reason(*STORY[:-1], console(PANIC), ENDED)


def test_a_panic_that_was_asked_for_excuses_no_other_and_no_oops() -> None:
    other = "Kernel panic - not syncing: Attempted to kill init!"
    assert other in reason(*STORY[:-1], ASKED_FOR, console(PANIC), console(other), ENDED)
    oops = "BUG: kernel NULL pointer dereference"
    assert oops in reason(*STORY[:-1], ASKED_FOR, console(oops, "oops"), console(PANIC), ENDED)


def test_a_fault_that_never_fired_proves_nothing_even_of_a_panic() -> None:
    assert reason(*without(FAILED, ENDED), ASKED_FOR, console(PANIC), ENDED)
