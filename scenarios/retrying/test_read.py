"""A block that cannot be read, or was written in part."""

from fsyncgate.scenario import BLOCK, NEW, OLD, Fault, Observe, Volume


def test_block_that_cannot_be_read(volume: Volume, fault: Fault, observe: Observe) -> None:
    """The cache hides it, until memory is short. Can the block still be written, in part and whole?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    with fault.on(file.data):
        observe(cached=opened.read())
        volume.drop_caches()
        observe(read=opened.read(), part=opened.write(NEW[:512]), whole=opened.write(NEW))
        observe(fsync=opened.fsync(), again=opened.read())
    observe(cold=file.cold())


def test_one_of_three_blocks(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Three blocks are written at once, and the second cannot be. Which of them are there?"""
    file = volume.file("f").filled_with(OLD * 3)
    opened = file.open()
    opened.write(NEW * 3)
    with fault.on(file.block(1)):
        observe(fsync=opened.fsync())
    observe(first=file.cold(), second=file.hot(at=BLOCK), third=file.hot(at=2 * BLOCK))


def test_torn_write(volume: Volume, fault: Fault, observe: Observe) -> None:
    """Half a block reaches the disk. What does fsync say, and what does a reader find?"""
    file = volume.file("f").filled_with(OLD)
    opened = file.open()
    opened.write(NEW)
    with fault.on(file.half_a_block):
        observe(first=opened.fsync())
        volume.write_back()
    observe(second=opened.fsync(), hot=file.hot(), cold=file.cold())
