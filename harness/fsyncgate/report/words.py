"""What a run says, in whole sentences."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from fsyncgate.model import Judgement, Result, Scenario
from fsyncgate.report.phrases import (
    Place,
    differing,
    first_line,
    listed,
    natural,
    pairs,
    scope,
    sorted_names,
)


def summary(results: Sequence[Result], scenarios: Mapping[str, Scenario], *, cases: bool = True) -> list[str]:
    """Say what a reader of the run must know: counts, lessons, deviations, and what is unknown.

    Scenarios speak in the order of `scenarios`; kernels and file systems in that of their versions.
    Without `cases` the deviations are left out, for a reader who has just seen them.
    """
    if not results:
        return ["No case has a result."]
    order = {scenario: index for index, scenario in enumerate(scenarios)}
    results = sorted(
        results, key=lambda one: (order.get(one.scenario, len(order)), one.scenario, natural(one.case))
    )
    deviations = _deviations(results) if cases else []
    return [*_counts(results), *_lessons(results), *deviations, *_unexplained(results), *_unknowns(results)]


def unsafe(result: Result) -> bool:
    """Tell whether the kernel behaves as known, and unsafely."""
    return result.verdict is Judgement.CONFORMS and result.safe is False


UNEXPLAINED = "unexplained:"
"""How a `because` begins of which nobody knows why it is so."""


def unexplained(result: Result) -> bool:
    """Tell whether the kernel behaves as it did before, and nobody can say why."""
    return result.verdict is Judgement.CONFORMS and result.because.startswith(UNEXPLAINED)


def _place(result: Result) -> Place:
    return result.kernel.id, result.filesystem


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _counts(results: Sequence[Result]) -> list[str]:
    number = Counter(result.verdict for result in results)
    parts = [
        _count(number[Judgement.CONFORMS], "conforms", "conform"),
        _count(number[Judgement.DEVIATES], "deviates", "deviate"),
        _count(number[Judgement.UNKNOWN], "is unknown", "are unknown"),
    ]
    if len(number) == 1:
        only = next(part for part in parts if not part.startswith("0 ")).partition(" ")[2]
        told = f"1 case, and it {only}." if len(results) == 1 else f"{len(results)} cases, and all {only}."
    else:
        told = f"{len(results)} cases: {', '.join(parts)}."
    conforming = number[Judgement.CONFORMS]
    of = f"Of the {conforming} that {'conforms' if conforming == 1 else 'conform'},"
    sentences = [told]
    if dangerous := sum(map(unsafe, results)):
        share = f"{of} {_count(dangerous, 'is', 'are')} unsafe"
        sentences.append(f"{share}: the kernel does what is known of it, and data can be lost.")
    if unclear := sum(map(unexplained, results)):
        sentences.append(f"{of} {_count(unclear, 'is', 'are')} unexplained: nobody knows yet why it is so.")
    return sentences


def _lessons(results: Sequence[Result]) -> list[str]:
    filesystems = {result.filesystem for result in results}
    asked: dict[str, defaultdict[Place, set[str]]] = {}
    found: dict[tuple[str, str], defaultdict[Place, set[str]]] = {}
    for result in results:
        asked.setdefault(result.scenario, defaultdict(set))[_place(result)].add(result.fault)
        if unsafe(result):
            taught = (result.scenario, result.lesson)
            found.setdefault(taught, defaultdict(set))[_place(result)].add(result.fault)
    sentences: list[str] = []
    for (name, lesson), places in found.items():
        # "Every kernel" is every one that was asked this.
        everywhere = {(kernel, filesystem) for kernel, _ in asked[name] for filesystem in filesystems}
        by_faults: defaultdict[tuple[str, ...], list[Place]] = defaultdict(list)
        for place, faults in places.items():
            by_faults[() if faults == asked[name][place] else sorted_names(faults)].append(place)
        for only, there in sorted(by_faults.items()):
            where = scope(there, everywhere)
            if only:
                where = f"{where.rstrip(',')}, after {listed(only, 'or')},"
            told = lesson or f"'{name}' conforms and is unsafe"
            sentences.append(_sentence(f"{where} {told}"))
    return list(dict.fromkeys(sentences))  # two scenarios may teach the same


def _deviations(results: Sequence[Result]) -> list[str]:
    sentences: list[str] = []
    for result in results:
        if result.verdict is Judgement.DEVIATES:
            observed, expected = differing(result)
            sides = f"observed {pairs(observed)}; expected {pairs(expected)}"
            sentences.append(f"{result.case} deviates: {sides}.")
    return sentences


def _unknowns(results: Sequence[Result]) -> list[str]:
    everywhere = {_place(result) for result in results}
    groups: defaultdict[str, list[Place]] = defaultdict(list)
    for result in results:
        if result.verdict is Judgement.UNKNOWN:
            groups[first_line(result.reason)].append(_place(result))
    by_size = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [
        _sentence(f"{scope(there, everywhere)} {_are(len(there))} unknown: {reason}")
        for reason, there in by_size
    ]


def _unexplained(results: Sequence[Result]) -> list[str]:
    everywhere = {_place(result) for result in results}
    groups: defaultdict[tuple[str, str], list[Place]] = defaultdict(list)
    for result in filter(unexplained, results):
        groups[result.scenario, first_line(result.because.removeprefix(UNEXPLAINED))].append(_place(result))
    return [
        _sentence(f"{scope(there, everywhere)} {_are(len(there))} unexplained of '{scenario}': {why}")
        for (scenario, why), there in groups.items()
    ]


def _are(cases: int) -> str:
    return _count(cases, "case is", "cases are")
