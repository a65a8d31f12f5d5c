"""How values, names and places are written in every report."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import product
from typing import Any

import msgspec

from fsyncgate.model import Result

Place = tuple[str, str]
"""A kernel's id and a file system's."""


def pairs(values: Mapping[str, Any] | None) -> str:
    """Write observations as `heard=9, data=OLD`."""
    if not values:
        return "nothing"
    return visible(", ".join(f"{name}={_value(value)}" for name, value in values.items()))


def differing(result: Result) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return those entries of `observed` and `expected` that differ; all of them if none does."""
    expected = result.expected or {}
    names = [name for name, value in expected.items() if result.observed.get(name, _nothing) != value]
    if not names:
        return result.observed, expected
    return {name: result.observed[name] for name in names if name in result.observed}, {
        name: expected[name] for name in names
    }


def first_line(reason: str) -> str:
    """Return the first line of a reason, without its full stop."""
    line = " ".join(reason.strip().partition("\n")[0].split())
    return visible(line).rstrip(".") or "no reason was given"


def visible(text: str) -> str:
    r"""Write what a terminal would obey, or could not show, as `\x1b`: reasons quote guests' consoles."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Return a key that sorts `linux-5.4` before `linux-5.10` before `linux-6.1`."""
    return tuple(
        (0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", name) if part
    )


def sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    """Sort names by their numbers."""
    return tuple(sorted(names, key=natural))


def listed(names: Sequence[str], last: str = "and") -> str:
    """Write `a, b and c`."""
    return f" {last} ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def scope(places: Iterable[Place], all_places: Iterable[Place]) -> str:
    """Say where: `on every kernel and file system here`, `on linux-5.10 with xfs`.

    "Every" means every one among `all_places`. What needs two parts ends with a comma:
    `on every kernel here with xfs, and on linux-5.10 with btrfs,`.
    """
    everywhere = set(all_places)
    kernels = {kernel for kernel, _ in everywhere}
    filesystems = {filesystem for _, filesystem in everywhere}
    blocks = [_block(on, of, kernels, filesystems) for on, of in _rectangles(set(places) & everywhere)]
    return f"{', and '.join(blocks)}," if len(blocks) > 1 else "".join(blocks)


class _Nothing:
    pass


_nothing = _Nothing()


def _value(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return value if isinstance(value, str) and re.fullmatch(r"[\w./+-]+", value) else text


def _rectangles(places: Set[Place]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Cover the places by few products of kernels and file systems, the largest first."""
    filesystems: defaultdict[str, set[str]] = defaultdict(set)
    kernels: defaultdict[str, set[str]] = defaultdict(set)
    for kernel, filesystem in places:
        filesystems[kernel].add(filesystem)
        kernels[filesystem].add(kernel)
    largest = [
        (sorted_names(kernel for kernel in filesystems if of <= filesystems[kernel]), sorted_names(of))
        for of in filesystems.values()
    ] + [
        (sorted_names(on), sorted_names(filesystem for filesystem in kernels if on <= kernels[filesystem]))
        for on in kernels.values()
    ]
    largest.sort(key=lambda block: (-len(block[0]), [[natural(name) for name in side] for side in block]))
    rectangles: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    left = set(places)
    while left:
        on, of = max(largest, key=lambda block: len(left & set(product(*block))))
        new = left & set(product(on, of))
        left -= new
        new_on = tuple(kernel for kernel in on if any(kernel == one for one, _ in new))
        new_of = tuple(filesystem for filesystem in of if any(filesystem == one for _, one in new))
        rectangles.append((new_on, new_of))
    return rectangles


def _block(on: tuple[str, ...], of: tuple[str, ...], kernels: set[str], filesystems: set[str]) -> str:
    every_kernel = len(kernels) > 1 and set(on) == kernels
    every_filesystem = set(of) == filesystems
    if every_kernel and every_filesystem:
        return "on every kernel and file system here" if len(filesystems) > 1 else "on every kernel here"
    where = "on every kernel here" if every_kernel else f"on {listed(on)}"
    if not every_filesystem:
        return f"{where} with {listed(of)}"
    return f"{where} with every file system here" if len(filesystems) > 1 else f"{where} with {of[0]}"
