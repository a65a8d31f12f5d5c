"""Places by role, resolved to sectors before the fault is armed: what is found without the file's data."""

from collections.abc import Callable

from fsyncgate.errors import GuestError, Unsupported
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.arguments import Out
from fsyncgate.storage.disk import UNUSED
from fsyncgate.storage.layout import Btrfs, F2fs, Layout
from fsyncgate.storage.place import Place
from fsyncgate.storage.roles import InodeNumbers, Roles
from fsyncgate.storage.table import SECTOR, Range, without


class Aim:
    """Finds the sectors of a mounted file system by what they are for."""

    def __init__(self, actor: Actor, name: str, roles: Roles, layout: Callable[[], Layout]) -> None:
        """`name` is the file system's, for sentences; `layout` knows where a file's bytes lie."""
        self._actor = actor
        self._name = name
        self._roles = roles
        self._layout = layout

    @property
    def journal(self) -> Place:
        """The sectors of the journal. Raises Unsupported if there is none on this disk.

        f2fs has none: what an fsync leaves for the next mount are the nodes of its files, in a log.
        """
        layout = self._layout()
        if isinstance(layout, F2fs):
            return Place("journal", tuple(layout.nodes()))
        return self._place("journal", self._roles.journal)

    @property
    def superblock(self) -> Place:
        """The superblocks that are written as the file system is used. Raises Unsupported without one."""
        return self._place("superblock", self._roles.superblock)

    def inode(self, path: str, role: str = "inode") -> Place:
        """Return the block or cluster that a file's inode is written with. Raises Unsupported without one."""
        if self._roles.inodes is None:
            raise Unsupported(f"'{self._name}' has no fixed place for an inode.")
        return Place(role, (self._roles.inodes.sectors(inode_number(self._actor, path)),))

    def directory(self, path: str) -> Place:
        """Return where the names of a directory lie. Raises Unsupported if they have no fixed place.

        ext4 gives a directory blocks of its own; XFS keeps a small one in its inode.
        """
        if isinstance(self._roles.inodes, InodeNumbers):
            return self.inode(path, "directory")
        return self._place("directory", tuple(self._layout().data(path)) if self._roles.inodes else ())

    def metadata(self, path: str) -> Place:
        """Return everything that is neither the data of the file `path` nor the journal nor a superblock.

        Of btrfs, which moves what it writes: the metadata and system chunks.
        """
        layout = self._layout()
        if isinstance(layout, Btrfs):
            return Place("metadata", tuple(layout.metadata()))
        kept = [*layout.data(path), *self._roles.journal, *self._roles.superblock]
        return Place("metadata", tuple(without([(0, UNUSED[0])], kept)))

    def piece(self, path: str, at: int, size: int) -> Range:
        """Return the sectors to which a write of `size` bytes at byte `at` of a file goes.

        Raises Unsupported of a file system that writes to a new place each time, GuestError if those bytes
        have no place on the disk yet.
        """
        layout = self._layout()
        if layout.free(path):
            raise Unsupported(f"'{self._name}' does not say where it will write before it has.")
        for extent in layout.on_disk(path):
            if extent.on_disk and extent.offset <= at and at + size <= extent.offset + extent.length:
                return ((extent.start + at - extent.offset) // SECTOR, size // SECTOR)
        raise GuestError(f"The bytes from {at} on of '{path}' have no place on the disk yet.")

    def _place(self, role: str, sectors: tuple[Range, ...]) -> Place:
        if not sectors:
            raise Unsupported(f"'{self._name}' has no {role} whose place on this disk is known.")
        return Place(role, sectors)


def inode_number(actor: Actor, path: str) -> int:
    """Return a file's inode number. Raises GuestError without the file."""
    answer = actor.call("stat", path, Out(144))
    answer.must(f"look at '{path}'")
    return int.from_bytes(answer.out[0][8:16], "little")
