"""Where a journal stands between the application and the disk."""

from fsyncgate.scenario import BLOCK, NEW, OLD, Fault, Observe, Volume


def test_journalled_data(volume: Volume, fault: Fault, observe: Observe) -> None:
    """data=journal: the block goes into the journal, and to its place later. When is the error told?"""
    file = volume.file("f").filled_with(OLD)
    a, b = file.open(), file.open()
    a.write(NEW)
    with fault.on(file.data):
        observe(a=a.fsync(), b=b.fsync(), a_again=a.fsync(), opened_later=file.open().fsync())
    observe(healed=a.fsync(), hot=file.hot(), raw=file.raw(), cold=file.cold())


def test_journal_cannot_be_written(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The data reaches its place, but the journal cannot be written."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(volume.journal):
        observe(first=opened.fsync(), second=opened.fsync())
    observe(healed=opened.fsync(), create=volume.directory.create("new"), after_create=opened.fsync())


def test_second_write_of_an_fsync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A file has grown. The first write of its fsync is the new block; the one after that fails."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW, at=BLOCK)
    with fault.on(volume.any_write):
        observe(first=opened.fsync())
    observe(cold=file.cold(at=BLOCK))


def test_third_write_of_an_fsync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A file has grown. The third write of its fsync fails: the journal's commit block, or a copy."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW, at=BLOCK)
    with fault.on(volume.any_write):
        observe(first=opened.fsync())
    observe(cold=file.cold(at=BLOCK))
