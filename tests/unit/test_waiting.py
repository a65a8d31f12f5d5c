"""Did requests wait? Histories of a disk that hangs, or is slow, and what they prove."""

import pytest

from fsyncgate.check.firing import fired, strays, windows
from fsyncgate.check.judge import judge
from fsyncgate.check.waiting import Traced, too_soon
from fsyncgate.guest.rest import done as disk_done
from fsyncgate.guest.rest import functions, runnable
from fsyncgate.history import Armed, Began, BlockDone, BlockQueued, Ended, Event, Healed, LetGo, Observed
from fsyncgate.model import Expectation, Fault, Judgement, KernelRecord, Persistence, Scenario
from fsyncgate.storage.table import SLOW_MS

AT = 0.5
DATA = [(266240, 8)]


def fault(operation: str, target: str) -> Fault:
    return Fault("a-fault", "", operation, target, "", "dm", Persistence.UNTIL_HEALED, "")


HANG, HANG_ALL, SLOW = fault("hang", "data"), fault("hang", "any"), fault("slow", "any")
ARMED = Armed(AT, "a-fault", "data", DATA)
ARMED_ALL = Armed(AT, "a-fault", "any", [(0, 1048576)])
LET_GO, HEALED = LetGo(AT, "a-fault"), Healed(AT, "a-fault")


def queued(sector: int = 266240, sectors: int = 8, rwbs: str = "WS", clock: float = 4.0) -> BlockQueued:
    return BlockQueued(AT, clock, "fault", rwbs, sector, sectors)


def done(
    sector: int = 266240, sectors: int = 8, rwbs: str = "WS", clock: float = 5.0, error: str = ""
) -> BlockDone:
    return BlockDone(AT, clock, "fault", rwbs, sector, sectors, error)


# A place that hangs


def test_a_request_that_ends_only_after_it_was_let_go_has_waited() -> None:
    assert fired(HANG, ARMED, [queued(), LET_GO, done()]) == 1


def test_a_request_that_never_ends_has_waited() -> None:
    assert fired(HANG, ARMED, [queued()]) == 1


def test_a_request_that_ended_while_the_fault_was_armed_has_not_waited_and_is_found_guilty() -> None:
    traced: list[Traced] = [queued(), done(), LET_GO]
    assert fired(HANG, ARMED, traced) == 0
    assert too_soon(HANG, ARMED, traced) == [done()]


def test_of_two_requests_one_may_be_guilty() -> None:
    traced: list[Traced] = [queued(), queued(266244, 2), done(266244, 2), LET_GO, done()]
    assert fired(HANG, ARMED, traced) == 1
    assert too_soon(HANG, ARMED, traced) == [done(266244, 2)]


def test_a_request_that_came_when_the_others_were_let_go_has_not_waited() -> None:
    traced: list[Traced] = [LET_GO, queued(), done()]
    assert fired(HANG, ARMED, traced) == 0
    assert too_soon(HANG, ARMED, traced) == []


@pytest.mark.parametrize(
    ("sector", "sectors", "rwbs"), [(266248, 8, "WS"), (266232, 8, "WS"), (0, 0, "FWS"), (524288, 8, "WFSM")]
)
def test_requests_elsewhere_go_on(sector: int, sectors: int, rwbs: str) -> None:
    traced: list[Traced] = [queued(sector, sectors, rwbs), done(sector, sectors, rwbs), LET_GO]
    assert fired(HANG, ARMED, traced) == 0
    assert too_soon(HANG, ARMED, traced) == []


def test_a_request_of_which_a_part_hangs_ends_with_its_last_part() -> None:
    traced: list[Traced] = [queued(266240, 16), LET_GO, done(266248, 8)]
    assert fired(HANG, ARMED, traced) == 1
    assert too_soon(HANG, ARMED, traced) == []


def test_the_end_of_a_read_is_not_the_end_of_a_write() -> None:
    traced: list[Traced] = [queued(), done(rwbs="R"), LET_GO, done()]
    assert fired(HANG, ARMED, traced) == 1


@pytest.mark.parametrize(("sectors", "rwbs"), [(8, "WS"), (8, "R"), (0, "FWS")])
def test_reads_writes_and_flushes_of_a_disk_that_hangs_all_wait(sectors: int, rwbs: str) -> None:
    assert fired(HANG_ALL, ARMED_ALL, [queued(4096 if sectors else 0, sectors, rwbs)]) == 1


def test_an_error_of_a_disk_that_hangs_is_a_stray() -> None:
    failed = done(error="EIO")
    assert strays(HANG, ARMED, [queued(), LET_GO, failed]) == [failed]


def test_a_request_that_was_under_way_before_belongs_to_no_window() -> None:
    ((_, traced),), outside = windows([queued(), done(), ARMED, queued(), LET_GO, done(), HEALED])
    assert traced == [queued(), LET_GO, done()]
    assert outside == [done()]


def test_a_request_that_was_held_when_the_fault_was_armed_goes_on_into_it() -> None:
    ((armed, traced),), _ = windows([queued(), ARMED, LET_GO, done(), HEALED])
    assert fired(HANG, armed, traced) == 1


def test_of_a_request_that_does_not_even_end_when_it_is_let_go_nothing_is_known() -> None:
    assert fired(HANG, ARMED, [queued(), LET_GO]) == 0


# A slow disk


@pytest.mark.parametrize(("seconds", "slow"), [(SLOW_MS / 1000, 1), (0.03, 1), (1.0, 1), (0.002, 0)])
def test_a_slow_disk_is_told_by_the_kernels_own_clock(seconds: float, slow: int) -> None:
    traced: list[Traced] = [queued(), done(clock=4.0 + seconds), LET_GO]
    assert fired(SLOW, ARMED_ALL, traced) == slow
    assert too_soon(SLOW, ARMED_ALL, traced) == []


def test_a_request_that_is_still_under_way_does_not_show_that_a_disk_is_slow() -> None:
    assert fired(SLOW, ARMED_ALL, [queued()]) == 0


# Verdicts


def verdict(*events: Event, of: Fault = HANG) -> tuple[Judgement, str]:
    record = KernelRecord("linux-6.1", "", "6.1.176", "", "")
    began = Began(0.0, "linux-6.1/xfs/a-fault/hanging/x", record, {})
    scenario = Scenario("hanging/x", "?", ("a-fault",), (), (Expectation({"fsync": 0}, "a test."),))
    said = judge([began, *events, Observed(AT, {"fsync": 0}), Ended(AT)], scenario, of, "xfs")
    return said.verdict, said.reason


def test_a_hang_that_was_seen_conforms() -> None:
    assert verdict(ARMED, queued(), LET_GO, done(), HEALED) == (Judgement.CONFORMS, "")


def test_a_hang_that_nobody_met_is_unknown() -> None:
    assert verdict(ARMED, LET_GO, HEALED) == (Judgement.UNKNOWN, "the fault never fired")


def test_a_hang_that_let_somebody_through_is_unknown() -> None:
    reason = "a request was answered that should have waited: no error, WS at sector 266240"
    assert verdict(ARMED, queued(), queued(), done(), LET_GO, HEALED) == (Judgement.UNKNOWN, reason)


# Rest


@pytest.mark.parametrize(("load", "tasks"), [("0.00 0.01 0.05 1/78 123\n", 1), ("3.10 0.4 0.1 12/301 9", 12)])
def test_who_can_run_is_read_from_the_load(load: str, tasks: int) -> None:
    assert runnable(load) == tasks


def test_where_a_process_sleeps_is_read_from_its_stack() -> None:
    stack = "[<0>] folio_wait_bit_common+0x13e/0x350\n[<0>] ext4_sync_file+0x1a1/0x370 [ext4]\n"
    assert functions(stack) == ["folio_wait_bit_common", "ext4_sync_file"]


def test_of_a_disks_counters_those_of_time_are_left_out() -> None:
    text = (
        "      10        1       82       19       12        7      136       14        1    30064       36\n"
    )
    assert disk_done(text) == {"reads": 10, "writes": 12, "in flight": 1}
    newer = f"{text.strip()} 3 0 0 0 5 2\n"
    assert disk_done(newer) == {"reads": 10, "writes": 12, "in flight": 1, "discards": 3, "flushes": 5}
