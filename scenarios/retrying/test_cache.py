"""What the page cache says after a failed write, and what it does with the page."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_hot_read(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Another process reads the block after its write has failed."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    reader = file.open(by=volume.new_process())
    observe(read=reader.read(), cold=file.cold())


def test_page_state(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The page is dirty, is being written, and then: clean, as if the write had succeeded."""
    file = volume.file("f").filled_with(OLD)
    place = file.data
    opened = file.open()
    opened.write(NEW)
    before = file.page()
    with volume.held():
        syncing = opened.fsync_in_background()
        during = file.page_in_writeback()
        with fault.on(place):
            answer = syncing.result()
    after = file.page()
    observe(dirty_before="dirty" in before, dirty_during="dirty" in during, dirty_after="dirty" in after)
    observe(writeback_after="writeback" in after, uptodate_after="uptodate" in after, fsync=answer)
