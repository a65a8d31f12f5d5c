"""The command's exit status, from pytest's and from the verdicts."""

import pytest

from fsyncgate.controller import Controller
from fsyncgate.display import Display
from fsyncgate.errors import CONFORMS, DEVIATES, INTERRUPTED, UNKNOWN, USAGE
from fsyncgate.model import Case, Judgement, KernelRecord, Result
from fsyncgate.nodes import carry

CASE = Case("reporting/first_fsync", "linux-6.1", "xfs", "data-eio")


def display(capsys: pytest.CaptureFixture[str]) -> Display:
    """Make the display of a run of one case; nothing of its controller is asked for here."""
    del capsys  # it takes what is shown
    return Display(Controller.__new__(Controller), [CASE], {}, "jsonl")


def report(verdict: Judgement | None = None, outcome: str = "passed") -> pytest.TestReport:
    made = pytest.TestReport("x", ("", 0, ""), {}, "passed", None, "call")
    made.outcome = "failed" if outcome == "failed" else "passed"
    if verdict is not None:
        kernel = KernelRecord("linux-6.1", "6.1.0-50-cloud-amd64", "6.1.176", "linux-image", "0" * 64)
        carry(
            made,
            Result(
                CASE.id, CASE.scenario, kernel, "xfs", "data-eio", 1, {}, None, verdict, None, "", "", 0.4
            ),
        )
    return made


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [(Judgement.CONFORMS, CONFORMS), (Judgement.DEVIATES, DEVIATES), (Judgement.UNKNOWN, UNKNOWN)],
)
def test_the_verdict_is_the_status(
    capsys: pytest.CaptureFixture[str], verdict: Judgement, expected: int
) -> None:
    shown = display(capsys)
    shown.pytest_runtest_logreport(report(verdict))
    assert shown.exit_status(pytest.ExitCode.TESTS_FAILED) == expected


def test_a_run_without_any_result_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert display(capsys).exit_status(pytest.ExitCode.OK) == UNKNOWN


def test_an_interrupted_run_says_so_whatever_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    shown = display(capsys)
    shown.pytest_runtest_logreport(report(Judgement.CONFORMS))
    assert shown.exit_status(pytest.ExitCode.INTERRUPTED) == INTERRUPTED


def test_wrong_usage_that_pytest_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert display(capsys).exit_status(pytest.ExitCode.USAGE_ERROR) == USAGE


@pytest.mark.parametrize(
    ("verdict", "expected"), [(Judgement.CONFORMS, UNKNOWN), (Judgement.DEVIATES, DEVIATES)]
)
def test_what_went_wrong_beside_the_cases_is_never_a_pass(
    capsys: pytest.CaptureFixture[str], verdict: Judgement, expected: int
) -> None:
    shown = display(capsys)
    shown.pytest_runtest_logreport(report(verdict))
    shown.pytest_runtest_logreport(report(outcome="failed"))
    assert shown.exit_status(pytest.ExitCode.TESTS_FAILED) == expected
