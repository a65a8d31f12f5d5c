"""The first fsync of a new file meets a disk that cannot flush its cache."""

from fsyncgate.scenario import NEW, O_CREAT, O_RDWR, Fault, Observe, Volume


def test_new_file_and_failed_flush(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Create a file, write it, and ask three times while flushes fail, and once when the disk is good."""
    file = volume.file("new")
    opened = file.open(O_RDWR | O_CREAT)
    opened.write(NEW)
    file.write_out()
    with fault.on(volume.flushes):
        observe(first=opened.fsync(), second=opened.fsync(), third=opened.fsync())
    observe(healed=opened.fsync(), cold=file.cold())
