"""An error that no disk has made: a direct write collides with the page cache."""

from fsyncgate.scenario import BLOCK, LATER, NEW, O_DIRECT, O_RDWR, OLD, Fault, Observe, Volume


def test_spurious_error(volume: Volume, fault: Fault, observe: Observe) -> None:
    """A direct write of two blocks waits for the first; meanwhile the second is changed through a mapping."""
    file = volume.file("f").filled_with(OLD + OLD)
    opened, other = file.open(O_RDWR | O_DIRECT), file.open(by=volume.new_process())
    mapping = other.mapped(2 * BLOCK).without_readahead()
    with fault.on(file.data_at(0)):
        writing = opened.write_in_background(NEW + NEW)
        fault.met()
        mapping.store(LATER, at=BLOCK)
    observe(write=writing.result(), fsync=opened.fsync(), other_fsync=other.fsync(), syncfs=other.syncfs())
    observe(first_block=file.cold(), second_block=file.cold(at=BLOCK))


def test_direct_write_beside_a_reader(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The control: the same, but the second block is only read through the mapping."""
    file = volume.file("f").filled_with(OLD + OLD)
    opened, other = file.open(O_RDWR | O_DIRECT), file.open(by=volume.new_process())
    mapping = other.mapped(2 * BLOCK).without_readahead()
    with fault.on(file.data_at(0)):
        writing = opened.write_in_background(NEW + NEW)
        fault.met()
        mapping.read(at=BLOCK)
    observe(write=writing.result(), fsync=opened.fsync(), other_fsync=other.fsync(), syncfs=other.syncfs())
    observe(first_block=file.cold(), second_block=file.cold(at=BLOCK))


def test_store_beside_a_direct_write(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The same on btrfs, where the store has to wait.

    Who comes first when the disk answers is left to chance, so fsync is not asked.
    """
    file = volume.file("f").filled_with(OLD + OLD)
    opened, other = file.open(O_RDWR | O_DIRECT), file.open(by=volume.new_process())
    mapping = other.mapped(2 * BLOCK).without_readahead()
    with fault.on(file.data):
        writing = opened.write_in_background(NEW + NEW)
        fault.met()
        storing = mapping.store_in_background(LATER, at=BLOCK)
        volume.at_rest()
        observe(store_answered=storing.done())
    observe(write=writing.result(), store=storing.result(), second_block=file.hot(at=BLOCK))
