"""Kernel versions: their order, ranges of them, and where they are read from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsyncgate.errors import CatalogueError
from fsyncgate.kernels.versions import matches, parse, upstream

numbers = st.integers(0, 999)
releases = st.builds("{}.{}.{}".format, numbers, numbers, numbers)
versions = releases | st.builds("{}.{}-rc{}".format, numbers, numbers, st.integers(1, 9))


@pytest.mark.parametrize(
    ("older", "newer"),
    [("4.4.0", "4.14"), ("5.10.223", "6.1"), ("6.9", "6.12"), ("7.3-rc4", "7.3"), ("7.2.13", "7.3-rc1")],
)
def test_order(older: str, newer: str) -> None:
    assert parse(older) < parse(newer)


def test_a_missing_patch_number_is_0() -> None:
    assert parse("6.12") == parse("6.12.0")


@pytest.mark.parametrize(
    ("version", "ranges", "inside"),
    [
        ("6.1.176", (), True),
        ("6.1.176", (">=5.10,<6.0",), False),
        ("5.10.223", (">=5.10,<6.0",), True),
        ("6.1.176", (">=5.10,<6.0", ">=6.1"), True),
        ("6.1.176", ("==6.1",), False),
        ("6.1.176", (">= 6.1, < 6.2",), True),
        ("7.3-rc4", (">=7.3",), False),
        ("7.3-rc4", (">7.2", "<5.0"), True),
        ("6.12", ("<=6.12.0",), True),
    ],
)
def test_ranges(version: str, ranges: tuple[str, ...], inside: bool) -> None:
    assert matches(version, ranges) is inside


@pytest.mark.parametrize("broken", ["", "6.1", "=>6.1", ">=6", ">=6.1,", ">=6.1.*", ">=six", "~=6.1"])
def test_a_broken_range_is_named_even_beside_one_that_matches(broken: str) -> None:
    with pytest.raises(CatalogueError, match=r"version range .* is broken"):
        matches("6.1.1", (">=6.0", broken))


@given(versions, versions)
def test_one_of_less_equal_greater_holds(a: str, b: str) -> None:
    assert sum(matches(a, (f"{operator}{b}",)) for operator in ("<", "==", ">")) == 1


@given(versions, versions)
def test_a_range_and_its_complement_split_the_versions(a: str, b: str) -> None:
    assert matches(a, (f">={b}",)) is not matches(a, (f"<{b}",))


@given(versions, versions, versions)
def test_parts_of_a_range_all_hold_and_of_ranges_any(a: str, low: str, high: str) -> None:
    above, below = matches(a, (f">={low}",)), matches(a, (f"<{high}",))
    assert matches(a, (f">={low},<{high}",)) is (above and below)
    assert matches(a, (f">={low}", f"<{high}")) is (above or below)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("5.10.223-1", "5.10.223"),
        ("6.12.94-1~bpo12+1", "6.12.94"),
        ("6.12.48+deb13-1", "6.12.48"),
        ("7.3~rc7-1~exp1", "7.3-rc7"),
        ("7.3-1~exp1", "7.3"),
        ("1:6.1.4-1", "6.1.4"),
        ("6.1.0-50-cloud-amd64", "6.1.0"),
        ("7.2.13+deb14-cloud-amd64", "7.2.13"),
        ("6.8.0-rc3-00012-gdeadbeef", "6.8.0-rc3"),
        ("6.17.0+", "6.17.0"),
    ],
)
def test_the_upstream_version_in_debians(text: str, version: str) -> None:
    assert upstream(text) == version
    parse(upstream(text))


@pytest.mark.parametrize("text", ["", "6", "next-20261120", "20260101-1"])
def test_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="does not begin with a kernel version"):
        upstream(text)
