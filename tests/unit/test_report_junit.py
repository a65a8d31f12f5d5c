"""JUnit XML: what collectors read, and text that no XML can hold."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from fsyncgate.model import Judgement, KernelRecord, Result
from fsyncgate.report.junit import junit, write
from fsyncgate.store import RunRecord, Store

ALLOWED = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "id"},
    "properties": set[str](),
    "property": {"name", "value"},
    "testcase": {"name", "time", "classname"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "system-out": set[str](),
}
"""What Jenkins' junit-10.xsd knows, as far as it is used here."""


def result(verdict: Judgement = Judgement.CONFORMS, *, text: str = "", filesystem: str = "xfs") -> Result:
    return Result(
        case=f"linux-6.1/{filesystem}/data-eio/reporting/{verdict}",
        scenario=f"reporting/{verdict}",
        kernel=KernelRecord("linux-6.1", text, "6.1.176", "linux-image", "0" * 64),
        filesystem=filesystem,
        fault="data-eio",
        fired=1,
        observed={"fsync": text},
        expected={"fsync": "EIO"},
        verdict=verdict,
        safe=False if verdict is Judgement.CONFORMS else None,
        reason=text,
        because=text,
        seconds=1.25,
    )


def everything(root: ElementTree.Element) -> Iterator[ElementTree.Element]:
    yield root
    for child in root:
        yield from everything(child)


def test_a_suite_counts_its_cases() -> None:
    root = ElementTree.fromstring(
        junit([*map(result, Judgement), result(filesystem="btrfs")], started=datetime(2026, 1, 2, tzinfo=UTC))
    )
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["linux-6.1/xfs", "linux-6.1/btrfs"]
    first = suites[0]
    assert {
        name: first.get(name) for name in ("tests", "failures", "errors", "skipped", "time", "timestamp")
    } == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
        "time": "3.750",
        "timestamp": "2026-01-02T00:00:00+00:00",
    }
    assert [case.get("name") for case in first.findall("testcase")] == [
        "data-eio/reporting/conforms",
        "data-eio/reporting/deviates",
        "data-eio/reporting/unknown",
    ]


@given(st.text(max_size=20))
def test_any_text_gives_a_document_that_keeps_to_the_schema(text: str) -> None:
    root = ElementTree.fromstring(junit([result(verdict, text=text) for verdict in Judgement]))
    for element in everything(root):
        assert set(element.keys()) <= ALLOWED[element.tag]


def test_it_is_written_into_the_run(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    store.append(result())
    started = datetime(2026, 1, 2, tzinfo=UTC)
    store.finish([], RunRecord("0.1.0", started, 1.0, "7.2.22", "tcg", 1, 1, ("fsyncgate",)))
    assert write(store).read_bytes() == junit([result()], started=started)
