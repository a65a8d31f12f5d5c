"""The block devices under a file system on a thin volume: a block comes from a pool at its first write.

    volume    device-mapper, linear; never changed
    fault     the thin volume; what was never written is read from the disk, its external origin
    filler    another volume of the same pool, which takes blocks away from the first
    pool      gives blocks, as long as it has some
    data      the pool's blocks, on the second disk
    meta      the pool's map, on the second disk

Tables and messages: Documentation/admin-guide/device-mapper/thin-provisioning.rst.
"""

import time

from fsyncgate.data import BLOCK
from fsyncgate.errors import GuestError, Unsupported
from fsyncgate.guest.actor import Actor
from fsyncgate.guest.constants import AT_FDCWD, O_DIRECT, O_WRONLY
from fsyncgate.storage.devicemapper import Mapper
from fsyncgate.storage.disk import SECTORS, Disk
from fsyncgate.storage.table import SECTOR, Segment, linear

THIN_BLOCK = 2048
"""Sectors of one of the pool's blocks: a megabyte, so that a file system's metadata takes few of them."""
META = 8192
"""Sectors of the pool's map."""
BLOCKS, GROWN = 64, 128
"""Blocks of the pool, and of the pool that has grown."""

PATIENCE = 30.0
"""Seconds to wait for the kernel's next step."""


class ThinStack:
    """A pool and its volumes."""

    def __init__(self, actor: Actor) -> None:
        """Build them. Raises Unsupported if this kernel cannot."""
        self._actor = actor
        self._mapper = Mapper(actor)
        known = self._mapper.targets()
        if "thin-pool" not in known:
            raise Unsupported("This kernel has no device-mapper target 'thin-pool'.")
        disk = Disk(actor)
        self.second_path = disk.second_path
        self._meta = self._mapper.create("meta", [Segment(0, META, "linear", f"{self.second_path} 0")])
        self._data = self._mapper.create("data", self._data_table(BLOCKS))
        self._pool = self._mapper.create("pool", self._pool_table(BLOCKS))
        for number in range(2):
            self._mapper.tell("pool", f"create_thin {number}")
        thin = [Segment(0, SECTORS, "thin", f"{self._pool} 0 {disk.number}")]
        filler = [Segment(0, BLOCKS * THIN_BLOCK, "thin", f"{self._pool} 1")]
        self._fault = self._mapper.create("fault", thin)
        self._filler = self._mapper.create("filler", filler)
        self._volume = self._mapper.create("volume", linear(self._fault, SECTORS))
        self.volume_path = self.disk_path = _path(self._volume)
        self.hangs = False
        """What lies where on the disks is known to the pool alone, so both are the volume."""
        self.targets = {name: ".".join(map(str, numbers)) for name, numbers in known.items()}

    @property
    def devices(self) -> dict[str, str]:
        """Return `major,minor` of the two upper ones; what is below them is the pool's business."""
        return {self._fault.replace(":", ","): "fault", self._volume.replace(":", ","): "volume"}

    @property
    def free(self) -> int:
        """How many blocks the pool has left."""
        return free_blocks(self._mapper.status("pool"))

    def fill(self, *, error: bool) -> None:
        """Take every block that the pool has left; what wants one then waits, or fails with `error`."""
        self._mapper.replace("pool", self._pool_table(BLOCKS, "error_if_no_space" if error else ""))
        flags = O_WRONLY | O_DIRECT
        filler = self._actor.call("openat", AT_FDCWD, _path(self._filler), flags, 0).must("open the filler")
        for number in range(self.free):
            at = number * THIN_BLOCK * SECTOR
            self._actor.call("pwrite64", filler, bytes(BLOCK), BLOCK, at).must("fill the pool")
        self._actor.call("close", filler)
        if left := self.free:
            raise GuestError(f"The thin pool has {left} blocks left that should have none.")

    def wait_until_asked(self) -> None:
        """Wait until somebody has wanted a block that there was not. Raises GuestError if nobody does."""
        deadline = time.monotonic() + PATIENCE
        while "out_of_data_space" not in self._mapper.status("pool"):
            if time.monotonic() > deadline:
                raise GuestError(f"Nobody asked the full thin pool for a block within {PATIENCE:.0f} s.")

    def grow(self) -> None:
        """Give the pool more blocks, as its administrator does, and wait until it has served who waited."""
        self._mapper.replace("data", self._data_table(GROWN))
        self._mapper.replace("pool", self._pool_table(GROWN))
        self._mapper.drain("fault")

    def hold(self) -> None:
        """Let every request wait below the volume until `release`."""
        self._mapper.hold("fault")

    def release(self) -> None:
        """Let the requests go on that waited."""
        self._mapper.release("fault")

    def _data_table(self, blocks: int) -> list[Segment]:
        return [Segment(0, blocks * THIN_BLOCK, "linear", f"{self.second_path} {META}")]

    def _pool_table(self, blocks: int, *features: str) -> list[Segment]:
        words = ["skip_block_zeroing", *filter(None, features)]
        parameters = f"{self._meta} {self._data} {THIN_BLOCK} 0 {len(words)} {' '.join(words)}"
        return [Segment(0, blocks * THIN_BLOCK, "thin-pool", parameters)]


def free_blocks(status: str) -> int:
    """Return the free data blocks from what a pool says of itself. Raises GuestError if it cannot."""
    words = status.split()
    if len(words) < 3 or "/" not in words[2]:
        raise GuestError(f"The thin pool is broken: '{status}'.")
    used, total = words[2].split("/")
    return int(total) - int(used)


def _path(number: str) -> str:
    return f"/dev/dm-{number.partition(':')[2]}"
