"""The pytest plugin: plans cases, gives scenarios their fixtures, turns histories into results.

It acts on functions that stand beside an `expected.toml`; other tests do not notice it.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from fsyncgate import catalogue, worker
from fsyncgate.controller import FOLDER, LEFT_OUT, Controller
from fsyncgate.errors import CatalogueError, FsyncgateError, UsageError
from fsyncgate.guest.channel import PATIENCE
from fsyncgate.inject.control import FaultControl
from fsyncgate.kernels.catalogue import Spec, choose, flavours
from fsyncgate.ledger import default_folder
from fsyncgate.model import Case, Judgement, Scenario
from fsyncgate.nodes import carry
from fsyncgate.plan import Wanted, check_names, kernel_of, plan
from fsyncgate.run import Run, unknown, why
from fsyncgate.scenario import Observe
from fsyncgate.storage.volume import Volume
from fsyncgate.workbench import Workbench

EXPECTED = "expected.toml"
"""The file that makes a folder of tests a folder of scenarios."""
WORKBENCH = pytest.StashKey[Workbench]()
ORDER = pytest.StashKey[list[list[str]]]()
"""The kernels, file systems and scenarios, in the order in which they run."""
DONE = pytest.StashKey[frozenset[str]]()
"""The cases that need not be run, because the run that is resumed has their results."""
RUN = pytest.StashKey[Run]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what selects cases."""
    group = parser.getgroup("fsyncgate", "fsyncgate: what fsync does on real kernels when the disk fails")
    group.addoption(
        "--kernel", action="append", default=[], help="a kernel's name (6.1) or the path of a bzImage"
    )
    group.addoption("--modules", default=None, metavar="DIR", help="the modules of that bzImage")
    group.addoption("--fs", action="append", default=[], help="a file system, such as xfs")
    group.addoption("--fault", action="append", default=[], help="a fault, such as data-eio")
    group.addoption(
        "--scenario", action="append", default=[], help="a scenario or a group, such as reporting"
    )
    group.addoption("--case", action="append", default=[], help="the whole id of one case")
    group.addoption(
        "--all", dest="everything", action="store_true",
        help="also the kernels and file systems that are no defaults",
    )  # fmt: skip
    group.addoption("--out", dest="fsyncgate_out", default=None, metavar="DIR", help="where the results go")
    group.addoption("--fresh-boot", action="store_true", help="boot a machine for each case, restore none")
    group.addoption(
        "--patience", type=float, default=PATIENCE, metavar="SECONDS",
        help=f"how long to wait for a guest's answer; default {PATIENCE:g}",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Set up the bench, and in the controlling process the ledger and the fetching of kernels."""
    files = _expectations(config)
    if not files:
        return
    try:
        bench = config.stash[WORKBENCH] = _workbench(config)
        known = [name for file in files for name in catalogue.scenarios(file.parent)]
        check_names(_wanted(config), known, bench.filesystems, bench.faults)
        config.stash[ORDER] = [list(bench.specs), list(bench.filesystems), known]
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    except FsyncgateError as error:
        pytest.exit(str(error), returncode=error.exit_status)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of every case of a scenario."""
    folder = metafunc.definition.path.parent
    bench = metafunc.config.stash.get(WORKBENCH, None)
    if bench is None or not (folder / EXPECTED).exists():
        return
    try:
        scenario = _scenario(folder, metafunc.function.__name__)
        cases = plan(
            list(bench.specs),
            {scenario.id: scenario},
            bench.filesystems,
            bench.faults,
            _wanted(metafunc.config),
            flavours(bench.specs.values()),
        )
    except FsyncgateError as error:
        raise pytest.UsageError(str(error)) from None
    ids = [case.id for case in cases]
    metafunc.parametrize("case", [(case, scenario) for case in cases], ids=ids, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the cases into the plan's order: a machine is booted once."""
    if (order := config.stash.get(ORDER, None)) is None:
        return
    finished = config.stash[DONE]
    cases = [item for item in items if (case := _case(item)) and case.id not in finished]
    cases.sort(key=lambda item: _rank(_case(item), order))
    # A scenario without a case that was asked for is no test, not even one that is skipped.
    items[:] = cases + [
        item for item in items if not _case(item) and not (item.path.parent / EXPECTED).exists()
    ]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the controlling process, from a worker, what the run needed."""
    bench = session.config.stash.get(WORKBENCH, None)
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if bench is not None and output is not None:
        output["fsyncgate"] = bench.facts()


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    """The case that is run."""
    found: Case = request.param[0]
    return found


@pytest.fixture
def _run(request: pytest.FixtureRequest, case: Case) -> Iterator[Run]:
    bench = request.config.stash[WORKBENCH]
    run = bench.run(case, request.node.callspec.params["case"][1])
    request.node.stash[RUN] = run
    try:
        bench.start(run)
        yield run
    finally:
        run.stop()


@pytest.fixture
def volume(_run: Run) -> Volume:
    """The file system under test, mounted on the disk that is broken."""
    return _run.volume


@pytest.fixture
def fault(_run: Run) -> FaultControl:
    """The case's fault, not armed yet."""
    return _run.fault


@pytest.fixture
def observe(_run: Run) -> Observe:
    """State what was seen."""
    return _run.observe


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """End a case when its scenario has, and let the verdict be the outcome."""
    report = yield
    case = _case(item)
    if case is None or not (report.when == "call" or (report.when == "setup" and report.failed)):
        return report
    error = call.excinfo.value if call.excinfo else None
    run = item.stash.get(RUN, None)
    result = unknown(case, why(error)) if run is None else run.finish(error)
    carry(report, result)
    report.outcome = "passed" if result.verdict is Judgement.CONFORMS else "failed"
    report.longrepr = None if report.passed else f"{result.verdict}: {result.reason}\n{_again(case)}"
    return report


def _again(case: Case) -> str:
    """Return the line that runs one case again."""
    return f"run it again: fsyncgate qualify --case {case.id}"


def _expectations(config: pytest.Config) -> list[Path]:
    """Return every `expected.toml` below what pytest was told to collect."""
    places = (Path(str(argument).partition("::")[0]) for argument in config.args)
    return [
        file
        for place in places
        for file in (
            sorted(place.rglob(EXPECTED), key=catalogue.as_told)
            if place.is_dir()
            else [place.parent / EXPECTED]
        )
        if file.exists()
    ]


def _workbench(config: pytest.Config) -> Workbench:
    """Return the workbench of this process; in the controlling one, begin the run if nobody has."""
    if (given := getattr(config, "workerinput", None)) is not None:
        worker.begin()
        config.stash[DONE] = frozenset(given[LEFT_OUT])
        return _bench(config, Path(given[FOLDER]))
    for plugin in config.pluginmanager.get_plugins():
        if isinstance(plugin, Controller):
            config.stash[DONE] = plugin.left_out
            return plugin.bench
    config.stash[DONE] = frozenset()
    out = Path(config.option.fsyncgate_out or default_folder()).absolute()
    bench = _bench(config, out)
    if not config.option.collectonly:
        config.pluginmanager.register(Controller(out, bench))
    return bench


def _bench(config: pytest.Config, out: Path) -> Workbench:
    option = config.option
    return Workbench(_specs(config), out, fresh_boot=option.fresh_boot, patience=option.patience)


def _specs(config: pytest.Config) -> list[Spec]:
    """Return the kernels that are asked for: by name, or because a case on them is."""
    names: list[str] = config.option.kernel
    if not names:
        names = list(dict.fromkeys(kernel_of(case) for case in config.option.case))
    return choose(names, config.option.modules, everything=config.option.everything)


def _wanted(config: pytest.Config) -> Wanted:
    option = config.option
    return Wanted(option.fs, option.fault, option.scenario, option.case, option.everything)


def _scenario(folder: Path, function: str) -> Scenario:
    """Return what `expected.toml` says of a function. Raises CatalogueError if it says nothing."""
    name = function.removeprefix("test_")
    scenarios = catalogue.scenarios(folder)
    if (found := scenarios.get(f"{folder.name}/{name}")) is None:
        raise CatalogueError(
            f"'{folder / EXPECTED}' has no table '{name}'.",
            hint="give it a question and what to expect.",
        )
    return found


def _case(item: pytest.Item) -> Case | None:
    """Return the case of a test, or None if it is no scenario."""
    parameters = (
        item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    )
    found = parameters.get("case")
    return found[0] if isinstance(found, tuple) and isinstance(found[0], Case) else None


def _rank(case: Case | None, order: list[list[str]]) -> list[int]:
    assert case is not None
    what = (case.kernel, case.filesystem, case.scenario)
    return [names.index(name) for names, name in zip(order, what, strict=True)]
