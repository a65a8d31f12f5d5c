"""What the cache says of a kernel that was fetched, and whether its files are still whole."""

import hashlib
import os
from pathlib import Path

import msgspec

from fsyncgate.cache import Cache, disk_error
from fsyncgate.kernels import versions
from fsyncgate.kernels.catalogue import Entry
from fsyncgate.kernels.packages import Package, holder_of_image, release_of
from fsyncgate.model import Kernel


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package that the kernel's files came from."""

    package: str
    version: str
    sha256: str
    size: int
    """Bytes of the .deb."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`kernel.json` in a kernel's folder: what was chosen, and what its files must be like.

    The folder has `vmlinuz`, `config` and `lib/modules/<release>`; it knows no path, for caches are moved.
    """

    release: str
    version: str
    package: str
    """Name and version of the package that holds the image."""
    sha256: str
    image_sha256: str
    modules_files: int
    modules_bytes: int
    """Number and total size of the files below `lib/modules/<release>`."""
    packages: tuple[Part, ...]


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`kernels/chosen/<id>.json`: which folder an entry of the catalogue was found to mean."""

    suite: str
    series: str
    flavour: str
    folder: str


def make_record(parts: list[Package], folder: Path) -> None:
    """Write `kernel.json` for the files that were unpacked into `folder`."""
    holder, release = holder_of_image(parts), release_of(parts[0])
    files, size = _extent(folder / "lib/modules" / release)
    record = Record(
        release=release,
        version=versions.upstream(holder.version),
        package=f"{holder.name} {holder.version}",
        sha256=holder.sha256,
        image_sha256=digest(folder / "vmlinuz"),
        modules_files=files,
        modules_bytes=size,
        packages=tuple(Part(part.name, part.version, part.sha256, part.size) for part in parts),
    )
    (folder / "kernel.json").write_bytes(msgspec.json.format(msgspec.json.encode(record)))


def verified(folder: Path) -> Record | None:
    """Return a folder's record if its files are whole: image by digest, modules by number and size."""
    try:
        record = msgspec.json.decode((folder / "kernel.json").read_bytes(), type=Record)
        if digest(folder / "vmlinuz") != record.image_sha256:
            return None
        if _extent(folder / "lib/modules" / record.release) != (record.modules_files, record.modules_bytes):
            return None
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    return record


def make_choice(entry: Entry, folder: Path, cache: Cache) -> None:
    """Record that the entry means this folder of the cache."""
    choice = Choice(entry.suite, entry.series, entry.flavour, folder.name)
    cache.write(_choice_file(entry, cache), msgspec.json.encode(choice))


def chosen(entry: Entry, cache: Cache) -> Path | None:
    """Return the folder that was recorded for the entry, whole or not; None if there is no such record."""
    try:
        choice = msgspec.json.decode(_choice_file(entry, cache).read_bytes(), type=Choice)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    except OSError as error:
        raise disk_error(error, cache.root) from error
    if (choice.suite, choice.series, choice.flavour) != (entry.suite, entry.series, entry.flavour):
        return None
    return cache.path("kernels", choice.folder)


def found(entry: Entry, cache: Cache) -> tuple[Record, Path] | None:
    """Return the record and the folder of an entry; None if the cache has it not, or not whole."""
    folder = chosen(entry, cache)
    with cache.telling():
        record = verified(folder) if folder else None
    return (record, folder) if record and folder else None


def kernel_of(entry: Entry, record: Record, folder: Path) -> Kernel:
    """Return the kernel as the rest of the harness knows it."""
    return Kernel(
        id=entry.id,
        release=record.release,
        version=record.version,
        package=record.package,
        sha256=record.sha256,
        image=str(folder / "vmlinuz"),
        modules=str(folder / "lib/modules" / record.release),
    )


def digest(file: Path) -> str:
    """Return the sha256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _extent(top: Path) -> tuple[int, int]:
    sizes = [Path(folder, name).lstat().st_size for folder, _, names in os.walk(top) for name in names]
    return len(sizes), sum(sizes)


def _choice_file(entry: Entry, cache: Cache) -> Path:
    return cache.path("kernels", "chosen", f"{entry.id}.json")
