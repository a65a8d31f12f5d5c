"""fsync through an io_uring: the answer is in the completion. Is it the same one?"""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_io_uring_fsync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """IORING_OP_FSYNC first, then fsync: of the same open file, and of another."""
    file = volume.file("f").filled_with(OLD)
    opened, other = file.open(), file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(ring=opened.fsync_by_io_uring(), ring_again=opened.fsync_by_io_uring(), fsync=opened.fsync())
        observe(other_fsync=other.fsync(), other_ring=other.fsync_by_io_uring())


def test_io_uring_datasync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The reverse, with IORING_FSYNC_DATASYNC: fdatasync first, then the ring."""
    file = volume.file("f").filled_with(OLD)
    opened, other = file.open(), file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(fdatasync=opened.fdatasync(), ring=opened.fdatasync_by_io_uring())
        observe(other_ring=other.fdatasync_by_io_uring(), other_fdatasync=other.fdatasync())


def test_io_uring_write(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A write through a ring with RWF_DSYNC waits for the disk, as one to a file opened with O_DSYNC does."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    with fault.on(file.data):
        observe(write=opened.write_by_io_uring(NEW), fsync=opened.fsync())
