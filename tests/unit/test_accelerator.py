"""KVM or TCG, found out with programs that stand for QEMU."""

import os
from pathlib import Path

import pytest

from fsyncgate.cache import Cache
from fsyncgate.errors import UsageError
from fsyncgate.machine.accelerator import accelerator, runs_under_kvm
from fsyncgate.machine.argv import QEMU
from fsyncgate.model import Kernel

PROOF = "echo 'Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)'"
KERNEL = Kernel("linux-6.1", "6.1.0", "6.1.176", "a package", "a digest", "vmlinuz", None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("FSYNCGATE_ACCEL", raising=False)

    def access(path: str, _mode: int) -> bool:
        return path == "/dev/kvm"

    monkeypatch.setattr(os, "access", access)
    return tmp_path


def qemu(folder: Path, script: str) -> None:
    """Let this script be QEMU; it writes down each time that it is started, and its process id."""
    (folder / QEMU).write_text(f"#!/bin/sh\necho $$ >>{folder}/started\n{script}\n")
    (folder / QEMU).chmod(0o755)


def started(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "started").read_text().split()]


@pytest.mark.parametrize(
    ("script", "answer"),
    [(PROOF, "kvm"), ("echo 'qemu: failed to set MSR 0x10a' >&2; exit 134", "tcg"), ("echo hello", "tcg")],
)
def test_the_answer_is_found_out_once(folder: Path, script: str, answer: str) -> None:
    qemu(folder, script)
    cache = Cache(folder / "cache")
    assert [accelerator(KERNEL, cache), accelerator(KERNEL, cache)] == [answer, answer]
    assert len(started(folder)) == 1
    (known,) = cache.path("accelerator").iterdir()
    known.write_bytes(b"tc")  # cut off
    assert accelerator(KERNEL, cache) == answer
    assert len(started(folder)) == 2


def test_a_kernel_that_hangs_is_ended(folder: Path) -> None:
    qemu(folder, "exec sleep 1000")
    assert not runs_under_kvm("vmlinuz", timeout=0.5)
    (pid,) = started(folder)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_user_decides(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSYNCGATE_ACCEL", "kvm")
    assert accelerator(KERNEL, Cache(folder / "cache")) == "kvm"
    monkeypatch.setenv("FSYNCGATE_ACCEL", "fast")
    with pytest.raises(UsageError, match=r"FSYNCGATE_ACCEL is 'fast'. Hint: set it to one of tcg, kvm"):
        accelerator(KERNEL, Cache(folder / "cache"))
    assert not (folder / "started").exists()
