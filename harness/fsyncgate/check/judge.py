"""The verdict on a case: what its history shows, held against what is expected of its kernel."""

from collections.abc import Sequence
from typing import Any

from fsyncgate.check.firing import fired, strays, windows
from fsyncgate.check.waiting import makes_wait, too_soon
from fsyncgate.history import Began, BlockDone, ConsoleSaid, Ended, Event, Observed, Panicked, TraceLost
from fsyncgate.kernels.versions import matches
from fsyncgate.machine.console import FATAL
from fsyncgate.model import Expectation, Fault, Judgement, Scenario, Verdict


def judge(events: Sequence[Event], scenario: Scenario, fault: Fault, filesystem: str) -> Verdict:
    """Return the verdict; the same history and the same catalogue always give the same one."""
    observed = observations(events)
    opened, _ = windows(events)
    count = sum(fired(fault, armed, done) for armed, done in opened)
    began = next((event for event in events if isinstance(event, Began)), None)
    rows = [] if began is None else fitting(scenario, began.kernel.version, filesystem, fault.id)
    expected = rows[0] if len(rows) == 1 else None
    if reason := _worthless(events, fault) or _unexplained(rows, observed):
        known = None if expected is None else expected.observed
        return Verdict(Judgement.UNKNOWN, observed, known, count, reason=reason)
    assert expected is not None
    because = f"{expected.because} [{expected.commit}]" if expected.commit else expected.because
    if different := differences(observed, expected.observed):
        return Verdict(
            Judgement.DEVIATES,
            observed,
            expected.observed,
            count,
            reason="; ".join(different),
            because=because,
        )
    return Verdict(
        Judgement.CONFORMS,
        observed,
        expected.observed,
        count,
        safe=expected.safe,
        because=because,
        lesson=expected.lesson if expected.safe is False else "",
    )


def observations(events: Sequence[Event]) -> dict[str, Any]:
    """Return everything that the scenario stated."""
    found: dict[str, Any] = {}
    for event in events:
        if isinstance(event, Observed):
            found.update(event.values)
    return found


def fitting(scenario: Scenario, version: str, filesystem: str, fault: str) -> list[Expectation]:
    """Return the rows that speak of this kernel, file system and fault."""
    return [
        row
        for row in scenario.expect
        if matches(version, row.kernel)
        and (not row.filesystem or filesystem in row.filesystem)
        and (not row.fault or fault in row.fault)
    ]


def differences(observed: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return, in words, each observation that is not as expected."""
    return [
        f"'{name}' is {observed.get(name, 'missing')!r}, "
        f"expected {expected.get(name, 'nothing of that name')!r}"
        for name in {**expected, **observed}
        if name not in observed or name not in expected or observed[name] != expected[name]
    ]


def _worthless(events: Sequence[Event], fault: Fault) -> str:
    """Return why nothing can be learnt from this history, or the empty string."""
    ended = next((event for event in events if isinstance(event, Ended)), None)
    if ended is None:
        return "the history was cut off"
    asked_for = [event.text for event in events if isinstance(event, Panicked)]
    for event in events:
        if isinstance(event, ConsoleSaid) and event.alarm in FATAL and event.text not in asked_for:
            return f"the guest kernel failed: {event.text}"
    if ended.reason:
        return ended.reason
    if not any(isinstance(event, Began) for event in events):
        return "the history has no beginning"
    if lost := next((event for event in events if isinstance(event, TraceLost)), None):
        return f"the guest's trace lost events: {lost.text}"
    return _firing(events, fault)


def _firing(events: Sequence[Event], fault: Fault) -> str:
    """Return what is wrong with the firing of the fault: a fault that never fired proves nothing."""
    opened, outside = windows(events)
    if error := next((event for event in outside if event.error), None):
        return f"a request failed ({_request(error)}) while no fault was armed"
    if fault.operation == "none":
        return "a fault was armed in a case that has none" if opened else ""
    if not opened:
        return "the fault was never armed"
    for armed, done in opened:
        if stray := strays(fault, armed, done):
            error = stray[0]
            return f"a request failed outside of the fault: {_request(error)} of '{error.device}'"
        if makes_wait(fault) and (early := too_soon(fault, armed, done)):
            return f"a request was answered that should have waited: {_request(early[0])}"
        if not fired(fault, armed, done):
            return "the fault never fired"
    return ""


def _request(event: BlockDone) -> str:
    return f"{event.error or 'no error'}, {event.rwbs} at sector {event.sector}"


def _unexplained(rows: list[Expectation], observed: dict[str, Any]) -> str:
    if not rows:
        said = ", ".join(f"{name} = {value!r}" for name, value in observed.items())
        return f"no expectation fits this kernel and file system; observed {said}"
    if len(rows) > 1:
        return "several expectations fit: " + " / ".join(row.because for row in rows)
    return ""
