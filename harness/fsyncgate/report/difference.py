"""What two runs, or two kernels of a run, do differently."""

from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from fsyncgate.errors import UsageError
from fsyncgate.model import Judgement, Result
from fsyncgate.report.commits import between, changed_by
from fsyncgate.report.phrases import first_line, listed, natural, pairs, visible
from fsyncgate.report.signs import sign


class Pair(msgspec.Struct, frozen=True):
    """The same scenario, file system and fault on each side."""

    a: Result
    b: Result


class Difference(msgspec.Struct, frozen=True):
    """What `difference` finds, in the order of scenarios."""

    kernels: tuple[str, ...]
    """The two that are compared; empty if each kernel is compared with itself in the other run."""
    same: int
    """How many pairs behave alike."""
    changes: tuple[Pair, ...]
    """Pairs of which the observations, the verdict or the safety differ."""
    unknown: tuple[Pair, ...]
    """Pairs that cannot be compared, as one of them is unknown."""
    only_a: tuple[Result, ...]
    only_b: tuple[Result, ...]


def difference(a: Sequence[Result], b: Sequence[Result], kernels: Sequence[str] = ()) -> Difference:
    """Compare two runs, or two kernels.

    Without `kernels`: if each run has one kernel, these are compared, whatever their names; else each
    kernel with the one of the same id. With one id: this kernel in both runs. With two: the first in
    `a` with the second in `b`, which may be the same run.

    Raises UsageError if a kernel is not there or the runs have none in common.
    """
    ours, theirs = _kernels(a), _kernels(b)
    if len(kernels) > 2:
        raise UsageError("A difference has two sides.", hint="give '--kernel' twice at most.")
    chosen = (kernels[0], kernels[-1]) if kernels else ()
    if not chosen and len(ours) == len(theirs) == 1:
        chosen = (ours[0], theirs[0])
    if not chosen and not set(ours) & set(theirs):
        raise UsageError(
            f"The runs have no kernel in common: {_quoted(ours)}; {_quoted(theirs)}.",
            hint="say which to compare with '--kernel A --kernel B'.",
        )
    for kernel, there in zip(chosen, (ours, theirs), strict=False):
        if kernel not in there:
            raise UsageError(f"The run has no kernel '{kernel}'.", hint=f"it has {_quoted(there)}.")
    if chosen:
        a = [result for result in a if result.kernel.id == chosen[0]]
        b = [result for result in b if result.kernel.id == chosen[1]]
    across = bool(chosen)
    left = {_key(result, across=across): result for result in a}
    right = {_key(result, across=across): result for result in b}
    both = [Pair(left[key], right[key]) for key in _ordered(left.keys() & right.keys())]
    unknown = tuple(pair for pair in both if _is_unknown(pair))
    changes = tuple(pair for pair in both if not _is_unknown(pair) and _differs(pair))
    return Difference(
        kernels=chosen,
        same=len(both) - len(unknown) - len(changes),
        changes=changes,
        unknown=unknown,
        only_a=tuple(left[key] for key in _ordered(left.keys() - right.keys())),
        only_b=tuple(right[key] for key in _ordered(right.keys() - left.keys())),
    )


def text(found: Difference, names: tuple[str, str] = ("A", "B")) -> str:
    """Write a difference as plain text; `names` are those of the runs."""
    lines = [headline(found, names), *shares(found)]
    for scenario, pairs_of_it in groupby(found.changes, key=lambda pair: pair.a.scenario):
        lines += ["", scenario]
        for places, pair in alike(pairs_of_it):
            lines.append(f"  {places}")
            for name, side in zip(sides(found, names), (pair.a, pair.b), strict=True):
                lines.append(f"    {name}: {said(side)}")
                if side.because:
                    lines.append(f"      {visible(side.because)}")
            if commit := changed_by(pair.a, pair.b):
                lines.append(f"    {visible(commit)}")
    for title, members in rest(found, names):
        lines += ["", title, *(f"  {member}" for member in members)]
    return "\n".join(lines) + "\n"


def headline(found: Difference, names: tuple[str, str] = ("A", "B")) -> str:
    """Say in one sentence how much differs."""
    a, b = sides(found, names)
    count = len(found.changes)
    differ = "nothing differs" if not count else f"{count} {'case differs' if count == 1 else 'cases differ'}"
    return f"{a} -> {b}: {differ}, {found.same} {'is' if found.same == 1 else 'are'} the same."


def shares(found: Difference) -> list[str]:
    """Say how many of the changes are explained by a commit that one side has and the other has not."""
    explained = [
        between(pair.a, pair.b) for pair in found.changes if pair.a.kernel.version != pair.b.kernel.version
    ]
    if not explained:
        return []
    by = sum(map(bool, explained))
    commits = len({commit for those in explained for commit in those})
    parts = (
        f"{by} {'is' if by == 1 else 'are'} the work of {commits} {'commit' if commits == 1 else 'commits'}",
        f"of {len(explained) - by} no commit is known",
    )
    told = [part for part, number in zip(parts, (by, len(explained) - by), strict=True) if number]
    return [f"Of these, {listed(told)}."]


def sides(found: Difference, names: tuple[str, str]) -> tuple[str, str]:
    """Return what the two sides are called: kernels that differ, else the runs."""
    if found.kernels and found.kernels[0] != found.kernels[1]:
        return found.kernels[0], found.kernels[1]
    return names


def alike(changes: Iterable[Pair]) -> list[tuple[str, Pair]]:
    """Put changes of one scenario together that read alike: their places in words, and one of them."""
    groups: dict[tuple[str, ...], list[Pair]] = {}
    for pair in changes:
        reads = (said(pair.a), pair.a.because, said(pair.b), pair.b.because)
        groups.setdefault(reads, []).append(pair)
    return [(", ".join(_place(pair) for pair in members), members[0]) for members in groups.values()]


def said(result: Result) -> str:
    """Return a verdict and what was observed: `conforms, unsafe: heard=10`."""
    return f"{sign(result).words}: {pairs(result.observed)}"


def rest(found: Difference, names: tuple[str, str]) -> list[tuple[str, list[str]]]:
    """Return what has no pair or could not be compared: titles, and lines below them."""
    a, b = sides(found, names)
    reasons: dict[str, list[str]] = {}
    for pair in found.unknown:
        for name, side in zip((a, b), (pair.a, pair.b), strict=True):
            if side.verdict is Judgement.UNKNOWN:
                reasons.setdefault(f"{name}: {first_line(side.reason)}", []).append(f"  {side.case}")
    unknown = [line for reason, members in reasons.items() for line in (reason, *members)]
    parts = (
        ("Not compared, as one side is unknown:", unknown),
        (f"Only in {a}:", [result.case for result in found.only_a]),
        (f"Only in {b}:", [result.case for result in found.only_b]),
    )
    return [(title, members) for title, members in parts if members]


def _kernels(results: Iterable[Result]) -> list[str]:
    return list(dict.fromkeys(result.kernel.id for result in results))


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


_Key = tuple[str, str, str, str]


def _key(result: Result, *, across: bool) -> _Key:
    return (result.scenario, "" if across else result.kernel.id, result.filesystem, result.fault)


def _ordered(keys: Iterable[_Key]) -> list[_Key]:
    return sorted(keys, key=lambda key: [natural(part) for part in key])


def _is_unknown(pair: Pair) -> bool:
    return Judgement.UNKNOWN in {pair.a.verdict, pair.b.verdict}


def _differs(pair: Pair) -> bool:
    return (pair.a.observed, pair.a.verdict, pair.a.safe) != (pair.b.observed, pair.b.verdict, pair.b.safe)


def _place(pair: Pair) -> str:
    where = f"{pair.a.filesystem}/{pair.a.fault}"
    return f"{pair.a.kernel.id}/{where}" if pair.a.kernel.id == pair.b.kernel.id else where
