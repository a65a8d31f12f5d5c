"""A run that was stopped goes on where it stopped, and in the end is as if it never had been."""

import json
import os
import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from tests.vm.conftest import KERNEL, Command, Host, eventually

pytestmark = pytest.mark.vm

ASKED = ("--fs", "ext4-ordered", "--fs", "xfs", "--scenario", "first_fsync", "--scenario", "close")
"""Ten cases in two groups, as two workers share them."""


def stopped(host: Host, number: signal.Signals, jobs: str) -> list[dict[str, Any]]:
    """Stop a run after some results, and return these."""
    command = host.start(
        "fsyncgate", "qualify", "--kernel", KERNEL, *ASKED, "-j", jobs, "--format", "jsonl", "--out", "run"
    )
    eventually(lambda: len(command.results) >= 3 or command.ended, "three results")
    os.killpg(command.process.pid, number)
    command.wait()
    return lines(host.folder / "run")


def lines(run: Path) -> list[dict[str, Any]]:
    """Return the stored results, less a line that was cut off."""
    text = (run / "results.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def whole(run: Path) -> tuple[list[Any], list[Any]]:
    """Return all that a run tells, but for how long it took: its results, and those of junit.xml."""
    results = [{**one, "seconds": 0, "phases": 0} for one in lines(run)]
    suites = ElementTree.parse(run / "junit.xml").getroot().iter("testcase")
    return results, [(one.get("classname"), one.get("name"), [part.tag for part in one]) for one in suites]


def told(command: Command) -> str:
    """Return the summary that ends what it has written."""
    return command.out.rpartition("\n\n")[2]


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, "2"), (signal.SIGKILL, "1")])
def test_a_stopped_run_is_resumed(host: Host, number: signal.Signals, jobs: str) -> None:
    before = stopped(host, number, jobs)
    assert 3 <= len(before) < 10
    if number is signal.SIGKILL:  # as if it had been writing
        with (host.folder / "run/results.jsonl").open("a") as file:
            file.write('{"case":"linux-6')
    status, resumed = host.run("fsyncgate", "qualify", "--resume", "run", "-j", "2", "--format", "plain")
    assert status == 0, resumed.out + resumed.err
    assert f"# resumed: {len(before)} of 10 cases have results" in resumed.out
    asked = [line.split()[-1] for line in resumed.out.splitlines() if line.startswith("conforms")]
    assert len(asked) == 10 - len(before)
    assert not set(asked) & {one["case"] for one in before}

    status, other = host.run(
        "fsyncgate", "qualify", "--kernel", KERNEL, *ASKED, "-j", "2", "--format", "plain", "--out", "other"
    )
    assert status == 0
    assert whole(host.folder / "run") == whole(host.folder / "other")
    assert told(resumed) == told(other)
    # What was there is there unchanged: it was not asked again.
    kept = {one["case"]: one for one in lines(host.folder / "run")}
    assert all(kept[one["case"]] == one for one in before)
    assert (host.record("run")["planned"], host.record("run")["ended"]) == (10, True)


def test_only_what_is_unknown_is_asked_again(host: Host) -> None:
    few = ("--kernel", KERNEL, "--fs", "xfs", "--scenario", "close", "--scenario", "third_party")
    status, _ = host.run("fsyncgate", "qualify", *few, "--format", "jsonl", "--out", "run")
    assert status == 0
    (first, second) = lines(host.folder / "run")
    lost = {**first, "verdict": "unknown", "safe": None, "reason": "QEMU was ended by SIGKILL in mid-case."}
    (host.folder / "run/results.jsonl").write_text(f"{json.dumps(lost)}\n{json.dumps(second)}\n")
    status, again = host.run("fsyncgate", "qualify", "--resume", "run", "--format", "plain")
    assert status == 0
    assert [line.split()[-1] for line in again.out.splitlines() if line.startswith("conforms")] == [
        first["case"]
    ]
    assert [one["verdict"] for one in lines(host.folder / "run")] == ["conforms"] * 2


def test_a_run_is_resumed_by_one_process_and_as_it_was_begun(host: Host) -> None:
    command = host.start(
        "fsyncgate", "qualify", "--kernel", KERNEL, *ASKED, "-j", "1", "--format", "jsonl", "--out", "run"
    )
    eventually(lambda: command.results, "a result")
    status, other = host.run("fsyncgate", "qualify", "--resume", "run")
    assert (status, other.err.count("\n")) == (2, 1)
    assert "is still going on" in other.err
    command.interrupt()
    assert command.wait() == 130
    assert "fsyncgate qualify --resume" in command.err
    status, other = host.run("fsyncgate", "qualify", "--resume", "run", "--fs", "btrfs")
    assert (status, other.err.count("\n")) == (2, 1)
    assert "'--fs' contradicts the run" in other.err
