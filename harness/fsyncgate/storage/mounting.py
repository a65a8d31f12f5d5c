"""How a volume is mounted: a file system on it, an overlay above that one, or nothing at all."""

from fsyncgate.errors import GuestError, Unsupported
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.files import read_file
from fsyncgate.model import SECOND, FileSystem
from fsyncgate.storage.disk import Layers

MOUNT = "/mnt"
"""Where a scenario's files are."""
BASE = "/base"
"""Where the file system is mounted that an overlay lies on."""
LOWER, UPPER = f"{BASE}/lower", f"{BASE}/upper"
"""The overlay's layers: both on the volume."""
_STATES = {"rw", "ro", "emergency_ro", "shutdown"}
"""Mount options that tell what a file system has come to."""
BARE = ""
"""The type of a volume that is not mounted."""


class MountRefused(GuestError):
    """The kernel has the file system and will not mount it; `error` is the errno's name."""

    def __init__(self, what: str, error: str) -> None:
        """Say what could not be mounted."""
        super().__init__(f"'{what}' could not be mounted: {error}.")
        self.error = error


class Mounts:
    """Mounts a volume, and takes it down again."""

    def __init__(self, actor: Actor, layers: Layers, filesystem: FileSystem, base: FileSystem | None) -> None:
        """`base` is what an overlay lies on. Nothing is mounted yet."""
        self._actor = actor
        self._layers = layers
        self._filesystem = filesystem
        self._base = base
        self._works = 0

    @property
    def lowest(self) -> FileSystem:
        """The file system on the volume itself."""
        return self._base or self._filesystem

    def up(self) -> None:
        """Mount it. Raises Unsupported if this kernel has no such file system, MountRefused if it refuses."""
        if self._filesystem.type == BARE:
            return
        if self._base is None:
            self._mount(self._layers.volume_path, MOUNT, self._filesystem, self._filesystem.options)
            return
        self._folder(BASE)
        self._mount(self._layers.volume_path, BASE, self._base, self._base.options)
        self.over()

    def over(self) -> None:
        """Mount the overlay alone.

        Each time with a new working directory: the old one bears the mark of a `volatile` overlay, which
        its user must take away after a thought (Documentation/filesystems/overlayfs.rst).
        """
        self._works += 1
        work = f"{BASE}/work{self._works}"
        for folder in (LOWER, UPPER, work):
            self._folder(folder)
        further = f",{self._filesystem.options}" if self._filesystem.options else ""
        layers = f"lowerdir={LOWER},upperdir={UPPER},workdir={work}"
        self._mount("overlay", MOUNT, self._filesystem, layers + further)

    def down(self) -> None:
        """Unmount everything. Raises GuestError if something is still in use."""
        if self._filesystem.type == BARE:
            return
        self.uncover()
        if self._base is not None:
            self._actor.call("umount2", BASE, 0).must(f"unmount '{self._base.id}'")

    def uncover(self) -> None:
        """Unmount what is on top. Raises GuestError if it is still in use."""
        self._actor.call("umount2", MOUNT, 0).must(f"unmount '{self._filesystem.id}'")

    @property
    def state(self) -> str:
        """How /proc/mounts describes it: `rw` or `ro`, and `emergency_ro` or `shutdown` where it says so."""
        for line in read_file(self._actor, "/proc/mounts").splitlines():
            _, where, _, options, *_ = line.split()
            if where == MOUNT:
                return " ".join(name for name in options.split(",") if name in _STATES)
        return "not mounted"

    def _mount(self, device: str, where: str, filesystem: FileSystem, options: str) -> None:
        options = options.replace(SECOND, self._layers.second_path)
        error = self._actor.call("mount", device, where, filesystem.type, 0, options).error
        if error == "ENODEV":
            raise Unsupported(f"This kernel has no '{filesystem.type}'.")
        if error:
            raise MountRefused(filesystem.id, error)

    def _folder(self, path: str) -> None:
        answer = self._actor.call("mkdir", path, 0o755)
        if answer.error != "EEXIST":
            answer.must(f"make the directory '{path}'")
