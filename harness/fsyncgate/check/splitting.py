"""Requests of which a part has a fate of its own: device-mapper splits them where its table changes."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fsyncgate.history import BlockDone

Range = tuple[int, int]
"""First sector and number of sectors."""


def whole(done: Sequence[BlockDone]) -> list[BlockDone]:
    """Return the completions, requests that device-mapper has split as they were before it did.

    Such a request is traced where it was split with its last part alone, whichever part has failed; right
    after that the device above traces it as it was (dm_split_and_process_bio() in drivers/md/dm.c).
    """
    return [
        replace(event, sector=above.sector, sectors=above.sectors)
        if above is not None and _is_rest(event, above)
        else event
        for event, above in zip(done, [*done[1:], None], strict=False)
    ]


def has_part_outside(event: BlockDone, place: Iterable[Range], below: Sequence[Range]) -> bool:
    """Tell whether a request has a part in `place` that none of the ranges `below` touches."""
    end = event.sector + event.sectors
    parts = ((max(event.sector, start), min(end, start + count)) for start, count in place)
    return any(
        not any(start < at + count and at < stop for at, count in below)
        for start, stop in parts
        if start < stop
    )


def _is_rest(event: BlockDone, above: BlockDone) -> bool:
    return (
        (event.device, above.device) == ("fault", "volume")
        and (event.rwbs, event.error) == (above.rwbs, above.error)
        and above.sector < event.sector
        and above.sector + above.sectors == event.sector + event.sectors
    )
