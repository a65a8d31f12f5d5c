"""What a guest's console says of the kernel's health, as a pure function of its text."""

import re
from enum import StrEnum

import msgspec


class Alarm(StrEnum):
    """Kinds of console lines that a reader of a verdict must know of."""

    PANIC = "panic"
    OOPS = "oops"
    WARNING = "warning"
    HUNG = "hung"
    FILE_SYSTEM = "file-system"
    DISK = "disk"
    PAGE_CACHE = "page-cache"


FATAL = frozenset({Alarm.PANIC, Alarm.OOPS, Alarm.HUNG})
"""After these no answer of the guest is worth anything."""


class ConsoleLine(msgspec.Struct, frozen=True):
    """A line of the console and what it means."""

    alarm: Alarm
    text: str


_PATTERNS: tuple[tuple[Alarm, re.Pattern[str]], ...] = (
    (Alarm.PANIC, re.compile(r"Kernel panic - not syncing")),
    # Every x86 oops counts itself, as in "divide error: 0000 [#1]"; a fault of a user's program does not.
    (Alarm.OOPS, re.compile(r"\b(BUG:|Oops:|kernel BUG at)|: [0-9a-f]{4} \[#\d+\]")),
    # 7.2 says "blocked in I/O wait for more than".
    (Alarm.HUNG, re.compile(r"\bblocked\b.* for more than \d+ seconds|soft lockup|detected stalls? on")),
    (Alarm.WARNING, re.compile(r"\bWARNING: (CPU|.* at )")),
    (
        Alarm.FILE_SYSTEM,
        re.compile(
            r"EXT4-fs (error|warning|\([^)]*\): (Remounting|failed|Delayed|This should not))"
            r"|JBD2: .*(error|abort)|Aborting journal|Remounting filesystem read-only"
            r"|XFS \([^)]*\): .*(error|shut ?down|corruption)"
            r"|BTRFS(:| ).*(error|critical|forced readonly|aborted|csum failed)",
            re.IGNORECASE,
        ),
    ),
    (Alarm.PAGE_CACHE, re.compile(r"Page cache invalidation failure on direct I/O")),
    (
        Alarm.DISK,
        re.compile(
            r"I/O error|lost (async |sync )?page write|writeback error|critical \w+ error", re.IGNORECASE
        ),
    ),
)

_CLOCK = re.compile(r"^(<\d+>)?\[ *\d+\.\d+\](\[ *[CT]\d+\])? ?")


def alarms(text: str) -> list[ConsoleLine]:
    """Return the lines of a console that matter, in order, without their time stamps."""
    found: list[ConsoleLine] = []
    for line in text.splitlines():
        bare = _CLOCK.sub("", line.rstrip())
        alarm = next((alarm for alarm, pattern in _PATTERNS if pattern.search(bare)), None)
        if alarm is not None:
            found.append(ConsoleLine(alarm, bare))
    return found
