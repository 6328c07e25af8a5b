"""More independent parsers, each where it is installed: what one of them forgives, another may not.

Those of Markdown are judged by the HTML they make: a tag that an item brings along shows there,
whatever made it.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import unquote

import judges
from markdown_it import MarkdownIt

HTML_TAG = re.compile(r'<([/!?]?[a-zA-Z]*\d?)(?:[^>"]*class="(?:language-)?([^"]*)")?')
LOOKS = ("em", "strong", "br", "code", "del", "s", "sub", "sup", "mark", "ins", "u")
INLINE = frozenset((*LOOKS, *(f"/{name}" for name in LOOKS)))
AUTOLINK = re.compile(r'<a href="([^"]*)">([^<]*)</a>')
PARAGRAPHS = re.compile(r"(?:(?<= )|^)p /p (?:p /p )+")


def html_structure(html: str, *, prose: bool = False) -> list[str]:
    """Return the tags of an HTML text in order, but those that a label may bring, and strange
    languages of fences.

    A bare URL may become a link to itself: that is a look.
    """
    html = AUTOLINK.sub(_unlinked, html)
    tags = [
        (tag if judges.INFO.fullmatch(language or "") else f"{tag} with a strange tag")
        for tag, language in HTML_TAG.findall(html)
        if tag not in INLINE or not judges.INFO.fullmatch(language or "")
    ]
    return PARAGRAPHS.sub("p /p ", "".join(f"{tag} " for tag in tags)).split() if prose else tags


def _unlinked(match: re.Match[str]) -> str:
    href, shown = (unquote(unescape(part)).casefold() for part in match.groups())
    alike = re.search("[:@]", href) and href.endswith(shown) and len(href) - len(shown) < 10
    return match[2] if alike or "xn--" in href else match[0]


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


# GitHub-flavoured Markdown: what GitHub, a chat page or an editor's preview reads.


def _cmarkgfm_gfm() -> Callable[[str], str]:
    cmark = importlib.import_module("cmarkgfm")
    options = importlib.import_module("cmarkgfm.cmark").Options
    chosen = options.CMARK_OPT_UNSAFE | options.CMARK_OPT_FOOTNOTES
    extensions = ["table", "autolink", "strikethrough", "tasklist"]
    return lambda text: str(cmark.markdown_to_html_with_extensions(text, chosen, extensions))


def _mistune_gfm() -> Callable[[str], str]:
    plugins = ["strikethrough", "footnotes", "table", "task_lists", "url", "def_list"]
    mistune = importlib.import_module("mistune")
    return mistune.create_markdown(escape=False, plugins=plugins)  # type: ignore[no-any-return]


def _markdown_it_gfm() -> Callable[[str], str]:
    plugin = importlib.import_module("mdit_py_plugins.gfm").gfm_plugin
    importlib.import_module("linkify_it")
    reader = MarkdownIt("gfm-like", {"html": True, "linkify": True}).use(plugin)
    return lambda text: str(reader.render(text))


def _pyromark_gfm() -> Callable[[str], str]:
    module = importlib.import_module("pyromark")
    names = ("TABLES", "FOOTNOTES", "STRIKETHROUGH", "TASKLISTS", "GFM", "DEFINITION_LIST")
    options = module.Options(0)
    for name in names:
        options |= module.Options[f"ENABLE_{name}"]
    return lambda text: str(module.html(text, options=options))


MAKERS = {
    "commonmark": _commonmark,
    "mistune": _mistune,
    "cmarkgfm": _cmarkgfm,
    "pyromark": _pyromark,
    "cmarkgfm with gfm": _cmarkgfm_gfm,
    "mistune with gfm": _mistune_gfm,
    "markdown-it-py with gfm": _markdown_it_gfm,
    "pyromark with gfm": _pyromark_gfm,
}
GFM = tuple(name for name in MAKERS if name.endswith(" with gfm"))


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
