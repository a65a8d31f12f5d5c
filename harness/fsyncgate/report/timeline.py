"""A history as a picture: who asked what, what memory and disk then held, and where data was lost.

Pure: events in, rows out. Time goes down the rows; a lane is a column. What a lane holds stays true until a
later row says otherwise. A state that no event shows, but that follows from one (a page is dirty once write
has answered), is marked as inferred.
"""

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from fsyncgate.data import BLOCK
from fsyncgate.history import (
    Armed,
    AtRest,
    BlockDone,
    BlockQueued,
    Called,
    ContentSeen,
    ErrorRecorded,
    ErrorReported,
    Event,
    Healed,
    LetGo,
    PageSeen,
    Panicked,
    WritebackBegan,
)

CACHE, ERROR, DEVICE, DISK = "page cache", "error memory", "block device", "on the disk"
"""The lanes that every timeline has; the others are its processes."""

NOBODY = "init"
"""The process that mounts and unmounts: no part of the application."""

SECTOR = 512
_SYNCING = frozenset({"fsync", "fdatasync", "syncfs", "msync MS_SYNC", "write"})
"""Calls that may tell an error. Others that do are shown by what they answer."""
_ERRNO = 0xFFF
"""The bits of an errseq_t that hold the errno (lib/errseq.c); the next one says that somebody has seen it."""
_SEEN = 0x1000


class Tone(StrEnum):
    """How a cell is drawn."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    STATE = "state"


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one lane says in one row."""

    text: str
    tone: Tone = Tone.PLAIN
    inferred: bool = False
    why: str = ""
    """A sentence for who asks: what the event was, exactly."""


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One moment."""

    at: float
    """Seconds since the case began, by the host's clock."""
    cells: dict[str, Cell] = {}
    band: str = ""
    """A sentence across all lanes: the fault begins, ends, or data is lost."""
    lost: bool = False


class Timeline(msgspec.Struct, frozen=True):
    """The picture of one case."""

    lanes: tuple[str, ...]
    rows: tuple[Row, ...]
    sectors: tuple[tuple[int, int], ...]
    """The armed sectors of the volume (first, count)."""


def timeline(events: Sequence[Event], dropping: Collection[str] = ()) -> Timeline:
    """Return the picture of a history; `dropping` are the faults, by id, that throw writes away."""
    sectors = tuple(one for event in events if isinstance(event, Armed) for one in event.sectors)
    processes = tuple(dict.fromkeys(event.process for event in _calls(events)))
    aimed = tuple(
        one for event in events if isinstance(event, Armed) and event.place == "data" for one in event.sectors
    )
    painter = _Painter(sectors, aimed, _dropped(events, dropping))
    for event in events:
        painter.show(event)
    rows = _marked(painter.rows, painter.losses)
    shown = {lane for row in rows for lane in row.cells}
    lanes = (*processes, *(lane for lane in (CACHE, ERROR, DEVICE, DISK) if lane in shown))
    return Timeline(lanes, tuple(rows), tuple(dict.fromkeys(sectors)))


def _calls(events: Sequence[Event]) -> list[Called]:
    return [event for event in events if isinstance(event, Called) and event.process != NOBODY]


class _Painter:
    """Goes through the events once."""

    def __init__(
        self,
        sectors: tuple[tuple[int, int], ...],
        data: tuple[tuple[int, int], ...],
        dropped: Collection[int],
    ) -> None:
        """`data` are the sectors of a file's data: of others nobody can tell what they hold."""
        self.rows: list[Row] = []
        self._sectors = sectors
        self._data = data
        self._dropped = dropped
        self._begun = self._armed = False
        self._told: list[ErrorReported] = []
        self._written: dict[tuple[str, int], tuple[str, int]] = {}
        """By file and offset: what was written last and in which row."""
        self._failures: list[int] = []
        """Rows in which a write of data failed or was thrown away."""
        self.losses: dict[int, str] = {}
        """Rows in which data was lost, with a sentence each."""

    def show(self, event: Event) -> None:
        match event:
            case Called():
                self._call(event)
            case Armed():
                self._band(event.at, f"From here on the fault {event.fault} is in force, at {_place(event)}.")
                self._armed = True
            case LetGo():
                self._band(event.at, "What waited for the disk is let go.")
                self._armed = False
            case Healed():
                self._band(event.at, "From here on the disk is good again.")
                self._armed = False
            case BlockQueued():
                self._queued(event)
            case AtRest():
                self._rest(event)
            case BlockDone():
                self._block(event)
            case ErrorRecorded():
                self._recorded(event)
            case ErrorReported():
                self._told.append(event)
            case PageSeen():
                self._page(event)
            case ContentSeen():
                self._content(event)
            case WritebackBegan():
                self._band(event.at, f"The kernel's flusher begins a round ({event.reason}).")
            case Panicked():
                self._band(event.at, "The kernel panics.")
            case _:
                pass  # what is observed stands above the timeline; the console below it

    def _add(self, at: float, **cells: Cell) -> None:
        self.rows.append(Row(at, {_LANES.get(lane, lane): cell for lane, cell in cells.items()}))

    def _band(self, at: float, sentence: str) -> None:
        self.rows.append(Row(at, band=sentence))

    def _call(self, event: Called) -> None:
        self._begun = True
        if event.process == NOBODY:
            self._band(event.at, f"{_named(event)} → {event.result}")
            return
        told, self._told = self._told, []
        failed = isinstance(event.result, str)
        tone = Tone.BAD if failed else Tone.GOOD if event.call in _SYNCING else Tone.PLAIN
        arguments = ", ".join(f"{name}={value}" for name, value in event.arguments.items())
        why = f"{event.call}({arguments}) answered {event.result} after {event.seconds * 1000:.1f} ms."
        cells = {event.process: Cell(f"{_named(event)} → {event.result}", tone, why=why)}
        data, offset = event.arguments.get("data"), event.arguments.get("at", 0)
        if event.call == "write" and not failed and isinstance(data, str) and isinstance(offset, int):
            self._written[str(event.arguments.get("file")), offset] = (data, len(self.rows))
            state = f"{_offset(offset)} dirty: {data}"
            cells[CACHE] = Cell(
                state,
                Tone.STATE,
                inferred=True,
                why="write answered, so the page holds the bytes and is dirty.",
            )
        if told:
            cells[ERROR] = Cell(
                f"told to {event.process}: {_errno(told[-1].new)}", Tone.BAD,
                why=f"The open file {told[-1].file} had seen {told[-1].old:#x}, and now {told[-1].new:#x}.",
            )  # fmt: skip
        self.rows.append(Row(event.at, cells))

    @staticmethod
    def _is_hit(event: BlockDone | BlockQueued, ranges: Iterable[tuple[int, int]]) -> bool:
        return any(
            event.sector < first + count and first < event.sector + event.sectors for first, count in ranges
        )

    def _queued(self, event: BlockQueued) -> None:
        if self._armed and self._is_hit(event, self._sectors):
            why = f"{event.rwbs} at sector {event.sector}, {event.sectors} sectors, came to '{event.device}'."
            self._add(event.at, device=Cell(f"{_request(event)} comes, and waits", Tone.STATE, why=why))

    def _rest(self, event: AtRest) -> None:
        """Show who sleeps: nobody in the guest can run, so they wait for the disk, if by way of others."""
        cells: dict[str, Cell] = {}
        for process, stack in event.asleep.items():
            why = f"Nobody in the guest can run; this process sleeps in {' < '.join(stack) or 'the kernel'}."
            cells[process] = Cell("has no answer", Tone.STATE, why=why)
        self.rows.append(Row(event.at, cells))

    def _block(self, event: BlockDone) -> None:
        data = self._is_hit(event, self._data)
        what, where = _kind(event), _request(event)
        request = f"{event.rwbs} at sector {event.sector}, {event.sectors} sectors"
        why = f"{request}, on '{event.device}': {event.error or 'done'}."
        if event.error:
            if self._repeats(event):
                return
            if what == "write":
                self._failures.append(len(self.rows))
            cells = {DEVICE: Cell(f"{where} fails: {event.error}", Tone.BAD, why=why)}
            if what == "write" and data:
                cells[CACHE] = Cell(
                    "no longer dirty",
                    Tone.STATE,
                    inferred=True,
                    why="A page is marked clean when its write begins; nobody marks it dirty again.",
                )
            self.rows.append(Row(event.at, cells))
        elif id(event) in self._dropped:
            self._failures.append(len(self.rows))
            self._add(
                event.at, device=Cell(f"{where} is thrown away, and answered with success", Tone.BAD, why=why)
            )
        elif data and what == "write" and event.device == "disk":
            when = "" if self._begun else "while the case is prepared: "
            self._add(event.at, device=Cell(f"{when}{where} reaches the disk", Tone.GOOD, why=why))

    def _repeats(self, event: BlockDone) -> bool:
        """Tell whether the row before shows the same failure, seen at a lower device."""
        if not self.rows or (cell := self.rows[-1].cells.get(DEVICE)) is None:
            return False
        return cell.tone is Tone.BAD and self.rows[-1].at == event.at and f"fails: {event.error}" in cell.text

    def _recorded(self, event: ErrorRecorded) -> None:
        known = (
            "nobody has been told yet" if not event.errseq & _SEEN else "a new error after one that was told"
        )
        self._add(
            event.at,
            error=Cell(
                f"inode {event.inode}: an error is noted; {known}", Tone.BAD,
                why=f"filemap_set_wb_err: inode {event.inode}, the errseq_t was {event.errseq:#x}.",
            ),
        )  # fmt: skip

    def _page(self, event: PageSeen) -> None:
        flags = event.flags
        if flags is None:
            text = f"page {event.index}: not cached"
        else:
            state = "being written" if "writeback" in flags else "dirty" if "dirty" in flags else "clean"
            more = "" if "uptodate" in flags else ", not up to date"
            text = f"page {event.index}: {state}{more}"
        self._add(
            event.at,
            cache=Cell(text, Tone.STATE, why=f"/proc/kpageflags: {', '.join(flags or ['nothing'])}."),
        )

    def _content(self, event: ContentSeen) -> None:
        how = {"cold": " after a new mount"}.get(event.way, "")
        text = f"{_offset(event.offset)} reads {event.content}{how}"
        cell = Cell(text, Tone.STATE, why=_WAYS.get(event.way, event.way))
        if event.way == "hot":
            self._add(event.at, cache=cell)
            return
        if event.way == "cold":
            self._compare(event)
        self._add(event.at, disk=cell)

    def _compare(self, event: ContentSeen) -> None:
        """Hold what a new mount finds against what was written last."""
        data, row = self._written.get((event.file, event.offset), (event.content, 0))
        moment = next((failure for failure in self._failures if failure >= row), None)
        if data != event.content and moment is not None:
            self.losses[moment] = (
                f"Here the data is lost: {data} in {_offset(event.offset)} of '{event.file}' "
                f"is written no more, and a new mount finds {event.content}."
            )


_LANES = {"cache": CACHE, "error": ERROR, "device": DEVICE, "disk": DISK}
_WAYS = {
    "hot": "What a reader finds now: the page cache answers.",
    "raw": "The sectors themselves, read past the page cache.",
    "cold": "What a reader finds after every process ended and the file system was mounted again.",
}


def _marked(rows: list[Row], losses: dict[int, str]) -> list[Row]:
    """Put the sentences on losses after the rows in which they happened."""
    marked: list[Row] = []
    for number, row in enumerate(rows):
        marked.append(row)
        if number in losses:
            marked.append(Row(row.at, band=losses[number], lost=True))
    return _merged(marked)


def _merged(rows: list[Row]) -> list[Row]:
    """Leave out rows that repeat the one before them word for word."""
    kept: list[Row] = []
    for row in rows:
        if kept and not row.band and row.cells and _says(row) == _says(kept[-1]):
            continue
        kept.append(row)
    return kept


def _says(row: Row) -> dict[str, str]:
    return {lane: cell.text for lane, cell in row.cells.items()}


def _dropped(events: Sequence[Event], dropping: Collection[str]) -> set[int]:
    """Return the writes that ended well above the fault and never came below, where the fault drops."""
    found: set[int] = set()
    armed: Armed | None = None
    below: list[tuple[int, int]] = []
    above: list[BlockDone] = []
    for event in [*events, Healed(0.0, "")]:
        if isinstance(event, Armed):
            armed, below, above = event, [], []
        elif isinstance(event, Healed) and armed is not None:
            if armed.fault in dropping:
                reached = set(below)
                found |= {id(one) for one in above if (one.sector, one.sectors) not in reached}
            armed = None
        elif isinstance(event, BlockDone) and armed is not None and "W" in event.rwbs and event.sectors:
            hit = any(
                event.sector < first + count and first < event.sector + event.sectors
                for first, count in armed.sectors
            )
            if hit and event.device == "disk":
                below.append((event.sector, event.sectors))
            elif hit and event.device == "fault" and not event.error:
                above.append(event)
    return found


def _kind(event: BlockDone | BlockQueued) -> str:
    return "flush" if not event.sectors else "read" if "R" in event.rwbs else "write"


def _request(event: BlockDone | BlockQueued) -> str:
    """Return a request as a reader writes it: `write of sectors 800 to 807`."""
    last = event.sector + event.sectors - 1
    return f"{_kind(event)} of sectors {event.sector} to {last}" if event.sectors else "flush"


def _named(event: Called) -> str:
    """Return a call as a reader writes it: `write NEW at 4096`."""
    arguments: dict[str, Any] = event.arguments
    parts = [event.call]
    if "data" in arguments:
        parts.append(str(arguments["data"]))
    if "read" in arguments:
        parts.append(str(arguments["read"]))
    if arguments.get("at"):
        parts.append(f"at {arguments['at']}")
    if "path" in arguments:
        parts.append(str(arguments["path"]))
    elif "fd" in arguments:
        parts.append(f"({arguments['fd']})")
    return " ".join(parts)


def _offset(at: int) -> str:
    return f"block {at // BLOCK}" if at % BLOCK == 0 else f"byte {at}"


def _place(event: Armed) -> str:
    count = sum(count for _, count in event.sectors)
    return f"{event.place} ({count * SECTOR // 1024} KiB)"


def _errno(errseq: int) -> str:
    number = errseq & _ERRNO
    return {0: "no error", 5: "EIO", 28: "ENOSPC"}.get(number, f"errno {number}")
