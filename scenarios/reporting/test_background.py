"""Writeback in the background: the kernel writes when it likes, and nobody waits for the answer."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_background_writeback(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The kernel's flusher meets the error while nobody asks; the disk is good again when somebody does."""
    file = volume.file("f").filled_with(OLD)
    opened, other = file.open(), file.open()
    flusher = volume.impatient_flusher()
    with fault.on(file.data):
        opened.write(NEW)
        observe(reason=flusher.wrote(file))
    observe(first=opened.fsync(), second=opened.fsync(), other=other.fsync(), cold=file.cold())
