"""A private root for apt: package lists and packages of one Debian suite, checked, with nothing installed.

The host lends its mirror, its proxy settings and the archive's keyring; its hooks, preferences, sources and
the list of installed packages stay out. Needs no root.
"""

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from fsyncgate.cache import Cache, disk_full
from fsyncgate.errors import FsyncgateError, SetupError
from fsyncgate.kernels.mirror import KEYRING, check_keyring, choose_mirror, host_acquire
from fsyncgate.kernels.packages import Package, parse_show
from fsyncgate.kernels.run import ToolError, run, tool

_CONF = """\
Dir "{root}";
Dir::State "state";
Dir::State::status "{root}/status";
Dir::Cache "cache";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc "etc";
Dir::Etc::sourcelist "{root}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::trusted "/dev/null";
Dir::Etc::trustedparts "/dev/null";
Dir::Log "log";
APT::Architecture "amd64";
APT::Architectures:: "amd64";
APT::Update::Error-Mode "any";
Acquire::Retries "3";
Acquire::Languages "none";
Acquire::PDiffs "false";
Acquire::GzipIndexes "true";
{host}\
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
{sandbox}\
"""


class GoneError(FsyncgateError):
    """The package lists name a file that the mirror has no more, as those of backports do now and then."""


class Archive:
    """One suite: a private root below `<cache>/apt/<suite>`, to be used under the lock `apt-<suite>`."""

    def __init__(
        self,
        suite: str,
        cache: Cache,
        *,
        environ: Mapping[str, str] = os.environ,
        stop: threading.Event | None = None,
    ) -> None:
        """Lay out the root. SetupError if this host lacks a mirror, the keys, or apt itself."""
        self.suite, self._cache, self._stop = suite, cache, stop
        check_keyring()
        self.mirror = choose_mirror(environ)
        self._root = root = cache.path("apt", suite)
        if '"' in str(root) or "\n" in str(root):
            raise SetupError(
                f"The cache's path '{cache.root}' has a character that apt cannot take.",
                hint="set FSYNCGATE_CACHE to a path without quotation marks.",
            )
        for folder in ("state/lists/partial", "cache/archives/partial", "etc", "log"):
            cache.folder("apt", suite, folder)
        conf = _CONF.format(
            root=root,
            host=host_acquire(),
            sandbox='APT::Sandbox::User "root";\n' if os.geteuid() == 0 else "",
        )
        with cache.telling():
            (root / "status").touch()
            (root / "apt.conf").write_text(conf, encoding="utf-8")
            (root / "sources.list").write_text(
                f"deb [arch=amd64 signed-by={KEYRING}] {self.mirror} {suite} main\n", encoding="utf-8"
            )
        self._environ = {**environ, "APT_CONFIG": str(root / "apt.conf")}

    def _apt(
        self, name: str, *arguments: str, cwd: Path | None = None, watch: Callable[[], None] = lambda: None
    ) -> str:
        try:
            output, _ = run(
                [tool(name, "apt"), *arguments],
                environ=self._environ,
                cwd=cwd or self._root,
                stop=self._stop,
                watch=watch,
            )
        except ToolError as failed:
            if failed.disk_full:
                raise disk_full(self._cache.root) from failed
            raise
        return output

    def update(self) -> None:
        """Bring the lists up to date; only what changed is downloaded. SetupError gives apt's reason."""
        try:
            self._apt("apt-get", "update")
        except ToolError as failed:
            raise SetupError(
                f"The package lists of Debian's suite '{self.suite}' could not be fetched from the mirror "
                f"'{self.mirror}': {failed.reason}.",
                hint="look at the network, the proxy and FSYNCGATE_MIRROR; a suite that Debian has archived "
                "needs a mirror of the archive.",
            ) from failed

    def names(self) -> list[str]:
        """Return the names of all packages in the lists that begin with `linux-`."""
        return self._read("pkgnames", "linux-").split()

    def show(self, names: list[str]) -> list[Package]:
        """Return what the lists say of these packages, in all versions that they carry."""
        return parse_show(self._read("show", "--", *names)) if names else []

    def _read(self, *arguments: str) -> str:
        try:
            return self._apt("apt-cache", *arguments)
        except ToolError as failed:
            raise SetupError(
                f"The package lists of Debian's suite '{self.suite}' cannot be read: {failed.reason}.",
                hint=f"remove the folder '{self._root}' and try again.",
            ) from failed

    def download(self, packages: list[Package], into: Path, watch: Callable[[], None]) -> list[Path]:
        """Download packages, each checked against its digest in the signed lists. GoneError after a 404."""
        try:
            self._apt(
                "apt-get",
                "download",
                *(f"{package.name}={package.version}" for package in packages),
                cwd=into,
                watch=watch,
            )
        except ToolError as failed:
            names = ", ".join(f"'{package.name}'" for package in packages)
            sentence = f"The download of {names} from the mirror '{self.mirror}' failed: {failed.reason}."
            kind = GoneError if " 404 " in failed.stderr else SetupError
            raise kind(sentence, hint="look at the network, and try again.") from failed
        return sorted(into.glob("*.deb"))


def compare_versions(first: str, second: str) -> int:
    """Order two Debian versions as dpkg does: below, at or above 0."""
    dpkg = tool("dpkg", "dpkg")
    for relation, result in (("lt", -1), ("eq", 0)):
        try:
            run([dpkg, "--compare-versions", first, relation, second])
        except ToolError:
            continue
        return result
    return 1
