"""A lesson as it is written: one Markdown file in `scenarios/lessons/`, read into steps.

    +++
    fault = "data-eio"
    filesystem = "ext4-ordered"
    +++
    # The write that never happened

    Some words on what will be done, and then it is done:

    ```python answers "EIO"
    f.fsync()
    ```

    ## Questions

    1. Why is that so?

       Because.

What stands before a block of Python is shown before it runs. A block that `answers` shows the value of its
last line, which must be the one named; a paragraph that begins with `Guess:` asks for it first, and offers
what it has in backticks.
"""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from fsyncgate.errors import CatalogueError
from fsyncgate.places import place

_BLOCK = re.compile(
    r"^```python(?: answers (?P<answer>[^\n]+))?\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
_CONSTANTS = ("True", "False", "None")
_QUESTION = re.compile(r"^\d+\. ", re.MULTILINE)


class Step(msgspec.Struct, frozen=True):
    """Words, and what is done after they are read; the last step only has words."""

    text: str
    """Markdown."""
    code: str = ""
    answers: bool = False
    answer: Any = None
    """What the code's last line must be worth."""
    guesses: tuple[str, ...] = ()
    """What the reader may choose from, as Python writes it; empty if nobody is asked."""


class Question(msgspec.Struct, frozen=True):
    """Asked at the end."""

    asked: str
    answer: str
    """Markdown."""


class Lesson(msgspec.Struct, frozen=True):
    """One file."""

    number: int
    title: str
    fault: str
    filesystem: str
    steps: tuple[Step, ...]
    questions: tuple[Question, ...]


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fault: str
    filesystem: str


def lessons(folder: Path | None = None) -> dict[int, Lesson]:
    """Return the lessons by number. Raises CatalogueError for a file that is none."""
    files = sorted((folder or place("scenarios") / "lessons").glob("[0-9]*.md"))
    return {lesson.number: lesson for lesson in map(read, files)}


def read(file: Path) -> Lesson:
    """Return the lesson that a file `1-title.md` holds; one without a number gets 0.

    Raises CatalogueError if the file holds no lesson.
    """
    number = file.name.partition("-")[0]
    try:
        return parse(int(number) if number.isdecimal() else 0, file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, msgspec.ValidationError) as error:
        raise CatalogueError(f"The lesson '{file}' cannot be read: {error}.") from None


def parse(number: int, text: str) -> Lesson:
    """Return a lesson. Raises ValueError that says what is wrong, or SyntaxError for Python that is none."""
    parts = text.split("+++\n", 2)
    if len(parts) != 3 or parts[0]:
        raise ValueError("it does not begin with a head between two lines '+++'")
    head = msgspec.convert(tomllib.loads(parts[1]), _Head)
    body, _, asked = parts[2].partition("\n## Questions\n")
    title, _, body = body.strip().partition("\n")
    if not title.startswith("# "):
        raise ValueError("it has no title: '# ...' is missing after the head")
    return Lesson(number, title[2:], head.fault, head.filesystem, _steps(body), _questions(asked))


def _steps(body: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    position = 0
    for block in _BLOCK.finditer(body):
        words, answer, code = body[position : block.start()].strip(), block["answer"], block["code"].rstrip()
        lines = ast.parse(code).body
        if answer is not None and not (lines and isinstance(lines[-1], ast.Expr)):
            raise ValueError(f"the last line of a step that answers is no expression: {code!r}")
        guesses = _guesses(words)
        if guesses and (answer is None or repr(ast.literal_eval(answer)) not in guesses):
            raise ValueError(f"the right answer is not among the guesses {', '.join(guesses)}")
        literal = None if answer is None else ast.literal_eval(answer)
        steps.append(Step(words, code, answer is not None, literal, guesses))
        position = block.end()
    if rest := body[position:].strip():
        steps.append(Step(rest))
    return tuple(steps)


def _guesses(words: str) -> tuple[str, ...]:
    """Return the values in backticks of the paragraphs that ask; names of calls are none."""
    asked = [part for part in words.split("\n\n") if part.startswith("Guess:")]
    quoted = [one for part in asked for one in re.findall(r"`([^`]+)`", part)]
    return tuple(repr(ast.literal_eval(one)) for one in quoted if not one.isidentifier() or one in _CONSTANTS)


def _questions(text: str) -> tuple[Question, ...]:
    found = [part.strip().partition("\n\n") for part in _QUESTION.split(text) if part.strip()]
    return tuple(
        Question(" ".join(asked.split()), "\n".join(line.strip() for line in answer.splitlines()))
        for asked, _, answer in found
    )
