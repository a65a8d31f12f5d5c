"""What can be asked, from TOML: strict, and an error names the file and the key."""

from pathlib import Path

import pytest

from fsyncgate import catalogue
from fsyncgate.errors import CatalogueError
from fsyncgate.model import Expectation, Fault, FileSystem, Persistence, Scenario

# File systems

XFS = """
[xfs]
about = "XFS as it comes"
type = "xfs"
mkfs = ["mkfs.xfs", "-q"]
package = "xfsprogs"
modules = ["libcrc32c", "xfs"]
"""


def written(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_system_is_one_table(tmp_path: Path) -> None:
    assert catalogue.filesystems(written(tmp_path / "filesystems.toml", XFS)) == {
        "xfs": FileSystem(
            "xfs", "xfs", "XFS as it comes", ("mkfs.xfs", "-q"), "xfsprogs", ("libcrc32c", "xfs")
        )
    }


def test_an_overlay_lies_on_a_file_system_and_a_bare_device_has_none(tmp_path: Path) -> None:
    text = XFS + '[over]\nabout = "?"\ntype = "overlay"\nbase = "xfs"\n[raw]\nabout = "?"\ntype = ""\n'
    found = catalogue.filesystems(written(tmp_path / "filesystems.toml", text))
    assert (found["over"].base, found["over"].mkfs, found["raw"].mkfs) == ("xfs", (), ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (XFS + '[o]\nabout = "?"\ntype = "overlay"\nbase = "zfs"\n', "'o.base' of .* is 'zfs'"),
        (XFS + '[o]\nabout = "?"\ntype = "overlay"\nbase = "o"\n', "'o.base' of .* is 'o'"),
        (XFS.replace('type = "xfs"\n', ""), "'xfs' of .* missing required field `type`"),
        (XFS + "option = 'sync'\n", "'xfs' of .* unknown field `option`"),
        (XFS.replace('["mkfs.xfs", "-q"]', '"mkfs.xfs -q"'), r"'xfs' of .* - at `\$\.mkfs`"),
        (XFS.replace('"xfs"]', "1]"), r"'xfs' of .* - at `\$\.modules\[1\]`"),
        ("xfs = true\n", "'xfs' of .* is not a table"),
        ("[xfs\n", "is not valid TOML: .*line 1"),
    ],
)
def test_a_broken_file_system_names_its_table_and_key(tmp_path: Path, text: str, said: str) -> None:
    file = written(tmp_path / "filesystems.toml", text)
    with pytest.raises(CatalogueError, match=said) as caught:
        catalogue.filesystems(file)
    assert str(file) in caught.value.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"filesystems\.toml' cannot be read: No such file"):
        catalogue.filesystems(tmp_path / "filesystems.toml")


def test_a_file_that_is_no_utf_8(tmp_path: Path) -> None:
    (tmp_path / "filesystems.toml").write_bytes(b'about = "\xff"\n')
    with pytest.raises(CatalogueError, match="is not valid TOML"):
        catalogue.filesystems(tmp_path / "filesystems.toml")


# Faults

DATA = """
title = "A file's data blocks cannot be written"
operation = "write"
target = "data"
errno = "EIO"
persistence = ["until-healed", "once"]
models = "Bad sectors under a file's data."
"""


def test_a_fault_file_makes_a_fault_of_each_persistence(tmp_path: Path) -> None:
    written(tmp_path / "data-eio.toml", DATA)
    faults = catalogue.faults(tmp_path)
    assert faults["data-eio"] == Fault(
        "data-eio",
        "A file's data blocks cannot be written",
        "write",
        "data",
        "EIO",
        "dm",
        Persistence.UNTIL_HEALED,
        "Bad sectors under a file's data.",
    )
    assert {name: fault.persistence for name, fault in faults.items()} == {
        "data-eio": Persistence.UNTIL_HEALED,
        "data-eio-once": Persistence.ONCE,
    }


def test_files_that_are_no_toml_are_no_faults(tmp_path: Path) -> None:
    written(tmp_path / "data-eio.toml", DATA)
    written(tmp_path / "README.md", "how to write one")
    assert set(catalogue.faults(tmp_path)) == {"data-eio", "data-eio-once"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DATA.replace('operation = "write"\n', ""), "missing required field `operation`"),
        (DATA.replace('"once"', '"twice"'), r"Invalid enum value 'twice' - at `\$\.persistence\[1\]`"),
        (DATA.replace('["until-healed", "once"]', "[]"), r"at `\$\.persistence`"),
        (DATA.replace('["until-healed", "once"]', '"once"'), r"at `\$\.persistence`"),
        (DATA.replace('"EIO"', "5"), r"Expected `str`, got `int` - at `\$\.errno`"),
        (DATA + 'sector = "8"\n', "unknown field `sector`"),
        (DATA + 'title = "again"\n', "is not valid TOML"),
    ],
)
def test_a_broken_fault_names_its_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    file = written(tmp_path / "data-eio.toml", text)
    with pytest.raises(CatalogueError, match=said) as caught:
        catalogue.faults(tmp_path)
    assert str(file) in caught.value.message


# Scenarios and what is expected of them

ASKED = """
[first_fsync]
question = "Does the first fsync say so?"
faults = ["data-eio"]
filesystems = ["xfs"]
lesson = "it does not"

[[first_fsync.expect]]
kernel = "<6.4"
first = 0
safe = false
because = "It ends with the journal."

[[first_fsync.expect]]
kernel = [">=6.4,<6.5", ">=6.6"]
filesystem = "xfs"
fault = ["data-eio"]
first = "EIO"
because = "It waits for the write."
commit = '1f1a55f0bf06 ("ext4: Commit transaction before writing back pages") (in v6.4)'
lesson = "it does now"
"""


def test_a_scenario_is_a_question_and_its_rows(tmp_path: Path) -> None:
    file = written(tmp_path / "reporting" / "expected.toml", ASKED)
    assert catalogue.scenarios(file.parent) == {
        "reporting/first_fsync": Scenario(
            "reporting/first_fsync",
            "Does the first fsync say so?",
            ("data-eio",),
            ("xfs",),
            (
                Expectation(
                    {"first": 0},
                    "It ends with the journal.",
                    safe=False,
                    kernel=("<6.4",),
                    lesson="it does not",
                ),
                Expectation(
                    {"first": "EIO"},
                    "It waits for the write.",
                    kernel=(">=6.4,<6.5", ">=6.6"),
                    filesystem=("xfs",),
                    fault=("data-eio",),
                    commit='1f1a55f0bf06 ("ext4: Commit transaction before writing back pages") (in v6.4)',
                    lesson="it does now",
                ),
            ),
        )
    }


def test_every_folder_with_expectations_is_a_group(tmp_path: Path) -> None:
    written(tmp_path / "reporting" / "expected.toml", ASKED)
    written(tmp_path / "retrying" / "expected.toml", ASKED.replace("first_fsync", "retry"))
    written(tmp_path / "notes" / "README.md", "")
    assert list(catalogue.all_scenarios(tmp_path)) == ["reporting/first_fsync", "retrying/retry"]


BROKEN = {
    "a question is missing": (
        ASKED.replace('question = "Does the first fsync say so?"\n', ""),
        "'first_fsync' of .* missing required field `question`",
    ),
    "a key of the table is unknown": (
        ASKED.replace("lesson = ", "lessons = ", 1),
        "'first_fsync' of .* unknown field `lessons`",
    ),
    "there is no fault": (
        ASKED.replace('faults = ["data-eio"]', "faults = []"),
        r"'first_fsync' of .* `\$\.faults`",
    ),
    "nothing is expected": (
        ASKED.partition("[[")[0],
        "'first_fsync' of .* missing required field `expect`",
    ),
    "a row says no reason": (
        ASKED.replace('because = "It ends with the journal."\n', ""),
        r"'first_fsync\.expect\[0\]' of .* missing required field `because`",
    ),
    "a row observes nothing": (
        ASKED.replace("first = 0\n", ""),
        r"'first_fsync\.expect\[0\]' of .* expects no observation",
    ),
    "a row is safe in words": (
        ASKED.replace("safe = false", 'safe = "no"'),
        r"'first_fsync\.expect\[0\]' of .* `\$\.safe`",
    ),
    "a version range has no operator": (
        ASKED.replace('"<6.4"', '"6.4"'),
        r"'first_fsync\.expect\[0\]\.kernel' of .* The version range '6\.4' is broken",
    ),
    "the second of two ranges is broken": (
        ASKED.replace('">=6.6"', '">=6.x"'),
        r"'first_fsync\.expect\[1\]\.kernel' of .* The version range '>=6\.x' is broken",
    ),
    "a version is a number": (
        ASKED.replace('"<6.4"', "6.4"),
        r"'first_fsync\.expect\[0\]' of .* `\$\.kernel`",
    ),
    "a commit has no version": (
        ASKED.replace(" (in v6.4)", ""),
        r"'first_fsync\.expect\[1\]' of .* `\$\.commit`",
    ),
    "a commit's number is not of twelve digits": (
        ASKED.replace("1f1a55f0bf06", "1f1a55f0"),
        r"'first_fsync\.expect\[1\]' of .* `\$\.commit`",
    ),
    "a table is none": (
        "first_fsync = 1\n",
        "'first_fsync' of .* Expected `object`, got `int`",
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_expectation_names_its_file_and_key(tmp_path: Path, how: str) -> None:
    text, said = BROKEN[how]
    assert text != ASKED
    file = written(tmp_path / "reporting" / "expected.toml", text)
    with pytest.raises(CatalogueError, match=said) as caught:
        catalogue.scenarios(file.parent)
    assert str(file) in caught.value.message
