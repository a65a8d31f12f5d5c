"""An interactive prompt in front of a broken disk, for teaching and for finding out."""

import code
import sys

from fsyncgate import scenario as names
from fsyncgate.cache import Cache
from fsyncgate.errors import FsyncgateError, UsageError
from fsyncgate.kernels.catalogue import choose
from fsyncgate.model import Case, Scenario
from fsyncgate.run import Run
from fsyncgate.workbench import Workbench

_SCENARIO = Scenario("shell/by_hand", "What happens if ...?", (), (), ())

BANNER = """\
{kernel} with {filesystem} at /mnt; the fault is '{fault}', not armed.

    file = volume.file("f").filled_with(OLD)
    f = file.open(); f.write(NEW)
    with fault.on(file.data): f.fsync()
    f.fsync(), file.hot(), file.cold()

Also here: observe(name=value), guest (guest.root.call("getpid")), history() and console().
"""


class _Prompt(code.InteractiveConsole):
    """Python's prompt, at which our errors are sentences."""

    def __init__(self, names: dict[str, object], run: Run) -> None:
        super().__init__(names)
        self._run = run

    def showtraceback(self) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, FsyncgateError):
            self.write(f"{self._run.why(error)}\n")
        else:
            super().showtraceback()


def namespace(run: Run) -> dict[str, object]:
    """Return what a scenario has at hand: its names, and the fixtures of a run that was started."""
    here: dict[str, object] = {name: getattr(names, name) for name in names.__all__}
    return here | {"volume": run.volume, "fault": run.fault, "observe": run.observe}


def interact(kernel: str, modules: str | None, filesystem: str, fault: str) -> None:
    """Boot a machine, hand it to the user, and end it when the prompt is left."""
    (spec,) = choose([kernel], modules)
    with Cache.from_environment().temporary() as folder:
        bench = Workbench([spec], folder)
        for what, name, known in (
            ("file system", filesystem, bench.filesystems),
            ("fault", fault, bench.faults),
        ):
            if name not in known:
                raise UsageError(f"There is no {what} '{name}'.", hint=f"there are {', '.join(known)}.")
        run = bench.run(Case(_SCENARIO.id, spec.id, filesystem, fault), _SCENARIO)
        try:
            bench.start(run)
            here = namespace(run) | {
                "guest": run.guest,
                "history": lambda: print(run.history_text(), end=""),  # noqa: T201
                "console": lambda: print(run.console_text(), end=""),  # noqa: T201
            }
            banner = BANNER.format(kernel=spec.id, filesystem=filesystem, fault=fault)
            _Prompt(here, run).interact(banner, exitmsg="")
        finally:
            run.stop()
