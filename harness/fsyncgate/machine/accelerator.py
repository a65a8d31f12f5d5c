"""KVM or TCG? Found out by booting: a /dev/kvm that opens may still not run a kernel."""

import os
import subprocess
from pathlib import Path

from fsyncgate.cache import Cache
from fsyncgate.errors import UsageError
from fsyncgate.machine.argv import CPU, QEMU
from fsyncgate.model import Kernel

PROBE_TIMEOUT = 8.0
"""Seconds for a kernel without a root file system to come to its panic: about one where KVM works."""

_PROOF = "Kernel panic - not syncing: VFS"
"""What a kernel says that was started with nothing to mount, after all else in it came up."""


def accelerator(kernel: Kernel, cache: Cache) -> str:
    """Return `kvm` if a kernel really runs under it here, else `tcg`.

    `FSYNCGATE_ACCEL` decides without a probe. The answer is kept until this host boots anew. Raises
    UsageError if the variable names something else.
    """
    if chosen := os.environ.get("FSYNCGATE_ACCEL"):
        if chosen not in CPU:
            raise UsageError(
                f"FSYNCGATE_ACCEL is '{chosen}'.", hint=f"set it to one of {', '.join(CPU)}, or not at all."
            )
        return chosen
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    known = cache.folder("accelerator") / _host()
    with cache.lock("accelerator"):
        answer = known.read_text() if known.exists() else ""
        if answer not in CPU:
            answer = "kvm" if runs_under_kvm(kernel.image) else "tcg"
            cache.write(known, answer.encode())
    return answer


def runs_under_kvm(image: str, timeout: float = PROBE_TIMEOUT) -> bool:
    """Boot a kernel under KVM without anything to mount; True if it comes to the panic that follows."""
    command = [
        "setpriv", "--pdeathsig", "KILL", "--", QEMU, "-machine", "q35", "-accel", "kvm",
        "-cpu", "host", "-m", "256",
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio",
        "-kernel", image, "-append", "console=ttyS0 panic=-1",
    ]  # fmt: skip
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as probe:
        try:
            said, _ = probe.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return False
        finally:
            probe.kill()
    return _PROOF.encode() in said


def _host() -> str:
    """Return a name for this boot of this host: what it can do does not change before the next."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
