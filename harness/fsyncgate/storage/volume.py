"""The file system under test, mounted in the guest, and the files on it."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from fsyncgate.data import BLOCK
from fsyncgate.errors import GuestError, MachineLost, Unsupported
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import Out
from fsyncgate.guest.constants import AT_FDCWD, O_DIRECT, O_RDONLY, O_RDWR, O_WRONLY
from fsyncgate.guest.files import write_file
from fsyncgate.guest.process import Process
from fsyncgate.guest.rest import UNINTERRUPTIBLE, Watchman, where
from fsyncgate.guest.watch import Watch
from fsyncgate.guest.witness import Witness
from fsyncgate.history import AtRest, Outcome, Panicked
from fsyncgate.machine.readout import Readout
from fsyncgate.storage.aim import Aim
from fsyncgate.storage.directory import Directory
from fsyncgate.storage.disk import SECTORS, UNUSED, Layers
from fsyncgate.storage.file import File
from fsyncgate.storage.flusher import Flusher
from fsyncgate.storage.layout import Btrfs, Device, Layout, layout
from fsyncgate.storage.mounting import BARE, BASE, LOWER, MOUNT, MountRefused, Mounts
from fsyncgate.storage.place import Place
from fsyncgate.storage.roles import Roles

_PIECE = 2**20
_NOBODY = "init"
"""In the history: who mounts and unmounts."""


class Volume:
    """A mounted file system on the disk that is broken."""

    def __init__(
        self,
        actor: Actor,
        witness: Witness,
        layers: Layers,
        mounts: Mounts,
        roles: Roles,
        readout: Readout,
    ) -> None:
        """Mount it; `actor` does what belongs to no process of the scenario."""
        self._actor = actor
        self._witness = witness
        self._layers = layers
        self._mounts = mounts
        self._filesystem = mounts.lowest
        self._readout = readout
        self._mounted = True
        self._processes: list[Process] = []
        self._watchman: Watchman | None = None
        mounts.up()
        self._layout = layout(self._filesystem.type, actor, MOUNT, self.read_disk)
        self.aim = Aim(actor, self._filesystem.id, roles, lambda: self._layout)
        self.process = self.new_process()

    def new_process(self) -> Process:
        """Start a process that shares nothing with the others."""
        return self._start(None)

    def file(self, name: str) -> File:
        """Return the file of that name, which need not exist yet."""
        self._must_be_mounted()
        return File(self, self._actor, self._witness, f"{MOUNT}/{name}")

    def file_of_lower_layer(self, name: str, data: bytes) -> File:
        """Put a file with `data` into the lower layer of an overlay, and return it as the overlay has it.

        The overlay is not mounted meanwhile, so every process is ended. Raises GuestError if one cannot be.
        """
        self._end_processes()
        self._mounts.uncover()
        File(self, self._actor, self._witness, f"{LOWER}/{name}").filled_with(data)
        self._mounts.over()
        self.process = self.new_process()
        return self.file(name)

    @property
    def device(self) -> File:
        """The block device itself; as the place of its data the first megabyte is taken."""
        return File(self, self._actor, self._witness, self._layers.volume_path)

    @property
    def directory(self) -> Directory:
        """Return the root directory of the file system."""
        self._must_be_mounted()
        return Directory(self, MOUNT)

    @property
    def directory_below(self) -> Directory:
        """Return the root directory of the file system that an overlay lies on."""
        return Directory(self, BASE)

    @property
    def any_write(self) -> Place:
        """Every sector: the place of a fault that takes all writes and flushes."""
        return Place("any", ((0, SECTORS),))

    @property
    def whole_disk(self) -> Place:
        """Every sector: the place of a fault that takes all requests."""
        return Place("any", ((0, SECTORS),))

    @property
    def space(self) -> Place:
        """What was never written: the place of a fault that takes what has no room yet."""
        return Place("space", ((0, SECTORS),))

    @property
    def flushes(self) -> Place:
        """No sector that holds anything: the place of a fault that takes flushes only."""
        return Place("flush", (UNUSED,))

    @property
    def journal(self) -> Place:
        """The sectors of the journal. Raises Unsupported if the file system has none."""
        return self.aim.journal

    @property
    def superblock(self) -> Place:
        """The superblocks that are written as the file system is used. Raises Unsupported if it has none."""
        return self.aim.superblock

    def write_back(self) -> None:
        """Let the kernel write everything out as its flusher would: no file is asked for its error.

        Twice, because with data=journal the first round brings the blocks into the journal only, and
        the second to their places.
        """
        for _ in range(2):
            self._actor.call("sync")
        self._witness.look()

    def watched(self) -> Watch:
        """Let a process of its own watch the file system for errors (fanotify). Raises Unsupported."""
        self._must_be_mounted()
        return Watch(self.new_process(), MOUNT)

    def impatient_flusher(self) -> Flusher:
        """Let the kernel write by itself from now on, when a page has been dirty for a moment."""
        return Flusher(self._actor, self._witness)

    @contextmanager
    def held(self) -> Generator[None]:
        """Let every request of the file system wait below it, until a fault is armed or the end."""
        self._layers.hold()
        try:
            yield
        except MachineLost:
            raise  # nobody is left who could go on
        except BaseException:
            self._layers.release()
            raise
        self._layers.release()
        self._witness.look()

    def at_rest(self) -> None:
        """Wait until nobody in the guest can go on by himself: who has no answer then waits for the fault.

        Raises GuestError if that never comes.
        """
        if self._watchman is None:
            self._watchman = Watchman(self._actor.guest, self._layers.disk_path)
        counters = self._watchman.rest(owing=self._layers.hangs)
        self._witness.look()
        places = {process.name: where(self._actor, process.actor.pid) for process in self._processes}
        asleep = {name: place.stack for name, place in places.items() if place.state == UNINTERRUPTIBLE}
        self._witness.write(AtRest(self._witness.now(), counters, asleep))

    def remount(self) -> None:
        """End every process, unmount and mount again: what a reader finds after that is cold.

        Raises GuestError if that cannot be done.
        """
        self.unmount()
        if error := self.mount():
            raise GuestError(f"'{self._filesystem.id}' could not be mounted again: {error}.")

    def unmount(self) -> Outcome:
        """End every process and unmount; return 0, which is all that umount2(2) has to say.

        Raises GuestError if something is still in use.
        """
        self._end_processes()
        began = time.monotonic()
        self._mounts.down()
        self._mounted = False
        self._witness.called(_NOBODY, "umount", {}, 0, began)
        return 0

    def mount(self) -> Outcome:
        """Mount what was unmounted, and start a process; return 0 or the errno's name."""
        began = time.monotonic()
        try:
            self._mounts.up()
        except MountRefused as refused:
            self._witness.called(_NOBODY, "mount", {}, refused.error, began)
            return refused.error
        self._mounted = True
        self._witness.called(_NOBODY, "mount", {}, 0, began)
        self.process = self.new_process()
        return 0

    @property
    def state(self) -> str:
        """How /proc/mounts describes it: `rw` or `ro`, and `emergency_ro` or `shutdown` where it says so."""
        return self._mounts.state

    def retry_metadata(self, times: int) -> None:
        """Tell XFS how often to write metadata again that cannot be written; by default it never gives up.

        Raises Unsupported for another file system.
        """
        name = self._layers.volume_path.rpartition("/")[2]
        path = f"/sys/fs/xfs/{name}/error/metadata/EIO/max_retries"
        try:
            write_file(self._actor, path, str(times))
        except GuestError:
            raise Unsupported(f"'{self._filesystem.id}' has no 'max_retries'.") from None

    def fsck(self) -> str:
        """Return what the file system's own checker, on the host, says of the disk as it is now.

        `clean`, `errors`, or `needs recovery` if a journal is to be replayed first. All that it said is in
        the case's folder. What only the guest's memory has is not on the disk: unmount before.
        """
        return self._readout.fsck(self._filesystem)

    @contextmanager
    def expecting_panic(self, about: str) -> Generator[list[str]]:
        """Do what may make the guest panic: the list is then what its console says of it, else empty.

        Only a panic whose line holds `about` is an answer of the kernel; any other loss of the guest stays
        a loss.
        """
        said: list[str] = []
        try:
            yield said
        except MachineLost:
            if (panic := self._readout.panic(about)) is None:
                raise
            self._witness.write(Panicked(self._witness.now(), about, panic))
            said.append(panic)

    def drop_caches(self) -> None:
        """Drop clean pages, dentries and inodes that nobody holds, as memory pressure would.

        Several times: the first round only takes the mark "used lately" from an inode.
        """
        descriptor = self._actor.call("openat", AT_FDCWD, "/proc/sys/vm/drop_caches", O_WRONLY, 0).must(
            "drop caches"
        )
        for _ in range(4):
            self._actor.call("write", descriptor, b"3", 1).must("drop caches")
        self._actor.call("close", descriptor)
        self._witness.look()

    def read_disk(self, byte: int) -> bytes:
        """Return the block at that byte of the disk, past the page cache and below the fault."""
        disk = self._actor.call("openat", AT_FDCWD, self._layers.disk_path, O_RDONLY | O_DIRECT, 0).must(
            "open the disk"
        )
        answer = self._actor.call("pread64", disk, Out(BLOCK), BLOCK, byte)
        self._actor.call("close", disk)
        answer.must("read the disk")
        return answer.out[0]

    def write_disk(self, byte: int, block: bytes) -> None:
        """Put a block at that byte of the disk, behind the back of everything above it."""
        disk = self._actor.call("openat", AT_FDCWD, self._layers.disk_path, O_RDWR | O_DIRECT, 0).must(
            "open the disk"
        )
        for at in range(0, len(block), _PIECE):
            piece = block[at : at + _PIECE]
            self._actor.call("pwrite64", disk, piece, len(piece), byte + at).must("write the disk")
        self._actor.call("close", disk)

    def layout_of(self, path: str) -> Layout:
        """Return what knows where a file's bytes lie."""
        return Device(_PIECE) if path == self._layers.volume_path else self._layout

    def write_errors(self) -> int:
        """Return how many failed writes of the disk the file system has counted.

        Raises Unsupported for one that does not count.
        """
        if not isinstance(self._layout, Btrfs):
            raise Unsupported(f"'{self._filesystem.id}' does not count a disk's errors.")
        return self._layout.write_errors()

    def must_be_up(self) -> None:
        """Raise GuestError if it could not be mounted: what lies under the mount point is no answer."""
        if not self._mounted:
            raise GuestError(f"'{self._filesystem.id}' is not mounted: nothing can be read from it.")

    def _must_be_mounted(self) -> None:
        if self._filesystem.type == BARE:
            raise Unsupported(f"'{self._filesystem.id}' is a device without files: ask for 'volume.device'.")

    def _end_processes(self) -> None:
        for process in self._processes:
            process.end()
        self._processes.clear()

    def _start(self, parent: Actor | None) -> Process:
        name = chr(ord("A") + len(self._processes))
        actor = self._actor.guest.spawn() if parent is None else parent.fork()
        process = Process(name, actor, self._witness, self._start)
        self._processes.append(process)
        return process
