"""device-mapper tables, as pure values: what maps where, in 512-byte sectors."""

from collections.abc import Callable
from dataclasses import dataclass

SECTOR = 512
Range = tuple[int, int]
"""First sector and number of sectors."""


@dataclass(frozen=True)
class Segment:
    """One line of a table: `length` sectors from `start` on are handled by `target`."""

    start: int
    length: int
    target: str
    parameters: str = ""


HANG_MS, SLOW_MS = 3_600_000, 50
"""Milliseconds that a hanging and a slow disk take. The first is an hour: no case lasts so long."""

Carver = Callable[[int, int], Segment]
"""Makes the segment for a range: start and length."""


def linear(device: str, sectors: int) -> list[Segment]:
    """Return a table that hands everything to `device` (`major:minor`)."""
    return [Segment(0, sectors, "linear", f"{device} 0")]


def failing(device: str, sectors: int, ranges: list[Range]) -> list[Segment]:
    """Return a table in which all reads and writes of `ranges` fail and everything else works.

    The `error` target gets no flush, so flushes of the device go on working.
    """
    return carved(device, sectors, ranges, lambda start, length: Segment(start, length, "error"))


def flaky(device: str, sectors: int, ranges: list[Range], feature: str) -> list[Segment]:
    """Return a table in which `ranges` are always in the down state of dm-flakey.

    `feature` is `error_writes` or `drop_writes`; reads work. Either also takes the flushes of the
    *whole* device, because device-mapper sends a flush to every target of a table.
    """
    return carved(
        device, sectors, ranges,
        lambda start, length: Segment(start, length, "flakey", f"{device} {start} 0 1 1 {feature}"),
    )  # fmt: skip


def waiting(device: str, sectors: int, ranges: list[Range], milliseconds: int, flush: int) -> list[Segment]:
    """Return a table in which all reads and writes of `ranges` wait, and flushes for `flush` milliseconds.

    dm-delay lets everything go at once when its table is taken away.
    """

    def wait(start: int, length: int) -> Segment:
        place = f"{device} {start}"
        return Segment(
            start, length, "delay", f"{place} {milliseconds} {place} {milliseconds} {place} {flush}"
        )

    return carved(device, sectors, ranges, wait)


def carved(device: str, sectors: int, ranges: list[Range], segment: Carver) -> list[Segment]:
    """Return a table of `sectors` sectors: `segment` where `ranges` say, linear elsewhere.

    Ranges may overlap, touch and come in any order. Raises ValueError if one is empty or leaves the
    device.
    """
    table: list[Segment] = []
    position = 0
    for start, end in _merged(ranges, sectors):
        if start > position:
            table.append(Segment(position, start - position, "linear", f"{device} {position}"))
        table.append(segment(start, end - start))
        position = end
    if position < sectors:
        table.append(Segment(position, sectors - position, "linear", f"{device} {position}"))
    return table


def without(ranges: list[Range], holes: list[Range]) -> list[Range]:
    """Return what is left of `ranges`, which do not overlap, when `holes` are taken out."""
    left: list[Range] = []
    for start, length in ranges:
        position, end = start, start + length
        for hole, size in sorted(holes):
            if hole < end and hole + size > position:
                if hole > position:
                    left.append((position, hole - position))
                position = max(position, hole + size)
        if position < end:
            left.append((position, end - position))
    return left


def _merged(ranges: list[Range], sectors: int) -> list[tuple[int, int]]:
    """Return sorted (start, end) pairs that neither overlap nor touch."""
    merged: list[tuple[int, int]] = []
    for start, length in sorted(ranges):
        if length <= 0 or start < 0 or start + length > sectors:
            raise ValueError(f"sectors {start} + {length} are not on a device of {sectors} sectors")
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], start + length))
        else:
            merged.append((start, start + length))
    return merged
