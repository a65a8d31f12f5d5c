"""Did requests wait that should have? For faults in which nothing fails: a disk that hangs, or is slow."""

from collections.abc import Iterable, Sequence

from fsyncgate.history import Armed, BlockDone, BlockQueued, DiskGone, LetGo
from fsyncgate.model import Fault
from fsyncgate.storage.table import SLOW_MS

Traced = BlockDone | BlockQueued | LetGo | DiskGone
"""What a window is read from."""

SLOW = SLOW_MS / 2000
"""Seconds from which on a request counts as slow.

Less than what it has to wait: dm-delay counts ticks of the timer, and the guest of a busy host gets some of
them late and several at once.
"""


def makes_wait(fault: Fault) -> bool:
    """Tell whether requests to the place of this fault wait, and none fails."""
    return fault.operation in {"hang", "slow"}


def waited(fault: Fault, armed: Armed, traced: Sequence[Traced]) -> int:
    """Return how many requests to the place waited as the fault says, among what its window shows.

    For a slow disk it takes the request's own end. For one that hangs: it ended only when it was let go, or
    never if the fault lasts for ever.
    """
    open_, ended = _requests(fault, armed, traced)
    if fault.operation == "hang":
        return len(open_)
    return sum(_seconds(queued, done) >= SLOW for queued, done in ended)


def too_soon(fault: Fault, armed: Armed, traced: Sequence[Traced]) -> list[BlockDone]:
    """Return the ends of requests to a place that hangs that were answered although the fault was in force.

    Where only what has no room yet waits, nobody can tell from its sectors which that is.
    """
    if fault.operation == "slow" or fault.target == "space":
        return []
    _, ended = _requests(fault, armed, traced)
    return [done for _, done in ended]


def under_way(traced: Iterable[Traced]) -> list[BlockQueued]:
    """Return the requests that came to the device where a fault can hold them, and have not ended."""
    open_: list[BlockQueued] = []
    for event in traced:
        if _is_at(event, "fault"):
            _follow(open_, event)
    return open_


def _is_at(event: Traced, device: str) -> bool:
    return isinstance(event, BlockDone | BlockQueued) and event.device == device


def _place(fault: Fault) -> str:
    """Return the device at which requests wait."""
    return "disk" if fault.mechanism == "throttle" else "fault"


def _requests(
    fault: Fault, armed: Armed, traced: Sequence[Traced]
) -> tuple[list[BlockQueued], list[tuple[BlockQueued, BlockDone]]]:
    """Return the requests to the place that were open when the fault was healed, and those ended before.

    When it was healed, an open one must end: else nothing is known of it.
    """
    open_: list[BlockQueued] = []
    ended: list[tuple[BlockQueued, BlockDone]] = []
    rest = (event for event in traced if isinstance(event, LetGo) or _is_at(event, _place(fault)))
    for event in rest:
        if isinstance(event, LetGo):
            let_go = [*open_]
            afterwards = [_follow(let_go, later) for later in rest]
            return [request for request in open_ if request in afterwards], ended
        if isinstance(event, BlockQueued) and not (armed.place == "any" or overlaps(event, armed.sectors)):
            continue
        if (request := _follow(open_, event)) and isinstance(event, BlockDone):
            ended.append((request, event))
    return open_, ended


def _follow(open_: list[BlockQueued], event: Traced) -> BlockQueued | None:
    """Add a request that comes to those that are open; take away and return the one that ends."""
    if isinstance(event, BlockQueued):
        open_.append(event)
    if not isinstance(event, BlockDone):
        return None
    request = min(
        (one for one in open_ if _is_end(one, event)), key=lambda one: _differ(one, event), default=None
    )
    if request is not None:
        open_.remove(request)
    return request


def _is_end(queued: BlockQueued, done: BlockDone) -> bool:
    """Tell whether one is the end of the other; of a request that was split only the last part is told."""
    if not queued.sectors or not done.sectors:
        return queued.sectors == done.sectors and queued.rwbs == done.rwbs
    same_way = ("W" in queued.rwbs) == ("W" in done.rwbs)
    return same_way and overlaps(done, [(queued.sector, queued.sectors)])


def _differ(queued: BlockQueued, done: BlockDone) -> bool:
    """Tell whether an end has another extent than the request: then it is that of a part, or not its own."""
    return (queued.sector, queued.sectors) != (done.sector, done.sectors)


def _seconds(queued: BlockQueued, done: BlockDone) -> float:
    return done.clock - queued.clock


def overlaps(event: BlockDone | BlockQueued, ranges: Iterable[tuple[int, int]]) -> bool:
    """Tell whether a request touches one of the ranges of sectors."""
    return any(
        event.sector < start + count and start < event.sector + event.sectors for start, count in ranges
    )
