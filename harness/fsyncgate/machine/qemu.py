"""A running QEMU: started with its sockets inherited, so nothing of it lies in the file system."""

import os
import shutil
import signal
import socket
import subprocess
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from fsyncgate.errors import MachineLost, SetupError
from fsyncgate.machine.argv import QEMU, Boot, command
from fsyncgate.machine.console import Alarm, alarms
from fsyncgate.machine.monitor import Monitor

SETPRIV = "setpriv"
_PATIENCE = 10.0
"""Seconds for a QEMU that was told to end."""


def installed() -> None:
    """Raise SetupError unless QEMU is there, and what ends it when we end."""
    for program, package in (QEMU, "qemu-system-x86"), (SETPRIV, "util-linux"):
        if shutil.which(program) is None:
            raise SetupError(
                f"'{program}' is not installed.", hint=f"install the Debian package '{package}'."
            )


def version() -> str:
    """Return QEMU's own version line. Raises SetupError without QEMU, or with one that does not start."""
    installed()
    try:
        done = subprocess.run(
            [QEMU, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        raise SetupError(f"'{QEMU}' does not start: {_last_line(error.stderr) or error}.") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"'{QEMU}' does not start: {error}.") from None
    return done.stdout.partition("\n")[0]


class Qemu:
    """A machine's process. It dies with the thread that started it, however that ends."""

    def __init__(self, boot: Boot) -> None:
        """Start it; the descriptors of `boot` are filled in here."""
        installed()
        self.console = Path(boot.console)
        with ExitStack() as inherited:
            self.agent, agent = socket.socketpair()
            self._monitor_socket, monitor = socket.socketpair()
            inherited.enter_context(agent)
            inherited.enter_context(monitor)
            filled = replace(boot, agent_fd=agent.fileno(), monitor_fd=monitor.fileno())
            # Not a pipe: nobody reads what QEMU says before it has ended.
            self._said = os.fdopen(os.memfd_create("qemu-stderr"), "r+b", buffering=0)
            try:
                self._process = subprocess.Popen(
                    # A session of its own: Ctrl-C is for us, and we end the machine.
                    [SETPRIV, "--pdeathsig", "KILL", "--", *command(filled)],
                    pass_fds=(agent.fileno(), monitor.fileno()),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._said,
                    start_new_session=True,
                )
            except OSError as error:
                raise SetupError(f"'{QEMU}' cannot be started: {error.strerror}.") from None
        self._monitor: Monitor | None = None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def monitor(self) -> Monitor:
        """The monitor, connected when it is first asked for."""
        if self._monitor is None:
            self._monitor = Monitor(self._monitor_socket)
        return self._monitor

    def running(self) -> bool:
        """Tell whether the process lives."""
        return self._process.poll() is None

    def why_lost(self, error: MachineLost) -> MachineLost:
        """Return what became of the machine, in one sentence, from its console and its exit."""
        said = alarms(self.console_text())
        worst = next((line for line in said if line.alarm is Alarm.PANIC), None) or next(
            (line for line in said if line.alarm in {Alarm.OOPS, Alarm.HUNG}), None
        )
        if worst is not None:
            return MachineLost(f"The guest kernel failed: {worst.text}")
        try:
            status = self._process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            return error
        if status == -signal.SIGBUS:
            return MachineLost(
                "QEMU was ended by SIGBUS: the file of the guest's memory cannot be read or written.",
                hint="look whether the disk of FSYNCGATE_CACHE is full.",
            )
        if status < 0:
            return MachineLost(f"QEMU was ended by {signal.Signals(-status).name} in mid-case.")
        self._said.seek(0)
        detail = _last_line(self._said.read().decode(errors="replace"))
        return MachineLost(f"QEMU ended by itself with status {status}{detail and f': {detail}'}.")

    def console_text(self) -> str:
        """Return what the guest's console has said so far."""
        try:
            return self.console.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def kill(self) -> None:
        """End the process now and close its sockets; safe to call twice."""
        self._process.kill()
        self._process.wait()
        self._close()

    def quit(self) -> None:
        """Let QEMU end in order. Raises MachineLost if it does not."""
        self.monitor.execute("quit")
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            raise MachineLost(f"QEMU did not end within {_PATIENCE:.0f} s of being told to.") from None
        finally:
            self.kill()

    def _close(self) -> None:
        if self._monitor is not None:
            self._monitor.close()
            self._monitor = None
        self._monitor_socket.close()
        self.agent.close()
        self._said.close()


def _last_line(text: str) -> str:
    """Return what a program said last, without its full stop."""
    return text.strip().rpartition("\n")[2].rstrip(". ")
