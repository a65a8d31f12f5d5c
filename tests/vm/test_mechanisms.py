"""The same fault by two mechanisms: the same answers, or a difference that docs/faults.md explains."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.vm.conftest import Host

from fsyncgate.catalogue import all_scenarios
from fsyncgate.model import Scenario

PAIRS = {
    "data-eio": "disk-data-eio",
    "any-write-eio": "disk-any-write-eio",
    "flush-eio": "disk-flush-eio",
    "inode-eio": "disk-inode-eio",
}
"""Faults that device-mapper makes in the guest, and the same made by QEMU outside of it."""

EXPLAINED = {
    ("failed_flush", "ext4-ordered"): {"committing"},
    ("failed_flush", "ext4-journal"): {"committing"},
    ("failed_flush", "xfs"): {"committing", "healed"},
    ("one_of_three_blocks", "ext4-ordered"): {"first", "third"},
    ("one_of_three_blocks", "xfs"): {"first", "third"},
}
"""What the two may answer differently: device-mapper loses the error of a flush before a write, so that a
journal is committed which the bare disk would have aborted; and it splits a request which that fails whole.
"""

pytestmark = pytest.mark.vm

Results = dict[str, dict[str, Any]]


def asked_by_both() -> Iterator[tuple[Scenario, str, str]]:
    """Return every scenario that is asked with both faults of a pair, and the pair."""
    for scenario in all_scenarios().values():
        for inside, outside in PAIRS.items():
            if {inside, outside} <= set(scenario.faults):
                yield scenario, inside, outside


@pytest.fixture
def results(host: Host) -> Results:
    """Every case of those, by its id."""
    asked = list(asked_by_both())
    names = [part for scenario, *_ in asked for part in ("--scenario", scenario.id)]
    faults = [part for _, *pair in asked for fault in pair for part in ("--fault", fault)]
    status, command = host.qualify(*names, *faults, "-j", "2", "--out", "pairs")
    assert status == 0, command.out + command.err
    return {result["case"]: result for result in command.results}


def test_two_mechanisms_give_the_same_answers_or_differ_as_explained(results: Results) -> None:
    differing: dict[tuple[str, str], set[str]] = {}
    compared = set[str]()
    for scenario, inside, outside in asked_by_both():
        compared.add(inside)
        for case, one in results.items():
            kernel, filesystem, fault, _, name = case.split("/")
            if (fault, f"{scenario.id}") == (inside, one["scenario"]):
                other = results[f"{kernel}/{filesystem}/{outside}/{scenario.id}"]
                assert one["fired"]
                assert other["fired"]
                if unlike := {
                    key for key in one["observed"] if one["observed"][key] != other["observed"][key]
                }:
                    differing[name, filesystem] = unlike
    assert compared == set(PAIRS)
    assert differing == EXPLAINED


def test_the_disk_s_own_errno_is_seen_below_and_told_above(host: Host) -> None:
    scenario = ("--scenario", "errno_of_the_disk", "--fault", "medium-error")
    status, command = host.qualify(
        *scenario, "--kernel", "6.12", "--fs", "xfs", "--fs", "ext4-ordered", "--out", "x"
    )
    assert status == 0, command.out + command.err
    told = {(one["kernel"]["id"], one["filesystem"]): one["observed"]["first"] for one in command.results}
    assert told == {
        ("linux-6.1", "xfs"): "ENODATA",
        ("linux-6.12", "xfs"): "ENODATA",
        ("linux-6.1", "ext4-ordered"): "EIO",
        ("linux-6.12", "ext4-ordered"): "ENODATA",
    }
    for result in command.results:
        case = host.folder / "x" / "cases" / result["case"]
        events = [json.loads(line) for line in (case / "history.jsonl").read_text().splitlines()]
        assert {one["error"] for one in events if one["event"] == "block"} == {"", "ENODATA"}
        assert "Sense Key : Medium Error" in (case / "console.log").read_text()
