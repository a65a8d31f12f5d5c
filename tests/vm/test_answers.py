"""What the kernels must be seen to answer, whatever else changes: asked as a user asks it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

COMMAND = Path(sys.executable).parent / "fsyncgate"
KERNELS = ("5.10", "6.1", "6.12")
FILESYSTEMS = ("ext4-ordered", "ext4-journal", "xfs", "btrfs")
SCENARIOS = ("first_fsync", "failed_flush", "every_open_file_hears_of_the_error_once", "heal_then_retry")
HEARD = "reporting/every_open_file_hears_of_the_error_once"
RETRY = "retrying/heal_then_retry"


class Answers:
    """A run of the scenarios above on the kernels above."""

    def __init__(self, folder: Path) -> None:
        """Read the results in `folder`."""
        self.folder = folder
        lines = (folder / "results.jsonl").read_text().splitlines()
        self.results: dict[str, dict[str, Any]] = {
            result["case"]: result for result in map(json.loads, lines)
        }

    def of(self, kernel: str, filesystem: str, scenario: str, fault: str = "data-eio") -> dict[str, Any]:
        """Return the result of one case."""
        return self.results[f"linux-{kernel}/{filesystem}/{fault}/{scenario}"]

    def history(self, kernel: str, filesystem: str, scenario: str, event: str) -> Iterator[dict[str, Any]]:
        """Return the events of one kind in the history of a case of data-eio."""
        case = self.folder / "cases" / f"linux-{kernel}" / filesystem / "data-eio" / scenario
        events = map(json.loads, (case / "history.jsonl").read_text().splitlines())
        return (found for found in events if found["event"] == event)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Ask once, on both processors."""
    out = tmp_path_factory.mktemp("answers") / "run"
    options = [part for kernel in KERNELS for part in ("--kernel", kernel)]
    options += [part for scenario in SCENARIOS for part in ("--scenario", scenario)]
    command = [str(COMMAND), "qualify", *options, "-j", "2", "--out", str(out), "--format", "jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Answers(out)


pytestmark = pytest.mark.vm


def test_nobody_deviates_and_nothing_is_unknown(answers: Answers) -> None:
    assert {result["verdict"] for result in answers.results.values()} == {"conforms"}
    places = {(result["kernel"]["id"], result["filesystem"]) for result in answers.results.values()}
    assert places == {(f"linux-{kernel}", filesystem) for kernel in KERNELS for filesystem in FILESYSTEMS}


@pytest.mark.parametrize("kernel", KERNELS)
def test_ten_open_files_hear_once_each(answers: Answers, kernel: str) -> None:
    result = answers.of(kernel, "ext4-ordered", HEARD)
    assert result["observed"] == {"heard": 10, "heard_again": 0}
    (armed,) = answers.history(kernel, "ext4-ordered", HEARD, "armed")
    blocks = answers.history(kernel, "ext4-ordered", HEARD, "block")
    failed = [
        [at["sector"], at["sectors"]] for at in blocks if at["device"] == "fault" and at["error"] == "EIO"
    ]
    assert failed == armed["sectors"]
    recorded = {event["inode"] for event in answers.history(kernel, "ext4-ordered", HEARD, "error-recorded")}
    reported = list(answers.history(kernel, "ext4-ordered", HEARD, "error-reported"))
    assert len({event["file"] for event in reported}) == len(reported) == 10
    assert {event["inode"] for event in reported} == recorded
    assert len(recorded) == 1


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_a_retry_succeeds_over_lost_data(answers: Answers, kernel: str, filesystem: str) -> None:
    result = answers.of(kernel, filesystem, RETRY)
    assert (result["observed"]["fsync"], result["observed"]["cold"], result["safe"]) == (0, "OLD", False)
    if filesystem != "btrfs":
        assert result["observed"]["hot"] == "NEW"


def test_journalled_data_tells_late_before_6_4(answers: Answers) -> None:
    first = {kernel: answers.of(kernel, "ext4-journal", "reporting/first_fsync") for kernel in KERNELS}
    assert [first[kernel]["observed"]["first"] for kernel in KERNELS] == [0, 0, "EIO"]
    assert [first[kernel]["observed"]["second"] for kernel in KERNELS] == ["EIO", "EIO", 0]


def test_xfs_ignores_a_failed_flush_before_6_0(answers: Answers) -> None:
    flushed = [
        answers.of(kernel, "xfs", "reporting/failed_flush", "flush-eio")["observed"] for kernel in KERNELS
    ]
    assert [observed["nothing_to_commit"] for observed in flushed] == [0, "EIO", "EIO"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("filesystem", ["ext4-ordered", "xfs"])
def test_device_mapper_loses_the_flush_before_a_commit_and_a_disk_does_not(
    answers: Answers, kernel: str, filesystem: str
) -> None:
    scenario = "reporting/failed_flush"
    assert answers.of(kernel, filesystem, scenario, "flush-eio")["observed"]["committing"] == 0
    assert answers.of(kernel, filesystem, scenario, "disk-flush-eio")["observed"]["committing"] == "EIO"


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_two_mechanisms_give_the_same_answers(answers: Answers, kernel: str, filesystem: str) -> None:
    for scenario in ("reporting/first_fsync", RETRY):
        inside, outside = (
            answers.of(kernel, filesystem, scenario, fault) for fault in ("data-eio", "disk-data-eio")
        )
        assert inside["observed"] == outside["observed"]
