"""A run told to a person: a matrix that fills while the cases run, then what was found."""

import atexit
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from threading import RLock
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live as Screen
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fsyncgate.errors import UsageError
from fsyncgate.model import Case, Judgement, Result, Scenario
from fsyncgate.report.grid import Drawing, Matrix, matrix
from fsyncgate.report.phrases import first_line, visible
from fsyncgate.report.plain import JsonLines, Plain, Reporter, details, unfinished
from fsyncgate.report.signs import planned, sign, told
from fsyncgate.report.words import summary

__all__ = ["JsonLines", "Live", "Plain", "Reporter", "matrix", "reporter", "show"]

READABLE = 100
"""Sentences are broken at so many columns, however wide the terminal is."""
EXAMPLES = 3
"""So many unknown cases are shown of those with one reason."""


class Live:
    """A `Reporter` on a terminal."""

    def __init__(
        self,
        plan: Sequence[Case],
        scenarios: Mapping[str, Scenario],
        console: Console | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what is planned; `clock` tells seconds."""
        self._plan = tuple(told(plan, scenarios))
        self._scenarios = scenarios
        self._console = console or Console()
        self._clock = clock
        self._lock = RLock()
        self._started = clock()
        self._results: dict[str, Result] = {}
        self._running: dict[str, None] = {}
        self._workers = 1
        self._status = ""
        self._page = 0
        self._screen: Screen | None = None
        self._stopped = False

    def __enter__(self) -> Self:
        """Begin."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End."""
        self.stop()

    def start(self) -> None:
        """Begin to draw. The cursor comes back even if nobody calls `stop`."""
        self._started = self._clock()
        self._screen = Screen(self, console=self._console, transient=True, vertical_overflow="crop")
        atexit.register(self._leave)
        self._screen.start()

    def resumed(self, results: Sequence[Result]) -> None:
        """Show the signs of cases that were asked before."""
        with self._lock:
            self._results |= {result.case: result for result in results}

    def case_started(self, case_id: str) -> None:
        """Show a case as running."""
        with self._lock:
            self._running[case_id] = None
            self._workers = max(self._workers, len(self._running))

    def case_finished(self, result: Result) -> None:
        """Show the sign of a case."""
        with self._lock:
            self._running.pop(result.case, None)
            self._results[result.case] = result

    def status(self, text: str) -> None:
        """Show what goes on beside the cases."""
        with self._lock:
            self._status = text

    def stop(self) -> None:
        """Take the moving picture away and print the whole matrix, the cases to look at, and the summary."""
        if self._stopped:
            return
        self._stopped = True
        self._leave()
        with self._lock:
            results, missing = list(self._results.values()), unfinished(len(self._results), len(self._plan))
        for sentence in missing:
            self._console.print(Text(sentence, "bold"))
        show(results, self._scenarios, plan=self._plan, console=self._console)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield as much of the matrix as the terminal has lines for, and the progress below it."""
        with self._lock:
            results, running, status = list(self._results.values()), list(self._running), self._status
        drawing = Matrix(results, self._plan, running).draw(options.max_width, plain=options.ascii_only)
        below = [Text(), *drawing.legend, Text()]
        page = self._visible(drawing, console.size.height - len(below) - 3, running)
        yield from page
        yield from below
        yield self._progress(results, options.max_width)
        yield Text(visible(status), "dim", no_wrap=True, overflow="ellipsis")

    def _leave(self) -> None:
        atexit.unregister(self._leave)
        screen, self._screen = self._screen, None
        if screen is not None:
            try:
                screen.stop()
            finally:
                self._console.show_cursor()

    def _visible(self, drawing: Drawing, height: int, running: Sequence[str]) -> list[Text]:
        """Return the page on which cases run; the reader stays on a page while any runs there."""
        pages = _pages(drawing, max(height, 0))
        if not pages:
            return []
        cells = {case.id: (case.kernel, case.scenario) for case in self._plan}
        busy = [index for one in running for index, page in enumerate(pages) if cells.get(one) in page.cells]
        if busy and self._page not in busy:
            self._page = busy[0]
        self._page = min(self._page, len(pages) - 1)
        text = list(pages[self._page].lines)
        if len(pages) > 1:
            text.append(Text(f"  part {self._page + 1} of {len(pages)}", "dim"))
        return text

    def _progress(self, results: Sequence[Result], width: int) -> RenderableType:
        done, planned = len(results), max(len(self._plan), len(results))
        elapsed = self._clock() - self._started
        text = f"{done}/{planned}   {_clock_time(elapsed)} elapsed"
        if 0 < done < planned:
            text += f"   about {_clock_time(seconds_left(results, self._plan) / self._workers)} left"
        row = Table.grid(padding=(0, 2))
        room = max(min(width - len(text) - 2, 50), 4)
        bar = ProgressBar(
            total=max(planned, 1),
            completed=done,
            width=room,
            style="dim",
            complete_style="green",
            finished_style="green",
        )
        row.add_row(bar, Text(text, no_wrap=True))
        return row


def seconds_left(results: Sequence[Result], plan: Sequence[Case]) -> float:
    """Return about how long one worker will take for what is left, by what the cases took so far.

    The first case of a kernel waits for its machine to boot; what that takes is counted once for each
    kernel that has not begun, and not for each case.
    """
    machines = [result.phases.get("machine", 0.0) for result in results]
    usual = median(machines)
    boots = [taken - usual for taken in machines if taken > BOOT * usual]
    each = usual + fmean(result.seconds - taken for result, taken in zip(results, machines, strict=True))
    known = {result.case for result in results}
    left = [case for case in plan if case.id not in known]
    begun = {result.kernel.id for result in results}
    to_boot = {case.kernel for case in left} - begun
    return each * len(left) + (fmean(boots) if boots else 0.0) * len(to_boot)


BOOT = 5
"""So many times the usual wait for a machine is a boot."""


@dataclass
class _Page:
    """A part of a matrix that fits the terminal."""

    lines: list[Text] = field(default_factory=list[Text])
    cells: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Kernel and scenario."""


def _pages(drawing: Drawing, height: int) -> list[_Page]:
    """Divide a matrix into pages of at most `height` lines, each with the header of its kernels."""
    pages: list[_Page] = []
    for block in drawing.blocks:
        heading: Sequence[Text] = ()
        before = [Text(), *block.header]
        for row in block.rows:
            if not row.scenario:
                heading = row.lines
                before += heading
                continue
            lines = [*before, *row.lines]
            if not pages or len(pages[-1].lines) + len(lines) > height:
                pages.append(_Page())
                lines = [*block.header, *heading, *row.lines]
            pages[-1].lines += lines
            pages[-1].cells |= {(kernel, row.scenario) for kernel in block.kernels}
            before = []
    return pages


def show(
    results: Sequence[Result],
    scenarios: Mapping[str, Scenario],
    *,
    plan: Sequence[Case] = (),
    console: Console | None = None,
) -> None:
    """Print the matrix of a run, the cases that deviate or are unknown, and the summary."""
    console = console or Console()
    console.print(Padding(Matrix(results, told(planned(results, plan), scenarios)), (1, 0)))
    for paragraph in _remarkable(results, plain=console.options.ascii_only):
        console.print(paragraph, soft_wrap=True)
    for sentence in summary(results, scenarios, cases=False):
        for line in _wrapped(sentence, min(console.width, READABLE)):
            console.print(Text(line), soft_wrap=True)


def _wrapped(sentence: str, width: int) -> list[str]:
    return textwrap.wrap(
        sentence, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _remarkable(results: Sequence[Result], *, plain: bool) -> list[Text]:
    """Say of each deviating case, and of some unknown ones for each reason, why, and how to run it again."""
    paragraphs: list[Text] = []
    reasons: Counter[str] = Counter()
    for result in sorted(results, key=lambda one: one.verdict is Judgement.UNKNOWN):
        if result.verdict is Judgement.CONFORMS:
            continue
        if result.verdict is Judgement.UNKNOWN:
            reasons[first_line(result.reason)] += 1
            if reasons[first_line(result.reason)] > EXAMPLES:
                continue
        mark = sign(result)
        text = Text.assemble((mark.plain if plain else mark.glyph, mark.style), f" {result.case}\n")
        for line in details(result):
            text.append(f"    {line}\n")
        paragraphs.append(text.append(f"    fsyncgate qualify --case {result.case}\n", "dim"))
    return paragraphs


def reporter(
    format: str,  # noqa: A002
    stream: TextIO,
    plan: Sequence[Case],
    scenarios: Mapping[str, Scenario],
) -> Reporter:
    """Return the reporter for `auto`, `terminal`, `plain` or `jsonl`.

    `auto` is `terminal` on a terminal that can move its cursor, else `plain`.
    """
    match format:
        case "jsonl":
            return JsonLines(stream)
        case "plain":
            return Plain(plan, scenarios, stream)
        case "terminal":
            return Live(plan, scenarios, Console(file=stream, force_terminal=True))
        case "auto":
            console = Console(file=stream)
            if console.is_terminal and not console.is_dumb_terminal:
                return Live(plan, scenarios, console)
            return Plain(plan, scenarios, stream)
        case _:
            raise UsageError(
                f"There is no format '{format}'.", hint="choose 'auto', 'terminal', 'plain' or 'jsonl'."
            )


def _clock_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
