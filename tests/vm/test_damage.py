"""What lies in the cache may be damaged, and the host may lack room: never a wrong verdict."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.vm.conftest import KERNEL, Host, table

pytestmark = pytest.mark.vm

CASES = ("--fs", "ext4-ordered", "--scenario", "first_fsync", "--fault", "data-eio")


def cut(file: Path) -> None:
    """Leave the first half."""
    os.truncate(file, file.stat().st_size // 2)


def scratch(file: Path) -> None:
    """Change a byte in the middle of what is written."""
    with file.open("r+b") as opened:
        at = os.lseek(opened.fileno(), file.stat().st_size // 3, os.SEEK_DATA)
        (old,) = os.pread(opened.fileno(), 1, at + 100)
        os.pwrite(opened.fileno(), bytes([old ^ 0xFF]), at + 100)


def lose(file: Path) -> None:
    """Remove it."""
    file.unlink()


MACHINE, INITRAMFS = f"machines/linux-{KERNEL}", f"initramfs/linux-{KERNEL}"
IMAGE = "filesystems/ext4-ordered"


@pytest.mark.parametrize(
    ("damages", "boots"),
    [
        ([(MACHINE, "memory", scratch)], 1),
        ([(MACHINE, "state", lose), (INITRAMFS, "initramfs.cpio", cut), (IMAGE, "image", cut)], 1),
        ([(INITRAMFS, "initramfs.cpio", scratch), (IMAGE, "image", scratch)], 0),
    ],
    ids=["memory-scratched", "all-cut", "what-is-booted-scratched"],
)
def test_what_is_damaged_is_made_anew(
    host: Host, damages: list[tuple[str, str, Callable[[Path], None]]], boots: int
) -> None:
    for what, file, damage in damages:
        damage(host.with_own(what) / file)
    status, command = host.qualify(*CASES, "--out", "run")
    assert status == 0, command.out + command.err
    assert host.record("run")["boots"] == boots
    assert not host.left_behind()


def test_a_machine_damaged_while_it_is_in_use(host: Host) -> None:
    """Between two cases of one run: the second is booted, or restored from a machine that was saved anew."""
    host.with_own(MACHINE)
    damage = """
def test_one(volume, fault, observe):
    observe(hot=volume.file("f").filled_with(OLD).hot())
    for state in Path(os.environ["FSYNCGATE_CACHE"]).glob("machines/*/state"):
        os.truncate(state, 1000)

def test_two(volume, fault, observe):
    observe(hot=volume.file("f").filled_with(OLD).hot())

def test_three(volume, fault, observe):
    observe(hot=volume.file("f").filled_with(OLD).hot())
"""
    own = host.scenarios(damage, *(table(name, 'hot = "OLD"') for name in ("one", "two", "three")))
    argv = ("pytest", own, "-q", "--kernel", KERNEL, "--fs", "ext4-ordered", "--out", "run")
    status, command = host.run(*argv)
    assert status == 0, command.out
    assert host.record("run")["boots"] == 1


def small_disk(host: Host, where: Path, size: str, *kinds: str) -> None:
    """Let commands see a disk of that size at `where`; as the cache it has these kinds of things."""
    where.mkdir(exist_ok=True)
    links = " && ".join(f"ln -s {(host.cache / kind).readlink()} {where}/{kind}" for kind in kinds) or "true"
    mount = f'mount -t tmpfs -o size={size} none {where} && {links} && exec "$@"'
    host.prefix = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    if subprocess.run([*host.prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this host lets nobody mount a tmpfs in a namespace")


@pytest.mark.parametrize(
    ("size", "kinds", "sentence"),
    [
        ("2m", ("kernels",), "The disk below '{cache}' is full. Hint: set FSYNCGATE_CACHE to"),
        (
            "100m", ("kernels", "agent", "initramfs", "filesystems"),
            "The disk below '{cache}' has no room for a machine's memory, 512 MiB. Hint: make room",
        ),
    ],
)  # fmt: skip
def test_the_disk_of_the_cache_is_full(host: Host, size: str, kinds: tuple[str, ...], sentence: str) -> None:
    small_disk(host, host.cache, size, *kinds)
    status, command = host.qualify(*CASES, "--out", "run")
    assert status == 3
    for result in command.results:
        assert result["verdict"] == "unknown"
        assert result["reason"].startswith(sentence.format(cache=host.cache))
    assert command.results


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_disk_of_the_results_is_full(host: Host, workers: str) -> None:
    small_disk(host, host.folder / "full", "64k")
    both = ("--fs", "ext4-ordered", "--fs", "xfs", "-j", workers)
    status, command = host.qualify(*both, "--scenario", "reporting", "--out", "full/run")
    assert status == 3
    (sentence,) = (line for line in command.err.splitlines() if line.startswith("fsyncgate:"))
    assert "cannot be written: No space left on device. Hint: free some space there" in sentence
    assert "Error" not in command.err


def test_the_results_cannot_be_there(host: Host) -> None:
    status, command = host.qualify(*CASES, "--out", "/proc/run")
    assert (status, command.out) == (3, "")
    assert command.err.startswith("fsyncgate: '/proc/run' cannot be written: ")
    assert command.err.count("\n") == 1


def fake_qemu(host: Host, script: str) -> None:
    """Put a program in the place of QEMU."""
    folder = host.folder / "bin"
    folder.mkdir()
    (folder / "qemu-system-x86_64").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "qemu-system-x86_64").chmod(0o755)
    host.environ["PATH"] = f"{folder}:{host.environ['PATH']}"


def test_no_qemu(host: Host) -> None:
    folder = host.folder / "bin"
    folder.mkdir()
    for needed in ("setpriv", "sh", "env"):
        (folder / needed).symlink_to(shutil.which(needed) or needed)
    host.environ["PATH"] = str(folder)
    status, command = host.qualify(*CASES, "--out", "run")
    assert (status, command.out) == (3, "")
    sentence = "'qemu-system-x86_64' is not installed. Hint: install the Debian package 'qemu-system-x86'."
    assert command.err == f"fsyncgate: {sentence}\n"
    assert not (host.folder / "run").exists()


def test_a_qemu_that_does_not_start(host: Host) -> None:
    fake_qemu(host, "echo 'qemu: libfoo.so.1 is missing.' >&2; exit 1")
    status, command = host.qualify(*CASES, "--out", "run")
    assert status == 3
    assert {result["verdict"] for result in command.results} == {"unknown"}
    for result in command.results:
        assert result["reason"] == "'qemu-system-x86_64' does not start: qemu: libfoo.so.1 is missing."


def test_a_qemu_that_lacks_a_device(host: Host) -> None:
    real = shutil.which("qemu-system-x86_64")
    answer = f"exec {real} --version || true"
    fake_qemu(
        host, f'[ "$1" = --version ] && {answer}; echo "qemu: no device \'virtio-blk-pci\'" >&2; exit 1'
    )
    status, command = host.qualify(*CASES, "--out", "run", "--fresh-boot")
    assert status == 3
    for result in command.results:
        assert result["verdict"] == "unknown"
        assert "did not come up: QEMU ended by itself with status 1: qemu: no device" in result["reason"]


def test_a_kernel_of_garbage(host: Host) -> None:
    """A header that promises a kernel, and nothing behind it."""
    (image,) = (host.cache / "kernels").glob(f"{KERNEL}.*-cloud-*/vmlinuz")
    whole = image.read_bytes()
    head = (whole[0x1F1] + 1) * 512
    garbage = host.folder / "bzImage"
    garbage.write_bytes(whole[:head] + bytes(len(whole) - head))
    status, command = host.qualify(*CASES, "--out", "run", "--patience", "4", kernel=garbage)
    assert status == 3
    for result in command.results:
        assert result["verdict"] == "unknown"
        assert re.match(rf"The kernel '{garbage}' did not come up: .*\.", result["reason"])
        assert result["seconds"] < 20


def test_a_file_that_is_no_kernel(host: Host) -> None:
    file = host.folder / "notes.txt"
    file.write_text("no kernel at all\n" * 100)
    status, command = host.qualify(*CASES, "--out", "run", kernel=file)
    assert (status, command.out) == (2, "")
    assert command.err.startswith(f"fsyncgate: The file '{file}' cannot be booted: it is not a bzImage")
