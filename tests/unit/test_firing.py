"""Did the fault fire? Histories of block completions, and what they prove."""

import pytest
from msgspec.structs import replace

from fsyncgate.check.firing import fired, strays, windows
from fsyncgate.history import Armed, BlockDone, Called, Event, Healed
from fsyncgate.model import Fault, Persistence

AT, CLOCK = 0.5, 4.25
DATA, JOURNAL, UNUSED = (266240, 8), (524288, 65536), (1046528, 2048)


def fault(operation: str, target: str, errno: str = "EIO") -> Fault:
    return Fault("a-fault", "", operation, target, errno, "dm", Persistence.UNTIL_HEALED, "")


def done(device: str, rwbs: str, sector: int, sectors: int = 8, error: str = "") -> BlockDone:
    return BlockDone(AT, CLOCK, device, rwbs, sector, sectors, error)


def armed(*sectors: tuple[int, int]) -> Armed:
    return Armed(AT, "a-fault", "data", list(sectors))


HEALED = Healed(AT, "a-fault")
FSYNC = Called(AT, "A", "fsync", {}, "EIO", 0.001)

FAILED = [done("fault", "WS", 266240, error="EIO"), done("volume", "WS", 266240, error="EIO")]
"""A write that fails in the fault, and the same write as it comes back above."""


# Windows


def test_a_window_lasts_from_arming_to_healing() -> None:
    before, within, after = (done("fault", "WS", sector) for sector in (0, 8, 16))
    opened, outside = windows([before, armed(DATA), FSYNC, within, HEALED, after])
    assert opened == [(armed(DATA), [within])]
    assert outside == [before, after]


def test_a_fault_that_lasts_for_ever_has_a_window_to_the_end() -> None:
    opened, outside = windows([armed(DATA), *FAILED])
    assert opened == [(armed(DATA), FAILED)]
    assert outside == []


def test_a_fault_that_is_armed_twice_has_two_windows() -> None:
    events: list[Event] = [armed(DATA), FAILED[0], HEALED, armed(JOURNAL), FAILED[1], HEALED]
    opened, _ = windows(events)
    assert opened == [(armed(DATA), [FAILED[0]]), (armed(JOURNAL), [FAILED[1]])]


def test_no_events_no_windows() -> None:
    assert windows([]) == ([], [])


# Errors in a place


def test_an_error_fires_once_however_many_devices_it_passes() -> None:
    assert fired(fault("write", "data"), armed(DATA), FAILED) == 1


def test_each_request_that_failed_counts() -> None:
    assert fired(fault("write", "data"), armed(DATA), FAILED * 3) == 3


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(done("fault", "WS", 266240), id="the write succeeded"),
        pytest.param(done("volume", "WS", 266240, error="EIO"), id="the error was not made in the fault"),
        pytest.param(done("disk", "WS", 266240, error="EIO"), id="the disk itself failed"),
        pytest.param(done("fault", "WS", 266240, error="ENOSPC"), id="another errno"),
        pytest.param(done("fault", "WS", 266248, error="EIO"), id="the sectors behind"),
        pytest.param(done("fault", "WS", 266232, error="EIO"), id="the sectors before"),
        pytest.param(done("fault", "FWS", 0, 0, error="EIO"), id="a flush"),
    ],
)
def test_what_is_no_firing(event: BlockDone) -> None:
    assert fired(fault("write", "data"), armed(DATA), [event]) == 0


@pytest.mark.parametrize(("sector", "sectors"), [(266232, 16), (266247, 8), (266242, 2), (0, 1048576)])
def test_a_request_that_touches_the_place_fires(sector: int, sectors: int) -> None:
    assert fired(fault("write", "data"), armed(DATA), [done("fault", "WS", sector, sectors, "EIO")]) == 1


def test_any_of_several_ranges_may_fire() -> None:
    second = done("fault", "WS", JOURNAL[0] + 72, error="EIO")
    assert fired(fault("write", "journal"), armed(DATA, JOURNAL), [second]) == 1


def test_a_read_of_the_bad_sectors_fails_as_well_and_is_no_stray() -> None:
    read = done("fault", "R", 266240, error="EIO")
    assert strays(fault("write", "data"), armed(DATA), [read]) == []


@pytest.mark.parametrize(
    "event",
    [
        done("fault", "WS", 0, error="EIO"),
        done("fault", "WS", 266240, error="ENODATA"),
        done("disk", "WS", 266240, error="EIO"),
        done("catcher", "FWS", 0, 0, error="EIO"),
    ],
)
def test_an_error_that_the_fault_did_not_make_is_a_stray(event: BlockDone) -> None:
    assert strays(fault("write", "data"), armed(DATA), [*FAILED, event]) == [event]


# A disk that takes no write at all

ANYWHERE = armed((0, 1048576))


@pytest.mark.parametrize(("rwbs", "sectors"), [("WS", 8), ("WFSM", 8), ("FWS", 0), ("FWFSM", 0), ("DS", 8)])
def test_every_write_and_flush_of_a_dead_disk_fires(rwbs: str, sectors: int) -> None:
    expected = 0 if rwbs == "DS" else 1
    event = done("fault", rwbs, 4096, sectors, error="EIO")
    assert fired(fault("write", "any"), ANYWHERE, [event]) == expected


def test_reads_of_a_dead_disk_work_so_an_error_of_one_is_a_stray() -> None:
    read = done("fault", "R", 4096, error="EIO")
    assert strays(fault("write", "any"), ANYWHERE, [read]) == [read]


# Flushes

FLUSH = fault("flush", "flush")
CAUGHT = [
    done("catcher", "FWS", 18446744073708505088, 0, "EIO"),
    done("fault", "FWS", 0, 0, "EIO"),
    done("volume", "FWS", 0, 0, "EIO"),
]


def test_a_flush_fires_where_it_is_caught() -> None:
    assert fired(FLUSH, armed(UNUSED), CAUGHT) == 1
    assert strays(FLUSH, armed(UNUSED), CAUGHT) == []


def test_a_flush_before_a_journal_block_whose_error_is_lost_above() -> None:
    lost = [CAUGHT[0], done("fault", "FWFSM", 524376, 0, "EIO"), done("volume", "WFSM", 524376)]
    assert fired(FLUSH, armed(UNUSED), lost) == 1
    assert strays(FLUSH, armed(UNUSED), lost) == []


def test_flushes_that_were_not_caught_did_not_fire() -> None:
    assert fired(FLUSH, armed(UNUSED), CAUGHT[1:]) == 0


def test_a_write_that_fails_while_only_flushes_should_is_a_stray() -> None:
    assert strays(FLUSH, armed(UNUSED), [*CAUGHT, FAILED[0]]) == [FAILED[0]]


# Writes that a lying disk throws away

LIES = fault("drop", "data", "")


def test_a_write_that_ended_well_and_is_missing_below_was_dropped() -> None:
    assert fired(LIES, armed(DATA), [done("fault", "WS", 266240), done("volume", "WS", 266240)]) == 1


def test_a_write_that_reached_the_disk_was_not_dropped() -> None:
    assert fired(LIES, armed(DATA), [done("disk", "WS", 266240), done("fault", "WS", 266240)]) == 0


def test_a_write_that_reached_the_disk_within_a_larger_request_was_not_dropped() -> None:
    assert fired(LIES, armed(DATA), [done("disk", "WS", 266232, 24), done("fault", "WS", 266240)]) == 0


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(done("fault", "R", 266240), id="a read"),
        pytest.param(done("fault", "FWS", 0, 0), id="a flush"),
        pytest.param(done("fault", "WS", 524360), id="a write elsewhere"),
        pytest.param(done("volume", "WS", 266240), id="a write that is seen above only"),
        pytest.param(done("fault", "WS", 266240, error="EIO"), id="a write that failed"),
    ],
)
def test_what_was_not_dropped(event: BlockDone) -> None:
    assert fired(LIES, armed(DATA), [event]) == 0


def test_a_lying_disk_reports_no_error_so_every_error_is_a_stray() -> None:
    assert strays(LIES, armed(DATA), FAILED) == FAILED


# Faults of the disk itself, made outside of the guest: no device-mapper above

DISK_FLUSH = replace(FLUSH, mechanism="blkdebug")
DISK_WRITE = replace(fault("write", "data"), mechanism="blkdebug")
WAITED = [done("disk", "FF", 0, 0, "EIO"), done("disk", "WSM", 0, 0, "EIO")]
"""A flush that fails, and the log block that asked for it."""


def test_a_disk_that_cannot_flush_fires_in_its_own_requests() -> None:
    assert fired(DISK_FLUSH, armed(UNUSED), WAITED) == 1


def test_a_write_that_waited_for_a_flush_fails_with_it() -> None:
    assert strays(DISK_FLUSH, armed(UNUSED), WAITED) == []
    assert strays(DISK_FLUSH, armed(UNUSED), WAITED[1:]) == WAITED[1:]


def test_a_disk_that_cannot_write_fires_in_its_own_requests() -> None:
    write = done("disk", "WS", 266232, 24, "EIO")
    assert fired(DISK_WRITE, armed(DATA), [write]) == 1
    assert strays(DISK_WRITE, armed(DATA), [write]) == []


def test_a_write_that_the_disk_fails_elsewhere_is_a_stray() -> None:
    write = done("disk", "WS", 8, error="EIO")
    assert strays(DISK_WRITE, armed(DATA), [write]) == [write]


# A request that device-mapper has split

MIDDLE = (266248, 8)
SPLIT = [done("fault", "WS", 266256, 8, "EIO"), done("volume", "WS", 266240, 24, "EIO")]
"""Three blocks, of which the second is bad: where they were split, only the last part is traced."""
HALF = (266244, 4)
TORN = [
    done("disk", "WS", 266240, 4),
    done("fault", "WS", 266244, 4),
    done("volume", "WS", 266240, 8),
]


def test_a_part_of_a_request_that_was_split_fires() -> None:
    assert fired(fault("write", "data"), armed(MIDDLE), SPLIT) == 1
    assert strays(fault("write", "data"), armed(MIDDLE), SPLIT) == []


@pytest.mark.parametrize(
    "above",
    [
        pytest.param(done("volume", "WS", 266240, 24), id="the whole has succeeded"),
        pytest.param(done("volume", "WS", 266240, 16, "EIO"), id="it ends elsewhere"),
        pytest.param(done("volume", "R", 266240, 24, "EIO"), id="it is a read"),
        pytest.param(done("disk", "WS", 266240, 24, "EIO"), id="it is the disk's"),
    ],
)
def test_a_request_that_failed_elsewhere_is_no_part_of_another(above: BlockDone) -> None:
    assert fired(fault("write", "data"), armed(MIDDLE), [SPLIT[0], above]) == 0
    assert SPLIT[0] in strays(fault("write", "data"), armed(MIDDLE), [SPLIT[0], above])


def test_half_a_block_was_dropped_if_the_disk_got_the_other() -> None:
    assert fired(LIES, armed(HALF), TORN) == 1


def test_a_block_that_came_to_the_disk_in_two_halves_was_not_dropped() -> None:
    assert fired(LIES, armed(HALF), [done("disk", "WS", *HALF), *TORN]) == 0


# A block that cannot be read


READ = replace(fault("read", "data"), mechanism="blkdebug")


def test_a_read_that_fails_fires_and_a_write_is_a_stray() -> None:
    read, write = (done("disk", rwbs, *DATA, error="EIO") for rwbs in ("RA", "WS"))
    assert fired(READ, armed(DATA), [read, write]) == 1
    assert strays(READ, armed(DATA), [read, write]) == [write]


# A SCSI disk that says why

MEDIUM = replace(fault("write", "data", "ENODATA"), mechanism="scsi")


def test_a_scsi_disk_fires_with_the_errno_of_what_it_said() -> None:
    write = done("disk", "WS", *DATA, error="ENODATA")
    assert fired(MEDIUM, armed(DATA), [write]) == 1
    assert strays(MEDIUM, armed(DATA), [write]) == []


def test_another_status_of_the_disk_is_a_stray() -> None:
    write = done("disk", "WS", *DATA, error="EIO")
    assert fired(MEDIUM, armed(DATA), [write]) == 0
    assert strays(MEDIUM, armed(DATA), [write]) == [write]
