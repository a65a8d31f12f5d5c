"""The file's data can be written, and the journal, and the superblock: everything else cannot."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_metadata_cannot_be_written(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Sync the file, then the file system, then the file again; change something when the disk is good."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    file.write_out()
    with fault.on(file.metadata):
        observe(fsync=opened.fsync(), syncfs=opened.syncfs(), fsync_again=opened.fsync())
    observe(change=volume.directory.make("d"), state=volume.state)
    volume.unmount()
    observe(mount=volume.mount(), cold=file.hot())
    volume.unmount()
    observe(fsck_later=volume.fsck())
