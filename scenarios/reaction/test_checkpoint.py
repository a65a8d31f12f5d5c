"""The journal has taken the change, and fsync has said so. Then it cannot be written to its own place."""

from fsyncgate.scenario import BLOCK, NEW, OLD, Fault, Observe, Volume


def test_name_at_checkpoint(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Create a file, sync its directory, unmount: the directory's block fails on its way to its place."""
    directory = volume.directory.open()
    volume.directory.create("new")
    observe(fsync=directory.fsync())
    with fault.on(volume.directory.block):
        volume.unmount()
    observe(fsck=volume.fsck(), mount=volume.mount(), there=volume.file("new").exists())
    volume.unmount()
    observe(fsck_later=volume.fsck())


def test_append_at_checkpoint(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Append a block, sync the file, unmount: the block of its inode fails on its way to its place."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW, at=BLOCK)
    observe(fsync=opened.fsync())
    with fault.on(file.inode_block):
        volume.unmount()
    observe(fsck=volume.fsck(), mount=volume.mount(), cold=file.hot(at=BLOCK))
    volume.unmount()
    observe(fsck_later=volume.fsck())
