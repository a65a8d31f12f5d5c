"""The initramfs: the agent as /init and the modules it loads, in order. Nothing else."""

import gzip
import hashlib
import lzma
import os
import subprocess
import tempfile
from pathlib import Path

from fsyncgate.errors import SetupError

_DECOMPRESS = {".gz": gzip.decompress, ".xz": lzma.decompress}


def load_order(modules: Path, wanted: list[str]) -> list[Path]:
    """Return the files that bring `wanted`, each after what it depends on.

    `modules` is a folder `lib/modules/<release>` with the `modules.dep` of depmod. Names that no
    file there bears are left out: they are built in or this kernel lacks them, and which of both is
    found out in the guest, by what it can do.
    """
    needs: dict[Path, list[Path]] = {}
    for row in (modules / "modules.dep").read_text().splitlines():
        name, _, rest = row.partition(":")
        needs[Path(name)] = [Path(need) for need in rest.split()]
    by_name = {_module_name(file): file for file in needs}
    order: dict[Path, None] = {}

    def take(file: Path) -> None:
        if file not in order:
            for need in reversed(needs[file]):
                take(need)
            order[file] = None

    for name in wanted:
        if (file := by_name.get(name.replace("-", "_"))) is not None:
            take(file)
    return [modules / file for file in order]


def fingerprint(agent: Path, modules: Path | None, wanted: list[str]) -> str:
    """Return a name for what `build` would pack: the same files, the same name."""
    digest = hashlib.sha256()
    for file in [agent, *([] if modules is None else load_order(modules, wanted))]:
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def build(agent: Path, modules: Path | None, wanted: list[str], archive: Path) -> None:
    """Write the initramfs: the same input gives the same bytes."""
    files = [] if modules is None else load_order(modules, wanted)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        root = Path(folder)
        (root / "init").write_bytes(agent.read_bytes())
        (root / "init").chmod(0o755)
        for mount in ("dev", "proc", "sys", "modules", "mnt"):
            (root / mount).mkdir()
        inside = [f"modules/{number:02}-{_module_name(file)}.ko" for number, file in enumerate(files)]
        for file, path in zip(files, inside, strict=True):
            (root / path).write_bytes(_DECOMPRESS.get(file.suffix, bytes)(file.read_bytes()))
        (root / "modules.list").write_text("".join(f"/{path}\n" for path in inside))
        _pack(root, archive)


def _pack(root: Path, archive: Path) -> None:
    paths = sorted(root.rglob("*"))
    for path in paths:
        os.utime(path, (0, 0))
    names = [str(path.relative_to(root)) for path in paths]
    command = ["cpio", "--create", "--format=newc", "--reproducible", "--owner=0:0", "--quiet"]
    with archive.open("wb") as out:
        done = subprocess.run(
            command,
            cwd=root,
            input="\n".join(names).encode(),
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
        )
    if done.returncode:
        raise SetupError(f"'cpio' could not write '{archive}': {done.stderr.decode().strip()}.")


def _module_name(file: Path) -> str:
    return file.name.partition(".ko")[0].replace("-", "_")
