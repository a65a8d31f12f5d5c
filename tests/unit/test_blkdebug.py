"""What QEMU is told to fail, and with which errno."""

import errno

import pytest
from msgspec.structs import replace

from fsyncgate.inject.blkdebug import counting, failing
from fsyncgate.model import Fault, Persistence
from fsyncgate.storage.place import Place

TWO_PAGES = Place("data", ((80, 8), (160, 8)))


def fault(operation: str, target: str = "data", number: str = "EIO") -> Fault:
    return Fault("a-fault", "", operation, target, number, "blkdebug", Persistence.UNTIL_HEALED, "")


@pytest.mark.parametrize("operation", ["write", "read"])
def test_each_page_has_a_rule_for_one_kind_of_request(operation: str) -> None:
    rules = failing(fault(operation), TWO_PAGES)
    assert [(rule["iotype"], rule["sector"]) for rule in rules] == [(operation, 80), (operation, 160)]


def test_a_long_place_has_a_rule_for_each_page_of_it() -> None:
    assert [rule["sector"] for rule in failing(fault("write"), Place("data", ((0, 24),)))] == [0, 8, 16]


def test_a_disk_that_writes_nothing_fails_writes_and_flushes_wherever_they_go() -> None:
    rules = failing(fault("write", "any"), Place("any", ((0, 1024),)))
    assert [rule["iotype"] for rule in rules] == ["write", "flush"]
    assert not any("sector" in rule for rule in rules)


@pytest.mark.parametrize(
    ("name", "number"),
    [("EIO", errno.EIO), ("ENODATA", errno.ENODATA), ("ENOSPC", errno.ENOSPC), ("EBADE", errno.EBADE)],
)
def test_the_errno_is_the_fault_s(name: str, number: int) -> None:
    assert {rule["errno"] for rule in failing(fault("write", number=name), TWO_PAGES)} == {number}


def test_a_fault_that_lasts_fails_every_request() -> None:
    assert not any(rule["once"] for rule in failing(fault("write"), TWO_PAGES))


def test_what_blkdebug_cannot_do_has_no_rules() -> None:
    assert failing(fault("drop"), TWO_PAGES) == []


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_nth_write_fails_alone(n: int) -> None:
    """Play QEMU's part: an event is met by the rules of the state before it, then the state changes."""
    nth = replace(fault("write", "any"), nth=n)
    state, failed = 1, list[int]()
    for write in range(1, 6):
        failed += [write for rule in failing(nth, TWO_PAGES) if rule["state"] == state]
        state = next((rule["new_state"] for rule in counting(nth) if rule["state"] == state), state)
    assert failed == [n]
    assert [rule["once"] for rule in failing(nth, TWO_PAGES)] == [True]


def test_nothing_is_counted_without_a_number() -> None:
    assert counting(fault("write", "any")) == []
