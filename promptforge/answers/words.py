"""The words of a text as terms that can be compared: lower case, common words dropped, endings taken off."""

from __future__ import annotations

import re
import unicodedata

_SPACELESS = "\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u104f\u1780-\u17d3\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
"""Thai, Lao, Burmese, Khmer, kana, Han, and Hangul, whose particles are written onto the word."""
_MARKED = "\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
"""Marks of vowels, which `\\w` takes for the end of a word: Arabic, Devanagari and the scripts of India after it."""

_WORD = re.compile(rf"[\w{_MARKED}{_SPACELESS}]+")
_APART = "".join(
    char if char.isalnum() or char == "_" else " " for char in map(chr, range(128))
).encode() + bytes(128)
"""Turns all ASCII that is no part of a word into blanks."""
_RUN = re.compile(rf"[{_SPACELESS}]+")
_PART = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
_IDENTIFIER = re.compile(r"_|[a-z0-9][A-Z]")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")

_COMMON = """
a an the this that these those such same other another any some each every all both either neither no none
i me my mine we us our ours you your yours he him his she her hers it its they them their theirs
who whom whose which what when where why how
be am is are was were been being do does did done doing have has had having
can could may might must shall should will would
and or but nor not if then than so as because while until although though whether
of in on at by for from to into onto with within without about above below over under between among
through during before after against upon up down out off per via
again also just only very too more most much many few less own here there once now ever
s t d m ll ve re
"""
STOP = frozenset(_COMMON.split())
"""English words that say nothing of what a text is about."""


def words(text: str) -> list[str]:
    """Return the words of `text` as they are written, identifiers whole."""
    if text.isascii():  # four times as fast
        return text.encode().translate(_APART).decode().split()
    return _WORD.findall(text)


def terms(text: str) -> list[str]:
    """Return the terms of `text` in order, stop words left out; of a text of stop words alone all are kept."""
    found = words(text)
    kept = [term for word in found for term in terms_of(word)]
    return kept or [stem(word.lower()) for word in found]


def terms_of(word: str) -> list[str]:
    """Return the terms of one word: its stem, those of an identifier's parts, or pairs of characters; none: common."""
    if word.isascii():
        lower = word.lower()
        if lower in STOP:
            return []
        found = [stem(lower)]
        if _IDENTIFIER.search(word):
            parts = [part.lower() for part in _PART.split(word) if len(part) > 2]
            found += [stem(part) for part in parts if part not in STOP and part != lower]
        return found
    runs = _RUN.findall(word)
    if not runs:
        return [stem(_plain(word.lower()))]
    rest = [part for part in _RUN.split(word) if part]
    pairs = [run[i : i + 2] for run in runs for i in range(max(1, len(run) - 1))]
    return pairs + [term for part in rest for term in terms_of(part)]


def stem(word: str) -> str:
    """Return `word` (lower case) without the commonest English endings: forms of a word meet, not always in a word."""
    if len(word) < 4 or not word[-1].isalpha():
        return word
    if word.endswith("s"):
        if word.endswith("ies"):
            word = word[:-3] + "y"
        elif word.endswith("sses"):
            word = word[:-2]
        elif not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    if word.endswith("ing") and len(word) > 5:
        word = word[:-3]
    elif (word.endswith("ed") and len(word) > 4) or (word.endswith("ly") and len(word) > 5):
        word = word[:-2]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeioulsz":
        word = word[:-1]
    return word


def phrase(text: str) -> str:
    """Return the words of `text` in lower case with a blank around each, for `in` to look for one phrase in another.

    Where words are written without blanks every character is a word.
    """
    return spaced(words(text))


def spaced(found: list[str]) -> str:
    """Return `phrase` of a text whose words these are."""
    joined = f" {' '.join(found)} ".lower()
    if joined.isascii():
        return joined
    return re.sub(" +", " ", _RUN.sub(lambda run: f" {' '.join(run[0])} ", joined))


def name(title: str) -> str:
    """Return what `title` is called in a text, as a `phrase`, what is in brackets left out; "" if it is too short."""
    bare = phrase(_BRACKETS.sub(" ", title))
    return (
        bare
        if len(bare) > 5 or (len(bare) > 3 and not bare.isascii() and _RUN.search(bare))
        else ""
    )


def telling(title: str) -> bool:
    """Return whether `title` in a text is likely to mean what it is the title of: not `open`, `max_len` or `URL`."""
    found = words(_BRACKETS.sub(" ", title))
    if len(found) != 1:
        return bool(found)
    word = found[0]
    return (
        "_" not in word
        and not word.isupper()
        and (word[0].isupper() or _RUN.match(word) is not None)
    )


def _plain(word: str) -> str:
    """Return a word of a European script without its accents: few people type them into a query."""
    if word[0] > "\u052f":
        return word
    return "".join(
        char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char)
    )
