"""FAN_FS_ERROR: a daemon watches the file system. Is it told what fsync is told?"""

from fsyncgate.scenario import NEW, O_DIRECT, O_RDWR, OLD, Fault, Observe, Volume


def test_watched_data_error(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A block of a file cannot be written, and fsync says so."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    watch = volume.watched()
    opened.write(NEW)
    with fault.on(file.data):
        observe(watching=watch.answer, fsync=opened.fsync(), told=watch.told(file.path))


def test_watched_direct_write(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The block is written past the page cache, and the write itself fails."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open(O_RDWR | O_DIRECT)
    watch = volume.watched()
    with fault.on(file.data):
        observe(watching=watch.answer, write=opened.write(NEW), told=watch.told(file.path))


def test_watched_journal_error(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The journal cannot be written: fsync says so, and the next change of the file system fails."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    watch = volume.watched()
    opened.write(NEW)
    with fault.on(volume.journal):
        observe(watching=watch.answer, fsync=opened.fsync(), told=watch.told(file.path))
    observe(create=volume.directory.create("new"), told_after_create=watch.told(file.path))
