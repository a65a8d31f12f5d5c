"""What is made of device-mapper's devices before a machine is saved: every case would make the same."""

import msgspec

from fsyncgate.guest.actor import Actor
from fsyncgate.storage.devicemapper import Mapper

FAULT, VOLUME = "fault", "volume"
"""device-mapper's names of the two."""
PREPARED = "the devices upon the disk are made"
"""What a saved machine has of it, in words that change when that does."""
_NOTE = "device-mapper"


class Made(msgspec.Struct, frozen=True):
    """The devices that are there."""

    control: int
    """The descriptor of device-mapper's control node."""
    fault: str
    """The number of the lower one, `major:minor`."""
    volume: str
    """The number of the upper one."""
    targets: dict[str, str]
    """The targets this kernel has, with their versions."""


def note(actor: Actor, made: Made) -> None:
    """Remember them, also beyond a restore."""
    actor.guest.notes[_NOTE] = msgspec.json.encode(made).decode()


def noted(actor: Actor) -> Made | None:
    """Return what is there already."""
    text = actor.guest.notes.get(_NOTE)
    return msgspec.json.decode(text, type=Made) if text else None


def unmake(actor: Actor) -> None:
    """Remove the devices, if they are there: the disk below them is free after that."""
    if made := noted(actor):
        mapper = Mapper(actor, made.control)
        mapper.remove(VOLUME)
        mapper.remove(FAULT)
        del actor.guest.notes[_NOTE]
