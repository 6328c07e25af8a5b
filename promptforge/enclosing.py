"""Content as it is, between two tags that carry a word which nothing else on the page holds.

The word is no secret and depends on no content: it is the first of a fixed row that is absent from everything at hand,
so the same page is printed with the same word from one rendering to the next, and a cached prompt stays one.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Set
from itertools import count

from .escaping import INVISIBLE
from .items import Item

DIGITS = 6
"""Digits of a word after its letter: a letter and digits cost half the tokens of as many hexadecimal digits."""
_LETTER = "k"
_FIRST, _STEP = 417_082, 618_033
"""The first word, and what leads from each to the next: without a factor in common with 10, so all come in turn."""
_ROW = 1000
"""Texts that are looked through at once, for most are short."""
_OPEN, _CLOSE = "\n<content-", "\n</content-"
_ALIKE = re.compile(rf"(?m)^[ \t]*<\s*/?\s*content-{_LETTER}[0-9]+\s*/?\s*>[ \t]*$")
_BREAKS = "\n\r\t"
_UNSEEN = dict.fromkeys(code for code in (*range(32), 127) if chr(code) not in _BREAKS)


class UnkeptError(Exception):
    """A page on which the tags of the contents, or the word in them, stand elsewhere too; its text is the line."""


def free_word(texts: Iterable[str]) -> str:
    """Return the first word that is in none of `texts`, nor in what a lenient reader takes them for.

    It takes time in proportion to the texts, whatever words they hold: there are more words than they have room for.
    """
    texts = list(texts)
    for digits in count(DIGITS, 3):
        pattern = re.compile(rf"{_LETTER}([0-9]{{{digits}}})")
        rows = ("\n".join(texts[at : at + _ROW]) for at in range(0, len(texts), _ROW))
        held = {
            found for row in rows for form in (row, lenient(row)) for found in pattern.findall(form)
        }
        for number in range(min(len(held) + 1, 10**digits)):
            word = f"{(_FIRST + number * _STEP) % 10**digits:0{digits}}"
            if word not in held:
                return _LETTER + word
    raise AssertionError("longer words come without end")


def texts_of(item: Item) -> Iterator[str]:
    """Yield every text of an item."""
    for field in (
        item.id,
        item.kind,
        item.name,
        item.path,
        item.language,
        item.content,
        item.expanded,
        item.summary,
    ):
        if field:
            yield field
    yield from _texts(item.metadata)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def check(text: str, word: str, printed: Iterable[Set[str]]) -> None:
    """Raise `UnkeptError` unless each place of `word` in `text` is in a tag, on a line of its own, around a content.

    `printed` are the contents that were put between tags; beside them no line may look like such a tag with another
    word. So two labels that make a tag together, or a filter that makes one, are found however they do it.
    """
    opened, *pieces = text.split(word)
    outside = [opened]
    known: set[str] = set().union(*printed) if pieces else set()
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            body = piece[len(">\n") : -len(_CLOSE)]
            kept = f"\n{opened}".endswith(_OPEN) and piece == f">\n{body}{_CLOSE}" and body in known
        else:
            opened = piece.removeprefix(">")
            outside.append(opened)
            kept = piece[:1] == ">" and opened[:1] in ("", "\n")
        if not kept:
            raise UnkeptError(f"{opened[-40:]}{word}{piece[:40]}".strip())
    if len(pieces) % 2:
        raise UnkeptError(word)
    for part in outside:
        if alike := _ALIKE.search(lenient(part)):
            raise UnkeptError(alike[0].strip())


def lenient(text: str, keep: str = "") -> str:
    """Return `text` as somebody reads it who is not particular: case, width, unseen characters, escapes of XML."""
    if "&" in text:
        text = html.unescape(text)
    if text.isascii():
        if not text.isprintable():
            text = text.translate(_UNSEEN).replace("\r\n", "\n").replace("\r", "\n")
    else:
        text = unicodedata.normalize("NFKC", text)
        text = INVISIBLE.sub(lambda m: m[0] if m[0] in _BREAKS or m[0] == keep else "", text)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.casefold()
