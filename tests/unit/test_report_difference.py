"""What two runs do differently: how their cases are paired, and what counts as a difference."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsyncgate.errors import UsageError
from fsyncgate.model import Judgement, KernelRecord, Result
from fsyncgate.report.difference import difference, headline, text


def result(
    kernel: str = "linux-6.1",
    scenario: str = "one",
    *,
    observed: dict[str, Any] | None = None,
    verdict: Judgement = Judgement.CONFORMS,
    safe: bool | None = None,
) -> Result:
    return Result(
        case=f"{kernel}/xfs/data-eio/reporting/{scenario}",
        scenario=f"reporting/{scenario}",
        kernel=KernelRecord(kernel, "", "", "", ""),
        filesystem="xfs",
        fault="data-eio",
        fired=1,
        observed=observed or {},
        expected=None,
        verdict=verdict,
        safe=safe,
        reason="Nothing fired.",
        because="",
        seconds=0.1,
    )


def test_one_kernel_each_is_compared_whatever_the_names() -> None:
    found = difference([result("linux-5.10", observed={"a": 1})], [result("linux-6.12", observed={"a": 2})])
    assert found.kernels == ("linux-5.10", "linux-6.12")
    assert len(found.changes) == 1
    assert headline(found) == "linux-5.10 -> linux-6.12: 1 case differs, 0 are the same."


def test_several_kernels_are_compared_each_with_itself() -> None:
    both = [result("linux-5.10"), result("linux-6.1")]
    found = difference(both, [result("linux-6.1", safe=False), result("linux-7.2")])
    assert [pair.a.kernel.id for pair in found.changes] == ["linux-6.1"]
    assert [one.kernel.id for one in found.only_a] == ["linux-5.10"]
    assert [one.kernel.id for one in found.only_b] == ["linux-7.2"]
    assert "linux-6.1/xfs/data-eio" in text(found)


def test_two_kernels_of_one_run() -> None:
    run = [result("linux-5.10", observed={"fsync": 0}), result("linux-6.1", observed={"fsync": "EIO"})]
    found = difference(run, run, ("linux-5.10", "linux-6.1"))
    assert text(found) == (
        "linux-5.10 -> linux-6.1: 1 case differs, 0 are the same.\n"
        "\n"
        "reporting/one\n"
        "  xfs/data-eio\n"
        "    linux-5.10: conforms: fsync=0\n"
        "    linux-6.1: conforms: fsync=EIO\n"
    )


CLEAN = """b595d2599632 ("btrfs: don't clear uptodate on write errors") (in v6.6)"""


def test_a_change_is_told_with_the_commit_that_made_it_or_visibly_without() -> None:
    def of(version: str, scenario: str, answer: str, because: str) -> Result:
        made = result(f"linux-{version}", scenario, observed={"hot": answer})
        kernel = msgspec.structs.replace(made.kernel, version=version)
        return msgspec.structs.replace(made, kernel=kernel, because=because)

    a = [of("6.1", "explained", "OLD", "It drops it."), of("6.1", "other", "OLD", "")]
    b = [of("6.12", "explained", "NEW", f"It keeps it. [{CLEAN}]"), of("6.12", "other", "NEW", "")]
    told = text(difference(a, b))
    assert told.count(f"    changed by {CLEAN}\n") == 1
    assert told.count("    no commit is known for this\n") == 1
    assert "Of these, 1 is the work of 1 commit and of 1 no commit is known.\n" in told
    # Of the same kernel in two runs no commit can be the reason.
    again = text(difference(a, [msgspec.structs.replace(one, verdict=Judgement.DEVIATES) for one in a]))
    assert "commit" not in again


def test_one_kernel_named_is_taken_from_both_runs() -> None:
    run = [result("linux-5.10"), result("linux-6.1")]
    found = difference(run, run, ["linux-6.1"])
    assert headline(found, ("old", "new")) == "old -> new: nothing differs, 1 is the same."


def test_a_verdict_alone_is_a_difference_and_unknown_is_none() -> None:
    a = [result(scenario="deviating"), result(scenario="unknown"), result(scenario="gone")]
    b = [
        result(scenario="deviating", verdict=Judgement.DEVIATES),
        result(scenario="unknown", verdict=Judgement.UNKNOWN),
    ]
    found = difference(a, b)
    assert [pair.b.scenario for pair in found.changes] == ["reporting/deviating"]
    assert text(found, ("old", "new")).endswith(
        "\nNot compared, as one side is unknown:\n"
        "  new: Nothing fired\n"
        "    linux-6.1/xfs/data-eio/reporting/unknown\n"
        "\nOnly in old:\n"
        "  linux-6.1/xfs/data-eio/reporting/gone\n"
    )


@pytest.mark.parametrize(
    ("a", "b", "kernels", "message"),
    [
        (["linux-5.10", "linux-5.4"], ["linux-6.1"], [], "no kernel in common"),
        (["linux-5.10"], ["linux-6.1"], ["linux-5.10"], "no kernel 'linux-5.10'. Hint: it has 'linux-6.1'"),
        (["linux-5.10"], ["linux-5.10"], ["linux-5.10", "linux-6.1"], "no kernel 'linux-6.1'"),
        (["linux-5.10"], ["linux-5.10"], ["a", "b", "c"], "two sides"),
    ],
)
def test_what_cannot_be_paired_is_refused(
    a: list[str], b: list[str], kernels: list[str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        difference([result(kernel) for kernel in a], [result(kernel) for kernel in b], kernels)


RUNS = st.lists(
    st.builds(
        result,
        st.sampled_from(["linux-5.10", "linux-6.1"]),
        st.sampled_from("abc"),
        observed=st.fixed_dictionaries({"fsync": st.integers(0, 1)}),
        verdict=st.sampled_from(Judgement),
    ),
    unique_by=lambda one: one.case,
    min_size=1,
)


@given(RUNS)
def test_a_run_does_not_differ_from_itself(run: list[Result]) -> None:
    found = difference(run, run)
    assert not found.changes and not found.only_a and not found.only_b


@given(RUNS, RUNS)
def test_every_result_is_accounted_for(a: list[Result], b: list[Result]) -> None:
    try:
        found = difference(a, b)
    except UsageError:
        return
    in_pairs = found.same + len(found.changes) + len(found.unknown)
    assert in_pairs + len(found.only_a) == len(a)
    assert in_pairs + len(found.only_b) == len(b)
