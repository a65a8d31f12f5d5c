"""A difference for a person at a terminal."""

from itertools import groupby

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fsyncgate.model import Result
from fsyncgate.report.commits import changed_by
from fsyncgate.report.difference import Difference, Pair, alike, headline, rest, shares, sides
from fsyncgate.report.phrases import pairs, visible
from fsyncgate.report.signs import sign


def table(found: Difference, names: tuple[str, str] = ("A", "B")) -> RenderableType:
    """Return a renderable: a row for each change, the two sides beside each other."""
    return _Table(found, names)


class _Table:
    def __init__(self, found: Difference, names: tuple[str, str]) -> None:
        self._found = found
        self._names = names

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        found, names = self._found, self._names
        yield Text(headline(found, names), "bold")
        yield from map(Text, shares(found))
        if found.changes:
            rows = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
            rows.add_column("", ratio=2)
            for name in sides(found, names):
                rows.add_column(Text(name), ratio=3)
            for scenario, changes in groupby(found.changes, key=lambda pair: pair.a.scenario):
                rows.add_row()
                rows.add_row(Text(scenario.partition("/")[2].replace("_", " "), "bold"))
                for places, pair in alike(changes):
                    plain = options.ascii_only
                    rows.add_row(
                        _where(places, pair),
                        _side(pair.a, plain=plain),
                        _side(pair.b, plain=plain),
                    )
            yield rows
        for title, members in rest(found, names):
            yield Padding(Text(title, "bold"), (1, 0, 0, 0))
            for member in members:
                yield Padding(Text(member), (0, 0, 0, 2))


def _where(places: str, pair: Pair) -> Text:
    text = Text(places.replace(", ", "\n"))
    commit = changed_by(pair.a, pair.b)
    return text.append(f"\n{visible(commit)}", "bold") if commit else text


def _side(result: Result, *, plain: bool) -> Text:
    mark = sign(result)
    text = Text.assemble((mark.plain if plain else mark.glyph, mark.style), f" {pairs(result.observed)}")
    return text.append(f"\n{visible(result.because)}", "dim") if result.because else text
