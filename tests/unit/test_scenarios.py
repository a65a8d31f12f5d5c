"""The catalogue that is shipped: scenarios, expectations and faults fit together."""

import ast
import re
from collections.abc import Iterator
from errno import errorcode
from itertools import product

import pytest

from fsyncgate import catalogue
from fsyncgate.check.judge import fitting
from fsyncgate.kernels.catalogue import catalogue as kernels
from fsyncgate.kernels.versions import parse
from fsyncgate.model import Scenario
from fsyncgate.places import place
from fsyncgate.plan import DEFAULT

SCENARIOS = catalogue.all_scenarios()
FILESYSTEMS = catalogue.filesystems()
FAULTS = catalogue.faults()
CITATION = re.compile(r'[0-9a-f]{12} \("[^\n]+"\) \(in v\d+(\.\d+)+(, v\d+(\.\d+)+)*\)')


def functions() -> dict[str, ast.FunctionDef]:
    """Return the pytest functions below `scenarios/`, by the id of the scenario that each asks."""
    found: dict[str, ast.FunctionDef] = {}
    for file in sorted(place("scenarios").glob("*/test_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                name = f"{file.parent.name}/{node.name.removeprefix('test_')}"
                assert name not in found, f"two functions ask '{name}'"
                found[name] = node
    return found


FUNCTIONS = functions()


def where_asked(scenario: Scenario) -> list[str]:
    """Return the file systems that a scenario is asked on."""
    named = scenario.filesystems or (DEFAULT,)
    return [one.id for one in FILESYSTEMS.values() if one.id in named or (one.default and DEFAULT in named)]


def stated(function: ast.FunctionDef) -> set[str]:
    """Return the names of everything that a scenario observes."""
    return {
        keyword.arg
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "observe"
        for keyword in node.keywords
        if keyword.arg
    }


def around(boundary: str) -> Iterator[str]:
    """Give a version, its neighbours and its candidates."""
    major, minor, patch, _ = parse(boundary)
    yield boundary
    yield f"{major}.{minor}-rc1"
    yield f"{major}.{minor}"
    yield f"{major}.{minor}.{patch + 1}"
    yield f"{major}.{minor}.999"
    if patch:
        yield f"{major}.{minor}.{patch - 1}"
    if minor:
        yield f"{major}.{minor - 1}.999"


VERSIONS = sorted(
    {
        version
        for scenario in SCENARIOS.values()
        for row in scenario.expect
        for text in row.kernel
        for boundary in re.findall(r"\d+\.\d+(?:\.\d+)?", text)
        for version in around(boundary)
    }
    | {"4.12", "4.13", "5.10", "5.10.300", "6.1.176", "6.12.90", "7.0", "9.9"},
    key=parse,
)


def test_every_function_has_a_table_and_every_table_a_function() -> None:
    assert set(SCENARIOS) == set(FUNCTIONS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_row_expects_just_what_the_function_observes(name: str) -> None:
    for row in SCENARIOS[name].expect:
        assert set(row.observed) == stated(FUNCTIONS[name])


@pytest.mark.parametrize("name", SCENARIOS)
def test_rows_speak_of_faults_and_file_systems_that_their_scenario_asks_for(name: str) -> None:
    scenario = SCENARIOS[name]
    assert set(scenario.faults) <= set(FAULTS)
    assert set(scenario.filesystems) <= {DEFAULT, *FILESYSTEMS}
    assert len(set(scenario.faults)) == len(scenario.faults)
    for row in scenario.expect:
        assert set(row.fault) <= set(scenario.faults)
        assert set(row.filesystem) <= set(where_asked(scenario))


def fits(scenario: Scenario, version: str) -> Iterator[tuple[str, int]]:
    """Give each place of a scenario on a kernel, and how many rows speak of it."""
    for filesystem, fault in product(where_asked(scenario), scenario.faults):
        yield f"{version} {filesystem} {fault}", len(fitting(scenario, version, filesystem, fault))


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_two_rows_speak_of_the_same_case(name: str) -> None:
    assert [where for version in VERSIONS for where, rows in fits(SCENARIOS[name], version) if rows > 1] == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_some_row_speaks_of_every_case_on_every_kernel_of_the_catalogue(name: str) -> None:
    series = {entry.series for entry in kernels().values()}
    newest = {f"{one}.999" for one in series if one != "*"} | {"9.9"}
    assert [where for version in newest for where, rows in fits(SCENARIOS[name], version) if not rows] == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_row_is_the_answer_to_some_case(name: str) -> None:
    scenario = SCENARIOS[name]
    places = product(VERSIONS, where_asked(scenario), scenario.faults)
    reached = [
        row for version, filesystem, fault in places for row in fitting(scenario, version, filesystem, fault)
    ]
    assert [row for row in scenario.expect if row not in reached] == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_commits_are_cited_by_number_subject_and_version(name: str) -> None:
    for row in SCENARIOS[name].expect:
        assert not row.commit or CITATION.fullmatch(row.commit), row.commit


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_kernel_that_conforms_and_is_unsafe_has_a_lesson_to_teach(name: str) -> None:
    for row in SCENARIOS[name].expect:
        assert row.lesson or row.safe is not False, row.because


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_question_asks_and_a_reason_is_a_whole_sentence(name: str) -> None:
    assert SCENARIOS[name].question.endswith("?")
    for row in SCENARIOS[name].expect:
        assert row.because.endswith("."), row.because


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_says_what_it_does(name: str) -> None:
    assert ast.get_docstring(FUNCTIONS[name])


def test_every_fault_is_asked_about() -> None:
    asked = {fault for scenario in SCENARIOS.values() for fault in scenario.faults}
    assert asked == set(FAULTS)


TARGETS = {
    "data", "half", "journal", "superblock", "inode", "directory", "metadata", "any", "flush", "space",
    "nowhere",
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_described_in_whole(name: str) -> None:
    fault = FAULTS[name]
    assert fault.operation in {"write", "read", "flush", "drop", "hang", "slow", "remove", "none"}
    assert fault.target in TARGETS
    assert bool(fault.errno) == (fault.operation in {"write", "read", "flush"})
    assert fault.errno == "" or fault.errno in errorcode.values()
    assert fault.models.endswith(".")
