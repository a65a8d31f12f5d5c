"""The disk that was pulled out is plugged in again and mounted: what was promised must be on it."""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_acknowledged_and_present(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Three files are synced before the removal, three after it. Is there all that fsync said yes to?"""
    files = [volume.file(name).filled_with(OLD) for name in "abcdef"]
    opened = [file.open() for file in files]
    for one in opened:
        one.write(NEW)
    answers = [one.fsync() for one in opened[:3]]
    with fault.on(volume.whole_disk):
        answers += [one.fsync() for one in opened[3:]]
    volume.remount()
    acknowledged = [file for file, answer in zip(files, answers, strict=True) if answer == 0]
    present = [file for file in acknowledged if file.hot() == "NEW"]
    observe(acknowledged=len(acknowledged), present=len(present))


def test_unmounted_while_it_is_gone(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The file system without a disk is unmounted; then the disk is plugged in and mounted."""
    file = volume.file("f").filled_with(OLD)
    writer = file.open()
    writer.write(NEW)
    with fault.on(volume.whole_disk):
        observe(unmount=volume.unmount())
    volume.mount()
    observe(cold=file.hot())
