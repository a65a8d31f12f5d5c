"""What the page holds: an index of all cases, and their details packed in chunks that open when asked for."""

import base64
import gzip
from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec

from fsyncgate.errors import UsageError
from fsyncgate.history import read
from fsyncgate.model import Fault, Result, Scenario
from fsyncgate.report.phrases import natural, visible
from fsyncgate.report.signs import sign
from fsyncgate.report.timeline import Timeline, timeline
from fsyncgate.store import Store

CHUNK = 40
"""Cases of a chunk: a reader who opens one case unpacks so many."""
CONSOLE = 60
"""Lines of a console that are kept: its last ones."""


class Column(msgspec.Struct, frozen=True):
    """A kernel of the matrix, in one of the runs."""

    id: str
    label: str
    release: str
    package: str


class Asked(msgspec.Struct, frozen=True):
    """A scenario of the matrix."""

    id: str
    group: str
    title: str
    question: str


class Index(msgspec.Struct, frozen=True):
    """Everything that the matrix and its filters need. Cases name the others by their places."""

    kernels: list[Column]
    filesystems: list[str]
    faults: list[str]
    scenarios: list[Asked]
    signs: list[tuple[str, str, str]]
    """Name, glyph and words."""
    cases: list[tuple[int, int, int, int, int]]
    """Scenario, kernel, file system, fault, sign; the n-th case is in chunk n // size."""
    answers: list[int]
    """A number for each case: two cases with the same number were observed and judged alike."""
    size: int


class Detail(msgspec.Struct, frozen=True):
    """What the panel of a case shows."""

    id: str
    """With the run's label before it where there are two runs."""
    case: str
    sign: int
    observed: dict[str, Any]
    expected: dict[str, Any] | None
    verdict: str
    safe: bool | None
    reason: str
    because: str
    lesson: str
    fired: int
    seconds: float
    sha256: str
    timeline: Timeline | None
    console: list[str]


class Run(msgspec.Struct, frozen=True):
    """One stored run, and what it is called on the page; one that stands alone is called nothing."""

    label: str
    store: Store
    results: list[Result]


class Content(msgspec.Struct, frozen=True):
    """The page's data."""

    index: Index
    chunks: list[str]
    """base64 of gzip of a JSON list of details."""


def content(runs: Sequence[Run], scenarios: Mapping[str, Scenario], faults: Mapping[str, Fault]) -> Content:
    """Read the runs. Raises UsageError if a case's folder is named beyond the store."""
    from fsyncgate.report.signs import Sign

    all_signs = list(Sign)
    pairs = [(run, result) for run in runs for result in run.results]
    columns = _columns(pairs)
    order = {name: index for index, name in enumerate(scenarios)}
    asked = sorted(
        {result.scenario for _, result in pairs}, key=lambda one: (order.get(one, len(order)), one)
    )
    filesystems = list(dict.fromkeys(result.filesystem for _, result in pairs))
    names = sorted({result.fault for _, result in pairs}, key=natural)
    kernels = list(columns)
    pairs.sort(
        key=lambda pair: (
            asked.index(pair[1].scenario),
            kernels.index(_column(*pair)),
            filesystems.index(pair[1].filesystem),
            names.index(pair[1].fault),
        )
    )
    dropping = {fault.id for fault in faults.values() if fault.operation == "drop"}
    details = [_detail(run, result, all_signs.index(sign(result)), dropping) for run, result in pairs]
    index = Index(
        kernels=list(columns.values()),
        filesystems=filesystems,
        faults=names,
        scenarios=[_asked(name, scenarios) for name in asked],
        signs=[(one.name.lower(), one.glyph, one.words) for one in all_signs],
        cases=[
            (
                asked.index(result.scenario),
                kernels.index(_column(run, result)),
                filesystems.index(result.filesystem),
                names.index(result.fault),
                detail.sign,
            )
            for (run, result), detail in zip(pairs, details, strict=True)
        ],
        answers=_answers([result for _, result in pairs]),
        size=CHUNK,
    )
    packed = [_pack(details[start : start + CHUNK]) for start in range(0, len(details), CHUNK)]
    return Content(index, packed)


def _answers(results: Sequence[Result]) -> list[int]:
    numbers: dict[bytes, int] = {}
    said = (msgspec.json.encode((one.observed, one.verdict, one.safe)) for one in results)
    return [numbers.setdefault(one, len(numbers)) for one in said]


def _columns(pairs: Sequence[tuple[Run, Result]]) -> dict[str, Column]:
    found: dict[str, Column] = {}
    for run, result in pairs:
        kernel = result.kernel
        label = kernel.id.removeprefix("linux-")
        found.setdefault(
            _column(run, result),
            Column(
                kernel.id, f"{run.label}: {label}" if run.label else label, kernel.release, kernel.package
            ),
        )
    return found


def _column(run: Run, result: Result) -> str:
    return f"{run.label}\0{result.kernel.id}"


def _asked(name: str, scenarios: Mapping[str, Scenario]) -> Asked:
    group, _, title = name.partition("/")
    question = scenarios[name].question if name in scenarios else ""
    return Asked(name, group, title.replace("_", " "), question)


def _detail(run: Run, result: Result, number: int, dropping: Set[str]) -> Detail:
    folder = run.store.case_folder(result.case, make=False)
    try:
        picture = timeline(read(folder / "history.jsonl"), dropping)
    except UsageError:
        picture = None  # the case never began, or its folder was not kept
    try:
        console = (folder / "console.log").read_text(errors="replace").splitlines()[-CONSOLE:]
    except OSError:
        console = []
    return Detail(
        id=f"{run.label}:{result.case}" if run.label else result.case,
        case=result.case,
        sign=number,
        observed=result.observed,
        expected=result.expected,
        verdict=result.verdict,
        safe=result.safe,
        reason=result.reason,
        because=result.because,
        lesson=result.lesson,
        fired=result.fired,
        seconds=result.seconds,
        sha256=result.kernel.sha256,
        timeline=picture,
        console=[visible(line) for line in console],
    )


def _pack(details: Sequence[Detail]) -> str:
    return base64.b64encode(gzip.compress(msgspec.json.encode(details), 9, mtime=0)).decode()
