"""The atlas: what results say to the questions of a paper, by declarative rules (`scenarios/atlas.toml`)."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from fsyncgate.errors import CatalogueError
from fsyncgate.kernels.versions import parse
from fsyncgate.model import Judgement, KernelRecord, Result
from fsyncgate.places import place
from fsyncgate.report.phrases import natural, pairs

NOT_ASKED = "not asked"

Logged = Callable[[Result], bool | None]
"""Whether the kernel printed anything of a failure in a case; None if that is not known."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """If it fits what was observed, the part says `word`."""

    word: str
    when: dict[str, Any] = {}


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one case has to say to a question."""

    name: str
    scenario: str = ""
    """Empty: no scenario asks this yet."""
    fault: tuple[str, ...] = ()
    say: tuple[Rule, ...] = ()
    filesystem: tuple[str, ...] = ()
    console: bool = False


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question of the paper."""

    ask: str
    paper: dict[str, str]
    """The paper's answers by file system."""
    part: tuple[Part, ...] = ()
    none: str = "no"
    note: str = ""


class Atlas(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`scenarios/atlas.toml`."""

    paper: str
    """Its citation."""
    question: tuple[Question, ...]


class Cell(msgspec.Struct, frozen=True):
    """What one kernel with one file system says to a question."""

    text: str
    results: tuple[Result, ...] = ()
    """What it was read from."""

    whole: bool = False
    """Whether every part has answered."""

    @property
    def asked(self) -> bool:
        """Whether there is any answer."""
        return bool(self.results)


def load(file: Path | None = None) -> Atlas:
    """Read the questions. Raises CatalogueError for a file that is broken."""
    file = file or place("scenarios") / "atlas.toml"
    try:
        return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Atlas)
    except (OSError, ValueError) as error:  # broken TOML, or not what is wanted
        raise CatalogueError(f"'{file}' cannot be read: {error}.") from None


class Answers:
    """The results of some runs, by case; of a case in several runs the last counts."""

    def __init__(self, results: Iterable[Result], logged: Logged = lambda _: None) -> None:
        """Take the results, and how to find out what the kernel printed."""
        self._results = {result.case: result for result in results}
        self._logged = logged

    @property
    def kernels(self) -> list[KernelRecord]:
        """The kernels, the oldest first."""
        known = {one.kernel.id: one.kernel for one in self._results.values() if one.kernel.version}
        return sorted(known.values(), key=lambda kernel: (_order(kernel), natural(kernel.id)))

    @property
    def filesystems(self) -> list[str]:
        """The file systems, in the order of the results."""
        return list(dict.fromkeys(one.filesystem for one in self._results.values()))

    def of(self, kernel: str) -> list[Result]:
        """Return the results of a kernel."""
        return [result for result in self._results.values() if result.kernel.id == kernel]

    def cell(self, question: Question, kernel: str, filesystem: str) -> Cell:
        """Return what a kernel with a file system says to a question."""
        parts = [one for one in question.part if not one.filesystem or filesystem in one.filesystem]
        answers = {part.name: self._result(part, kernel, filesystem) for part in parts}
        found = tuple(result for result in answers.values() if result is not None)
        if not found:
            return Cell(NOT_ASKED)
        words = [self._word(part, result) for part in parts if (result := answers[part.name]) is not None]
        missing = [name for name, result in answers.items() if result is None]
        said = list(dict.fromkeys(word for word in words if word)) or ([] if missing else [question.none])
        left = f" ({NOT_ASKED}: {', '.join(missing)})" if missing else ""
        return Cell(f"{', '.join(said)}{left}".strip(), found, whole=not missing)

    def _result(self, part: Part, kernel: str, filesystem: str) -> Result | None:
        cases = (f"{kernel}/{filesystem}/{fault}/{part.scenario}" for fault in part.fault)
        return next((self._results[case] for case in cases if case in self._results), None)

    def _word(self, part: Part, result: Result) -> str:
        if result.verdict is Judgement.UNKNOWN:
            return f"{part.name} unknown"
        observed: Mapping[str, Any] = result.observed
        if part.console:
            observed = {"logged": self._logged(result)}
        rule = next((one for one in part.say if _fits(one.when, observed)), None)
        word = f"{part.name}: {pairs(dict(observed))}" if rule is None else rule.word
        return f"{word or part.name} (deviates)" if result.verdict is Judgement.DEVIATES else word


def series(kernel: KernelRecord) -> str:
    """Return `5.10` for 5.10.223."""
    return ".".join(kernel.version.split(".")[:2])


def _fits(when: Mapping[str, Any], observed: Mapping[str, Any]) -> bool:
    return all(name in observed and _equal(observed[name], value) for name, value in when.items())


def _equal(seen: object, wanted: object) -> bool:
    values = cast("list[object]", wanted) if isinstance(wanted, list) else [wanted]
    return any(type(seen) is type(value) and seen == value for value in values)


def _order(kernel: KernelRecord) -> tuple[float, ...]:
    try:
        return parse(kernel.version)
    except ValueError:
        return (float("inf"),)
