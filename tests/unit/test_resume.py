"""What of a run that was stopped is finished, and what a resumed run may be asked for."""

from pathlib import Path

import pytest

from fsyncgate.errors import UsageError
from fsyncgate.model import Case, Judgement, KernelRecord, Result
from fsyncgate.resume import finished, moved, same_plan, unfinished_kernels
from fsyncgate.selection import Selection, agreed

RUN = Path("results/run")


def case(scenario: str, kernel: str = "linux-6.1") -> Case:
    return Case(f"reporting/{scenario}", kernel, "xfs", "data-eio")


def result(of: Case, verdict: Judgement = Judgement.CONFORMS, package: str = "old") -> Result:
    kernel = KernelRecord(of.kernel, "", "", "", package)
    return Result(of.id, of.scenario, kernel, "xfs", "data-eio", 1, {}, None, verdict, None, "", "", 0.4)


A, B, C = case("a"), case("b"), case("c")
PLAN = [A, B, C]
NEW = {"linux-6.1": "new"}


def test_what_is_known_stands_and_what_is_unknown_is_asked_again() -> None:
    results = [result(C, Judgement.DEVIATES), result(B, Judgement.UNKNOWN), result(A)]
    assert list(finished(PLAN, results, {})) == [A.id, C.id]  # in the plan's order
    assert unfinished_kernels(PLAN, results) == ["linux-6.1"]


def test_the_same_package_changes_nothing() -> None:
    results = [result(A), result(B)]
    assert list(finished(PLAN, results, {"linux-6.1": "old"})) == [A.id, B.id]
    assert moved(results, {"linux-6.1": "old"}) == []


def test_another_package_is_asked_everything_anew_and_says_so() -> None:
    results = [result(A), result(B, package="new"), result(C, Judgement.UNKNOWN)]
    assert list(finished(PLAN, results, NEW)) == [B.id]
    assert moved(results, NEW) == [
        "The kernel 'linux-6.1' is another one than when the run began: 1 case of it is asked anew."
    ]


def test_a_kernel_that_has_answered_everything_is_left_alone() -> None:
    other = case("a", "linux-6.12")
    results = [result(one) for one in PLAN]
    assert unfinished_kernels([*PLAN, other], results) == ["linux-6.12"]


def test_answers_of_two_packages_do_not_make_a_finished_kernel() -> None:
    results = [result(A), result(B), result(C, package="new")]
    assert unfinished_kernels(PLAN, results) == ["linux-6.1"]
    assert list(finished(PLAN, results, NEW)) == [C.id]


def test_the_plan_is_still_the_same() -> None:
    same_plan([one.id for one in PLAN], PLAN, RUN)


@pytest.mark.parametrize(
    ("planned", "said"), [([A, B], "reporting/c' was no case of it"), ([*PLAN, case("d")], "reporting/d' is")]
)
def test_another_catalogue_is_refused(planned: list[Case], said: str) -> None:
    with pytest.raises(UsageError, match=f"the catalogue has changed since it began, .*{said}"):
        same_plan([one.id for one in planned], PLAN, RUN)


STORED = Selection(kernel=("6.1", "6.12"), fs=("xfs",), scenario=("retrying",), patience=90.0)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(Selection(), id="no option"),
        pytest.param(Selection(fs=("xfs",)), id="one of the same"),
        pytest.param(STORED, id="all of the same"),
    ],
)
def test_a_run_is_resumed_with_its_own_options(given: Selection) -> None:
    assert agreed(STORED, given, RUN) == STORED


def test_patience_may_be_another() -> None:
    assert agreed(STORED, Selection(patience=5.0), RUN).patience == 5.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Selection(fs=("btrfs",)), "'--fs' contradicts the run 'results/run', which was begun with 'xfs'."),
        (Selection(kernel=("6.12",)), "'--kernel' .* begun with '6.1', '6.12'."),
        (Selection(fault=("none",)), "'--fault' .* begun with none."),
        (Selection(all=True), "'--all' .* begun without it."),
        (Selection(fresh_boot=True), "'--fresh-boot' .* begun without it."),
        (Selection(modules="/m"), "'--modules' .* begun with none."),
    ],
)
def test_what_contradicts_the_run_is_refused(given: Selection, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        agreed(STORED, given, RUN)


def test_paths_are_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bzImage").touch()
    kept = Selection(kernel=("6.1", "./bzImage", "9.9"), modules="m").anywhere()
    assert kept.kernel == ("6.1", str(tmp_path / "bzImage"), "9.9")
    assert kept.modules == str(tmp_path / "m")


def test_pytest_is_given_what_was_selected() -> None:
    arguments = Selection(kernel=("6.1",), case=("a/b/c/d/e",), all=True, fresh_boot=True).arguments()
    assert arguments == [
        "--kernel", "6.1", "--case", "a/b/c/d/e", "--all", "--fresh-boot", "--patience", "60.0",
    ]  # fmt: skip
