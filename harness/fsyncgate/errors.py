"""Every error a user can meet: one whole sentence, a hint, and an exit status."""

CONFORMS, DEVIATES, USAGE, UNKNOWN, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit statuses of every command that judges."""


class FsyncgateError(Exception):
    """A sentence for the user; `hint` says what would help."""

    exit_status = UNKNOWN

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Keep the sentence and the hint apart, so that a report can show either."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Return the sentence, and the hint after it."""
        return f"{self.message} Hint: {self.hint}" if self.hint else self.message


class UsageError(FsyncgateError):
    """The user asked for something that does not exist or cannot be read."""

    exit_status = USAGE


class CatalogueError(UsageError):
    """A TOML file of the catalogue is broken; the sentence names the file and the key."""


class SetupError(FsyncgateError):
    """This host lacks something (QEMU, network, disk space), so nothing can be found out."""


class MachineLost(FsyncgateError):
    """The guest panicked, hung, vanished or never came up: a result, never a pass."""


class GuestError(FsyncgateError):
    """A step that prepares a case (mount, trace, device-mapper) was refused by the guest kernel."""


class Unsupported(GuestError):
    """The guest kernel lacks what the case needs; the sentence names the feature."""
