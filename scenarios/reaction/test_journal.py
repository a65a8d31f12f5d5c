"""The journal cannot be written: what the file system allows afterwards, and what it leaves on the disk."""

from fsyncgate.scenario import LATER, NEW, OLD, Fault, Observe, Volume


def test_after_the_journal_failed(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The disk is good again. Change something, write, sync, unmount, check, mount."""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(volume.journal):
        observe(fsync=opened.fsync())
    observe(change=volume.directory.make("d"), write=opened.write(LATER), fsync_later=opened.fsync())
    observe(state=volume.state)
    volume.unmount()
    observe(fsck=volume.fsck(), mount=volume.mount(), cold=file.hot())
    volume.unmount()
    observe(fsck_later=volume.fsck())
