"""Any text as YAML, as a profile and as the settings of a layout: values, or one error with the
file's name.
"""

from __future__ import annotations

import functools

from promptforge import yaml_reader as yamltext
from promptforge.config.layouts import load_layout_settings
from promptforge.config.profiles import PROFILE_VOCABULARY, read_values
from promptforge.errors import ProfileError

from .drawing import Draw

KEYS = [
    *PROFILE_VOCABULARY.rules,
    "titles",
    "sections",
    "base",
    "<<",
    "&a",
    "*a",
    "!!x",
    "? ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "|\n ",
]
MARKS = (
    ": ",
    "\n",
    "\n  ",
    ", ",
    "0",
    "1",
    "true",
    "null",
    '"',
    "'",
    "#",
    "---\n",
    "1e9",
    ".inf",
    "-",
    "markdown",
)


def one(data: bytes) -> None:
    """Read what the bytes say."""
    draw = Draw(data)
    if draw.true():
        text = draw.rest().decode("utf-8", "surrogateescape")
    else:
        text = "".join(
            draw.of((draw.of(KEYS), draw.of(MARKS), draw.text(9))) for _ in range(draw.number(60))
        )
    profile = functools.partial(read_values, PROFILE_VOCABULARY)
    for read in (yamltext.load_yaml, profile, load_layout_settings):
        try:
            read(text, "f.yaml")
        except ProfileError as error:
            assert str(error).startswith("f.yaml") and str(error).isprintable(), str(error)
