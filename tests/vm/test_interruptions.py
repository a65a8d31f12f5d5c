"""Ctrl-C at any moment, and worse: no machine stays, and what is known stays known."""

import json
import os
import pty
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.vm.conftest import KERNEL, Command, Host, eventually, table

pytestmark = pytest.mark.vm

PLACES = ("--fs", "ext4-ordered", "--fs", "xfs", "--scenario", "first_fsync")
"""Two groups of cases: what two workers share."""

SCENARIO = '''
def test_first(volume, fault, observe):
    observe(hot=volume.file("f").filled_with(OLD).hot())

def test_waits(volume, fault, observe):
    """In mid-case until somebody opens the pipe."""
    volume.file("f").filled_with(OLD)
    with open(os.environ["READY"], "a") as ready:
        ready.write("x")
    open(os.environ["PIPE"]).read()
    observe(x=1)

def test_last(volume, fault, observe):
    observe(hot=volume.file("f").filled_with(OLD).hot())
'''
TABLES = (table("first", 'hot = "OLD"'), table("waits"), table("last", 'hot = "OLD"'))


def quiet(command: Command) -> None:
    """Look that it said nothing that a user would not understand."""
    said = command.out + command.err
    for noise in ("Traceback", "Error", "KeyboardInterrupt", "execnet", "Exception", "gw0", "gw1"):
        assert noise not in said, said


def in_mid_case(host: Host, workers: int) -> Command:
    """Start a run and come back when each worker is in the middle of a case."""
    ready, pipe = host.folder / "ready", host.folder / "pipe"
    os.mkfifo(pipe)
    ready.touch()
    own = host.scenarios(SCENARIO, *TABLES)
    side_by_side = ["-n", str(workers)] if workers > 1 else []
    filesystems = ["--fs", "ext4-ordered", *(["--fs", "xfs"] if workers > 1 else [])]
    host.environ |= {"READY": str(ready), "PIPE": str(pipe)}
    command = host.start("pytest", own, "-q", "--kernel", KERNEL, *filesystems, "--out", "run", *side_by_side)
    eventually(lambda: ready.stat().st_size == workers or command.ended, "the middle of a case")
    assert not command.ended, command.out
    assert len(command.machines()) == workers
    return command


@pytest.mark.parametrize(
    ("workers", "end"),
    [(1, os.killpg), (2, os.killpg), (2, os.kill)],
    ids=["alone", "all", "only-the-controlling-process"],
)
def test_interrupted_in_mid_case(host: Host, workers: int, end: Callable[[int, int], None]) -> None:
    command = in_mid_case(host, workers)
    end(command.process.pid, signal.SIGINT)
    assert command.wait() == 2  # pytest's own status for this
    assert "Traceback" not in command.err
    results = host.results("run")
    assert set(results) == {"first"}
    assert json.loads((host.folder / "run/run.json").read_text())["planned"] == 3 * workers


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_in_mid_case(host: Host, workers: int) -> None:
    command = in_mid_case(host, workers)
    os.kill(command.process.pid, signal.SIGKILL)
    assert command.wait() == -signal.SIGKILL
    assert set(host.results("run")) == {"first"}
    record = host.record("run")
    assert (record["ended"], record["planned"]) == (False, 3 * workers)


def test_a_worker_that_dies_leaves_one_unknown_case(host: Host) -> None:
    command = in_mid_case(host, 2)
    machine = command.machines()[0]
    (worker,) = (
        int(line.split()[1])
        for line in Path(f"/proc/{machine}/status").read_text().splitlines()
        if line.startswith("PPid:")
    )
    os.kill(worker, signal.SIGKILL)
    with (host.folder / "pipe").open("w"):  # the other one may go on
        pass
    status = command.process.wait(60)
    lines = [json.loads(line) for line in (host.folder / "run/results.jsonl").read_text().splitlines()]
    unknown = [one for one in lines if one["verdict"] != "conforms"]
    assert status == 3
    assert len(lines) == 6
    assert [one["reason"] for one in unknown if "ended in mid-case" in one["reason"]] == [
        "The process that ran the case ended in mid-case."
    ]
    command.wait()


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_is_interrupted(host: Host, jobs: str, number: signal.Signals) -> None:
    command = host.start(
        "fsyncgate", "qualify", "--kernel", KERNEL, *PLACES, "-j", jobs, "--format", "jsonl", "--out", "run"
    )
    eventually(lambda: len(command.results) >= 2, "two results")
    os.killpg(command.process.pid, number)
    assert command.wait() == 130
    quiet(command)
    known = command.results
    assert 2 <= len(known) < 8
    assert sorted(one["case"] for one in known) == sorted(one["case"] for one in stored(host))
    status, again = host.run("fsyncgate", "check", "run")
    assert status == 3  # cases are missing
    assert f"{len(known)} cases" in again.out


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_command_is_killed(host: Host, jobs: str) -> None:
    command = host.start(
        "fsyncgate", "qualify", "--kernel", KERNEL, *PLACES, "-j", jobs, "--format", "jsonl", "--out", "run"
    )
    eventually(lambda: command.results and command.machines(), "a result and a machine")
    os.kill(command.process.pid, signal.SIGKILL)
    assert command.wait() == -signal.SIGKILL
    assert stored(host)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_command_is_interrupted_while_a_machine_boots(host: Host, jobs: str) -> None:
    host.without("machines")
    command = host.start("fsyncgate", "qualify", "--kernel", KERNEL, *PLACES, "-j", jobs, "--out", "run")
    eventually(command.machines, "a machine that boots")
    command.interrupt()
    assert command.wait() == 130
    quiet(command)
    assert not list(host.cache.glob("machines/*"))
    if jobs == "1":
        assert not host.left_behind()
    else:  # a worker has no time to clean up: the next run does it
        assert host.left_behind()
        status, _ = host.qualify("--fs", "xfs", "--scenario", "healthy_disk", "--out", "next")
        assert status == 0
        assert not host.left_behind()


def test_the_cursor_comes_back(host: Host) -> None:
    leader, follower = pty.openpty()
    host.environ["TERM"] = "xterm"
    argv = ("fsyncgate", "qualify", "--kernel", KERNEL, *PLACES, "-j", "2", "--out", "run")
    process = host.start(*argv, terminal=follower)
    os.close(follower)
    shown = b""
    while b"\x1b[?25l" not in shown or not process.machines():
        shown += os.read(leader, 4096)
    process.interrupt()
    try:
        while more := os.read(leader, 4096):
            shown += more
    except OSError:  # nobody has the terminal any more
        pass
    assert process.wait() == 130
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")
    assert b"Traceback" not in shown
    assert b"Stopped after" in shown


def stored(host: Host) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (host.folder / "run/results.jsonl").read_text().splitlines()]
