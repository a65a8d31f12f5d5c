"""Lessons as they are written: Markdown, with steps of Python and answers that must come true."""

from pathlib import Path

import pytest

from fsyncgate import catalogue
from fsyncgate.errors import CatalogueError
from fsyncgate.lesson.page import render
from fsyncgate.lesson.text import Lesson, Question, Step, lessons, parse, read
from fsyncgate.report.timeline import Timeline

TEXT = """\
+++
fault = "data-eio"
filesystem = "xfs"
+++
# Try again

Some words.

```python
f = 1
```

More words.

Guess: what does `fsync` say, `0` or `"EIO"`?

```python answers "EIO"
f = 2
f.fsync()
```

The end.

## Questions

1. Why is
   that so?

   Because.

   And because.

2. Is it?

   No.
"""


def test_a_lesson_is_words_steps_and_questions() -> None:
    assert parse(3, TEXT) == Lesson(
        3, "Try again", "data-eio", "xfs",
        (
            Step("Some words.", "f = 1"),
            Step(
                'More words.\n\nGuess: what does `fsync` say, `0` or `"EIO"`?',
                "f = 2\nf.fsync()", True, "EIO", ("0", "'EIO'"),
            ),
            Step("The end."),
        ),
        (Question("Why is that so?", "Because.\n\nAnd because."), Question("Is it?", "No.")),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("+++\nfault", "fault", "does not begin with a head"),
        ('fault = "data-eio"\n', "", "missing required field `fault`"),
        ("# Try again", "Try again", "it has no title"),
        ("f.fsync()\n```", "g = 3\n```", "is no expression"),
        ("f = 1", "f = ", "invalid syntax"),
        ('answers "EIO"', "answers 7", "the right answer is not among the guesses"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_a_sentence(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    file = tmp_path / "mine.md"
    file.write_text(TEXT.replace(old, new))
    with pytest.raises(CatalogueError, match=said) as caught:
        read(file)
    assert str(file) in caught.value.message


def test_our_lessons_name_what_there_is_and_end_with_three_questions() -> None:
    found = lessons()
    assert list(found) == sorted(found)
    for lesson in found.values():
        assert lesson.fault in catalogue.faults()
        assert lesson.filesystem in catalogue.filesystems()
        assert len(lesson.questions) == 3
        assert any(step.guesses for step in lesson.steps)


def test_html_in_a_lesson_is_shown_and_not_obeyed() -> None:
    lesson = parse(0, TEXT.replace("Some words.", "<script>alert(1)</script>"))
    page = render(lesson, "linux-<b>", [None, "'<i>'", None], Timeline((), (), ()))
    assert "<script>alert" not in page
    assert "linux-<b>" not in page
    assert "'<i>'" not in page
