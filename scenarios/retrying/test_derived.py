"""Others act on data that never was on the disk."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_derived_file(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A stranger reads a block whose write has failed, and makes a copy of it, durably."""
    file, copy = volume.file("f").filled_with(OLD), volume.file("copy").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    stranger = volume.new_process()
    target = copy.open(by=stranger)
    observe(copied=file.open(by=stranger).copy_to(target), fsync=target.fsync())
    observe(copy=copy.cold(), source=file.hot())
