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
    """And each machine in less than 700 MB, booted or restored: VmHWM of QEMU at the end of the case."""
    twice = ("first", "heard")
    text = """
def small():
    (qemu,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    status = Path(f"/proc/{qemu}/status").read_text()
    (peak,) = (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    return 50_000 < peak < 700_000

def first(volume, fault, observe):
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(first=opened.fsync(), second=opened.fsync())
    observe(third=opened.fsync(), hot=file.hot(), raw=file.raw(), page=file.page(), cold=file.cold())
    observe(small=small())

def heard(volume, fault, observe):
    file = volume.file("f").filled_with(OLD)
    opened = [file.open() for _ in range(10)]
    opened[0].write(NEW)
    with fault.on(file.data):
        observe(heard=[one.fsync() for one in opened], again=[one.fsync() for one in opened])
    observe(small=small())
"""
    names = [f"{name}_{number}" for name in twice for number in range(10)]
    text += "".join(
        f"def test_{name}(volume, fault, observe):\n    {name.partition('_')[0]}(volume, fault, observe)\n"
        for name in names
    )
    own = host.scenarios(text, *(table(name, fault="data-eio") for name in names))
    argv = ("pytest", own, "-q", "--kernel", KERNEL, "--fs", "ext4-ordered")
    host.run(*argv, "--out", "restored")
    host.run(*argv, "--out", "booted", "--fresh-boot", "--scenario", "first_0", "--scenario", "heard_0")
    restored, booted = host.results("restored"), host.results("booted")
    assert len(restored) == 20
    for name in twice:
        alike = {
            json.dumps([one["observed"], one["fired"]])
            for results in (restored, booted)
            for short, one in results.items()
            if short.startswith(name)
        }
        (seen,) = alike
        assert "EIO" in seen
        assert '"small": true' in seen
    assert (host.record("restored")["boots"], host.record("booted")["boots"]) == (0, 2)
    assert not host.left_behind()


def test_the_reader_of_the_output_goes_away(host: Host) -> None:
    """As with `| head -1`: no traceback, no machine left, and what was known is stored."""
    host.prefix = ["sh", "-c", 'exec "$@" | head -1', "sh"]
    status, command = host.qualify("--fs", "ext4-ordered", *CASES, "--out", "run")
    assert status == 0  # of head
    assert len(command.results) == 1
    assert "Error" not in command.err
    eventually(lambda: (host.folder / "run/run.json").exists(), "the end of the run")
