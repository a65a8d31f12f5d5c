"""A plan in parts on several hosts, and the parts joined: the same as if nobody had parted it."""

import json
from typing import Any

import pytest
from tests.vm.conftest import KERNEL, OTHER, Host

pytestmark = pytest.mark.vm

WHAT = ("--fs", "xfs", "--scenario", "first_fsync", "--scenario", "retry", "--kernel", OTHER)


def said(host: Host, run: str) -> list[dict[str, Any]]:
    """Return the results in their order, without what depends on the hour."""
    lines = (host.folder / run / "results.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k not in {"seconds", "phases"}} for line in lines]


def test_two_parts_joined_are_the_run_that_nobody_parted(host: Host) -> None:
    status, whole = host.qualify(*WHAT, "--out", "whole")
    assert status == 0, whole.err
    for number in (1, 2):
        status, part = host.qualify(
            *WHAT, "--shard", f"{number}/2", "--times", "whole", "--out", f"part{number}"
        )
        assert status == 0, part.err
    first, second = said(host, "part1"), said(host, "part2")
    assert first
    assert second
    status, joined = host.run("fsyncgate", "merge", "part2", "part1", "--out", "joined")
    assert status == 0, joined.err
    assert said(host, "joined") == said(host, "whole") == first + second
    record = host.record("joined")
    assert record["planned"] == host.record("whole")["planned"]
    assert record["selection"]["shard"] == ""
    status, again = host.run("fsyncgate", "check", "joined")
    assert status == 0, again.err
    assert f"linux-{KERNEL}" in again.out


def test_parts_that_do_not_belong_together(host: Host) -> None:
    one = ("--fs", "xfs", "--scenario", "retry")
    assert host.qualify(*one, "--shard", "1/2", "--out", "part1")[0] == 0
    for runs, sentence in (
        (["part1"], "The part 2/2 of the plan is missing."),
        (["part1", "part1"], "The part 1/2 of the plan is there more than once."),
    ):
        status, command = host.run("fsyncgate", "merge", *runs, "--out", "joined")
        assert status == 2
        assert sentence in command.err
        assert not (host.folder / "joined").exists()
    status, command = host.qualify(*one, "--shard", "3/2")
    assert status == 2
    assert "'3/2' is no part of a plan." in command.err
