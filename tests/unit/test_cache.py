"""The cache: where it is, and that nothing half-made is ever seen in it."""

import errno
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fsyncgate.cache import Cache, Stopped, disk_error
from fsyncgate.errors import SetupError

HOLD_A_TEMPORARY_FOLDER_AND_DIE = """
import os, sys
from pathlib import Path
from fsyncgate.cache import Cache
with Cache(Path(sys.argv[1])).temporary() as work:
    (work / "half").write_text("half")
    os._exit(9)
"""


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_the_user_can_move_it() -> None:
    home = Path.home() / ".cache/fsyncgate"
    assert Cache.from_environment({"FSYNCGATE_CACHE": "/big/disk", "XDG_CACHE_HOME": "/x"}).root == Path(
        "/big/disk"
    )
    assert Cache.from_environment({"FSYNCGATE_CACHE": "here"}).root == Path.cwd() / "here"
    assert Cache.from_environment({"XDG_CACHE_HOME": "/x"}).root == Path("/x/fsyncgate")
    assert Cache.from_environment({"XDG_CACHE_HOME": "relative/is/ignored"}).root == home
    assert Cache.from_environment({}).root == home


def test_a_folder_is_seen_whole_or_not_at_all(cache: Cache) -> None:
    final = cache.path("kernels", "one")
    with cache.temporary() as work:
        made = work / "made"
        made.mkdir()
        (made / "a").write_text("new")
        assert not final.exists()
        cache.publish(made, final)
    assert (final / "a").read_text() == "new"
    assert not list(cache.path("tmp").iterdir())


def test_a_damaged_folder_is_replaced(cache: Cache) -> None:
    final = cache.folder("kernels", "one")
    (final / "broken").touch()
    with cache.temporary() as work:
        (work / "made").mkdir()
        cache.publish(work / "made", final)
    assert not list(final.iterdir())


def test_a_small_file_is_replaced(cache: Cache) -> None:
    for content in (b"first", b"second"):
        cache.write(cache.path("folder", "file"), content)
    assert cache.path("folder", "file").read_bytes() == b"second"


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError])
def test_what_an_exception_interrupts_leaves_nothing(cache: Cache, end: type[BaseException]) -> None:
    def interrupted() -> None:
        with cache.temporary() as work:
            (work / "half").touch()
            raise end

    with pytest.raises(end):
        interrupted()
    assert not list(cache.path("tmp").iterdir())


def test_the_leavings_of_the_dead_are_swept_and_those_of_the_living_kept(cache: Cache) -> None:
    subprocess.run([sys.executable, "-c", HOLD_A_TEMPORARY_FOLDER_AND_DIE, str(cache.root)], check=False)
    (dead,) = cache.path("tmp").iterdir()
    with cache.temporary() as living:
        assert not dead.exists()
        cache.sweep()
        assert living.exists()


def test_a_lock_has_one_holder_at_a_time(cache: Cache) -> None:
    waits, ended = threading.Event(), threading.Event()

    def second() -> None:
        with cache.lock("it", waiting=lambda _text: waits.set()):
            ended.set()

    thread = threading.Thread(target=second)
    with cache.lock("it"), cache.lock("another"):
        thread.start()
        assert waits.wait(10)
        assert not ended.is_set()
    thread.join()
    assert ended.is_set()


def test_waiting_for_a_lock_can_be_stopped(cache: Cache) -> None:
    stop = threading.Event()
    with (
        cache.lock("it"),
        pytest.raises(Stopped),
        cache.lock("it", waiting=lambda _text: stop.set(), stop=stop),
    ):
        pass


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "The disk below '/c' is full."),
        (errno.EROFS, "The cache '/c' is on a file system that is mounted read-only."),
        (errno.EACCES, "The cache '/c' may not be written by this user."),
        (errno.EIO, "The cache '/c' cannot be used: Input/output error."),
    ],
)
def test_what_the_disk_says_becomes_a_sentence(number: int, sentence: str) -> None:
    error = disk_error(OSError(number, "Input/output error"), Path("/c"))
    assert error.message == sentence
    assert "FSYNCGATE_CACHE" in error.hint


def test_a_file_where_the_cache_should_be_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(SetupError, match="cannot be used"):
        Cache(tmp_path / "cache").folder("kernels")
