"""A history is in its file before the next thing is done, and can be read however it ended."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsyncgate.errors import SetupError, UsageError
from fsyncgate.history import (
    Armed,
    Began,
    BlockDone,
    Called,
    ConsoleSaid,
    ContentSeen,
    Ended,
    ErrorRecorded,
    ErrorReported,
    Event,
    Healed,
    Observed,
    PageSeen,
    Recorder,
    TraceLost,
    read,
)
from fsyncgate.model import KernelRecord

KERNEL = KernelRecord("linux-6.1", "6.1.0-50-cloud-amd64", "6.1.176", "linux-image 6.1.176-1", "0" * 64)

ONE_OF_EACH: list[Event] = [
    Began(0.0, "linux-6.1/xfs/data-eio/reporting/first_fsync", KERNEL, {"flakey": "1.5.0"}),
    Called(0.1, "A", "write", {"file": "/mnt/f", "data": "NEW", "at": 0, "bytes": 4096}, 4096, 0.001),
    PageSeen(0.2, "/mnt/f", 0, ["uptodate", "dirty"]),
    PageSeen(0.2, "/mnt/f", 1, None),
    Armed(0.3, "data-eio", "data", [(266240, 8), (524360, 16)]),
    BlockDone(0.4, 4.25, "fault", "WS", 266240, 8, "EIO"),
    ErrorRecorded(0.4, 4.26, 12, 5),
    ErrorReported(0.4, 4.27, "00000000f1c1169f", 12, 0, 0x1005),
    Called(0.5, "A", "fsync", {"file": "/mnt/f", "fd": 3}, "EIO", 0.002),
    Healed(0.6, "data-eio"),
    ContentSeen(0.7, "/mnt/f", "cold", 0, "OLD"),
    TraceLost(0.7, "CPU:0 [LOST 2 EVENTS]"),
    ConsoleSaid(0.8, "disk", "Buffer I/O error on device dm-1, logical block 33280"),
    Observed(0.9, {"first": "EIO", "second": 0, "there": True, "several": [1, 2]}),
    Ended(1.0),
]


def stored(path: Path, events: list[Event]) -> Path:
    recorder = Recorder(path)
    for event in events:
        recorder.write(event)
    recorder.close()
    return path


def test_what_was_recorded_is_read_again(tmp_path: Path) -> None:
    assert read(stored(tmp_path / "history.jsonl", ONE_OF_EACH)) == ONE_OF_EACH


def test_an_event_is_one_line_of_json_that_says_what_it_is(tmp_path: Path) -> None:
    path = stored(tmp_path / "history.jsonl", [Armed(0.3, "data-eio", "data", [(266240, 8)])])
    assert path.read_text() == (
        '{"event":"armed","at":0.3,"fault":"data-eio","place":"data","sectors":[[266240,8]]}\n'
    )


def test_an_event_is_in_the_file_before_the_history_is_closed(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "history.jsonl")
    recorder.write(Healed(0.6, "data-eio"))
    assert read(tmp_path / "history.jsonl") == [Healed(0.6, "data-eio")]
    recorder.close()


def test_a_new_history_begins_empty_and_its_clock_near_zero(tmp_path: Path) -> None:
    stored(tmp_path / "history.jsonl", ONE_OF_EACH)
    recorder = Recorder(tmp_path / "history.jsonl")
    assert read(tmp_path / "history.jsonl") == []
    first, second = recorder.now(), recorder.now()
    assert 0 <= first <= second < 60
    recorder.close()


@given(st.data())
def test_a_history_that_was_cut_off_anywhere_is_read_up_to_there(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = stored(tmp_path_factory.mktemp("case") / "history.jsonl", ONE_OF_EACH)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    os.truncate(path, cut)
    # A last line without its newline is an event all the same.
    complete = whole[:cut].count(b"\n") + (whole[cut : cut + 1] == b"\n")
    assert read(path) == ONE_OF_EACH[:complete]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"event":"healed","at":0.6,"fa', id="half of one"),
        pytest.param(b'{"event":"exploded","at":0.6}', id="of an unknown kind"),
        pytest.param(b'{"event":"healed","at":"now","fault":"data-eio"}', id="with a wrong type"),
        pytest.param(b'{"event":"healed","at":0.6,"fault":"\xff"}', id="no UTF-8"),
        pytest.param(b"", id="an empty line"),
    ],
)
def test_a_broken_line_in_the_middle_is_named(tmp_path: Path, line: bytes) -> None:
    path = stored(tmp_path / "history.jsonl", ONE_OF_EACH[:2])
    with path.open("ab") as file:
        file.write(line + b"\n")
        file.write(b'{"event":"ended","at":1.0}\n')
    with pytest.raises(UsageError, match=r"^Line 3 of '.*history\.jsonl' is no event: "):
        read(path)


def test_a_history_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file or directory"):
        read(tmp_path / "history.jsonl")


def test_a_full_disk_of_the_host_is_told_as_that() -> None:
    recorder = Recorder(Path("/dev/full"))
    with pytest.raises(SetupError, match="cannot be written: No space left on device"):
        recorder.write(Ended(1.0))
    recorder.close()
