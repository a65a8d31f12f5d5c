"""Where the catalogue's files lie: in a checkout, or as data of the installed package."""

from pathlib import Path
from typing import Literal

from fsyncgate.errors import SetupError

_PACKAGE = Path(__file__).resolve().parent


def place(name: Literal["vms", "faults", "scenarios"]) -> Path:
    """Return the folder of that name; SetupError if this copy of fsyncgate came without it."""
    installed, checkout = _PACKAGE / "data" / name, _PACKAGE.parent.parent / name
    for folder in (installed, checkout):
        if folder.is_dir():
            return folder
    raise SetupError(
        f"The folder '{name}' belongs to fsyncgate and is neither at '{installed}' nor at '{checkout}'.",
        hint="install fsyncgate again, or run it from a complete checkout.",
    )
