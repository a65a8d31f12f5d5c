"""syncfs: the error of any file, asked of the whole file system."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_syncfs(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A write fails; syncfs is asked through a file and through a directory that were open."""
    file = volume.file("f").filled_with(OLD)
    writer = file.open()
    directory = volume.directory.open()
    writer.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    observe(by_file=writer.syncfs(), by_directory=directory.syncfs(), by_file_again=writer.syncfs())
    observe(fsync_after=writer.fsync())
