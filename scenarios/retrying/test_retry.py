"""fsync failed. Try again? The lesson of 2018."""

from fsyncgate.scenario import BLOCK, NEW, OLD, Fault, Observe, Volume


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


def test_metadata_is_retried(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The file has grown, and fsync has put that into the log. Freezing wants its inode in its place."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW, at=BLOCK)
    observe(fsync=opened.fsync())
    with fault.on(file.inode_block):
        freezing = opened.freeze_in_background()
        fault.met(times=3)
        observe(frozen_meanwhile=freezing.done())
    observe(freeze=freezing.result(), thaw=opened.thaw(), cold=file.cold(at=BLOCK))


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
