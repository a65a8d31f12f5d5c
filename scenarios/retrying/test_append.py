"""A file grows, and the new block cannot be written."""

from fsyncgate.scenario import BLOCK, LATER, NEW, OLD, Fault, Observe, Volume


def test_appended_block(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The failed block is the last of the file. What does a reader find there afterwards?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW, at=BLOCK)
    with volume.held():
        syncing = opened.fsync_in_background()
        file.page_in_writeback(1)
        file.stain(at=BLOCK)
        with fault.on(file.data):
            observe(first=syncing.result())
    observe(retry=opened.fsync(), cold=file.cold(at=BLOCK))


def test_appended_block_in_the_middle(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A later append succeeds: now the failed block lies within the file."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW, at=BLOCK)
    with volume.held():
        syncing = opened.fsync_in_background()
        file.page_in_writeback(1)
        file.stain(at=BLOCK)
        with fault.on(file.data):
            observe(first=syncing.result())
    opened.write(LATER, at=2 * BLOCK)
    observe(later=opened.fsync(), cold=file.cold(at=BLOCK), cold_later=file.hot(at=2 * BLOCK))
