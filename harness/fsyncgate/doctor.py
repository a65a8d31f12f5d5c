"""`fsyncgate doctor`: what this host has, and what each missing thing would take."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from fsyncgate import catalogue
from fsyncgate.cache import Cache
from fsyncgate.errors import FsyncgateError
from fsyncgate.images.filesystem import program
from fsyncgate.kernels.catalogue import catalogue as kernels
from fsyncgate.kernels.mirror import check_keyring, choose_mirror
from fsyncgate.kernels.record import found, kernel_of
from fsyncgate.machine.accelerator import accelerator
from fsyncgate.machine.argv import MEMORY
from fsyncgate.machine.qemu import version

GIB = 2**30
ROOM = 4 * GIB
"""Bytes that the cache of a whole run takes, measured: kernels, their modules and saved machines."""


class Finding(msgspec.Struct, frozen=True):
    """One thing, and how it stands here."""

    what: str
    says: str
    advice: str = ""
    """What would help; empty if nothing is missing."""
    needed: bool = True
    """Whether nothing can be asked without it."""

    @property
    def good(self) -> bool:
        """Whether nothing is missing."""
        return not self.advice


def examine(environ: Mapping[str, str] = os.environ) -> list[Finding]:
    """Look at this host; boots a machine for a moment if a kernel is in the cache and KVM was never tried."""
    cache = Cache.from_environment(environ)
    return [
        _asked("QEMU", version),
        _asked("accelerator", lambda: _accelerator(cache, environ)),
        memory(Path("/proc/meminfo").read_text(), os.cpu_count() or 1),
        room(cache.root, shutil.disk_usage(_there(cache.root)).free),
        _asked("mirror", lambda: choose_mirror(environ)),
        _asked("keyring", _keyring),
        _filesystems(),
        _compiler(),
        _vagrant(),
    ]


def _asked(what: str, ask: Callable[[], str]) -> Finding:
    try:
        return Finding(what, ask())
    except FsyncgateError as error:
        return Finding(what, error.message, error.hint or "see the sentence before.")


def _accelerator(cache: Cache, environ: Mapping[str, str]) -> str:
    if chosen := environ.get("FSYNCGATE_ACCEL"):
        return f"{chosen}, as FSYNCGATE_ACCEL says"
    if not Path("/dev/kvm").exists():
        return "tcg: this host has no /dev/kvm; it works, and KVM would be some times faster"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg: /dev/kvm is there, and this user may not open it (group 'kvm')"
    there = ((entry, found(entry, cache)) for entry in kernels().values())
    kernel = next((kernel_of(entry, *one) for entry, one in there if one), None)
    if kernel is None:
        return (
            "not known yet: /dev/kvm opens, and whether it runs a kernel is tried when one has been fetched"
        )
    if accelerator(kernel, cache) == "kvm":
        return "kvm: a kernel was booted with it"
    return "tcg: /dev/kvm opens, but no kernel comes up with it; it works, only slower"


def _keyring() -> str:
    check_keyring()
    return "the keys of Debian's archive are there"


def memory(meminfo: str, processors: int) -> Finding:
    """Say how many machines fit; `meminfo` is /proc/meminfo, which counts in KiB."""
    line = next(line for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
    free = int(line.split()[1]) * 1024
    fit = free // MEMORY
    says = f"{free / GIB:.1f} GiB are available, for {fit} machines of {MEMORY // 2**20} MiB"
    if fit >= processors:
        return Finding("memory", says)
    if fit:
        return Finding("memory", says, f"say '-j {fit}', or free some.", needed=False)
    return Finding("memory", says, "free some: not one machine fits.")


def room(root: Path, free: int) -> Finding:
    """Say whether a cache below `root` has room, with `free` bytes there."""
    says = f"{free / GIB:.1f} GiB are free where the cache is, '{root}'"
    if free >= ROOM:
        return Finding("disk", says)
    return Finding(
        "disk", says, f"a whole run keeps about {ROOM / GIB:.0f} GiB: make room, or set FSYNCGATE_CACHE.",
        needed=free < MEMORY,
    )  # fmt: skip


def _there(path: Path) -> Path:
    """Return the nearest folder above that exists."""
    return path if path.exists() else _there(path.parent)


def _filesystems() -> Finding:
    lacking = {
        one.package: one
        for one in catalogue.filesystems().values()
        if one.mkfs and program(one.mkfs[0]) is None
    }
    made = [one.id for one in catalogue.filesystems().values() if one.package not in lacking]
    says = f"{len(made)} can be made: {', '.join(made)}"
    if not lacking:
        return Finding("file systems", says)
    defaults = any(one.default for one in lacking.values())
    return Finding(
        "file systems", says, f"install {', '.join(sorted(lacking))} for the others.", needed=defaults
    )


def _compiler() -> Finding:
    if shutil.which("gcc") and Path("/usr/include/linux/futex.h").exists():
        return Finding("compiler", "gcc builds the guest agent")
    return Finding("compiler", "the guest agent cannot be built", "install gcc and libc6-dev.")


def _vagrant() -> Finding:
    if (path := shutil.which("vagrant")) is None:
        return Finding("Vagrant", "not here", "install vagrant if you want its boxes asked.", needed=False)
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("Vagrant", f"it does not start: {error}", "look at 'vagrant --version'.", needed=False)
    return Finding("Vagrant", done.stdout.strip())
