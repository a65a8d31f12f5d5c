"""`vms/kernels.toml`, and the kernels that a user names: files in, specs out, no network."""

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from fsyncgate.errors import CatalogueError, UsageError
from fsyncgate.kernels.own import Own, own_kernel
from fsyncgate.places import place

_Suite = Annotated[str, Meta(pattern=r"^[a-z]+(-[a-z]+)*$")]
_Series = Annotated[str, Meta(pattern=r"^(\*|\d+\.\d+)$")]
_Flavour = Annotated[str, Meta(pattern=r"^([a-z]+-)?amd64$")]
FIRST_FLAVOUR = "cloud-amd64"
"""The flavour of a kernel that names none: small, with drivers for virtual machines."""
_NAME = r"^[a-z0-9][a-z0-9.-]*$"


class Entry(msgspec.Struct, frozen=True):
    """One table of `vms/kernels.toml`."""

    name: str
    """The table's name, e.g. `6.1`."""
    suite: str
    series: str
    flavour: str
    default: bool
    """Part of a run that names no kernel."""
    all: bool
    """Part of a run of everything."""
    about: str

    @property
    def id(self) -> str:
        """The kernel's name in cases and results, e.g. `linux-6.1`."""
        return f"linux-{self.name}"


Spec = Entry | Own
"""A kernel that was asked for: an entry of the catalogue or a file of the user's own."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    suite: _Suite
    series: _Series
    about: str
    flavour: _Flavour = FIRST_FLAVOUR
    default: bool = False
    all: bool = False


def catalogue(file: Path | None = None) -> dict[str, Entry]:
    """Read `vms/kernels.toml` (or `file`): entries by table name, in the file's order.

    CatalogueError names the file and the key that is wrong.
    """
    file = file or place("vms") / "kernels.toml"
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise CatalogueError(f"The catalogue '{file}' cannot be read: {error.strerror}.") from error
    except ValueError as error:  # broken TOML, or bytes that are no UTF-8
        raise CatalogueError(f"The catalogue '{file}' is not valid TOML: {error}.") from error
    entries: dict[str, Entry] = {}
    for name, table in tables.items():
        try:
            msgspec.convert(name, Annotated[str, Meta(pattern=_NAME)])
            read = msgspec.convert(table, _Table)
        except msgspec.ValidationError as error:
            raise CatalogueError(
                f"The table '{name}' of '{file}' is broken: {error}.",
                hint='a kernel looks like ["6.1"] suite = "bookworm" series = "6.1" about = "...", with the '
                "quotes around its name.",
            ) from error
        entries[name] = Entry(
            name, read.suite, read.series, read.flavour, read.default, read.all or read.default, read.about
        )
    return entries


def choose(
    names: Sequence[str],
    modules: str | None = None,
    *,
    everything: bool = False,
    entries: Iterable[Entry] | None = None,
) -> list[Spec]:
    """Turn the values of `--kernel` into specs, each once, in their order; no names: the defaults.

    A name is a table of the catalogue (`6.1` or `linux-6.1`) or the path of a bzImage; `modules` is the
    folder with the latter's modules. UsageError for what does not exist or cannot be booted.
    """
    known = {entry.name: entry for entry in (catalogue().values() if entries is None else entries)}
    specs: dict[str, Spec] = {}
    for name in names:
        spec: Spec
        if entry := known.get(name.removeprefix("linux-")):
            spec = entry
        elif "/" in name or Path(name).exists():
            spec = own_kernel(Path(name), Path(modules) if modules else None)
        else:
            raise UsageError(
                f"There is no kernel '{name}'.",
                hint=f"known are {', '.join(known)}; a file of your own is named by a path, like ./bzImage.",
            )
        specs[spec.id] = spec
    if not names:
        specs = {entry.id: entry for entry in known.values() if entry.default or (everything and entry.all)}
    if modules and not any(isinstance(spec, Own) for spec in specs.values()):
        raise UsageError(
            f"The modules folder '{modules}' belongs to no kernel of this run.",
            hint="name a kernel of your own as well: --kernel PATH.",
        )
    return list(specs.values())


def flavours(specs: Iterable[Spec]) -> dict[str, str]:
    """Return the flavour of each of Debian's kernels among them, by id."""
    return {spec.id: spec.flavour for spec in specs if isinstance(spec, Entry)}
