"""The page that a lesson leaves behind: its words, what was answered, and the timeline."""

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markupsafe import Markup

from fsyncgate.lesson.text import Lesson
from fsyncgate.report.html.parts import asset, json, page
from fsyncgate.report.timeline import Timeline


def render(lesson: Lesson, kernel: str, answers: Sequence[str | None], picture: Timeline) -> str:
    """Return the page; `answers` has one entry a step."""
    steps = [
        {"text": _html(step.text), "code": step.code, "answer": answer}
        for step, answer in zip(lesson.steps, answers, strict=True)
    ]
    return page(
        "lesson.html.j2",
        title=lesson.title,
        made=f"Lesson {lesson.number}, played on {kernel} with {lesson.filesystem} and {lesson.fault}.",
        steps=steps,
        questions=[{"asked": one.asked, "answer": _html(one.answer)} for one in lesson.questions],
        picture=json(picture),
        css=asset("report.css"),
        js=asset("timeline.js"),
    )


def _html(text: str) -> Markup:
    """Return Markdown as HTML; HTML within it is shown and not obeyed."""
    return Markup(MarkdownIt("js-default", {"html": False}).render(text))
