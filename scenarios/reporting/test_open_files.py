"""Who hears of a writeback error? Every file that was open; whoever opens later, perhaps."""

from fsyncgate.scenario import EIO, NEW, OLD, Fault, Observe, Volume


def test_every_open_file_hears_of_the_error_once(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Ten open files, one failed write: each must hear of it, once."""
    file = volume.file("f").filled_with(OLD)
    opened = [file.open() for _ in range(10)]
    opened[0].write(NEW)
    with fault.on(file.data):
        first = [f.fsync() for f in opened]
        again = [f.fsync() for f in opened]
    observe(heard=first.count(EIO), heard_again=again.count(EIO))


def test_one_cursor_for_dup_fork_and_scm_rights(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Four descriptors of one open file, in three processes: one of them hears of the error."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    copy = opened.dup()
    in_child = opened.inherited_by(opened.process.fork())
    in_stranger = opened.sent_to(volume.new_process())
    opened.write(NEW)
    with fault.on(file.data):
        volume.write_back()
        answers = [f.fsync() for f in (in_stranger, in_child, copy, opened)]
    observe(heard=answers.count(EIO), first_asked=answers[0])


def test_opened_after_an_unseen_error(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The write fails while nobody looks; then a file is opened, as PostgreSQL's checkpointer does."""
    file = volume.file("f").filled_with(OLD)
    writer = file.open()
    writer.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    later = file.open()
    observe(first=later.fsync(), second=later.fsync())


def test_opened_after_a_seen_error(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Somebody has heard of the error already when the file is opened."""
    file = volume.file("f").filled_with(OLD)
    writer = file.open()
    writer.write(NEW)
    with fault.on(file.data):
        volume.write_back()
        seen = writer.fsync()
    observe(writer=seen, later=file.open().fsync())


def test_third_party(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A stranger opens the file and calls fsync first: does he take the error from the others?"""
    file = volume.file("f").filled_with(OLD)
    held = file.open()
    held.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    stranger = file.open(by=volume.new_process())
    observe(stranger=stranger.fsync(), opened_later=file.open().fsync(), held_open=held.fsync())


def test_closed_by_all(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Everybody has closed the file when the write fails; then it is opened again."""
    file = volume.file("f").filled_with(OLD)
    writer = file.open()
    writer.write(NEW)
    writer.close()
    with fault.on(file.data):
        volume.write_back()
    observe(opened_again=file.open().fsync())


def test_evicted_inode(volume: Volume, fault: Fault, observe: Observe) -> None:
    """As before, but memory was short meanwhile and the kernel has let go of the inode."""
    file = volume.file("f").filled_with(OLD)
    directory = volume.directory.open()
    writer = file.open()
    writer.write(NEW)
    writer.close()
    with fault.on(file.data):
        volume.write_back()
    volume.drop_caches()
    observe(opened_again=file.open().fsync(), syncfs=directory.syncfs(), cold=file.cold())


def test_close(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The write has failed; the application closes the file without asking and looks at the answer."""
    file = volume.file("f").filled_with(OLD)
    writer = file.open()
    writer.write(NEW)
    with fault.on(file.data):
        volume.write_back()
    observe(close=writer.close(), cold=file.cold())
