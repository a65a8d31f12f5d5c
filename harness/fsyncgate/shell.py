"""An interactive prompt in front of a broken disk, for teaching and for finding out."""

import code
import tempfile
from pathlib import Path

from fsyncgate import scenario as names
from fsyncgate.errors import UsageError
from fsyncgate.kernels.catalogue import choose
from fsyncgate.model import Case, Scenario
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


def interact(kernel: str, modules: str | None, filesystem: str, fault: str) -> None:
    """Boot a machine, hand it to the user, and end it when the prompt is left."""
    (spec,) = choose([kernel], modules)
    with tempfile.TemporaryDirectory(prefix="fsyncgate-shell-") as folder:
        bench = Workbench([spec], Path(folder))
        for what, name, known in (
            ("file system", filesystem, bench.filesystems),
            ("fault", fault, bench.faults),
        ):
            if name not in known:
                raise UsageError(f"There is no {what} '{name}'.", hint=f"there are {', '.join(known)}.")
        run = bench.run(Case(_SCENARIO.id, spec.id, filesystem, fault), _SCENARIO)
        try:
            bench.start(run)
            here = {name: getattr(names, name) for name in names.__all__}
            here |= {
                "volume": run.volume,
                "fault": run.fault,
                "observe": run.observe,
                "guest": run.guest,
                "history": lambda: print(run.history_text(), end=""),  # noqa: T201
                "console": lambda: print(run.console_text(), end=""),  # noqa: T201
            }
            banner = BANNER.format(kernel=spec.id, filesystem=filesystem, fault=fault)
            code.interact(banner=banner, local=here, exitmsg="")
        finally:
            run.stop()
