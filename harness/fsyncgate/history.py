"""The history of a case: typed events, written down as they happen, one JSON object a line.

A verdict is made from nothing else. `at` is seconds since the case began, by the host's clock;
`clock` is seconds since the guest booted, by the guest kernel's. Sectors are 512 bytes.
"""

import os
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from fsyncgate.errors import SetupError, UsageError
from fsyncgate.model import KernelRecord

Outcome = int | str
"""What a system call answered: its value, or the name of its errno."""


class Began(msgspec.Struct, frozen=True, tag_field="event", tag="began"):
    """The first event: what was asked of whom."""

    at: float
    case: str
    kernel: KernelRecord
    targets: dict[str, str]
    """The device-mapper targets of this kernel and their versions."""


class Called(msgspec.Struct, frozen=True, tag_field="event", tag="call"):
    """A system call returned to a process of the scenario."""

    at: float
    process: str
    call: str
    arguments: dict[str, Any]
    result: Outcome
    seconds: float


class Armed(msgspec.Struct, frozen=True, tag_field="event", tag="armed"):
    """From here on the fault is in force in these sectors of the volume (first, count)."""

    at: float
    fault: str
    place: str
    sectors: list[tuple[int, int]]


class Healed(msgspec.Struct, frozen=True, tag_field="event", tag="healed"):
    """From here on the disk is good again."""

    at: float
    fault: str


class DiskGone(msgspec.Struct, frozen=True, tag_field="event", tag="disk-gone"):
    """The guest's kernel has no such disk any more: its name has left /sys/block."""

    at: float
    name: str


class DiskBack(msgspec.Struct, frozen=True, tag_field="event", tag="disk-back"):
    """The disk that was gone is there again, under this name, and can be opened."""

    at: float
    name: str


class BlockDone(msgspec.Struct, frozen=True, tag_field="event", tag="block"):
    """A request ended (tracepoints block:block_bio_complete and, on `disk`, block:block_rq_complete)."""

    at: float
    clock: float
    device: str
    """`volume` (what the file system sits on), `fault` (below it, where faults are made), `disk`, or
    `removed` (a disk that was taken away).
    """
    rwbs: str
    """As the block tracepoints write it: F before the W is a flush before it, F after it is FUA."""
    sector: int
    sectors: int
    error: str
    """The errno's name, empty if the request succeeded."""


class BlockQueued(msgspec.Struct, frozen=True, tag_field="event", tag="queued"):
    """A request came to a device (tracepoint block:block_bio_queue); told where a fault lets it wait."""

    at: float
    clock: float
    device: str
    rwbs: str
    sector: int
    sectors: int


class LetGo(msgspec.Struct, frozen=True, tag_field="event", tag="let-go"):
    """Until here every request to the place had to wait; the healing lets them go."""

    at: float
    fault: str


class AtRest(msgspec.Struct, frozen=True, tag_field="event", tag="at-rest"):
    """Nobody in the guest could go on by itself: no task could run, and the disk had answered, or hangs."""

    at: float
    disk: dict[str, int]
    """How many requests the disk had answered and how many were in flight, the same before and after."""
    asleep: dict[str, list[str]]
    """Each process that sleeps where no signal wakes it, and in which of the kernel's functions.

    The inmost first; none are named where the kernel does not tell (/proc/PID/stack).
    """


class ErrorRecorded(msgspec.Struct, frozen=True, tag_field="event", tag="error-recorded"):
    """The kernel noted a writeback error in an inode (tracepoint filemap:filemap_set_wb_err)."""

    at: float
    clock: float
    inode: int
    errseq: int
    """What the inode held before: errseq_set() answers the previous value."""


class ErrorReported(msgspec.Struct, frozen=True, tag_field="event", tag="error-reported"):
    """The kernel told an open file of it (tracepoint filemap:file_check_and_advance_wb_err)."""

    at: float
    clock: float
    file: str
    """The kernel's name of the open file description; the same for dup, fork and SCM_RIGHTS."""
    inode: int
    old: int
    new: int


class WritebackBegan(msgspec.Struct, frozen=True, tag_field="event", tag="writeback-began"):
    """A flusher begins a round (tracepoint writeback:writeback_start); only where a scenario watches it."""

    at: float
    clock: float
    task: str
    reason: str
    """Why, as the kernel says it: `periodic` because time went by, `sync` because somebody asked."""


class InodeWritten(msgspec.Struct, frozen=True, tag_field="event", tag="inode-written"):
    """A task has submitted a file's dirty pages (tracepoint writeback:writeback_single_inode)."""

    at: float
    clock: float
    task: str
    inode: int
    pages: int


class PageSeen(msgspec.Struct, frozen=True, tag_field="event", tag="page"):
    """The state of one page of a file in the page cache (/proc/kpageflags); None: not cached."""

    at: float
    file: str
    index: int
    flags: list[str] | None


class ContentSeen(msgspec.Struct, frozen=True, tag_field="event", tag="content"):
    """What a block of a file held: hot (page cache), cold (after a new mount) or raw (the disk)."""

    at: float
    file: str
    way: str
    offset: int
    content: str


class Observed(msgspec.Struct, frozen=True, tag_field="event", tag="observed"):
    """What the scenario states: the values that `expected.toml` is held against."""

    at: float
    values: dict[str, Any]


class ConsoleSaid(msgspec.Struct, frozen=True, tag_field="event", tag="console"):
    """A line of the guest's console that matters."""

    at: float
    alarm: str
    text: str


class Panicked(msgspec.Struct, frozen=True, tag_field="event", tag="panicked"):
    """The guest panicked where the scenario asked whether it would; this panic alone is an answer."""

    at: float
    about: str
    """What the scenario expects its line to hold."""
    text: str


class TraceLost(msgspec.Struct, frozen=True, tag_field="event", tag="trace-lost"):
    """The guest's trace buffer overflowed: events are missing here."""

    at: float
    text: str


class Ended(msgspec.Struct, frozen=True, tag_field="event", tag="ended"):
    """The last event. Without it the history was cut off."""

    at: float
    reason: str = ""
    """Empty if the scenario came to its end; else why it did not."""


Event = (
    Began | Called | Armed | Healed | DiskGone | DiskBack | BlockDone | BlockQueued | LetGo | AtRest
    | ErrorRecorded | ErrorReported | WritebackBegan | InodeWritten | PageSeen | ContentSeen | Observed
    | ConsoleSaid | Panicked | TraceLost | Ended
)  # fmt: skip


class Recorder:
    """Writes a history. Every event is in the file before the next thing is done."""

    def __init__(self, path: Path) -> None:
        """Open the history of a case that begins now."""
        self._path = path
        with writing(path):
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        self._began = time.monotonic()

    def now(self) -> float:
        """Return seconds since the case began."""
        return round(time.monotonic() - self._began, 6)

    def write(self, event: Event) -> None:
        """Write one event. Raises SetupError when the host's disk is full."""
        line = msgspec.json.encode(event) + b"\n"
        with writing(self._path):
            while line:  # a disk that becomes full takes a part, and refuses the rest
                line = line[os.write(self._file, line) :]

    def close(self) -> None:
        """Close the file; nothing can be written after that."""
        os.close(self._file)


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Turn the host's refusal to write what belongs to a case into a sentence."""
    try:
        yield
    except OSError as error:
        raise SetupError(
            f"'{path}' cannot be written: {error.strerror or error}.",
            hint="free some space there or choose a folder on another disk.",
        ) from None


def read(path: Path) -> list[Event]:
    """Return a stored history. Raises UsageError naming the line that is no event."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"The history '{path}' cannot be read: {error.strerror}.") from None
    return list(_decoded(path, lines))


def _decoded(path: Path, lines: list[bytes]) -> Iterable[Event]:
    decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
    for number, line in enumerate(lines, 1):
        try:
            yield decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            if number == len(lines):
                return  # the writer was cut off in mid-line; what is missing then is the end
            raise UsageError(f"Line {number} of '{path}' is no event: {error}.") from None
