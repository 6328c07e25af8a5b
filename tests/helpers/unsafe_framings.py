"""Unsafe framings, as people write them: a judge that sees no item break out is blind."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import judges
import yaml
from lxml import etree


def plain(content: str) -> str:
    """Return a content under a line that is always the same."""
    return f"File: PLACE (lines 1-2)\n{'-' * 40}\n{content}\n"


def plain_judge(text: str) -> list[str]:
    """Return the lines of that frame in a text."""
    return judges.plain_structure(
        text, judges.frame_patterns(plain("harmless"), ["harmless"], ["PLACE"])
    )


FIRST_WORD = "k417082"


def fixed_tags(content: str) -> str:
    """Return a content as it is, between tags with a word that is always the same."""
    return f"### a\n<content-{FIRST_WORD}>\n{content}\n</content-{FIRST_WORD}>\nend\n"


FRAMINGS: dict[str, tuple[str, Callable[[str], str]]] = {
    "fixed_fence": ("markdown", lambda s: f"### a\n\n```py\n{s}\n```\n"),
    "raw_heading": ("markdown", lambda s: f"### {s}\n\n```py\nx\n```\n"),
    "raw_xml": ("xml", lambda s: f"<a>\n{s}\n</a>"),
    "cdata": ("xml", lambda s: f"<a><![CDATA[{s}]]></a>"),
    "raw_attribute": ("xml", lambda s: f'<a b="{s}"/>'),
    "quoted_json": ("json", lambda s: f'[{{"a": "{s}"}}]'),
    "yaml_block": ("yaml", lambda s: f"- a: 1\n  b: |-\n    {s}\n"),
    "bare_yaml": ("yaml", lambda s: f"- a: {s}\n  b: 1\n"),
}
"""The format of each, and the text around a value."""


@functools.cache
def _usual(judge: Callable[[str], Any], frame: Callable[[str], str]) -> Any:
    return judge(frame("harmless"))


def breaks(judge: Callable[[str], Any], frame: Callable[[str], str], value: str) -> bool:
    """Return whether `value` in the frame is seen otherwise than a harmless word there, or cannot
    be read.
    """
    try:
        return bool(judge(frame(value)) != _usual(judge, frame))
    except (ValueError, etree.XMLSyntaxError, ElementTree.ParseError, yaml.YAMLError):
        return True
