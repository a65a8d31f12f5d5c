"""The superblock cannot be written."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_superblock_cannot_be_written(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Write, sync and unmount while it fails; check and mount when the disk is good again."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(volume.superblock):
        observe(fsync=opened.fsync())
        volume.unmount()
    observe(fsck=volume.fsck(), mount=volume.mount(), cold=file.hot())
    volume.unmount()
    observe(fsck_later=volume.fsck())
