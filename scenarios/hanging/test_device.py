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
