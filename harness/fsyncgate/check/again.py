"""Judge stored histories again: the same verdicts, without a machine."""

from collections.abc import Mapping

import msgspec

from fsyncgate.check.judge import judge
from fsyncgate.errors import UsageError
from fsyncgate.history import read
from fsyncgate.model import Fault, Judgement, Result, Scenario
from fsyncgate.store import Store


def judged_again(
    store: Store, scenarios: Mapping[str, Scenario], faults: Mapping[str, Fault]
) -> list[Result]:
    """Return the results of a run, with the verdicts that today's catalogue gives its histories.

    A case that is unknown because it never began stays so. Raises UsageError for a case whose scenario or
    fault is not in the catalogue, or whose history is gone.
    """
    return [_again(result, store, scenarios, faults) for result in store.results()]


def _again(
    result: Result, store: Store, scenarios: Mapping[str, Scenario], faults: Mapping[str, Fault]
) -> Result:
    for what, name, known in (("scenario", result.scenario, scenarios), ("fault", result.fault, faults)):
        if name not in known:
            raise UsageError(f"The catalogue no longer has the {what} '{name}' of case '{result.case}'.")
    history = store.case_folder(result.case, make=False) / "history.jsonl"
    if result.verdict is Judgement.UNKNOWN and not history.exists():
        return result  # the case had not even begun
    events = read(history)
    verdict = judge(events, scenarios[result.scenario], faults[result.fault], result.filesystem)
    return msgspec.structs.replace(result, **msgspec.structs.asdict(verdict))
