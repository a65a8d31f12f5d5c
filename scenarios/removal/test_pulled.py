"""The disk is pulled out while its file system is mounted, as a USB stick is."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_pulled_with_dirty_data(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A block is dirty in the cache when the disk goes away. Who says so, and for how long?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(volume.whole_disk):
        observe(first=opened.fsync(), second=opened.fsync(), syncfs=opened.syncfs(), close=opened.close())
    observe(cold=file.cold())


def test_detached_in_order(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The disk is asked for politely and works until its driver has let go. Is the dirty block written?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(volume.whole_disk):
        observe(first=opened.fsync(), second=opened.fsync(), syncfs=opened.syncfs())
    observe(cold=file.cold())


def test_pulled_during_fsync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The block is on its way to the disk, and fsync waits for it, when the disk goes away."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with volume.held():
        syncing = opened.fsync_in_background()
        file.page_in_writeback()
        with fault.on(volume.whole_disk):
            observe(first=syncing.result(), second=opened.fsync())


def test_every_open_file_hears_of_the_removal(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Five open files, one dirty block. Who has heard of an error hears of it again, or not?"""
    file = volume.file("f").filled_with(OLD)
    opened = [file.open() for _ in range(5)]
    opened[0].write(NEW)
    with fault.on(volume.whole_disk):
        first = [f.fsync() for f in opened]
        again = [f.fsync() for f in opened]
    observe(said_nothing=first.count(0), said_nothing_again=again.count(0))


def test_written_after_the_removal(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Nothing is dirty when the disk goes away, and the application goes on: it writes, and syncs."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    with fault.on(volume.whole_disk):
        observe(write=opened.write(NEW), first=opened.fsync(), second=opened.fsync())
    observe(cold=file.cold())


def test_opened_after_the_removal(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Somebody opens the file when the disk has gone, with dirty data on it, and asks fsync."""
    file = volume.file("f").filled_with(OLD)
    writer = file.open()
    writer.write(NEW)
    with fault.on(volume.whole_disk):
        answer = file.opens()
        observe(open=answer, fsync=file.open().fsync() if answer == 0 else "not open")
