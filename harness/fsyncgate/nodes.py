"""A case as pytest has it: its node id, and the result that its report carries from process to process."""

import re

import msgspec
import pytest

from fsyncgate.model import Result

RESULT = "fsyncgate"
"""The name under which a report carries a result from a worker."""

_NODE = re.compile(r"::test_(?P<name>\w+)\[(?P<case>[^/\]]+/[^/\]]+/[^/\]]+/[^/\]]+/(?P=name))\]$")


def carry(report: pytest.TestReport, result: Result) -> None:
    """Put a result into a report, which takes it from a worker to the controlling process."""
    report.user_properties = [*report.user_properties, (RESULT, msgspec.json.encode(result).decode())]


def results_of(report: pytest.TestReport) -> list[Result]:
    """Return the result that a report carries, if it does."""
    return [
        msgspec.json.decode(str(value), type=Result)
        for name, value in report.user_properties
        if name == RESULT
    ]


def case_of(nodeid: str) -> str:
    """Return the id of the case that a pytest node id stands for, or the empty string if it is none."""
    found = _NODE.search(nodeid)
    return found["case"] if found else ""
