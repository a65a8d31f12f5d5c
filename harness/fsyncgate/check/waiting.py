"""Did requests wait that should have? For faults in which nothing fails: a disk that hangs, or is slow."""

from collections.abc import Iterable, Sequence

from fsyncgate.history import Armed, BlockDone, BlockQueued, LetGo
from fsyncgate.model import Fault
from fsyncgate.storage.table import SLOW_MS

Traced = BlockDone | BlockQueued | LetGo
"""What a window is read from."""

AT = "fault"
"""The device at which requests wait."""

SLOW = 0.9 * SLOW_MS / 1000
"""Seconds from which on a request counts as slow: timers count in ticks, and the first may be almost over."""


def makes_wait(fault: Fault) -> bool:
    """Tell whether requests to the place of this fault wait, and none fails."""
    return fault.operation in {"hang", "slow"}


def waited(fault: Fault, armed: Armed, traced: Sequence[Traced]) -> int:
    """Return how many requests to the place waited as the fault says, among what its window shows.

    For a slow disk it takes the request's own end. For one that hangs: it had not ended when the fault was
    healed, or when the history did.
    """
    open_, ended = _requests(armed, traced)
    if fault.operation == "hang":
        return len(open_)
    return sum(_seconds(queued, done) >= SLOW for queued, done in ended)


def too_soon(fault: Fault, armed: Armed, traced: Sequence[Traced]) -> list[BlockDone]:
    """Return the ends of requests to the place that were answered although the fault was in force."""
    _, ended = _requests(armed, traced)
    if fault.operation == "hang":
        return [done for _, done in ended]
    return [done for queued, done in ended if _seconds(queued, done) < SLOW]


def _requests(
    armed: Armed, traced: Sequence[Traced]
) -> tuple[list[BlockQueued], list[tuple[BlockQueued, BlockDone]]]:
    """Return the requests to the place that were open when the fault was healed, and those ended before."""
    open_: list[BlockQueued] = []
    ended: list[tuple[BlockQueued, BlockDone]] = []
    for event in traced:
        if isinstance(event, LetGo):
            break
        if isinstance(event, BlockQueued):
            if armed.place == "any" or overlaps(event, armed.sectors):
                open_.append(event)
        elif event.device == AT and (request := next((o for o in open_ if _is_end(o, event)), None)):
            open_.remove(request)
            ended.append((request, event))
    return open_, ended


def _is_end(queued: BlockQueued, done: BlockDone) -> bool:
    """Tell whether one is the end of the other; of a request that was split only the last part is told."""
    if not queued.sectors or not done.sectors:
        return queued.sectors == done.sectors and queued.rwbs == done.rwbs
    same_way = ("W" in queued.rwbs) == ("W" in done.rwbs)
    return same_way and overlaps(done, [(queued.sector, queued.sectors)])


def _seconds(queued: BlockQueued, done: BlockDone) -> float:
    return done.clock - queued.clock


def overlaps(event: BlockDone | BlockQueued, ranges: Iterable[tuple[int, int]]) -> bool:
    """Tell whether a request touches one of the ranges of sectors."""
    return any(
        event.sector < start + count and start < event.sector + event.sectors for start, count in ranges
    )
