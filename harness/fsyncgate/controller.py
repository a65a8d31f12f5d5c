"""The controlling process of a run: it hears of results, keeps the ledger and hands out the work."""

from collections.abc import Callable, Collection, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fsyncgate import worker
from fsyncgate.errors import UNKNOWN, FsyncgateError
from fsyncgate.images.agent import agent
from fsyncgate.kernels.prefetch import Prefetcher
from fsyncgate.ledger import Ledger, status
from fsyncgate.machine.qemu import installed
from fsyncgate.model import Case
from fsyncgate.nodes import carry, case_of, results_of
from fsyncgate.run import unknown
from fsyncgate.selection import Selection
from fsyncgate.workbench import Workbench

FOLDER = "fsyncgate_out"
"""The name under which a worker is told where the results go."""
LEFT_OUT = "fsyncgate_left_out"
"""The name under which a worker is told which cases have results already."""


class Controller:
    """A pytest plugin that lives in the controlling process alone."""

    def __init__(
        self,
        out: Path,
        bench: Workbench,
        *,
        selection: Selection | None = None,
        plan: Sequence[Case] = (),
        finished: Collection[str] | None = None,
        elsewhere: Collection[str] = (),
    ) -> None:
        """Begin the run in `out` and begin to fetch its kernels; without a `plan`, of all that is collected.

        With `finished` cases, or an empty list of them, the run that is there goes on without asking those.
        What is asked `elsewhere`, by another part of the plan, is left out.
        Raises UsageError if `out` is taken, SetupError if it cannot be made, or if this host lacks what every
        case needs: QEMU and the guest agent.
        """
        installed()
        agent(bench.cache)
        self.bench = bench
        self.left_out = frozenset((*(finished or ()), *elsewhere))
        """The cases that are not asked here and now."""
        self.ledger = Ledger(out, selection=selection, resumed=finished is not None)
        if plan:
            self.ledger.plan([case.id for case in plan])
        self.listener: Callable[[str], None] = lambda _: None
        """Hears what goes on beside the cases; called from other threads too."""
        self.trouble: FsyncgateError | None = None
        """What kept the ledger from being written."""
        bench.pool.say = self._say
        left = {case.kernel for case in plan if case.id not in self.left_out} if plan else set(bench.specs)
        specs = [spec for spec in bench.specs.values() if spec.id in left]
        self._prefetcher = Prefetcher(specs, bench.cache, say=self._say)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Generator[None]:
        """Let workers be started without their hearing of Ctrl-C: they begin to when they can bear it."""
        worker.deaf()
        try:
            return (yield)
        finally:
            worker.listening()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker where the results go, and which are there."""
        node.workerinput[FOLDER] = str(self.ledger.store.folder)
        node.workerinput[LEFT_OUT] = sorted(self.left_out)

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

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a result down as it comes; a case whose worker died has one too."""
        found = results_of(report)
        died = report.when not in {"setup", "call", "teardown"}
        if died and (case := case_of(report.nodeid)):
            found = [unknown(_case(case), "The process that ran the case ended in mid-case.")]
            carry(report, found[0])
        try:
            for result in found:
                self.ledger.add(result)
        except FsyncgateError as error:
            self.trouble = self.trouble or error
            pytest.exit(str(error), returncode=UNKNOWN)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker says of itself at its end."""
        self._note(getattr(node, "workeroutput", {}).get("fsyncgate", {}))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Close the ledger; unless pytest itself was stopped, the exit status is the verdicts'."""
        self._prefetcher.close()
        self._note(self.bench.facts())
        try:
            results = self.ledger.close()
        except FsyncgateError as error:
            self.trouble = self.trouble or error
            session.exitstatus = UNKNOWN
            return
        if exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} and results:
            session.exitstatus = status(results, len(self.ledger.planned))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the results are."""
        if self.trouble is not None:
            terminalreporter.write_line(str(self.trouble))
        terminalreporter.write_line(f"Results: {self.ledger.store.folder}")

    def pytest_unconfigure(self) -> None:
        """Stop fetching, however the session ends."""
        self._prefetcher.close()

    def _say(self, text: str) -> None:
        self.listener(text)

    def _plan(self, ids: list[str]) -> None:
        self.ledger.plan([case for node in ids if (case := case_of(node))])

    def _note(self, facts: dict[str, Any]) -> None:
        self.ledger.boots += facts.get("boots", 0)
        self.ledger.accelerator = self.ledger.accelerator or facts.get("accelerator", "")


def _case(case_id: str) -> Case:
    kernel, filesystem, fault, scenario = case_id.split("/", 3)
    return Case(scenario, kernel, filesystem, fault)
