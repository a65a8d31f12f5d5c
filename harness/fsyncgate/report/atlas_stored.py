"""The atlas of stored runs: the one part of it that reads files."""

from collections.abc import Sequence

from fsyncgate.machine.console import alarms
from fsyncgate.model import Result
from fsyncgate.report.atlas import Answers, load
from fsyncgate.report.atlas_text import text
from fsyncgate.run import CONSOLE
from fsyncgate.store import Store


def document(stores: Sequence[Store]) -> str:
    """Return the atlas of these runs. Raises UsageError if one cannot be read."""
    found: dict[str, tuple[Result, Store]] = {}
    for store in stores:
        found |= {result.case: (result, store) for result in store.results()}

    def logged(result: Result) -> bool | None:
        console = found[result.case][1].case_folder(result.case, make=False) / CONSOLE
        try:
            return bool(alarms(console.read_text(errors="replace")))
        except OSError:
            return None

    return text(load(), Answers((result for result, _ in found.values()), logged))
