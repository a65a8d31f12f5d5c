"""The data could not be written. What does the file system remember of the file?"""

from fsyncgate.scenario import NEW, OLD, Fault, Observe, Volume


def test_metadata_of_an_overwrite(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A block is overwritten in vain. Does the file's time of modification say that it has changed?"""
    file = volume.file("f").filled_with(OLD).aged()
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.data):
        observe(first=opened.fsync())
    observe(retry=opened.fsync(), changed=file.status().changed)
    observe(cold=file.cold(), changed_cold=file.status().changed)


def test_metadata_of_a_new_file(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A new file's only block cannot be written. What is there of the file, when fsync has answered 0?"""
    volume.file("before").filled_with(OLD)
    volume.directory.create("f")
    file = volume.file("f")
    opened = file.open()
    opened.write(NEW)
    with volume.held():
        syncing = opened.fsync_in_background()
        file.page_in_writeback()
        with fault.on(file.data):
            observe(first=syncing.result())
    observe(retry=opened.fsync(), directory=volume.directory.open().fsync(), size=file.status().size)
    volume.remount()
    cold = file.status()
    observe(size_cold=cold.size, extent=cold.extent, content=file.hot())
