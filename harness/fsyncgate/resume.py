"""Which cases of a run that was stopped are finished, as pure functions.

A case is finished when it has a result that is not unknown: what nobody could find out is asked again, and
what is known never. The answers of one kernel are those of one package; if another one is there now, what
the former answered does not count.
"""

from collections.abc import Iterable, Mapping, Sequence

from fsyncgate.errors import UsageError
from fsyncgate.model import Case, Judgement, Result


def same_plan(planned: Sequence[str], cases: Iterable[Case], run: object) -> None:
    """Raise UsageError unless the catalogue still has for the selection what was planned."""
    now = [case.id for case in cases]
    if gone := set(planned) - set(now):
        what = f"its case '{min(gone)}' is there no more"
    elif new := set(now) - set(planned):
        what = f"'{min(new)}' was no case of it"
    else:
        return
    raise UsageError(
        f"The run '{run}' cannot be resumed: the catalogue has changed since it began, {what}.",
        hint="begin it again.",
    )


def unfinished_kernels(cases: Iterable[Case], results: Iterable[Result]) -> list[str]:
    """Return the kernels that have still something to answer, or whose answers are not of one package."""
    known = {result.case: result.kernel.sha256 for result in results if _is_known(result)}
    packages: dict[str, set[str | None]] = {}
    for case in cases:
        packages.setdefault(case.kernel, set()).add(known.get(case.id))
    return [kernel for kernel, those in packages.items() if None in those or len(those) > 1]


def finished(
    cases: Iterable[Case], results: Iterable[Result], kernels: Mapping[str, str]
) -> dict[str, Result]:
    """Return the results that stand, by case and in the plan's order.

    `kernels` are the digests of the packages that unfinished kernels have now.
    """
    known = {
        result.case: result
        for result in results
        if _is_known(result) and kernels.get(result.kernel.id, result.kernel.sha256) == result.kernel.sha256
    }
    return {case.id: known[case.id] for case in cases if case.id in known}


def moved(results: Iterable[Result], kernels: Mapping[str, str]) -> list[str]:
    """Say of each kernel of which another package is there now that it is asked anew."""
    old: dict[str, int] = {}
    for result in results:
        kernel = result.kernel
        if _is_known(result) and kernels.get(kernel.id, kernel.sha256) != kernel.sha256:
            old[kernel.id] = old.get(kernel.id, 0) + 1
    return [
        f"The kernel '{kernel}' is another one than when the run began: "
        f"{count} {'case' if count == 1 else 'cases'} of it {'is' if count == 1 else 'are'} asked anew."
        for kernel, count in old.items()
    ]


def _is_known(result: Result) -> bool:
    return result.verdict is not Judgement.UNKNOWN
