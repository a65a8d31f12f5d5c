"""QEMU's command line: what it depends on, and what it does not."""

import shlex
from dataclasses import replace
from itertools import pairwise

import pytest

from fsyncgate.machine.argv import CPU, DISK, DISK_ID, QEMU, SPARE, Boot, by_hand, command

BOOT = Boot(
    kernel="/cache/vmlinuz",
    initramfs="/cache/initramfs.cpio",
    accelerator="tcg",
    memory="/cache/memory",
    private=False,
    disk="/cache/image",
    second="/cache/second",
    console="/run/console.log",
    agent_fd=7,
    monitor_fd=9,
)


def values(arguments: list[str], option: str) -> list[str]:
    """Return what follows each `option`."""
    return [value for name, value in pairwise(arguments) if name == option]


def settings(arguments: list[str], option: str, beginning: str) -> dict[str, str]:
    """Return the settings of the one `option` that begins so: `if=none,id=disk` as a dictionary."""
    (found,) = [value for value in values(arguments, option) if value.startswith(beginning)]
    return dict(setting.split("=", 1) for setting in found.split(",")[1:])


def test_a_machine_has_nothing_but_what_it_was_given() -> None:
    arguments = command(BOOT)
    assert arguments[0] == QEMU
    assert {"-nodefaults", "-no-user-config", "-no-reboot"} <= set(arguments)
    assert values(arguments, "-kernel") == ["/cache/vmlinuz"]
    assert values(arguments, "-initrd") == ["/cache/initramfs.cpio"]
    assert values(arguments, "-smp") == ["1"]


def test_the_sockets_are_inherited_and_the_console_is_appended_to() -> None:
    arguments = command(BOOT)
    assert settings(arguments, "-chardev", "socket,id=agent")["fd"] == "7"
    assert settings(arguments, "-chardev", "socket,id=monitor")["fd"] == "9"
    assert settings(arguments, "-chardev", "file,id=console") == {
        "id": "console",
        "path": "/run/console.log",
        "append": "on",
    }


def test_what_is_written_to_the_disk_is_thrown_away_and_its_errors_reach_the_guest() -> None:
    arguments = command(BOOT)
    drive = settings(arguments, "-drive", f"if=none,id={DISK_ID}")
    assert (drive["file"], drive["snapshot"], drive["format"]) == ("/cache/image", "on", "raw")
    device = settings(arguments, "-device", f"virtio-blk-pci,id={DISK_ID}")
    assert (device["werror"], device["rerror"], device["write-cache"]) == ("report", "report", "on")
    assert device["serial"] == "fsyncgate"
    assert device["share-rw"] == "on"  # the harness writes beside the guest, to make QEMU flush


def test_a_machine_that_will_be_saved_shares_its_memory_and_one_that_is_restored_does_not() -> None:
    booted, restored = command(BOOT), command(replace(BOOT, private=True))
    memory = "memory-backend-file"
    assert settings(booted, "-object", memory)["share"] == "on"
    assert settings(restored, "-object", memory)["share"] == "off"
    assert values(booted, "-incoming") == []
    assert values(restored, "-incoming") == ["defer"]


def test_a_machine_and_its_restored_copy_have_the_same_hardware() -> None:
    booted, restored = command(BOOT), command(replace(BOOT, private=True, disk=None, second=None))
    for option in ("-machine", "-cpu", "-smp", "-m", "-append"):
        assert values(booted, option) == values(restored, option)
    assert values(booted, "-device") == values(restored, "-device")


def test_without_an_image_the_disk_has_the_same_size_and_reads_as_zeros() -> None:
    arguments = command(replace(BOOT, disk=None, second=None))
    assert values(arguments, "-drive") == []
    blank = settings(arguments, "-blockdev", f"driver=null-co,node-name={DISK_ID}")
    assert (blank["size"], blank["read-zeroes"]) == (str(DISK), "on")


@pytest.mark.parametrize("accelerator", CPU)
def test_the_processor_belongs_to_the_accelerator(accelerator: str) -> None:
    arguments = command(replace(BOOT, accelerator=accelerator))
    assert values(arguments, "-accel") == [accelerator]
    assert values(arguments, "-cpu") == [CPU[accelerator]]


def test_a_comma_in_a_path_is_written_twice_where_commas_separate() -> None:
    arguments = command(
        replace(BOOT, memory="/a,b/memory", disk="/a,b/image", console="/a,b/log", kernel="/a,b/vmlinuz")
    )
    assert "mem-path=/a,,b/memory," in " ".join(arguments)
    assert "file=/a,,b/image," in " ".join(arguments)
    assert "path=/a,,b/log," in " ".join(arguments)
    assert values(arguments, "-kernel") == ["/a,b/vmlinuz"]


def test_the_same_boot_gives_the_same_line_on_every_host() -> None:
    assert command(BOOT) == command(replace(BOOT))


def test_by_hand_the_same_machine_is_on_the_terminal_and_inherits_nothing() -> None:
    line = by_hand(
        kernel="/my kernels/vmlinuz",
        initramfs="/cache/initramfs.cpio",
        accelerator="tcg",
        disk="/cache/image",
        second="/cache/second",
    )
    arguments = shlex.split(line)
    assert values(arguments, "-kernel") == ["/my kernels/vmlinuz"]
    assert values(arguments, "-serial") == ["mon:stdio"]
    assert values(arguments, "-device") == values(command(BOOT), "-device")
    assert "fd=" not in line
    assert "\n" not in line


def test_the_spare_end_of_the_disk_is_whole_sectors() -> None:
    assert SPARE % 512 == DISK % 512 == 0
    assert SPARE < DISK
