"""Has everything in the guest come to rest? Then who has no answer yet cannot get one by waiting longer."""

import struct
import time
from dataclasses import dataclass

from fsyncgate.errors import GuestError
from fsyncgate.guest.actor import Actor, Guest
from fsyncgate.guest.files import read_file

PATIENCE = 30.0
"""Seconds to wait for rest."""
_SCHED_IDLE = 5
"""The policy of a task that runs when no other can (sched(7))."""
_COUNTED = {"reads": 0, "writes": 4, "in flight": 8, "discards": 11, "flushes": 15}
"""Which counters in /sys/block/<disk>/stat tell of requests that ended, and of those in flight.

The others tell of times, which go on while a disk hangs (Documentation/block/stat.rst).
"""


UNINTERRUPTIBLE = "D"
"""The state of a process that sleeps and that no signal wakes (proc_pid_stat(5))."""


@dataclass(frozen=True)
class Whereabouts:
    """Where a process is."""

    state: str
    """The letter of /proc/PID/stat; `gone` if there is no such process."""
    stack: list[str]
    """The kernel's functions in which it is, inmost first; empty if the kernel does not tell."""


def where(actor: Actor, pid: int) -> Whereabouts:
    """Return where the process `pid` is; `actor` looks."""
    try:
        state = read_file(actor, f"/proc/{pid}/stat").rpartition(") ")[2][:1]
    except GuestError:
        return Whereabouts("gone", [])
    try:
        return Whereabouts(state, functions(read_file(actor, f"/proc/{pid}/stack")))
    except GuestError:
        return Whereabouts(state, [])


def functions(stack: str) -> list[str]:
    """Return the names in the text of /proc/PID/stack: `[<0>] folio_wait_bit_common+0x13e/0x350`."""
    return [line.split()[1].partition("+")[0] for line in stack.splitlines() if len(line.split()) > 1]


class Watchman:
    """A process in the guest that runs only when no other does, and looks at the disk."""

    def __init__(self, guest: Guest, disk_path: str) -> None:
        """Watch the disk `/dev/...`."""
        self._actor = guest.spawn()
        answer = self._actor.call("sched_setscheduler", 0, _SCHED_IDLE, struct.pack("<i", 0))
        answer.must("let a process run last")
        self._counters = f"/sys/block/{disk_path.rpartition('/')[2]}/stat"

    def rest(self, *, owing: bool = False) -> dict[str, int]:
        """Wait until no task but this one is runnable and the disk has answered everything that reached it.

        If the disk hangs it is `owing` answers. Return what it has done: the same before and after, so that
        nobody was woken by it while the tasks were counted. Raises GuestError if rest never comes.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            before = done(read_file(self._actor, self._counters))
            load = read_file(self._actor, "/proc/loadavg")
            after = done(read_file(self._actor, self._counters))
            if before == after and (owing or after["in flight"] == 0) and runnable(load) == 1:
                return after
            if time.monotonic() > deadline:
                raise GuestError(
                    f"The guest did not come to rest within {PATIENCE:.0f} s: "
                    f"{runnable(load)} tasks can run, and the disk says {after}."
                )


def done(counters: str) -> dict[str, int]:
    """Return how many requests ended and how many are in flight, from the text of /sys/block/<disk>/stat."""
    words = counters.split()
    return {name: int(words[at]) for name, at in _COUNTED.items() if at < len(words)}


def runnable(load: str) -> int:
    """Return how many tasks can run or do, from the text of /proc/loadavg: `0.00 0.01 0.05 2/78 123`."""
    return int(load.split()[3].partition("/")[0])
