"""What the host knows of a machine besides its guest: the console, and a copy of the disk that is broken."""

import subprocess
from pathlib import Path

from fsyncgate.errors import SetupError
from fsyncgate.machine.argv import DISK_ID
from fsyncgate.machine.console import Alarm, alarms
from fsyncgate.machine.qemu import Qemu
from fsyncgate.model import FileSystem
from fsyncgate.storage.fsck import fsck

FSCK = "fsck.txt"
"""In a case's folder: all that the file system's checker said."""


class Readout:
    """The host's view of one machine, and the folder of its case."""

    def __init__(self, qemu: Qemu, image: str, folder: Path) -> None:
        """`image` is what the disk was when the machine came up."""
        self._qemu = qemu
        self._image = image
        self._folder = folder
        self._checks = 0

    def panic(self, about: str) -> str | None:
        """Return the console's line of a panic if there was just one and its line holds `about`."""
        panics = [line.text for line in alarms(self._qemu.console_text()) if line.alarm is Alarm.PANIC]
        return panics[0] if len(panics) == 1 and about in panics[0] else None

    def fsck(self, filesystem: FileSystem) -> str:
        """Return what the checker says of the disk as it is now; add all that it said to the case's folder.

        Raises what `storage.fsck.fsck` raises.
        """
        self._checks += 1
        disk = self._folder / "disk.image"
        try:
            self._copy_disk(disk)
            answer, said = fsck(filesystem.type, filesystem.package, disk)
        finally:
            disk.unlink(missing_ok=True)
        with (self._folder / FSCK).open("a", encoding="utf-8") as file:
            file.write(f"--- {self._checks}: {answer}\n{said}")
        return answer

    def _copy_disk(self, target: Path) -> None:
        """Write what is on the disk now into a sparse file; what the guest has only in memory is not there.

        The image is copied and QEMU adds what has changed since: a hundredth of a second. Raises SetupError
        if the host has no room.
        """
        copy = ["cp", "--sparse=always", "--reflink=auto", "--", self._image, str(target)]
        done = subprocess.run(copy, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SetupError(f"The disk's image could not be copied: {done.stderr.strip()}.")
        self._qemu.monitor.add_changes(f"{DISK_ID}-image", str(target))
