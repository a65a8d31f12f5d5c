"""A disk that hangs, a collision in the page cache: what kernels must be seen to do, with the evidence."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.vm.conftest import Host

pytestmark = pytest.mark.vm

KERNELS = ("5.10", "6.1")
SCENARIOS = (
    "hanging/device_that_recovers",
    "hanging/device_that_never_answers",
    "reporting/spurious_error",
    "reporting/direct_write_beside_a_reader",
)


class Run:
    """A run of the scenarios above."""

    def __init__(self, host: Host) -> None:
        """Ask once."""
        chosen = [part for name in SCENARIOS for part in ("--scenario", name)]
        places = ("--kernel", KERNELS[1], "--fs", "ext4-ordered", "--fs", "ext4-journal", "--fs", "xfs")
        status, command = host.qualify(*chosen, *places, "--out", "run", kernel=KERNELS[0])
        assert status == 0, command.out + command.err
        self._folder = host.folder / "run"
        lines = (self._folder / "results.jsonl").read_text().splitlines()
        self.results = {result["case"]: result for result in map(json.loads, lines)}

    def events(self, case: str, kind: str) -> Iterator[dict[str, Any]]:
        """Return the events of one kind in a case's history."""
        lines = (self._folder / "cases" / case / "history.jsonl").read_text().splitlines()
        return (event for event in map(json.loads, lines) if event["event"] == kind)


def test_what_hangs_and_what_collides(host: Host) -> None:
    run = Run(host)
    assert {result["verdict"] for result in run.results.values()} == {"conforms"}
    for kernel in KERNELS:
        _somebody_waits(run, kernel)
        _nobody_has_failed_and_fsync_says_eio(run, kernel)


def _somebody_waits(run: Run, kernel: str) -> None:
    """Who waits sleeps in the kernel, which says where; nothing is answered, and SIGKILL does nothing."""
    case = f"linux-{kernel}/ext4-journal/hang/hanging/device_that_recovers"
    assert run.results[case]["observed"]["fsync_answered"] is False
    (rest,) = run.events(case, "at-rest")
    assert "jbd2_log_wait_commit" in rest["asleep"]["A"]
    assert "touch_atime" in rest["asleep"]["B"]
    for filesystem in ("ext4-ordered", "ext4-journal", "xfs"):
        inside, outside = (
            run.results[f"linux-{kernel}/{filesystem}/{fault}/hanging/device_that_recovers"]["observed"]
            for fault in ("hang", "disk-hang")
        )
        assert inside == outside
        case = f"linux-{kernel}/{filesystem}/hang-for-ever/hanging/device_that_never_answers"
        assert [event["call"] for event in run.events(case, "call")][-1:] == ["kill"]
        assert run.results[case]["observed"]["state_after_kill"] == "D"
        assert list(run.events(case, "let-go")) == []


def _nobody_has_failed_and_fsync_says_eio(run: Run, kernel: str) -> None:
    """No request has failed, and the kernel tells of the collision; without one, the same steps say 0."""
    for filesystem in ("ext4-ordered", "xfs"):
        collision, control = (f"linux-{kernel}/{filesystem}/data-hang/{name}" for name in SCENARIOS[2:])
        assert [run.results[case]["observed"]["fsync"] for case in (collision, control)] == ["EIO", 0]
        for case, alarms in ((collision, ["page-cache"]), (control, [])):
            assert [event["error"] for event in run.events(case, "block") if event["error"]] == []
            assert list(run.events(case, "error-recorded")) == []
            assert [event["alarm"] for event in run.events(case, "console")] == alarms
