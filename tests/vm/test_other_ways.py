"""The other ways to learn of an error: each must be told apart from its opposite on the same path."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.vm.conftest import KERNEL, OTHER, Host, table

pytestmark = pytest.mark.vm

OPPOSITES = '''
def test_healthy_ring(volume, fault, observe):
    """Nothing fails: the same ring, the same flusher, and no error."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    flusher = volume.impatient_flusher()
    opened.write(NEW)
    observe(reason=flusher.wrote(file), ring=opened.fsync_by_io_uring(), raw=file.raw())
    observe(write=opened.write_by_io_uring(LATER), cold=file.cold())

def test_clean_and_dirty(volume, fault, observe):
    """The flusher comes by twice, its disk bad for one file: while that is clean, and when it is dirty."""
    file, neighbour = volume.file("f").filled_with(OLD), volume.file("neighbour").filled_with(OLD)
    opened = file.open()
    flusher = volume.impatient_flusher()
    with fault.on(file.data):
        neighbour.open().write(NEW)
        observe(neighbour=flusher.wrote(neighbour), clean=opened.fsync(), failed=fault.fired)
        opened.write(NEW)
        observe(reason=flusher.wrote(file), dirty=opened.fsync())

def test_seen_by_another_ring(volume, fault, observe):
    """What a copy of the open file has heard through a ring, the ring of the original is not told again."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    copy, other = opened.dup(), file.open()
    opened.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    observe(copy=copy.fsync_by_io_uring(), opened=opened.fsync_by_io_uring(), other=other.fsync())
'''

SWITCHED_OFF = '''
def test_ring_switched_off(volume, fault, observe):
    """A kernel whose administrator wants no io_uring."""
    actor = volume.process.actor
    file = actor.call("openat", -100, "/proc/sys/kernel/io_uring_disabled", 1, 0)
    if file.ok:
        actor.call("write", file.value, b"2", 1).must("switch io_uring off")
    observe(ring=volume.file("f").filled_with(OLD).open().fsync_by_io_uring())
'''
TABLES = (
    table("healthy_ring", 'reason = "periodic"\nring = 0\nraw = "NEW"\nwrite = 4096\ncold = "LATER"'),
    table(
        "clean_and_dirty",
        'neighbour = "periodic"\nclean = 0\nfailed = 0\nreason = "periodic"\ndirty = "EIO"',
        fault="data-eio",
    ),
    table("seen_by_another_ring", 'copy = "EIO"\nopened = 0\nother = "EIO"', fault="data-eio"),
)


def events(host: Host, out: str, case: str) -> Iterator[dict[str, Any]]:
    """Return the history of a case."""
    lines = (host.folder / out / "cases" / case / "history.jsonl").read_text().splitlines()
    return map(json.loads, lines)


def test_rings_and_flushers_tell_an_error_from_none(host: Host) -> None:
    own = host.scenarios(OPPOSITES, *TABLES)
    status, command = host.run("pytest", own, "-q", "--kernel", KERNEL, "--fs", "xfs", "--out", "run")
    assert status == 0, command.out
    seen = list(events(host, "run", host.results("run")["healthy_ring"]["case"]))
    (written,) = (event for event in seen if event["event"] == "inode-written" and event["pages"])
    (asked,) = (event for event in seen if event.get("call") == "io_uring FSYNC")
    assert written["task"].startswith("kworker/")
    assert written["at"] < asked["at"]
    assert not [event for event in seen if event["event"].startswith("error-")]


def test_io_uring_that_is_switched_off_is_unknown_with_the_reason(host: Host) -> None:
    own = host.scenarios(SWITCHED_OFF, table("ring_switched_off", "ring = 0"))
    only = ("--fs", "ext4-ordered", "--kernel", "6.12", "--out", "run")
    status, command = host.run("pytest", own, "-q", *only)
    assert status == 3, command.out
    result = host.results("run")["ring_switched_off"]
    assert result["verdict"] == "unknown"
    assert "io_uring_disabled" in result["reason"]


def test_the_flusher_and_the_watcher_meet_the_error_before_and_after_fsync(host: Host) -> None:
    asked = ("--scenario", "background_writeback", "--scenario", "watched_journal_error")
    status, command = host.qualify("--kernel", OTHER, "--fs", "ext4-ordered", *asked, "--out", "run")
    assert status == 0, command.out
    for kernel in (KERNEL, OTHER):
        seen = list(
            events(host, "run", f"linux-{kernel}/ext4-ordered/data-eio/reporting/background_writeback")
        )
        order = [event["event"] for event in seen]
        calls = [number for number, event in enumerate(seen) if event.get("call") == "fsync"]
        assert order.index("armed") < order.index("error-recorded") < order.index("healed") < calls[0]
        writer = next(event for event in seen if event["event"] == "inode-written" and event["pages"])
        assert writer["task"].startswith("kworker/")
        assert [seen[number]["result"] for number in calls] == ["EIO", 0, "EIO"]
        watched = f"linux-{kernel}/ext4-ordered/journal-eio/reporting/watched_journal_error"
        told = [event for event in events(host, "run", watched) if event.get("call") == "fanotify read"]
        assert [event["arguments"]["told"] for event in told] == [[], ["EIO: the file system"]]
