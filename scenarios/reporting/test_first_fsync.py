"""The first fsync after a write that failed: this is where an application expects to hear of it."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_first_fsync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Write, fail, and ask three times."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(first=opened.fsync(), second=opened.fsync(), third=opened.fsync())


def test_first_fdatasync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The same with fdatasync, which databases prefer."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(first=opened.fdatasync(), second=opened.fdatasync(), third=opened.fdatasync())


def test_healthy_disk(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The control: nothing fails, nothing is reported, and what was written is there."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    observe(
        fired=fault.fired, first=opened.fsync(), second=opened.fsync(), syncfs=opened.syncfs(), hot=file.hot()
    )
    observe(cold=file.cold())


def test_disk_that_lies(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The disk says that the write is done and throws it away: nobody can know."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(first=opened.fsync())
        volume.write_back()
    observe(second=opened.fsync(), hot=file.hot(), cold=file.cold())


def test_errno_of_the_disk(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The disk says why the write failed. What of that is left when fsync answers?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(first=opened.fsync(), second=opened.fsync())
