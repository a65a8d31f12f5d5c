"""The matrix: scenarios down, kernels and their file systems across, as wide as there is room."""

import textwrap
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from fsyncgate.model import Case, Result
from fsyncgate.report.signs import Cell, Sign, cells, planned

GAP = 2
"""Blank columns between the names and a kernel, and between two kernels."""
NARROWEST = 24
"""Scenario names are broken into lines of at least so many columns before kernels are stacked."""

MANY, SELDOM = 6, 3
"""Of more file systems than MANY, those asked a third of the most-asked one's scenarios get own rows."""


@dataclass(frozen=True)
class Row:
    """One scenario of a block, perhaps in several lines; a heading has no scenario."""

    scenario: str
    lines: tuple[Text, ...]


@dataclass(frozen=True)
class Block:
    """Some kernels beside each other under their header."""

    kernels: tuple[str, ...]
    header: tuple[Text, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Drawing:
    """A matrix drawn for one width: blocks to be stacked, and the legend below the last."""

    blocks: tuple[Block, ...]
    legend: tuple[Text, ...]


@dataclass(frozen=True)
class _Columns:
    """How a drawing of one style divides its width."""

    names: int
    kernels: tuple[tuple[str, ...], ...]
    """Those of each block."""
    kernel_labels: Mapping[str, str]
    filesystem_labels: Mapping[str, str]

    def of_filesystems(self) -> int:
        return sum(map(len, self.filesystem_labels.values())) + len(self.filesystem_labels) - 1

    def of_kernel(self, kernel: str) -> int:
        return max(self.of_filesystems(), len(self.kernel_labels[kernel]))


class Matrix:
    """A rich renderable that chooses its layout by the width it is given."""

    def __init__(
        self, results: Sequence[Result], plan: Sequence[Case] = (), running: Collection[str] = ()
    ) -> None:
        """Take what is known of the run; `running` are case ids."""
        cases = planned(results, plan)
        self._cells = cells(results, cases, running)
        self._scenarios = tuple(dict.fromkeys(case.scenario for case in cases))
        self._kernels = tuple(dict.fromkeys(case.kernel for case in cases))
        self._filesystems = tuple(dict.fromkeys(case.filesystem for case in cases))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; see `draw`."""
        drawing = self.draw(options.max_width, plain=options.ascii_only)
        for block in drawing.blocks:
            yield from block.header
            for row in block.rows:
                yield from row.lines
            yield Text()
        yield from drawing.legend

    def draw(self, width: int, *, plain: bool = False) -> Drawing:
        """Draw for `width` columns: file systems by name, else by letter, else kernels stacked.

        `plain` draws with ASCII only.
        """
        seldom = self._seldom()
        main = self._with([one for one in self._filesystems if one not in seldom])
        columns = main._columns(width)
        blocks = [main._block(kernels, columns, plain=plain) for kernels in columns.kernels if kernels]
        if seldom:
            blocks += self._with(seldom)._by_filesystem(width, plain=plain)
        return Drawing(tuple(blocks), tuple(self._legend(columns, width, plain=plain)))

    def _seldom(self) -> list[str]:
        """Return the file systems that are asked little, if there are many: they would be empty columns."""
        asked = Counter(filesystem for _, filesystem in {(cell[0], cell[2]) for cell in self._cells})
        most = max(asked.values(), default=0)
        few = [one for one in self._filesystems if asked[one] * SELDOM <= most]
        return few if len(self._filesystems) > MANY else []

    def _with(self, filesystems: Sequence[str]) -> "Matrix":
        """Return the part of the matrix that is about these file systems."""
        part = copy(self)
        part._filesystems = tuple(filesystems)
        part._cells = {cell: mark for cell, mark in self._cells.items() if cell[2] in filesystems}
        asked = {scenario for scenario, _, _ in part._cells}
        part._scenarios = tuple(one for one in self._scenarios if one in asked)
        on = {kernel for _, kernel, _ in part._cells}
        part._kernels = tuple(one for one in self._kernels if one in on)
        return part

    def _by_filesystem(self, width: int, *, plain: bool) -> list[Block]:
        """Draw with file systems as headings, the scenarios below each, and only kernels across."""
        labels = _shortened(self._kernels)
        longest = max((len(_title(scenario)) for scenario in self._scenarios), default=0)
        room = max(width - min(longest, NARROWEST), 1)
        chunks: list[list[str]] = []
        for kernel in self._kernels:
            together = [*(chunks[-1] if chunks else []), kernel]
            if not chunks or sum(len(labels[one]) + GAP for one in together) > room:
                chunks.append([])
            chunks[-1].append(kernel)
        taken = max((sum(len(labels[one]) + GAP for one in chunk) for chunk in chunks), default=0)
        names = min(longest, max(width - taken, 8))
        blocks: list[Block] = []
        for chunk in chunks:
            top = Text(" " * names, no_wrap=True, overflow="crop")
            for kernel in chunk:
                top.append(" " * GAP).append(labels[kernel], "bold")
            across = {kernel: len(labels[kernel]) for kernel in chunk}
            rows = [
                row
                for filesystem in self._filesystems
                for row in self._section(filesystem, across, names, plain=plain)
            ]
            blocks.append(Block(tuple(chunk), (top,), tuple(rows)))
        return blocks

    def _section(self, filesystem: str, across: Mapping[str, int], names: int, *, plain: bool) -> list[Row]:
        """Return the rows of one file system, its heading first; `across` has each kernel's width."""
        rows = [Row("", (Text(filesystem, "bold", no_wrap=True),))]
        for scenario in self._scenarios:
            marks = {kernel: self._cells.get((scenario, kernel, filesystem)) for kernel in across}
            if not any(marks.values()):
                continue
            title = textwrap.wrap(_title(scenario), names, subsequent_indent="    ") or [""]
            first, *more = (Text(line, no_wrap=True, overflow="crop") for line in title)
            first.pad_right(names - first.cell_len)
            for kernel, mark in marks.items():
                shown = mark or Sign.UNPLANNED
                first.append(" " * GAP).append(shown.plain if plain else shown.glyph, shown.style)
                first.append(" " * (across[kernel] - 1))
            first.rstrip()
            rows.append(Row(scenario, (first, *more)))
        return rows if len(rows) > 1 else []

    def _columns(self, width: int) -> _Columns:
        longest = max((len(_title(scenario)) for scenario in self._scenarios), default=0)
        names = {filesystem: filesystem for filesystem in self._filesystems}
        letters = _letters(self._filesystems)
        kernels = {kernel: kernel for kernel in self._kernels}
        short = _shortened(self._kernels)
        for kernel_labels, filesystem_labels, least in (
            (kernels, names, longest),
            (kernels, letters, longest),
            (short, letters, longest),
            (short, letters, min(longest, NARROWEST)),
        ):
            columns = _Columns(longest, (self._kernels,), kernel_labels, filesystem_labels)
            room = width - sum(columns.of_kernel(kernel) + GAP for kernel in self._kernels)
            if room >= least:
                return _Columns(min(longest, room), (self._kernels,), kernel_labels, filesystem_labels)
        smallest = _Columns(0, (), short, letters)
        each = max((smallest.of_kernel(kernel) + GAP for kernel in self._kernels), default=1)
        for_names = min(longest, max(width // 2, NARROWEST), max(width - each, 8))
        side_by_side = max((width - for_names) // each, 1)
        chunks = tuple(
            self._kernels[start : start + side_by_side]
            for start in range(0, len(self._kernels), side_by_side)
        )
        return _Columns(for_names, chunks, short, letters)

    def _block(self, kernels: tuple[str, ...], columns: _Columns, *, plain: bool) -> Block:
        top = Text(" " * columns.names, no_wrap=True, overflow="crop")
        below = top.copy()
        for kernel in kernels:
            wide = columns.of_kernel(kernel)
            label = columns.kernel_labels[kernel]
            rule = f" {(wide - len(label) - 1) * ('-' if plain else '─')}" if wide > len(label) + 1 else ""
            top.append(" " * GAP).append(label, "bold").append(rule.ljust(wide - len(label)), "dim")
            labels = " ".join(columns.filesystem_labels.values())
            below.append(" " * GAP).append(labels.ljust(wide), "dim")
        rows: list[Row] = []
        group = ""
        for scenario in self._scenarios:
            if not any(
                (scenario, kernel, fs) in self._cells for kernel in kernels for fs in self._filesystems
            ):
                continue
            if group != (group := scenario.partition("/")[0]):
                rows.append(Row("", (Text(group, "bold", no_wrap=True),)))
            rows.append(Row(scenario, tuple(self._row(scenario, kernels, columns, plain=plain))))
        top.rstrip()
        below.rstrip()
        return Block(kernels, (top, below), tuple(rows))

    def _row(self, scenario: str, kernels: tuple[str, ...], columns: _Columns, *, plain: bool) -> list[Text]:
        names = textwrap.wrap(_title(scenario), columns.names, subsequent_indent="    ") or [""]
        first, *more = (Text(name, no_wrap=True, overflow="crop") for name in names)
        first.pad_right(columns.names - first.cell_len)
        for kernel in kernels:
            first.append(" " * GAP)
            room = columns.of_kernel(kernel) - columns.of_filesystems()
            for index, (filesystem, label) in enumerate(columns.filesystem_labels.items()):
                cell: Cell = (scenario, kernel, filesystem)
                mark = self._cells.get(cell, Sign.UNPLANNED)
                before = (len(label) - 1) // 2
                first.append(" " * (before + (index > 0)))
                first.append(mark.plain if plain else mark.glyph, mark.style)
                first.append(" " * (len(label) - 1 - before))
            first.append(" " * room)
        first.rstrip()
        return [first, *more]

    def _legend(self, columns: _Columns, width: int, *, plain: bool) -> list[Text]:
        shown = set(self._cells.values())
        always = {Sign.CONFORMS, Sign.UNSAFE, Sign.DEVIATES, Sign.UNKNOWN}
        parts = [
            Text.assemble((mark.plain if plain else mark.glyph, mark.style), f" {mark.words}")
            for mark in Sign
            if mark in always or (mark in shown and mark is not Sign.UNPLANNED)
        ]
        short = [
            Text.assemble((label, "bold"), f" {filesystem}")
            for filesystem, label in columns.filesystem_labels.items()
            if label != filesystem
        ]
        return [*_flowed(short, width), *_flowed(parts, width)]


def matrix(results: Sequence[Result], plan: Sequence[Case] = ()) -> Matrix:
    """Return the matrix of a run, for rich to print. Without a plan: of the cases that have results."""
    return Matrix(results, plan)


def _title(scenario: str) -> str:
    return f"  {scenario.partition('/')[2].replace('_', ' ')}"


def _shortened(kernels: Sequence[str]) -> dict[str, str]:
    """Leave out `linux-` where every kernel has it."""
    if all(kernel.startswith("linux-") for kernel in kernels):
        return {kernel: kernel.removeprefix("linux-") for kernel in kernels}
    return {kernel: kernel for kernel in kernels}


def _letters(filesystems: Sequence[str]) -> dict[str, str]:
    """Name each file system by one letter of its own: `ext4-ordered` by `o`, `xfs` by `x`."""
    letters: dict[str, str] = {}
    for filesystem in filesystems:
        last = filesystem.rpartition("-")[2]
        wanted = f"{last}{filesystem}abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        free = (one for one in wanted if one.isalpha() and one not in letters.values())
        letters[filesystem] = next(free, "#")
    return letters


def _flowed(parts: Sequence[Text], width: int) -> list[Text]:
    """Set parts side by side, in as many lines as they need."""
    lines: list[Text] = []
    for part in parts:
        if lines and lines[-1].cell_len + 3 + part.cell_len <= width:
            lines[-1].append("   ").append_text(part)
        else:
            lines.append(Text("", no_wrap=True).append_text(part))
    return lines
