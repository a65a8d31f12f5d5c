"""docs/faults.md says of every fault what it is and which mechanism makes it; here it is held to that."""

import re
from pathlib import Path

import pytest

from fsyncgate.catalogue import faults

PAGE = (Path(__file__).parents[2] / "docs" / "faults.md").read_text()
FAULTS = {
    fault.id: fault
    for fault in faults().values()
    if fault.id.removesuffix(f"-{fault.persistence}") == fault.id
}
"""Each file once, whatever its persistences."""
MADE = {name: fault for name, fault in FAULTS.items() if fault.operation != "none"}
_NAMED = re.compile(r"`([\w-]+)`")


def table(heading: str, first: str) -> list[list[str]]:
    """Return the rows of the table below a heading whose first column is called `first`, its head as well."""
    text = PAGE.partition(f"\n{heading}\n")[2] if heading else PAGE
    rows = re.search(rf"^\| {re.escape(first)} \|.*\n(?:\|.*\n)+", text, re.MULTILINE)
    assert rows, f"docs/faults.md has no table '{first}' below '{heading}'"
    lines = [line.strip("|\n").split("|") for line in rows[0].splitlines()]
    return [[cell.strip() for cell in line] for line in lines if line[0].strip("-")]


def named(cell: str) -> list[str]:
    """Return the faults that a cell names."""
    return [name for name in _NAMED.findall(cell) if name in FAULTS]


WHERE = "## Which mechanism reaches which fault"
REACHED = table(WHERE, "what fails")
COLUMNS = [_NAMED.findall(cell) for cell in REACHED[0]]
"""The mechanisms at the head of each column."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_explained(name: str) -> None:
    explained = [row[0] for row in table("", "fault")[1:]]
    assert explained.count(f"`{name}`") == 1, f"the first table of docs/faults.md needs one row for `{name}`"


@pytest.mark.parametrize("name", MADE)
def test_a_fault_stands_in_the_column_of_its_mechanism(name: str) -> None:
    mechanism = MADE[name].mechanism
    found = [
        (row[0], mechanism in heads)
        for row in REACHED[1:]
        for cell, heads in zip(row[1:], COLUMNS[1:], strict=True)
        if re.match(rf"(`[\w-]+`, )*`{re.escape(name)}`", cell)
    ]
    assert [there for _, there in found] == [True], (
        f"'{WHERE}' in docs/faults.md must name `{name}` once, in the column of `{mechanism}`, foremost"
    )


def test_every_mechanism_says_what_it_needs() -> None:
    told = {name for row in table(WHERE, "mechanism")[1:] for name in _NAMED.findall(row[0])}
    assert told >= {fault.mechanism for fault in MADE.values()}


def test_no_fault_is_told_of_that_there_is_not() -> None:
    explained = {name for row in table("", "fault")[1:] for name in _NAMED.findall(row[0])}
    assert explained == set(FAULTS)


def test_every_cell_of_the_table_says_something() -> None:
    for row in REACHED[1:]:
        assert all(row)
        assert len(row) == len(REACHED[0])
