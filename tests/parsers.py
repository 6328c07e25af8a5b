"""More independent parsers, each where it is installed: what one of them forgives, another may not.

Those of Markdown are judged by the HTML they make: a tag that an item brings along shows there,
whatever made it.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable
from typing import Any

import judges

HTML_TAG = re.compile(r'<([/!?]?[a-zA-Z]*\d?)(?:[^>"]*class="(?:language-)?([^"]*)")?')
INLINE = frozenset({"em", "/em", "strong", "/strong", "br", "code", "/code"})
PARAGRAPHS = re.compile(r"(?:(?<= )|^)p /p (?:p /p )+")


def html_structure(html: str, *, prose: bool = False) -> list[str]:
    """Return the tags of an HTML text in order, but those that a label may bring, and strange
    languages of fences.
    """
    tags = [
        (tag if judges.INFO.fullmatch(language or "") else f"{tag} with a strange tag")
        for tag, language in HTML_TAG.findall(html)
        if tag not in INLINE or not judges.INFO.fullmatch(language or "")
    ]
    return PARAGRAPHS.sub("p /p ", "".join(f"{tag} " for tag in tags)).split() if prose else tags


def _commonmark() -> Callable[[str], str]:
    return importlib.import_module("commonmark").commonmark  # type: ignore[no-any-return]


def _mistune() -> Callable[[str], str]:
    return importlib.import_module("mistune").create_markdown(escape=False)  # type: ignore[no-any-return]


def _cmarkgfm() -> Callable[[str], str]:
    cmark = importlib.import_module("cmarkgfm")
    options = importlib.import_module("cmarkgfm.cmark").Options
    return lambda text: str(cmark.markdown_to_html(text, options.CMARK_OPT_UNSAFE))


def _pyromark() -> Callable[[str], str]:
    return importlib.import_module("pyromark").html  # type: ignore[no-any-return]


MAKERS = {
    "commonmark": _commonmark,
    "mistune": _mistune,
    "cmarkgfm": _cmarkgfm,
    "pyromark": _pyromark,
}


def _found() -> dict[str, Callable[[str], str]]:
    found = {}
    for name, make in MAKERS.items():
        try:
            found[name] = make()
        except ImportError:
            continue
    return found


MARKDOWN = _found()
"""Parsers of Markdown beside those of `judges`, by name; each makes HTML."""


def _orjson() -> Callable[[str], Any] | None:
    try:
        loads: Callable[[str], Any] = importlib.import_module("orjson").loads
    except ImportError:
        return None
    return loads


ORJSON = _orjson()


def names() -> list[str]:
    """Return the names of all parsers at hand, those of `judges` too."""
    return [
        "markdown-it-py",
        *MARKDOWN,
        "expat",
        "libxml2",
        "json",
        *(["orjson"] if ORJSON else []),
    ]


@functools.cache
def judges_of_html() -> dict[str, Callable[[str], list[str]]]:
    """Return what each of `MARKDOWN` makes of a text, as `html_structure`."""
    return {name: _judge(html) for name, html in MARKDOWN.items()}


def _judge(html: Callable[[str], str]) -> Callable[[str], list[str]]:
    return lambda text: html_structure(html(text))


def _tags(text: str, parser: str, prose: bool) -> list[str]:
    return html_structure(MARKDOWN[parser](text), prose=prose)


def check_alike(text: str, tame: str, format: str, *, prose: bool = False) -> None:
    """Check that each parser sees in `text` what it sees in the harmless `tame`."""
    if format == "markdown":
        for name in MARKDOWN:
            assert _tags(text, name, prose) == judges.once(_tags, tame, name, prose), name
    elif format == "json" and ORJSON is not None and text:
        assert ORJSON(text) == judges.json_value(text), "orjson"
