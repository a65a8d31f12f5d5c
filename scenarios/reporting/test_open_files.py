"""Who hears of a writeback error? Every file that was open; whoever opens later, perhaps."""

from fsyncgate.scenario import EIO, NEW, OLD, Fault, Observe, Volume


def test_every_open_file_hears_of_the_error_once(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Ten open files, one failed write: each must hear of it, once."""
    file = volume.file("f").filled_with(OLD)
    opened = [file.open() for _ in range(10)]
    opened[0].write(NEW)
    with fault.on(file.data):
        first = [f.fsync() for f in opened]
        again = [f.fsync() for f in opened]
    observe(heard=first.count(EIO), heard_again=again.count(EIO))
