"""What the guests boot: the agent, and the modules it loads in order."""

import gzip
import lzma
import subprocess
from pathlib import Path

import pytest

from fsyncgate.images.initramfs import build, load_order

DEP = """\
kernel/fs/ext4/ext4.ko: kernel/fs/mbcache.ko kernel/fs/jbd2/jbd2.ko kernel/lib/crc16.ko
kernel/fs/jbd2/jbd2.ko:
kernel/fs/mbcache.ko:
kernel/lib/crc16.ko:
kernel/fs/btrfs/btrfs.ko.xz: kernel/lib/raid6_pq.ko.xz kernel/crypto/xor.ko.xz kernel/lib/libcrc32c.ko.xz
kernel/crypto/xor.ko.xz:
kernel/lib/raid6_pq.ko.xz:
kernel/lib/libcrc32c.ko.xz: kernel/crypto/crc32c_generic.ko.xz
kernel/crypto/crc32c_generic.ko.xz:
kernel/drivers/md/dm-mod.ko:
kernel/drivers/md/dm-flakey.ko: kernel/drivers/md/dm-mod.ko
"""


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    folder = tmp_path / "lib" / "modules" / "6.1.0-50-cloud-amd64"
    folder.mkdir(parents=True)
    (folder / "modules.dep").write_text(DEP)
    return folder


def names(modules: Path, wanted: list[str]) -> list[str]:
    found = load_order(modules, wanted)
    assert all(file.is_relative_to(modules) for file in found)
    return [file.name.partition(".")[0] for file in found]


def test_a_module_comes_after_what_it_depends_on(modules: Path) -> None:
    # modules.dep names what is needed last first.
    assert names(modules, ["ext4"]) == ["crc16", "jbd2", "mbcache", "ext4"]


def test_what_is_needed_is_brought_with_what_that_needs(modules: Path) -> None:
    assert names(modules, ["btrfs"]) == ["crc32c_generic", "libcrc32c", "xor", "raid6_pq", "btrfs"]


def test_nothing_is_loaded_twice_and_the_wish_keeps_its_order(modules: Path) -> None:
    assert names(modules, ["dm_flakey", "ext4", "dm_mod", "ext4"]) == [
        "dm-mod", "dm-flakey", "crc16", "jbd2", "mbcache", "ext4",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["dm-flakey", "dm_flakey"])
def test_hyphens_and_underscores_are_the_same(modules: Path, name: str) -> None:
    assert names(modules, [name]) == ["dm-mod", "dm-flakey"]


def test_what_is_built_in_or_missing_is_left_out(modules: Path) -> None:
    assert names(modules, ["virtio_blk", "xfs"]) == []


def test_every_wish_in_any_order_is_loaded_after_its_needs(modules: Path) -> None:
    needs = {row.partition(":")[0]: row.partition(":")[2].split() for row in DEP.splitlines()}
    order = [str(file.relative_to(modules)) for file in load_order(modules, ["btrfs", "dm_flakey", "ext4"])]
    assert sorted(order) == sorted(needs)
    for file in order:
        assert all(order.index(need) < order.index(file) for need in needs[file])


def contents(archive: Path, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    with archive.open("rb") as file:
        subprocess.run(["cpio", "-i", "--quiet", "-d"], cwd=folder, stdin=file, check=True)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_initramfs_holds_the_agent_the_modules_unpacked_and_their_list(
    modules: Path, tmp_path: Path
) -> None:
    for name, content in (
        ("kernel/crypto/crc32c_generic.ko.xz", lzma.compress(b"crc32c")),
        ("kernel/lib/libcrc32c.ko.xz", lzma.compress(b"libcrc32c")),
        ("kernel/drivers/md/dm-mod.ko", b"dm-mod"),
    ):
        (modules / name).parent.mkdir(parents=True, exist_ok=True)
        (modules / name).write_bytes(content)
    agent = tmp_path / "agent"
    agent.write_bytes(b"\x7fELF")

    build(agent, modules, ["libcrc32c", "dm_mod"], tmp_path / "a.cpio")

    assert contents(tmp_path / "a.cpio", tmp_path / "a") == {
        "init": b"\x7fELF",
        "modules.list": (b"/modules/00-crc32c_generic.ko\n/modules/01-libcrc32c.ko\n/modules/02-dm_mod.ko\n"),
        "modules/00-crc32c_generic.ko": b"crc32c",
        "modules/01-libcrc32c.ko": b"libcrc32c",
        "modules/02-dm_mod.ko": b"dm-mod",
    }


def test_a_kernel_with_everything_built_in_needs_no_modules(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_bytes(b"\x7fELF")
    build(agent, None, ["ext4"], tmp_path / "a.cpio")
    assert contents(tmp_path / "a.cpio", tmp_path / "a") == {"init": b"\x7fELF", "modules.list": b""}


def test_the_same_input_gives_the_same_bytes(modules: Path, tmp_path: Path) -> None:
    file = modules / "kernel/drivers/md/dm-mod.ko"
    file.parent.mkdir(parents=True)
    file.write_bytes(gzip.compress(b"dm-mod"))
    agent = tmp_path / "agent"
    agent.write_bytes(b"\x7fELF")
    for name in ("a.cpio", "b.cpio"):
        build(agent, modules, ["dm_mod"], tmp_path / name)
    assert (tmp_path / "a.cpio").read_bytes() == (tmp_path / "b.cpio").read_bytes()
