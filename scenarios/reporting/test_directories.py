"""fsync of a directory: how an application makes a name durable."""

from fsyncgate.scenario import OLD, Fault, Observe, Volume


def test_new_file(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Create a file and sync its directory while nothing reaches the disk."""
    directory = volume.directory.open()
    volume.directory.create("new")
    with fault.on(volume.any_write):
        observe(first=directory.fsync(), second=directory.fsync())
    observe(there=volume.directory.has("new"))


def test_renamed_file(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Rename a file and sync the directory while nothing reaches the disk."""
    volume.file("old").filled_with(OLD)
    directory = volume.directory.open()
    volume.directory.rename("old", "new")
    with fault.on(volume.any_write):
        observe(first=directory.fsync(), second=directory.fsync())
    observe(old_there=volume.directory.has("old"), new_there=volume.directory.has("new"))
