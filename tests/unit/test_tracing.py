"""Lines of the guest's trace_pipe, as kernels from 5.10 on write them."""

import errno

import pytest

from fsyncgate.guest.actor import Actor, Answer
from fsyncgate.guest.arguments import Argument
from fsyncgate.guest.pages import Cached
from fsyncgate.guest.tracing import KernelEvent, Parser, Tracer
from fsyncgate.history import (
    BlockDone,
    BlockQueued,
    ErrorRecorded,
    ErrorReported,
    InodeWritten,
    TraceLost,
    WritebackBegan,
)

DEVICES = {"254,0": "disk", "253,0": "fault", "253,1": "volume"}


def events(*lines: str, cached: Cached | None = None) -> list[KernelEvent]:
    parser = Parser(lambda: DEVICES, cached or Cached())
    return parser.events("".join(f"{line}\n" for line in lines), at=1.5)


def event(line: str) -> KernelEvent:
    (found,) = events(line)
    return found


# Requests that come


def test_a_request_that_comes_to_the_fault() -> None:
    assert event(
        "            init-94      [000] .....     5.993911: block_bio_queue: 253,0 WS 266240 + 16 [init]"
    ) == BlockQueued(at=1.5, clock=5.993911, device="fault", rwbs="WS", sector=266240, sectors=16)


def test_a_flush_that_comes_is_nowhere() -> None:
    found = event("  kworker/0:1-11 [000] ..... 5.1: block_bio_queue: 253,0 FWFSM 524376 + 0 [kworker/0:1]")
    assert isinstance(found, BlockQueued)
    assert (found.rwbs, found.sector, found.sectors) == ("FWFSM", 0, 0)


def test_requests_that_come_elsewhere_are_left_out() -> None:
    assert events("  init-94  [000] .....  5.9: block_bio_queue: 253,1 WS 266240 + 8 [init]") == []


# Requests that ended


def test_a_write_that_failed() -> None:
    assert event(
        "            init-90      [000] .....     4.250083: block_bio_complete: 253,0 WS 266240 + 8 [-5]"
    ) == BlockDone(at=1.5, clock=4.250083, device="fault", rwbs="WS", sector=266240, sectors=8, error="EIO")


def test_a_write_that_succeeded_has_no_error() -> None:
    found = event("  <idle>-0   [000] d.h2.     5.387966: block_bio_complete: 253,1 WSM 524360 + 8 [0]")
    assert isinstance(found, BlockDone)
    assert (found.device, found.rwbs, found.error) == ("volume", "WSM", "")


def test_a_flush_has_no_sectors() -> None:
    found = event(" init-90 [000] .....     6.525128: block_bio_complete: 253,0 FWS 0 + 0 [0]")
    assert isinstance(found, BlockDone)
    assert (found.rwbs, found.sector, found.sectors) == ("FWS", 0, 0)


@pytest.mark.parametrize(
    "line",
    [
        "block_bio_complete: 253,0 FWS 18446744073708505088 + 0 [-5]",
        "block_bio_complete: 253,0 FWFSM 524376 + 0 [-5]",
        "block_rq_complete: 254,0 FF () 18446744073709551615 + 0 [-5]",
    ],
)
def test_a_flush_is_nowhere_whatever_sector_is_written_beside_it(line: str) -> None:
    found = event(f"            init-90      [000] .....     6.525120: {line}")
    assert isinstance(found, BlockDone)
    assert (found.sector, found.sectors, found.error) == (0, 0, "EIO")


@pytest.mark.parametrize(
    ("kernel", "line"),
    [
        ("5.10", "<idle>-0  [000] ..s.  4.276760: block_rq_complete: 254,0 WS () 524360 + 16 [0]"),
        ("6.12", "<idle>-0  [000] d.h2.  4.276760: block_rq_complete: 254,0 WS () 524360 + 16 be,0,3 [0]"),
        ("7.0", "<idle>-0  [000] d.h2.  4.276760: block_rq_complete: 254,0 WS () 524360 + 16 none,0,0 [0]"),
    ],
)
def test_the_disk_ends_requests_which_may_be_several_bios(kernel: str, line: str) -> None:
    assert event("          " + line) == BlockDone(1.5, 4.27676, "disk", "WS", 524360, 16, ""), kernel


@pytest.mark.parametrize(
    ("number", "name"), [(-5, "EIO"), (-28, "ENOSPC"), (-61, "ENODATA"), (-84, "EILSEQ"), (-9999, "9999")]
)
def test_errors_have_the_names_of_their_errno(number: int, name: str) -> None:
    found = event(f" init-90 [000] .....     4.25: block_bio_complete: 253,0 W 8 + 8 [{number}]")
    assert isinstance(found, BlockDone)
    assert found.error == name


def test_other_disks_are_left_out() -> None:
    assert events(" init-90 [000] .....     4.25: block_bio_complete: 8,0 WS 266240 + 8 [-5]") == []


def test_devices_may_come_and_go_between_two_texts() -> None:
    devices = dict(DEVICES)
    parser = Parser(lambda: devices, Cached())
    line = " init-90 [000] .....     6.5: block_bio_complete: 253,2 FWS 0 + 0 [-5]\n"
    assert parser.events(line, 0.0) == []
    devices["253,2"] = "catcher"
    assert [found.device for found in parser.events(line, 0.0) if isinstance(found, BlockDone)] == ["catcher"]


# errseq_t


def test_the_kernel_notes_an_error_in_an_inode() -> None:
    assert event(
        "  init-81  [000] ....     4.250955: filemap_set_wb_err: dev=253:1 ino=0xc errseq=0x5"
    ) == ErrorRecorded(at=1.5, clock=4.250955, inode=12, errseq=5)


def test_the_kernel_tells_an_open_file() -> None:
    assert event(
        "  init-141 [000] .N.1.     5.379218: file_check_and_advance_wb_err: "
        "file=00000000f1c1169f dev=253:1 ino=0xc old=0x0 new=0x1005"
    ) == ErrorReported(at=1.5, clock=5.379218, file="00000000f1c1169f", inode=12, old=0, new=0x1005)


# The page cache

ADDED = {
    "5.10": "dev 253:1 ino c page=ffffd7a8807dea40 pfn=12345 ofs=4096",
    "5.17": "dev 253:1 ino c page=00000000e27d1f2c pfn=0x3039 ofs=4096",
    "6.12": "dev 253:1 ino c pfn=0x3039 ofs=4096 order=0",
}


@pytest.mark.parametrize("kernel", ADDED)
def test_a_page_that_came_into_the_cache_has_a_number_and_is_no_event(kernel: str) -> None:
    cached = Cached()
    line = f" init-81 [000] ....  4.2: mm_filemap_add_to_page_cache: {ADDED[kernel]}"
    assert events(line, cached=cached) == []
    assert cached.number(inode=12, index=1) == 12345
    assert cached.number(inode=12, index=0) is None


@pytest.mark.parametrize("kernel", ADDED)
def test_a_page_that_left_the_cache_has_none(kernel: str) -> None:
    cached = Cached()
    events(
        f" init-81 [000] ....  4.2: mm_filemap_add_to_page_cache: {ADDED[kernel]}",
        f" init-81 [000] ....  4.3: mm_filemap_delete_from_page_cache: {ADDED[kernel]}",
        cached=cached,
    )
    assert cached.number(inode=12, index=1) is None


def test_a_large_folio_is_a_run_of_pages() -> None:
    cached = Cached()
    where = "dev 253:1 ino 103 pfn=0x1a2b0 ofs=16384 order=2"
    events(f" init-9 [000] .....  4.2: mm_filemap_add_to_page_cache: {where}", cached=cached)
    assert [cached.number(0x103, index) for index in range(3, 9)] == [
        None, 0x1A2B0, 0x1A2B1, 0x1A2B2, 0x1A2B3, None,
    ]  # fmt: skip
    events(f" init-9 [000] .....  4.3: mm_filemap_delete_from_page_cache: {where}", cached=cached)
    assert cached.number(0x103, 4) is None


def test_a_page_that_came_back_has_its_new_number() -> None:
    cached = Cached()
    for number in ("0x10", "0x20"):
        line = f"dev 253:1 ino c pfn={number} ofs=0 order=0"
        events(f" init-9 [000] .....  4.2: mm_filemap_add_to_page_cache: {line}", cached=cached)
    assert cached.number(12, 0) == 0x20


# What is no event of ours


def test_lost_events_are_an_event() -> None:
    assert event("CPU:0 [LOST 317 EVENTS]") == TraceLost(1.5, "CPU:0 [LOST 317 EVENTS]")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# tracer: nop",
        "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION",
        " init-90 [000] .....     4.25: ext4_sync_file_enter: dev 253,1 ino 12 parent 2 datasync 0 ",
        pytest.param(" init-90 [000] .....     4.25: block_bio_comp", id="cut off in the name"),
        pytest.param(" init-90 [000] .....     4.25: block_bio_complete: 253,0 WS 2662", id="cut off later"),
    ],
)
def test_other_lines_say_nothing(line: str) -> None:
    assert events(line) == []


def test_events_keep_their_order() -> None:
    found = events(
        "  init-81 [000] ....     4.250083: block_bio_complete: 253,0 WS 266240 + 8 [-5]",
        "  init-81 [000] ....     4.250158: block_bio_complete: 253,1 WS 266240 + 8 [-5]",
        "CPU:0 [LOST 2 EVENTS]",
        "  init-81 [000] ....     4.250955: filemap_set_wb_err: dev=253:1 ino=0xc errseq=0x5",
        "  init-81 [000] ....     4.251399: file_check_and_advance_wb_err: "
        "file=ffff8ff541d06900 dev=253:1 ino=0xc old=0x0 new=0x1005",
    )
    assert [type(one) for one in found] == [BlockDone, BlockDone, TraceLost, ErrorRecorded, ErrorReported]


# The pipe, which ends a read wherever it likes


class Piped(Actor):
    """An actor whose trace_pipe gives these pieces; None: nothing there for now."""

    def __init__(self, *pieces: bytes | None) -> None:
        self.pieces = list(pieces)

    def call(
        self,
        name: str,
        *_: Argument,
        timeout: float | None = None,  # noqa: ARG002
        align: int = 0,  # noqa: ARG002
    ) -> Answer:
        if name != "read":
            return Answer(3, 0)
        if (piece := self.pieces.pop(0)) is None:
            return Answer(-1, errno.EAGAIN)
        return Answer(len(piece), 0, (piece.ljust(65536, b"\0"),))


def test_a_line_that_comes_in_two_pieces_is_read_when_it_is_whole() -> None:
    line = b" init-90 [000] .....     4.25: block_bio_complete: 253,0 WS 266240 + 8 [-5]\n"
    pipe = Piped(line[:60], None, line[60:70], line[70:] + line[:5], None, line[5:], None)
    tracer = Tracer(pipe, Parser(lambda: DEVICES, Cached()), 3)
    assert tracer.drain(0.1) == []
    assert [found.at for found in tracer.drain(0.2)] == [0.2]
    assert [found.at for found in tracer.drain(0.3)] == [0.3]


def test_an_empty_pipe_says_nothing() -> None:
    assert Tracer(Piped(None), Parser(lambda: DEVICES, Cached()), 3).drain(0.0) == []


# What flushers do


def test_a_flusher_says_why_it_writes() -> None:
    assert event(
        "    kworker/u2:1-28 [000] .....     4.787786: writeback_start: bdi 253:1: sb_dev 0:0 nr_pages=2 "
        "sync_mode=0 kupdate=1 range_cyclic=1 background=0 reason=periodic cgroup_ino=1"
    ) == WritebackBegan(at=1.5, clock=4.787786, task="kworker/u2:1", reason="periodic")


@pytest.mark.parametrize("task", ["kworker/u2:1", "kworker/u2:1-events_unbound", "agent"])
def test_an_inode_is_written_by_a_task(task: str) -> None:
    assert event(
        f"    {task}-28 [000] .....     4.789413: writeback_single_inode: bdi 253:1: ino=12 state=I_SYNC "
        "dirtied_when=4294893486 age=0 index=1 to_write=8191 wrote=1 cgroup_ino=1"
    ) == InodeWritten(at=1.5, clock=4.789413, task=task, inode=12, pages=1)
