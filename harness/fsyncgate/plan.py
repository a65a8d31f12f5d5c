"""Which cases there are: scenario x kernel x file system x fault, as a pure function."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fsyncgate.errors import CatalogueError, UsageError
from fsyncgate.kernels.catalogue import FIRST_FLAVOUR
from fsyncgate.model import Case, Fault, FileSystem, Scenario

DEFAULT = "default"
"""In a scenario's file systems: those that are part of every run."""


@dataclass(frozen=True)
class Wanted:
    """What the user selected; an empty selection is everything."""

    filesystems: Sequence[str] = ()
    faults: Sequence[str] = ()
    scenarios: Sequence[str] = ()
    """`reporting`, `reporting/first_fsync` or `first_fsync`."""
    cases: Sequence[str] = ()
    everything: bool = False
    """Also what is no default: every file system, and kernels of other flavours for what only they have."""


def plan(
    kernels: Sequence[str],
    scenarios: Mapping[str, Scenario],
    filesystems: Mapping[str, FileSystem],
    faults: Mapping[str, Fault],
    wanted: Wanted | None = None,
    flavours: Mapping[str, str] | None = None,
) -> list[Case]:
    """Return the cases in the order in which they run: by kernel, file system, scenario, fault.

    `flavours` are those of Debian's kernels; a kernel that has none there is asked everything. Raises
    CatalogueError for a scenario that asks for a fault or a file system that does not exist.
    """
    wanted = wanted or Wanted()
    for scenario in scenarios.values():
        _known(CatalogueError, f"fault of '{scenario.id}'", scenario.faults, faults)
        _known(
            CatalogueError, f"file system of '{scenario.id}'", scenario.filesystems, {DEFAULT, *filesystems}
        )
    return [
        case
        for kernel in kernels
        for filesystem in filesystems.values()
        for scenario in scenarios.values()
        for fault in scenario.faults
        if _asked_on(scenario, filesystem)
        and _has((flavours or {}).get(kernel, ""), filesystem.flavour or faults[fault].flavour, wanted)
        and selected(case := Case(scenario.id, kernel, filesystem.id, fault), wanted, filesystem)
    ]


def _asked_on(scenario: Scenario, filesystem: FileSystem) -> bool:
    named = scenario.filesystems or (DEFAULT,)
    return filesystem.id in named or (filesystem.default and DEFAULT in named)


def _has(flavour: str, needed: str, wanted: Wanted) -> bool:
    """Tell whether a kernel of this flavour is asked what needs that one.

    Of everything, another flavour than the first is asked only what the first lacks: its answers to the rest
    are the same.
    """
    if needed and flavour:
        return needed == flavour
    return not (wanted.everything and flavour not in {"", FIRST_FLAVOUR})


def selected(case: Case, wanted: Wanted, filesystem: FileSystem) -> bool:
    """Tell whether the user wants this case."""
    if not (filesystem.default or wanted.everything or wanted.filesystems or wanted.cases):
        return False
    return (
        (not wanted.filesystems or case.filesystem in wanted.filesystems)
        and (not wanted.faults or case.fault in wanted.faults)
        and (not wanted.scenarios or any(_names(name, case.scenario) for name in wanted.scenarios))
        and (not wanted.cases or case.id in wanted.cases)
    )


def kernel_of(case_id: str) -> str:
    """Return the kernel that a case id begins with."""
    return case_id.partition("/")[0]


def _names(name: str, scenario: str) -> bool:
    group, _, short = scenario.partition("/")
    return name.removesuffix("/") in {scenario, group, short}


def check_names(
    wanted: Wanted,
    scenarios: Iterable[str],
    filesystems: Collection[str],
    faults: Collection[str],
) -> None:
    """Raise UsageError if the user selected something that does not exist."""
    known = list(scenarios)
    _known(UsageError, "file system", wanted.filesystems, filesystems)
    _known(UsageError, "fault", wanted.faults, faults)
    for name in wanted.scenarios:
        if not any(_names(name, scenario) for scenario in known):
            raise UsageError(f"There is no scenario '{name}'.", hint=f"there are {', '.join(known)}.")


def _known(error: type[UsageError], what: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise error(f"There is no {what} '{name}'.", hint=f"there are {', '.join(known)}.")
