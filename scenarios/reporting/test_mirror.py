"""Two disks hold the same, and one of them fails."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_one_bad_leg(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The data reaches one of two disks: who is told, and where does a reader get it?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(fsync=opened.fsync(), counted=volume.write_errors())
    observe(raw=file.raw(), cold=file.cold())
