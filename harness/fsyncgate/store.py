"""The store of one run: `results/<run>/`, the format that everything after the run reads.

See docs/results.md. Nothing here knows how a result was made or how it is shown.
"""

import fcntl
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from fsyncgate.errors import SetupError, UsageError
from fsyncgate.model import Result
from fsyncgate.selection import Selection

RESULTS, RECORD, PLAN, CASES = "results.jsonl", "run.json", "plan.txt", "cases"


class RunRecord(msgspec.Struct, frozen=True):
    """`run.json`: what was asked for, and of what. Written when the run begins, and again at its end."""

    version: str
    """The fsyncgate that made the run."""
    started: datetime
    """With its time zone."""
    seconds: float
    """From start to end, downloads and boots included; of a resumed run the sum, without the time between."""
    qemu: str
    """Version of the host's QEMU, e.g. `7.2.22`."""
    accelerator: str
    """`kvm` or `tcg`."""
    boots: int
    """How many guests were booted; a restored snapshot is none."""
    planned: int
    """How many cases the plan had. Fewer results than that: the run was interrupted."""
    command: tuple[str, ...]
    """The command line with which the run began, one string an argument."""
    selection: Selection | None = None
    """What `fsyncgate qualify` was asked for; None for a run of pytest's."""
    ended: bool = True
    """False while the run goes on, and for ever if it was killed."""


class Store:
    """The folder of one run. Several processes may append to it at the same time."""

    def __init__(self, folder: Path) -> None:
        """Use `Store.create` or `Store.open`."""
        self.folder = folder
        self.notes: tuple[str, ...] = ()
        """Sentences on what `open` found odd and went on with."""

    @classmethod
    def create(cls, folder: Path) -> "Store":
        """Begin a run. Raises UsageError if `folder` holds one already, SetupError if it cannot be made."""
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"'{folder}' is a file.", hint="give a folder that is new or empty.")
        if any((folder / name).exists() for name in (RESULTS, RECORD, PLAN, CASES)):
            raise UsageError(f"'{folder}' holds the results of a run already.", hint="give another folder.")
        _written(folder, lambda: folder.mkdir(parents=True, exist_ok=True))
        _written(folder / RESULTS, lambda: (folder / RESULTS).touch(exist_ok=False))
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> "Store":
        """Open a run, finished or not. Raises UsageError if it is none, or if a line of it is broken."""
        if not (folder / RESULTS).is_file():
            raise UsageError(
                f"'{folder}' is no run: it has no '{RESULTS}'.",
                hint="give a folder that 'fsyncgate qualify' has written.",
            )
        store = cls(folder)
        _, store.notes = store._read()
        return store

    def case_folder(self, case_id: str, *, make: bool = True) -> Path:
        """Return the folder of one case below `cases/`, made unless told otherwise.

        Raises UsageError if the id would lead elsewhere.
        """
        parts = case_id.split("/")
        if any(part in {"", ".", ".."} or "\0" in part or "\\" in part for part in parts):
            raise UsageError(
                f"'{case_id}' is no case.", hint="a case is named kernel/filesystem/fault/scenario."
            )
        folder = self.folder.joinpath(CASES, *parts)
        if make:
            _written(folder, lambda: folder.mkdir(parents=True, exist_ok=True))
        return folder

    def append(self, result: Result) -> None:
        """Add one line, whole or not at all. Raises SetupError if it cannot be written."""
        line = encode([result])
        _written(self.folder / RESULTS, lambda: _append(self.folder / RESULTS, line))

    def begin(self, plan: Sequence[str], record: RunRecord) -> None:
        """Write down what is planned, before anything is done: a run that is killed can then be resumed."""
        _replace(self.folder / PLAN, "".join(f"{case}\n" for case in plan).encode())
        self._write(record)

    def finish(self, order: Sequence[str], record: RunRecord) -> None:
        """Sort the results into the plan's order and write `run.json`; each file is replaced at once.

        Results of cases that `order` does not name stay, after the others.
        """
        place = {case: index for index, case in enumerate(order)}
        results = sorted(self.results(), key=lambda result: (place.get(result.case, len(place)), result.case))
        _replace(self.folder / RESULTS, encode(results))
        self._write(record)

    def _write(self, record: RunRecord) -> None:
        _replace(self.folder / RECORD, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")

    def plan(self) -> list[str]:
        """Return the ids of the cases that were planned. Raises UsageError if they were not written down."""
        path = self.folder / PLAN
        try:
            return path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise UsageError(
                f"'{self.folder}' does not say what was planned: '{PLAN}': {why}.",
                hint="a run that was made before plans were kept has to be begun again.",
            ) from None

    @contextmanager
    def held(self) -> Generator[None]:
        """Keep other processes from working on this run. Raises UsageError if one does."""
        with ExitStack() as opened:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            opened.callback(os.close, folder)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"The run '{self.folder}' is still going on.") from None
            yield

    def results(self) -> list[Result]:
        """Read the results; of a case that was run again, the last. Raises UsageError for a broken line."""
        return list({result.case: result for result in self._read()[0]}.values())

    def record(self) -> RunRecord | None:
        """Read `run.json`; None if the run was killed before it had a plan."""
        path = self.folder / RECORD
        if not path.exists():
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=RunRecord)
        except (msgspec.DecodeError, OSError, UnicodeDecodeError) as error:
            raise UsageError(f"'{path}' cannot be read: {error}.") from error

    def _read(self) -> tuple[list[Result], tuple[str, ...]]:
        path = self.folder / RESULTS
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as error:
            raise UsageError(f"'{path}' cannot be read: {error.strerror}.") from error
        results: list[Result] = []
        for number, line in enumerate(lines, start=1):
            if not line:
                continue
            try:
                results.append(_result.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                if number == len(lines):
                    return results, (f"The last line of '{path}' is incomplete and was left out.",)
                raise UsageError(f"'{path}', line {number}, is no result: {error}.") from error
        return results, ()


def encode(results: Iterable[Result]) -> bytes:
    """Return results as lines, as `results.jsonl` holds them."""
    return b"".join(msgspec.json.encode(result) + b"\n" for result in results)


_result = msgspec.json.Decoder(Result)


def _append(path: Path, line: bytes) -> None:
    file = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        end = _mend(file)
        try:
            written = os.pwrite(file, line, end)
            while written < len(line):
                written += os.pwrite(file, line[written:], end + written)
        except OSError:
            os.ftruncate(file, end)
            raise
    finally:
        os.close(file)


def _mend(file: int) -> int:
    """Return where the next line begins, after cutting off what a killed writer left half written."""
    size = os.fstat(file).st_size
    if size == 0 or os.pread(file, 1, size - 1) == b"\n":
        return size
    end = os.pread(file, size, 0).rfind(b"\n") + 1
    tail = os.pread(file, size - end, end)
    try:
        _result.decode(tail)
    except (msgspec.DecodeError, UnicodeDecodeError):
        os.ftruncate(file, end)
        return end
    return size + os.pwrite(file, b"\n", size)


def _replace(path: Path, content: bytes) -> None:
    """Write, fsync, rename, fsync the folder: the advice this project gives to others."""
    new = path.with_name(path.name + ".new")

    def steps() -> None:
        with new.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    try:
        _written(path, steps)
    except SetupError:
        new.unlink(missing_ok=True)
        raise


def _written(path: Path, write: Callable[[], object]) -> None:
    """Turn the host's refusal to write into a sentence."""
    try:
        write()
    except OSError as error:
        raise SetupError(
            f"'{path}' cannot be written: {error.strerror or error}.",
            hint="free some space there or choose a folder on another disk.",
        ) from error
