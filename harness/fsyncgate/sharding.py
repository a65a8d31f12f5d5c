"""A plan in parts for several hosts: each part a run of neighbours, all of about the same length."""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from fsyncgate.errors import UsageError
from fsyncgate.model import Case, Result

USUAL = 0.6
"""Seconds for a case of which nothing is known: only what they are in proportion to each other counts."""
_PARTS = 1000
"""More parts than that are a slip of the pen."""


class Shard(msgspec.Struct, frozen=True):
    """The n-th of so many parts, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        """Write it as the user does: `2/5`."""
        return f"{self.number}/{self.of}"


def parse(text: str) -> Shard:
    """Read `2/5`. Raises UsageError for what is no part of anything."""
    read = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
    if read and 1 <= (number := int(read[1])) <= (of := int(read[2])) <= _PARTS:
        return Shard(number, of)
    raise UsageError(
        f"'{text}' is no part of a plan.", hint="say '--shard 2/5' for the second of five parts."
    )


def expected(results: Iterable[Result]) -> dict[str, float]:
    """Return how many seconds each case took in an earlier run."""
    return {result.case: result.seconds for result in results if result.seconds > 0}


def part(cases: Sequence[Case], shard: Shard, seconds: Mapping[str, float]) -> list[Case]:
    """Return the shard's cases: those whose middle, in expected time, lies within the shard's share.

    Neighbours stay together, so that few hosts need the same kernel. A case that nobody has timed counts as
    much as one that takes the middle of all that were; every case is in exactly one shard.
    """
    known = sorted(seconds.values())
    usual = known[len(known) // 2] if known else USUAL
    took = [seconds.get(case.id, usual) for case in cases]
    share, before = sum(took) / shard.of, 0.0
    mine: list[Case] = []
    for case, time in zip(cases, took, strict=True):
        if min(int((before + time / 2) / share), shard.of - 1) == shard.number - 1:
            mine.append(case)
        before += time
    return mine
