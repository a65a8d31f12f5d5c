"""Which commits a result cites, and which of them lie between two kernels."""

import re
from dataclasses import dataclass

from fsyncgate.kernels.versions import Version, parse
from fsyncgate.model import Result
from fsyncgate.report.phrases import listed

_CITED = re.compile(r'(?P<text>[0-9a-f]{12,40} \(".+?"\) \(in (?P<versions>v[^)]+)\))')


@dataclass(frozen=True)
class Commit:
    """A change of the kernel, as `expected.toml` cites it."""

    text: str
    """`0123abcd4567 ("subject") (in v6.15, v6.12.31)`"""
    versions: tuple[str, ...]
    """The releases that have it: the one of the main line, and those of stable series."""

    def is_in(self, version: str) -> bool:
        """Tell whether a kernel has it: by a backport to its series, or from the main line."""
        own = parse(version)
        releases = [parse(one) for one in self.versions]
        backports = [one for one in releases if _is_stable(one)]
        return any(own >= one and own[:2] == one[:2] for one in backports) or any(
            own >= one for one in releases if one not in backports
        )


def cited(result: Result) -> list[Commit]:
    """Return the commits that a result's `because` cites."""
    return [
        Commit(found["text"], tuple(one.strip().removeprefix("v") for one in found["versions"].split(",")))
        for found in _CITED.finditer(result.because)
    ]


def between(a: Result, b: Result) -> list[Commit]:
    """Return the commits cited by either that one of the two kernels has and the other has not."""
    commits = dict.fromkeys([*cited(a), *cited(b)])
    try:
        return [one for one in commits if one.is_in(a.kernel.version) != one.is_in(b.kernel.version)]
    except ValueError:  # a kernel of the user's own, or a result that knows none
        return []


def changed_by(a: Result, b: Result) -> str:
    """Say which commit made the difference between two kernels; empty if they are of one version."""
    if a.kernel.version == b.kernel.version:
        return ""
    commits = between(a, b)
    return f"changed by {listed([one.text for one in commits])}" if commits else NO_COMMIT


NO_COMMIT = "no commit is known for this"


def _is_stable(version: Version) -> bool:
    """Tell 6.12.31, a stable release, from 6.12 and from 2.6.37, which are the main line's."""
    return version[2] > 0 and version[0] > 2
