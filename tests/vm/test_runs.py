"""A run does the same through every door, every time, and what it stores tells the same as what it showed."""

import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from tests.vm.conftest import KERNEL, OTHER, Host, eventually, table

from fsyncgate.places import place

pytestmark = pytest.mark.vm

FEW = ("first_fsync", "every_open_file_hears_of_the_error_once", "healthy_disk")
CASES = tuple(part for name in FEW for part in ("--scenario", name))


def observed(results: list[dict[str, Any]]) -> str:
    """Return the observations of a run, byte by byte."""
    return json.dumps({one["case"]: (one["observed"], one["fired"]) for one in results}, sort_keys=True)


def test_one_boot_a_kernel_and_the_rest_restored(host: Host) -> None:
    host.without("machines")
    both = ("--kernel", OTHER, "--fs", "ext4-ordered", "--fs", "xfs", "-j", "2")
    status, command = host.qualify(*both, "--scenario", "first_fsync", "--fault", "data-eio", "--out", "run")
    assert status == 0, command.out + command.err
    assert len(command.results) == 4
    record = host.record("run")
    assert (record["boots"], record["planned"]) == (2, 4)
    assert {folder.name.rpartition("-")[0] for folder in (host.cache / "machines").iterdir()} == {
        f"linux-{KERNEL}", f"linux-{OTHER}",
    }  # fmt: skip
    assert not host.left_behind()


def test_what_is_stored_tells_what_was_shown(host: Host) -> None:
    both = ("--fs", "ext4-ordered", "--fs", "ext4-journal", "-j", "2")
    status, shown = host.run("fsyncgate", "qualify", "--kernel", KERNEL, *both, *CASES, "--out", "run")
    assert status == 0
    assert "\x1b" not in shown.out + shown.err
    stored = [json.loads(line) for line in (host.folder / "run/results.jsonl").read_text().splitlines()]
    assert [one["verdict"] for one in stored] == ["conforms"] * len(stored)
    assert all(one["case"] in shown.out for one in stored)

    status, planned = host.run("fsyncgate", "plan", "--kernel", KERNEL, *both[:4], *CASES)
    assert planned.out.split() == [one["case"] for one in stored]

    status, again = host.run("fsyncgate", "check", "run")
    assert status == 0
    assert "\x1b" not in again.out
    assert f"{len(stored)} cases, and all conform" in again.out

    status, difference = host.run("fsyncgate", "diff", "run", "run")
    assert status == 0
    assert "\x1b" not in difference.out

    suites = ElementTree.parse(host.folder / "run/junit.xml").getroot()
    assert len(suites.findall(".//testcase")) == len(stored)

    # A history that was cut off is no longer worth anything, and a changed one tells what it says.
    history = host.folder / "run/cases" / stored[0]["case"] / "history.jsonl"
    lines = history.read_text().splitlines()
    history.write_text("\n".join(lines[:-1]) + "\n")
    status, _ = host.run("fsyncgate", "check", "run")
    assert status == 3


def test_either_door_gives_the_same(host: Host) -> None:
    ids = [f"linux-{KERNEL}/{fs}/data-eio/reporting/first_fsync" for fs in ("ext4-ordered", "xfs")]
    wanted = tuple(part for name in ids for part in ("--case", name))
    status, command = host.run("fsyncgate", "qualify", *wanted, "--format", "jsonl", "--out", "a")
    assert status == 0
    status, _ = host.run("pytest", place("scenarios"), "-q", *wanted, "--out", "b")
    assert status == 0
    status, _ = host.run("pytest", place("scenarios"), "-q", *wanted, "--out", "c", "-n", "2")
    assert status == 0
    for out in ("a", "b", "c"):
        stored = [json.loads(line) for line in (host.folder / out / "results.jsonl").read_text().splitlines()]
        assert [one["case"] for one in stored] == ids
        assert observed(stored) == observed(command.results)
    status, _ = host.run("fsyncgate", "diff", "a", "c")
    assert status == 0


def test_ten_times_the_same_and_freshly_booted_too(host: Host) -> None:
    only = ("--fs", "ext4-ordered", *CASES, "--fault", "data-eio", "--fault", "none")
    seen = {observed(host.qualify(*only, "--out", f"run{number}")[1].results) for number in range(10)}
    status, fresh = host.qualify("--fs", "ext4-ordered", "--scenario", "first_fsync", "--fault", "data-eio",
                                 "--out", "fresh", "--fresh-boot")  # fmt: skip
    assert status == 0
    assert len(seen) == 1
    (all_of_it,) = (json.loads(one) for one in seen)
    assert json.loads(observed(fresh.results)).items() <= all_of_it.items()
    assert host.record("fresh")["boots"] == 1
    assert not host.left_behind()


def test_the_reader_of_the_output_goes_away(host: Host) -> None:
    """As with `| head -1`: no traceback, no machine left, and what was known is stored."""
    host.prefix = ["sh", "-c", 'exec "$@" | head -1', "sh"]
    status, command = host.qualify("--fs", "ext4-ordered", *CASES, "--out", "run")
    assert status == 0  # of head
    assert len(command.results) == 1
    assert "Error" not in command.err
    eventually(lambda: (host.folder / "run/run.json").exists(), "the end of the run")


def test_the_machine_stays_small(host: Host) -> None:
    """VmHWM of a QEMU that was booted; test_losses.py looks at one that was restored."""
    text = """
def test_small(volume, fault, observe):
    for number in range(20):
        volume.file(f"f{number}").filled_with(OLD)
    (qemu,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    status = Path(f"/proc/{qemu}/status").read_text()
    (peak,) = (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    observe(peak_under_700_mb=peak < 700_000, peak_over_50_mb=peak > 50_000)
"""
    own = host.scenarios(text, table("small", "peak_under_700_mb = true\npeak_over_50_mb = true"))
    argv = ("pytest", own, "-q", "--kernel", KERNEL, "--fs", "ext4-ordered", "--fresh-boot")
    status, command = host.run(*argv, "--out", "run")
    assert status == 0, command.out
