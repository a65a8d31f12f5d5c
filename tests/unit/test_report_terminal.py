"""The matrix and the reporters: signs, layouts, paging, and a cursor that comes back."""

import io
from io import StringIO

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fsyncgate.errors import UsageError
from fsyncgate.model import Case, Judgement, KernelRecord, Result
from fsyncgate.report.grid import Matrix
from fsyncgate.report.plain import Plain
from fsyncgate.report.signs import Sign, cells
from fsyncgate.report.terminal import JsonLines, Live, reporter, seconds_left

CELL = ("reporting/one", "linux-6.1", "xfs")
CURSOR_HIDDEN, CURSOR_SHOWN = "\x1b[?25l", "\x1b[?25h"


def case(scenario: str = "reporting/one", kernel: str = "linux-6.1", fault: str = "data-eio") -> Case:
    return Case(scenario, kernel, "xfs", fault)


def result(
    of: Case,
    verdict: Judgement = Judgement.CONFORMS,
    safe: bool | None = None,
    *,
    seconds: float = 2.0,
    reason: str = "why",
) -> Result:
    kernel = KernelRecord(of.kernel, "", "", "", "")
    return Result(
        of.id, of.scenario, kernel, of.filesystem, of.fault, 1, {}, {}, verdict, safe, reason, "", seconds
    )


def terminal(width: int = 80, height: int = 40) -> tuple[Console, StringIO]:
    stream = StringIO()
    return Console(
        file=stream, force_terminal=True, width=width, height=height, color_system=None, _environ={}
    ), stream


def frame(live: Live, width: int = 80, height: int = 40) -> str:
    console, stream = terminal(width, height)
    console.print(live)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("first", "second", "running", "sign"),
    [
        ((Judgement.CONFORMS, True), (Judgement.CONFORMS, None), False, Sign.CONFORMS),
        ((Judgement.CONFORMS, True), (Judgement.CONFORMS, False), False, Sign.UNSAFE),
        ((Judgement.UNKNOWN, None), (Judgement.CONFORMS, False), False, Sign.UNKNOWN),
        ((Judgement.UNKNOWN, None), (Judgement.DEVIATES, None), False, Sign.DEVIATES),
        ((Judgement.CONFORMS, False), None, False, Sign.WAITING),
        ((Judgement.UNKNOWN, None), None, True, Sign.RUNNING),
        ((Judgement.DEVIATES, None), None, True, Sign.DEVIATES),
    ],
)
def test_a_cell_shows_the_worst_of_its_faults(
    first: tuple[Judgement, bool | None],
    second: tuple[Judgement, bool | None] | None,
    running: bool,
    sign: Sign,
) -> None:
    one, two = case(fault="data-eio"), case(fault="data-eio-once")
    results = [result(one, *first)] + ([result(two, *second)] if second else [])
    assert cells(results, [one, two], {two.id} if running else ()) == {CELL: sign}


def test_signs_differ_without_colour_and_without_unicode() -> None:
    assert len({sign.glyph for sign in Sign}) == len({sign.plain for sign in Sign}) == len(Sign)
    assert "".join(sign.plain for sign in Sign).isascii()


@given(
    width=st.integers(min_value=24, max_value=220),
    kernels=st.integers(min_value=0, max_value=6),
    filesystems=st.lists(
        st.sampled_from(["ext4-ordered", "ext4-journal", "xfs", "btrfs", "f2fs"]), unique=True
    ),
)
def test_a_matrix_is_never_wider_than_its_room(width: int, kernels: int, filesystems: list[str]) -> None:
    plan = [
        Case(f"reporting/{name}", f"linux-6.{number}", filesystem, "data-eio")
        for name in ("short", "a_name_that_needs_rather_more_room_than_others")
        for number in range(kernels)
        for filesystem in filesystems
    ]
    drawing = Matrix([], plan).draw(width)
    lines = [line for block in drawing.blocks for row in block.rows for line in row.lines]
    lines += [line for block in drawing.blocks for line in block.header]
    assert all(line.cell_len <= width for line in lines)
    assert "".join(line.plain for line in lines).count("·") == len(plan)


def test_a_terminal_without_unicode_gets_ascii() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = Console(file=stream, force_terminal=True, width=80, color_system=None, _environ={})
    live = Live([case()], {}, console)
    with live:
        live.case_finished(result(case(), Judgement.DEVIATES))
    stream.seek(0)
    assert "X linux-6.1/xfs/data-eio/reporting/one" in stream.read()


def test_a_frame_shows_progress_and_what_time_is_left() -> None:
    now = 0.0
    cases = [case(f"reporting/{name}") for name in "abcdef"]
    live = Live(cases, {}, clock=lambda: now)
    live.status("booting linux-6.1")
    live.case_started(cases[0].id)
    live.case_started(cases[1].id)
    for one in cases[:2]:
        live.case_finished(result(one, seconds=30))
    now = 65.0
    shown = frame(live)
    assert "2/6   1:05 elapsed   about 1:00 left" in shown
    assert "booting linux-6.1" in shown


def test_a_low_terminal_shows_the_part_on_which_cases_run() -> None:
    cases = [case(f"{group}/s{number}") for group in ("reporting", "retrying") for number in range(20)]
    live = Live(cases, {})
    assert "part 1 of" in frame(live, height=20)
    live.case_started(cases[-1].id)
    shown = frame(live, height=20)
    assert "retrying" in shown and "s19" in shown and "▸" in shown
    assert len(shown.splitlines()) <= 20
    live.case_started(cases[0].id)
    assert "s19" in frame(live, height=20), "the page stays while one of its cases runs"
    live.case_finished(result(cases[-1]))
    assert "part 1 of" in frame(live, height=20)
    assert "part" not in frame(live, height=60)


def test_the_cursor_comes_back_when_the_run_ends_badly() -> None:
    console, stream = terminal()
    live = Live([case()], {}, console)
    with pytest.raises(KeyboardInterrupt), live:
        raise KeyboardInterrupt
    text = stream.getvalue()
    assert text.rindex(CURSOR_SHOWN) > text.rindex(CURSOR_HIDDEN)
    assert "Stopped after 0 of 1 cases." in text


def test_to_stop_twice_prints_once() -> None:
    console, stream = terminal()
    with Live([case()], {}, console) as live:
        live.case_finished(result(case()))
        live.stop()
    assert stream.getvalue().count("1 case, and it conforms.") == 1


def test_what_went_wrong_is_shown_with_the_line_that_runs_it_again() -> None:
    console, stream = terminal()
    cases = [case(f"reporting/{name}") for name in "abcdef"]
    with Live(cases, {}, console) as live:
        for one in cases:
            live.case_finished(result(one, Judgement.UNKNOWN))
    text = stream.getvalue()
    assert text.count("fsyncgate qualify --case linux-6.1/xfs/data-eio/reporting/") == 3
    assert "6 cases are unknown: why." in text


def test_plain_text_has_no_escape_codes_of_a_guest_and_fits_its_encoding() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with Plain([case(), case("reporting/two")], {}, stream) as plain:
        plain.status("fetching…")
        plain.case_finished(result(case(), Judgement.UNKNOWN, reason="\x1b[31mpanic\nsecond line"))
    stream.seek(0)
    assert stream.read().splitlines() == [
        "# fetching\\u2026",
        "unknown              2.00 s  linux-6.1/xfs/data-eio/reporting/one",
        "          \\x1b[31mpanic",
        "          second line",
        "",
        "Stopped after 1 of 2 cases.",
        "1 case, and it is unknown.",
        "On linux-6.1 with xfs 1 case is unknown: \\x1b[31mpanic.",
    ]


@pytest.mark.parametrize(
    ("name", "kind"), [("plain", Plain), ("auto", Plain), ("jsonl", JsonLines), ("terminal", Live)]
)
def test_the_format_chooses_the_reporter(name: str, kind: type) -> None:
    assert isinstance(reporter(name, StringIO(), [], {}), kind)


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no format 'html'"):
        reporter("html", StringIO(), [], {})


def test_file_systems_that_are_asked_little_do_not_stand_as_empty_columns() -> None:
    kernels = ("linux-5.10", "linux-6.1", "linux-6.12", "linux-6.18", "linux-newest", "linux-6.1-full")
    often, seldom = ("ext4-ordered", "xfs"), tuple(f"rare-{number}" for number in range(12))
    plan = [
        Case(f"reporting/question_{number}_of_many", kernel, filesystem, "data-eio")
        for kernel in kernels
        for filesystem in (*often, *seldom)
        for number in range(30 if filesystem in often else 3)
    ]
    drawing = Matrix([], plan).draw(80)
    lines = [line for block in drawing.blocks for line in block.header]
    lines += [line for block in drawing.blocks for row in block.rows for line in row.lines]
    assert max(line.cell_len for line in lines) <= 80
    assert len(lines) < 2 * 31 + 12 * 4 + 10  # one line for each question, whatever the number of kernels
    text = "\n".join(line.plain for line in lines)
    assert text.count("·") == len({(case.scenario, case.kernel, case.filesystem) for case in plan})
    assert all(filesystem in text for filesystem in seldom)


def test_the_time_left_counts_a_boot_once_a_kernel() -> None:
    def took(name: str, kernel: str, machine: float) -> Result:
        one = Case(name, kernel, "xfs", "data-eio")
        made = result(one)
        kernel_record = msgspec.structs.replace(made.kernel, id=kernel)
        return msgspec.structs.replace(
            made, kernel=kernel_record, seconds=machine + 0.5, phases={"machine": machine}
        )

    plan = [
        Case(f"reporting/{number}", kernel, "xfs", "data-eio")
        for kernel in ("linux-6.1", "linux-6.12")
        for number in range(10)
    ]
    results = [
        took(f"reporting/{number}", "linux-6.1", 10.25 if number == 0 else 0.25) for number in range(5)
    ]
    # Fifteen cases of 0.75 s, and the boot of the other kernel.
    assert seconds_left(results, plan) == pytest.approx(15 * 0.75 + 10.0)
    assert seconds_left(results, plan[:10]) == pytest.approx(5 * 0.75)
