"""The workbench of one process: everything that its cases need, made when it is first needed."""

from pathlib import Path

from fsyncgate import catalogue
from fsyncgate.cache import Cache
from fsyncgate.guest.channel import PATIENCE
from fsyncgate.images.filesystem import Image, image
from fsyncgate.kernels.catalogue import Spec
from fsyncgate.kernels.fetch import fetch
from fsyncgate.machine.pool import Pool
from fsyncgate.model import Case, Kernel, Scenario
from fsyncgate.run import Run
from fsyncgate.store import Store


class Workbench:
    """Starts runs of cases."""

    def __init__(
        self, specs: list[Spec], out: Path, *, fresh_boot: bool = False, patience: float = PATIENCE
    ) -> None:
        """Cases name the kernels of `specs`; their folders lie below `out`. For the rest see `Pool`."""
        self.filesystems = catalogue.filesystems()
        self.faults = catalogue.faults()
        self.specs = {spec.id: spec for spec in specs}
        self.cache = Cache.from_environment()
        filesystems = list(self.filesystems.values())
        self.pool = Pool(self.cache, filesystems, fresh_boot=fresh_boot, patience=patience)
        self._store = Store(out)
        self._kernels: dict[str, Kernel] = {}
        self._images: dict[str, Image] = {}

    def run(self, case: Case, scenario: Scenario) -> Run:
        """Open the run of a case. Raises SetupError if its folder cannot be made."""
        filesystem, fault = self.filesystems[case.filesystem], self.faults[case.fault]
        base = self.filesystems[filesystem.base] if filesystem.base else None
        return Run(case, scenario, filesystem, fault, self._store.case_folder(case.id), base)

    def start(self, run: Run) -> None:
        """Bring up the machine of a run; fetches the kernel and makes the file system if they are missing.

        Raises FsyncgateError with the reason why it could not be done.
        """
        run.start(self.kernel(run.case.kernel), self.pool, self._image(run.case.filesystem))

    def facts(self) -> dict[str, int | str]:
        """Return what the run's record wants to know of this process."""
        accelerators = {recipe.accelerator for recipe in self.pool.recipes.values()}
        return {"boots": self.pool.boots, "accelerator": " ".join(sorted(accelerators))}

    def kernel(self, name: str) -> Kernel:
        """Return a kernel of the run by its id, fetched now if the cache lacks it."""
        if name not in self._kernels:
            self._kernels[name] = fetch(self.specs[name], self.cache)
        return self._kernels[name]

    def _image(self, name: str) -> Image:
        if name not in self._images:
            filesystem = self.filesystems[name]
            self._images[name] = image(self.filesystems[filesystem.base or name], self.cache)
        return self._images[name]
