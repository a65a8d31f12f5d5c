"""Where a file's bytes lie on the broken disk, and where the next write to them goes: by file system."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from fsyncgate.guest.actor import Actor
from fsyncgate.storage import btrfs, extents, f2fs
from fsyncgate.storage.extents import Extent
from fsyncgate.storage.table import SECTOR, Range, without


class Layout(Protocol):
    """What is to be known of a mounted file system to break a file of it; paths are the guest's."""

    def on_disk(self, path: str, /) -> list[Extent]:
        """Return the extents of a file, `start` being a byte of the disk where it has a place there."""
        ...

    def data(self, path: str, /) -> list[Range]:
        """Return the sectors to one of which a write to the file's bytes goes."""
        ...

    def free(self, path: str, /) -> list[Range]:
        """Return where the next write may go without telling before it is done; empty where it tells."""
        ...


class Device:
    """A device without files: of its bytes the first are taken."""

    def __init__(self, size: int) -> None:
        """Take that many bytes."""
        self._size = size

    def on_disk(self, _path: str, /) -> list[Extent]:
        """Return one extent: the device's beginning."""
        return [Extent(0, 0, self._size, 0)]

    def data(self, path: str, /) -> list[Range]:
        """Return its sectors."""
        return _sectors(self.on_disk(path))

    def free(self, _path: str, /) -> list[Range]:
        """Return nothing: the place is known."""
        return []


class InPlace:
    """A file system that writes a block again where it lies."""

    def __init__(self, actor: Actor) -> None:
        """Ask as `actor`."""
        self._actor = actor

    def on_disk(self, path: str, /) -> list[Extent]:
        """Return what FIEMAP answers."""
        return extents.extents(self._actor, path)

    def data(self, path: str, /) -> list[Range]:
        """Return the file's own sectors."""
        return _sectors(self.on_disk(path))

    def free(self, _path: str, /) -> list[Range]:
        """Return nothing: FIEMAP tells the place."""
        return []


class F2fs(InPlace):
    """f2fs writes in place or appends to a log: on a volume below 16 GiB the former, if it can."""

    def __init__(self, actor: Actor, read: Callable[[int], bytes]) -> None:
        """`read` returns the block at a byte of the disk."""
        super().__init__(actor)
        self._read = read

    def data(self, path: str, /) -> list[Range]:
        """Return the file's own sectors and the segments to which data is appended; no node lies there."""
        return super().data(path) + f2fs.data_ranges(self._read)

    def nodes(self) -> list[Range]:
        """Return the segments to which nodes are appended: what fsync writes, and a mount rolls forward."""
        return f2fs.node_ranges(self._read)


class Btrfs:
    """btrfs puts every write into a new place: only the chunks that hold data can be named."""

    def __init__(self, actor: Actor, mount: str, read: Callable[[int], bytes]) -> None:
        """`read` returns the block at a byte of the disk."""
        self._actor = actor
        self._mount = mount
        self._device = btrfs.device_number(read(btrfs.SUPERBLOCK))

    def on_disk(self, path: str, /) -> list[Extent]:
        """Return what FIEMAP answers, its addresses translated to bytes of this disk."""
        found = extents.extents(self._actor, path)
        chunks = self._chunks()
        return [replace(e, start=btrfs.physical(chunks, e.start)) if e.on_disk else e for e in found]

    def data(self, _path: str, /) -> list[Range]:
        """Return the data chunks, as far as they lie on this disk."""
        return btrfs.data_ranges(self._chunks())

    def free(self, path: str, /) -> list[Range]:
        """Return the data chunks without the file's own extents."""
        return without(self.data(path), _sectors(self.on_disk(path)))

    def metadata(self) -> list[Range]:
        """Return the metadata and system chunks, as far as they lie on this disk."""
        return btrfs.metadata_ranges(self._chunks())

    def write_errors(self) -> int:
        """Return how many failed writes btrfs has counted of this disk."""
        return btrfs.write_errors(self._actor, self._mount, self._device)

    def _chunks(self) -> list[btrfs.Chunk]:
        return btrfs.chunks(self._actor, self._mount, self._device)


def layout(kind: str, actor: Actor, mount: str, read: Callable[[int], bytes]) -> Layout:
    """Return the layout of a mounted file system of type `kind`."""
    match kind:
        case "btrfs":
            return Btrfs(actor, mount, read)
        case "f2fs":
            return F2fs(actor, read)
        case _:
            return InPlace(actor)


def _sectors(found: list[Extent]) -> list[Range]:
    return [(e.start // SECTOR, e.length // SECTOR) for e in found if e.on_disk]
