"""What the reports look like: each text in tests/golden/, made from the made-up run in tests/golden/run/."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console, RenderableType

from fsyncgate.model import Scenario
from fsyncgate.report.difference import difference, text
from fsyncgate.report.difference_table import table
from fsyncgate.report.grid import Matrix, matrix
from fsyncgate.report.junit import junit
from fsyncgate.report.plain import JsonLines, Plain
from fsyncgate.report.signs import planned
from fsyncgate.report.terminal import show
from fsyncgate.report.words import summary
from fsyncgate.store import Store

GOLDEN = Path(__file__).parents[1] / "golden"
STORE = Store.open(GOLDEN / "run")
LESSONS = {
    "reporting/a_failed_flush_is_reported": "the first fsync after a failed cache flush succeeds",
    "reporting/an_evicted_inode_forgets_the_error": "an error is forgotten when the inode is evicted",
    "retrying/a_second_fsync_succeeds": "a second fsync succeeds after the data was lost",
    "retrying/the_cache_shows_what_the_disk_lacks": "the page cache shows data that the disk never got.",
}
SCENARIOS = {name: Scenario(name, "", (), (), ()) for name in LESSONS}
RESULTS = [
    msgspec.structs.replace(result, lesson=LESSONS.get(result.scenario, "")) for result in STORE.results()
]
PLAN = planned(RESULTS)
KERNELS = ("linux-5.10", "linux-6.12")


def drawn(renderable: RenderableType, width: int, *, color: bool = False) -> str:
    stream = StringIO()
    console = Console(
        file=stream, width=width, force_terminal=True, color_system="standard" if color else None, _environ={}
    )
    console.print(renderable)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def half_way(width: int) -> str:
    return drawn(Matrix(RESULTS[:30], PLAN, {PLAN[30].id, PLAN[33].id}), width)


def shown() -> str:
    stream = StringIO()
    console = Console(file=stream, width=80, force_terminal=True, color_system=None, _environ={})
    show(RESULTS, SCENARIOS, console=console)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def plain() -> str:
    stream = StringIO()
    with Plain(PLAN, SCENARIOS, stream) as reporter:
        reporter.status("booting linux-5.10")
        reporter.status("booting linux-5.10")
        for result in RESULTS:
            reporter.case_started(result.case)
            reporter.case_finished(result)
    return stream.getvalue()


def json_lines() -> str:
    stream = StringIO()
    with JsonLines(stream) as reporter:
        reporter.status("booting linux-5.10")
        for result in RESULTS:
            reporter.case_finished(result)
    return stream.getvalue()


TEXTS: dict[str, Callable[[], str]] = {
    "summary.txt": lambda: "".join(f"{line}\n" for line in summary(RESULTS, SCENARIOS)),
    "matrix-200.txt": lambda: drawn(matrix(RESULTS), 200),
    "matrix-80.txt": lambda: half_way(80),
    "matrix-40.txt": lambda: half_way(40),
    "matrix-color.txt": lambda: drawn(matrix(RESULTS), 80, color=True),
    "show-80.txt": shown,
    "plain.txt": plain,
    "run/results.jsonl": json_lines,
    "junit.xml": lambda: junit(RESULTS).decode(),
    "difference.txt": lambda: text(difference(RESULTS, RESULTS, KERNELS)),
    "difference-80.txt": lambda: drawn(table(difference(RESULTS, RESULTS, KERNELS)), 80),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_report_reads_as_its_golden_text(name: str) -> None:
    made = TEXTS[name]()
    path = GOLDEN / name
    if not path.exists():
        path.write_text(made, encoding="utf-8")
        pytest.fail(f"'{name}' was missing and is written now: read it, and commit it if it is right.")
    assert made == path.read_text(encoding="utf-8")
