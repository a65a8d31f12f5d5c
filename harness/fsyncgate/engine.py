"""pytest as an engine: it collects the cases and runs them, and shows nothing of its own."""

import os
import signal
from collections.abc import Sequence
from types import FrameType

import pytest

from fsyncgate.controller import Controller
from fsyncgate.display import Display
from fsyncgate.places import place

ARGUMENTS = (
    "-c", os.devnull, "--import-mode=importlib", "--assert=plain",
    "-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:faulthandler",
    "-p", "fsyncgate.plugin", "-p", "xdist.plugin",
)  # fmt: skip
"""No settings and no plugins but ours: what else is installed, or lies in folders above, changes nothing."""


def run(arguments: Sequence[str], workers: int, controller: Controller, display: Display) -> int:
    """Run the scenarios in so many processes and return the command's exit status."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _as_by_ctrl_c)
    scenarios = str(place("scenarios"))
    side_by_side = ["-n", str(workers)] if workers > 1 else []
    code = pytest.main(
        [*ARGUMENTS, "--rootdir", scenarios, *side_by_side, *arguments, scenarios],
        plugins=[controller, display],
    )
    return display.exit_status(code)


def _as_by_ctrl_c(_number: int, _frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGINT)
