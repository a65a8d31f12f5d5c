"""fsync failed. Try again? The lesson of 2018."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_retry(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Call fsync again while the disk still fails."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        volume.write_back()
        observe(first=opened.fsync(), retry=opened.fsync())
    observe(cold=file.cold())


def test_heal_then_retry(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The disk is good again; fsync is called once more. Is the data there?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        volume.write_back()
        observe(first=opened.fsync())
    observe(fsync=opened.fsync(), hot=file.hot(), raw=file.raw(), cold=file.cold())


def test_heal_then_rewrite(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The disk is good again; the application writes the same bytes once more, then calls fsync."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        volume.write_back()
        observe(first=opened.fsync())
    opened.write(NEW)
    observe(fsync=opened.fsync(), cold=file.cold())
