"""What ext4 is told to do about an error: errors=continue, remount-ro or panic, and data_err=abort."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_metadata_error_policy(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A directory's block fails while nobody asks. What does the next change meet, and the one after it?"""
    directory = volume.directory.open()
    volume.directory.create("new")
    observe(fsync=directory.fsync())
    with fault.on(volume.directory.block):
        volume.write_back()
    observe(change=volume.directory.make("a"), another=volume.directory.make("b"))
    observe(fsync_later=directory.fsync(), state=volume.state)


def test_panic_policy(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The same with errors=panic: the next change finds the error, and takes the machine down."""
    directory = volume.directory.open()
    volume.directory.create("new")
    observe(fsync=directory.fsync())
    with fault.on(volume.directory.block):
        volume.write_back()
    with volume.expecting_panic("EXT4-fs") as panic:
        volume.directory.make("a")
    observe(panicked=bool(panic))


def test_data_error_policy(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A file's data cannot be written. Does the file system go on?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(fsync=opened.fsync())
    observe(change=volume.directory.make("d"), fsync_later=opened.fsync(), state=volume.state)
