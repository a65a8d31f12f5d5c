"""The guest agent, built on the host from `vms/agent/` when the cache does not have it."""

import hashlib
import subprocess
from pathlib import Path

from fsyncgate.cache import Cache
from fsyncgate.errors import SetupError
from fsyncgate.places import place
from fsyncgate.shelf import Shelf


def agent(cache: Cache) -> Path:
    """Return the static agent program. Raises SetupError if it cannot be built."""
    source = place("vms") / "agent"
    digest = hashlib.sha256()
    for file in sorted(source.iterdir()):
        if file.is_file():
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    name = f"agent-{digest.hexdigest()[:16]}"
    return Shelf(cache, "agent").get(name, lambda work: _make(source, work / "agent")) / "agent"


def _make(source: Path, out: Path) -> None:
    try:
        done = subprocess.run(
            ["make", "--silent", "-C", str(source), f"OUT={out}"], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise SetupError(
            "'make' is not installed, so the guest agent cannot be built.", hint="run 'make setup'."
        ) from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        first = next((line for line in said if "error:" in line), said[-1] if said else "no message")
        raise SetupError(
            f"The guest agent could not be built: {first.rstrip('.')}.",
            hint="it needs the Debian packages 'gcc', 'make' and 'libc6-dev'.",
        )
