"""Languages of files, by name or by the first line of a script, in the words that fences use.

The tables add to the tags of the package `identify`, which are names of languages.
"""

from __future__ import annotations

from functools import lru_cache

from . import table_rows
from .characters import freeze
from .words import late_pattern

_TABLE = {name: words.split() for name, words in table_rows("languages")}
"""`suffix LANGUAGE` has the suffixes that `identify` does not know, or knows only as text; `tag
LANGUAGE` has its tags that fences write otherwise. `fences` has all tags: the first one wins where
a name has several, so `gyp` is python and not json."""
_NO_PROGRAMS = frozenset(_TABLE["no programs"])


def _by_word(kind: str) -> dict[str, str]:
    rows = (name for name in _TABLE if name.startswith(kind))
    return {word: name.removeprefix(kind) for name in rows for word in _TABLE[name]}


_SUFFIXES, _FENCES = _by_word("suffix "), _by_word("tag ")
COMMENT_SIGNS = _by_word("comment ")
"""Language → the sign of a comment on one line; two signs where it has to end, too."""
BLOCK_COMMENTS = frozenset(_TABLE["block comments"])
"""Languages in which `/*…*/` is a comment within a line."""
_RANK = {tag: rank for rank, tag in enumerate(_TABLE["fences"])}
_CPP = late_pattern(r"\n(?:class|namespace|template)[ \t<]|\n[ \t]*(?:public|private):")
_HASHBANG = late_pattern(
    r"#![ \t]*/[^\s]{0,99}/(?:env[ \t]+(?:-S[ \t]+)?)?([a-z]+[0-9]?)(?:[.0-9]{0,9})(?=\s|\Z)"
)
DATA_LANGUAGES = frozenset({None, "json", "yaml", "text"})
"""Languages of files that may hold items."""


def language_of(path: str) -> str | None:
    """Return the fence tag of a file name (`src/app.py` → `python`), or `None` for unknown ones.

    It comes from fixed tables, so no name can put anything harmful into a tag.
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    return _of_name(name) if 0 < len(name) <= 255 else None


def is_code(language: str | None) -> bool:
    """Tell whether a tag names a programming language, and not prose, data or markup."""
    return language is not None and language not in _NO_PROGRAMS


@lru_cache(maxsize=1 << 15)
def _of_name(name: str) -> str | None:
    from identify.identify import tags_from_filename

    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    # "text" only tells that it is not binary.
    tags: set[str] = tags_from_filename(name) - {"text"}
    # `identify` adds the tags of LICENSE to those of LICENSE.md.
    if suffix == "md":
        return "markdown"
    fence = _fence_of(tags)
    # Of README.asc it knows README alone.
    return _SUFFIXES.get(suffix, fence) if fence in (None, "text") else fence


def _fence_of(tags: set[str]) -> str | None:
    # Only tags of the fixed list pass, whatever `identify` says.
    fences = {_FENCES.get(tag, tag) for tag in tags}
    return min(fences & _RANK.keys(), key=_RANK.__getitem__, default=None)


def language_of_text(path: str, text: str) -> str | None:
    """Return the language of a file by its name; else by its text, as of a header or a script."""
    language = language_of(path)
    if language == "c" and path.endswith(".h") and _CPP.search(freeze(f"\n{text}")):
        return "cpp"
    if language == "typescript" and text.startswith(("<?xml", "<!DOCTYPE TS>")):
        return "xml"  # Qt's translations
    if language == "asciidoc" and text.startswith("-----BEGIN PGP "):  # a signature
        return "pem"
    return language or language_of_script(text)


def language_of_script(text: str) -> str | None:
    """Return the language of a script by its first line, `#!/usr/bin/env python3`, or `None`."""
    found = _HASHBANG.match(text)
    if found is None:
        return None
    from identify.interpreters import INTERPRETERS

    return _fence_of(INTERPRETERS.get(found[1], set()))
