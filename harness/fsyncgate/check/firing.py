"""Did the fault fire, where and how often? Read from the block completions in the history."""

from collections.abc import Iterable, Sequence

from fsyncgate.check.splitting import has_part_outside, whole
from fsyncgate.check.waiting import Traced, makes_wait, overlaps, under_way, waited
from fsyncgate.history import Armed, BlockDone, BlockQueued, DiskGone, Event, Healed, LetGo
from fsyncgate.model import Fault

_OUTSIDE = {"blkdebug", "scsi"}
"""Mechanisms that are the disk itself."""

REMOVED = "removed"
"""The role of a disk that was taken away."""

Window = tuple[Armed, list[Traced]]
"""An armed fault and what was traced from then on until it was healed."""


def windows(events: Iterable[Event]) -> tuple[list[Window], list[BlockDone]]:
    """Return each armed window with what was traced in it, and the completions outside of all.

    A request that was held when the fault was armed belongs to the window: it goes on into the fault.
    A disk that was taken away stays so, whatever comes in its place: that its requests go on failing after
    the healing is no news.
    """
    found: list[Window] = []
    outside: list[Traced] = []
    current: list[Traced] = outside
    for event in events:
        match event:
            case Armed():
                current = [*under_way(outside)]
                found.append((event, current))
            case Healed():
                current = outside
            case BlockDone() | BlockQueued() | LetGo() | DiskGone():
                current.append(event)
            case _:
                pass
    return found, [event for event in ends(outside) if event.device != REMOVED]


def ends(traced: Iterable[Traced]) -> list[BlockDone]:
    """Return the completions alone.

    What a driver asks a new disk on its own account (rwbs `N`) may be refused, and is nobody's data.
    """
    return [event for event in traced if isinstance(event, BlockDone) and not event.rwbs.startswith("N")]


def fired(fault: Fault, armed: Armed, traced: Sequence[Traced]) -> int:
    """Return how often the fault fired in its window.

    A removal has happened when the guest has no such disk any more. No request need fail for that: a file
    system that was told of it makes none.
    """
    if fault.operation == "remove":
        return sum(isinstance(event, DiskGone) for event in traced)
    if makes_wait(fault):
        return waited(fault, armed, traced)
    if fault.operation == "drop":
        return len(_dropped(armed, whole(ends(traced))))
    return sum(_is_firing(fault, armed, event) for event in whole(ends(traced)))


def strays(fault: Fault, armed: Armed, traced: Sequence[Traced]) -> list[BlockDone]:
    """Return the errors in a window that the fault does not account for.

    An error that a lower device reported travels up: on `volume` and `fault` it is no second one. An errno
    that is not the fault's came from elsewhere.
    """
    failed = [event for event in whole(ends(traced)) if event.error]
    return [
        event
        for event, before in zip(failed, [None, *failed], strict=False)
        if not (_explained(fault, armed, event) or _waited_for(event, before))
    ]


def _waited_for(event: BlockDone, before: BlockDone | None) -> bool:
    """Tell whether a disk's write failed with the flush that it asked for (block/blk-flush.c)."""
    return (
        before is not None
        and before.error == event.error
        and event.device == before.device == "disk"
        and before.rwbs.startswith("F")
        and event.rwbs.startswith("W")
    )


def _explained(fault: Fault, armed: Armed, event: BlockDone) -> bool:
    if fault.operation == "remove":
        return event.device == REMOVED
    if event.error != fault.errno:
        return False
    if event.device == "volume":
        return True
    if event.device == "fault" and fault.operation == "flush":
        return "F" in event.rwbs
    return event.device == _source(fault) and _is_hit(fault, armed, event)


def _is_firing(fault: Fault, armed: Armed, event: BlockDone) -> bool:
    return event.device == _source(fault) and event.error == fault.errno and _is_hit(fault, armed, event)


def _source(fault: Fault) -> str:
    """Return the device at which a fault is made, and so first seen."""
    if fault.mechanism in _OUTSIDE:
        return "disk"
    return "catcher" if fault.operation == "flush" else "fault"


def _is_hit(fault: Fault, armed: Armed, event: BlockDone) -> bool:
    """Tell whether the request is one the fault is aimed at; the `error` target fails reads as well."""
    if fault.operation == "flush":
        return event.rwbs.startswith("F") or event.device == "catcher"
    if fault.target == "space":
        return "W" in event.rwbs and event.sectors > 0
    if fault.operation == "read" and "R" not in event.rwbs:
        return False
    if fault.target == "any":
        return "W" in event.rwbs or "F" in event.rwbs
    return overlaps(event, armed.sectors)


def _dropped(armed: Armed, done: Sequence[BlockDone]) -> list[BlockDone]:
    """Return the writes that ended well above the fault and never reached the disk."""
    writes = [event for event in done if "W" in event.rwbs and event.sectors and not event.error]
    below = [(event.sector, event.sectors) for event in writes if event.device == "disk"]
    return [
        event for event in writes if event.device == "fault" and has_part_outside(event, armed.sectors, below)
    ]
