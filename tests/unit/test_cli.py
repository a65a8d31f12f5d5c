"""The command line: wrong usage is one sentence, and the exit status tells what was found."""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest

from fsyncgate import cli
from fsyncgate.errors import CONFORMS, DEVIATES, UNKNOWN, USAGE
from fsyncgate.history import Armed, Began, BlockDone, Ended, Event, Healed, Observed, Recorder
from fsyncgate.model import Judgement, KernelRecord, Result
from fsyncgate.store import RunRecord, Store

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fsyncgate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command in this process; return its exit status, its output and its errors."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fsyncgate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out, err

    return run


# The plan


def test_the_plan_is_one_case_a_line(fsyncgate: Command) -> None:
    status, out, err = fsyncgate("plan", "--kernel", "6.1", "--fs", "xfs", "--scenario", "first_fdatasync")
    assert (status, err) == (0, "")
    assert out == "linux-6.1/xfs/data-eio/reporting/first_fdatasync\n"


def test_a_case_brings_its_kernel(fsyncgate: Command) -> None:
    case = "linux-6.17/btrfs/none/reporting/healthy_disk"
    assert fsyncgate("plan", "--case", case)[:2] == (0, f"{case}\n")


# Wrong usage

WRONG = {
    "kernel": (("--kernel", "9.9"), "There is no kernel '9.9'. Hint: known are 5.10, 6.1, "),
    "kernel's file": (("--kernel", "./no/bzImage"), "'no/bzImage'"),
    "file system": (("--fs", "ext5"), "There is no file system 'ext5'. Hint: there are ext4-ordered, "),
    "fault": (("--fault", "data-oops"), "There is no fault 'data-oops'. Hint: there are "),
    "scenario": (("--scenario", "first"), "There is no scenario 'first'. Hint: there are "),
    "case": (
        ("--case", "linux-6.1/xfs/none/reporting/nonsense"),
        "There is no case 'linux-6.1/xfs/none/reporting/nonsense'. Hint: 'fsyncgate plan' lists them all.",
    ),
    "case's kernel": (("--case", "nonsense"), "There is no kernel 'nonsense'."),
    "combination": (
        ("--kernel", "6.1", "--fs", "xfs", "--scenario", "journalled_data"),
        "No case fits all of these options. Hint: 'fsyncgate plan' lists them all.",
    ),
    "modules": (("--modules", "/lib/modules"), "The modules folder '/lib/modules' belongs to no kernel"),
}


@pytest.mark.parametrize("command", ["plan", "qualify"])
@pytest.mark.parametrize("what", WRONG)
def test_what_is_not_there_is_told_in_one_sentence(fsyncgate: Command, command: str, what: str) -> None:
    arguments, said = WRONG[what]
    status, out, err = fsyncgate(command, *arguments)
    assert (status, out) == (USAGE, "")
    assert err.startswith("fsyncgate: ")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("qualify", "--frob"), "No such option"),
        (("quality",), "No such command 'quality'"),
        (("qualify", "-j", "0"), "Invalid value for '-j'"),
        (("qualify", "--format", "xml"), "Invalid value for '--format'"),
        (("check",), "Missing argument 'RUN'"),
    ],
)
def test_options_that_do_not_exist(fsyncgate: Command, arguments: tuple[str, ...], said: str) -> None:
    status, out, err = fsyncgate(*arguments)
    assert (status, out) == (USAGE, "")
    assert said in err
    assert "Traceback" not in err


# A stored run, judged again

KERNEL = KernelRecord("linux-6.1", "6.1.0-50-cloud-amd64", "6.1.176", "linux-image", "0" * 64)
CASE = "linux-6.1/xfs/data-eio/retrying/retry"
BEGAN = Began(0.0, CASE, KERNEL, {})
ARMED = Armed(0.1, "data-eio", "data", [(266240, 8)])
FAILED = BlockDone(0.2, 4.25, "fault", "WS", 266240, 8, "EIO")
LOST = Observed(0.3, {"first": "EIO", "retry": 0, "cold": "OLD"})
KEPT = Observed(0.3, {"first": "EIO", "retry": 0, "cold": "NEW"})
END = (Healed(0.4, "data-eio"), Ended(0.5))


def stored(folder: Path, *events: Event, verdict: Judgement = Judgement.CONFORMS) -> Path:
    """Store a run of one case with this history."""
    store = Store.create(folder)
    recorder = Recorder(store.case_folder(CASE) / "history.jsonl")
    for event in events:
        recorder.write(event)
    recorder.close()
    store.append(
        Result(CASE, "retrying/retry", KERNEL, "xfs", "data-eio", 1, {}, None, verdict, None, "", "", 0.4)
    )
    return folder


@pytest.mark.parametrize(
    ("events", "expected", "said"),
    [
        pytest.param((BEGAN, ARMED, FAILED, LOST, *END), CONFORMS, "it conforms", id="conforms"),
        pytest.param((BEGAN, ARMED, FAILED, KEPT, *END), DEVIATES, "expected 'OLD'", id="deviates"),
        pytest.param((BEGAN, ARMED, LOST, *END), UNKNOWN, "the fault never fired", id="unknown"),
        pytest.param((BEGAN, ARMED, FAILED), UNKNOWN, "the history was cut off", id="cut off"),
    ],
)
def test_a_stored_run_is_judged_from_its_histories(
    fsyncgate: Command, tmp_path: Path, events: tuple[Event, ...], expected: int, said: str
) -> None:
    status, out, err = fsyncgate("check", stored(tmp_path / "run", *events))
    assert status == expected
    assert said in " ".join(out.split())
    assert err == ""


def test_what_a_run_said_of_itself_does_not_count(fsyncgate: Command, tmp_path: Path) -> None:
    run = stored(tmp_path / "run", BEGAN, ARMED, FAILED, LOST, *END, verdict=Judgement.DEVIATES)
    assert fsyncgate("check", run)[0] == CONFORMS


def test_a_case_that_the_run_did_not_come_to_is_unknown(fsyncgate: Command, tmp_path: Path) -> None:
    run = stored(tmp_path / "run", BEGAN, ARMED, FAILED, LOST, *END)
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    Store.open(run).finish(
        [CASE], RunRecord("0.1.0", now, 2.5, "7.2.22", "tcg", 1, 2, ("fsyncgate", "qualify"))
    )
    assert fsyncgate("check", run)[0] == UNKNOWN


def test_a_folder_that_is_no_run(fsyncgate: Command, tmp_path: Path) -> None:
    status, out, err = fsyncgate("check", tmp_path)
    assert (status, out) == (USAGE, "")
    assert err == (
        f"fsyncgate: '{tmp_path}' is no run: it has no 'results.jsonl'. "
        "Hint: give a folder that 'fsyncgate qualify' has written.\n"
    )


def test_a_run_without_its_histories(fsyncgate: Command, tmp_path: Path) -> None:
    run = stored(tmp_path / "run", BEGAN)
    (run / "cases" / CASE / "history.jsonl").unlink()
    status, out, err = fsyncgate("check", run)
    assert (status, out, err.count("\n")) == (USAGE, "", 1)
    assert "history.jsonl' cannot be read: No such file or directory." in err


def test_a_run_with_a_broken_history(fsyncgate: Command, tmp_path: Path) -> None:
    run = stored(tmp_path / "run", BEGAN, Ended(0.5))
    history = run / "cases" / CASE / "history.jsonl"
    history.write_bytes(b"\xff\n" + history.read_bytes())
    status, _, err = fsyncgate("check", run)
    assert (status, err.count("\n")) == (USAGE, 1)
    assert "Line 1 of" in err


def test_a_run_whose_last_line_was_cut_off_says_so(fsyncgate: Command, tmp_path: Path) -> None:
    run = stored(tmp_path / "run", BEGAN, ARMED, FAILED, LOST, *END)
    with (run / "results.jsonl").open("ab") as file:
        file.write(b'{"case":"linux-6.1/x')
    status, _, err = fsyncgate("check", run)
    assert status == CONFORMS
    assert "is incomplete and was left out" in err


def test_runs_that_are_the_same_and_runs_that_differ(fsyncgate: Command, tmp_path: Path) -> None:
    a = stored(tmp_path / "a", BEGAN, ARMED, FAILED, LOST, *END)
    b = stored(tmp_path / "b", BEGAN, ARMED, FAILED, KEPT, *END, verdict=Judgement.DEVIATES)
    assert fsyncgate("diff", a, a)[0] == 0
    status, out, _ = fsyncgate("diff", a, b)
    assert (status, "retrying/retry" in out) == (1, True)


# As a program


def test_it_is_a_program_that_says_its_version() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "fsyncgate", "--version"], capture_output=True, text=True, check=True
    )
    assert f"version {version('fsyncgate')}" in said.stdout
    assert said.stderr == ""


def test_an_atlas_is_made_of_stored_runs(fsyncgate: Command, tmp_path: Path) -> None:
    run = stored(tmp_path / "run", BEGAN, ARMED, FAILED, LOST, *END)
    status, out, err = fsyncgate("atlas", run)
    assert (status, err) == (0, "")
    assert "6.1 is 6.1.176" in out
    assert fsyncgate("atlas", run, run, "--out", tmp_path / "atlas.md")[:2] == (0, "")
    assert (tmp_path / "atlas.md").read_text() == out
    status, _, err = fsyncgate("atlas", run, "--out", tmp_path / "no" / "atlas.md")
    assert (status, "cannot be written" in err) == (UNKNOWN, True)
    assert fsyncgate("atlas", tmp_path)[0] == USAGE
