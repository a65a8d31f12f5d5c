"""overlayfs stands between the application and the file system that writes: what does it pass on?"""

from fsyncgate.scenario import EIO, NEW, O_DSYNC, O_RDONLY, O_RDWR, OLD, Fault, Observe, Volume


def test_overlay_fsync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The disk is healthy. Does an fsync that answers 0 bring the data there?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    observe(fsync=opened.fsync(), still_dirty="dirty" in file.page(), raw=file.raw(), fired=fault.fired)


def test_overlay_open_files(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Ten files open through the overlay, one failed write: each must hear of it, once."""
    file = volume.file("f").filled_with(OLD)
    opened = [file.open() for _ in range(10)]
    opened[0].write(NEW)
    with fault.on(file.data):
        first = [f.fsync() for f in opened]
        again = [f.fsync() for f in opened]
    observe(heard=first.count(EIO), heard_again=again.count(EIO))


def test_overlay_opened_later(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The write fails while nobody looks; then the file is opened, and at last written once more."""
    file = volume.file("f").filled_with(OLD)
    writer = file.open()
    writer.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    later = file.open()
    observe(first=later.fsync(), second=later.fsync())
    later.write(NEW)
    observe(rewritten=later.fsync(), cold=file.cold())


def test_overlay_syncfs(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A write fails; syncfs is asked of the overlay, and of the file system below it."""
    file = volume.file("f").filled_with(OLD)
    writer = file.open()
    directory, below = volume.directory.open(), volume.directory_below.open()
    writer.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    observe(by_file=writer.syncfs(), by_file_again=writer.syncfs(), by_directory=directory.syncfs())
    observe(below=below.syncfs(), fsync_after=writer.fsync())


def test_overlay_evicted_inode(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The file is closed, the write fails, and memory is short before anybody asks."""
    file = volume.file("f").filled_with(OLD)
    directory, below = volume.directory.open(), volume.directory_below.open()
    writer = file.open()
    writer.write(NEW)
    writer.close()
    with fault.on(file.data):
        volume.write_back()
    volume.drop_caches()
    observe(opened_again=file.open().fsync(), syncfs=directory.syncfs(), below=below.syncfs())
    observe(cold=file.cold())


def test_overlay_copy_up(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The file is in the lower layer. Opening it for writing copies it up, and the copy cannot be written."""
    file = volume.file_of_lower_layer("f", OLD)
    with fault.on(volume.any_write):
        observe(open=file.opens(), read=file.hot())
    opened = file.open()
    opened.write(NEW)
    observe(healed=opened.fsync(), cold=file.cold())


def test_overlay_reader_from_before_the_copy(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Two readers opened the file when it was in the lower layer only; one has called fsync since."""
    file = volume.file_of_lower_layer("f", OLD)
    asked, silent = file.open(O_RDONLY), file.open(O_RDONLY)
    writer = file.open()
    asked.fsync()
    writer.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    observe(writer=writer.fsync(), asked_before=asked.fsync(), never_asked=silent.fsync())


def test_overlay_msync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The file is changed through a mapping, and msync asked to bring it to the disk."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    mapping = opened.mapped()
    mapping.store(NEW)
    with fault.on(file.data):
        observe(first=mapping.msync(), second=mapping.msync(), fsync=opened.fsync())


def test_overlay_o_dsync(volume: Volume, fault: Fault, observe: Observe) -> None:
    """With O_DSYNC the write itself waits for the disk. Through an overlay that syncs nothing?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open(O_RDWR | O_DSYNC)
    with fault.on(file.data):
        observe(write=opened.write(NEW), fsync=opened.fsync())
