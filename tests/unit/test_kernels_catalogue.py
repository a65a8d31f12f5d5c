"""vms/kernels.toml, and what --kernel may name."""

import struct
from pathlib import Path

import pytest

from fsyncgate.errors import CatalogueError, UsageError
from fsyncgate.kernels.catalogue import catalogue, choose
from fsyncgate.kernels.own import Own, read_header

GOOD = 'suite = "bookworm"\nseries = "6.1"\nabout = "Debian 12"\n'
OF_DEBIAN = (
    "6.1.0-50-cloud-amd64 (debian-kernel@example.org) #1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-02)"
)


def bzimage(
    text: str = "6.8.0-rc3-mine+ (me@here) #7 SMP", *, flags: int = 1, magic: bytes = b"HdrS"
) -> bytes:
    """Make the setup sectors of a bzImage that says `text`, and a body of 16 bytes."""
    header = bytearray(3 * 512)
    header[0x1F1] = 2  # setup sectors after the first
    struct.pack_into("<I", header, 0x1F4, 1)  # body, in units of 16 bytes
    header[0x202:0x206] = magic
    struct.pack_into("<H", header, 0x206, 0x020F)
    struct.pack_into("<H", header, 0x20E, 0x300)
    struct.pack_into("<H", header, 0x236, flags)
    header[0x500 : 0x500 + len(text) + 1] = text.encode() + b"\0"
    return bytes(header) + b"body of sixteen!"


def written(folder: Path, text: str) -> Path:
    file = folder / "kernels.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_our_catalogue_has_a_kernel_for_each_supported_debian() -> None:
    entries = catalogue()
    assert [entry.id for entry in entries.values() if entry.default] == [
        "linux-5.10",
        "linux-6.1",
        "linux-6.12",
        "linux-newest",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('["6.1"]\n' + GOOD + 'version = "6.1.176-1"\n', "unknown field `version`"),
        ('["6.1"]\nsuite = "bookworm"\nabout = ""\n', "missing required field `series`"),
        ('["6.1"]\n' + GOOD + "default = 1\n", r"Expected `bool`, got `int` - at `\$.default`"),
        ('["6.1"]\n' + GOOD.replace('"6.1"', '"6.1.176"'), r"at `\$.series`"),
        ('["6.1"]\n' + GOOD.replace("bookworm", "../x"), r"at `\$.suite`"),
        ("[6.1]\n" + GOOD, "The table '6' of"),
        ("x = 1\n", "Expected `object`, got `int`"),
        ('["../x"]\n' + GOOD, "The table '../x' of"),
        ('["6.1"\n', "is not valid TOML: .*line 1"),
    ],
)
def test_a_broken_catalogue_names_the_file_and_the_key(tmp_path: Path, text: str, said: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(CatalogueError, match=said) as caught:
        catalogue(file)
    assert str(file) in caught.value.message


def test_a_catalogue_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="cannot be read: No such file"):
        catalogue(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(CatalogueError, match="is not valid TOML"):
        catalogue(tmp_path / "bytes.toml")


def test_choose_by_name_each_once_in_the_users_order() -> None:
    assert [spec.id for spec in choose(["newest", "linux-6.1", "6.1"])] == ["linux-newest", "linux-6.1"]
    assert [spec.id for spec in choose([])] == [e.id for e in catalogue().values() if e.default]


def test_an_unknown_name_gets_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"There is no kernel '6\.99'\. Hint: known are 5\.10, 6\.1,"):
        choose(["6.99"])


def test_a_file_of_the_users_own(tmp_path: Path) -> None:
    file = tmp_path / "bzImage"
    file.write_bytes(bzimage())
    (own,) = choose([str(file)])
    assert isinstance(own, Own)
    assert own.id == f"bzImage-{own.sha256[:8]}"
    assert (own.release, own.version, own.modules) == ("6.8.0-rc3-mine+", "6.8.0-rc3", None)
    assert own.image == str(file)


def test_a_file_in_the_current_folder_needs_no_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bzImage").write_bytes(bzimage())
    monkeypatch.chdir(tmp_path)
    (own,) = choose(["bzImage"])
    assert isinstance(own, Own)
    assert own.image == str(tmp_path / "bzImage")


def test_debians_own_image_says_its_upstream_version() -> None:
    header = read_header(bzimage(OF_DEBIAN))
    assert (header.release, header.version) == ("6.1.0-50-cloud-amd64", "6.1.176")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a bzImage"),
        (b"\x7fELF" + bytes(5000), "not a bzImage"),
        (bzimage(magic=b"Hdrs"), "not a bzImage"),
        (bzimage(flags=0), "not a kernel for x86-64"),
        (bzimage()[:-1], "truncated: 1551 of at least 1552 bytes"),
        (bzimage("linux-next"), "names no version"),
    ],
)
def test_a_file_that_cannot_be_booted(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "bzImage").write_bytes(content)
    with pytest.raises(UsageError, match=said):
        choose([str(tmp_path / "bzImage")])


def test_a_path_that_is_not_there_or_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        choose([str(tmp_path / "none")])
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        choose([str(tmp_path)])


@pytest.mark.parametrize("given", ["", "lib/modules", "lib/modules/6.8.0-rc3-mine+"])
def test_modules_are_found_at_or_below_the_folder(tmp_path: Path, given: str) -> None:
    (tmp_path / "bzImage").write_bytes(bzimage())
    modules = tmp_path / "lib/modules/6.8.0-rc3-mine+"
    modules.mkdir(parents=True)
    (modules / "modules.dep").touch()
    (own,) = choose([str(tmp_path / "bzImage")], str(tmp_path / given))
    assert isinstance(own, Own)
    assert own.modules == str(modules)


def test_modules_of_another_release_or_without_their_index(tmp_path: Path) -> None:
    image = tmp_path / "bzImage"
    image.write_bytes(bzimage())
    other = tmp_path / "lib/modules/6.9.0"
    other.mkdir(parents=True)
    (other / "modules.dep").touch()
    with pytest.raises(UsageError, match=r"no modules for the kernel's release '6\.8\.0-rc3-mine\+'"):
        choose([str(image)], str(other))
    (tmp_path / "lib/modules/6.8.0-rc3-mine+").mkdir()
    with pytest.raises(UsageError, match=r"has no 'modules\.dep'"):
        choose([str(image)], str(tmp_path))


def test_modules_without_a_kernel_of_ones_own(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="belongs to no kernel of this run"):
        choose(["6.1"], str(tmp_path))
