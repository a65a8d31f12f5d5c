"""A kernel of the user's own: with its modules, with some of them, and with none."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.vm.conftest import KERNEL, Host

pytestmark = pytest.mark.vm


@pytest.fixture
def image(host: Host) -> Path:
    """A bzImage somewhere else than in the cache."""
    (kernel,) = (host.cache / "kernels").glob(f"{KERNEL}.*-cloud-*")
    shutil.copyfile(kernel / "vmlinuz", host.folder / "bzImage")
    return kernel


def without(kernel: Path, folder: Path, *modules: str) -> Path:
    """Copy a kernel's modules but for some."""
    shutil.copytree(kernel / "lib", folder / "lib")
    for module in modules:
        for file in (folder / "lib").rglob(f"{module}.ko*"):
            file.unlink()
    (release,) = (folder / "lib/modules").iterdir()
    subprocess.run(["depmod", "-b", folder, release.name], check=True, env={"PATH": "/usr/sbin:/sbin"})
    return folder


def test_what_a_kernel_lacks_is_unknown_and_named(host: Host, image: Path) -> None:
    modules = without(image, host.folder / "modules", "xfs", "dm-flakey")
    status, command = host.qualify(
        "--modules", modules, "--fs", "xfs", "--fs", "ext4-ordered", "--scenario", "failed_flush",
        "--fault", "flush-eio", "--fault", "disk-flush-eio", "--out", "run", kernel="./bzImage",
    )  # fmt: skip
    assert status == 3, command.err
    reasons = {(result["filesystem"], result["fault"]): result["reason"] for result in command.results}
    assert reasons == {
        ("xfs", "flush-eio"): "This kernel has no 'xfs'.",
        ("xfs", "disk-flush-eio"): "This kernel has no 'xfs'.",
        ("ext4-ordered", "flush-eio"): "This kernel has no device-mapper target 'flakey'.",
        ("ext4-ordered", "disk-flush-eio"): "",
    }


def test_the_same_image_with_other_modules_is_another_machine(host: Host, image: Path) -> None:
    only = ("--fs", "xfs", "--scenario", "healthy_disk")
    status, command = host.qualify("--modules", image, *only, "--out", "with", kernel="./bzImage")
    assert status == 0, command.out
    status, command = host.qualify(*only, "--out", "none", kernel="./bzImage")
    assert status == 3
    (result,) = command.results
    assert "its agent finds no virtio-serial port" in result["reason"]
    assert "--modules DIR" in result["reason"]
