"""The QEMU command line, as a pure function of what the machine shall be."""

import shlex
from dataclasses import dataclass

QEMU = "qemu-system-x86_64"

MEMORY = 512 * 2**20
"""Bytes of guest memory: kernels from 5.10 to 7.x run all scenarios in half a gigabyte."""

DISK = 512 * 2**20
"""Bytes of the disk that is broken: XFS wants 300 MiB at least."""

SPARE = 2**20
"""Bytes at the end of that disk that belong to no file system."""

DISK_ID = "broken-disk"
"""QEMU's name of the device."""

DISK_SERIAL = "fsyncgate"
"""The guest finds its disk by this serial: names such as `vda` may shuffle between boots."""

SECOND_ID, SECOND_SERIAL = "second-disk", "fsyncgate-second"
"""The same of a second disk, of the same size, which is never broken."""

BUS, SLOTS = "scsi", ("slot0", "slot1")
"""Where a case may plug in disks of its own: a SCSI bus, and PCI Express slots."""

PORT_NAME = "fsyncgate"
"""The virtio-serial port on which the agent speaks."""

COMMAND_LINE = "console=ttyS0 panic=-1 quiet no_timer_check"
"""`no_timer_check`: without it about one boot in 35 panics in setup_IO_APIC on a loaded host under TCG."""

CPU = {"tcg": "max,-cx16", "kvm": "host"}
"""`-cx16`: with the TCG of QEMU 7.2, kernels from 6.12 on crash at random after cmpxchg16b."""


@dataclass(frozen=True, kw_only=True)
class Boot:
    """What a machine is made of; paths are host paths, `*_fd` are inherited descriptors."""

    kernel: str
    initramfs: str
    accelerator: str
    memory: str
    """The file that holds the guest's memory."""
    private: bool
    """True: changes to the memory stay in this process, as a restored machine needs it."""
    disk: str | None
    """The image whose changes are thrown away; None: a disk that reads as zeros."""
    second: str | None
    """The same of the second disk."""
    console: str
    agent_fd: int
    monitor_fd: int


def command(boot: Boot) -> list[str]:
    """Return the argument list; a private memory waits for an incoming state."""
    share = "off" if boot.private else "on"
    return [
        *_hardware(boot.accelerator, boot.kernel, boot.initramfs),
        "-object", f"memory-backend-file,id=ram,size={MEMORY},mem-path={_quoted(boot.memory)},share={share}",
        "-machine", "memory-backend=ram",
        "-chardev", f"file,id=console,path={_quoted(boot.console)},append=on",
        "-serial", "chardev:console",
        "-chardev", f"socket,id=monitor,fd={boot.monitor_fd}",
        "-mon", "chardev=monitor,mode=control",
        "-chardev", f"socket,id=agent,fd={boot.agent_fd}",
        *_disk(DISK_ID, DISK_SERIAL, boot.disk),
        *_disk(SECOND_ID, SECOND_SERIAL, boot.second),
        *(["-incoming", "defer"] if boot.private else []),
    ]  # fmt: skip


def by_hand(*, kernel: str, initramfs: str, accelerator: str, disk: str, second: str) -> str:
    """Return a line for a shell that boots the same machine with its console on the terminal."""
    return shlex.join([
        *_hardware(accelerator, kernel, initramfs),
        "-serial", "mon:stdio",
        "-chardev", "socket,id=agent,path=agent.socket,server=on,wait=off",
        *_disk(DISK_ID, DISK_SERIAL, disk),
        *_disk(SECOND_ID, SECOND_SERIAL, second),
    ])  # fmt: skip


def _hardware(accelerator: str, kernel: str, initramfs: str) -> list[str]:
    return [
        QEMU,
        "-name", "fsyncgate",
        "-machine", "q35",
        "-accel", accelerator,
        "-cpu", CPU[accelerator],
        "-smp", "1",
        "-m", f"{MEMORY // 2**20}M",
        "-nodefaults",
        "-no-user-config",
        "-display", "none",
        "-no-reboot",
        "-kernel", kernel,
        "-initrd", initramfs,
        "-append", COMMAND_LINE,
        "-device", "virtio-serial-pci",
        "-device", f"virtserialport,chardev=agent,name={PORT_NAME}",
        "-device", f"virtio-scsi-pci,id={BUS}",
        *(
            argument
            for number, slot in enumerate(SLOTS, 1)
            for argument in ("-device", f"pcie-root-port,id={slot},chassis={number}")
        ),
    ]  # fmt: skip


def _disk(name: str, serial: str, image: str | None) -> list[str]:
    node = f"{name}-image"
    backend = (
        ["-blockdev", f"driver=null-co,node-name={node},size={DISK},read-zeroes=on"]
        if image is None
        else ["-drive", f"if=none,id={node},file={_quoted(image)},format=raw,snapshot=on,cache=unsafe"]
    )
    further = "write-cache=on,share-rw=on,werror=report,rerror=report"
    return [
        *backend,
        "-device", f"virtio-blk-pci,id={name},drive={node},serial={serial},{further}",
    ]  # fmt: skip


def _quoted(path: str) -> str:
    """Return `path` as the value of a QEMU option, in which a comma is written twice."""
    return path.replace(",", ",,")
