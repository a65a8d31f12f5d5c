"""A run told to a pipe or a log file: one line a case, no escape codes; or JSON lines."""

from collections.abc import Mapping, Sequence
from threading import Lock
from types import TracebackType
from typing import Protocol, Self, TextIO

import msgspec

from fsyncgate.model import Case, Judgement, Result, Scenario
from fsyncgate.report.phrases import differing, pairs, visible
from fsyncgate.report.words import summary


class Reporter(Protocol):
    """What a run tells its reader while it goes on. Every method may be called from any thread."""

    def start(self) -> None:
        """Begin."""

    def resumed(self, results: Sequence[Result]) -> None:
        """Take the results that a run has already when it is resumed."""

    def case_started(self, case_id: str) -> None:
        """A case was given to a machine."""

    def case_finished(self, result: Result) -> None:
        """A case has its verdict."""

    def status(self, text: str) -> None:
        """Say what goes on beside the cases, e.g. `booting linux-6.1`."""

    def stop(self) -> None:
        """End, and say what was found. A second call does nothing."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End."""


class _Stream:
    """Whole lines to a stream, from any thread."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = Lock()

    def __enter__(self) -> Self:
        """Begin."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End."""
        self.stop()

    def start(self) -> None:
        """Begin."""

    def case_started(self, case_id: str) -> None:
        """Say nothing: only a finished case has a line."""

    def stop(self) -> None:
        """End."""

    def _write(self, *lines: str) -> None:
        text = "".join(f"{line}\n" for line in lines)
        encoding = self._stream.encoding or "utf-8"
        with self._lock:
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._stream.flush()


class Plain(_Stream):
    """One line a case: `conforms  unsafe      0.41 s  linux-6.1/ext4-ordered/...`, then the summary.

    What is no case's line begins with `#` or with blanks.
    """

    def __init__(self, plan: Sequence[Case], scenarios: Mapping[str, Scenario], stream: TextIO) -> None:
        """Take what is planned and where to write."""
        super().__init__(stream)
        self._planned = len(plan)
        self._scenarios = scenarios
        self._results: list[Result] = []
        self._status = ""
        self._stopped = False

    def resumed(self, results: Sequence[Result]) -> None:
        """Say how many there are; their lines were written before."""
        self._results += results
        if results:
            self._write(f"# resumed: {len(results)} of {self._planned} cases have results")

    def case_finished(self, result: Result) -> None:
        """Write the line of the case, and below it what a reader needs if it does not conform."""
        self._results.append(result)
        self._write(*lines(result))

    def status(self, text: str) -> None:
        """Write a line that begins with `#`, once for the same text."""
        if text and text != self._status:
            self._write(f"# {visible(text)}")
        self._status = text

    def stop(self) -> None:
        """Write the summary."""
        if self._stopped:
            return
        self._stopped = True
        interrupted = unfinished(len(self._results), self._planned)
        self._write("", *interrupted, *summary(self._results, self._scenarios))


class JsonLines(_Stream):
    """One JSON object a case, as in `results.jsonl`, and nothing else."""

    def resumed(self, results: Sequence[Result]) -> None:
        """Write them first: what a reader gets is the whole run."""
        for result in results:
            self.case_finished(result)

    def case_finished(self, result: Result) -> None:
        """Write the result as a line."""
        self._write(msgspec.json.encode(result).decode())

    def status(self, text: str) -> None:
        """Say nothing: every line is a result."""


def lines(result: Result) -> list[str]:
    """Return the plain lines of one result."""
    safe = {True: "safe", False: "unsafe", None: ""}[result.safe]
    text = [f"{result.verdict:<8}  {safe:<6}  {result.seconds:>7.2f} s  {result.case}"]
    return text + [f"          {line}" for line in details(result)]


def details(result: Result) -> list[str]:
    """Return what a reader needs of a result that does not conform; nothing of one that does."""
    if result.verdict is Judgement.CONFORMS:
        return []
    told = [visible(line) for line in result.reason.strip().splitlines()]
    if result.verdict is Judgement.DEVIATES:
        observed, expected = differing(result)
        told = [f"observed {pairs(observed)}", f"expected {pairs(expected)}", *told]
    return told or ["no reason was given"]


def unfinished(done: int, planned: int) -> list[str]:
    """Return a sentence if some of the plan was not run."""
    return [f"Stopped after {done} of {planned} cases."] if done < planned else []
