"""One sign for each cell of the matrix: it reads without colour, and without Unicode."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from enum import Enum

from fsyncgate.model import Case, Judgement, Result
from fsyncgate.report.words import unsafe


class Sign(Enum):
    """What a cell says; the order is that of the legend."""

    CONFORMS = ("✓", "+", "green", "conforms")
    UNSAFE = ("!", "!", "black on yellow", "conforms, unsafe")
    DEVIATES = ("✗", "X", "bold white on red", "deviates")
    UNKNOWN = ("?", "?", "bold magenta", "unknown")
    WAITING = ("·", ".", "dim", "waiting")
    RUNNING = ("▸", ">", "bold cyan", "running")
    UNPLANNED = (" ", " ", "", "not planned")

    def __init__(self, glyph: str, plain: str, style: str, words: str) -> None:
        """Take the sign, its stand-in where only ASCII is safe, a rich style, and what it means."""
        self.glyph = glyph
        self.plain = plain
        self.style = style
        self.words = words


Cell = tuple[str, str, str]
"""Scenario, kernel and file system, by id."""


def sign(result: Result) -> Sign:
    """Return the sign of one result."""
    if result.verdict is Judgement.CONFORMS:
        return Sign.UNSAFE if unsafe(result) else Sign.CONFORMS
    return Sign.DEVIATES if result.verdict is Judgement.DEVIATES else Sign.UNKNOWN


def planned(results: Iterable[Result], plan: Iterable[Case] = ()) -> list[Case]:
    """Return the plan, and after it what was run without being in it."""
    made = (Case(one.scenario, one.kernel.id, one.filesystem, one.fault) for one in results)
    return list({case.id: case for case in (*plan, *made)}.values())


def told(cases: Iterable[Case], scenarios: Iterable[str]) -> list[Case]:
    """Return the cases with their scenarios in the order in which the catalogue tells them."""
    cases = list(cases)
    names = dict.fromkeys([*scenarios, *(case.scenario for case in cases)])
    order = {name: index for index, name in enumerate(names)}
    group = {name.partition("/")[0]: index for name, index in reversed(order.items())}
    return sorted(cases, key=lambda case: (group[case.scenario.partition("/")[0]], order[case.scenario]))


def cells(results: Sequence[Result], plan: Sequence[Case], running: Collection[str] = ()) -> dict[Cell, Sign]:
    """Return the sign of each cell: the worst over its faults.

    A deviation shows at once; anything else only when no fault of the cell runs or waits any more.
    """
    done = {result.case: sign(result) for result in results}
    signs: defaultdict[Cell, list[Sign]] = defaultdict(list)
    for case in planned(results, plan):
        waiting = Sign.RUNNING if case.id in running else Sign.WAITING
        signs[case.scenario, case.kernel, case.filesystem].append(done.get(case.id, waiting))
    return {cell: min(those, key=_WORST_FIRST.index) for cell, those in signs.items()}


_WORST_FIRST = (Sign.DEVIATES, Sign.RUNNING, Sign.WAITING, Sign.UNKNOWN, Sign.UNSAFE, Sign.CONFORMS)
