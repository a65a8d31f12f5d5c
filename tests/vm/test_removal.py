"""Disks that are taken away while they are mounted, by every way, with the kernel's own evidence."""

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tests.vm.conftest import KERNEL, Host, table

pytestmark = pytest.mark.vm

FULL = "6.1-full"
"""The kernel that has USB storage."""


def told(host: Host, out: str, case: str) -> Iterator[dict[str, Any]]:
    """Return the history of a case."""
    history = host.folder / out / "cases" / case / "history.jsonl"
    return map(json.loads, history.read_text().splitlines())


def kinds(story: list[dict[str, Any]]) -> list[str]:
    """Return what happened to the disk, in order."""
    return [
        event["event"] for event in story if event["event"] in {"armed", "disk-gone", "disk-back", "healed"}
    ]


def refused(story: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the failed requests of file systems to the disk that was taken away."""
    return [
        event
        for event in story
        if event["event"] == "block"
        and event["device"] == "removed"
        and event["error"]
        and event["rwbs"] != "N"
    ]


@pytest.mark.parametrize("way", ["scsi-delete", "virtio-scsi"])
def test_a_scsi_disk_is_pulled_out_with_dirty_data(host: Host, way: str) -> None:
    scenario = "removal/pulled_with_dirty_data"
    only = (
        "--scenario",
        scenario,
        "--fault",
        f"removal-{way}",
        "--fs",
        "ext4-ordered",
        "--fs",
        "ext4-journal",
    )
    status, command = host.qualify(*only, "--out", "x")
    assert status == 0, command.out + command.err
    by_filesystem = {result["filesystem"]: result for result in command.results}
    ordered, journal = by_filesystem["ext4-ordered"], by_filesystem["ext4-journal"]
    assert (ordered["observed"]["first"], ordered["observed"]["cold"]) == ("EIO", "OLD")
    assert (journal["observed"]["first"], journal["observed"]["cold"]) == (0, "OLD")
    assert (ordered["safe"], journal["safe"]) == (True, False)

    story = list(told(host, "x", f"linux-6.1/ext4-ordered/removal-{way}/{scenario}"))
    assert kinds(story) == ["armed", "disk-gone", "disk-back", "healed"]
    gone, back = (next(e["name"] for e in story if e["event"] == kind) for kind in ("disk-gone", "disk-back"))
    assert gone != back  # the dead file system still holds the old one
    assert {event["error"] for event in refused(story)} <= {"ENODEV", "EIO"}
    assert any("W" in event["rwbs"] and event["sectors"] == 8 for event in refused(story))
    assert any(event["event"] == "error-recorded" for event in story)


def test_a_virtio_disk_is_detached_in_order_and_keeps_what_it_was_given(host: Host) -> None:
    only = ("--scenario", "detached_in_order", "--fs", "ext4-ordered", "--fs", "btrfs")
    status, command = host.qualify(*only, "--out", "x")
    assert status == 0, command.out + command.err
    cold = {result["filesystem"]: result["observed"]["cold"] for result in command.results}
    assert cold == {"ext4-ordered": "NEW", "btrfs": "OLD"}

    case = "linux-6.1/ext4-ordered/removal-virtio-blk/removal/detached_in_order"
    story = list(told(host, "x", case))
    assert kinds(story) == ["armed", "disk-gone", "disk-back", "healed"]
    written = [e for e in story if e["event"] == "block" and e["device"] == "removed" and not e["error"]]
    assert any("W" in event["rwbs"] and event["sectors"] for event in written)


def test_a_usb_stick_is_pulled_out_while_fsync_waits_for_it(host: Host) -> None:
    if not any("cloud" not in found.name for found in (host.cache / "kernels").glob("6.1.*-amd64-*")):
        pytest.skip(f"The kernel '{FULL}' is not in the cache. Hint: fsyncgate kernels fetch {FULL}")
    only = ("--fault", "removal-usb", "--scenario", "pulled_during_fsync", "--fs", "ext4-ordered")
    status, command = host.qualify(*only, "--out", "x", kernel=FULL)
    assert status == 0, command.out + command.err
    (result,) = command.results
    assert result["observed"] == {"first": "EIO", "second": "EIO"}
    story = list(told(host, "x", result["case"]))
    assert kinds(story) == ["armed", "disk-gone", "disk-back", "healed"]
    page, fsync = (
        next(e for e in story if e["event"] == kind and e.get("call", "fsync") == "fsync")
        for kind in ("page", "call")
    )
    gone = next(e for e in story if e["event"] == "disk-gone")
    assert "writeback" in page["flags"]
    assert story.index(page) < story.index(gone) < story.index(fsync)


CUT_SHORT = """
def test_cut_short(volume, fault, observe):
    volume.file("f").filled_with(OLD)
    with fault.on(volume.whole_disk):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_of_a_removal_is_left_on_the_host(host: Host) -> None:
    temporary = host.folder / "temporary"
    temporary.mkdir()
    host.environ["TMPDIR"] = str(temporary)
    own = host.scenarios(CUT_SHORT, table("cut_short", fault="removal-virtio-scsi"))
    command = host.start("pytest", own, "--kernel", KERNEL, "--fs", "ext4-ordered", "--out", "run")
    assert command.wait() == -signal.SIGKILL
    assert (list(temporary.iterdir()), command.machines()) == ([], [])
