"""The product as its users have it: a command in a process of its own, which may be watched and hurt."""

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from fsyncgate.cache import Cache

KERNEL = "6.1"
"""The kernel of a test that does not care."""
OTHER = "5.10"
PATIENCE = 120.0
"""Seconds for anything here: what takes longer hangs."""
BIN = Path(sys.executable).parent

# A shell starts what it runs in the background with Ctrl-C ignored, and its children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

T = TypeVar("T")


def eventually(look: Callable[[], T], what: str, patience: float = PATIENCE) -> T:
    """Look until there is something to see."""
    deadline, pause = time.monotonic() + patience, threading.Event()
    while not (seen := look()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        pause.wait(0.01)
    return seen


def table(name: str, row: str = "x = 1", fault: str = "none") -> str:
    """Return what `expected.toml` says of a scenario."""
    return (
        f'[{name}]\nquestion = "?"\nfaults = ["{fault}"]\n'
        f'[[{name}.expect]]\n{row}\nsafe = true\nbecause = "a test"\n'
    )


class Command:
    """A command that runs, and all processes that come of it."""

    def __init__(
        self, argv: Sequence[str | Path], folder: Path, environ: dict[str, str], terminal: int | None = None
    ) -> None:
        """Start it in a process group of its own, as a shell does; `terminal` is its output."""
        self._mark = f"FSYNCGATE_TEST={secrets.token_hex(8)}"
        name, _, value = self._mark.partition("=")
        self._out, self._err = (folder / f"{value}.{kind}" for kind in ("out", "err"))
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [str(part) for part in argv], cwd=folder, env=environ | {name: value}, process_group=0,
                stdin=subprocess.DEVNULL, stdout=terminal or out, stderr=terminal or err,
            )  # fmt: skip

    @property
    def out(self) -> str:
        """What it has written to its standard output so far."""
        return self._out.read_text()

    @property
    def err(self) -> str:
        """What it has written to its standard error so far."""
        return self._err.read_text()

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    @property
    def results(self) -> list[dict[str, Any]]:
        """The results so far of a command that writes JSON lines."""
        return [json.loads(line) for line in self.out.splitlines(keepends=True) if line.endswith("\n")]

    def processes(self, argument: bytes = b"") -> list[int]:
        """Return what lives of this command and its descendants, whoever their parent is now.

        With an `argument` only those that were started with it.
        """
        found: list[int] = []
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdecimal() and self._mark.encode() in (process / "environ").read_bytes():
                    command = (process / "cmdline").read_bytes().split(b"\0")
                    if command != [b""] and argument in command:
                        found.append(int(process.name))
            except OSError:  # it has gone meanwhile
                continue
        return found

    def machines(self) -> list[int]:
        """Return its QEMUs."""
        return self.processes(b"-kernel")

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.killpg(self.process.pid, signal.SIGINT)

    def wait(self) -> int:
        """Wait for its end, and for the end of everything that came of it; return its status."""
        status = self.process.wait(PATIENCE)
        eventually(lambda: not self.processes(), f"the end of {self.processes()}", 10)
        return status


class Host:
    """A host on which the product is used."""

    def __init__(self, folder: Path, cache: Path) -> None:
        """Run commands in `folder`, with `cache`."""
        self.folder = folder
        self.cache = cache
        self.environ = os.environ | {"FSYNCGATE_CACHE": str(cache), "COLUMNS": "200"}
        self.prefix: list[str] = []
        """What runs the commands, such as `unshare`."""
        self.commands: list[Command] = []

    def start(self, *argv: str | Path, terminal: int | None = None) -> Command:
        """Start a command."""
        command = Command([*self.prefix, BIN / argv[0], *argv[1:]], self.folder, self.environ, terminal)
        self.commands.append(command)
        return command

    def run(self, *argv: str | Path) -> tuple[int, Command]:
        """Run a command to its end, and look that nothing of it is left."""
        command = self.start(*argv)
        status = command.wait()
        assert "Traceback" not in command.out + command.err, command.out + command.err
        return status, command

    def left_behind(self) -> list[Path]:
        """Return the temporary folders in the cache."""
        return list((self.cache / "tmp").iterdir())

    def qualify(self, *arguments: str | Path, kernel: str | Path = KERNEL) -> tuple[int, Command]:
        """Run `fsyncgate qualify`."""
        return self.run("fsyncgate", "qualify", "--kernel", kernel, "--format", "jsonl", *arguments)

    def scenarios(self, text: str, *tables: str) -> Path:
        """Write a folder of scenarios; each function has a table of the same name."""
        folder = self.folder / "own"
        folder.mkdir(exist_ok=True)
        head = "import os, signal\nfrom pathlib import Path\nfrom fsyncgate.scenario import *\n"
        (folder / "test_own.py").write_text(head + text)
        (folder / "expected.toml").write_text("\n".join(tables))
        return folder

    def results(self, out: str | Path) -> dict[str, dict[str, Any]]:
        """Return the results of a run by the scenario's short name."""
        lines = (self.folder / out / "results.jsonl").read_text().splitlines()
        return {(one := json.loads(line))["scenario"].rpartition("/")[2]: one for line in lines}

    def record(self, out: str | Path) -> dict[str, Any]:
        """Return what a run says of itself."""
        record: dict[str, Any] = json.loads((self.folder / out / "run.json").read_text())
        return record

    def without(self, *kinds: str) -> None:
        """Forget what the cache has of these kinds."""
        for kind in kinds:
            (self.cache / kind).unlink()

    def with_own(self, what: str) -> Path:
        """Give the cache a copy of one thing, and nothing else of its kind; return the copy.

        `what` is the kind and how the name begins; the thing is the one that was used last.
        """
        kind, _, begin = what.partition("/")
        things = (self.cache / kind).resolve().glob(f"{begin}-*")
        thing = max(things, key=lambda folder: folder.stat().st_mtime)
        (self.cache / kind).unlink()
        (self.cache / kind).mkdir()
        subprocess.run(["cp", "-r", "--sparse=auto", thing, self.cache / kind], check=True)
        return self.cache / kind / thing.name


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's cache, with the kernels, the images and the saved machines in it that are needed here."""
    cache = Cache.from_environment().root
    host = Host(tmp_path_factory.mktemp("warm"), cache)
    both = ("--kernel", KERNEL, "--kernel", OTHER, "--fs", "ext4-ordered", "--fs", "xfs")
    status, command = host.run(
        "fsyncgate", "qualify", *both, "--scenario", "healthy_disk", "--format", "plain", "--out", "x"
    )
    assert status == 0, command.out + command.err
    return cache


@pytest.fixture
def host(tmp_path: Path, warm: Path) -> Iterator[Host]:
    """A host whose cache has all that is needed, and is shared with nobody who could disturb."""
    cache = tmp_path / "cache"
    cache.mkdir()
    for kind in ("kernels", "agent", "initramfs", "filesystems", "machines", "accelerator"):
        (cache / kind).symlink_to(warm / kind)
    host = Host(tmp_path, cache)
    yield host
    for command in host.commands:
        for process in command.processes():
            os.kill(process, signal.SIGKILL)
