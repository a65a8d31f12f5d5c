"""A run as `fsyncgate qualify` shows it: a pytest plugin in the place of pytest's own terminal."""

import sys

import pytest

from fsyncgate.controller import Controller, case_of, results_of
from fsyncgate.errors import INTERRUPTED, UNKNOWN, USAGE
from fsyncgate.ledger import status
from fsyncgate.model import Case, Result, Scenario
from fsyncgate.report.terminal import reporter


class Display:
    """Shows cases as they run, and knows in the end what the command's exit status is."""

    def __init__(self, cases: list[Case], scenarios: dict[str, Scenario], form: str) -> None:
        """Show the plan's cases on the standard output, in one of the reporter's formats."""
        self._planned = len(cases)
        self._results: list[Result] = []
        self._reporter = reporter(form, sys.stdout, cases, scenarios)
        self._troubles: list[str] = []
        self._folder = ""

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin to show."""
        controller = session.config.pluginmanager.get_plugin("fsyncgate-controller")
        assert isinstance(controller, Controller)
        self._folder = str(controller.ledger.store.folder)
        self._reporter.start()
        controller.listener = self._reporter.status

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

    def pytest_internalerror(self, excrepr: object) -> None:
        """Remember an error of our own."""
        self._troubles.append(str(excrepr))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Show the whole."""
        self._reporter.stop()
        print(f"\nResults: {self._folder}", file=sys.stderr)  # noqa: T201
        for trouble in self._troubles:
            print(trouble, file=sys.stderr)  # noqa: T201

    def exit_status(self, code: int) -> int:
        """Return the command's exit status; `code` is pytest's."""
        match code:
            case pytest.ExitCode.INTERRUPTED:
                return INTERRUPTED
            case pytest.ExitCode.USAGE_ERROR:
                return USAGE
            case _ if self._troubles and not self._results:
                return UNKNOWN
            case _:
                return status(self._results, self._planned)
