"""Unpack kernel packages of either layout into one folder of ours, with nothing installed."""

import shutil
import threading
from pathlib import Path

from fsyncgate.errors import SetupError
from fsyncgate.kernels.run import run, tool

TOOLS = {"dpkg-deb": "dpkg", "depmod": "kmod"}
"""What `unpack` runs, with the packages that bring it."""

_NOT_KEPT = ("build", "source", "System.map", "vmlinuz")


def unpack(debs: list[Path], scratch: Path, made: Path, release: str, stop: threading.Event | None) -> None:
    """Fill the empty folder `made` with vmlinuz, config and lib/modules/<release>, modules.dep included.

    `scratch` is a path on the same file system, for the packages' whole trees. SetupError if the
    packages are laid out in a way that is not known, ToolError if they cannot be unpacked.
    """
    for deb in debs:
        run([tool("dpkg-deb", TOOLS["dpkg-deb"]), "-x", str(deb), str(scratch)], stop=stop)
    _arrange(scratch, made, release)
    _depmod(made, release, stop)


def _arrange(scratch: Path, made: Path, release: str) -> None:
    # Up to 6.18 image and configuration are in /boot and the modules in /lib; with 6.18 the modules moved to
    # /usr/lib, and from 6.19 on all is there.
    trees = [scratch / "lib/modules" / release, scratch / "usr/lib/modules" / release]
    tree = next((tree for tree in trees if (tree / "kernel").is_dir()), None)
    image = _first(scratch / f"boot/vmlinuz-{release}", *(tree / "vmlinuz" for tree in trees))
    if not tree or not image:
        raise SetupError(
            f"The packages of kernel '{release}' hold no bzImage with modules where fsyncgate looks.",
            hint="Debian may have changed the layout again; please report it.",
        )
    image.rename(made / "vmlinuz")
    if config := _first(scratch / f"boot/config-{release}", *(tree / "config" for tree in trees)):
        config.rename(made / "config")
    for other in trees:
        if other != tree and other.is_dir():
            shutil.copytree(other, tree, symlinks=True, dirs_exist_ok=True)
    for name in _NOT_KEPT:
        (tree / name).unlink(missing_ok=True)
    final = made / "lib/modules" / release
    final.parent.mkdir(parents=True)
    tree.rename(final)


def _depmod(made: Path, release: str, stop: threading.Event | None) -> None:
    # Some builds of depmod look below usr/lib, Debian's below lib.
    (made / "usr").mkdir()
    (made / "usr/lib").symlink_to("../lib")
    run([tool("depmod", TOOLS["depmod"]), "-b", str(made), release], stop=stop)
    shutil.rmtree(made / "usr")
    if not (made / "lib/modules" / release / "modules.dep").is_file():
        raise SetupError(
            f"depmod made no 'modules.dep' for kernel '{release}'.", hint="a newer package 'kmod' may help."
        )


def _first(*files: Path) -> Path | None:
    return next((file for file in files if file.is_file()), None)
