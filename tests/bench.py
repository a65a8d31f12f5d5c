"""`make bench`: how long a verdict takes, and where the time goes. Prints; asserts nothing."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

KERNEL = "6.1"
PHASES = ("machine", "mount", "scenario", "check")


def main() -> None:
    """Run every scenario on one kernel, twice, and then a few with a boot for each."""
    few = ["--scenario", "healthy_disk", "--fresh-boot"]
    for title, more in (("first run", []), ("second run", []), ("every machine booted", few)):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            began = time.monotonic()
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "fsyncgate",
                    "qualify",
                    "--kernel",
                    KERNEL,
                    "--out",
                    str(out),
                    *more,
                    "--format",
                    "plain",
                ],
                stdout=subprocess.DEVNULL,
                check=False,
            )
            report(title, out, time.monotonic() - began)


def report(title: str, out: Path, seconds: float) -> None:
    """Print what one run took."""
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    run = json.loads((out / "run.json").read_text())
    spent = {phase: [result["phases"].get(phase, 0.0) for result in results] for phase in PHASES}
    machine = spent["machine"]
    beyond = [sum(result["phases"].get(phase, 0.0) for phase in PHASES[1:]) for result in results]
    print(
        f"{title}: {len(results)} cases on linux-{KERNEL} in {seconds:.1f} s, "
        f"{run['boots']} boots, {run['accelerator']}"
    )
    print(f"  machine ready   median {median(machine):.2f} s, worst {max(machine):.2f} s (the first boots)")
    print(f"  a case beyond   median {median(beyond):.2f} s, worst {max(beyond):.2f} s")
    for phase in PHASES:
        share = sum(spent[phase]) / sum(map(sum, spent.values()))
        print(f"  {phase:<15} median {median(spent[phase]):.3f} s, {share:.0%} of the time")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"  peak memory     {peak:.0f} MiB, the largest process of the run")


if __name__ == "__main__":
    main()
