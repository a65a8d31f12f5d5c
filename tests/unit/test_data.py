"""The blocks that scenarios write, and the names of what is read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsyncgate.data import BLOCK, LATER, NEW, OLD, SECTOR, STALE, ZEROS, name, pattern

NAMES = {"OLD": OLD, "NEW": NEW, "LATER": LATER, "STALE": STALE, "ZEROS": ZEROS}


@pytest.mark.parametrize("known", NAMES)
def test_a_block_is_called_by_its_name(known: str) -> None:
    assert len(NAMES[known]) == BLOCK
    assert name(NAMES[known]) == known


def test_no_two_blocks_look_the_same() -> None:
    assert len(set(NAMES.values())) == len(NAMES)


def test_a_block_says_what_it_is_wherever_one_looks_into_it() -> None:
    assert OLD[: 2 * 16] == b"OLD            \n" * 2
    assert {OLD[at : at + 16] for at in range(0, BLOCK, 16)} == {b"OLD            \n"}


def test_nothing_is_read_past_the_end_of_a_file() -> None:
    assert name(b"") == "NOTHING"


@given(st.integers(1, BLOCK - 1))
def test_a_block_that_was_written_in_part_has_no_name(written: int) -> None:
    assert name(NEW[:written]) == "OTHER"
    torn = NEW[:written] + OLD[written:]
    if torn in {NEW, OLD}:
        assert name(torn) in {"NEW", "OLD"}
    else:
        between = torn in {NEW[:at] + OLD[at:] for at in range(0, BLOCK, SECTOR)}
        assert name(torn) == ("TORN" if between else "OTHER")


def test_zeros_may_be_a_part_of_a_torn_block() -> None:
    assert name(NEW[:SECTOR] + ZEROS[SECTOR:]) == "TORN"


def test_two_blocks_are_not_one_that_is_torn() -> None:
    assert name(NEW + OLD) == "OTHER"


def test_a_pattern_of_any_name_fills_a_block() -> None:
    assert len(pattern("A")) == len(pattern("FIFTEEN LETTERS")) == BLOCK
