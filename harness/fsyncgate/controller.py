"""The controlling process of a run: it hears of results, keeps the ledger and hands out the work."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fsyncgate.kernels.prefetch import Prefetcher
from fsyncgate.ledger import Ledger, status
from fsyncgate.model import Result
from fsyncgate.workbench import Workbench

RESULT = "fsyncgate"
"""The name under which a report carries a result from a worker."""

_NODE = re.compile(r"(?P<group>[^/]+)/[^/]+\.py::test_(?P<name>\w+)\[(?P<place>[^\]]+)\]$")


class Controller:
    """A pytest plugin that lives in the controlling process alone."""

    def __init__(self, out: Path, bench: Workbench) -> None:
        """Begin the run in `out` and begin to fetch its kernels. Raises UsageError if `out` is taken."""
        self._bench = bench
        self.ledger = Ledger(out)
        self.listener: Callable[[str], None] = lambda _: None
        """Hears what goes on beside the cases; called from other threads too."""
        self._prefetcher = Prefetcher(list(bench.specs.values()), bench.cache, say=self._say)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take the plan from what was collected here, when there are no workers."""
        self._plan([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Take the plan from what a worker collected: they all collect the same."""
        self._plan(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Hand out cases by kernel and file system, in the plan's order."""
        # pytest wants to be the first to import its plugins.
        from fsyncgate.scheduling import ByPlace

        config.option.loadscopereorder = False
        return ByPlace(config, log)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a result down as it comes."""
        for result in results_of(report):
            self.ledger.add(result)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker says of itself at its end."""
        self._note(getattr(node, "workeroutput", {}).get("fsyncgate", {}))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Close the ledger; unless pytest itself was stopped, the exit status is the verdicts'."""
        self._prefetcher.close()
        self._note(self._bench.facts())
        results = self.ledger.close()
        if exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} and results:
            session.exitstatus = status(results, len(self.ledger.planned))

    def pytest_unconfigure(self) -> None:
        """Stop fetching, however the session ends."""
        self._prefetcher.close()

    def _say(self, text: str) -> None:
        self.listener(text)

    def _plan(self, ids: list[str]) -> None:
        self.ledger.planned = [case for node in ids if (case := case_of(node))]

    def _note(self, facts: dict[str, Any]) -> None:
        self.ledger.boots += facts.get("boots", 0)
        self.ledger.accelerator = self.ledger.accelerator or facts.get("accelerator", "")


def results_of(report: pytest.TestReport) -> list[Result]:
    """Return the result that a report carries, if it does."""
    return [
        msgspec.json.decode(str(value), type=Result)
        for name, value in report.user_properties
        if name == RESULT
    ]


def case_of(nodeid: str) -> str:
    """Return the case that a pytest node id stands for, or the empty string if it is none."""
    found = _NODE.search(nodeid)
    return f"{found['place']}/{found['group']}/{found['name']}" if found else ""
