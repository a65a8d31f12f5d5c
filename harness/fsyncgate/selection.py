"""What a run was asked for, as its record keeps it: enough to go on with it."""

from pathlib import Path

import msgspec

from fsyncgate.errors import UsageError
from fsyncgate.guest.channel import PATIENCE
from fsyncgate.kernels.catalogue import catalogue
from fsyncgate.plan import Wanted


class Selection(msgspec.Struct, frozen=True):
    """The options of `fsyncgate qualify` on which it depends what is asked; empty ones leave nothing out."""

    kernel: tuple[str, ...] = ()
    """Names of the catalogue, or whole paths."""
    modules: str | None = None
    fs: tuple[str, ...] = ()
    fault: tuple[str, ...] = ()
    scenario: tuple[str, ...] = ()
    case: tuple[str, ...] = ()
    all: bool = False
    shard: str = ""
    """`2/5`: only the second of five parts."""
    times: str | None = None
    """An earlier run, by whose times the parts are cut."""
    fresh_boot: bool = False
    patience: float = PATIENCE
    """Seconds to wait for a guest's answer. A resumed run may have another."""

    @property
    def wanted(self) -> Wanted:
        """The part of it that selects cases."""
        return Wanted(self.fs, self.fault, self.scenario, self.case, self.all)

    def anywhere(self) -> "Selection":
        """Return the same with whole paths, for a reader who stands in another folder."""
        entries = catalogue()
        kernels = tuple(
            name
            if name.removeprefix("linux-") in entries or not Path(name).exists()
            else str(Path(name).absolute())
            for name in self.kernel
        )
        modules = self.modules and str(Path(self.modules).absolute())
        times = self.times and str(Path(self.times).absolute())
        return msgspec.structs.replace(self, kernel=kernels, modules=modules, times=times)

    def arguments(self) -> list[str]:
        """Return the options as pytest takes them."""
        found = [
            part
            for name in ("kernel", "fs", "fault", "scenario", "case")
            for value in getattr(self, name)
            for part in (f"--{name}", value)
        ]
        found += ["--modules", self.modules] if self.modules else []
        found += ["--all"] if self.all else []
        found += ["--fresh-boot"] if self.fresh_boot else []
        return [*found, "--patience", str(self.patience)]


def agreed(stored: Selection, given: Selection, run: Path) -> Selection:
    """Return the selection of a run that is resumed with the options that were `given`, if any.

    Raises UsageError for an option that says something else than the run was begun with: what is
    resumed is that run.
    """
    none = Selection()
    for name in (
        "kernel",
        "modules",
        "fs",
        "fault",
        "scenario",
        "case",
        "all",
        "shard",
        "times",
        "fresh_boot",
    ):
        value, before = getattr(given, name), getattr(stored, name)
        if value not in (getattr(none, name), before):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"'{option}' contradicts the run '{run}', which was begun {_words(before)}.",
                hint="leave the option out to resume that run, or begin another one.",
            )
    if given.patience != none.patience:
        return msgspec.structs.replace(stored, patience=given.patience)
    return stored


def _words(value: tuple[str, ...] | str | bool | None) -> str:
    """Return in words what an option was."""
    if isinstance(value, bool):
        return "with it" if value else "without it"
    names = (value,) if isinstance(value, str) and value else value or ()
    return f"with {', '.join(map(repr, names)) or 'none'}"
