"""What apt says, and what is made of it: the newest match, its parts, the mirror."""

import pytest

from fsyncgate.errors import SetupError, UsageError
from fsyncgate.kernels.catalogue import Entry
from fsyncgate.kernels.mirror import checked_mirror, choose_mirror, host_settings, mirror_of
from fsyncgate.kernels.packages import (
    Package,
    holder_of_image,
    newest_first,
    parse_show,
    parts_of,
    release_of,
    wanted,
)
from fsyncgate.kernels.run import ToolError
from fsyncgate.kernels.versions import parse, upstream

SHOWN = """\
Package: linux-image-6.1.0-50-cloud-amd64
Source: linux-signed-amd64 (6.1.176+1)
Version: 6.1.176-1
Depends: kmod, linux-base (>= 4.3~)
Filename: pool/main/l/linux-signed-amd64/linux-image-6.1.0-50-cloud-amd64_6.1.176-1_amd64.deb
Size: 26000000
SHA256: aa
Description: Linux 6.1 for x86-64 cloud (signed)
 Depends: this line belongs to the description.

Package: linux-image-6.1.0-47-cloud-amd64
Version: 6.1.9-1
Filename: x
Size: 25000000
SHA256: bb

Package: linux-image-installed-by-hand
Status: install ok installed
Version: 1
"""

NAMES = """
linux-image-7.2.13+deb14-cloud-amd64 linux-image-7.2.13+deb14-cloud-amd64-dbg linux-image-cloud-amd64
linux-image-6.1.0-50-cloud-amd64-unsigned linux-image-7.2.13+deb14-amd64 linux-image-7.2.13+deb14-rt-amd64
linux-binary-7.2.13+deb14-cloud-amd64 linux-modules-7.2.13+deb14-cloud-amd64 linux-libc-dev
linux-base-7.2.13+deb14-cloud-amd64 linux-headers-7.2.13+deb14-cloud-amd64 linux-image-6.1.0-50-cloud-amd64
linux-image-6.8-rc3-cloud-amd64 linux-image-7.3-cloud-amd64 linux-image-6.1.0-50-cloud-arm64
"""


def image(release: str, version: str, depends: str = "") -> Package:
    return Package(f"linux-image-{release}-cloud-amd64", version, f"sha-{release}", 1, depends)


def entry(series: str) -> Entry:
    return Entry("it", "bookworm", series, "cloud-amd64", False, False, "")


def by_upstream(first: str, second: str) -> int:
    """Stand in for dpkg, which a host without Debian's tools lacks."""
    a, b = parse(upstream(first)), parse(upstream(second))
    return (a > b) - (a < b)


def test_stanzas_with_a_file_are_read() -> None:
    assert parse_show(SHOWN) == [
        Package(
            "linux-image-6.1.0-50-cloud-amd64", "6.1.176-1", "aa", 26000000, "kmod, linux-base (>= 4.3~)"
        ),
        Package("linux-image-6.1.0-47-cloud-amd64", "6.1.9-1", "bb", 25000000),
    ]
    assert parse_show("") == []


def test_only_parts_of_kernels_of_the_flavour_are_wanted() -> None:
    assert wanted(NAMES.split(), "cloud-amd64") == [
        "linux-base-7.2.13+deb14-cloud-amd64",
        "linux-binary-7.2.13+deb14-cloud-amd64",
        "linux-image-6.1.0-50-cloud-amd64",
        "linux-image-6.8-rc3-cloud-amd64",
        "linux-image-7.2.13+deb14-cloud-amd64",
        "linux-image-7.3-cloud-amd64",
        "linux-modules-7.2.13+deb14-cloud-amd64",
    ]
    assert wanted(NAMES.split(), "amd64") == ["linux-image-7.2.13+deb14-amd64"]


def test_the_newest_of_the_series_comes_first() -> None:
    packages = [
        image("6.1.0-47", "6.1.9-1"),
        image("6.1.0-50", "6.1.176-1"),
        image("6.12.94", "6.12.94-1"),
        image("6.16-rc1", "6.16~rc1-1~exp1"),
        Package("linux-base-6.1.0-50-cloud-amd64", "6.1.200-1", "x", 1),
        image("odd", "2026-1"),
    ]

    def found(series: str) -> list[str]:
        return [package.version for package in newest_first(packages, entry(series), by_upstream)]

    assert found("6.1") == ["6.1.176-1", "6.1.9-1"]
    assert found("6.16") == ["6.16~rc1-1~exp1"]
    assert found("*") == ["6.16~rc1-1~exp1", "6.12.94-1", "6.1.176-1", "6.1.9-1"]
    assert found("5.10") == []


def test_a_base_package_beside_a_whole_image_package_has_none_of_its_files() -> None:
    one = image("6.18.15", "6.18.15-1", "kmod, linux-base-6.18.15-cloud-amd64 (= 6.18.15-1)")
    assert parts_of(one, [one]) == [one]


def test_up_to_6_18_a_kernel_is_one_package() -> None:
    one = image(
        "6.1.0-50",
        "6.1.176-1",
        "kmod, linux-base (>= 4.3~), initramfs-tools (>= 0.120) | linux-initramfs-tool",
    )
    assert parts_of(one, [one]) == [one]
    assert holder_of_image([one]) is one
    assert release_of(one) == "6.1.0-50-cloud-amd64"


def test_from_6_19_on_a_kernel_is_several() -> None:
    release, version = "7.2.13+deb14", "7.2.13-1"
    names = [f"linux-{part}-{release}-cloud-amd64" for part in ("base", "binary", "modules")]
    split = image(release, version, "dracut | x, " + ", ".join(f"{name} (= {version})" for name in names))
    others = [Package(name, version, "s", 1) for name in names]
    stale = Package(names[0], "7.2.12-1", "s", 1)
    assert parts_of(split, [stale, split, *others]) == [split, *others]
    assert holder_of_image(parts_of(split, [split, *others])).name == names[1]
    with pytest.raises(ValueError, match=r"'linux-base-.*' in version '7\.2\.13-1'"):
        parts_of(split, [split, stale])


def targets(*rows: tuple[str, str, str, str]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


UNKNOWN = "$(ORIGIN)"
"""What apt prints where it has no Release file."""


def test_the_mirror_is_that_of_the_main_archive() -> None:
    text = targets(
        ("http://vendor.example/deb/", "stable", "main", "Vendor"),
        ("http://mirror.example/debian-security/", "bookworm-security", "main", "Debian"),
        ("http://mirror.example/debian/", "trixie", "main", "Debian"),
        ("http://near.example/debian/", "bookworm", "main", "Debian"),
        ("http://near.example/debian/", "bookworm-updates", "main", "Debian"),
        ("http://near.example/debian/", "bookworm", "non-free", "Debian"),
    )
    assert mirror_of(text, "bookworm") == "http://near.example/debian/"
    assert mirror_of(text, "forky") == "http://mirror.example/debian/"


def test_without_package_lists_the_address_tells_the_archive() -> None:
    text = targets(
        ("http://vendor.example/apt/", "bookworm", "main", UNKNOWN),
        ("http://vendor.example/debian/12/prod/", "bookworm", "main", UNKNOWN),
        ("http://mirror.example/debian/", "bookworm", "main", UNKNOWN),
    )
    assert mirror_of(text, "bookworm") == "http://mirror.example/debian/"


def test_ubuntus_mirror_is_none_of_debians() -> None:
    text = targets(("http://mirror.example/ubuntu/", "noble", "main", "Ubuntu"))
    assert mirror_of(text, "noble") is None
    assert mirror_of("", "noble") is None


def test_the_users_mirror_goes_before_the_hosts() -> None:
    assert choose_mirror({"FSYNCGATE_MIRROR": "http://m.example/debian"}) == "http://m.example/debian"


def test_a_host_without_a_debian_source_is_told_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_targets(*_arguments: str) -> str:
        return ""

    monkeypatch.setattr("fsyncgate.kernels.mirror._host", no_targets)
    with pytest.raises(SetupError, match="FSYNCGATE_MIRROR"):
        choose_mirror({})


@pytest.mark.parametrize(
    "given", ["mirror", "http://m.example/a debian", 'http://m.example/"', "[x]http://m"]
)
def test_what_is_no_mirror(given: str) -> None:
    with pytest.raises(UsageError, match="not the address of a mirror"):
        checked_mirror(given)


def test_the_host_lends_its_way_to_the_net_but_no_hooks_and_no_trust() -> None:
    dump = """\
APT::Update::Post-Invoke:: "rm -f /var/cache/apt/*.bin";
Acquire::http::Proxy "http://proxy.example:3128";
Acquire::https::CaInfo "/etc/ssl/company.pem";
Acquire::AllowInsecureRepositories "1";
Acquire::Check-Valid-Until "false";
Acquire::Languages:: "de";
DPkg::Pre-Invoke:: "mount -o remount,rw /";
"""
    assert host_settings(dump) == (
        'Acquire::http::Proxy "http://proxy.example:3128";\n'
        'Acquire::https::CaInfo "/etc/ssl/company.pem";\n'
        'Acquire::Check-Valid-Until "false";\n'
    )


def test_the_first_error_is_the_reason() -> None:
    stderr = "W: a warning\nE: Failed to fetch x  Could not resolve 'm'\nE: Some index files failed\n"
    assert ToolError("apt-get", 100, stderr).reason == "Failed to fetch x  Could not resolve 'm'"
    assert ToolError("depmod", 1, "depmod: ERROR: no\n").reason == "depmod: ERROR: no"
    assert ToolError("depmod", 7, "").reason == "status 7"
