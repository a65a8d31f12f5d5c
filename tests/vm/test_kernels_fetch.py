"""Kernels out of the real archive: both layouts, at once, interrupted, and damaged afterwards."""

import os
import threading
from pathlib import Path

import pytest

from fsyncgate.cache import Cache, Stopped
from fsyncgate.errors import SetupError
from fsyncgate.kernels import Prefetcher, catalogue, choose, fetch, recorded
from fsyncgate.kernels.own import read_header

pytestmark = pytest.mark.vm

NEEDED = ("ext4", "xfs", "btrfs", "dm-mod", "dm-flakey", "dm-delay", "virtio_blk", "virtio_console", "sd_mod")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "a cache")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("shared") / "cache")


@pytest.mark.parametrize("name", ["6.1", "newest"])
def test_either_layout_gives_an_image_and_its_modules(shared: Cache, name: str) -> None:
    (entry,) = choose([name])
    said: list[str] = []
    kernel = fetch(entry, shared, progress=said.append)

    header = read_header(Path(kernel.image).read_bytes())
    assert (header.release, header.version) == (kernel.release, kernel.version)
    assert kernel.modules
    modules = Path(kernel.modules)
    known = (modules / "modules.dep").read_text() + (modules / "modules.builtin").read_text()
    assert [module for module in NEEDED if f"/{module}.ko" not in known] == []
    assert any("downloading" in text for text in said)

    said.clear()
    assert fetch(entry, shared, progress=said.append) == kernel
    assert said == []


def test_many_ask_and_one_downloads(cache: Cache) -> None:
    entry = catalogue()["6.1"]
    said: list[str] = []
    threads = [
        threading.Thread(target=fetch, args=(entry, cache), kwargs={"progress": said.append})
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum("unpacking" in text for text in said) == 1
    assert recorded(entry, cache)


@pytest.mark.parametrize("damage", ["vmlinuz", "modules.dep", "kernel.json"])
def test_a_damaged_kernel_is_fetched_again(shared: Cache, damage: str) -> None:
    entry = catalogue()["6.1"]
    kernel = fetch(entry, shared)
    (file,) = Path(kernel.image).parent.rglob(damage)
    os.truncate(file, file.stat().st_size // 2)
    assert recorded(entry, shared) is None
    said: list[str] = []
    assert fetch(entry, shared, progress=said.append) == kernel
    assert "damaged" in said[0]


def test_a_fetch_that_is_stopped_leaves_nothing_half_done(cache: Cache) -> None:
    entry, stop = catalogue()["6.1"], threading.Event()

    def stop_at_download(text: str) -> None:
        if "downloading" in text:
            stop.set()

    with pytest.raises(Stopped):
        fetch(entry, cache, progress=stop_at_download, stop=stop)
    assert recorded(entry, cache) is None
    assert not list(cache.path("tmp").iterdir())


def test_prefetching_can_be_closed_at_once_and_taken_up_again(cache: Cache) -> None:
    specs = choose(["6.1"])
    with Prefetcher(specs, cache):
        pass
    with Prefetcher(specs, cache):
        kernel = fetch(specs[0], cache)
    assert Path(kernel.image).is_file()


def test_a_mirror_that_does_not_answer(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSYNCGATE_MIRROR", "http://127.0.0.1:9/debian")
    with pytest.raises(SetupError, match=r"suite 'bookworm' could not be fetched .*Connection refused"):
        fetch(catalogue()["6.1"], cache)
