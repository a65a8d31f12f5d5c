"""The books of one run, kept by the process that controls it: results in, `results/<run>/` out."""

import re
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from fsyncgate.errors import CONFORMS, DEVIATES, UNKNOWN, SetupError
from fsyncgate.machine.qemu import version as version_of_qemu
from fsyncgate.model import Judgement, Result
from fsyncgate.report import junit
from fsyncgate.store import RunRecord, Store


class Ledger:
    """Collects what the workers report."""

    def __init__(self, out: Path) -> None:
        """Begin a run in `out`. Raises UsageError if there is one already."""
        self.store = Store.create(out)
        self.planned: list[str] = []
        self.boots = 0
        self.accelerator = ""
        self._began, self._started = time.monotonic(), datetime.now(UTC)

    def add(self, result: Result) -> None:
        """Write a result down."""
        self.store.append(result)

    def close(self) -> list[Result]:
        """Order the results, write `run.json` and `junit.xml`, and return the results."""
        record = RunRecord(
            version=version("fsyncgate"),
            started=self._started,
            seconds=round(time.monotonic() - self._began, 3),
            qemu=_qemu(),
            accelerator=self.accelerator,
            boots=self.boots,
            planned=len(self.planned),
            command=tuple(sys.argv),
        )
        self.store.finish(self.planned, record)
        junit.write(self.store)
        return self.store.results()


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
