"""The store: whole lines or none, and errors that name the file and the line."""

import errno
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsyncgate.errors import SetupError, UsageError
from fsyncgate.model import Judgement, KernelRecord, Result
from fsyncgate.store import RunRecord, Store, encode

RECORD = RunRecord(
    version="0.1.0",
    started=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    seconds=2.5,
    qemu="7.2.22",
    accelerator="tcg",
    boots=1,
    planned=3,
    command=("fsyncgate", "qualify"),
)


def result(scenario: str = "reporting/one", verdict: Judgement = Judgement.CONFORMS) -> Result:
    return Result(
        case=f"linux-6.1/xfs/data-eio/{scenario}",
        scenario=scenario,
        kernel=KernelRecord("linux-6.1", "6.1.0-50-cloud-amd64", "6.1.176", "linux-image", "0" * 64),
        filesystem="xfs",
        fault="data-eio",
        fired=1,
        observed={"heard": 10},
        expected=None,
        verdict=verdict,
        safe=None,
        reason="",
        because="",
        seconds=0.41,
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "results" / "run")


def test_what_is_appended_is_there_for_whoever_opens_the_run(store: Store) -> None:
    store.append(result())
    assert Store.open(store.folder).results() == [result()]


def test_a_line_has_the_fields_in_their_documented_order_and_null_for_none(store: Store) -> None:
    store.append(result())
    line = (store.folder / "results.jsonl").read_bytes()
    assert list(msgspec.json.decode(line, type=dict[str, object])) == [
        "case",
        "scenario",
        "kernel",
        "filesystem",
        "fault",
        "fired",
        "observed",
        "expected",
        "verdict",
        "safe",
        "reason",
        "because",
        "seconds",
        "lesson",
        "phases",
    ]
    assert b'"expected":null' in line and b'"safe":null' in line and line.endswith(b"}\n")


@pytest.mark.parametrize("name", ["results.jsonl", "run.json", "cases"])
def test_a_folder_with_results_is_not_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(UsageError, match="holds the results of a run already"):
        Store.create(tmp_path)


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    assert Store.create(tmp_path).results() == []


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(UsageError, match="is a file"):
        Store.create(tmp_path / "run")


def test_a_folder_without_results_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is no run: it has no 'results\.jsonl'"):
        Store.open(tmp_path)


def test_a_broken_line_is_named_by_file_and_number(store: Store) -> None:
    path = store.folder / "results.jsonl"
    path.write_bytes(encode([result()]) + b'{"case": 1}\n' + encode([result()]))
    with pytest.raises(UsageError, match=r"results\.jsonl', line 2, is no result: .*`\$\.case`"):
        Store.open(store.folder)


def test_bytes_that_are_no_text_are_a_broken_line_too(store: Store) -> None:
    (store.folder / "results.jsonl").write_bytes(b'{"case": "\xff"}\n')
    with pytest.raises(UsageError, match="line 1"):
        Store.open(store.folder)


@given(st.integers(min_value=1, max_value=len(encode([result()])) - 2))
def test_a_last_line_cut_anywhere_is_left_out_said_and_overwritten(
    tmp_path_factory: pytest.TempPathFactory, kept: int
) -> None:
    store = Store.create(tmp_path_factory.mktemp("run"))
    store.append(result())
    with (store.folder / "results.jsonl").open("ab") as file:
        file.write(encode([result("reporting/two")])[:kept])
    opened = Store.open(store.folder)
    assert opened.results() == [result()]
    assert "incomplete" in opened.notes[0]
    opened.append(result("reporting/three"))
    again = Store.open(store.folder)
    assert [one.scenario for one in again.results()] == ["reporting/one", "reporting/three"]
    assert again.notes == ()


def test_a_whole_last_line_without_its_newline_counts(store: Store) -> None:
    (store.folder / "results.jsonl").write_bytes(encode([result()]).rstrip())
    opened = Store.open(store.folder)
    opened.append(result("reporting/two"))
    assert [one.scenario for one in opened.results()] == ["reporting/one", "reporting/two"]
    assert opened.notes == ()


def test_of_a_case_that_ran_again_the_last_result_counts(store: Store) -> None:
    store.append(result(verdict=Judgement.UNKNOWN))
    store.append(result("reporting/two"))
    store.append(result())
    assert [one.verdict for one in store.results()] == [Judgement.CONFORMS] * 2


def test_finish_sorts_by_the_plan_and_keeps_what_the_plan_does_not_name(store: Store) -> None:
    for name in ("x/extra", "c/c", "a/a", "b/b"):
        store.append(result(name))
    store.finish([result(name).case for name in ("b/b", "c/c", "a/a", "d/never-ran")], RECORD)
    opened = Store.open(store.folder)
    assert [one.scenario for one in opened.results()] == ["b/b", "c/c", "a/a", "x/extra"]
    assert opened.record() == RECORD
    assert sorted(path.name for path in store.folder.iterdir()) == ["results.jsonl", "run.json"]


def test_a_run_that_was_killed_has_no_record(store: Store) -> None:
    assert Store.open(store.folder).record() is None


def test_a_broken_record_is_named(store: Store) -> None:
    (store.folder / "run.json").write_text("{}")
    with pytest.raises(UsageError, match=r"run\.json' cannot be read"):
        store.record()


def test_a_case_has_a_folder_below_cases(store: Store) -> None:
    folder = store.case_folder(result().case)
    assert folder == store.folder / "cases/linux-6.1/xfs/data-eio/reporting/one"
    assert folder.is_dir()


def test_a_reader_makes_no_folder(store: Store) -> None:
    assert not store.case_folder(result().case, make=False).exists()


@pytest.mark.parametrize("case", ["", "../x", "a/../../x", "/etc", "a//b", "a/.", "a/..", "a\\b", "a\0b"])
def test_a_case_does_not_leave_the_run(store: Store, case: str) -> None:
    with pytest.raises(UsageError, match="is no case"):
        store.case_folder(case)


def test_a_full_disk_is_a_sentence_and_leaves_no_part_of_a_line(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(result())
    real = os.pwrite
    left = 20

    def full(file: int, data: bytes, offset: int) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = real(file, data[:left], offset)
        left -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(SetupError, match=r"cannot be written: No space left on device\. Hint: free"):
            store.append(result("reporting/two"))
    assert (store.folder / "results.jsonl").read_bytes() == encode([result()])


def test_finish_on_a_full_disk_leaves_the_results_as_they_were(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(result())

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SetupError, match="No space left"):
        store.finish([], RECORD)
    assert [path.name for path in store.folder.iterdir()] == ["results.jsonl"]
    assert store.results() == [result()]


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="cannot be written"):
        Store.create(tmp_path / "file" / "run")
