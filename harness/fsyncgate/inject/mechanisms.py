"""The mechanisms by the names that `faults/*.toml` calls them."""

from collections.abc import Callable, Mapping

from fsyncgate.inject.blkdebug import Blkdebug
from fsyncgate.inject.control import Mechanism
from fsyncgate.inject.dm import DeviceMapper
from fsyncgate.inject.removal import REMOVALS
from fsyncgate.inject.scsi import ScsiDisk
from fsyncgate.inject.thin import ThinPool
from fsyncgate.inject.throttle import Throttle
from fsyncgate.machine.snapshot import Machine

MECHANISMS: Mapping[str, Callable[[Machine], Mechanism]] = {
    "dm": DeviceMapper,
    "blkdebug": Blkdebug,
    "scsi": ScsiDisk,
    "thin": ThinPool,
    "throttle": Throttle,
    **REMOVALS,
}
