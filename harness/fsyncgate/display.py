"""A run as `fsyncgate qualify` shows it: a pytest plugin in the place of pytest's own terminal."""

import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence

import pytest

from fsyncgate.controller import Controller
from fsyncgate.errors import CONFORMS, INTERRUPTED, UNKNOWN, USAGE
from fsyncgate.ledger import status
from fsyncgate.model import Case, Result, Scenario
from fsyncgate.nodes import case_of, results_of
from fsyncgate.report.terminal import reporter


class Display:
    """Shows cases as they run, and knows in the end what the command's exit status is."""

    def __init__(
        self,
        controller: Controller,
        cases: Sequence[Case],
        scenarios: Mapping[str, Scenario],
        form: str,
        *,
        known: Iterable[Result] = (),
    ) -> None:
        """Show the plan's cases on the standard output, in one of the reporter's formats.

        `known` are the results that a resumed run has already.
        """
        self._controller = controller
        self._planned = len(cases)
        self._results: list[Result] = list(known)
        self._reporter = reporter(form, sys.stdout, cases, scenarios)
        self._troubles: list[str] = []

    def pytest_sessionstart(self) -> None:
        """Begin to show."""
        self._reporter.start()
        self._reporter.resumed(self._results)
        self._controller.listener = self._reporter.status

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Mark a case as running."""
        if case := case_of(nodeid):
            self._reporter.case_started(case)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Show a result, and remember what went wrong without one."""
        found = results_of(report)
        for result in found:
            self._results.append(result)
            self._reporter.case_finished(result)
        if report.failed and not found:
            self._troubles.append(f"{report.nodeid}: {report.longreprtext}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember a scenario that could not be read."""
        if report.failed:
            self._troubles.append(report.longreprtext)

    def pytest_internalerror(self, excrepr: object, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
        """Remember an error of our own. A reader of our output that has gone is none."""
        if isinstance(excinfo.value, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        else:
            self._troubles.append(str(excrepr))
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Show the whole."""
        self._controller.listener = lambda _: None
        self._reporter.stop()
        if self._controller.trouble is not None:
            self._troubles.append(f"fsyncgate: {self._controller.trouble}")
        folder = self._controller.ledger.store.folder
        print(f"\nResults: {folder}", file=sys.stderr)  # noqa: T201
        if len(self._results) < self._planned:
            print(f"To go on: fsyncgate qualify --resume {shlex.quote(str(folder))}", file=sys.stderr)  # noqa: T201
        for trouble in self._troubles:
            print(trouble, file=sys.stderr)  # noqa: T201

    def exit_status(self, code: int) -> int:
        """Return the command's exit status; `code` is pytest's."""
        match code:
            case pytest.ExitCode.INTERRUPTED:
                return INTERRUPTED
            case pytest.ExitCode.USAGE_ERROR:
                return USAGE
            case _:
                known = status(self._results, self._planned)
                return UNKNOWN if self._troubles and known == CONFORMS else known
