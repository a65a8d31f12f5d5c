"""What apt says of packages, and which of them make up a kernel: pure functions on text."""

import re
from collections.abc import Callable, Iterable
from functools import cmp_to_key

import msgspec

from fsyncgate.kernels import versions
from fsyncgate.kernels.catalogue import Entry


class Package(msgspec.Struct, frozen=True):
    """A stanza of a package list."""

    name: str
    version: str
    sha256: str
    size: int
    """Bytes of the .deb."""
    depends: str = ""


def parse_show(text: str) -> list[Package]:
    """Read the output of `apt-cache show`; stanzas that name no file are left out."""
    packages: list[Package] = []
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(re.findall(r"^([\w-]+): *(.*)$", stanza, re.MULTILINE))
        try:
            package = Package(
                name=fields["Package"],
                version=fields["Version"],
                sha256=fields["SHA256"],
                size=int(fields["Size"]),
                depends=fields.get("Depends", ""),
            )
        except KeyError:
            continue
        packages.append(package)
    return packages


def wanted(names: Iterable[str], flavour: str) -> list[str]:
    """Keep the names of packages that may be part of a kernel of that flavour.

    `linux-image-6.1.0-50-cloud-amd64` and its parts; no debug symbols, no unsigned or real-time kernels, none
    of the packages that only depend on the newest.
    """
    part = re.compile(rf"linux-(?:image|base|binary|modules)-\d[\w.+~]*(?:-rc\d+|-\d+)?-{re.escape(flavour)}")
    return sorted(name for name in set(names) if part.fullmatch(name))


def release_of(image: Package) -> str:
    """Return what `uname -r` says on that kernel: its package's name has it."""
    return image.name.removeprefix("linux-image-")


def newest_first(
    packages: Iterable[Package], entry: Entry, compare: Callable[[str, str], int]
) -> list[Package]:
    """Return the image packages of the entry's series, newest first; `compare` orders two Debian versions."""
    images: list[Package] = []
    for package in packages:
        if not package.name.startswith("linux-image-"):
            continue
        try:
            version = versions.upstream(package.version)
        except ValueError:
            continue
        if entry.series == "*" or f"{version}-".startswith((f"{entry.series}.", f"{entry.series}-")):
            images.append(package)

    def order(first: Package, second: Package) -> int:
        return compare(second.version, first.version)

    return sorted(images, key=cmp_to_key(order))


def parts_of(image: Package, packages: Iterable[Package]) -> list[Package]:
    """Return the packages that hold the files of a kernel, the image package first.

    Up to 6.18 that is the image package alone. From 6.19 on it is empty, and depends on `linux-base-...`,
    `linux-binary-...` and `linux-modules-...` of the same release and version, which have the files.
    ValueError names one that the list lacks.
    """
    by_key = {(package.name, package.version): package for package in packages}
    exact = re.compile(rf"(linux-[a-z]+-{re.escape(release_of(image))}) \(= {re.escape(image.version)}\)")
    names: list[str] = exact.findall(image.depends)
    parts = [image]
    if not any(name.startswith("linux-binary-") for name in names):
        return parts
    for name in names:
        if (name, image.version) not in by_key:
            raise ValueError(f"'{name}' in version '{image.version}'")
        parts.append(by_key[name, image.version])
    return parts


def holder_of_image(parts: list[Package]) -> Package:
    """Return the package with the bzImage: `linux-binary-...` where there is one, else the image package."""
    return next((part for part in parts if part.name.startswith("linux-binary-")), parts[0])
