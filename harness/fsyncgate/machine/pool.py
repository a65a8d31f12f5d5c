"""Machines for cases: one boot a kernel, then a clean restored machine for every case."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from fsyncgate.cache import Cache
from fsyncgate.errors import MachineLost, SetupError
from fsyncgate.guest import tracing
from fsyncgate.guest.actor import Guest
from fsyncgate.guest.files import write_file
from fsyncgate.images import initramfs
from fsyncgate.images.agent import agent
from fsyncgate.machine.accelerator import accelerator
from fsyncgate.machine.argv import MEMORY
from fsyncgate.machine.qemu import version
from fsyncgate.machine.snapshot import Machine, Recipe, Snapshot, booted
from fsyncgate.model import FileSystem, Kernel

DRIVERS = ["virtio_pci", "virtio_blk", "virtio_console", "dm_mod", "dm_flakey"]
"""Modules that every guest needs; file systems add theirs."""

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


class Pool:
    """Gives machines; counts the boots it took."""

    def __init__(
        self,
        cache: Cache,
        filesystems: list[FileSystem],
        *,
        fresh_boot: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`fresh_boot` boots every machine anew instead of restoring it; `say` hears of long work."""
        self._cache = cache
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
                archive.stem.rpartition("-")[2],
                accelerator(kernel, self._cache),
                version(),
                repr((SETTINGS, tracing.BLOCK, tracing.ERRSEQ, tracing.CACHE)),
            )
        return self.recipes[kernel.id]

    def machine(self, kernel: Kernel, disk: str, console: Path) -> Machine:
        """Return a clean machine with `disk` in it. Raises MachineLost if none comes up.

        A snapshot that cannot be restored is no reason to know less: the machine is booted instead.
        """
        recipe = self.recipe(kernel)
        if not self._fresh_boot:
            snapshot = self._snapshot(recipe, kernel, console)
            try:
                return snapshot.restore(disk, console)
            except MachineLost as error:
                self.say(f"restoring '{kernel.id}' failed ({error.message}); booting it instead")
        with self._cache.temporary() as work:
            self.boots += 1
            boot = recipe.boot(memory=work / "memory", private=False, disk=disk, console=console)
            return booted(recipe, boot, prepare)

    def _snapshot(self, recipe: Recipe, kernel: Kernel, console: Path) -> Snapshot:
        snapshot = Snapshot(recipe, self._cache.folder("machines") / f"{kernel.id}-{recipe.key()}")
        if not snapshot.saved():
            with self._cache.lock(f"machine-{kernel.id}"):
                if not snapshot.saved():
                    self._room()
                    self.say(f"booting '{kernel.id}'")
                    self.boots += 1
                    snapshot.save(self._cache, prepare, console)
        return snapshot

    def _initramfs(self, kernel: Kernel) -> Path:
        program = agent(self._cache)
        modules = Path(kernel.modules) if kernel.modules else None
        inputs = [program.name, kernel.sha256, kernel.release, *self._modules]
        key = hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:16]
        archive = self._cache.folder("initramfs") / f"{kernel.id}-{key}.cpio"
        with self._cache.lock(f"initramfs-{kernel.id}"):
            if not archive.exists():
                with self._cache.temporary() as work:
                    initramfs.build(program, modules, self._modules, work / archive.name)
                    self._cache.publish(work / archive.name, archive)
        return archive

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
    tracing.prepare(guest.root)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
