"""From a spec to a kernel whose files are there: chosen, fetched and unpacked once, whoever asks."""

import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fsyncgate.cache import Cache, disk_full
from fsyncgate.errors import SetupError
from fsyncgate.kernels.apt import Archive, GoneError, compare_versions
from fsyncgate.kernels.catalogue import Entry, Spec
from fsyncgate.kernels.own import Own
from fsyncgate.kernels.packages import Package, newest_first, parts_of, release_of, wanted
from fsyncgate.kernels.record import chosen, digest, found, kernel_of, make_choice, make_record, verified
from fsyncgate.kernels.run import ToolError, tool
from fsyncgate.kernels.unpack import TOOLS, unpack
from fsyncgate.model import Kernel

_ATTEMPTS = 4
"""How many of the newest matches are tried when the mirror has lost the files of the newest."""

_MEGABYTE = 1_000_000


def _silent(_text: str) -> None:
    pass


def fetch(
    spec: Spec,
    cache: Cache,
    *,
    refresh: bool = False,
    progress: Callable[[str], None] = _silent,
    stop: threading.Event | None = None,
) -> Kernel:
    """Return the kernel of `spec` with its files in the cache; a file of the user's own stays where it is.

    Without `refresh` a choice that was recorded once is kept, and the network is not touched. With it the
    newest match is looked up again, and downloaded if it is another one. Any number of processes may ask at
    a time. `progress` gets short texts; setting `stop` ends the fetch with cache.Stopped. SetupError for
    whatever this host or the mirror lacks.
    """
    if isinstance(spec, Own):
        return Kernel(spec.id, spec.release, spec.version, spec.image, spec.sha256, spec.image, spec.modules)
    if not refresh and (kernel := recorded(spec, cache)):
        return kernel
    with cache.lock(spec.id, waiting=progress, stop=stop):
        if not refresh and (kernel := recorded(spec, cache)):
            return kernel
        if (folder := chosen(spec, cache)) and folder.exists() and not refresh:
            progress(f"{spec.id}: the files in the cache are damaged, fetching them again")
        folder = _Fetch(spec, cache, progress, stop).folder()
        make_choice(spec, folder, cache)
    if kernel := recorded(spec, cache):
        return kernel
    raise SetupError(
        f"The files of kernel '{spec.id}' below '{folder}' are damaged although they were just written.",
        hint="look at the disk, and fetch the kernel again.",
    )


def recorded(spec: Spec, cache: Cache) -> Kernel | None:
    """Return the cache's kernel for `spec`, without network; None if it has it not, or not whole."""
    if isinstance(spec, Own):
        return fetch(spec, cache)
    there = found(spec, cache)
    return kernel_of(spec, *there) if there else None


class _Fetch:
    """One fetch of one entry."""

    def __init__(
        self, entry: Entry, cache: Cache, progress: Callable[[str], None], stop: threading.Event | None
    ) -> None:
        self._entry, self._cache, self._progress, self._stop = entry, cache, progress, stop
        self._said = ""

    def folder(self) -> Path:
        """Find the newest match in the archive; return its folder, made if the cache lacks it."""
        suite = self._entry.suite
        for name, package in TOOLS.items():
            tool(name, package)  # better now than after a download
        with self._cache.lock(f"apt-{suite}", waiting=self._progress, stop=self._stop):
            self._say(f"reading the package lists of {suite}")
            archive = Archive(suite, self._cache, stop=self._stop)
            archive.update()
            packages = archive.show(wanted(archive.names(), self._entry.flavour))
            images = newest_first(packages, self._entry, compare_versions)[:_ATTEMPTS]
            if not images:
                raise SetupError(
                    f"Debian's suite '{suite}' has no kernel for '{self._entry.id}': series "
                    f"'{self._entry.series}', flavour '{self._entry.flavour}'.",
                    hint="the archive may have dropped it: name another kernel, or change vms/kernels.toml.",
                )
            for image in images[:-1]:
                with suppress(GoneError):
                    return self._made(image, packages, archive)
                self._say(f"the mirror has lost {image.version}, trying an older one")
            return self._made(images[-1], packages, archive)

    def _made(self, image: Package, packages: list[Package], archive: Archive) -> Path:
        """Return the folder of one kernel, which is named by the content of its packages."""
        release = release_of(image)
        try:
            parts = parts_of(image, packages)
        except ValueError as error:
            raise GoneError(
                f"The package lists of Debian's suite '{archive.suite}' lack {error} for '{image.name}'.",
                hint="the archive is being updated; try again later.",
            ) from error
        content = hashlib.sha256("".join(part.sha256 for part in parts).encode()).hexdigest()[:12]
        folder = self._cache.path("kernels", f"{release}-{content}")
        with self._cache.lock(f"kernel-{folder.name}", waiting=self._progress, stop=self._stop):
            if verified(folder):
                return folder
            with self._cache.temporary() as work, self._cache.telling():
                debs, made = work / "debs", work / "kernel"
                debs.mkdir()
                made.mkdir()
                files = self._download(parts, debs, archive)
                self._say(f"unpacking {release}")
                try:
                    unpack(files, work / "scratch", made, release, self._stop)
                except ToolError as failed:
                    raise self._not_unpacked(failed, release) from failed
                make_record(parts, made)
                self._cache.publish(made, folder)
        return folder

    def _download(self, parts: list[Package], debs: Path, archive: Archive) -> list[Path]:
        total = sum(part.size for part in parts)

        def watch() -> None:
            there = sum(file.stat().st_size for file in debs.iterdir())
            self._say(f"downloading {release_of(parts[0])}, {there // _MEGABYTE} of {total // _MEGABYTE} MB")

        files = archive.download(parts, debs, watch)
        if sorted(digest(file) for file in files) != sorted(part.sha256 for part in parts):
            raise SetupError(
                f"What the mirror sent for '{parts[0].name}' is not what its package lists promise.",
                hint="try again; the mirror may be in the middle of an update.",
            )
        return files

    def _not_unpacked(self, failed: ToolError, release: str) -> SetupError:
        if failed.disk_full:
            return disk_full(self._cache.root)
        return SetupError(
            f"The packages of kernel '{release}' cannot be unpacked: {failed.tool} says: {failed.reason}.",
            hint="fetch the kernel again.",
        )

    def _say(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self._progress(f"{self._entry.id}: {text}")
