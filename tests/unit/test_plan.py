"""Which cases there are, in which order, and what the user may select."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsyncgate.errors import CatalogueError, UsageError
from fsyncgate.model import Case, Fault, FileSystem, Persistence, Scenario
from fsyncgate.plan import Wanted, check_names, kernel_of, plan, selected

KERNELS = ["linux-5.10", "linux-6.1", "linux-newest"]
FILESYSTEMS = {
    name: FileSystem(name, name, "", ("mkfs",), name, (), default=True)
    for name in ("ext4-ordered", "xfs", "btrfs")
}
FAULTS = {
    name: Fault(name, "", "write", "data", "EIO", "dm", Persistence.ONCE, "")
    for name in ("none", "data-eio", "flush-eio")
}


def scenario(name: str, faults: tuple[str, ...], filesystems: tuple[str, ...] = ()) -> Scenario:
    return Scenario(name, "Is it so?", faults, filesystems, ())


SCENARIOS = {
    one.id: one
    for one in (
        scenario("reporting/first_fsync", ("data-eio", "flush-eio")),
        scenario("reporting/healthy_disk", ("none",)),
        scenario("retrying/page_state", ("data-eio",), ("xfs", "ext4-ordered")),
    )
}

ALL = plan(KERNELS, SCENARIOS, FILESYSTEMS, FAULTS)


def chosen(names: dict[str, list[str]]) -> Wanted:
    return Wanted(
        names.get("filesystems", []),
        names.get("faults", []),
        names.get("scenarios", []),
        names.get("cases", []),
    )


def planned(**wanted: list[str]) -> list[str]:
    return [case.id for case in plan(["linux-6.1"], SCENARIOS, FILESYSTEMS, FAULTS, chosen(wanted))]


# The whole plan


def test_a_case_is_a_scenario_on_a_kernel_with_a_file_system_and_a_fault() -> None:
    assert planned(filesystems=["btrfs"]) == [
        "linux-6.1/btrfs/data-eio/reporting/first_fsync",
        "linux-6.1/btrfs/flush-eio/reporting/first_fsync",
        "linux-6.1/btrfs/none/reporting/healthy_disk",
    ]


def test_the_order_is_kernel_then_file_system_then_scenario_then_fault() -> None:
    def place(case: Case) -> tuple[int, ...]:
        faults = SCENARIOS[case.scenario].faults
        return (
            KERNELS.index(case.kernel),
            list(FILESYSTEMS).index(case.filesystem),
            list(SCENARIOS).index(case.scenario),
            faults.index(case.fault),
        )

    assert sorted(ALL, key=place) == ALL


def test_no_case_is_planned_twice() -> None:
    assert len({case.id for case in ALL}) == len(ALL) == 3 * (3 * 3 + 2)


def test_a_scenario_runs_on_the_file_systems_that_it_names_or_on_all() -> None:
    places = {case.filesystem for case in ALL if case.scenario == "retrying/page_state"}
    assert places == {"ext4-ordered", "xfs"}
    assert {case.filesystem for case in ALL if case.fault == "none"} == set(FILESYSTEMS)


def test_a_case_id_begins_with_its_kernel() -> None:
    assert {kernel_of(case.id) for case in ALL} == set(KERNELS)


# A selection

NAMES = st.fixed_dictionaries({
    "filesystems": st.lists(st.sampled_from(sorted(FILESYSTEMS))),
    "faults": st.lists(st.sampled_from(sorted(FAULTS))),
    "scenarios": st.lists(st.sampled_from([*SCENARIOS, "reporting", "retrying/", "page_state"])),
    "cases": st.lists(st.sampled_from([case.id for case in ALL]), max_size=3),
})  # fmt: skip


@given(NAMES)
def test_a_selection_is_a_filter_that_keeps_the_order(names: dict[str, list[str]]) -> None:
    wanted = chosen(names)
    assert plan(KERNELS, SCENARIOS, FILESYSTEMS, FAULTS, wanted) == [
        case for case in ALL if selected(case, wanted, FILESYSTEMS[case.filesystem])
    ]


@given(NAMES)
def test_to_select_more_of_one_kind_never_takes_a_case_away(names: dict[str, list[str]]) -> None:
    less = plan(KERNELS, SCENARIOS, FILESYSTEMS, FAULTS, chosen(names))
    more = chosen({**names, "faults": [*names["faults"], "data-eio"] if names["faults"] else []})
    assert set(less) <= set(plan(KERNELS, SCENARIOS, FILESYSTEMS, FAULTS, more))


@pytest.mark.parametrize("name", ["retrying", "retrying/", "page_state", "retrying/page_state"])
def test_a_scenario_is_named_by_its_group_its_name_or_both(name: str) -> None:
    assert planned(scenarios=[name]) == [
        "linux-6.1/ext4-ordered/data-eio/retrying/page_state",
        "linux-6.1/xfs/data-eio/retrying/page_state",
    ]


def test_one_case_by_its_whole_id() -> None:
    assert planned(cases=["linux-6.1/xfs/none/reporting/healthy_disk"]) == [
        "linux-6.1/xfs/none/reporting/healthy_disk"
    ]


def test_options_that_exclude_each_other_leave_nothing() -> None:
    assert planned(filesystems=["btrfs"], scenarios=["page_state"]) == []


# What is no default

MORE = {
    **FILESYSTEMS,
    "ext2": FileSystem("ext2", "ext2", "", ("mkfs",), "ext2", ()),
    "f2fs": FileSystem("f2fs", "f2fs", "", ("mkfs",), "f2fs", (), flavour="amd64"),
}
WIDE = {
    one.id: one
    for one in (
        scenario("reporting/first_fsync", ("data-eio",), ("default", "ext2", "f2fs")),
        scenario("reporting/healthy_disk", ("none",)),
    )
}
FLAVOURS = {"linux-6.1": "cloud-amd64", "linux-6.1-full": "amd64"}


def wide(kernel: str, wanted: Wanted) -> set[tuple[str, str]]:
    cases = plan([kernel], WIDE, MORE, FAULTS, wanted, FLAVOURS)
    return {(case.filesystem, case.scenario.partition("/")[2]) for case in cases}


def test_a_file_system_that_is_no_default_is_left_to_those_who_ask_for_it() -> None:
    assert {filesystem for filesystem, _ in wide("linux-6.1", Wanted())} == set(FILESYSTEMS)
    assert wide("linux-6.1", Wanted(filesystems=["ext2"])) == {("ext2", "first_fsync")}
    assert {filesystem for filesystem, _ in wide("linux-6.1", Wanted(everything=True))} == {
        *FILESYSTEMS,
        "ext2",
    }


def test_what_a_kernel_s_flavour_lacks_is_not_asked_of_it() -> None:
    assert wide("linux-6.1", Wanted(filesystems=["f2fs"])) == set()
    assert wide("linux-6.1-full", Wanted(filesystems=["f2fs"])) == {("f2fs", "first_fsync")}


def test_of_everything_another_flavour_is_asked_only_what_the_first_lacks() -> None:
    assert wide("linux-6.1-full", Wanted(everything=True)) == {("f2fs", "first_fsync")}


def test_a_kernel_of_the_user_s_own_is_asked_everything() -> None:
    asked = wide("bzImage-3f2a91c0", Wanted(everything=True))
    assert {filesystem for filesystem, _ in asked} == set(MORE)


# Names that are not there


@pytest.mark.parametrize(
    ("wanted", "said", "hint"),
    [
        (
            Wanted(filesystems=["ext5"]),
            "There is no file system 'ext5'.",
            "there are ext4-ordered, xfs, btrfs.",
        ),
        (
            Wanted(faults=["data-oops"]),
            "There is no fault 'data-oops'.",
            "there are none, data-eio, flush-eio.",
        ),
        (
            Wanted(scenarios=["first"]),
            "There is no scenario 'first'.",
            "there are reporting/first_fsync, reporting/healthy_disk, retrying/page_state.",
        ),
    ],
)
def test_a_name_that_is_not_there_is_told_with_those_that_are(wanted: Wanted, said: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_names(wanted, SCENARIOS, FILESYSTEMS, FAULTS)
    assert (caught.value.message, caught.value.hint) == (said, hint)


def test_names_that_are_there_are_accepted() -> None:
    check_names(Wanted(["xfs"], ["none"], ["reporting"], ["any/thing"]), SCENARIOS, FILESYSTEMS, FAULTS)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (scenario("a/b", ("data-oops",)), "There is no fault of 'a/b' 'data-oops'."),
        (scenario("a/b", ("none",), ("ext5",)), "There is no file system of 'a/b' 'ext5'."),
    ],
)
def test_a_scenario_that_asks_for_what_is_not_there_is_a_mistake_of_the_catalogue(
    broken: Scenario, said: str
) -> None:
    with pytest.raises(CatalogueError) as caught:
        plan(KERNELS, {broken.id: broken}, FILESYSTEMS, FAULTS)
    assert caught.value.message == said
