"""No file system: a database or a virtual machine on the block device itself, through its page cache."""

from fsyncgate.scenario import EIO, NEW, O_DIRECT, O_RDWR, OLD, Fault, Observe, Volume


def test_device_retry(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Write, fail, ask twice; the disk is good again, ask once more. Is the data there?"""
    device = volume.device.filled_with(OLD)
    opened = device.open()
    opened.write(NEW)
    with fault.on(device.data):
        observe(first=opened.fsync(), retry=opened.fsync())
    observe(healed=opened.fsync(), hot=device.hot(), raw=device.raw(), cold=device.cold())


def test_device_open_files(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The device is open ten times, one write fails: each must hear of it, once."""
    device = volume.device.filled_with(OLD)
    opened = [device.open() for _ in range(10)]
    opened[0].write(NEW)
    with fault.on(device.data):
        first = [f.fsync() for f in opened]
        again = [f.fsync() for f in opened]
    observe(heard=first.count(EIO), heard_again=again.count(EIO), opened_later=device.open().fsync())


def test_device_opened_later(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The write fails while nobody looks; then the device is opened."""
    device = volume.device.filled_with(OLD)
    writer = device.open()
    writer.write(NEW)
    with fault.on(device.data):
        volume.write_back()
    later = device.open()
    observe(first=later.fsync(), second=later.fsync())


def test_device_last_close(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The last close of a device writes everything back and empties its cache. What does it say?"""
    device = volume.device.filled_with(OLD)
    writer = device.open()
    writer.write(NEW)
    with fault.on(device.data):
        observe(close=writer.close())
    observe(hot=device.hot(), opened_again=device.open().fsync())


def test_device_flush(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The data is written, but the disk cannot bring its write cache to the medium."""
    device = volume.device.filled_with(OLD)
    opened, other = device.open(), device.open()
    opened.write(NEW)
    with fault.on(volume.flushes):
        observe(first=opened.fsync(), second=opened.fsync(), other=other.fsync())
    observe(healed=opened.fsync())


def test_device_o_direct(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A write past the page cache fails at once. Does fsync hear of it as well?"""
    device = volume.device.filled_with(OLD)
    opened, other = device.open(O_RDWR | O_DIRECT), device.open()
    with fault.on(device.data):
        observe(write=opened.write(NEW), fsync=opened.fsync(), other_fsync=other.fsync())
