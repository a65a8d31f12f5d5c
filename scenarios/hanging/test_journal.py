"""The data is on the disk; what makes it part of the file is on its way."""

from fsyncgate.scenario import BLOCK, NEW, OLD, Fault, Observe, Volume


def test_journal_that_hangs(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A file grows, and the block that tells the next mount of it does not answer. Does fsync wait for it?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW, at=BLOCK)
    with fault.on(volume.journal):
        syncing = opened.fsync_in_background()
        fault.met()
        volume.at_rest()
        observe(answered=syncing.done())
    observe(fsync=syncing.result(), cold=file.cold(at=BLOCK))
