"""The guest kernel's own record: block completions and errseq_t, from tracefs.

Formats: include/trace/events/block.h and include/trace/events/filemap.h.
"""

import errno
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import Out
from fsyncgate.guest.constants import AT_FDCWD, O_NONBLOCK, O_RDONLY
from fsyncgate.guest.files import write_file
from fsyncgate.guest.pages import Cached
from fsyncgate.history import (
    BlockDone,
    BlockQueued,
    ErrorRecorded,
    ErrorReported,
    InodeWritten,
    TraceLost,
    WritebackBegan,
)

TRACEFS = "/sys/kernel/tracing"
BLOCK = ("block/block_bio_complete", "block/block_rq_complete")
"""The first tells of device-mapper's devices, the second of the disk: each end is traced once, by whoever
has made requests of it (blk_update_request() in block/blk-mq.c clears BIO_TRACE_COMPLETION).
"""
QUEUED = "block/block_bio_queue"
"""Where a request begins to wait; switched on only for faults that make requests wait."""
WAITED_AT = {"fault", "disk"}
"""The roles of the devices at which it is told: where requests wait, in the guest or outside of it."""
ERRSEQ = ("filemap/filemap_set_wb_err", "filemap/file_check_and_advance_wb_err")
"""These came with errseq_t in v4.13; before it there is nothing to read."""
CACHE = ("filemap/mm_filemap_add_to_page_cache", "filemap/mm_filemap_delete_from_page_cache")

WRITEBACK = ("writeback/writeback_start", "writeback/writeback_single_inode")
"""What flushers do; switched on by the scenario that asks for it."""

PIPE = "trace_pipe"
"""The note of the guest's descriptor from which the trace is read."""
PREPARED = (BLOCK, ERRSEQ, CACHE, "the pipe is open")
"""What `prepare` does, in words that change when that does."""

KernelEvent = (
    BlockDone | BlockQueued | ErrorRecorded | ErrorReported | InodeWritten | TraceLost | WritebackBegan
)

_TASK = re.compile(r"\s*(?P<task>.+)-\d+\s+\[")
_LINE = re.compile(r"\s(?P<clock>\d+\.\d+): (?P<name>\w+): (?P<rest>.*)$")
_BLOCK = re.compile(
    r"(?P<device>\d+,\d+) (?P<rwbs>\w+) .*?(?P<sector>\d+) \+ (?P<sectors>\d+) (?:\S+ )?\[(?P<error>-?\d+)\]"
)
_QUEUED = re.compile(r"(?P<device>\d+,\d+) (?P<rwbs>\w+) (?P<sector>\d+) \+ (?P<sectors>\d+) ")
_SET = re.compile(r"dev=\S+ ino=0x(?P<inode>[0-9a-f]+) errseq=0x(?P<errseq>[0-9a-f]+)")
_ADVANCE = re.compile(
    r"file=(?P<file>\S+) dev=\S+ ino=0x(?P<inode>[0-9a-f]+) old=0x(?P<old>[0-9a-f]+) new=0x(?P<new>[0-9a-f]+)"
)
_START = re.compile(r"bdi .* reason=(?P<reason>\w+)")
_INODE = re.compile(r"bdi \S+: ino=(?P<inode>\d+) .* wrote=(?P<pages>\d+)")
_PAGE = re.compile(
    r"dev \S+ ino (?P<inode>[0-9a-f]+) .*?pfn=(?P<pfn>0x[0-9a-f]+|\d+) "
    r"ofs=(?P<offset>\d+)(?: order=(?P<order>\d+))?"
)


@dataclass(frozen=True)
class Parser:
    """Turns lines of trace_pipe into events; `devices` names those that are watched, by `253,0`.

    It is asked anew for each text: devices come and go with the fault.
    """

    devices: Callable[[], Mapping[str, str]]
    cached: Cached
    """Kept up to date; pages that come and go are no events of the history."""

    def events(self, text: str, at: float) -> list[KernelEvent]:
        """Return the events of whole lines, in order; devices that are not watched are left out."""
        found = (self._event(line, at) for line in text.splitlines())
        return [event for event in found if event is not None]

    def _event(self, line: str, at: float) -> KernelEvent | None:
        if "LOST" in line and "EVENTS" in line:
            return TraceLost(at, line.strip())
        if (match := _LINE.search(line)) is None:
            return None
        clock, rest = float(match["clock"]), match["rest"]
        match match["name"]:
            case "block_bio_complete" | "block_rq_complete" if found := _BLOCK.match(rest):
                return self._block(found, at, clock)
            case "block_bio_queue" if found := _QUEUED.match(rest):
                return self._queued(found, at, clock)
            case "filemap_set_wb_err" if found := _SET.match(rest):
                return ErrorRecorded(at, clock, int(found["inode"], 16), int(found["errseq"], 16))
            case "file_check_and_advance_wb_err" if found := _ADVANCE.match(rest):
                numbers = (int(found[name], 16) for name in ("inode", "old", "new"))
                return ErrorReported(at, clock, found["file"], *numbers)
            case "writeback_start" if found := _START.match(rest):
                return WritebackBegan(at, clock, _task(line), found["reason"])
            case "writeback_single_inode" if found := _INODE.match(rest):
                return InodeWritten(at, clock, _task(line), int(found["inode"]), int(found["pages"]))
            case "mm_filemap_add_to_page_cache" if found := _PAGE.match(rest):
                self.cached.added(
                    int(found["inode"], 16), int(found["offset"]), int(found["pfn"], 0), _pages(found)
                )
                return None
            case "mm_filemap_delete_from_page_cache" if found := _PAGE.match(rest):
                self.cached.removed(int(found["inode"], 16), int(found["offset"]), _pages(found))
                return None
            case _:
                return None

    def _block(self, found: re.Match[str], at: float, clock: float) -> BlockDone | None:
        device = self.devices().get(found["device"])
        if device is None:
            return None
        number = -int(found["error"])
        error = errno.errorcode.get(number, str(number)) if number else ""
        return BlockDone(at, clock, device, found["rwbs"], *_extent(found), error)

    def _queued(self, found: re.Match[str], at: float, clock: float) -> BlockQueued | None:
        device = self.devices().get(found["device"])
        if device not in WAITED_AT:
            return None
        return BlockQueued(at, clock, device, found["rwbs"], *_extent(found))


def _extent(found: re.Match[str]) -> tuple[int, int]:
    """Return sector and length; a flush has no sector, and a disk's own says so with the highest number."""
    sectors = int(found["sectors"])
    return (int(found["sector"]) if sectors else 0), sectors


def _task(line: str) -> str:
    found = _TASK.match(line)
    return found["task"] if found else ""


def _pages(found: re.Match[str]) -> int:
    return 1 << int(found["order"] or 0)


class Tracer:
    """Reads the guest's trace_pipe."""

    def __init__(self, actor: Actor, parser: Parser, pipe: int) -> None:
        """Read the pipe that `prepare` has opened, by its descriptor: see `pipe_of`."""
        self._actor = actor
        self._parser = parser
        self.cached = parser.cached
        self._pipe = pipe
        self._rest = ""

    def watch_queue(self) -> None:
        """From now on tell of requests that come to the fault as well."""
        write_file(self._actor, f"{TRACEFS}/events/{QUEUED}/enable", "1")

    def drain(self, at: float) -> list[KernelEvent]:
        """Return what the kernel recorded since the last call."""
        text = self._rest
        while (answer := self._actor.call("read", self._pipe, Out(65536), 65536)).ok and answer.value:
            text += answer.out[0][: answer.value].decode(errors="replace")
        whole, newline, self._rest = text.rpartition("\n")
        return self._parser.events(whole + newline, at)


def pipe_of(actor: Actor) -> int:
    """Return the descriptor of the trace in a prepared guest."""
    return int(actor.guest.notes[PIPE])


def prepare(actor: Actor) -> None:
    """Switch on the tracepoints this kernel has and open the pipe; done once, before the machine is saved."""
    write_file(actor, f"{TRACEFS}/buffer_size_kb", "512")
    for event in BLOCK:
        write_file(actor, f"{TRACEFS}/events/{event}/enable", "1")
    for event in ERRSEQ:
        write_file(actor, f"{TRACEFS}/events/{event}/enable", "1", missing_ok=True)
    for event in CACHE:
        write_file(actor, f"{TRACEFS}/events/{event}/enable", "1")
    write_file(actor, f"{TRACEFS}/tracing_on", "1")
    write_file(actor, f"{TRACEFS}/trace", "\n")  # what was traced before is thrown away
    opened = actor.call("openat", AT_FDCWD, f"{TRACEFS}/trace_pipe", O_RDONLY | O_NONBLOCK, 0)
    actor.guest.notes[PIPE] = str(opened.must("open trace_pipe"))
