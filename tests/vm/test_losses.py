"""What becomes of a machine in mid-case is told in a sentence; the next case has a machine of its own."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.vm.conftest import KERNEL, Host, table

pytestmark = pytest.mark.vm

SCENARIOS = '''
def qemu():
    """The process id of the machine: this process has no other child."""
    (child,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return int(child)

def test_killed(volume, fault, observe):
    observe(before=volume.file("f").filled_with(OLD).hot())
    os.kill(qemu(), signal.SIGKILL)
    volume.file("f").hot()

def test_healthy_after_killed(volume, fault, observe):
    observe(hot=volume.file("f").filled_with(OLD).hot())

def test_panicked(volume, fault, observe):
    actor = volume.process.actor
    trigger = actor.call("open", "/proc/sysrq-trigger", os.O_WRONLY).must("open it")
    actor.call("write", trigger, b"c", 1)

def test_healthy_after_panicked(volume, fault, observe):
    observe(hot=volume.file("f").filled_with(OLD).hot())

def test_process_killed(volume, fault, observe):
    opened = volume.file("f").filled_with(OLD).open()
    opened.process.end()
    opened.fsync()

def test_actor_of_the_harness_killed(volume, fault, observe):
    actor = volume.process.actor
    actor.call("kill", actor.guest.root.pid, signal.SIGKILL)
    volume.file("f").filled_with(OLD)

def test_agent_crashed(volume, fault, observe):
    """Zeroes in the place of the code of PID 1, which no signal can end."""
    actor = volume.process.actor
    memory = actor.call("open", "/proc/1/mem", os.O_RDWR).must("open the agent's memory")
    from fsyncgate.guest.files import read_file
    for line in read_file(actor.guest.root, "/proc/1/maps").splitlines():
        if " r-xp " in line and "[" not in line:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            for at in range(start, end, 1 << 20):
                size = min(end - at, 1 << 20)
                actor.call("pwrite64", memory, bytes(size), size, at)
    volume.file("f").hot()

def test_python_error(volume, fault, observe):
    observe(hot=volume.file("f").filled_with(OLD).hot())
    {}["no such key"]

def test_misaimed(volume, fault, observe):
    """The fault lies in a file to which nobody writes."""
    aimed = volume.file("f").filled_with(OLD)
    other = volume.file("g").filled_with(OLD).open()
    other.write(NEW)
    with fault.on(aimed.data):
        observe(fsync=other.fsync())

def test_no_machine_asked_for(case):
    pass

def test_small_enough(volume, fault, observe):
    volume.file("f").filled_with(OLD)
    status = Path(f"/proc/{qemu()}/status").read_text()
    (peak,) = (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    observe(peak_under_700_mb=peak < 700_000, peak_over_50_mb=peak > 50_000)

def test_healthy_at_the_end(volume, fault, observe):
    observe(hot=volume.file("f").filled_with(OLD).hot())
'''
REASONS = {
    "killed": r"QEMU was ended by SIGKILL in mid-case\.",
    "panicked": r"the guest kernel failed: Kernel panic - not syncing: sysrq triggered crash",
    "process_killed": r"The agent refused 'fsync' for actor 2: unknown actor\.",
    "actor_of_the_harness_killed": r"(Actor 1 ended by signal 9 before|The agent refused '\w+' for actor 1)",
    "agent_crashed": r"the guest kernel failed: Kernel panic - not syncing: Attempted to kill init!",
    "python_error": r"the scenario failed: KeyError: 'no such key' \(test_own.py, line \d+\)",
    "misaimed": "the fault never fired",
    "no_machine_asked_for": "the scenario takes neither 'volume' nor 'fault' nor 'observe'",
}
"""How the reason begins, by scenario; the other scenarios conform."""
EXPECTED = {
    "healthy_after_killed": 'hot = "OLD"',
    "healthy_after_panicked": 'hot = "OLD"',
    "healthy_at_the_end": 'hot = "OLD"',
    "small_enough": "peak_under_700_mb = true\npeak_over_50_mb = true",
}


@pytest.fixture
def losses(host: Host) -> Path:
    tables = [table(name, row) for name, row in EXPECTED.items()]
    tables += [table(name, fault="data-eio" if name == "misaimed" else "none") for name in REASONS]
    return host.scenarios(SCENARIOS, *tables)


SOME = ("killed", "healthy_after_killed", "agent_crashed", "python_error", "healthy_at_the_end")
ALONE = (["--fs", "ext4-ordered"], [*REASONS, *EXPECTED])
SIDE_BY_SIDE = (["--fs", "ext4-ordered", "--fs", "xfs", "-n", "2"], SOME)


@pytest.mark.parametrize(("how", "names"), [ALONE, SIDE_BY_SIDE], ids=["alone", "side-by-side"])
def test_each_loss_is_one_unknown_case(
    host: Host, losses: Path, how: list[str], names: Sequence[str]
) -> None:
    chosen = [part for name in names for part in ("--scenario", name)]
    status, command = host.run("pytest", losses, "-q", "--kernel", KERNEL, *how, *chosen, "--out", "run")
    assert status == 3, command.out
    results = host.results("run")
    assert set(results) == set(names)
    for name, result in results.items():
        if name in REASONS:
            assert result["verdict"] == "unknown"
            assert re.match(REASONS[name], result["reason"])
            assert result["reason"] in command.out
        else:
            assert (result["verdict"], result["reason"]) == ("conforms", "")
    assert results["killed"]["observed"] == {"before": "OLD"}
    folders = {name: host.folder / "run/cases" / result["case"] for name, result in results.items()}
    assert "Attempted to kill init" in (folders["agent_crashed"] / "console.log").read_text()
    assert "KeyError" in (folders["python_error"] / "traceback.txt").read_text()
    assert host.record("run")["planned"] == len(names) * how.count("--fs")


SILENT = '''
def test_machine_stopped(volume, fault, observe):
    """While a fault is armed and requests are held: nothing more is waited for than the answer."""
    (child,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    file = volume.file("f").filled_with(OLD)
    with fault.on(file.data), volume.held():
        os.kill(int(child), signal.SIGSTOP)
        file.hot()

def test_agent_stopped(volume, fault, observe):
    """PID 1 obeys no SIGSTOP, but ptrace(PTRACE_SEIZE) and then PTRACE_INTERRUPT."""
    actor = volume.process.actor
    actor.call("ptrace", 0x4206, 1, 0, 0).must("seize PID 1")
    actor.submit("ptrace", 0x4207, 1, 0, 0)
    volume.file("f").hot()

def test_healthy(volume, fault, observe):
    observe(hot=volume.file("f").filled_with(OLD).hot())
'''


def test_a_guest_that_stops_answering_is_waited_for_as_long_as_the_user_says(host: Host) -> None:
    tables = (
        table("machine_stopped", fault="data-eio"),
        table("agent_stopped"),
        table("healthy", 'hot = "OLD"'),
    )
    own = host.scenarios(SILENT, *tables)
    only = ("--kernel", KERNEL, "--fs", "ext4-ordered", "--out", "run")
    status, command = host.run("pytest", own, "-q", *only, "--patience", "3")
    assert status == 3, command.out
    results = host.results("run")
    for name in ("machine_stopped", "agent_stopped"):
        assert results[name]["verdict"] == "unknown"
        assert results[name]["reason"].startswith("The guest did not answer within 3 s.")
        assert results[name]["seconds"] < 7
    assert results["healthy"]["verdict"] == "conforms"
