"""Delimiters: tags around a content as it is, with a nonce that no other text of the page holds.

The nonce is no secret and not random. It is the first of a fixed sequence that no text holds, so
equal input gets an equal nonce, and a provider's prompt cache keeps working.
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
"""Digits of a nonce after its letter: half the tokens of as many hexadecimal digits."""
_LETTER = "k"
# The first number, and the step to the next. The step has no factor in common with 10, so the
# sequence reaches every number.
_FIRST, _STEP = 417_082, 618_033
_TEXTS_SEARCHED_AT_ONCE = 1000  # most are short
_OPEN, _CLOSE = "\n<content-", "\n</content-"
_ALIKE = re.compile(rf"(?m)^[ \t]*<\s*/?\s*content-{_LETTER}[0-9]+\s*/?\s*>[ \t]*$")
_BREAKS = "\n\r\t"
_UNSEEN = dict.fromkeys(code for code in (*range(32), 127) if chr(code) not in _BREAKS)


class UnkeptError(Exception):
    """A delimiter or its nonce stands in the wrong place; the message is the line."""


def free_word(texts: Iterable[str]) -> str:
    """Return the first nonce of the sequence that is in none of `texts`, however leniently read."""
    texts = list(texts)
    # All held nonces are gathered first, in one pass. Trying one candidate after the other would
    # let a text that lists the sequence cost a pass for each.
    for digits in count(DIGITS, 3):
        pattern = re.compile(rf"{_LETTER}([0-9]{{{digits}}})")
        held: set[str] = set()
        for at in range(0, len(texts), _TEXTS_SEARCHED_AT_ONCE):
            row = "\n".join(texts[at : at + _TEXTS_SEARCHED_AT_ONCE])
            held.update(pattern.findall(row), pattern.findall(lenient(row)))
        for number in range(min(len(held) + 1, 10**digits)):
            word = f"{(_FIRST + number * _STEP) % 10**digits:0{digits}}"
            if word not in held:
                return _LETTER + word
    raise AssertionError("longer nonces come without end")


def texts_of(item: Item) -> Iterator[str]:
    """Yield every text of an item."""
    named = (item.id, item.kind, item.name, item.path, item.language)
    waiting: list[object] = [*named, item.content, item.expanded, item.summary, item.metadata]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += map(str, value)
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value


def check(text: str, word: str, printed: Iterable[Set[str]]) -> None:
    """Raise `UnkeptError` unless the nonce `word` stands only in delimiters around contents.

    `printed` are the contents that were put between delimiters. Outside these, no line may look
    like a delimiter with any nonce: two labels may form one together, or a filter.
    """
    # Cut at the nonce, a good text alternates: outside, content, outside, … Every piece is then
    # known by its ends.
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
    """Return `text` as a lenient reader takes it.

    It has no case, no width, no unseen characters except `keep`, and no escapes of XML.
    """
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
