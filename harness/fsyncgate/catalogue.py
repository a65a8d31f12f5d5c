"""What can be asked: file systems, faults and scenarios, from TOML into the model. Strict.

Every error is a CatalogueError that names the file and the key.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
from msgspec import Meta

from fsyncgate.errors import CatalogueError
from fsyncgate.kernels.versions import matches
from fsyncgate.model import Expectation, Fault, FileSystem, Persistence, Scenario
from fsyncgate.places import place

_T = TypeVar("_T")

Mechanism = Literal[
    "dm", "blkdebug", "scsi", "thin", "throttle", "scsi-delete", "unplug-scsi", "unplug-virtio", "unplug-usb"
]  # fmt: skip
"""The mechanisms that there are: the keys of `inject.mechanisms.MECHANISMS`."""

_ROW = ("kernel", "filesystem", "fault", "safe", "because", "commit", "lesson")
"""Keys of an expectation that are no observation."""

_COMMIT = r'^([0-9a-f]{12} \(".+"\) \(in v\d+\.\d+(\.\d+)?(, v\d+\.\d+(\.\d+)?)*\))?$'
"""How a commit of the kernel is cited: 0123456789ab ("subject") (in vX.Y)."""


def filesystems(file: Path | None = None) -> dict[str, FileSystem]:
    """Return `vms/filesystems.toml` by id, in the file's order."""
    file = file or place("vms") / "filesystems.toml"
    found = {
        name: _convert(file, name, {"id": name, **_table(file, name, table)}, FileSystem)
        for name, table in _load(file).items()
    }
    disk = [one.id for one in found.values() if one.mkfs]
    for one in found.values():
        if one.base and one.base not in disk:
            raise CatalogueError(
                f"'{one.id}.base' of '{file}' is '{one.base}', which is made on no disk.",
                hint=f"there are {', '.join(disk)}.",
            )
    return found


class _FaultFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    operation: str
    target: str
    models: str
    errno: str = ""
    mechanism: Mechanism = "dm"
    flavour: str = ""
    nth: int = 0
    persistence: Annotated[tuple[Persistence, ...], Meta(min_length=1)] = (Persistence.UNTIL_HEALED,)


def faults(folder: Path | None = None) -> dict[str, Fault]:
    """Return the faults of `faults/*.toml` by id.

    A file's first persistence bears the file's name; the others have theirs appended: `data-eio-once`.
    """
    found: dict[str, Fault] = {}
    for file in sorted((folder or place("faults")).glob("*.toml")):
        read = _convert(file, "", _load(file), _FaultFile)
        for number, persistence in enumerate(read.persistence):
            name = file.stem if number == 0 else f"{file.stem}-{persistence}"
            found[name] = Fault(
                name,
                read.title,
                read.operation,
                read.target,
                read.errno,
                read.mechanism,
                persistence,
                read.models,
                read.flavour,
                read.nth,
            )
    return found


class _Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    question: str
    faults: Annotated[tuple[str, ...], Meta(min_length=1)]
    expect: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    filesystems: tuple[str, ...] = ()
    lesson: str = ""


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    because: str
    kernel: str | tuple[str, ...] = ()
    filesystem: str | tuple[str, ...] = ()
    fault: str | tuple[str, ...] = ()
    safe: bool | None = None
    commit: Annotated[str, Meta(pattern=_COMMIT)] = ""
    lesson: str = ""


def scenarios(folder: Path) -> dict[str, Scenario]:
    """Return the scenarios of one folder (`scenarios/reporting`) by id (`reporting/first_fsync`)."""
    file = folder / "expected.toml"
    found: dict[str, Scenario] = {}
    for name, table in _load(file).items():
        read = _convert(file, name, table, _Question)
        rows = tuple(
            _expectation(file, f"{name}.expect[{number}]", row, read.lesson)
            for number, row in enumerate(read.expect)
        )
        found[f"{folder.name}/{name}"] = Scenario(
            f"{folder.name}/{name}", read.question, read.faults, read.filesystems, rows
        )
    return found


GROUPS = ("reporting", "retrying", "reaction", "removal", "hanging", "layers")
"""The groups of scenarios in the order in which they are told; others come after them."""


def as_told(file: Path) -> tuple[int, Path]:
    """Return a key that puts the files `expected.toml` of groups into that order."""
    group = file.parent.name
    return GROUPS.index(group) if group in GROUPS else len(GROUPS), file


def all_scenarios(root: Path | None = None) -> dict[str, Scenario]:
    """Return the scenarios of every folder below `scenarios/` that has an `expected.toml`."""
    found: dict[str, Scenario] = {}
    for file in sorted((root or place("scenarios")).glob("*/expected.toml"), key=as_told):
        found.update(scenarios(file.parent))
    return found


def _expectation(file: Path, key: str, table: dict[str, Any], lesson: str) -> Expectation:
    """Return a row; `lesson` is what its scenario has to say where the row has nothing better."""
    row = _convert(file, key, {name: value for name, value in table.items() if name in _ROW}, _Row)
    observed = {name: value for name, value in table.items() if name not in _ROW}
    if not observed:
        raise CatalogueError(
            f"'{key}' of '{file}' expects no observation.", hint="add a line such as 'first = \"EIO\"'."
        )
    kernel, filesystem, fault = (_several(value) for value in (row.kernel, row.filesystem, row.fault))
    try:
        matches("5.10", kernel)
    except CatalogueError as error:
        raise CatalogueError(f"'{key}.kernel' of '{file}': {error.message}", hint=error.hint) from None
    return Expectation(
        observed, row.because, row.safe, kernel, filesystem, fault, row.commit, row.lesson or lesson
    )


def _several(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _load(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise CatalogueError(f"'{file}' cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogueError(f"'{file}' is not valid TOML: {error}.") from None


def _table(file: Path, key: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CatalogueError(f"'{key}' of '{file}' is not a table.", hint=f"write '[{key}]' above its keys.")
    return cast("dict[str, Any]", value)


def _convert(file: Path, key: str, table: object, kind: type[_T]) -> _T:
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        where = f"'{key}' of '{file}'" if key else f"'{file}'"
        raise CatalogueError(f"{where} is wrong: {error}.") from None
