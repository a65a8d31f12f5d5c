"""What a thin pool says of itself, and when its lack of space counts as having fired."""

import pytest

from fsyncgate import catalogue
from fsyncgate.check.firing import fired, strays
from fsyncgate.check.waiting import Traced, too_soon
from fsyncgate.errors import GuestError
from fsyncgate.history import Armed, BlockDone, BlockQueued, LetGo
from fsyncgate.storage.thinpool import free_blocks

FULL = catalogue.faults()["thin-pool-full"]
QUEUEING = catalogue.faults()["thin-pool-full-queueing"]
ARMED = Armed(0.0, "thin-pool-full", "space", [(0, 1 << 20)])


def ended(rwbs: str, error: str, *, device: str = "fault", sectors: int = 8) -> BlockDone:
    return BlockDone(0.0, 0.0, device, rwbs, 4096, sectors, error)


@pytest.mark.parametrize(
    ("status", "free"),
    [
        ("0 113/1024 4/64 - rw discard_passdown queue_if_no_space - 256 ", 60),
        ("0 113/1024 64/64 - out_of_data_space discard_passdown error_if_no_space - 256 ", 0),
    ],
)
def test_a_pool_tells_its_free_blocks(status: str, free: int) -> None:
    assert free_blocks(status) == free


@pytest.mark.parametrize("status", ["Fail", "Error", ""])
def test_a_pool_that_failed_has_none_to_tell(status: str) -> None:
    with pytest.raises(GuestError, match="thin pool is broken"):
        free_blocks(status)


def test_a_write_to_the_thin_volume_that_found_no_room_is_a_firing() -> None:
    done = [ended("WS", "ENOSPC"), ended("WS", ""), ended("WFSM", "ENOSPC")]
    assert fired(FULL, ARMED, done) == 2
    assert not strays(FULL, ARMED, done)


@pytest.mark.parametrize(
    "event",
    [
        ended("R", "ENOSPC"),
        ended("WS", "EIO"),
        ended("WS", "ENOSPC", device="disk"),
        ended("FWS", "ENOSPC", sectors=0),
    ],
)
def test_a_read_a_flush_another_errno_or_another_device_is_none(event: BlockDone) -> None:
    assert fired(FULL, ARMED, [event]) == 0
    assert strays(FULL, ARMED, [event]) == [event]


def queued(sector: int) -> BlockQueued:
    return BlockQueued(0.0, 0.0, "fault", "WS", sector, 8)


def test_only_a_write_that_had_not_ended_when_the_pool_grew_has_waited() -> None:
    has_room: list[Traced] = [queued(4096), ended("WS", "")]
    assert fired(QUEUEING, ARMED, [*has_room, LetGo(0.0, QUEUEING.id)]) == 0
    waits: list[Traced] = [
        *has_room,
        queued(8192),
        LetGo(0.0, QUEUEING.id),
        BlockDone(0.0, 0.0, "fault", "WS", 8192, 8, ""),
    ]
    assert fired(QUEUEING, ARMED, waits) == 1
    assert not too_soon(QUEUEING, ARMED, waits)
