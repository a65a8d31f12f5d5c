"""A machine that was booted once and is there again, clean, in a quarter of a second.

Measured: the state without the memory is under a megabyte, and the memory is a sparse file that
every restored machine maps privately.
"""

import hashlib
import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec

from fsyncgate.cache import Cache
from fsyncgate.errors import MachineLost
from fsyncgate.guest.actor import Guest
from fsyncgate.guest.channel import Channel
from fsyncgate.machine.argv import MEMORY, Boot, by_hand, command
from fsyncgate.machine.qemu import Qemu

BOOT_TIMEOUT = 90.0
"""Seconds until a kernel that does not come up counts as lost; under TCG it takes two to six."""


class Recipe(msgspec.Struct, frozen=True):
    """What a machine is booted from."""

    kernel: str
    kernel_sha256: str
    initramfs: str
    initramfs_sha256: str
    accelerator: str
    qemu: str
    """QEMU's version: a state is read back only by the version that wrote it."""
    prepared: str
    """What is done to the guest before it is saved, in words that change when that does."""

    def boot(self, *, memory: Path, private: bool, disk: str | None, console: Path) -> Boot:
        """Return the machine, its descriptors not filled in."""
        return Boot(
            kernel=self.kernel, initramfs=self.initramfs, accelerator=self.accelerator, memory=str(memory),
            private=private, disk=disk, console=str(console), agent_fd=-1, monitor_fd=-1,
        )  # fmt: skip

    def by_hand(self, disk: str) -> str:
        """Return a line that boots such a machine on a terminal."""
        return by_hand(kernel=self.kernel, initramfs=self.initramfs, accelerator=self.accelerator, disk=disk)

    def key(self) -> str:
        """Return a name for everything that a saved state depends on."""
        shape = self.boot(memory=Path("m"), private=False, disk=None, console=Path("c"))
        digests = [
            self.kernel_sha256,
            self.initramfs_sha256,
            self.qemu,
            self.prepared,
            str(MEMORY),
            *command(shape),
        ]
        return hashlib.sha256("\0".join(digests).encode()).hexdigest()[:20]


class Machine:
    """A guest that answers."""

    def __init__(self, qemu: Qemu, guest: Guest) -> None:
        """Hold both."""
        self.qemu = qemu
        self.guest = guest

    def close(self) -> None:
        """End it without ceremony: its disk and its memory are thrown away."""
        self.qemu.kill()


def booted(recipe: Recipe, boot: Boot, prepare: Callable[[Guest], None]) -> Machine:
    """Boot a machine and prepare its guest. Raises MachineLost with what the console said."""
    qemu = Qemu(boot)
    try:
        guest = Guest(Channel(qemu.agent), timeout=BOOT_TIMEOUT)
        prepare(guest)
        return Machine(qemu, guest)
    except MachineLost as error:
        lost = qemu.why_lost(error)
        qemu.kill()
        raise MachineLost(f"The kernel '{recipe.kernel}' did not come up: {lost.message}") from None
    except BaseException:
        qemu.kill()
        raise


class Snapshot:
    """A saved machine in a folder of the cache."""

    def __init__(self, recipe: Recipe, folder: Path) -> None:
        """Name it; `saved` tells whether it is there."""
        self.recipe = recipe
        self.folder = folder

    def saved(self) -> bool:
        """Tell whether it is there, whole."""
        return (self.folder / "state").exists()

    def save(self, cache: Cache, prepare: Callable[[Guest], None], console: Path) -> None:
        """Boot, prepare and save the machine. Raises MachineLost if it does not come up."""
        with cache.temporary() as outer:
            work = outer / "machine"
            work.mkdir()
            memory = work / "memory"
            machine = booted(
                self.recipe,
                self.recipe.boot(memory=memory, private=False, disk=None, console=console),
                prepare,
            )
            try:
                (work / "actors.json").write_bytes(msgspec.json.encode(machine.guest.pids))
                machine.qemu.monitor.save(f"exec:cat > {shlex.quote(str(work / 'state'))}")
                machine.qemu.quit()
            finally:
                machine.close()
            cache.publish(work, self.folder)

    def restore(self, disk: str, console: Path) -> Machine:
        """Return a machine as it was when it was saved, with `disk` in it."""
        qemu = Qemu(self.recipe.boot(memory=self.folder / "memory", private=True, disk=disk, console=console))
        try:
            qemu.monitor.load(f"exec:cat {shlex.quote(str(self.folder / 'state'))}")
            pids = msgspec.json.decode((self.folder / "actors.json").read_bytes(), type=dict[int, int])
            return Machine(qemu, Guest.attach(Channel(qemu.agent), pids))
        except MachineLost as error:
            lost = qemu.why_lost(error)
            qemu.kill()
            raise lost from None
        except BaseException:
            qemu.kill()
            raise
