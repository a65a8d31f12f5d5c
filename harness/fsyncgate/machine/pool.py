"""Machines for cases: one boot a kernel, then a clean restored machine for every case."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from fsyncgate.cache import Cache
from fsyncgate.errors import MachineLost, SetupError
from fsyncgate.guest import tracing
from fsyncgate.guest.actor import Guest
from fsyncgate.guest.channel import PATIENCE
from fsyncgate.guest.files import write_file
from fsyncgate.images import initramfs
from fsyncgate.images.agent import agent
from fsyncgate.machine.accelerator import accelerator
from fsyncgate.machine.argv import MEMORY
from fsyncgate.machine.qemu import version
from fsyncgate.machine.snapshot import CONSOLE, Disks, Machine, Recipe, booted, restored, save
from fsyncgate.model import FileSystem, Kernel
from fsyncgate.shelf import Shelf
from fsyncgate.storage import made, stack

DRIVERS = [
    "crc32c_generic", "crc32c_cryptoapi",
    "virtio_pci", "virtio_blk", "virtio_console", "virtio_scsi", "sd_mod", "xhci_pci", "usb_storage",
    "dm_mod", "dm_flakey", "dm_delay", "dm_thin_pool",
]  # fmt: skip
"""Modules that every guest needs; file systems add theirs.

The checksum comes first: `libcrc32c`, which thin pools, XFS and btrfs need, refuses to be loaded without one.
"""

SETTINGS = {
    "/proc/sys/kernel/printk": "7 4 1 7",
    "/proc/sys/vm/dirty_writeback_centisecs": "360000",
    "/proc/sys/vm/dirty_expire_centisecs": "360000",
    "/proc/sys/fs/xfs/xfssyncd_centisecs": "720000",
    "/proc/sys/fs/xfs/filestream_centisecs": "360000",
}
"""Everything reaches the console; nothing is written because time went by, only because somebody asked.

An interval of 0 would do the opposite: the flusher is then woken at once, and a file system that has
written little so far has a background threshold of about nothing (wb_over_bg_thresh).
"""

_ARCHIVE = "initramfs.cpio"
_TRIES = 2
"""A machine is restored; if that fails, from files that have been looked at again."""


class Pool:
    """Gives machines; counts the boots it took."""

    def __init__(
        self,
        cache: Cache,
        filesystems: list[FileSystem],
        *,
        fresh_boot: bool = False,
        patience: float = PATIENCE,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`fresh_boot` boots every machine anew instead of restoring it; `say` hears of long work.

        A guest that does not answer for `patience` seconds is lost.
        """
        self._patience = patience
        self._cache = cache
        self._machines = Shelf(cache, "machines")
        self._modules = DRIVERS + [name for filesystem in filesystems for name in filesystem.modules]
        self._fresh_boot = fresh_boot
        self.say = say
        self.recipes: dict[str, Recipe] = {}
        self.boots = 0

    def recipe(self, kernel: Kernel) -> Recipe:
        """Return what machines of `kernel` are booted from, made now if need be."""
        if kernel.id not in self.recipes:
            archive = self._initramfs(kernel)
            self.recipes[kernel.id] = Recipe(
                kernel.image,
                _digest(Path(kernel.image)),
                str(archive),
                archive.parent.name.rpartition("-")[2],
                accelerator(kernel, self._cache),
                version(),
                repr((SETTINGS, tracing.PREPARED, made.PREPARED)),
            )
        return self.recipes[kernel.id]

    def machine(self, kernel: Kernel, disks: Disks, console: Path) -> Machine:
        """Return a clean machine with `disks` in it. Raises MachineLost if none comes up.

        A saved machine that cannot be restored, even when its files have been looked at again, is no
        reason to know less: the machine is booted instead.
        """
        recipe = self.recipe(kernel)
        name = f"{kernel.id}-{recipe.key()}"
        for _ in range(0 if self._fresh_boot else _TRIES):
            saved = self._machines.get(name, lambda work: self._save(kernel, recipe, work, console))
            try:
                return restored(recipe, saved, disks, console, self._patience)
            except MachineLost as error:
                self.say(f"restoring '{kernel.id}' failed: {error.message}")
                self._machines.doubt(name)
                console.write_bytes(b"")  # what it said belongs to no case
        self._room()
        with self._cache.temporary() as work:
            self.boots += 1
            boot = recipe.boot(memory=work / "memory", private=False, disks=disks, console=console)
            return booted(recipe, boot, prepare, self._patience)

    def _save(self, kernel: Kernel, recipe: Recipe, folder: Path, console: Path) -> None:
        self._room()
        self.say(f"booting '{kernel.id}'")
        self.boots += 1
        try:
            save(recipe, folder, prepare, self._patience)
        except MachineLost:
            shutil.copyfile(folder / CONSOLE, console)
            raise

    def _initramfs(self, kernel: Kernel) -> Path:
        program = agent(self._cache)
        modules = Path(kernel.modules) if kernel.modules else None
        key = initramfs.fingerprint(program, modules, self._modules)
        shelf = Shelf(self._cache, "initramfs")
        folder = shelf.get(
            f"{kernel.id}-{key}",
            lambda work: initramfs.build(program, modules, self._modules, work / _ARCHIVE),
        )
        return folder / _ARCHIVE

    def _room(self) -> None:
        """Raise SetupError unless a machine's memory fits: QEMU would die of it without a word."""
        if shutil.disk_usage(self._cache.root).free < MEMORY:
            raise SetupError(
                f"The disk below '{self._cache.root}' has no room for a machine's memory, "
                f"{MEMORY // 2**20} MiB.",
                hint="make room, or set FSYNCGATE_CACHE to another disk.",
            )


def prepare(guest: Guest) -> None:
    """Bring a guest that has just booted to the state in which every case begins."""
    for path, value in SETTINGS.items():
        write_file(guest.root, path, value, missing_ok=True)
    stack.prepare(guest.root)
    tracing.prepare(guest.root)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
