"""One file's data hangs, and everything else on the disk works: who has to wait with it?"""

from fsyncgate.scenario import BLOCK, NEW, OLD, Fault, Observe, Volume


def test_neighbours_of_a_hanging_file(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Only one file's data hangs. Who else has to wait on the same file system?"""
    file = volume.file("f").filled_with(OLD)
    small = volume.file("small").filled_with(OLD[:1000])
    opened = file.open()
    other, third = small.open(by=volume.new_process()), small.open(by=volume.new_process())
    directory = volume.directory.open(by=volume.new_process())
    opened.write(NEW)
    with fault.on(file.data):
        syncing = opened.fsync_in_background()
        fault.met()
        other.write(NEW[:1000])
        neighbour = other.fsync_in_background()
        volume.at_rest()
        observe(other_file_answered=neighbour.done())
        whole, every = third.syncfs_in_background(), directory.process.sync_in_background()
        volume.at_rest()
        observe(syncfs_answered=whole.done(), sync_answered=every.done(), fsync_answered=syncing.done())
    observe(fsync=syncing.result(), other_file=neighbour.result(), syncfs=whole.result(), sync=every.result())
    observe(cold=file.cold())


def test_neighbours_of_a_growing_file(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The block that hangs was just allocated. Does the journal wait for it, and with it everybody else?"""
    file = volume.file("f").filled_with(OLD)
    other = volume.file("other").filled_with(OLD).open(by=volume.new_process())
    opened = file.open()
    opened.write(NEW, at=BLOCK)
    with volume.held():
        syncing = opened.fsync_in_background()
        file.page_in_writeback(1)
        with fault.on(file.data_at(BLOCK)):
            other.write(NEW)
            neighbour = other.fsync_in_background()
            volume.at_rest()
            observe(other_file_answered=neighbour.done(), fsync_answered=syncing.done())
    observe(fsync=syncing.result(), other_file=neighbour.result(), cold=file.cold(at=BLOCK))
