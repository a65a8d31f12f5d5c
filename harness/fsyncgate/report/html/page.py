"""The page itself: template, style and script are put into one file with the content."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fsyncgate.model import Fault, Judgement, Result, Scenario
from fsyncgate.report import difference as differing
from fsyncgate.report.html.content import Run, content
from fsyncgate.report.html.parts import asset, json, page
from fsyncgate.report.words import summary, unsafe
from fsyncgate.store import Store


def write(
    stores: Sequence[tuple[str, Store]],
    scenarios: Mapping[str, Scenario],
    faults: Mapping[str, Fault],
    target: Path,
) -> None:
    """Write the page of one run, or of two beside each other, each with its label.

    Raises UsageError if a run cannot be read, OSError if `target` cannot be written.
    """
    runs = [Run(label, store, store.results()) for label, store in stores]
    target.write_text(render(runs, scenarios, faults), encoding="utf-8")


def render(runs: Sequence[Run], scenarios: Mapping[str, Scenario], faults: Mapping[str, Fault]) -> str:
    """Return the page."""
    made = content(runs, scenarios, faults)
    return page(
        "report.html.j2",
        title=_title(runs),
        verdict=_verdict([result for run in runs for result in run.results]),
        parts=_parts(runs, scenarios),
        facts=[fact for run in runs for fact in _facts(run)],
        index=json(made.index),
        chunks=made.chunks,
        css=asset("report.css"),
        js=asset("timeline.js") + asset("report.js"),
    )


def _title(runs: Sequence[Run]) -> str:
    if len(runs) > 1:
        return f"fsyncgate: {runs[0].label} and {runs[1].label}"
    kernels = dict.fromkeys(result.kernel.id for run in runs for result in run.results)
    return f"fsyncgate: {', '.join(kernels)}"


def _verdict(results: Sequence[Result]) -> str:
    """Return the one line that a reader must not miss."""
    deviating = sum(result.verdict is Judgement.DEVIATES for result in results)
    unknown = sum(result.verdict is Judgement.UNKNOWN for result in results)
    dangerous = sum(map(unsafe, results))
    if deviating:
        return f"{_cases(deviating, 'deviates', 'deviate')} from what is known of these kernels."
    if unknown:
        return f"Nothing deviates; {_cases(unknown, 'is', 'are')} unknown."
    if dangerous:
        return f"Everything is as known. {_cases(dangerous, 'is', 'are')} unsafe by design."
    return "Everything is as known, and safe." if results else "This run has no results."


def _cases(number: int, singular: str, plural: str) -> str:
    return f"{number} {f'case {singular}' if number == 1 else f'cases {plural}'}"


def _parts(runs: Sequence[Run], scenarios: Mapping[str, Scenario]) -> list[tuple[str, list[str]]]:
    """Return the summary: headings, and sentences below them."""
    parts = [(run.label, summary(run.results, scenarios)) for run in runs]
    if len(runs) == 2:
        found = differing.difference(runs[0].results, runs[1].results)
        names = (runs[0].label, runs[1].label)
        told = [differing.headline(found, names)]
        told += [f"{places}: {_sides(pair)}" for places, pair in differing.alike(found.changes)]
        parts.insert(0, ("What differs", told))
    return parts


def _sides(pair: differing.Pair) -> str:
    return f"{pair.a.scenario}: {differing.said(pair.a)} | {differing.said(pair.b)}"


def _facts(run: Run) -> list[str]:
    record = run.store.record()
    before = f"{run.label}: " if run.label else ""
    if record is None:
        return [f"{before}the run was killed before it could write what it was made with."]
    made = f"fsyncgate {record.version}, QEMU {record.qemu} ({record.accelerator})"
    took = f"begun {record.started:%Y-%m-%d %H:%M} UTC, {record.seconds:.0f} s"
    return [f"{before}{made}, {took}, {len(run.results)} of {record.planned} cases."]
