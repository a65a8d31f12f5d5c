"""What the cache makes for itself: whole or made anew, and thrown away when nobody uses it."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fsyncgate.cache import Cache
from fsyncgate.errors import MachineLost, SetupError
from fsyncgate.shelf import KEPT, SEAL, UNUSED, Shelf, seal, whole


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


class Maker:
    """Makes a thing of two files, one of them with holes, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, folder: Path) -> None:
        self.times += 1
        (folder / "small").write_bytes(b"small")
        with (folder / "sparse").open("wb") as file:
            file.seek(1 << 20)
            file.write(b"in the middle")
            file.truncate(1 << 24)


def test_it_is_made_once(cache: Cache) -> None:
    make = Maker()
    first = Shelf(cache, "things").get("thing-1", make)
    assert Shelf(cache, "things").get("thing-1", make) == first
    assert make.times == 1
    assert (first / "small").read_bytes() == b"small"


def scratch(file: Path, at: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(b"X")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "lost": lambda folder: (folder / "small").unlink(),
    "changed": lambda folder: (folder / "small").write_bytes(b"smalL"),
    "cut": lambda folder: os.truncate(folder / "sparse", 1 << 23),
    "longer": lambda folder: os.truncate(folder / "sparse", 1 << 25),
    "scratched": lambda folder: scratch(folder / "sparse", 1 << 20),
    "hole-scratched": lambda folder: scratch(folder / "sparse", 1 << 22),
    "seal-lost": lambda folder: (folder / SEAL).unlink(),
    "seal-cut": lambda folder: (folder / SEAL).write_bytes(b"{"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_is_damaged_is_made_anew(cache: Cache, damage: Callable[[Path], object]) -> None:
    make, shelf = Maker(), Shelf(cache, "things")
    folder = shelf.get("thing-1", make)
    damage(folder)
    assert not whole(folder)
    assert shelf.get("thing-1", make) == folder
    assert make.times == 1, "it was looked at before"
    shelf.doubt("thing-1")
    shelf.get("thing-1", make)
    assert make.times == 2
    assert whole(folder)


def test_a_file_in_the_place_of_the_folder(cache: Cache) -> None:
    (cache.folder("things") / "thing-1").write_bytes(b"from another age")
    assert whole(Shelf(cache, "things").get("thing-1", Maker()))


def test_holes_do_not_matter(tmp_path: Path) -> None:
    """A copy may have zeroes where there were holes, and the other way round."""
    Maker()(tmp_path)
    seal(tmp_path)
    content = (tmp_path / "sparse").read_bytes()
    (tmp_path / "sparse").write_bytes(content)
    assert whole(tmp_path)


def test_what_cannot_be_made_leaves_nothing(cache: Cache) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_bytes(b"half")
        raise MachineLost("It did not come up.")

    with pytest.raises(MachineLost):
        Shelf(cache, "things").get("thing-1", fail)
    assert not list(cache.path("things").iterdir())
    assert not list(cache.path("tmp").iterdir())


def test_the_host_refuses(cache: Cache) -> None:
    def refuse(folder: Path) -> None:
        (folder / "no/such/folder").write_bytes(b"")

    with pytest.raises(SetupError, match="cannot be used: No such file or directory"):
        Shelf(cache, "things").get("thing-1", refuse)


def test_what_nobody_has_used_for_long_goes(cache: Cache) -> None:
    shelf, make = Shelf(cache, "things"), Maker()
    long_ago = time.time() - UNUSED - 60
    for number in range(KEPT + 3):
        folder = shelf.get(f"old-{number:02}", make)
        os.utime(folder, (long_ago - number, long_ago - number))
    shelf.get("old-10", make)  # used again
    shelf.get("new-1", make)
    there = sorted(folder.name for folder in cache.path("things").iterdir())
    assert there == ["new-1", "old-00", "old-01", "old-02", "old-03", "old-04", "old-05", "old-10"]
    assert len(there) == KEPT


def test_what_was_used_lately_stays(cache: Cache) -> None:
    shelf = Shelf(cache, "things")
    for number in range(KEPT + 3):
        shelf.get(f"thing-{number}", Maker())
    assert len(list(cache.path("things").iterdir())) == KEPT + 3
