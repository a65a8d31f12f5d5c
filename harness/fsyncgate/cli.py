"""The command `fsyncgate`: a thin layer over pytest and the stored results."""

import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import click

from fsyncgate import catalogue, engine, resume, sharding
from fsyncgate.controller import Controller
from fsyncgate.display import Display
from fsyncgate.errors import INTERRUPTED, UNKNOWN, USAGE, FsyncgateError, UsageError
from fsyncgate.guest.channel import PATIENCE
from fsyncgate.history import writing
from fsyncgate.kernels.catalogue import Spec, choose, flavours
from fsyncgate.kernels.command import kernels
from fsyncgate.ledger import default_folder, status
from fsyncgate.model import Case, Result, Scenario
from fsyncgate.plan import Wanted, check_names, kernel_of, plan
from fsyncgate.report import difference as differing
from fsyncgate.report.atlas_stored import document
from fsyncgate.report.difference_table import table
from fsyncgate.report.terminal import show
from fsyncgate.selection import Selection, agreed
from fsyncgate.store import Store
from fsyncgate.workbench import Workbench

FORMATS = ("auto", "terminal", "plain", "jsonl")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fsyncgate")
def cli() -> None:
    """What fsync does on real kernels, when the disk fails.

    Exit status: 0 all conforms, 1 something deviates, 2 wrong usage, 3 something is unknown.
    """


cli.add_command(kernels)


def selection(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select cases."""
    for option in reversed((
        click.option("--kernel", multiple=True, metavar="NAME",
                     help="A kernel: 6.1, newest, or the path of a bzImage."),
        click.option("--modules", metavar="DIR", help="The modules of that bzImage."),
        click.option("--fs", multiple=True, metavar="NAME", help="A file system: ext4-ordered, xfs, ..."),
        click.option("--fault", multiple=True, metavar="NAME", help="A fault: data-eio, flush-eio, ..."),
        click.option("--scenario", multiple=True, metavar="NAME",
                     help="A scenario, or a group such as reporting."),
        click.option("--case", multiple=True, metavar="ID", help="One case by its whole id."),
        click.option("--all", "everything", is_flag=True,
                     help="Also the kernels and file systems that are no defaults."),
    )):  # fmt: skip
        command = option(command)
    return command


@cli.command()
@selection
@click.option(
    "-j", "--jobs", type=click.IntRange(1, 64), help="Machines side by side; by default one a processor."
)
@click.option("--out", metavar="DIR", help="Where the results go; by default results/<time>.")
@click.option("--shard", default="", metavar="N/OF", help="Ask only the n-th of so many parts of the plan.")
@click.option("--times", metavar="RUN", help="Cut the parts by the times of an earlier run.")
@click.option("--resume", "run", metavar="RUN", help="Go on with a run that was stopped, where it stopped.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="auto", help="How to show them.")
@click.option("--fresh-boot", is_flag=True, help="Boot a machine for each case instead of restoring one.")
@click.option(
    "--patience",
    type=click.FloatRange(min=1),
    default=PATIENCE,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for a guest's answer before it counts as lost.",
)
def qualify(
    kernel: tuple[str, ...], modules: str | None, fs: tuple[str, ...], fault: tuple[str, ...],
    scenario: tuple[str, ...], case: tuple[str, ...], everything: bool, shard: str, times: str | None,
    jobs: int | None, out: str | None, run: str | None, form: str, fresh_boot: bool, patience: float,
) -> None:  # fmt: skip
    """Ask the kernels, and judge their answers."""
    given = Selection(
        kernel, modules, fs, fault, scenario, case, everything, shard, times, fresh_boot, patience
    )
    if run is not None and out is not None:
        raise UsageError(
            "'--out' contradicts '--resume'.",
            hint="a run that is resumed stays where it is: leave '--out' out.",
        )
    if run is None:
        folder, selection = Path(out or default_folder()).absolute(), given.anywhere()
    else:
        folder = Path(run).absolute()
        selection = selection_of(folder, given.anywhere())
    scenarios = catalogue.all_scenarios()
    whole = planned(selection.kernel, selection.modules, scenarios, selection.wanted)
    cases = part_of(whole, selection)
    specs = chosen(selection.kernel, selection.modules, selection.wanted)
    bench = Workbench(specs, folder, fresh_boot=selection.fresh_boot, patience=selection.patience)
    known = None if run is None else results_that_stand(folder, cases, bench)
    left = [case for case in cases if case.id not in (known or {})]
    workers = min(jobs or os.cpu_count() or 1, len({(case.kernel, case.filesystem) for case in left}))
    controller = Controller(folder, bench, selection=selection, plan=cases, finished=known,
                            elsewhere={case.id for case in whole} - {case.id for case in cases})  # fmt: skip
    display = Display(controller, cases, scenarios, form, known=(known or {}).values())
    sys.exit(engine.run(selection.arguments(), workers, controller, display))


def part_of(cases: list[Case], selection: Selection) -> list[Case]:
    """Return the part of the plan that is to be asked here. Raises UsageError if it is empty."""
    if not selection.shard:
        return cases
    shard = sharding.parse(selection.shard)
    times = sharding.expected(Store.open(Path(selection.times)).results()) if selection.times else {}
    mine = sharding.part(cases, shard, times)
    if not mine:
        raise UsageError(f"The part {shard} of this plan is empty.", hint="make fewer parts.")
    return mine


def selection_of(folder: Path, given: Selection) -> Selection:
    """Return what a stopped run was asked for. Raises UsageError if it cannot be resumed, or not so."""
    record = Store.open(folder).record()
    if record is None or record.selection is None:
        raise UsageError(
            f"The run '{folder}' cannot be resumed: it does not say what it was asked for.",
            hint="only what 'fsyncgate qualify' began can be resumed; begin it again.",
        )
    if record.version != version("fsyncgate"):
        raise UsageError(
            f"The run '{folder}' was begun by fsyncgate {record.version}, and this is another one.",
            hint="resume it with that, or begin it again.",
        )
    return agreed(record.selection, given, folder)


def results_that_stand(folder: Path, cases: list[Case], bench: Workbench) -> dict[str, Result]:
    """Return what a stopped run has found out, by case; says on stderr what of it does not count."""
    store = Store.open(folder)
    resume.same_plan(store.plan(), cases, folder)
    results = store.results()
    kernels = {name: bench.kernel(name).sha256 for name in resume.unfinished_kernels(cases, results)}
    for note in (*store.notes, *resume.moved(results, kernels)):
        click.echo(note, err=True)
    return resume.finished(cases, results, kernels)


def planned(
    kernel: tuple[str, ...], modules: str | None, scenarios: dict[str, Scenario], wanted: Wanted
) -> list[Case]:
    """Return the cases that the options select. Raises UsageError if there are none."""
    specs = chosen(kernel, modules, wanted)
    filesystems, faults = catalogue.filesystems(), catalogue.faults()
    check_names(wanted, scenarios, filesystems, faults)
    cases = plan([spec.id for spec in specs], scenarios, filesystems, faults, wanted, flavours(specs))
    if unknown := set(wanted.cases) - {case.id for case in cases}:
        raise UsageError(f"There is no case '{min(unknown)}'.", hint="'fsyncgate plan' lists them all.")
    if not cases:
        raise UsageError("No case fits all of these options.", hint="'fsyncgate plan' lists them all.")
    return cases


def chosen(kernel: tuple[str, ...], modules: str | None, wanted: Wanted) -> list[Spec]:
    """Return the kernels that are asked for: by name, or because a case on them is."""
    named = kernel or tuple(dict.fromkeys(kernel_of(case) for case in wanted.cases))
    return choose(named, modules, everything=wanted.everything)


@cli.command(name="plan")
@selection
def plan_(
    kernel: tuple[str, ...], modules: str | None, fs: tuple[str, ...], fault: tuple[str, ...],
    scenario: tuple[str, ...], case: tuple[str, ...], everything: bool,
) -> None:  # fmt: skip
    """List the cases that 'qualify' would run, by id."""
    wanted = Wanted(fs, fault, scenario, case, everything)
    for found in planned(kernel, modules, catalogue.all_scenarios(), wanted):
        click.echo(found.id)


@cli.command()
@click.argument("run", type=click.Path(path_type=Path))
def check(run: Path) -> None:
    """Judge a stored run again, from its histories, without a machine."""
    from fsyncgate.check.again import judged_again

    store = Store.open(run)
    for note in store.notes:
        click.echo(note, err=True)
    scenarios = catalogue.all_scenarios()
    results = judged_again(store, scenarios, catalogue.faults())
    show(results, scenarios)
    record = store.record()
    sys.exit(status(results, record.planned if record else 0))


@cli.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option(
    "--kernel", multiple=True, metavar="ID", help="Compare only this kernel, or two with each other."
)
def diff(a: Path, b: Path, kernel: tuple[str, ...]) -> None:
    """List what differs between two runs, or between two kernels of one run.

    Exit status 1 if anything differs.
    """
    found = differing.difference(Store.open(a).results(), Store.open(b).results(), kernel)
    names = (str(a), str(b))
    if sys.stdout.isatty():
        from rich.console import Console

        Console().print(table(found, names))
    else:
        click.echo(differing.text(found, names))
    sys.exit(1 if found.changes else 0)


@cli.command()
@click.argument("run", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--compare", is_flag=True, help="Show two runs beside each other.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The page; by default RUN/report.html.",
)
def report(run: tuple[Path, ...], *, compare: bool, out: Path | None) -> None:
    """Write a stored run as one HTML page that needs no network."""
    from fsyncgate.report.html import write

    if len(run) != 1 + compare:
        raise UsageError(
            "A report is made of one run, and with '--compare' of two.",
            hint="say 'fsyncgate report RUN', or 'fsyncgate report --compare RUN RUN'.",
        )
    stores = [(folder.name if compare else "", Store.open(folder)) for folder in run]
    target = out or run[-1] / "report.html"
    with writing(target):
        write(stores, catalogue.all_scenarios(), catalogue.faults(), target)
    click.echo(f"The report is '{target}'.")


@cli.command()
@click.argument("runs", metavar="RUN...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), help="The file to write; by default standard output.")
def atlas(runs: tuple[Path, ...], out: Path | None) -> None:
    """Make docs/atlas.md of stored runs: a paper's questions, answered kernel by kernel.

    Of a case in several runs the last run counts.
    """
    made = document([Store.open(run) for run in runs])
    if out is None:
        click.echo(made, nl=False)
        return
    with writing(out):
        out.write_text(made, encoding="utf-8")


@cli.command()
@click.option(
    "--kernel", default="6.12", metavar="NAME", help="A kernel: 6.1, newest, or the path of a bzImage."
)
@click.option("--modules", metavar="DIR", help="The modules of that bzImage.")
@click.option("--fs", default="ext4-ordered", metavar="NAME", help="A file system.")
@click.option("--fault", default="data-eio", metavar="NAME", help="The fault that `fault` stands for.")
def shell(kernel: str, modules: str | None, fs: str, fault: str) -> None:
    """Break a disk by hand: a Python prompt with volume, fault, observe and guest."""
    from fsyncgate.shell import interact

    interact(kernel, modules, fs, fault)


@cli.command()
@click.argument("which", metavar="[NUMBER|FILE]", required=False)
@click.option("--auto", is_flag=True, help="Wait for nobody; exit status 1 if the kernel answers otherwise.")
@click.option("--kernel", default="6.12", show_default=True, metavar="NAME", help="The kernel to play it on.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="PAGE", help="The page; by default lesson-NUMBER.html."
)
def lesson(which: str | None, *, auto: bool, kernel: str, out: Path | None) -> None:
    """List the lessons, or play one on a real machine: one of ours, or a file of your own."""
    from fsyncgate.lesson.play import play
    from fsyncgate.lesson.text import lessons, read

    known = {str(one.number): one for one in lessons().values()}
    if which is None:
        for one in known.values():
            click.echo(f"{one.number}. {one.title}")
        return
    if which not in known and not Path(which).is_file():
        raise UsageError(
            f"There is no lesson '{which}'.",
            hint="'fsyncgate lesson' lists them; a file of your own is named by its path.",
        )
    asked = known[which] if which in known else read(Path(which))
    sys.exit(play(asked, kernel, out or Path(f"lesson-{asked.number}.html"), auto=auto))


@cli.command()
@click.argument("run", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The joined run.")
def merge(run: tuple[Path, ...], out: Path) -> None:
    """Join the runs of all parts of a plan into one."""
    from fsyncgate.merging import merge as joined

    results = joined(run, out)
    show(results, catalogue.all_scenarios())
    record = Store.open(out).record()
    sys.exit(status(results, record.planned if record else 0))


@cli.command()
def doctor() -> None:
    """Say what this host has, and what each missing thing would take.

    Exit status 3 if something is missing without which nothing can be asked.
    """
    from fsyncgate.doctor import examine

    lacking = False
    for one in examine():
        lacking = lacking or (one.needed and not one.good)
        sign = click.style("✓", "green") if one.good else click.style("✗" if one.needed else "-", "red")
        click.echo(f"{sign} {click.style(one.what, bold=True)}: {one.says}")
        if one.advice:
            click.echo(f"    {one.advice}")
    sys.exit(UNKNOWN if lacking else 0)


def main() -> None:
    """Run the command; every error is a sentence and an exit status."""
    try:
        status = cli.main(standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except FsyncgateError as error:
        _complain(str(error), error.exit_status)
    except click.Abort:
        _complain("Interrupted.", INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(USAGE)
    except KeyboardInterrupt:
        _complain("Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _complain(sentence: str, status: int) -> None:
    click.echo(f"fsyncgate: {sentence}", err=True)
    sys.exit(status)
