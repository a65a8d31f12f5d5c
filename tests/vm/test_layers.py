"""What stands between the application and the disk: what it hides, and how the history shows it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.vm.conftest import Host

pytestmark = pytest.mark.vm


def asked(host: Host, *options: str) -> dict[str, dict[str, Any]]:
    """Return the results of a run in which everything conformed, by the name of the scenario."""
    status, command = host.qualify(*options, "--out", "run")
    assert status == 0, command.out + command.err
    return host.results("run")


def events(host: Host, result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the history of a case."""
    lines = (host.folder / "run" / "cases" / result["case"] / "history.jsonl").read_text().splitlines()
    return map(json.loads, lines)


def test_an_overlay_hides_from_syncfs_what_the_file_system_below_it_tells(host: Host) -> None:
    result = asked(host, "--fs", "overlay", "--scenario", "overlay_syncfs")["overlay_syncfs"]
    assert (result["observed"]["by_directory"], result["observed"]["below"]) == (0, "EIO")
    assert result["observed"]["fsync_after"] == "EIO"
    assert result["safe"] is False
    told = [event["inode"] for event in events(host, result) if event["event"] == "error-reported"]
    recorded = {event["inode"] for event in events(host, result) if event["event"] == "error-recorded"}
    assert recorded == set(told)


def test_a_volatile_overlay_syncs_nothing_and_never_forgets_an_error(host: Host) -> None:
    only = ("--scenario", "overlay_fsync", "--scenario", "overlay_opened_later")
    results = asked(host, "--fs", "overlay-volatile", *only)
    fsync = list(events(host, results["overlay_fsync"]))
    begun = next(n for n, event in enumerate(fsync) if event.get("call") == "write")
    asked_for = next(n for n, event in enumerate(fsync) if event.get("call") == "fsync")
    assert fsync[asked_for]["result"] == 0
    assert not [event for event in fsync[begun:asked_for] if event["event"] == "block"]
    assert results["overlay_fsync"]["observed"]["raw"] == "OLD"
    observed = results["overlay_opened_later"]["observed"]
    assert [observed["second"], observed["rewritten"], observed["cold"]] == ["EIO", "EIO", "NEW"]


def test_the_last_close_of_a_device_fails_silently(host: Host) -> None:
    result = asked(host, "--fs", "raw", "--scenario", "device_last_close")["device_last_close"]
    history = list(events(host, result))
    failed = next(n for n, event in enumerate(history) if event.get("error") == "EIO")
    (closed,) = (n for n, event in enumerate(history) if event.get("call") == "close")
    assert failed < closed
    assert history[closed]["result"] == 0
    assert result["observed"]["opened_again"] == "EIO"


def test_a_full_thin_pool_fails_what_has_no_room_or_lets_it_wait(host: Host) -> None:
    only = ("--scenario", "thin_pool_full", "--scenario", "thin_pool_that_makes_wait")
    results = asked(host, "--fs", "xfs", *only)
    full, waits = results["thin_pool_full"], results["thin_pool_that_makes_wait"]
    assert {event["error"] for event in events(host, full) if event.get("error")} == {"ENOSPC"}
    assert (full["observed"]["first"], full["observed"]["cold"]) == ("ENOSPC", "NOTHING")
    history = list(events(host, waits))
    assert not [event for event in history if event.get("error")]
    grew = next(n for n, event in enumerate(history) if event["event"] == "let-go")
    answered = next(n for n, event in enumerate(history) if event.get("call") == "fsync")
    assert grew < answered
    assert (waits["observed"]["grown"], waits["observed"]["cold"]) == (0, "NEW")
