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
_IN_FLIGHT = 8
"""Which counter in /sys/block/<disk>/stat tells of requests in flight (Documentation/block/stat.rst)."""


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

    def rest(self) -> str:
        """Wait until no task but this one is runnable and the disk has answered everything that reached it.

        Return the disk's counters: they are the same before and after, and nothing is in flight. So nobody
        has been woken by it while the tasks were counted. Raises GuestError if rest never comes.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            before = read_file(self._actor, self._counters).split()
            load = read_file(self._actor, "/proc/loadavg")
            after = read_file(self._actor, self._counters).split()
            if before == after and after[_IN_FLIGHT] == "0" and runnable(load) == 1:
                return " ".join(after)
            if time.monotonic() > deadline:
                raise GuestError(
                    f"The guest did not come to rest within {PATIENCE:.0f} s: "
                    f"{runnable(load)} tasks can run, and the disk says '{' '.join(after)}'."
                )


def runnable(load: str) -> int:
    """Return how many tasks can run or do, from the text of /proc/loadavg: `0.00 0.01 0.05 2/78 123`."""
    return int(load.split()[3].partition("/")[0])
