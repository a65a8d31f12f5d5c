"""What consoles of guests say of their kernel's health: the raw logs in tests/golden/console/."""

from pathlib import Path

import pytest

from fsyncgate.machine.console import FATAL, Alarm, alarms

LOGS = sorted((Path(__file__).parents[1] / "golden" / "console").glob("*.txt"))


def parts(log: Path) -> tuple[list[str], str]:
    """Return the alarms that a log's header lines announce, and the raw text after them."""
    header, _, text = log.read_bytes().decode().partition("\n\n")
    return [
        line.removeprefix("# alarm: ") for line in header.splitlines() if line.startswith("# alarm: ")
    ], text


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_the_lines_that_matter_are_found_without_their_clocks(log: Path) -> None:
    announced, text = parts(log)
    assert [f"{line.alarm}: {line.text}" for line in alarms(text)] == announced


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_a_log_says_which_kernel_it_is_of_what_it_shows_and_where_it_is_from(log: Path) -> None:
    keys = [line.partition(": ")[0] for line in log.read_text().partition("\n\n")[0].splitlines()]
    assert keys[:3] == ["# kernel", "# what", "# from"]
    assert set(keys[3:]) <= {"# alarm"}


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_only_a_kernel_that_failed_is_fatal(log: Path) -> None:
    fatal = any(line.alarm in FATAL for line in alarms(parts(log)[1]))
    assert fatal == log.name.startswith(
        ("panic", "oops", "hung", "bug", "general-protection", "divide-error", "soft-lockup")
    )


def test_there_is_a_log_for_every_alarm() -> None:
    assert {line.alarm for log in LOGS for line in alarms(parts(log)[1])} == set(Alarm)


@pytest.mark.parametrize(
    "text", ["", "\r\n", "SeaBIOS (version 1.16.2)\r\n", "[    0.000000] Linux version 6.1.0"]
)
def test_a_quiet_console_says_nothing(text: str) -> None:
    assert alarms(text) == []


def test_a_line_that_is_not_finished_counts() -> None:
    (line,) = alarms("[    4.1] Kernel panic - not sync\r\n[    4.2] Kernel panic - not syncing: Fatal exc")
    assert (line.alarm, line.text) == (Alarm.PANIC, "Kernel panic - not syncing: Fatal exc")
