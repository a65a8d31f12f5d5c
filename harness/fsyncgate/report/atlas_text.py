"""The atlas as Markdown: `docs/atlas.md`."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from fsyncgate.model import KernelRecord, Result
from fsyncgate.report.atlas import NOT_ASKED, Answers, Atlas, Cell, Question, series
from fsyncgate.report.commits import Commit, between
from fsyncgate.report.difference import Pair, difference
from fsyncgate.report.phrases import listed, pairs, visible

PAPER = "the paper, Linux 5.2"
NO_COMMIT = "no commit is known"

_HEAD = """# The atlas: what fsync does when a write fails, kernel by kernel

<!-- Made by `fsyncgate atlas`. Do not edit: change scenarios/atlas.toml, or the scenarios. -->

The questions are those of a paper:

> {paper}

The first line of each table is what the paper says of Linux 5.2, as far as it could be made sure from its
abstract and questions, from its authors' [CuttleFS](https://github.com/WiscADSL/cuttlefs), which imitates
what they saw, and from accounts of section 3; a question mark is what could not. Every other line was
measured: each word comes from one case of a run, asked of a real kernel, with a history that shows which
request failed; below each table stands which case. "{not_asked}" means that no run has the case.

The kernels: {kernels}.
"""


def text(atlas: Atlas, answers: Answers) -> str:
    """Write the whole document."""
    kernels = answers.kernels
    names = [f"{_name(kernel)} is {kernel.version} ({kernel.package})" for kernel in kernels]
    lines = [_HEAD.format(paper=atlas.paper.strip(), not_asked=NOT_ASKED, kernels=listed(names) or "none")]
    for number, question in enumerate(atlas.question, 1):
        lines += [f"## {number}. {question.ask}", "", *_tables(question, answers, kernels)]
    lines += ["## What has changed since", "", *_changes_by_question(atlas, answers, kernels)]
    lines += ["### From series to series", "", *_changes_by_commit(answers, kernels)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _tables(question: Question, answers: Answers, kernels: Sequence[KernelRecord]) -> list[str]:
    of_paper = list(question.paper)
    others = [one for one in answers.filesystems if one not in question.paper]
    cells = {
        (kernel.id, filesystem): answers.cell(question, kernel.id, filesystem)
        for kernel in kernels
        for filesystem in (*of_paper, *others)
    }
    asked = [kernel for kernel in kernels if any(cells[kernel.id, one].asked for one in (*of_paper, *others))]
    rows = [[PAPER, *question.paper.values()]]
    rows += [[_name(kernel), *(cells[kernel.id, one].text for one in of_paper)] for kernel in asked]
    lines = _table(["", *of_paper], rows)
    others = [one for one in others if any(cells[kernel.id, one].asked for kernel in kernels)]
    if others:
        rows = [[_name(kernel), *(cells[kernel.id, one].text for one in others)] for kernel in asked]
        lines += ["File systems that the paper did not ask:", "", *_table(["", *others], rows)]
    sources = [
        f"`{part.scenario}` after {listed([f'`{fault}`' for fault in part.fault], 'or')} ({part.name})"
        for part in question.part
        if part.scenario
    ]
    lines += [f"From {listed(sources)}." if sources else "No scenario asks this yet.", ""]
    return [*lines, question.note.strip(), ""] if question.note else lines


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(visible(cell).replace('|', chr(92) + '|') for cell in cells)} |"

    return [line(head), f"|{'-|' * len(head)}", *map(line, rows), ""]


def _changes_by_question(atlas: Atlas, answers: Answers, kernels: Sequence[KernelRecord]) -> list[str]:
    """Say of each question where the answer is another than that of the paper or of a kernel before."""
    lines: list[str] = []
    for question in atlas.question:
        told: dict[str, list[str]] = {}
        for filesystem, paper in question.paper.items():
            if sentence := _story(question, filesystem, paper, answers, kernels):
                told.setdefault(sentence, []).append(filesystem)
        lines += [
            f"- **{question.ask}** On {listed(filesystems)}: {sentence}"
            for sentence, filesystems in told.items()
        ]
    return [*(lines or ["Nothing that these runs show."]), ""]


def _story(
    question: Question, filesystem: str, paper: str, answers: Answers, kernels: Sequence[KernelRecord]
) -> str:
    """Return in a sentence how an answer went on after the paper's; empty if it stayed."""
    known = [
        (kernel, cell) for kernel in kernels if (cell := answers.cell(question, kernel.id, filesystem)).asked
    ]
    if not known:
        return ""
    steps: list[str] = []
    first = known[0]
    if first[1].whole and paper not in {"?", first[1].text}:
        steps.append(f"the paper says *{paper}*, {_name(first[0])} does *{first[1].text}*")
    for (_, old), (kernel, new) in pairwise(known):
        if old.text != new.text:
            before = f"was *{old.text}*, is " if not steps else ""
            steps.append(f"{before}*{new.text}* in {_name(kernel)} ({_commits(_cell_commits(old, new))})")
    return "; ".join(steps) + "." if steps else ""


def _cell_commits(old: Cell, new: Cell) -> list[Commit]:
    same = {result.scenario: result for result in old.results}
    pairs_of_it = [(same[result.scenario], result) for result in new.results if result.scenario in same]
    found = [one for a, b in pairs_of_it if a.observed != b.observed for one in between(a, b)]
    return list(dict.fromkeys(found))


def _changes_by_commit(answers: Answers, kernels: Sequence[KernelRecord]) -> list[str]:
    """List between neighbours what changed, under the commit that changed it."""
    lines: list[str] = []
    for a, b in pairwise(kernels):
        found = difference(answers.of(a.id), answers.of(b.id), (a.id, b.id)) if a.id != b.id else None
        if found is None or not found.changes:
            continue
        lines += [f"**{_name(a)} to {_name(b)}**", ""]
        groups: dict[str, list[Pair]] = {}
        for pair in found.changes:
            groups.setdefault(_commits(between(pair.a, pair.b)), []).append(pair)
        for commit, changes in sorted(groups.items(), key=lambda group: group[0] == NO_COMMIT):
            lines += [f"- {commit}", *_alike(changes)]
        lines.append("")
    return lines or ["Nothing that these runs show."]


def _alike(changes: Sequence[Pair]) -> list[str]:
    """Put changes together that read alike."""
    groups: dict[tuple[str, str], list[str]] = {}
    for pair in changes:
        became = f"{pairs(pair.a.observed)} → {pairs(pair.b.observed)}"
        if pair.a.observed == pair.b.observed:
            became = f"{pairs(pair.a.observed)}: {_judged(pair.a)} → {_judged(pair.b)}"
        groups.setdefault((pair.a.scenario, became), []).append(f"{pair.a.filesystem} after {pair.a.fault}")
    return [
        f"    - `{scenario}` on {listed(places)}: {became}" for (scenario, became), places in groups.items()
    ]


def _judged(result: Result) -> str:
    safe = {True: ", safe", False: ", unsafe", None: ""}[result.safe]
    return f"{result.verdict}{safe}"


def _commits(commits: Sequence[Commit]) -> str:
    return listed([_code(one.text) for one in commits]) or NO_COMMIT


def _code(text_: str) -> str:
    return f"`{text_}`"


def _name(kernel: KernelRecord) -> str:
    """Return `5.10`, or `6.1 (6.1-full)` for a kernel that is not named by its series."""
    short = kernel.id.removeprefix("linux-")
    return short if short == series(kernel) else f"{series(kernel)} ({short})"
