"""Which mirror the packages come from: the user's word, else what the host's own apt uses."""

import platform
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from fsyncgate.errors import SetupError, UsageError
from fsyncgate.kernels.run import ToolError, run, tool

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""Where the package debian-archive-keyring puts the archive's keys, on Debian and on Ubuntu."""

_CLASSES = ("oldoldstable", "oldstable", "stable", "testing", "unstable")
_CODENAMES = ("bullseye", "bookworm", "trixie", "forky", "duke", "sid")
SUITES = frozenset((*_CLASSES, *_CODENAMES))
"""Names of suites that only Debian's main archive has in this meaning."""

_FIELDS = ("REPO_URI", "RELEASE", "COMPONENT", "ORIGIN")
TARGETS_FORMAT = "\t".join(f"$({field})" for field in _FIELDS)
"""Format of `apt-get indextargets` whose output `mirror_of` reads."""

_SCHEMES = ("http://", "https://", "file:/", "copy:/", "mirror+http", "mirror+file:/", "tor+http")


class _Target(msgspec.Struct, frozen=True):
    uri: str
    release: str
    component: str
    origin: str

    @property
    def known(self) -> bool:
        """Whether apt has the Release file; otherwise it leaves the field's name where its value belongs."""
        return not self.origin.startswith("$")

    def debian(self) -> bool:
        """Say whether this is Debian's main archive: by its Release file, else by its address."""
        if self.component != "main" or self.release not in SUITES:
            return False
        return self.origin == "Debian" if self.known else self.uri.rstrip("/").endswith("/debian")


def mirror_of(targets: str, codename: str) -> str | None:
    """Pick the mirror of Debian's main archive out of `apt-get indextargets`; the host's release first."""
    debian: list[_Target] = []
    for line in targets.splitlines():
        fields = line.split("\t")
        if len(fields) == len(_FIELDS) and (target := _Target(*fields)).debian():
            debian.append(target)
    debian.sort(key=lambda target: (not target.known, target.release != codename))
    return debian[0].uri if debian else None


def checked_mirror(given: str) -> str:
    """Check what FSYNCGATE_MIRROR holds; UsageError if apt could not use it."""
    if not given.startswith(_SCHEMES) or any(c.isspace() or c in '[]"' for c in given):
        raise UsageError(
            f"FSYNCGATE_MIRROR is '{given}', which is not the address of a mirror.",
            hint="it looks like http://HOST/debian.",
        )
    return given


def host_settings(dump: str) -> str:
    """Keep the lines of `apt-config dump` that say how to reach a mirror: proxies, certificates, dates.

    No hooks, and nothing that would take a package without a signature.
    """
    kept = ("Acquire::http", "Acquire::tor", "Acquire::ForceIPv", "Acquire::Retries")
    dates = ("Acquire::Check-Valid-Until", "Acquire::Check-Date", "Acquire::Max-FutureTime")
    return "".join(f"{line}\n" for line in dump.splitlines() if line.startswith((*kept, *dates)))


def choose_mirror(environ: Mapping[str, str]) -> str:
    """Return `$FSYNCGATE_MIRROR`, else the Debian mirror of this host's apt; SetupError if it has none."""
    if given := environ.get("FSYNCGATE_MIRROR"):
        return checked_mirror(given)
    # A container's image comes without package lists, and apt then keeps silent unless told not to look.
    for lists in ("--release-info", "--no-release-info"):
        targets = _host("apt-get", "indextargets", lists, "--format", TARGETS_FORMAT, "Created-By: Packages")
        if found := mirror_of(targets, _codename()):
            break
    else:
        raise SetupError(
            "This host's apt has no source that is Debian's main archive, and the kernels come from there.",
            hint="name a Debian mirror in FSYNCGATE_MIRROR, such as http://HOST/debian.",
        )
    return found


def host_acquire() -> str:
    """Return the host's own settings for reaching mirrors, as apt.conf lines."""
    return host_settings(_host("apt-config", "dump"))


def check_keyring() -> None:
    """SetupError if the keys that the package lists are checked with are not on this host."""
    if not KEYRING.is_file():
        raise SetupError(
            f"The keys of Debian's archive are not on this host ('{KEYRING}').",
            hint="install the package 'debian-archive-keyring'.",
        )


def _host(name: str, *arguments: str) -> str:
    try:
        return run([tool(name, "apt"), *arguments])[0]
    except ToolError as failed:
        raise SetupError(f"This host's apt configuration cannot be read: {failed.reason}.") from failed


def _codename() -> str:
    try:
        release: Iterable[tuple[str, str]] = platform.freedesktop_os_release().items()
    except OSError:
        return ""
    return dict(release).get("VERSION_CODENAME", "")
