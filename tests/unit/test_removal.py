"""A disk that was taken away: what proves it, and who is found guilty when it is back."""

import pytest
from msgspec.structs import replace

from fsyncgate.catalogue import all_scenarios, faults
from fsyncgate.check.firing import fired, strays, windows
from fsyncgate.check.judge import judge
from fsyncgate.history import (
    Armed,
    Began,
    BlockDone,
    Called,
    DiskBack,
    DiskGone,
    Ended,
    Event,
    Healed,
    Observed,
)
from fsyncgate.inject.mechanisms import MECHANISMS
from fsyncgate.inject.removal import WAYS
from fsyncgate.model import Judgement, KernelRecord, Verdict

REMOVAL = faults()["removal-virtio-scsi"]
PULLED = all_scenarios()["removal/pulled_with_dirty_data"]
PROMISED = all_scenarios()["removal/acknowledged_and_present"]

KERNEL = KernelRecord("linux-6.12", "6.12.107", "6.12.107", "linux-image", "0" * 64)
BEGAN = Began(0.0, "linux-6.12/xfs/removal-virtio-scsi/removal/pulled_with_dirty_data", KERNEL, {})
ARMED = Armed(0.6, "removal-virtio-scsi", "any", [(0, 1048576)])
GONE = DiskGone(0.6, "sda")
REFUSED = BlockDone(0.6, 5.7, "removed", "W", 266240, 8, "ENODEV")
FIRST = Called(0.7, "A", "fsync", {"file": "/mnt/f", "fd": 3}, "ENODEV", 0.001)
SECOND = Called(0.7, "A", "fsync", {"file": "/mnt/f", "fd": 3}, "EIO", 0.001)
TOLD = Observed(0.7, {"first": "ENODEV", "second": "EIO", "syncfs": "EIO", "close": 0})
BACK = DiskBack(0.8, "sdb")
HEALED = Healed(0.8, "removal-virtio-scsi")
LATE = BlockDone(0.9, 5.9, "removed", "WS", 0, 8, "EIO")
"""The file system without a disk is unmounted, and would like to write its superblock."""
COLD = Observed(0.9, {"cold": "OLD"})
ENDED = Ended(1.0)

STORY: tuple[Event, ...] = (
    BEGAN, ARMED, GONE, REFUSED, FIRST, SECOND, TOLD, BACK, HEALED, LATE, COLD, ENDED
)  # fmt: skip
"""A disk is pulled out with a dirty block on it; XFS says so twice; the block is not on the disk."""


def verdict(*events: Event) -> Verdict:
    return judge(events, PULLED, REMOVAL, "xfs")


def without(*left_out: Event) -> tuple[Event, ...]:
    return tuple(event for event in STORY if event not in left_out)


def instead(old: Event, new: Event) -> tuple[Event, ...]:
    return tuple(new if event == old else event for event in STORY)


def test_a_disk_that_was_pulled_out_and_a_file_system_that_says_so() -> None:
    found = verdict(*STORY)
    assert (found.verdict, found.fired, found.safe) == (Judgement.CONFORMS, 1, True)


def test_a_removal_that_the_guest_did_not_notice_proves_nothing() -> None:
    found = verdict(*without(GONE))
    assert (found.verdict, found.reason) == (Judgement.UNKNOWN, "the fault never fired")


def test_the_removal_counts_even_if_no_request_failed() -> None:
    assert verdict(*without(REFUSED, LATE)).verdict is Judgement.CONFORMS


def test_a_disk_that_answers_after_it_was_pulled_out_is_found_guilty() -> None:
    """fsync has answered 0, the disk is plugged in again, and the data is not there."""
    lie = replace(TOLD, values=TOLD.values | {"first": 0, "second": 0})
    found = verdict(*instead(TOLD, lie))
    assert found.verdict is Judgement.DEVIATES
    assert found.reason == "'first' is 0, expected 'ENODEV'; 'second' is 0, expected 'EIO'"


@pytest.mark.parametrize("version", ["5.10.223", "6.1.176", "6.12.107", "6.18.15", "7.2.13"])
@pytest.mark.parametrize("filesystem", ["ext4-ordered", "ext4-journal", "xfs", "btrfs"])
@pytest.mark.parametrize("fault", PROMISED.faults)
def test_no_kernel_may_say_yes_to_data_that_is_absent(version: str, filesystem: str, fault: str) -> None:
    """Whatever a kernel's habits are: an fsync that answered 0 and whose data is gone deviates."""
    began = replace(BEGAN, kernel=replace(KERNEL, version=version))
    for acknowledged in range(1, 7):
        lost = Observed(0.9, {"acknowledged": acknowledged, "present": acknowledged - 1})
        story = (began, ARMED, GONE, BACK, HEALED, lost, ENDED)
        assert judge(story, PROMISED, faults()[fault], filesystem).verdict is Judgement.DEVIATES


def test_only_the_removed_disk_may_fail() -> None:
    other = replace(REFUSED, device="disk")
    assert strays(REMOVAL, ARMED, [GONE, REFUSED, other]) == [other]
    found = verdict(*instead(REFUSED, other))
    assert (found.verdict, found.reason) == (
        Judgement.UNKNOWN,
        "a request failed outside of the fault: ENODEV, W at sector 266240 of 'disk'",
    )


def test_what_the_removed_disk_refuses_after_the_healing_is_no_news() -> None:
    assert windows(STORY) == ([(ARMED, [GONE, REFUSED])], [])
    new = replace(LATE, device="disk")
    assert (
        verdict(*instead(LATE, new)).reason
        == "a request failed (EIO, WS at sector 0) while no fault was armed"
    )


def test_what_a_driver_asks_a_new_disk_is_nobodys_data() -> None:
    asked = BlockDone(0.8, 5.8, "disk", "N", 0, 0, "EREMOTEIO")
    assert strays(REMOVAL, ARMED, [GONE, asked]) == []


def test_a_request_that_fails_is_not_yet_a_removal() -> None:
    assert fired(REMOVAL, ARMED, [REFUSED]) == 0
    assert fired(REMOVAL, ARMED, [GONE, REFUSED]) == 1


def test_every_way_of_removal_has_its_fault() -> None:
    removals = {fault.mechanism for fault in faults().values() if fault.operation == "remove"}
    assert removals == set(WAYS) <= set(MECHANISMS)
