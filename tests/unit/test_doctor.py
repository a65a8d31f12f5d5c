"""What a host has and lacks, in a person's words."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from fsyncgate import doctor
from fsyncgate.cli import cli
from fsyncgate.doctor import GIB, ROOM, Finding, examine, memory, room
from fsyncgate.machine.argv import MEMORY

HOST = {"FSYNCGATE_MIRROR": "http://mirror.invalid/debian", "FSYNCGATE_ACCEL": "tcg"}


def examined(folder: Path, **environ: str) -> dict[str, Finding]:
    return {one.what: one for one in examine(HOST | {"FSYNCGATE_CACHE": str(folder)} | environ)}


def test_nothing_is_made_where_the_cache_would_be(tmp_path: Path) -> None:
    found = examined(tmp_path / "not" / "there")
    assert str(tmp_path) in found["disk"].says
    assert not (tmp_path / "not").exists()


def test_what_was_set_is_said_and_what_cannot_be_used_is_found(tmp_path: Path) -> None:
    assert examined(tmp_path)["mirror"].good
    assert examined(tmp_path)["accelerator"].says == "tcg, as FSYNCGATE_ACCEL says"
    wrong = examined(tmp_path, FSYNCGATE_MIRROR="mirror")["mirror"]
    assert not wrong.good
    assert "FSYNCGATE_MIRROR is 'mirror'" in wrong.says


def test_a_program_that_is_missing_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = examined(tmp_path)
    assert "qemu-system-x86" in found["QEMU"].advice
    assert found["QEMU"].needed
    assert "gcc" in found["compiler"].advice
    assert not found["Vagrant"].needed


@pytest.mark.parametrize(
    ("available", "processors", "good", "needed"),
    [(8 * GIB, 4, True, True), (GIB, 4, False, False), (GIB // 4, 4, False, True)],
)
def test_memory_is_counted_in_machines(available: int, processors: int, good: bool, needed: bool) -> None:
    meminfo = f"MemTotal: 99999999 kB\nMemAvailable: {available // 1024} kB\n"
    found = memory(meminfo, processors)
    assert (found.good, found.needed) == (good, needed)
    assert f"for {available // MEMORY} machines" in found.says


@pytest.mark.parametrize(
    ("free", "good", "needed"), [(ROOM, True, True), (GIB, False, False), (0, False, True)]
)
def test_room_on_the_disk(free: int, good: bool, needed: bool) -> None:
    found = room(Path("/cache"), free)
    assert (found.good, found.needed) == (good, needed)


@pytest.mark.parametrize(
    ("finding", "status"),
    [
        (Finding("QEMU", "it is not installed", "install it."), 3),
        (Finding("Vagrant", "not here", "install it.", needed=False), 0),
        (Finding("QEMU", "8.0"), 0),
    ],
)
def test_the_exit_status_says_whether_anything_can_be_asked(
    monkeypatch: pytest.MonkeyPatch, finding: Finding, status: int
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: [finding])
    ran = CliRunner().invoke(cli, ["doctor"])
    assert ran.exit_code == status
    assert f"{finding.what}: {finding.says}" in ran.output
    assert finding.advice in ran.output
