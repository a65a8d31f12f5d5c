"""The books of one run, kept by the process that controls it: results in, `results/<run>/` out."""

import re
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from fsyncgate.errors import CONFORMS, DEVIATES, UNKNOWN, SetupError
from fsyncgate.machine.qemu import version as version_of_qemu
from fsyncgate.model import Judgement, Result
from fsyncgate.report import junit
from fsyncgate.selection import Selection
from fsyncgate.store import RunRecord, Store


class Ledger:
    """Collects what the workers report."""

    def __init__(self, out: Path, *, selection: Selection | None = None, resumed: bool = False) -> None:
        """Begin a run in `out`, or go on with the one that is there.

        Nobody else may work on it until `close`. Raises UsageError if somebody does, if there is one already,
        or none to be `resumed`.
        """
        self.store = Store.open(out) if resumed else Store.create(out)
        self.planned: list[str] = []
        self._held = ExitStack()
        self._held.enter_context(self.store.held())
        before = self.store.record() if resumed else None
        self.boots = before.boots if before else 0
        self.accelerator = before.accelerator if before else ""
        self._command = before.command if before else tuple(sys.argv)
        self._started = before.started if before else datetime.now(UTC)
        self._selection = selection
        self._began = time.monotonic() - (before.seconds if before else 0.0)

    def plan(self, cases: Sequence[str]) -> None:
        """Write down what is planned, once: what is planned later is a part of it."""
        if not self.planned:
            self.planned = list(cases)
            self.store.begin(self.planned, self._record(ended=False))

    def add(self, result: Result) -> None:
        """Write a result down."""
        self.store.append(result)

    def close(self) -> list[Result]:
        """Order the results, write `run.json` and `junit.xml`, and return the results."""
        with self._held:
            self.store.finish(self.planned, self._record(ended=True))
            junit.write(self.store)
            return self.store.results()

    def _record(self, *, ended: bool) -> RunRecord:
        return RunRecord(
            version=version("fsyncgate"),
            started=self._started,
            seconds=round(time.monotonic() - self._began, 3),
            qemu=_qemu(),
            accelerator=self.accelerator,
            boots=self.boots,
            planned=len(self.planned),
            command=self._command,
            selection=self._selection,
            ended=ended,
        )


def _qemu() -> str:
    try:
        found = re.search(r"version (\S+)", version_of_qemu())
        return found[1] if found else ""
    except SetupError:
        return ""


def default_folder() -> Path:
    """Return `results/<time>`, the folder of a run that names none."""
    return Path("results") / datetime.now().astimezone().strftime("%Y-%m-%dT%H-%M-%S")


def status(results: Iterable[Result], planned: int = 0) -> int:
    """Return the exit status that tells what is known: worst wins; a case without a result is unknown."""
    verdicts = [result.verdict for result in results]
    if Judgement.DEVIATES in verdicts:
        return DEVIATES
    if Judgement.UNKNOWN in verdicts or len(verdicts) < planned or not verdicts:
        return UNKNOWN
    return CONFORMS
