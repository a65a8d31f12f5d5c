"""Parts of a plan: every case in one of them, and none much longer than another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsyncgate.errors import UsageError
from fsyncgate.model import Case
from fsyncgate.sharding import Shard, parse, part

CASES = [Case(f"reporting/s{number}", "linux-6.1", "xfs", "data-eio") for number in range(40)]


@given(
    st.integers(1, 12),
    st.dictionaries(st.sampled_from([case.id for case in CASES]), st.floats(0.01, 500)),
    st.integers(0, 40),
)
def test_every_case_is_in_exactly_one_part_and_the_order_is_kept(
    of: int, seconds: dict[str, float], count: int
) -> None:
    cases = CASES[:count]
    parts = [part(cases, Shard(number, of), seconds) for number in range(1, of + 1)]
    assert [case for one in parts for case in one] == cases


@given(st.integers(1, 8), st.lists(st.floats(0.1, 10), min_size=40, max_size=40))
def test_no_part_is_longer_than_its_share_by_more_than_one_case(of: int, times: list[float]) -> None:
    seconds = {case.id: time for case, time in zip(CASES, times, strict=True)}
    share = sum(times) / of
    for number in range(1, of + 1):
        mine = sum(seconds[case.id] for case in part(CASES, Shard(number, of), seconds))
        assert abs(mine - share) <= max(times) + 1e-6


def test_a_long_case_weighs_what_it_takes() -> None:
    seconds = {case.id: 1.0 for case in CASES} | {CASES[0].id: 39.0}
    assert part(CASES, Shard(1, 2), seconds) == CASES[:1]


def test_a_case_that_nobody_timed_counts_like_a_usual_one() -> None:
    seconds = {case.id: 2.0 for case in CASES[:20]}
    assert part(CASES, Shard(1, 2), seconds) == CASES[:20]


@pytest.mark.parametrize("text", ["0/5", "6/5", "5", "a/b", "1/0", "-1/5", "1/5/2", "1/9999"])
def test_what_is_no_part_of_anything(text: str) -> None:
    with pytest.raises(UsageError, match="is no part of a plan"):
        parse(text)


def test_it_is_read_as_it_is_written() -> None:
    assert str(parse("2/5")) == "2/5"
