"""The data is written, but the disk cannot bring its write cache to the medium."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_failed_flush(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The first fsync has a journal to commit; the second has nothing to write, but a cache to flush."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    other = file.open()
    opened.write(NEW)
    file.write_out()
    with fault.on(volume.flushes):
        observe(committing=opened.fsync(), nothing_to_commit=opened.fsync(), other_file=other.fsync())
    observe(healed=opened.fsync())
