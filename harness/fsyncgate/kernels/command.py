"""`fsyncgate kernels`: what can be booted, what the cache has of it, and fetching it ahead."""

import sys

import click
import msgspec

from fsyncgate.cache import Cache
from fsyncgate.errors import FsyncgateError, SetupError, UsageError
from fsyncgate.kernels.catalogue import Entry, catalogue
from fsyncgate.kernels.fetch import fetch
from fsyncgate.kernels.record import Record, found, kernel_of
from fsyncgate.model import Kernel

_NO = "-"


@click.group("kernels")
def kernels() -> None:
    """List, fetch and describe the kernels that can be booted."""


@kernels.command("list")
def list_kernels() -> None:
    """List the kernels of vms/kernels.toml, and which version of each is in the cache."""
    cache = Cache.from_environment()
    rows = [("NAME", "DEFAULT", "SUITE", "SERIES", "FLAVOUR", "IN THE CACHE", "ABOUT")]
    for entry in catalogue().values():
        there = found(entry, cache)
        rows.append(
            (
                entry.name,
                "yes" if entry.default else "no",
                entry.suite,
                entry.series,
                entry.flavour,
                there[0].release if there else _NO,
                entry.about,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip())


@kernels.command("fetch")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--refresh", is_flag=True, help="Look for newer packages, even where the cache has one.")
def fetch_kernels(names: tuple[str, ...], refresh: bool) -> None:
    """Fetch kernels into the cache: those named, else the defaults.

    Each line says what was chosen: name, version, package and its sha256.
    """
    entries, cache = _entries(names), Cache.from_environment()
    failed: list[tuple[str, FsyncgateError]] = []
    for entry in entries:
        try:
            kernel = fetch(entry, cache, refresh=refresh, progress=_tell)
        except FsyncgateError as error:
            failed.append((entry.name, error))
            continue
        finally:
            _tell("")
        click.echo(f"{kernel.id}  {kernel.version}  {kernel.package}  {kernel.sha256}")
    if len(failed) == 1:
        raise failed[0][1]
    if failed:
        for _, reason in failed:
            click.echo(str(reason), err=True)
        raise SetupError(
            f"{len(failed)} of {len(entries)} kernels could not be fetched: "
            f"{', '.join(name for name, _ in failed)}.",
            hint="each reason is above.",
        )


@kernels.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show_kernel(name: str, as_json: bool) -> None:
    """Say what was chosen for a kernel: its version, its files, and its packages with their digests."""
    (entry,) = _entries((name,))
    there = found(entry, Cache.from_environment())
    if not there:
        raise UsageError(
            f"The cache has no kernel '{entry.name}'.", hint=f"run: fsyncgate kernels fetch {entry.name}"
        )
    record, folder = there
    kernel = kernel_of(entry, record, folder)
    if as_json:
        click.echo(msgspec.json.encode(_Shown(entry, kernel, record)).decode())
        return
    fields = {
        **msgspec.structs.asdict(kernel),
        "config": str(folder / "config"),
        "suite": entry.suite,
        "series": entry.series,
        "flavour": entry.flavour,
    }
    for key, value in fields.items():
        click.echo(f"{key:10}{value}")
    for part in record.packages:
        click.echo(f"{'part':10}{part.package} {part.version}  {part.size} bytes  {part.sha256}")


class _Shown(msgspec.Struct, frozen=True):
    """What `show --json` prints."""

    entry: Entry
    kernel: Kernel
    record: Record


def _entries(names: tuple[str, ...]) -> list[Entry]:
    """Return the entries of these names, else the defaults; a file of the user's own needs no fetching."""
    known = catalogue()
    if not names:
        return [entry for entry in known.values() if entry.default]
    entries: dict[str, Entry] = {}
    for name in names:
        if not (entry := known.get(name.removeprefix("linux-"))):
            raise UsageError(f"There is no kernel '{name}'.", hint=f"known are {', '.join(known)}.")
        entries[entry.name] = entry
    return list(entries.values())


def _tell(text: str) -> None:
    """Show progress: one line that changes on a terminal; elsewhere a line a step, without the counting."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{text}", nl=False, err=True)
    elif text and " MB" not in text:
        click.echo(text, err=True)
