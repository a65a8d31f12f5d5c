"""The disk does not answer: nothing fails, and nothing may be taken to be done."""

from fsyncgate.scenario import BLOCK, NEW, OLD, Fault, Observe, Volume


def test_device_that_recovers(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The disk hangs, somebody reads the file meanwhile, and then the disk answers after all."""
    file = volume.file("f").filled_with(OLD)
    opened, reader = file.open(), file.open(by=volume.new_process())
    opened.write(NEW)
    with fault.on(volume.whole_disk):
        syncing = opened.fsync_in_background()
        fault.met()
        reading = reader.read_in_background()
        volume.at_rest()
        observe(fsync_answered=syncing.done(), read_answered=reading.done())
    observe(read=reading.result() == BLOCK, fsync=syncing.result(), cold=file.cold())


def test_device_that_never_answers(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The disk hangs for ever; the process that waits is killed."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(volume.whole_disk):
        syncing = opened.fsync_in_background()
        fault.met()
        volume.at_rest()
        observe(answered=syncing.done(), state_after_kill=opened.process.kill())
    volume.at_rest()
    observe(answered_after_kill=syncing.done())


def test_slow_device(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Every request and every flush takes its time, and is answered well."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(volume.whole_disk):
        observe(fsync=opened.fsync())
    observe(cold=file.cold())


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
