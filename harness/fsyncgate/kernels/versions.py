"""Kernel versions and ranges of them, as `expected.toml` writes them: pure functions."""

import operator
import re
from collections.abc import Callable

from fsyncgate.errors import CatalogueError

Version = tuple[int, int, int, float]
"""Major, minor, patch, release candidate; a release proper sorts after all its candidates."""

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:-rc(\d+))?")
_PART = re.compile(r"(>=|<=|==|>|<)\s*(\S+)")
_OPERATORS: dict[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def parse(version: str) -> Version:
    """Parse `6.12`, `6.1.176` or `7.3-rc4`; a missing patch number is 0. ValueError for anything else."""
    found = _VERSION.fullmatch(version)
    if not found:
        raise ValueError(f"'{version}' is not a kernel version such as '6.12', '6.1.176' or '7.3-rc4'")
    major, minor, patch, candidate = found.groups()
    return int(major), int(minor), int(patch or 0), int(candidate) if candidate else float("inf")


def matches(version: str, ranges: tuple[str, ...]) -> bool:
    """Say whether `version` is in any of `ranges`; with no ranges at all it is.

    A range is one or more of `>= > < <= ==` with a version, separated by commas, all of which must hold:
    `">=5.10,<6.0"`. `==6.1` is 6.1.0 alone; the whole series is `>=6.1,<6.2`, without 6.2's candidates
    `>=6.1,<6.2-rc1`. CatalogueError for a broken range.
    """
    own = parse(version)
    verdicts = [_within(own, text) for text in ranges]  # all are read, so that a broken one is found
    return not ranges or any(verdicts)


def _within(version: Version, text: str) -> bool:
    verdicts: list[bool] = []
    for part in text.split(","):
        found = _PART.fullmatch(part.strip())
        try:
            if not found:
                raise ValueError(f"'{part.strip()}' is not an operator (>= > < <= ==) and a version")
            verdicts.append(_OPERATORS[found[1]](version, parse(found[2])))
        except ValueError as error:
            raise CatalogueError(
                f"The version range '{text}' is broken: {error}.", hint="write it like '>=5.10,<6.0'."
            ) from error
    return all(verdicts)


def upstream(debian: str) -> str:
    """Take the kernel's version out of a Debian version or a release; ValueError if there is none.

    `6.1.176-1` -> `6.1.176`, `7.3~rc4-1~exp1` -> `7.3-rc4`, `7.2.13+deb14-cloud-amd64` -> `7.2.13`
    """
    found = re.match(r"(?:\d+:)?(\d+\.\d+(?:\.\d+)?)(?:[~-]rc(\d+))?(?![\d.])", debian)
    if not found:
        raise ValueError(f"'{debian}' does not begin with a kernel version")
    return f"{found[1]}-rc{found[2]}" if found[2] else found[1]
