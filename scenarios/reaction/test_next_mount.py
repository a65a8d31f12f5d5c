"""Sectors that stay bad: they can neither be written nor read. Does the next mount refuse?"""

from fsyncgate.scenario import BLOCK, NEW, OLD, Fault, Observe, Volume


def test_bad_inode_block(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Append, sync, unmount, mount: the block of the inode, and of the root's, has gone bad."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW, at=BLOCK)
    observe(fsync=opened.fsync())
    fault.arm(file.inode_block)
    volume.unmount()
    observe(mount=volume.mount())


def test_bad_superblock(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Write, unmount, mount: every superblock that the file system would use has gone bad."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    fault.arm(volume.superblock)
    observe(fsync=opened.fsync())
    volume.unmount()
    observe(mount=volume.mount())
