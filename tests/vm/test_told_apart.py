"""Outcomes that no other suite tells apart, each produced on a real kernel beside its opposite.

The two scenarios of a pair take the same way but for one thing; each must answer as its own kind does, the
kernel's record in the history must say why, and with the other's expectation each must be found guilty.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.vm.conftest import KERNEL, OTHER, PATIENCE, Host, table

from fsyncgate import catalogue
from fsyncgate.check.judge import judge
from fsyncgate.history import BlockDone, Called, ErrorRecorded, ErrorReported, Event, read
from fsyncgate.model import Judgement, Scenario

pytestmark = pytest.mark.vm

SCENARIOS = """
def test_one_open_file(volume, fault, observe):
    cursors(volume, fault, observe, shared=True)

def test_four_open_files(volume, fault, observe):
    cursors(volume, fault, observe, shared=False)

def cursors(volume, fault, observe, shared):
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    child, stranger = opened.process.fork(), volume.new_process()
    if shared:
        others = [opened.dup(), opened.inherited_by(child), opened.sent_to(stranger)]
    else:
        others = [file.open(), file.open(by=child), file.open(by=stranger)]
    opened.write(NEW)
    with fault.on(file.data):
        volume.write_back()
        observe(answers=[one.fsync() for one in (*others, opened)])

def test_flush_that_fails(volume, fault, observe):
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    file.write_out()
    with fault.on(volume.flushes):
        observe(fsync=opened.fsync())

def test_flush_that_works(volume, fault, observe):
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    file.write_out()
    observe(fsync=opened.fsync())

def test_inode_evicted(volume, fault, observe):
    eviction(volume, fault, observe, held=False)

def test_inode_kept(volume, fault, observe):
    eviction(volume, fault, observe, held=True)

def eviction(volume, fault, observe, held):
    file = volume.file("f").filled_with(OLD)
    holder = file.open(by=volume.new_process())
    writer = file.open()
    writer.write(NEW)
    writer.close()
    with fault.on(file.data):
        volume.write_back()
    if not held:
        holder.close()
    volume.drop_caches()
    observe(opened_again=file.open().fsync())

def test_stranger_first(volume, fault, observe):
    stranger(volume, fault, observe, first="stranger")

def test_holder_first(volume, fault, observe):
    stranger(volume, fault, observe, first="holder")

def test_stranger_with_the_holders_file(volume, fault, observe):
    stranger(volume, fault, observe, first="stranger", same=True)

def stranger(volume, fault, observe, first, same=False):
    file = volume.file("f").filled_with(OLD)
    holder, another = file.open(), volume.new_process()
    holder.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    if first == "holder":
        observe(holder=holder.fsync(), stranger=file.open(by=another).fsync())
    else:
        stranger = holder.sent_to(another) if same else file.open(by=another)
        observe(stranger=stranger.fsync(), holder=holder.fsync())
"""

FOUR, ONE = '["EIO", "EIO", "EIO", "EIO"]', '["EIO", 0, 0, 0]'
TABLES = {
    "one_open_file": table("one_open_file", f"answers = {ONE}", "data-eio"),
    "four_open_files": table("four_open_files", f"answers = {FOUR}", "data-eio"),
    "flush_that_fails": table("flush_that_fails", 'fsync = "EIO"', "disk-flush-eio"),
    "flush_that_works": table("flush_that_works", "fsync = 0", "none"),
    "inode_evicted": table("inode_evicted", "opened_again = 0", "data-eio"),
    "inode_kept": table("inode_kept", 'opened_again = "EIO"', "data-eio"),
    "stranger_first": table("stranger_first", 'stranger = "EIO"\nholder = "EIO"', "data-eio"),
    "holder_first": table("holder_first", 'holder = "EIO"\nstranger = 0', "data-eio"),
    "stranger_with_the_holders_file": table(
        "stranger_with_the_holders_file", 'stranger = "EIO"\nholder = 0', "data-eio"
    ),
}
PAIRS = (
    ("one_open_file", "four_open_files"),
    ("flush_that_fails", "flush_that_works"),
    ("inode_evicted", "inode_kept"),
    ("stranger_first", "holder_first"),
    ("stranger_first", "stranger_with_the_holders_file"),
)


class Told:
    """One run of the scenarios above."""

    def __init__(
        self, folder: Path, scenarios: dict[str, Scenario], results: dict[str, dict[str, Any]]
    ) -> None:
        """Take what the run left."""
        self._folder = folder
        self.scenarios = {name.partition("/")[2]: scenario for name, scenario in scenarios.items()}
        self.results = results

    def history(self, name: str) -> list[Event]:
        """Return what happened in a case."""
        return read(self._folder / "cases" / self.results[name]["case"] / "history.jsonl")

    def reported(self, name: str) -> list[str]:
        """Return the open files that the kernel has told of an error, by its own names for them."""
        return [event.file for event in self.history(name) if isinstance(event, ErrorReported)]

    def answers(self, name: str, call: str = "fsync") -> list[int | str]:
        """Return the answers to a call, in order."""
        return [
            event.result for event in self.history(name) if isinstance(event, Called) and event.call == call
        ]

    def verdict(self, name: str, like: str) -> Judgement:
        """Judge a history by what is expected of another one."""
        result, scenario = self.results[name], self.scenarios[name]
        other = msgspec.structs.replace(scenario, expect=self.scenarios[like].expect)
        return judge(
            self.history(name), other, catalogue.faults()[result["fault"]], result["filesystem"]
        ).verdict


@pytest.fixture(scope="module")
def told(warm: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Ask once."""
    folder = tmp_path_factory.mktemp("told")
    host = Host(folder, warm)
    own = host.scenarios(SCENARIOS, *TABLES.values())
    command = host.start("pytest", own, "-q", "--kernel", KERNEL, "--fs", "ext4-ordered", "--out", "run")
    status = command.process.wait(PATIENCE)
    assert status == 0, command.out + command.err
    return Told(folder / "run", catalogue.scenarios(own), host.results("run"))


def failed(history: list[Event], *, flush: bool) -> list[bool]:
    """Return of each flush (or write of data) whether it failed."""
    return [
        bool(event.error)
        for event in history
        if isinstance(event, BlockDone) and (event.rwbs.startswith("F") if flush else event.rwbs[0] == "W")
    ]


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_each_is_found_guilty_by_what_is_expected_of_the_other(told: Told, pair: tuple[str, str]) -> None:
    for name, other in (pair, pair[::-1]):
        assert told.results[name]["verdict"] == "conforms"
        assert told.verdict(name, name) is Judgement.CONFORMS
        # The observations of a pair have the same names, so it is by what was answered that it differs.
        (row,) = told.scenarios[other].expect
        assert set(row.observed) == set(told.results[name]["observed"])
        assert told.verdict(name, other) is Judgement.DEVIATES


def test_one_open_file_hears_once_and_four_hear_four_times(told: Told) -> None:
    one, four = told.reported("one_open_file"), told.reported("four_open_files")
    assert (len(one), len(set(one))) == (1, 1)
    assert (len(four), len(set(four))) == (4, 4)
    assert told.answers("one_open_file").count("EIO") == 1
    assert told.answers("four_open_files").count("EIO") == 4


def test_the_flush_alone_makes_the_difference(told: Told) -> None:
    fails, works = told.history("flush_that_fails"), told.history("flush_that_works")
    assert any(failed(fails, flush=True))
    assert failed(works, flush=True) and not any(failed(works, flush=True))
    assert failed(works, flush=False) and not any(failed(works, flush=False))


def test_the_error_is_gone_with_the_inode_and_not_with_its_pages(told: Told) -> None:
    for name, told_of_it in (("inode_evicted", 0), ("inode_kept", 1)):
        recorded = [event for event in told.history(name) if isinstance(event, ErrorRecorded)]
        assert recorded  # in both the kernel has noted it in the inode
        assert len(told.reported(name)) == told_of_it


def test_a_stranger_takes_an_error_only_from_those_who_share_his_open_file(told: Told) -> None:
    assert len(set(told.reported("stranger_first"))) == 2
    assert len(told.reported("holder_first")) == 1
    assert len(told.reported("stranger_with_the_holders_file")) == 1
    assert told.answers("stranger_with_the_holders_file") == ["EIO", 0]


def test_a_kernel_that_swallows_a_failed_flush_from_one_that_reports_it(host: Host) -> None:
    """XFS looks at the answer of a flush from 6.0 on; the flush fails on both."""
    both = ("--kernel", OTHER, "--fs", "xfs", "--scenario", "failed_flush", "--fault", "flush-eio")
    status, command = host.qualify(*both, "--out", "run")
    assert status == 0, command.out + command.err
    answers: dict[str, int | str] = {}
    for result in command.results:
        history = read(host.folder / "run/cases" / result["case"] / "history.jsonl")
        caught = [event for event in history if isinstance(event, BlockDone) and event.device == "catcher"]
        assert [event.error for event in caught if event.error]
        answers[result["kernel"]["id"]] = result["observed"]["nothing_to_commit"]
    assert answers == {f"linux-{OTHER}": 0, f"linux-{KERNEL}": "EIO"}
