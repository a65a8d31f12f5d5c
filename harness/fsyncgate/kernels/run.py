"""Run one of the host's tools so that it ends when we end, or when we are told to stop."""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fsyncgate.cache import Stopped
from fsyncgate.errors import SetupError

_POLL = 0.1
"""Seconds between two looks at the stop event."""


class ToolError(Exception):
    """A tool ended with a status other than 0; `stderr` is what it said."""

    def __init__(self, tool: str, status: int, stderr: str) -> None:
        """Keep what is needed for a sentence."""
        super().__init__(f"{tool} ended with status {status}: {stderr}")
        self.tool, self.status, self.stderr = tool, status, stderr

    @property
    def reason(self) -> str:
        """One line without its full stop: the first error, else the first warning, else the last line."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        for mark in ("E:", "Err:", "dpkg-deb: error:", "W:"):
            for line in lines:
                if line.startswith(mark):
                    return line.removeprefix(mark).strip(" .")
        return lines[-1].rstrip(".") if lines else f"status {self.status}"

    @property
    def disk_full(self) -> bool:
        """Whether the tool ran out of disk space."""
        return "No space left on device" in self.stderr or "Disk quota exceeded" in self.stderr


def tool(name: str, package: str, environ: Mapping[str, str] = os.environ) -> str:
    """Find a tool, in the folders of the administrator's tools too; SetupError names its package."""
    found = shutil.which(name, path=f"{environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin")
    if not found:
        raise SetupError(
            f"The command '{name}' is not on this host.", hint=f"install the package '{package}'."
        )
    return found


def run(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stop: threading.Event | None = None,
    watch: Callable[[], None] = lambda: None,
) -> tuple[str, str]:
    """Run a command to its end and return its output and what it wrote to stderr.

    Its messages are in English, whatever the user's language is, for they are read. `watch` is called every
    tenth of a second. ToolError if its status is not 0, Stopped if `stop` was set: the process group is
    killed then, as it is at Ctrl-C; if we die, the kernel kills the command.
    """
    setpriv = shutil.which("setpriv")
    process = subprocess.Popen(
        [setpriv, "--pdeathsig", "KILL", "--", *argv] if setpriv else argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**(os.environ if environ is None else environ), "LC_ALL": "C.UTF-8"},
        process_group=0,
        text=True,
        errors="replace",
    )
    with process:
        try:
            while True:
                try:
                    output, stderr = process.communicate(timeout=_POLL)
                    break
                except subprocess.TimeoutExpired:
                    if stop and stop.is_set():
                        raise Stopped from None
                    watch()
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise ToolError(Path(argv[0]).name, process.returncode, stderr)
    return output, stderr
