"""A kernel of the user's own: what a bzImage says of itself, and the modules folder that fits it.

The header's layout is that of the x86 boot protocol (Documentation/arch/x86/boot.rst in the kernel's tree).
"""

import hashlib
import re
import struct
from pathlib import Path

import msgspec

from fsyncgate.errors import UsageError
from fsyncgate.kernels import versions

_SECTOR = 512
_SETUP_SECTORS, _SYSTEM_SIZE, _MAGIC = 0x1F1, 0x1F4, 0x202
_PROTOCOL, _VERSION_AT, _LOAD_FLAGS = 0x206, 0x20E, 0x236
_LOADS_64_BIT = 1


class Own(msgspec.Struct, frozen=True):
    """A bzImage that the user named."""

    id: str
    """`<file name>-<first 8 digits of its sha256>`"""
    image: str
    sha256: str
    release: str
    version: str
    modules: str | None


class Header(msgspec.Struct, frozen=True):
    """What the setup header of a bzImage says."""

    release: str
    """What `uname -r` will say."""
    version: str
    """The upstream version; Debian's images name it, others are taken at their release's word."""
    size: int
    """Bytes that the file must have at least."""


def read_header(image: bytes) -> Header:
    """Read the header of a bzImage; ValueError says what `image` is instead."""
    if len(image) < 2 * _SECTOR or image[_MAGIC : _MAGIC + 4] != b"HdrS":
        raise ValueError("it is not a bzImage (a compressed vmlinux, as 'make bzImage' leaves it)")
    (protocol,) = struct.unpack_from("<H", image, _PROTOCOL)
    (flags,) = struct.unpack_from("<H", image, _LOAD_FLAGS)
    if protocol < 0x020C or not flags & _LOADS_64_BIT:
        raise ValueError("it is not a kernel for x86-64")
    (system,) = struct.unpack_from("<I", image, _SYSTEM_SIZE)
    size = (image[_SETUP_SECTORS] + 1) * _SECTOR + system * 16
    if len(image) < size:
        raise ValueError(f"it is truncated: {len(image)} of at least {size} bytes are there")
    (at,) = struct.unpack_from("<H", image, _VERSION_AT)
    text = image[at + _SECTOR :].split(b"\0", 1)[0][:512].decode("ascii", "replace") if at else ""
    release = text.split(" ", 1)[0]
    debian = re.search(r" Debian (\S+)", text)
    try:
        return Header(release, versions.upstream(debian[1] if debian else release), size)
    except ValueError as error:
        raise ValueError(f"its header names no version: {error}") from error


def own_kernel(path: Path, modules: Path | None) -> Own:
    """Check a bzImage and the modules folder given with it; UsageError says what is wrong with them."""
    try:
        image = path.read_bytes()
    except OSError as error:
        raise UsageError(f"The kernel '{path}' cannot be read: {error.strerror}.") from error
    try:
        header = read_header(image)
    except ValueError as error:
        raise UsageError(f"The file '{path}' cannot be booted: {error}.") from error
    digest = hashlib.sha256(image).hexdigest()
    name = re.sub(r"[^A-Za-z0-9._+-]", "_", path.name)
    return Own(
        id=f"{name}-{digest[:8]}",
        image=str(path.absolute()),
        sha256=digest,
        release=header.release,
        version=header.version,
        modules=str(find_modules(modules, header.release)) if modules else None,
    )


def find_modules(given: Path, release: str) -> Path:
    """Find the modules of `release`: `given` itself or a folder below it. UsageError if there are none."""
    places = [given / "lib/modules" / release, given / "usr/lib/modules" / release, given / release]
    if given.resolve().name == release:
        places.append(given)
    for folder in places:
        if (folder / "modules.dep").is_file():
            return folder.absolute()
        if folder.is_dir():
            raise UsageError(
                f"The modules folder '{folder}' has no 'modules.dep'.",
                hint="run 'make modules_install' or depmod to make it.",
            )
    raise UsageError(
        f"The folder '{given}' holds no modules for the kernel's release '{release}'.",
        hint="give lib/modules/RELEASE or a folder above it, as 'make modules_install' leaves it.",
    )
