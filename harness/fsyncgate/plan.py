"""Which cases there are: scenario x kernel x file system x fault, as a pure function."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fsyncgate.errors import CatalogueError, UsageError
from fsyncgate.model import Case, Fault, FileSystem, Scenario


@dataclass(frozen=True)
class Wanted:
    """What the user selected; an empty selection is everything."""

    filesystems: Sequence[str] = ()
    faults: Sequence[str] = ()
    scenarios: Sequence[str] = ()
    """`reporting`, `reporting/first_fsync` or `first_fsync`."""
    cases: Sequence[str] = ()


def plan(
    kernels: Sequence[str],
    scenarios: Mapping[str, Scenario],
    filesystems: Mapping[str, FileSystem],
    faults: Mapping[str, Fault],
    wanted: Wanted | None = None,
) -> list[Case]:
    """Return the cases in the order in which they run: by kernel, file system, scenario, fault.

    Raises CatalogueError for a scenario that asks for a fault or a file system that does not exist.
    """
    wanted = wanted or Wanted()
    for scenario in scenarios.values():
        _known(CatalogueError, f"fault of '{scenario.id}'", scenario.faults, faults)
        _known(CatalogueError, f"file system of '{scenario.id}'", scenario.filesystems, filesystems)
    return [
        case
        for kernel in kernels
        for filesystem in filesystems
        for scenario in scenarios.values()
        for fault in scenario.faults
        if (not scenario.filesystems or filesystem in scenario.filesystems)
        and selected(case := Case(scenario.id, kernel, filesystem, fault), wanted)
    ]


def selected(case: Case, wanted: Wanted) -> bool:
    """Tell whether the user wants this case."""
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
