"""The volume is thin: its pool is out of space when the kernel writes."""

from fsyncgate.scenario import BLOCK, NEW, OLD, Fault, Observe, Volume

MORE = NEW * 257
"""A block more than the megabyte that the pool gives away at a time: some of it has no room yet."""
LAST = 257 * BLOCK
"""Where the last block of it goes that begins behind the file's first one."""


def test_thin_pool_full(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The file grows, and the pool cannot give it room; then the pool is made larger."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(MORE, at=BLOCK)
    with fault.on(volume.space):
        observe(first=opened.fsync(), retry=opened.fsync())
    observe(grown=opened.fsync(), hot=file.hot(at=LAST), cold=file.cold(at=LAST))
    opened = file.open()
    opened.write(MORE, at=BLOCK)
    observe(rewritten=opened.fsync(), cold_rewritten=file.cold(at=LAST))


def test_thin_pool_that_makes_wait(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The same with a pool as it comes: writers wait for it to grow."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(MORE, at=BLOCK)
    with fault.on(volume.space):
        syncing = opened.fsync_in_background()
        fault.met()
        observe(waits=not syncing.done())
    observe(grown=syncing.result(), again=opened.fsync(), cold=file.cold(at=LAST))
