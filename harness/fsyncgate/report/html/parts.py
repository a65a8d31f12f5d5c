"""What every page is put together from: a template, and style, scripts and data that stand within it."""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_FOLDER = Path(__file__).parent


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("fsyncgate.report.html", ""), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def page(template: str, **values: object) -> str:
    """Return the page that a template makes of values; text among them is escaped."""
    return _environment().get_template(template).render(**values)


def asset(name: str) -> Markup:
    """Return a style or a script of ours, as it is."""
    return Markup((_FOLDER / name).read_text(encoding="utf-8"))


def json(value: Any) -> Markup:
    """Return JSON that may stand within a script element: nothing in it can end that."""
    text = msgspec.json.encode(value).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)
