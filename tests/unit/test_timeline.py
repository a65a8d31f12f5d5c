"""The picture of a history: what each lane says, in which order, and where data is lost."""

from fsyncgate.history import (
    Armed,
    AtRest,
    BlockDone,
    BlockQueued,
    Called,
    ContentSeen,
    ErrorRecorded,
    ErrorReported,
    Event,
    Healed,
    LetGo,
    PageSeen,
)
from fsyncgate.report.timeline import CACHE, DEVICE, DISK, ERROR, Row, timeline

SECTORS = [(800, 8)]


def called(when: float, call: str, result: int | str, **arguments: object) -> Called:
    return Called(when, "A", call, arguments, result, 0.001)


def written(when: float, data: str, offset: int = 0) -> Called:
    return called(when, "write", 4096, file="/mnt/f", data=data, at=offset, bytes=4096)


def block(at: float, device: str, error: str = "", rwbs: str = "W", sector: int = 800) -> BlockDone:
    return BlockDone(at, at, device, rwbs, sector, 8 if "F" not in rwbs else 0, error)


def cold(at: float, content: str, offset: int = 0) -> ContentSeen:
    return ContentSeen(at, "/mnt/f", "cold", offset, content)


LOST: list[Event] = [
    called(0.1, "open", 3, path="/mnt/f"),
    written(0.2, "NEW"),
    Armed(0.3, "data-eio", "data", SECTORS),
    block(0.4, "fault", "EIO"),
    block(0.4, "volume", "EIO"),
    ErrorRecorded(0.4, 0.4, 12, 0),
    ErrorReported(0.5, 0.5, "f1", 12, 0, 0x1005),
    called(0.5, "fsync", "EIO", fd=3),
    Healed(0.6, "data-eio"),
    called(0.7, "fsync", 0, fd=3),
    cold(0.8, "OLD"),
]


def texts(rows: tuple[Row, ...], lane: str) -> list[str]:
    return [row.cells[lane].text for row in rows if lane in row.cells]


def test_a_lane_for_each_process_and_for_what_has_something_to_say() -> None:
    assert timeline(LOST).lanes == ("A", CACHE, ERROR, DEVICE, DISK)
    assert timeline(LOST[:2]).lanes == ("A", CACHE)


def test_the_error_is_noted_then_told_and_the_second_fsync_answers_0() -> None:
    rows = timeline(LOST).rows
    assert texts(rows, ERROR) == ["inode 12: an error is noted; nobody has been told yet", "told to A: EIO"]
    assert texts(rows, "A")[-2:] == ["fsync (3) → EIO", "fsync (3) → 0"]


def test_a_failure_that_travels_up_is_one_failure() -> None:
    assert texts(timeline(LOST).rows, DEVICE) == ["write of sectors 800 to 807 fails: EIO"]


def test_the_loss_is_marked_after_the_write_that_failed_and_before_anybody_is_told() -> None:
    rows = timeline(LOST).rows
    (lost,) = [number for number, row in enumerate(rows) if row.lost]
    assert "NEW in block 0" in rows[lost].band
    assert "OLD" in rows[lost].band
    assert DEVICE in rows[lost - 1].cells
    assert not any(
        "→ EIO" in text for row in rows[:lost] for text in [cell.text for cell in row.cells.values()]
    )


def test_what_was_written_again_is_not_lost() -> None:
    rewritten = [*LOST[:-1], written(0.75, "NEW"), cold(0.8, "NEW")]
    assert not any(row.lost for row in timeline(rewritten).rows)


def test_another_block_that_is_there_is_not_lost() -> None:
    events = [*LOST[:2], written(0.25, "LATER", 4096), *LOST[2:], cold(0.9, "LATER", 4096)]
    assert [row.band for row in timeline(events).rows if row.lost] == [
        "Here the data is lost: NEW in block 0 of '/mnt/f' is written no more, and a new mount finds OLD."
    ]


def test_old_data_without_any_failure_is_no_loss_of_the_disk() -> None:
    assert not any(row.lost for row in timeline([written(0.1, "NEW"), cold(0.2, "OLD")]).rows)


def test_a_write_that_is_thrown_away_is_told_from_one_that_reaches_the_disk() -> None:
    armed = Armed(0.3, "data-dropped", "data", SECTORS)
    gone: list[Event] = [
        written(0.2, "NEW"),
        armed,
        block(0.4, "fault"),
        block(0.4, "volume"),
        Healed(0.5, "data-dropped"),
    ]
    there: list[Event] = [*gone[:2], block(0.4, "disk"), *gone[2:]]
    (said,) = texts(timeline(gone, {"data-dropped"}).rows, DEVICE)
    assert "thrown away" in said
    (said,) = texts(timeline(there, {"data-dropped"}).rows, DEVICE)
    assert said == "write of sectors 800 to 807 reaches the disk"
    assert [row.lost for row in timeline([*gone, cold(0.6, "OLD")], {"data-dropped"}).rows].count(True) == 1


def test_a_flush_that_fails_is_no_write_that_fails() -> None:
    events: list[Event] = [
        written(0.1, "NEW"),
        Armed(0.2, "flush-eio", "flush", [(9000, 8)]),
        block(0.3, "disk", "EIO", "FF"),
    ]
    (said,) = texts(timeline(events).rows, DEVICE)
    assert said == "flush fails: EIO"
    assert texts(timeline(events).rows, CACHE) == ["block 0 dirty: NEW"]


def test_a_page_s_flags_are_said_in_words_and_what_follows_is_marked_as_inferred() -> None:
    pages: list[Event] = [
        PageSeen(0.1, "/mnt/f", 0, ["dirty", "uptodate"]),
        PageSeen(0.2, "/mnt/f", 0, ["writeback", "dirty"]),
        PageSeen(0.3, "/mnt/f", 0, ["uptodate"]),
        PageSeen(0.4, "/mnt/f", 0, None),
    ]
    assert texts(timeline(pages).rows, CACHE) == [
        "page 0: dirty",
        "page 0: being written, not up to date",
        "page 0: clean",
        "page 0: not cached",
    ]
    inferred = [row.cells[CACHE].inferred for row in timeline(LOST).rows if CACHE in row.cells]
    assert inferred == [True, True]


def test_what_is_written_before_the_application_begins_is_preparation() -> None:
    events: list[Event] = [block(0.05, "disk"), *LOST]
    events.insert(0, Armed(0.0, "none", "data", SECTORS))
    assert texts(timeline(events).rows, DEVICE)[0].startswith("while the case is prepared: ")


def test_of_a_disk_that_hangs_it_is_told_what_waits_and_who_sleeps() -> None:
    def queued(at: float, sector: int = 800) -> BlockQueued:
        return BlockQueued(at, at, "fault", "WS", sector, 8)

    hangs: list[Event] = [
        queued(0.05),
        written(0.1, "NEW"),
        Armed(0.2, "data-hang", "data", SECTORS),
        queued(0.3),
        queued(0.3, sector=4096),
        AtRest(0.4, {}, {"A": ["folio_wait_bit_common", "ext4_sync_file"]}),
        LetGo(0.5, "data-hang"),
        block(0.6, "disk"),
        Healed(0.7, "data-hang"),
        called(0.8, "fsync", 0, fd=3),
    ]
    rows = timeline(hangs).rows
    told = ["write of sectors 800 to 807 comes, and waits", "write of sectors 800 to 807 reaches the disk"]
    assert texts(rows, DEVICE) == told
    assert texts(rows, "A")[-2:] == ["has no answer", "fsync (3) → 0"]
    (why,) = [row.cells["A"].why for row in rows if row.at == 0.4]
    assert "folio_wait_bit_common < ext4_sync_file" in why
    assert [row.at for row in rows if row.band] == [0.2, 0.5, 0.7]


def test_of_a_fault_that_takes_everything_only_what_fails_is_shown() -> None:
    events: list[Event] = [
        block(0.05, "disk"),
        written(0.1, "NEW"),
        Armed(0.2, "any-write-eio", "any", [(0, 9000)]),
        block(0.3, "disk"),
        block(0.4, "fault", "EIO"),
        cold(0.6, "OLD"),
    ]
    assert texts(timeline(events).rows, DEVICE) == ["write of sectors 800 to 807 fails: EIO"]
    assert [row.lost for row in timeline(events).rows].count(True) == 1
