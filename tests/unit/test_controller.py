"""What pytest's node ids and reports say of cases."""

import pytest

from fsyncgate.model import Judgement, KernelRecord, Result
from fsyncgate.nodes import carry, case_of, results_of

RESULT = Result(
    case="linux-6.1/xfs/data-eio/reporting/first_fsync",
    scenario="reporting/first_fsync",
    kernel=KernelRecord("linux-6.1", "6.1.0-50-cloud-amd64", "6.1.176", "linux-image", "0" * 64),
    filesystem="xfs",
    fault="data-eio",
    fired=1,
    observed={"first": "EIO", "there": False},
    expected=None,
    verdict=Judgement.UNKNOWN,
    safe=None,
    reason="the fault never fired",
    because="",
    seconds=0.41,
)


def report() -> pytest.TestReport:
    return pytest.TestReport("x", ("", 0, ""), {}, "passed", None, "call")


CASE = "linux-6.1/xfs/data-eio/reporting/first_fsync"


@pytest.mark.parametrize(
    "nodeid",
    [
        f"reporting/test_first_fsync.py::test_first_fsync[{CASE}]",
        f"scenarios/reporting/test_first_fsync.py::test_first_fsync[{CASE}]",
        f"../site-packages/fsyncgate/data/scenarios/reporting/test_first_fsync.py::test_first_fsync[{CASE}]",
        f"test_first_fsync.py::test_first_fsync[{CASE}]",
    ],
)
def test_a_node_stands_for_its_case_wherever_it_was_collected(nodeid: str) -> None:
    assert case_of(nodeid) == CASE


@pytest.mark.parametrize(
    "nodeid",
    [
        "tests/unit/test_plan.py::test_one_case_by_its_whole_id",
        "tests/unit/test_data.py::test_a_block_is_called_by_its_name[OLD]",
        "reporting/test_first_fsync.py",
        "reporting/test_first_fsync.py::test_first_fsync",
        f"reporting/test_first_fsync.py::test_another[{CASE}]",
        "",
    ],
)
def test_another_node_stands_for_none(nodeid: str) -> None:
    assert case_of(nodeid) == ""


def test_a_result_is_carried_by_a_report_from_a_worker() -> None:
    carried = report()
    carry(carried, RESULT)
    assert results_of(carried) == [RESULT]


def test_other_reports_carry_none() -> None:
    other = report()
    other.user_properties.append(("duration", 5))
    assert results_of(other) == []
