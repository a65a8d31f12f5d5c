"""File systems that are no defaults: what only they have to tell, and what they need of the host."""

import json
import subprocess

import pytest
from tests.vm.conftest import Host

pytestmark = pytest.mark.vm

MIRROR, LOG, FAST, BARE = "btrfs-raid1", "xfs-external-log", "ext4-fast-commit", "ext2"


def asked(
    host: Host, kernel: str, scenario: str, *filesystems: str, fault: str
) -> dict[str, dict[str, object]]:
    """Ask one question of file systems; return what was observed by file system."""
    names = [part for name in filesystems for part in ("--fs", name)]
    status, command = host.qualify(
        *names,
        "--scenario",
        scenario,
        "--fault",
        fault,
        "--out",
        f"{scenario}-{fault}-{kernel}",
        kernel=kernel,
    )
    assert status == 0, command.out + command.err
    return {result["filesystem"]: result["observed"] for result in command.results}


def test_one_good_leg_is_enough_and_the_other_is_known_to_be_bad(host: Host) -> None:
    observed = asked(host, "6.1", "one_bad_leg", MIRROR, fault="data-eio")[MIRROR]
    assert observed == {"fsync": 0, "counted": 1, "raw": "ZEROS", "cold": "NEW"}
    (history,) = (host.folder / "one_bad_leg-data-eio-6.1").rglob("history.jsonl")
    events = [json.loads(line) for line in history.read_text().splitlines()]
    failed = [event for event in events if event["event"] == "block" and event["error"]]
    assert {event["error"] for event in failed} == {"EIO"}
    assert not [event for event in events if event["event"] == "error-recorded"]


@pytest.mark.parametrize(("kernel", "told"), [("5.10", 0), ("6.1", "EIO")])
def test_a_log_on_another_disk_hears_of_a_data_disk_that_does_not_flush_from_6_0_on(
    host: Host, kernel: str, told: object
) -> None:
    for fault in ("flush-eio", "disk-flush-eio"):
        observed = asked(host, kernel, "failed_flush", LOG, fault=fault)[LOG]
        assert (observed["committing"], observed["nothing_to_commit"]) == (told, told)


def test_who_sends_a_flush_when_there_is_nothing_to_write(host: Host) -> None:
    observed = asked(host, "6.1", "failed_flush", FAST, BARE, fault="disk-flush-eio")
    assert [observed[name]["committing"] for name in (FAST, BARE)] == ["EIO", "EIO"]
    assert [observed[name]["nothing_to_commit"] for name in (FAST, BARE)] == ["EIO", 0]


def test_a_tool_that_is_not_there_is_missed_by_its_own_file_system_alone(host: Host) -> None:
    hide = "mount --bind /dev/null $(PATH=$PATH:/sbin:/usr/sbin command -v mkfs.btrfs)"
    host.prefix = ["unshare", "--map-root-user", "--mount", "sh", "-c", f'{hide} && exec "$@"', "sh"]
    if subprocess.run([*host.prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this host lets nobody hide a file")
    status, command = host.qualify(
        "--fs", "ext4-ordered", "--fs", MIRROR, "--scenario", "healthy_disk", "--out", "x"
    )
    verdicts = {result["filesystem"]: result["verdict"] for result in command.results}
    assert (status, verdicts) == (3, {"ext4-ordered": "conforms", MIRROR: "unknown"})
    (missed,) = (result["reason"] for result in command.results if result["verdict"] == "unknown")
    assert missed.startswith(f"'mkfs.btrfs' is not installed, so '{MIRROR}' cannot be made.")
    assert "btrfs-progs" in missed
