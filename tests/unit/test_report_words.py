"""The sentences: scopes collapse, counts agree with their verbs, the order never depends on the input's."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsyncgate.model import Judgement, KernelRecord, Result, Scenario
from fsyncgate.report.phrases import differing, first_line, listed, natural, pairs, scope, visible
from fsyncgate.report.words import summary

KERNELS = ("linux-5.10", "linux-6.1", "linux-6.12")
FILESYSTEMS = ("btrfs", "ext4-ordered", "xfs")
EVERYWHERE = set(product(KERNELS, FILESYSTEMS))


def result(
    kernel: str = "linux-6.1",
    filesystem: str = "xfs",
    fault: str = "data-eio",
    *,
    verdict: Judgement = Judgement.CONFORMS,
    safe: bool | None = None,
    observed: dict[str, Any] | None = None,
    expected: dict[str, Any] | None = None,
    reason: str = "",
    lesson: str = "a second fsync succeeds",
) -> Result:
    return Result(
        case=f"{kernel}/{filesystem}/{fault}/retrying/again",
        scenario="retrying/again",
        kernel=KernelRecord(kernel, "", "", "", ""),
        filesystem=filesystem,
        fault=fault,
        fired=1,
        observed=observed or {},
        expected=expected,
        verdict=verdict,
        safe=safe,
        reason=reason,
        because="",
        seconds=0.1,
        lesson=lesson,
    )


SCENARIOS = {"retrying/again": Scenario("retrying/again", "", (), (), ())}


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (EVERYWHERE, "on every kernel and file system here"),
        ({("linux-6.1", "xfs")}, "on linux-6.1 with xfs"),
        (product(KERNELS, ["xfs"]), "on every kernel here with xfs"),
        (product(["linux-6.12"], FILESYSTEMS), "on linux-6.12 with every file system here"),
        (
            product(["linux-6.12", "linux-6.1"], ["xfs", "btrfs"]),
            "on linux-6.1 and linux-6.12 with btrfs and xfs",
        ),
        (
            {*product(KERNELS, ["xfs"]), ("linux-5.10", "btrfs")},
            "on every kernel here with xfs, and on linux-5.10 with btrfs,",
        ),
        (
            EVERYWHERE - {("linux-6.12", "btrfs")},
            "on every kernel here with ext4-ordered and xfs, and on linux-5.10 and linux-6.1 with btrfs,",
        ),
    ],
)
def test_a_scope_says_where_in_few_words(places: Iterable[tuple[str, str]], words: str) -> None:
    assert scope(places, EVERYWHERE) == words


@pytest.mark.parametrize(
    ("kernels", "filesystems", "words"),
    [
        (KERNELS, ["xfs"], "on every kernel here"),
        (["linux-6.1"], FILESYSTEMS, "on linux-6.1 with every file system here"),
        (["linux-6.1"], ["xfs"], "on linux-6.1 with xfs"),
    ],
)
def test_one_of_a_kind_is_not_called_every(kernels: list[str], filesystems: list[str], words: str) -> None:
    everywhere = list(product(kernels, filesystems))
    assert scope(everywhere, everywhere) == words


@given(st.sets(st.sampled_from(sorted(EVERYWHERE)), min_size=1))
def test_a_scope_names_just_the_places_it_was_given(places: set[tuple[str, str]]) -> None:
    told: set[tuple[str, str]] = set()
    for part in scope(places, EVERYWHERE).rstrip(",").split(", and "):
        if part == "on every kernel and file system here":
            told |= EVERYWHERE
            continue
        on, of = part.removeprefix("on ").split(" with ")
        kernels = KERNELS if on == "every kernel here" else on.replace(" and ", ", ").split(", ")
        filesystems = FILESYSTEMS if of == "every file system here" else of.replace(" and ", ", ").split(", ")
        told |= set(product(kernels, filesystems))
    assert told == places


@given(st.permutations([result(*place, safe=False) for place in sorted(EVERYWHERE)]))
def test_the_summary_does_not_depend_on_the_order_of_the_results(results: list[Result]) -> None:
    assert summary(results, SCENARIOS) == [
        "9 cases, and all conform.",
        "Of the 9 that conform, 9 are unsafe: the kernel does what is known of it, and data can be lost.",
        "On every kernel and file system here a second fsync succeeds.",
    ]


def test_a_lesson_of_some_faults_only_says_after_which() -> None:
    results = [result(safe=False, fault="data-eio-once"), result(safe=True)]
    assert summary(results, SCENARIOS)[-1] == (
        "On linux-6.1 with xfs, after data-eio-once, a second fsync succeeds."
    )


def test_a_scenario_without_a_lesson_is_named() -> None:
    assert summary([result(safe=False, lesson="")], {})[-1] == (
        "On linux-6.1 with xfs 'retrying/again' conforms and is unsafe."
    )


def test_one_scenario_may_teach_two_lessons() -> None:
    results = [
        result("linux-5.10", safe=False, lesson="the block holds a stranger's bytes"),
        result("linux-6.12", safe=False, lesson="the block is missing"),
    ]
    assert summary(results, SCENARIOS)[-2:] == [
        "On linux-5.10 with xfs the block holds a stranger's bytes.",
        "On linux-6.12 with xfs the block is missing.",
    ]


def test_what_deviates_is_no_lesson() -> None:
    deviating = result(
        verdict=Judgement.DEVIATES, safe=False, observed={"a": 1, "b": 2}, expected={"a": 1, "b": 3}
    )
    assert summary([deviating], SCENARIOS) == [
        "1 case, and it deviates.",
        "linux-6.1/xfs/data-eio/retrying/again deviates: observed b=2; expected b=3.",
    ]
    assert summary([deviating], SCENARIOS, cases=False) == ["1 case, and it deviates."]


def test_what_nobody_can_explain_is_counted_and_named() -> None:
    unclear = [
        msgspec.structs.replace(result(kernel), because="unexplained: the second flush is missing.")
        for kernel in ("linux-6.1", "linux-6.12")
    ]
    told = summary([*unclear, result("linux-5.10")], SCENARIOS)
    assert "Of the 3 that conform, 2 are unexplained: nobody knows yet why it is so." in told
    assert (
        "On linux-6.1 and linux-6.12 with xfs 2 cases are unexplained of 'retrying/again': "
        "the second flush is missing."
    ) in told
    # One that does not conform is told as such.
    bad = msgspec.structs.replace(unclear[0], verdict=Judgement.DEVIATES)
    assert not any("unexplained" in sentence for sentence in summary([bad], SCENARIOS))


def test_the_unknown_are_counted_also_where_the_cases_are_not_listed() -> None:
    told = summary([result(verdict=Judgement.UNKNOWN, reason="No f2fs.")], SCENARIOS, cases=False)
    assert "On linux-6.1 with xfs 1 case is unknown: No f2fs." in told


def test_the_unknown_are_grouped_by_reason_the_most_frequent_first() -> None:
    results = [
        result("linux-5.10", verdict=Judgement.UNKNOWN, reason="A hang.\nwith a console"),
        result("linux-6.1", verdict=Judgement.UNKNOWN, reason="Nothing fired."),
        result("linux-6.12", verdict=Judgement.UNKNOWN, reason="Nothing fired."),
    ]
    assert summary(results, {}) == [
        "3 cases, and all are unknown.",
        "On linux-6.1 and linux-6.12 with xfs 2 cases are unknown: Nothing fired.",
        "On linux-5.10 with xfs 1 case is unknown: A hang.",
    ]


def test_one_case_has_its_own_grammar() -> None:
    assert summary([result()], {}) == ["1 case, and it conforms."]
    assert summary([], {}) == ["No case has a result."]


def test_only_what_differs_is_shown() -> None:
    assert differing(result(observed={"a": 1, "note": "x"}, expected={"a": 2, "c": 3})) == (
        {"a": 1},
        {"a": 2, "c": 3},
    )
    assert differing(result(observed={"a": 1}, expected={"a": 1})) == ({"a": 1}, {"a": 1})


def test_values_are_short_where_they_are_clear() -> None:
    values = {"errno": "EIO", "safe": True, "seen": [0, "EIO"], "said": "two words", "none": None}
    assert pairs(values) == 'errno=EIO, safe=true, seen=[0,"EIO"], said="two words", none=null'
    assert pairs({}) == pairs(None) == "nothing"


def test_kernels_are_in_the_order_of_their_versions() -> None:
    assert sorted(["linux-6.12", "linux-6.1", "linux-5.4", "linux-5.10"], key=natural) == [
        "linux-5.4",
        "linux-5.10",
        "linux-6.1",
        "linux-6.12",
    ]


def test_names_are_listed_as_in_a_sentence() -> None:
    assert [listed(names) for names in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]


@given(st.text())
def test_no_text_of_a_guest_reaches_the_terminal_as_a_command(text: str) -> None:
    assert visible(text).isprintable()
    assert first_line(text).isprintable()
