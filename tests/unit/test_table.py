"""device-mapper tables: cut up in any way, they cover the device once, in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsyncgate.storage.table import Range, Segment, carved, failing, flaky, linear, waiting, without

SECTORS = 1000
DISK = "254:0"


@st.composite
def ranges(draw: st.DrawFn) -> list[Range]:
    """Draw ranges of a device of SECTORS sectors: they may touch, overlap and come in any order."""
    starts = draw(st.lists(st.integers(0, SECTORS - 1), max_size=8))
    return [(start, draw(st.integers(1, SECTORS - start))) for start in starts]


def sectors_of(pieces: list[Range]) -> set[int]:
    return {sector for start, length in pieces for sector in range(start, start + length)}


def test_a_linear_table_is_one_line() -> None:
    assert linear(DISK, SECTORS) == [Segment(0, 1000, "linear", "254:0 0")]


def test_bad_sectors_in_the_middle_are_an_error_target_between_two_linear_ones() -> None:
    assert failing(DISK, SECTORS, [(96, 8)]) == [
        Segment(0, 96, "linear", "254:0 0"),
        Segment(96, 8, "error"),
        Segment(104, 896, "linear", "254:0 104"),
    ]


def test_a_flaky_range_is_down_for_ever_and_lies_where_it_lay() -> None:
    assert flaky(DISK, SECTORS, [(992, 8)], "drop_writes") == [
        Segment(0, 992, "linear", "254:0 0"),
        Segment(992, 8, "flakey", "254:0 992 0 1 1 drop_writes"),
    ]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([(8, 8), (16, 8)], id="touching"),
        pytest.param([(8, 10), (16, 8)], id="overlapping"),
        pytest.param([(8, 16), (10, 2)], id="one inside the other"),
        pytest.param([(16, 8), (8, 8)], id="the last first"),
        pytest.param([(8, 16), (8, 16)], id="twice the same"),
    ],
)
def test_ranges_that_meet_become_one_target(pieces: list[Range]) -> None:
    assert failing(DISK, 32, pieces) == [
        Segment(0, 8, "linear", "254:0 0"),
        Segment(8, 16, "error"),
        Segment(24, 8, "linear", "254:0 24"),
    ]


def test_the_whole_device_needs_no_linear_target() -> None:
    assert failing(DISK, SECTORS, [(0, SECTORS)]) == [Segment(0, 1000, "error")]


@given(ranges())
def test_a_table_covers_the_device_once_and_in_order(bad: list[Range]) -> None:
    table = failing(DISK, SECTORS, bad)
    ends = [segment.start + segment.length for segment in table]
    assert [segment.start for segment in table] == [0, *ends[:-1]]
    assert ends[-1] == SECTORS
    assert all(segment.length > 0 for segment in table)


@given(ranges())
def test_just_the_sectors_that_were_named_fail(bad: list[Range]) -> None:
    errors = [(s.start, s.length) for s in failing(DISK, SECTORS, bad) if s.target == "error"]
    assert sectors_of(errors) == sectors_of(bad)


@given(ranges())
def test_every_other_sector_stays_where_it_was(bad: list[Range]) -> None:
    for segment in failing(DISK, SECTORS, bad):
        if segment.target == "linear":
            assert segment.parameters == f"{DISK} {segment.start}"


@pytest.mark.parametrize("bad", [(0, 0), (8, -1), (-8, 16), (992, 9), (1000, 1)])
def test_a_range_that_is_empty_or_leaves_the_device_is_refused(bad: Range) -> None:
    with pytest.raises(
        ValueError, match=rf"sectors {bad[0]} \+ {bad[1]} are not on a device of 1000 sectors"
    ):
        carved(DISK, SECTORS, [(0, 8), bad], lambda start, length: Segment(start, length, "error"))


def test_what_is_left_without_a_hole() -> None:
    assert without([(0, 100), (200, 8)], [(90, 120), (10, 5)]) == [(0, 10), (15, 75)]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), max_size=5), ranges())
def test_without_takes_out_the_holes_and_nothing_else(
    gaps: list[tuple[int, int]], holes: list[Range]
) -> None:
    pieces: list[Range] = []
    position = 0
    for gap, length in gaps:
        pieces.append((position + gap, length))
        position += gap + length
    assert sectors_of(without(pieces, holes)) == sectors_of(pieces) - sectors_of(holes)


def test_requests_to_a_place_wait_and_flushes_as_long_as_told() -> None:
    assert waiting(DISK, 32, [(8, 8)], 3_600_000, flush=0) == [
        Segment(0, 8, "linear", "254:0 0"),
        Segment(8, 8, "delay", "254:0 8 3600000 254:0 8 3600000 254:0 8 0"),
        Segment(16, 16, "linear", "254:0 16"),
    ]
