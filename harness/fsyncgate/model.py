"""The nouns of fsyncgate: frozen values without input or output.

Sectors are 512 bytes; offsets and sizes are bytes; times are seconds.
"""

from enum import StrEnum
from typing import Any

import msgspec


class Persistence(StrEnum):
    """How long an armed fault lasts."""

    ONCE = "once"
    UNTIL_HEALED = "until-healed"
    FOR_EVER = "for-ever"


class Judgement(StrEnum):
    """What a check says of a case; the worst wins: deviates, then unknown, then conforms."""

    CONFORMS = "conforms"
    DEVIATES = "deviates"
    UNKNOWN = "unknown"


SECOND = "{second}"
"""Stands for the second disk in the arguments of a mkfs and in mount options."""


class Kernel(msgspec.Struct, frozen=True):
    """A kernel that can be booted: files on this host and where they came from."""

    id: str
    """Stable name in case ids: `linux-6.1`, or `bzImage-3f2a91c0` for a file of the user's own."""
    release: str
    """What `uname -r` says, e.g. `6.1.0-50-cloud-amd64`."""
    version: str
    """The upstream version the expectations are matched with, e.g. `6.1.176`."""
    package: str
    """The Debian package and version, or the path of the user's own file."""
    sha256: str
    """Digest of the package that holds the image, or of the user's own file."""
    image: str
    """Path of the bzImage."""
    modules: str | None = None
    """Path of the folder `lib/modules/<release>`, with `modules.dep`; None if all is built in."""


class FileSystem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of `vms/filesystems.toml`."""

    id: str
    type: str
    """The name that mount(2) takes; empty for a device that is used as it is."""
    about: str
    mkfs: tuple[str, ...] = ()
    """The command that makes it in an image file; the file's path is appended. Empty: nothing to make."""
    package: str = ""
    """The Debian package that brings the command."""
    modules: tuple[str, ...] = ()
    """Modules that its mount needs, those that a modprobe would have found by alias included."""
    newer: tuple[str, ...] = ()
    """Further arguments of that command, left out where the tool is too old to know them."""
    options: str = ""
    """Mount options. `{second}` in these or in `mkfs` is a second disk, which only then is in the machine."""
    base: str = ""
    """The file system that it lies on, by id, if not on a disk: an overlay's upper and lower layers."""
    default: bool = False
    """Part of every run that names no file system; the others are for `--all` and for who names them."""
    flavour: str = ""
    """The flavour of Debian's kernels that has it, if not every flavour does."""

    @property
    def disks(self) -> int:
        """How many disks it lies on."""
        return 2 if any(SECOND in text for text in (*self.mkfs, self.options)) else 1


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of `faults/`, with one of its persistences."""

    id: str
    """`data-eio`; with a persistence that is not the file's first: `data-eio-once`."""
    title: str
    operation: str
    """Which operation fails: `write`, `read`, `flush`, `none`; or what happens: `drop`, `hang`, `slow`."""
    target: str
    """Where: `data`, `journal`, `any`, `nowhere`."""
    errno: str
    """What the layer above is told, e.g. `EIO`; empty if it is told of success."""
    mechanism: str
    """The module of `inject/` that does it."""
    persistence: Persistence
    models: str
    """A sentence: what happens in the real world that this stands for."""
    flavour: str = ""
    """The flavour of Debian's kernels that has the drivers for it, if not every flavour does."""
    nth: int = 0
    """Which of the disk's writes fails, counted from the arming on: that one alone. 0: each that fits."""


class Expectation(msgspec.Struct, frozen=True):
    """One `[[scenario.expect]]` row of an `expected.toml`."""

    observed: dict[str, Any]
    because: str
    safe: bool | None = None
    kernel: tuple[str, ...] = ()
    """Version ranges, any of which may match, e.g. `(">=5.10,<6.0",)`; empty: every version."""
    filesystem: tuple[str, ...] = ()
    fault: tuple[str, ...] = ()
    commit: str = ""
    lesson: str = ""
    """What the summary says of a place that conforms and is unsafe: a predicate."""


class Scenario(msgspec.Struct, frozen=True):
    """One question, asked by one pytest function of the same name."""

    id: str
    """`reporting/every_open_file_hears_of_the_error_once`"""
    question: str
    faults: tuple[str, ...]
    filesystems: tuple[str, ...]
    """By id; `default` among them stands for those that are part of every run. Empty: the same."""
    expect: tuple[Expectation, ...]


class Case(msgspec.Struct, frozen=True):
    """Scenario x kernel x file system x fault, all by id."""

    scenario: str
    kernel: str
    filesystem: str
    fault: str

    @property
    def id(self) -> str:
        """`linux-6.1/ext4-ordered/data-eio/reporting/every_open_file_hears_of_the_error_once`"""
        return f"{self.kernel}/{self.filesystem}/{self.fault}/{self.scenario}"


class Verdict(msgspec.Struct, frozen=True):
    """What a check makes of one stored history."""

    verdict: Judgement
    observed: dict[str, Any]
    expected: dict[str, Any] | None
    """None if no expectation fits the case."""
    fired: int
    """How often the fault fired, as the guest kernel's tracepoints say."""
    safe: bool | None = None
    reason: str = ""
    """Why it is `unknown`, or what differs; empty if it conforms."""
    because: str = ""
    """Why the expected behaviour is expected, with the commit."""
    lesson: str = ""
    """What a reader must know, if it conforms and is unsafe."""


class KernelRecord(msgspec.Struct, frozen=True):
    """What a result says of the kernel it was made on."""

    id: str
    release: str
    version: str
    package: str
    sha256: str


class Result(msgspec.Struct, frozen=True):
    """One line of `results.jsonl`."""

    case: str
    scenario: str
    kernel: KernelRecord
    filesystem: str
    fault: str
    fired: int
    observed: dict[str, Any]
    expected: dict[str, Any] | None
    verdict: Judgement
    safe: bool | None
    reason: str
    because: str
    seconds: float
    """Duration of the case, its machine's restore included."""
    lesson: str = ""
    phases: dict[str, float] = {}
    """Seconds of it by phase: `machine`, `mount`, `scenario`, `check`."""
