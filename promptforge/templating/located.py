"""Jinja's error about a template's text → the mistake behind it."""

from __future__ import annotations

import re

import jinja2

from . import mistakes
from .environment import Environment
from .excerpts import At

ENVIRONMENT = Environment(jinja2.DictLoader({}))


def mistake(text: str, error: jinja2.TemplateSyntaxError) -> mistakes.Mistake:
    """Return the mistake that made reading `text` fail with `error`."""
    message = str(error.message or "cannot be read").rstrip(".")
    if found := re.search(r"^(unexpected char .*) at (\d+)$", message, re.DOTALL):
        return mistakes.find(text, found[1], int(found[2]))
    if isinstance(error.lineno, At):
        return mistakes.find(text, message, error.lineno.offset)
    before = text.split("\n")[: max(error.lineno - 1, 0)]
    return mistakes.find(text, message, sum(len(line) + 1 for line in before))
