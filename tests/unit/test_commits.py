"""Which commits a result cites, and which of them explain a difference between two kernels."""

import pytest

from fsyncgate.model import Judgement, KernelRecord, Result
from fsyncgate.report.commits import Commit, between, cited

CLEAN = """b595d2599632 ("btrfs: don't clear uptodate on write errors") (in v6.6)"""
EXTENT = (
    'e856f93e0fb2 ("ext4: do not convert the unwritten extents if data writeback fails") (in v6.15, v6.6.93)'
)
OLD = '5660e13d2fd6 ("fs: new infrastructure for writeback error handling and reporting") (in v4.13)'
ANCIENT = 'd87f4c14f27d ("dm: implement REQ_FLUSH/FUA support for bio-based dm") (in v2.6.37)'


def result(version: str, *commits: str) -> Result:
    because = " ".join(["It is so.", *(f"[{commit}]" for commit in commits)])
    kernel = KernelRecord(f"linux-{version}", "", version, "", "")
    return Result("x", "r/x", kernel, "xfs", "none", 0, {}, None, Judgement.CONFORMS, None, "", because, 0.1)


def test_a_result_cites_what_stands_in_brackets_after_its_reason() -> None:
    assert cited(result("6.1", EXTENT)) == [Commit(EXTENT, ("6.15", "6.6.93"))]
    assert cited(result("6.1")) == []


@pytest.mark.parametrize(
    ("text", "there", "not_there"),
    [
        (CLEAN, ["6.6", "6.6.1", "6.12.107", "7.2"], ["6.5.13", "5.10.223", "6.6-rc1"]),
        (EXTENT, ["6.15", "6.16.3", "6.6.93", "6.6.110"], ["6.6.92", "6.14.9", "6.12.31", "6.7.1"]),
        (ANCIENT, ["2.6.37", "2.6.39", "3.0", "6.1"], ["2.6.36"]),
    ],
)
def test_a_kernel_has_a_commit_from_its_release_or_by_a_backport(
    text: str, there: list[str], not_there: list[str]
) -> None:
    (commit,) = cited(result("6.1", text))
    assert [version for version in (*there, *not_there) if commit.is_in(version)] == there


def test_the_commit_that_explains_a_difference_lies_between_the_kernels() -> None:
    old, new = result("5.10.223", OLD), result("6.12.107", OLD, CLEAN)
    assert [one.text for one in between(old, new)] == [CLEAN]
    assert between(new, new) == []


def test_it_may_be_cited_by_the_older_side_alone() -> None:
    assert [one.text for one in between(result("6.1", CLEAN), result("6.12"))] == [CLEAN]


def test_a_kernel_without_a_version_has_no_commits() -> None:
    assert between(result("", CLEAN), result("6.12")) == []
