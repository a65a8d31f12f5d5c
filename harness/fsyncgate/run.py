"""One case from its machine to its verdict."""

import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from fsyncgate.check.judge import judge
from fsyncgate.check.waiting import makes_wait
from fsyncgate.errors import FsyncgateError, MachineLost
from fsyncgate.guest.actor import Guest
from fsyncgate.guest.pages import Cached
from fsyncgate.guest.tracing import Parser, Tracer, pipe_of
from fsyncgate.guest.witness import Witness
from fsyncgate.history import Began, ConsoleSaid, Ended, Event, Observed, Recorder, read, writing
from fsyncgate.images.filesystem import Image
from fsyncgate.inject.control import FaultControl
from fsyncgate.inject.mechanisms import MECHANISMS
from fsyncgate.machine.console import alarms
from fsyncgate.machine.pool import Pool
from fsyncgate.machine.readout import Readout
from fsyncgate.machine.snapshot import Machine
from fsyncgate.model import (
    Case,
    Fault,
    FileSystem,
    Judgement,
    Kernel,
    KernelRecord,
    Result,
    Scenario,
    Verdict,
)
from fsyncgate.storage.mounting import Mounts
from fsyncgate.storage.volume import Volume

HISTORY, CONSOLE, COMMAND, TRACEBACK = "history.jsonl", "console.log", "qemu.argv", "traceback.txt"
"""What a case's folder holds."""


class Run:
    """A case that is being run: `start` it, let the scenario work, `finish` it."""

    volume: Volume
    fault: FaultControl

    def __init__(
        self,
        case: Case,
        scenario: Scenario,
        filesystem: FileSystem,
        fault: Fault,
        folder: Path,
        base: FileSystem | None = None,
    ) -> None:
        """Open the case's folder; nothing is booted yet. `base` is what an overlay lies on."""
        self.case = case
        self._scenario = scenario
        self._kernel = KernelRecord(case.kernel, "", "", "", "")
        self._filesystem = filesystem
        self._base = base
        self._fault = fault
        self._folder = folder
        self._began = time.monotonic()
        self._machine: Machine | None = None
        self.phases: dict[str, float] = {}
        """Seconds that each phase took, for `make bench`."""
        self._console = folder / CONSOLE
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._console.write_bytes(b"")
            (folder / TRACEBACK).unlink(missing_ok=True)  # of the same case, asked before
        self._recorder = Recorder(folder / HISTORY)

    def start(self, kernel: Kernel, pool: Pool, image: Image) -> None:
        """Bring up a clean machine with the volume mounted. Raises FsyncgateError with the reason."""
        self._kernel = KernelRecord(kernel.id, kernel.release, kernel.version, kernel.package, kernel.sha256)
        by_hand = pool.recipe(kernel).by_hand(image.disks)
        with writing(self._folder / COMMAND):
            (self._folder / COMMAND).write_text(by_hand + "\n")
        machine = self._machine = pool.machine(kernel, image.disks, self._console)
        self._phase("machine")
        try:
            actor = machine.guest.root
            mechanism = MECHANISMS[self._fault.mechanism](machine)
            layers = mechanism.layers
            self._write(Began(0.0, self.case.id, self._kernel, layers.targets))
            tracer = Tracer(actor, Parser(lambda: layers.devices, Cached()), pipe_of(actor))
            if makes_wait(self._fault):
                tracer.watch_queue()
            witness = Witness(self._recorder, tracer)
            mounts = Mounts(actor, layers, self._filesystem, self._base)
            readout = Readout(machine.qemu, image.disks[0], self._folder)
            self.volume = Volume(actor, witness, layers, mounts, image.roles, readout)
            self.fault = FaultControl(self._fault, mechanism, witness)
            tracer.drain(0.0)  # what the mount did belongs to no scenario
        except MachineLost as error:
            raise machine.qemu.why_lost(error) from None
        self._phase("mount")

    def observe(self, **values: Any) -> None:
        """State what was seen: this is what the expectations are held against."""
        self._write(Observed(self._recorder.now(), values))

    def finish(self, error: BaseException | None = None) -> Result:
        """End the case, with the error that cut it short if one did, and return its result."""
        self._phase("scenario")
        reason = self.why(error) if error else ""
        try:
            for line in alarms(self.console_text()):
                self._write(ConsoleSaid(self._recorder.now(), line.alarm, line.text))
            self._write(Ended(self._recorder.now(), reason))
            events = read(self._folder / HISTORY)
            verdict = judge(events, self._scenario, self._fault, self._filesystem.id)
        except FsyncgateError as broken:
            verdict = Verdict(Judgement.UNKNOWN, {}, None, 0, reason=reason or str(broken))
        finally:
            self._recorder.close()
            self.stop()
        self._phase("check")
        return self._result(verdict)

    def stop(self) -> None:
        """End the machine; safe to call twice."""
        if self._machine is not None:
            self._machine.close()
            self._machine = None

    @property
    def guest(self) -> Guest:
        """The guest of a started run."""
        assert self._machine is not None
        return self._machine.guest

    def events(self) -> list[Event]:
        """Return the history so far."""
        return read(self._folder / HISTORY)

    def history_text(self) -> str:
        """Return the history so far, as it is stored."""
        return (self._folder / HISTORY).read_text()

    def console_text(self) -> str:
        """Return what the guest's console has said so far."""
        return self._console.read_text(errors="replace")

    def why(self, error: BaseException) -> str:
        """Return in a sentence why the scenario did not come to its end."""
        if isinstance(error, MachineLost) and self._machine is not None:
            return why(self._machine.qemu.why_lost(error))
        if not isinstance(error, FsyncgateError):
            with suppress(OSError):
                (self._folder / TRACEBACK).write_text("".join(traceback.format_exception(error)))
        return why(error)

    def _write(self, event: Event) -> None:
        self._recorder.write(event)

    def _phase(self, name: str) -> None:
        """Note that a phase ended now."""
        self.phases[name] = round(time.monotonic() - self._began - sum(self.phases.values()), 4)

    def _result(self, verdict: Verdict) -> Result:
        return Result(
            case=self.case.id,
            scenario=self.case.scenario,
            kernel=self._kernel,
            filesystem=self.case.filesystem,
            fault=self.case.fault,
            fired=verdict.fired,
            observed=verdict.observed,
            expected=verdict.expected,
            verdict=verdict.verdict,
            safe=verdict.safe,
            reason=verdict.reason,
            because=verdict.because,
            lesson=verdict.lesson,
            seconds=round(time.monotonic() - self._began, 3),
            phases=dict(self.phases),
        )


def unknown(case: Case, reason: str) -> Result:
    """Return the result of a case that nothing is known of, not even its kernel."""
    kernel = KernelRecord(case.kernel, "", "", "", "")
    return Result(
        case=case.id, scenario=case.scenario, kernel=kernel, filesystem=case.filesystem, fault=case.fault,
        fired=0, observed={}, expected=None, verdict=Judgement.UNKNOWN, safe=None, reason=reason, because="",
        seconds=0.0,
    )  # fmt: skip


def why(error: BaseException | None) -> str:
    """Return in a sentence why a scenario did not come to its end; None: it asked for no machine."""
    if error is None:
        return "the scenario takes neither 'volume' nor 'fault' nor 'observe'"
    if isinstance(error, FsyncgateError):
        return str(error)
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.name.startswith("test_")]
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    said = str(error).strip().partition("\n")[0]
    return f"the scenario failed: {type(error).__name__}{f': {said}' if said else ''}{place}"
