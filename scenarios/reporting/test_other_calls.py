"""The other ways to learn of a writeback error, and what they leave for fsync."""

from fsyncgate.scenario import (
    BLOCK,
    LATER,
    NEW,
    O_DIRECT,
    O_DSYNC,
    O_RDWR,
    O_SYNC,
    OLD,
    Fault,
    Observe,
    Volume,
)


def test_after_sync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """sync meets the failure and has nothing to say. Is it still told to fsync?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(sync=opened.process.sync(), fsync=opened.fsync())


def test_msync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The file is changed through a mapping, and msync asked to bring it to the disk."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    mapping = opened.mapped()
    mapping.store(NEW)
    with fault.on(file.data):
        observe(first=mapping.msync(), second=mapping.msync(), fsync=opened.fsync())


def test_sync_file_range(volume: Volume, fault: Fault, observe: Observe) -> None:
    """sync_file_range begins the write, then waits for it. Who has the error after that?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(start=opened.start_writeback(), wait=opened.wait_for_writeback(), fsync=opened.fsync())


def test_o_dsync_write(volume: Volume, fault: Fault, observe: Observe) -> None:
    """With O_DSYNC the write itself waits for the disk."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open(O_RDWR | O_DSYNC)
    with fault.on(file.data):
        observe(write=opened.write(NEW), fsync=opened.fsync())


def test_o_dsync_after_an_older_error(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Another block could not be written, unseen; now a write with O_DSYNC succeeds. What does it say?"""
    file = volume.file("f").filled_with(OLD + OLD)
    other, opened = file.open(), file.open(O_RDWR | O_DSYNC)
    other.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    observe(
        write=opened.write(LATER, at=BLOCK), again=opened.write(LATER, at=BLOCK), cold=file.cold(at=BLOCK)
    )


def test_o_direct_write(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A write past the page cache fails at once. Does fsync hear of it as well?"""
    file = volume.file("f").filled_with(OLD)
    opened, other = file.open(O_RDWR | O_DIRECT), file.open()
    with fault.on(file.data):
        observe(write=opened.write(NEW), fsync=opened.fsync(), other_fsync=other.fsync())


def test_msync_async(volume: Volume, fault: Fault, observe: Observe) -> None:
    """msync with MS_ASYNC: it waits for nothing. Does it begin anything?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    mapping = opened.mapped()
    mapping.store(NEW)
    with fault.on(file.data):
        observe(msync=mapping.msync_async(), failed_writes=fault.fired, dirty="dirty" in file.page())
        observe(fsync=opened.fsync(), msync_again=mapping.msync_async())


def test_o_sync_write(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Only the journal cannot be written. O_DSYNC asks for the data, O_SYNC for the file's times as well."""
    file = volume.file("f").filled_with(OLD).aged()
    dsync, sync = file.open(O_RDWR | O_DSYNC), file.open(O_RDWR | O_SYNC)
    with fault.on(volume.journal):
        observe(o_dsync=dsync.write(NEW), o_sync=sync.write(NEW))
