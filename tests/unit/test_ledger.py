"""The books of a run, and the exit status that they come to."""

from pathlib import Path

import pytest

from fsyncgate.errors import CONFORMS, DEVIATES, UNKNOWN, UsageError
from fsyncgate.ledger import Ledger, default_folder, status
from fsyncgate.model import Judgement, KernelRecord, Result
from fsyncgate.selection import Selection
from fsyncgate.store import Store

GOOD, BAD, UNSURE = Judgement.CONFORMS, Judgement.DEVIATES, Judgement.UNKNOWN


def result(verdict: Judgement, scenario: str = "reporting/first_fsync") -> Result:
    return Result(
        case=f"linux-6.1/xfs/data-eio/{scenario}",
        scenario=scenario,
        kernel=KernelRecord("linux-6.1", "6.1.0-50-cloud-amd64", "6.1.176", "linux-image", "0" * 64),
        filesystem="xfs",
        fault="data-eio",
        fired=1,
        observed={},
        expected=None,
        verdict=verdict,
        safe=None,
        reason="",
        because="",
        seconds=0.41,
    )


@pytest.mark.parametrize(
    ("verdicts", "planned", "expected"),
    [
        ([GOOD, GOOD], 2, CONFORMS),
        ([GOOD, UNSURE], 2, UNKNOWN),
        ([GOOD, BAD], 2, DEVIATES),
        pytest.param([UNSURE, BAD, GOOD], 3, DEVIATES, id="that something deviates is known for sure"),
        pytest.param([GOOD], 2, UNKNOWN, id="a case without a result"),
        pytest.param([BAD], 2, DEVIATES, id="interrupted after something deviated"),
        pytest.param([], 2, UNKNOWN, id="no result at all"),
        pytest.param([], 0, UNKNOWN, id="nothing was asked"),
    ],
)
def test_the_worst_that_is_known_is_the_status(
    verdicts: list[Judgement], planned: int, expected: int
) -> None:
    assert status([result(verdict) for verdict in verdicts], planned) == expected


def test_a_run_leaves_its_results_in_the_order_of_the_plan_and_a_record(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "run")
    first, second = result(GOOD, "reporting/first_fsync"), result(GOOD, "retrying/retry")
    ledger.plan([first.case, second.case])
    ledger.boots, ledger.accelerator = 1, "tcg"
    ledger.add(second)
    ledger.add(first)
    assert ledger.close() == [first, second]
    record = ledger.store.record()
    assert record
    assert (record.planned, record.boots, record.accelerator) == (2, 1, "tcg")
    assert record.seconds >= 0
    assert record.started.tzinfo
    assert (tmp_path / "run" / "junit.xml").read_text().startswith("<?xml")


def test_a_run_that_is_killed_has_said_what_it_was_asked_for(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "run", selection=Selection(fs=("xfs",)))
    ledger.plan(["a", "b"])
    record = Store.open(tmp_path / "run").record()
    assert record
    assert (record.planned, record.ended, record.selection) == (2, False, Selection(fs=("xfs",)))
    assert Store.open(tmp_path / "run").plan() == ["a", "b"]


def test_a_resumed_run_is_one_run(tmp_path: Path) -> None:
    first, second = result(GOOD, "reporting/first_fsync"), result(GOOD, "retrying/retry")
    ledger = Ledger(tmp_path / "run")
    ledger.plan([first.case, second.case])
    ledger.boots, ledger.accelerator = 1, "tcg"
    ledger.add(second)
    ledger.close()
    before = ledger.store.record()
    ledger = Ledger(tmp_path / "run", resumed=True)
    ledger.plan([first.case, second.case])
    ledger.boots += 2
    ledger.add(first)
    assert ledger.close() == [first, second]
    record = ledger.store.record()
    assert before and record
    assert (record.boots, record.accelerator, record.ended) == (3, "tcg", True)
    assert (record.started, record.command) == (before.started, before.command)
    assert record.seconds >= before.seconds


def test_two_processes_do_not_work_on_one_run(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "run")
    ledger.plan(["a"])
    with pytest.raises(UsageError, match="is still going on"):
        Ledger(tmp_path / "run", resumed=True)
    ledger.close()
    Ledger(tmp_path / "run", resumed=True).close()


def test_a_folder_that_holds_a_run_is_not_used_again(tmp_path: Path) -> None:
    Ledger(tmp_path / "run")
    with pytest.raises(UsageError, match="holds the results of a run already"):
        Ledger(tmp_path / "run")


def test_a_run_that_names_no_folder_gets_one_by_its_time() -> None:
    assert default_folder().parent == Path("results")
