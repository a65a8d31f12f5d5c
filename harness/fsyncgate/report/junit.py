"""JUnit XML for the machines that collect test results.

A suite is a kernel with a file system, a test case a fault with a scenario. `deviates` is a failure,
`unknown` an error. The elements and attributes are those that Jenkins' `junit-10.xsd` allows.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

from fsyncgate.errors import SetupError
from fsyncgate.model import Judgement, Result
from fsyncgate.report.phrases import differing, first_line, pairs
from fsyncgate.report.words import unexplained, unsafe
from fsyncgate.store import Store

FILE = "junit.xml"


def write(store: Store) -> Path:
    """Write `junit.xml` into the run's folder and return its path."""
    path = store.folder / FILE
    record = store.record()
    try:
        path.write_bytes(junit(store.results(), started=record.started if record else None))
    except OSError as error:
        raise SetupError(f"'{path}' cannot be written: {error.strerror}.") from error
    return path


def junit(results: Sequence[Result], *, started: datetime | None = None) -> bytes:
    """Return the XML document."""
    suites: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        suites[result.kernel.id, result.filesystem].append(result)
    root = ElementTree.Element("testsuites", {"name": "fsyncgate", **_totals(results)})
    for number, ((kernel, filesystem), members) in enumerate(suites.items()):
        attributes = {"id": str(number), "name": f"{kernel}/{filesystem}", **_totals(members), "skipped": "0"}
        if started is not None:
            attributes["timestamp"] = started.isoformat(timespec="seconds")
        suite = _add(root, "testsuite", attributes)
        properties = _add(suite, "properties")
        record = members[0].kernel
        for name, value in (
            ("kernel.release", record.release),
            ("kernel.version", record.version),
            ("kernel.package", record.package),
            ("kernel.sha256", record.sha256),
            ("filesystem", filesystem),
        ):
            _add(properties, "property", {"name": name, "value": value})
        for result in members:
            _case(suite, result)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _case(suite: ElementTree.Element, result: Result) -> None:
    attributes = {
        "name": f"{result.fault}/{result.scenario}",
        "classname": f"{result.kernel.id}.{result.filesystem}",
        "time": f"{result.seconds:.3f}",
    }
    case = _add(suite, "testcase", attributes)
    observed, expected = differing(result)
    match result.verdict:
        case Judgement.DEVIATES:
            message = f"observed {pairs(observed)}; expected {pairs(expected)}"
            text = (
                f"observed {pairs(result.observed)}\nexpected {pairs(result.expected)}\n"
                f"{result.reason}\n{result.because}"
            )
            _add(case, "failure", {"type": "deviates", "message": message}, text.strip())
        case Judgement.UNKNOWN:
            error = {"type": "unknown", "message": first_line(result.reason)}
            _add(case, "error", error, result.reason)
        case Judgement.CONFORMS if unsafe(result) or unexplained(result):
            why = f": {result.because}" if result.because else ""
            _add(case, "system-out", text=f"conforms{', unsafe' if unsafe(result) else ''}{why}")
        case Judgement.CONFORMS:
            pass


def _totals(results: Sequence[Result]) -> dict[str, str]:
    return {
        "tests": str(len(results)),
        "failures": str(sum(one.verdict is Judgement.DEVIATES for one in results)),
        "errors": str(sum(one.verdict is Judgement.UNKNOWN for one in results)),
        "time": f"{sum(one.seconds for one in results):.3f}",
    }


def _add(
    parent: ElementTree.Element, tag: str, attributes: dict[str, str] | None = None, text: str = ""
) -> ElementTree.Element:
    cleaned = {name: _clean(value) for name, value in (attributes or {}).items()}
    element = ElementTree.SubElement(parent, tag, cleaned)
    element.text = _clean(text) or None
    return element


def _clean(text: str) -> str:
    """Leave out the characters that XML 1.0 has no way to write."""
    return _UNWRITABLE.sub("", text)


_UNWRITABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
