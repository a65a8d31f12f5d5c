"""Freeze the file system, as LVM does before a snapshot: everything must come to its place first."""

from fsyncgate.scenario import BLOCK, NEW, OLD, Fault, Observe, Volume


def test_freeze(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The block of an inode cannot be written. Does the freeze say so, and is the append there in the end?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW, at=BLOCK)
    observe(fsync=opened.fsync())
    with fault.on(file.inode_block):
        observe(freeze=opened.freeze(), fsync_later=opened.fsync())
    volume.unmount()
    observe(mount=volume.mount(), cold=file.hot(at=BLOCK))


def test_metadata_not_retried(volume: Volume, fault: Fault, observe: Observe) -> None:
    """XFS, which would try again for ever, is told to give up (max_retries = 0)."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW, at=BLOCK)
    observe(fsync=opened.fsync())
    volume.retry_metadata(0)
    with fault.on(file.inode_block):
        observe(freeze=opened.freeze())
    opened.thaw()
    observe(fsync_later=opened.fsync(), change=volume.directory.make("d"))
    volume.unmount()
    observe(fsck=volume.fsck(), mount=volume.mount(), cold=file.hot(at=BLOCK))
