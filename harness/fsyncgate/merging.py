"""Joins the runs of the parts of a plan into one run, equal to one that nobody had parted."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fsyncgate.errors import SetupError, UsageError
from fsyncgate.model import Result
from fsyncgate.report import junit
from fsyncgate.selection import Selection
from fsyncgate.sharding import Shard, parse
from fsyncgate.store import RunRecord, Store


class _Part(msgspec.Struct, frozen=True):
    shard: Shard
    store: Store
    record: RunRecord
    selection: Selection


def merge(folders: Sequence[Path], target: Path) -> list[Result]:
    """Write the joined run to `target` and return its results.

    Raises UsageError unless the runs are all the parts of one plan, each once, made by one version of
    fsyncgate on the same kernels; SetupError if `target` cannot be written.
    """
    parts = _parts(folders)
    results = [result for one in parts for result in one.store.results()]
    _same_kernels(results)
    whole = Store.create(target)
    planned = [case for one in parts for case in one.store.plan()]
    record = _record(parts, len(planned))
    whole.begin(planned, record)
    for one in parts:
        for result in one.store.results():
            _copy(one.store, whole, result.case)
            whole.append(result)
    whole.finish(planned, record)
    junit.write(whole)
    return whole.results()


def _parts(folders: Sequence[Path]) -> list[_Part]:
    parts = sorted((_part(folder) for folder in folders), key=lambda one: one.shard.number)
    first = parts[0]
    for one in parts[1:]:
        if one.shard.of != first.shard.of or one.selection != first.selection:
            raise UsageError(
                f"'{one.store.folder}' is a part of another plan than '{first.store.folder}'.",
                hint="the parts of a plan are made with the same options, but for the number of '--shard'.",
            )
        if one.record.version != first.record.version:
            raise UsageError(
                f"'{one.store.folder}' was made by fsyncgate {one.record.version}, and "
                f"'{first.store.folder}' by {first.record.version}.",
                hint="make all parts with the same.",
            )
    there = [one.shard.number for one in parts]
    for number in range(1, first.shard.of + 1):
        if there.count(number) != 1:
            many = "is missing" if number not in there else "is there more than once"
            raise UsageError(f"The part {Shard(number, first.shard.of)} of the plan {many}.")
    return parts


def _part(folder: Path) -> _Part:
    store = Store.open(folder)
    record = store.record()
    if record is None or record.selection is None or not record.selection.shard:
        raise UsageError(
            f"'{folder}' is no part of a plan.", hint="a part is made by 'fsyncgate qualify --shard 2/5'."
        )
    whole = msgspec.structs.replace(record.selection, shard="")
    return _Part(parse(record.selection.shard), store, record, whole)


def _same_kernels(results: Sequence[Result]) -> None:
    """Raise UsageError if a name stands for two kernels."""
    known: dict[str, Result] = {}
    for result in results:
        if not result.kernel.sha256:
            continue  # of an unknown case whose kernel could not even be fetched
        first = known.setdefault(result.kernel.id, result)
        if first.kernel.sha256 != result.kernel.sha256:
            raise UsageError(
                f"'{result.kernel.id}' is {first.kernel.package} in one part, and {result.kernel.package} in "
                "another.",
                hint="give all parts the same cache of kernels, or begin them again.",
            )


def _record(parts: Sequence[_Part], planned: int) -> RunRecord:
    records = [one.record for one in parts]
    return msgspec.structs.replace(
        records[0],
        started=min(one.started for one in records),
        seconds=round(sum(one.seconds for one in records), 3),
        accelerator=" ".join(sorted({one.accelerator for one in records})),
        boots=sum(one.boots for one in records),
        planned=planned,
        selection=parts[0].selection,
        ended=all(one.ended for one in records),
    )


def _copy(source: Store, target: Store, case: str) -> None:
    folder = source.case_folder(case, make=False)
    if folder.is_dir():
        try:
            shutil.copytree(folder, target.case_folder(case), dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            raise SetupError(
                f"'{folder}' cannot be copied: {error}.", hint="look whether the disk is full."
            ) from None
