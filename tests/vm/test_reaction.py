"""What a file system does about an error: a loss at checkpoint, a panic, and what its checker says."""

import json
from typing import Any

import pytest
from tests.vm.conftest import Host, table

pytestmark = pytest.mark.vm

KERNELS = ("5.10", "6.12", "newest")
CHECKPOINT = "name_at_checkpoint"


def histories(host: Host, out: str, kernel: str, fs: str, fault: str, scenario: str) -> list[dict[str, Any]]:
    folder = host.folder / out / "cases" / f"linux-{kernel}" / fs / fault / scenario
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(("kernel", "lost"), [("5.10", True), ("6.12", True), ("newest", False)])
def test_ext4_loses_an_acknowledged_name_at_checkpoint_where_it_drops_its_journal(
    host: Host, kernel: str, lost: bool
) -> None:
    case = ("--fs", "ext4-ordered", "--scenario", CHECKPOINT, "--out", "run")
    status, command = host.qualify(*case, kernel=kernel)
    assert status == 0, command.out + command.err
    observed = host.results("run")[CHECKPOINT]["observed"]
    assert (observed["fsync"], observed["there"]) == (0, not lost)
    assert observed["fsck"] == ("errors" if lost else "needs recovery")
    story = histories(host, "run", kernel, "ext4-ordered", "directory-eio", f"reaction/{CHECKPOINT}")
    names = [event.get("call") or event["event"] for event in story]
    failed = names.index("block", names.index("armed"))
    assert names.index("fsync") < names.index("armed") < failed < names.index("umount") < names.index("mount")


def test_the_checker_is_quoted_in_the_folder_of_the_case(host: Host) -> None:
    case = ("--fs", "xfs", "--scenario", CHECKPOINT, "--out", "run")
    status, command = host.qualify(*case)
    assert status == 0, command.out + command.err
    folder = host.folder / "run/cases/linux-6.1/xfs/directory-eio/reaction" / CHECKPOINT
    said = (folder / "fsck.txt").read_text()
    assert "--- 1: needs recovery" in said
    assert "--- 2: clean" in said
    assert "Phase 7" in said
    assert not (folder / "disk.image").exists()


PANICS = """
def panic_now(volume):
    actor = volume.process.actor
    trigger = actor.call("open", "/proc/sysrq-trigger", os.O_WRONLY).must("open it")
    actor.call("write", trigger, b"c", 1)

def test_expected(volume, fault, observe):
    with volume.expecting_panic("sysrq triggered crash") as panic:
        panic_now(volume)
    observe(panicked=bool(panic))

def test_another(volume, fault, observe):
    with volume.expecting_panic("EXT4-fs") as panic:
        panic_now(volume)
    observe(panicked=bool(panic))

def test_none(volume, fault, observe):
    with volume.expecting_panic("EXT4-fs") as panic:
        volume.directory.make("d")
    observe(panicked=bool(panic))

def test_killed(volume, fault, observe):
    with volume.expecting_panic("EXT4-fs") as panic:
        (child,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        os.kill(int(child), signal.SIGKILL)
        volume.directory.make("d")
    observe(panicked=bool(panic))
"""


def test_only_the_panic_that_was_asked_for_is_an_answer(host: Host) -> None:
    row = "panicked = true"
    names = ("expected", "another", "none", "killed")
    host.scenarios(PANICS, *(table(name, row) for name in names))
    status, command = host.run(
        "pytest",
        "-q",
        "own",
        "--kernel",
        "6.1",
        "--fs",
        "ext4-ordered",
        "--out",
        "run",
        "-p",
        "no:cacheprovider",
    )
    assert status != 0, command.out
    results = host.results("run")
    assert results["expected"]["verdict"] == "conforms"
    assert results["another"]["verdict"] == "unknown"
    assert "Kernel panic" in results["another"]["reason"]
    assert results["none"]["verdict"] == "deviates"
    assert results["killed"]["verdict"] == "unknown"


def test_ext4_panics_as_it_is_told(host: Host) -> None:
    case = ("--fs", "ext4-errors-panic", "--scenario", "panic_policy", "--out", "run")
    status, command = host.qualify(*case, kernel="6.12")
    assert status == 0, command.out + command.err
    story = histories(host, "run", "6.12", "ext4-errors-panic", "directory-eio", "reaction/panic_policy")
    (panicked,) = (event for event in story if event["event"] == "panicked")
    assert "panic forced after error" in panicked["text"]
    before = story[: story.index(panicked)]
    assert any(event["event"] == "block" and event["error"] == "EIO" for event in before)
