"""Plays a lesson: words, a step on a real machine, and what the kernel answered."""

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markdown import Markdown

from fsyncgate.cache import Cache
from fsyncgate.errors import CONFORMS, DEVIATES, FsyncgateError, UsageError
from fsyncgate.history import writing
from fsyncgate.kernels.catalogue import choose
from fsyncgate.lesson.page import render
from fsyncgate.lesson.text import Lesson, Step
from fsyncgate.model import Case, Scenario
from fsyncgate.report.timeline import timeline
from fsyncgate.run import Run
from fsyncgate.shell import namespace
from fsyncgate.workbench import Workbench


def play(lesson: Lesson, kernel: str, target: Path, *, auto: bool) -> int:
    """Play a lesson and write its page to `target`; return an exit status.

    With `auto` nobody is asked, and an answer other than the lesson's ends with the status of a deviation.
    Raises FsyncgateError if the machine cannot be brought up or is lost.
    """
    stage = Stage(auto=auto)
    (spec,) = choose([kernel])
    scenario = Scenario(f"lessons/{lesson.number}", lesson.title, (), (), ())
    with Cache.from_environment().temporary() as folder:
        bench = Workbench([spec], folder)
        for what, name, known in (
            ("file system", lesson.filesystem, bench.filesystems),
            ("fault", lesson.fault, bench.faults),
        ):
            if name not in known:
                raise UsageError(f"There is no {what} '{name}'.", hint=f"there are {', '.join(known)}.")
        case = Case(scenario.id, spec.id, lesson.filesystem, lesson.fault)
        run = bench.run(case, scenario)
        stage.say(f"# {lesson.title}")
        stage.note(f"Booting {spec.id}; {lesson.filesystem} will be mounted at /mnt.")
        try:
            bench.start(run)
            answers = stage.perform(lesson, run)
            picture = timeline(run.events(), dropping(bench))
        finally:
            run.stop()
    with writing(target):
        target.write_text(render(lesson, spec.id, answers, picture), encoding="utf-8")
    stage.ask(lesson)
    stage.note(f"What happened, as a picture: {target}")
    return DEVIATES if auto and stage.surprises else CONFORMS


def dropping(bench: Workbench) -> set[str]:
    """Return the faults that throw writes away, by id."""
    return {fault.id for fault in bench.faults.values() if fault.operation == "drop"}


class Stage:
    """Where a lesson is shown: a terminal with somebody before it, or a pipe."""

    def __init__(self, *, auto: bool) -> None:
        """With `auto`, or without a terminal, nobody is waited for."""
        self._console = Console(highlight=False)
        self._alone = auto or not (sys.stdin.isatty() and sys.stdout.isatty())
        self.surprises = 0
        """How many answers were not the lesson's."""

    def perform(self, lesson: Lesson, run: Run) -> list[str | None]:
        """Go through the steps; return what each answered, as Python writes it."""
        here = namespace(run)
        return [self._step(step, here, run) for step in lesson.steps]

    def ask(self, lesson: Lesson) -> None:
        """Ask the questions at the end, and answer them."""
        self.say("## Questions")
        for number, question in enumerate(lesson.questions, start=1):
            self.say(f"{number}. {question.asked}")
            self._wait("think, then press a key for the answer")
            self.say(question.answer)

    def say(self, text: str) -> None:
        """Show words."""
        if self._console.is_terminal:
            self._console.print(Markdown(text), "")
        else:
            click.echo(f"{text}\n")

    def note(self, text: str) -> None:
        """Show what is no part of the lesson."""
        self._console.print(text, style="dim", markup=False)

    def _step(self, step: Step, here: dict[str, Any], run: Run) -> str | None:
        if step.text:
            self.say(step.text)
        if not step.code:
            return None
        guess = self._guess(step.guesses)
        self._console.print(
            "\n".join(f"    {line}" for line in step.code.splitlines()), style="bold", markup=False
        )
        self._wait("press a key to do it")
        value = _done(step.code, here, run.why)
        if not step.answers:
            return None
        answer = repr(value)
        self._console.print(f"    → {answer}", style="bold cyan", markup=False)
        if guess is not None:
            self.note("You said so." if guess == answer else f"You thought {guess}.")
        if value != step.answer:
            self.surprises += 1
            self.note(
                f"The lesson was written where this is {step.answer!r}: this kernel does it differently."
            )
        self._console.print()
        return answer

    def _guess(self, guesses: tuple[str, ...]) -> str | None:
        if self._alone or not guesses:
            return None
        for number, guess in enumerate(guesses, start=1):
            self._console.print(f"    {number}  {guess}", markup=False)
        chosen: int = click.prompt("Your guess", type=click.IntRange(1, len(guesses)))
        return guesses[chosen - 1]

    def _wait(self, why: str) -> None:
        if not self._alone:
            click.pause(f"  [{why}]")


def _done(code: str, here: dict[str, Any], why: Callable[[BaseException], str]) -> Any:
    """Run a step; return the value of its last line if that is an expression."""
    tree = ast.parse(code)
    last = tree.body[-1]
    asked = ast.Expression(last.value) if isinstance(last, ast.Expr) else None
    try:
        exec(compile(ast.Module(tree.body[:-1] if asked else tree.body, []), "the lesson", "exec"), here)  # noqa: S102
        return eval(compile(asked, "the lesson", "eval"), here) if asked else None
    except FsyncgateError as error:
        raise FsyncgateError(why(error)) from None
