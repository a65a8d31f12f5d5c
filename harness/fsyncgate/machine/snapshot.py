"""A machine that was booted once and is there again, clean, in a quarter of a second.

Measured: the state without the memory is under a megabyte, and the memory is a sparse file that
every restored machine maps privately.
"""

import hashlib
import os
import shlex
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from fsyncgate.errors import MachineLost
from fsyncgate.guest.actor import Guest
from fsyncgate.guest.channel import Channel
from fsyncgate.machine.argv import MEMORY, Boot, by_hand, command
from fsyncgate.machine.qemu import Qemu

MEMORY_FILE, STATE, ACTORS, CONSOLE = "memory", "state", "actors.json", "console.log"
"""What the folder of a saved machine holds."""

_SMALL = 1 << 16
"""Bytes: more than the actors of a saved machine take."""

NO_PORT = "no virtio-serial port"
"""What the agent says when it has looked for its port in vain for some seconds (vms/agent/boot.c)."""
BOOT_PATIENCE = 1.5
"""How much longer a boot may take than an answer; under TCG it takes two to six seconds."""


Disks = tuple[str, str]
"""The images of the disk that is broken and of the second one."""


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

    def boot(self, *, memory: Path, private: bool, disks: Disks | None, console: Path) -> Boot:
        """Return the machine, its descriptors not filled in."""
        disk, second = disks or (None, None)
        return Boot(
            kernel=self.kernel, initramfs=self.initramfs, accelerator=self.accelerator, memory=str(memory),
            private=private, disk=disk, second=second, console=str(console), agent_fd=-1, monitor_fd=-1,
        )  # fmt: skip

    def by_hand(self, disks: Disks) -> str:
        """Return a line that boots such a machine on a terminal."""
        return by_hand(
            kernel=self.kernel, initramfs=self.initramfs, accelerator=self.accelerator,
            disk=disks[0], second=disks[1],
        )  # fmt: skip

    def key(self) -> str:
        """Return a name for everything that a saved state depends on; where files lie is no such thing."""
        moved = msgspec.structs.replace(self, kernel="k", initramfs="i")
        shape = moved.boot(memory=Path("m"), private=False, disks=None, console=Path("c"))
        digests = [
            self.kernel_sha256,
            self.initramfs_sha256,
            self.qemu,
            self.prepared,
            str(MEMORY),
            *command(shape),
        ]
        return hashlib.sha256("\0".join(digests).encode()).hexdigest()[:20]


class _Left(msgspec.Struct, frozen=True):
    """What the host must know of a guest that was saved."""

    pids: dict[int, int]
    """Of its actors, by number."""
    notes: dict[str, str]


class Machine:
    """A guest that answers."""

    def __init__(self, qemu: Qemu, guest: Guest) -> None:
        """Hold both."""
        self.qemu = qemu
        self.guest = guest

    def close(self) -> None:
        """End it without ceremony: its disk and its memory are thrown away."""
        self.qemu.kill()


def booted(recipe: Recipe, boot: Boot, prepare: Callable[[Guest], None], patience: float) -> Machine:
    """Boot a machine and prepare its guest; wait for an answer for `patience` seconds.

    Raises MachineLost with what the console said.
    """
    qemu = Qemu(boot)
    try:
        channel = Channel(qemu.agent, patience=patience)
        guest = Guest(channel, timeout=BOOT_PATIENCE * patience, meanwhile=lambda: _has_port(qemu))
        prepare(guest)
        return Machine(qemu, guest)
    except MachineLost as error:
        lost = qemu.why_lost(error)
        qemu.kill()
        raise MachineLost(
            f"The kernel '{recipe.kernel}' did not come up: {lost.message}", hint=lost.hint
        ) from None
    except BaseException:
        qemu.kill()
        raise


def _has_port(qemu: Qemu) -> None:
    """Raise MachineLost if the agent says on the console that it finds no way to the host."""
    if NO_PORT in qemu.console_text():
        raise MachineLost(
            "its agent finds no virtio-serial port.",
            hint="build virtio_pci, virtio_console and virtio_blk into the kernel, or give --modules DIR.",
        )


def save(recipe: Recipe, folder: Path, prepare: Callable[[Guest], None], patience: float) -> None:
    """Boot a machine, prepare it, and save it into an empty folder.

    Raises MachineLost if it does not come up; the folder's `console.log` then says more.
    """
    console = folder / CONSOLE
    boot = recipe.boot(memory=folder / MEMORY_FILE, private=False, disks=None, console=console)
    machine = booted(recipe, boot, prepare, patience)
    try:
        left = _Left(machine.guest.pids, machine.guest.notes)
        (folder / ACTORS).write_bytes(msgspec.json.encode(left))
        machine.qemu.monitor.save(f"exec:cat > {shlex.quote(str(folder / STATE))}")
        machine.qemu.quit()
    finally:
        machine.close()


def restored(recipe: Recipe, folder: Path, disks: Disks, console: Path, patience: float) -> Machine:
    """Return a machine as it was when it was saved into `folder`, with `disks` in it.

    Its files are opened at once and handed on by descriptor: should another process put a machine that
    it saved anew in their place, memory and state still belong together. Raises MachineLost.
    """
    with ExitStack() as opened:
        try:
            place = _opened(opened, folder, os.O_RDONLY | os.O_DIRECTORY)
            memory, state, actors = (
                _opened(opened, name, os.O_RDONLY, place) for name in (MEMORY_FILE, STATE, ACTORS)
            )
            left = msgspec.json.decode(os.read(actors, _SMALL), type=_Left)
        except (OSError, msgspec.DecodeError) as error:
            raise MachineLost(f"The saved machine '{folder}' cannot be read: {error}.") from None
        qemu = Qemu(recipe.boot(memory=_link(memory), private=True, disks=disks, console=console))
        try:
            qemu.monitor.load(f"exec:cat {_link(state)}")
            channel = Channel(qemu.agent, patience=patience)
            return Machine(qemu, Guest.attach(channel, left.pids, notes=left.notes))
        except MachineLost as error:
            lost = qemu.why_lost(error)
            qemu.kill()
            raise lost from None
        except BaseException:
            qemu.kill()
            raise


def _opened(stack: ExitStack, path: Path | str, flags: int, folder: int | None = None) -> int:
    """Open a file until the stack is left."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, dir_fd=folder)
    stack.callback(os.close, descriptor)
    return descriptor


def _link(descriptor: int) -> Path:
    """Return a path by which another process finds the file that we have opened."""
    return Path(f"/proc/{os.getpid()}/fd/{descriptor}")
