"""The atlas: words from rules, and the questions that are committed against the catalogue that is."""

from pathlib import Path
from typing import Any

import pytest

from fsyncgate import catalogue
from fsyncgate.check.judge import fitting
from fsyncgate.errors import CatalogueError
from fsyncgate.model import Judgement, KernelRecord, Result
from fsyncgate.plan import Wanted, plan
from fsyncgate.report.atlas import Answers, Atlas, Part, Question, Rule, load
from fsyncgate.report.atlas_text import text

GOLDEN = Path(__file__).parents[1] / "golden" / "atlas.md"
FIX = 'c044f3d8360d ("jbd2: abort journal if free a async write error metadata buffer") (in v5.9)'


def result(
    version: str,
    scenario: str,
    filesystem: str,
    observed: dict[str, Any],
    *,
    fault: str = "data-eio",
    verdict: Judgement = Judgement.CONFORMS,
    because: str = "",
) -> Result:
    kernel = KernelRecord(f"linux-{version}", "", f"{version}.1", f"linux-image {version}.1-1", "")
    case = f"{kernel.id}/{filesystem}/{fault}/{scenario}"
    return Result(
        case, scenario, kernel, filesystem, fault, 1, observed, None, verdict, None, "", because, 0.1
    )


DATA = Part(
    "data",
    "reporting/first",
    ("data-eio", "disk-data-eio"),
    (Rule("data", {"first": ["EIO", "EROFS"]}), Rule("", {"first": 0})),
)
JOURNAL = Part("journal", "reporting/journal", ("data-eio",), (Rule("journal"),), filesystem=("ext4",))
WHO = Question("Whose?", {"ext4": "data, journal", "xfs": "?"}, (DATA, JOURNAL), none="nobody's")
LOGGED = Part(
    "data", "reporting/first", ("data-eio",), (Rule("yes", {"logged": True}), Rule("no")), console=True
)
SAID = Question("Logged?", {"ext4": "yes", "xfs": "yes"}, (LOGGED,), note="Only what is seen.")
LATER = Question("And fsck?", {"ext4": "?", "xfs": "?"}, (Part("fsck"),))
ATLAS = Atlas("A. Author: A Paper. A Conference.", (WHO, SAID, LATER))


def word(*results: Result, filesystem: str = "ext4", question: Question = WHO) -> str:
    return Answers(results).cell(question, "linux-6.1", filesystem).text


def test_a_cell_joins_the_words_of_its_parts() -> None:
    first = result("6.1", "reporting/first", "ext4", {"first": "EIO"})
    assert word(first, result("6.1", "reporting/journal", "ext4", {"x": 1})) == "data, journal"


def test_a_part_may_be_about_one_file_system_alone() -> None:
    assert word(result("6.1", "reporting/first", "xfs", {"first": 0}), filesystem="xfs") == "nobody's"


def test_what_no_run_has_is_not_asked() -> None:
    first = result("6.1", "reporting/first", "ext4", {"first": "EROFS"})
    assert word(first) == "data (not asked: journal)"
    assert word(result("5.10", "reporting/first", "ext4", {"first": 0})) == "not asked"
    assert word(first, question=LATER) == "not asked"


def test_another_fault_will_do_where_the_first_has_no_result() -> None:
    first = result("6.1", "reporting/first", "xfs", {"first": "EIO"}, fault="disk-data-eio")
    assert word(first, filesystem="xfs") == "data"


def test_what_no_rule_expects_is_shown_as_it_is() -> None:
    assert word(result("6.1", "reporting/first", "xfs", {"first": "ENOSPC"}), filesystem="xfs") == (
        "data: first=ENOSPC"
    )
    zero = result("6.1", "reporting/first", "xfs", {"first": False})
    assert word(zero, filesystem="xfs") == "data: first=false"


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [(Judgement.UNKNOWN, "data unknown"), (Judgement.DEVIATES, "data (deviates)")],
)
def test_a_word_that_is_not_known_for_sure_says_so(verdict: Judgement, expected: str) -> None:
    first = result("6.1", "reporting/first", "xfs", {"first": "EIO"}, verdict=verdict)
    assert word(first, filesystem="xfs") == expected


def test_the_whole_document() -> None:
    results = [
        result("5.8", "reporting/first", "ext4", {"first": 0}),
        result("5.8", "reporting/journal", "ext4", {"x": 1}),
        result("5.8", "reporting/first", "xfs", {"first": "EIO"}),
        result("6.1", "reporting/first", "ext4", {"first": "EIO"}, because=f"It is told. [{FIX}]"),
        result("6.1", "reporting/journal", "ext4", {"x": 1}),
        result("6.1", "reporting/first", "xfs", {"first": 0}),
        result("6.1", "reporting/first", "f2fs", {"first": "EIO"}),
        result("6.1", "reporting/close", "f2fs", {"close": 0}),
    ]
    made = text(ATLAS, Answers(results, lambda one: one.filesystem == "ext4"))
    if not GOLDEN.exists():
        GOLDEN.write_text(made, encoding="utf-8")
        pytest.fail(f"'{GOLDEN}' was missing and is written now: read it, and commit it if it is right.")
    assert made == GOLDEN.read_text(encoding="utf-8")


def test_nothing_at_all_is_a_document_too() -> None:
    assert "not asked" in text(ATLAS, Answers([]))


# The atlas that is committed


def expectations() -> list[Result]:
    """Return a run on which every kernel does what is expected of it, as far as one row fits."""
    scenarios, filesystems, faults = catalogue.all_scenarios(), catalogue.filesystems(), catalogue.faults()
    found: list[Result] = []
    for version in ("5.10.223", "6.1.176", "6.12.107", "6.18.1", "7.2.13"):
        kernel = KernelRecord(f"linux-{version}", "", version, "", "")
        for case in plan([kernel.id], scenarios, filesystems, faults, Wanted(everything=True)):
            rows = fitting(scenarios[case.scenario], version, case.filesystem, case.fault)
            if len(rows) == 1:
                found.append(
                    Result(
                        case.id, case.scenario, kernel, case.filesystem, case.fault, 1, rows[0].observed,
                        None, Judgement.CONFORMS, rows[0].safe, "", rows[0].because, 0.1,
                    )
                )  # fmt: skip
    return found


def test_the_questions_ask_for_what_is_there() -> None:
    scenarios, filesystems, faults = catalogue.all_scenarios(), catalogue.filesystems(), catalogue.faults()
    questions = load().question
    assert len(questions) == 11
    for part in (part for question in questions for part in question.part if part.scenario):
        assert part.scenario in scenarios
        assert set(part.filesystem) <= set(filesystems)
        assert part.fault and set(part.fault) <= set(faults)
        assert set(part.fault) & set(scenarios[part.scenario].faults)


def test_a_rule_fits_whatever_is_expected() -> None:
    answers = Answers(expectations(), lambda _: True)
    for question in load().question:
        for kernel in answers.kernels:
            for filesystem in answers.filesystems:
                assert "=" not in answers.cell(question, kernel.id, filesystem).text


def test_the_document_that_is_committed_answers_these_questions() -> None:
    document = (Path(__file__).parents[2] / "docs" / "atlas.md").read_text(encoding="utf-8")
    for number, question in enumerate(load().question, 1):
        assert f"## {number}. {question.ask}\n" in document


@pytest.mark.parametrize("content", ["paper = 1", "paper = ", 'paper = "x"\nquestion = []\nfrob = 1'])
def test_a_broken_atlas_is_a_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / "atlas.toml").write_text(content)
    with pytest.raises(CatalogueError, match=r"atlas\.toml' cannot be read"):
        load(tmp_path / "atlas.toml")
