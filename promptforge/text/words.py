"""Split a text: into words, words into terms, and at points where counts of tokens add up.

Terms are in lower case, without common words and endings. `inverse_document_frequency` and
`term_shares` weigh them by Okapi BM25 (Robertson and Zaragoza 2009).
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, AnyStr, Generic, Literal, Self, TypeVar, cast, get_args, overload

from . import table_rows
from .characters import categories, freeze, normalize

T = TypeVar("T")


class _LatePattern:
    """A regular expression that is compiled when it is first used: most runs use few of theirs."""

    def __init__(self, *given: Any) -> None:
        self._given = given
        self.pattern = given[0]

    def __getattr__(self, name: str) -> Any:
        if "_compiled" not in self.__dict__:
            self._compiled = re.compile(*self._given)
        found = getattr(self._compiled, name)
        setattr(self, name, found)  # the next use finds it without a detour
        return found


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern as `re.compile` does, at no cost until it is used."""
    return cast("re.Pattern[AnyStr]", _LatePattern(pattern, flags))


def late_patterns(table: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of `NAME.txt`, a table of this package, by their names."""
    return {name: late_pattern(pattern) for name, pattern in table_rows(table)}


_ANY_PARTS = "(?:/.+)?"
_SET = r"\[(?!\^/\])\^?+\]?+(?:\\.|[^]\\])*+\]"
_SET_OR_ESCAPE = re.compile(rf"(?s:\\.)|({_SET})")
# Any part of a name, then text of a fixed length and another star.
_STAR = re.compile(
    rf"\[\^/\]\*((?:(?s:\\.)|\(\?!/\){_SET}|\[\^/\](?![*+])|[^][\\(){{}}*+?|^$/.])*)(?=\[\^/\]\*)"
)
_FOLDER_TAKEN_BACK = late_pattern(r"!(/?)((?:.*/)?[^/]*[^/\\])/+[ \t]*")


def read_patterns(lines: Sequence[str]) -> Any:
    """Return the `GitIgnoreSpec` of patterns as of `.gitignore`.

    One that cannot be read matches nothing, as in git.
    """
    from pathspec import GitIgnoreSpec  # 36 ms that only a folder or a filter by path is worth

    try:
        return _match_in_one_pass(GitIgnoreSpec.from_lines(lines))
    except (ValueError, re.error):
        return _match_in_one_pass(GitIgnoreSpec.from_lines(filter(is_pattern, lines)))


def is_pattern(line: str) -> bool:
    r"""Return whether a pattern as of `.gitignore` can be read: not so `!`, `a\`, `[z-a]`."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


def _match_in_one_pass(rules: Any) -> Any:
    """Make rules of `pathspec` linear, and return them: their time grows with the path alone.

    `*a*a*a*b` takes minutes for a name of 250 letters `a`: the regular expression tries
    each `a` for each star. As a star takes anything, the first `a` is as good as any other, so all
    but the last star are atomic groups that take as little as they can; `**` likewise.
    """
    for rule in rules.patterns:
        if rule.regex is not None:
            # A set takes no `/`: git's does not, and what follows it is one name.
            text = rule.regex.pattern
            text = _SET_OR_ESCAPE.sub(lambda m: f"(?!/){m[1]}" if m[1] else m[0], text)
            first, *more = _STAR.sub(r"(?>[^/]*?\1)", text).split(_ANY_PARTS)
            if more and first.startswith("^(?:.+/)?"):
                first = f"^(?>(?:.+?/)??{first.removeprefix('^(?:.+/)?')}(?=/))"
            groups = [f"(?>(?:/.+?)??{part}(?=/))" for part in more[:-1]]
            last = [_ANY_PARTS + part for part in more[-1:]]
            rule.regex = re.compile("".join([first, *groups, *last]))
    return rules


def take_folders_back(patterns: Iterable[str]) -> list[str]:
    """Return patterns where `!tests/` takes back every file in the folder.

    Behind `*` git takes back the folder alone, and a list of files names no folders.
    """
    found: list[str] = []
    for pattern in patterns:
        match = _FOLDER_TAKEN_BACK.fullmatch(pattern)
        if match:
            root, folder = match.groups()
            anywhere = "" if root or "/" in folder else "**/"
            pattern = f"!{anywhere}{folder}/**"
        found.append(pattern)
    return found


class late_property(Generic[T]):  # noqa: N801  a decorator
    """A property that is worked out when it is first read, as `functools.cached_property` is.

    That of Python 3.11 holds one lock for all objects of a class. A process forked while another
    thread worked something out waited for that lock for ever.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self.__doc__ = make, make.__doc__
        self._name = make.__name__

    @overload
    def __get__(self, owner: None, kind: type[object]) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: type[object]) -> T: ...
    def __get__(self, owner: object | None, kind: type[object]) -> Self | T:
        if owner is None:
            return self
        made = self._make(owner)
        # Of two threads at once, both get what the first one made.
        found: T = owner.__dict__.setdefault(self._name, made)
        return found


# Thai, Lao, Burmese, Khmer, kana and Han, which have no blanks between words, and Hangul, which
# writes particles onto the word. Such runs become pairs of characters, as Lucene's CJK filter does.
SPACELESS = (
    "\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u104f\u1780-\u17d3"
    "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
)
# Vowel marks of Arabic and of the scripts of India. `\w` would end a word at each.
_MARKED = "\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_WORD = late_pattern(rf"[\w{_MARKED}{SPACELESS}]+")
# A table for `bytes.translate`: every ASCII character outside a word becomes a blank.
_APART = "".join(
    char if char.isalnum() or char == "_" else " " for char in map(chr, range(128))
).encode() + bytes(128)
_TYPOGRAPHY = "‘’“”–—…•\u00a0"
_RUN = late_pattern(rf"[{SPACELESS}]+")
SEAM = "_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})"
"""Pattern of the seams within `max_tokens`, `maxTokens` and `OOMKilled`."""
_PART = late_pattern(SEAM)
_BRACKETS = late_pattern(r"\([^()]*\)|\[[^\[\]]*\]")
STOP_WORDS = frozenset(dict(table_rows("words"))["stop words"].split())
"""English words that say nothing about the subject of a text."""


def split_words(text: str) -> list[str]:
    """Return the words of `text` as they are written, identifiers whole."""
    text = without_typography(text)
    if text.isascii():
        return _split_ascii(text)
    found: list[str] = []
    # One page of names in a long program: its other lines need no pattern.
    for plain, lines in itertools.groupby(text.split("\n"), str.isascii):
        block = "\n".join(lines)
        found += _split_ascii(block) if plain else _WORD.findall(block)
    return found


def without_typography(text: str) -> str:
    """Return `text` with a blank for each sign beside which a page of English is all ASCII."""
    if not text.isascii():
        for sign in _TYPOGRAPHY:
            text = text.replace(sign, " ")
        text = freeze(text)
    return text


def _split_ascii(text: str) -> list[str]:
    """Return the words four times as fast as the pattern does."""
    return text.encode().translate(_APART).decode().split()


MAX_BLOCK_CHARS = 1 << 14
"""Characters after which a block of a long text ends, at the next blank or line feed."""
_BLOCK_END = late_pattern("[ \n]")


def split_blocks(text: str) -> Iterator[str]:
    """Yield the blocks of a long text, which begin at a blank or line feed: no word is cut.

    What is made of all words at once is ten times as large as the text, and is made of a block.
    """
    start = 0
    while len(text) - start > MAX_BLOCK_CHARS:
        found = _BLOCK_END.search(text, start + MAX_BLOCK_CHARS)
        if found is None:
            break
        yield text[start : found.start()]
        start = found.start()
    yield text[start:]


def terms_of_text(text: str) -> list[str]:
    """Return the terms of `text` in order, without stop words unless there are no others."""
    found = split_words(text)
    kept = [term for word in found for term in terms_of_word(word)]
    # The query "who are they" would otherwise have no term at all.
    return kept or [stem(word.lower()) for word in found]


def terms_of_word(word: str) -> list[str]:
    """Return the terms of one word; none for a stop word.

    An identifier gives its stem and those of its parts (`maxTokens`: maxtoken, max, token); a run
    of a script without blanks gives its pairs of characters.
    """
    if word.isascii():
        lower = word.lower()
        if lower in STOP_WORDS:
            return []
        found = [stem(lower)]
        if _PART.search(word):
            parts = [part.lower() for part in _PART.split(word) if len(part) > 2]
            found += [stem(part) for part in parts if part not in STOP_WORDS and part != lower]
        return found
    runs = _RUN.findall(word)
    if not runs:
        lower = word.lower()
        if lower[0] <= "\u052f":  # up to Cyrillic; past it, marks are letters
            # Few people type accents into a query.
            apart = normalize("NFKD", lower)
            lower = "".join(char for char in apart if not unicodedata.combining(char))
        return [stem(lower)]
    rest = [part for part in _RUN.split(word) if part]
    # A run of one character has no pair, and stands for itself.
    pairs = [run[i : i + 2] for run in runs for i in range(max(1, len(run) - 1))]
    return pairs + [term for part in rest for term in terms_of_word(part)]


def stem(word: str) -> str:
    """Return a lower-case `word` without the commonest English endings.

    Forms of a word meet in one stem, which need not be a word: `caching`, `caches` and `cached`
    have the stem `cach`.
    """
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
    # `running` has become `runn`; but `call`, `miss` and `buzz` end in two letters themselves.
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeioulsz":
        word = word[:-1]
    return word


def to_phrase(text: str) -> str:
    """Return the lower-case words of `text` with a blank around each, so that `in` finds a phrase.

    Where words are written without blanks every character is a word.
    """
    return join_to_phrase(split_words(text))


def join_to_phrase(found: list[str]) -> str:
    """Return the `phrase` of a text from its words."""
    joined = f" {' '.join(found)} ".lower()
    if joined.isascii():
        return joined
    return re.sub(" +", " ", _RUN.sub(lambda run: f" {' '.join(run[0])} ", joined))


def title_phrase(title: str) -> str:
    """Return `title` as a `phrase` without its brackets, or "" if it is too short to look for.

    Other texts mention `Mercury (planet)` as "Mercury".
    """
    bare = to_phrase(_BRACKETS.sub(" ", title))
    # The blanks at both ends count: four letters, or two characters of a script without blanks.
    if len(bare) > 5 or (len(bare) > 3 and not bare.isascii() and _RUN.search(bare)):
        return bare
    return ""


def is_distinctive_title(title: str) -> bool:
    """Tell whether a text with `title` in it means its bearer: not `open`, `max_len`, `URL`."""
    found = split_words(_BRACKETS.sub(" ", title))
    if len(found) != 1:
        return bool(found)
    word = found[0]
    if "_" in word or word.isupper():
        return False
    return word[0].isupper() or _RUN.match(word) is not None


Term = TypeVar("Term", bound=Hashable)


def inverse_document_frequency(texts: int, holders: int) -> float:
    """Return the weight of a word that `holders` of so many `texts` hold."""
    # The 1 is Lucene's: without it a word in more than half of the texts would weigh less than 0.
    return math.log(1 + (texts - holders + 0.5) / (holders + 0.5))


def term_shares(
    counts: Mapping[Term, int], length: float, k1: float, b: float
) -> list[tuple[Term, float]]:
    """Return each term's share of its weight in a text that holds it so often: up to k1 + 1.

    `length` is the text's, where 1 is the mean of all; `b` says how much a long text loses by it.
    """
    norm = k1 * (1 - b + b * length)
    return [(term, (k1 + 1) * count / (count + norm)) for term, count in counts.items()]


# --- split points, and ends of units --------------------------------------------------------------

# An encoding first splits a text into words, by a regular expression without look-behind, then
# finds tokens inside a word. So count(a + b) = count(a) + count(b) wherever no word and no
# look-ahead reaches over the split point. By the patterns of o200k_base, cl100k_base, Llama 3 and
# Qwen that is
#
# - before a blank or a tab that follows anything but white space,
# - before a line end after a letter or a digit (after punctuation it would belong to that word),
# - after a line end, if the next line has a visible character after blanks and tabs alone, and does
#   not begin with "/" (o200k_base joins that to punctuation and line ends before it).
#
# Python counts U+001C to U+001F as white space, the encodings do not: a few split points are lost.
# Letters are listed one by one, because the encodings know another version of Unicode than Python.

Unit = Literal["line", "sentence", "word", "character"]
UNITS: tuple[Unit, ...] = get_args(Unit)
BLANK_CHARACTERS = "\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Unicode's white space without line feed and carriage return, for use inside a character class."""
WHITE_SPACE_CHARACTERS = "\r\n" + BLANK_CHARACTERS
_LETTER = "0-9A-Za-zÀ-ÖØ-öø-ÿΑ-ΡΣ-Ωα-ωА-яא-תぁ-ゖァ-ヺ一-龥가-힣"
_JOIN = rf"(?:\S(?=[ \t])|[{_LETTER}](?=[\r\n])|[\r\n](?!/)(?=[ \t]*+\S))"
_NEXT_JOIN, _LAST_JOIN = late_pattern(_JOIN), late_pattern("(?s:.*)" + _JOIN)
_BLANK_OR_END = late_pattern("[ \t\r\n]")
FULL_STOPS = "।॥۔؟։።။។"
"""Ends of sentences beside those of Latin scripts and the East: Hindi, Urdu, Arabic, Armenian,
Amharic, Burmese, Khmer."""
_EAST = "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_ENDS: dict[Unit, str] = {
    "line": r"\n(?=(?s:.))",
    # Before a blank line too: a heading or an item of a list ends there without a full stop.
    "sentence": rf"""(?:[.!?…{FULL_STOPS}][)\]"'’”»]*(?=\s)"""
    r"|[。！？｡][」』”’）]*(?=[^」』”’）])|\n(?=[ \t\r]*\n))",
    "word": rf"(?:\S(?=\s)|[{_EAST}](?=(?s:.)))",
    # Not inside CR LF, a surrogate pair or a row of flags, not before a combining character, not
    # after a joiner.
    "character": r"(?:\r(?!\n)|[^\r\u200d\ud800-\udbff\U0001f1e6-\U0001f1ff]"
    r"|[\ud800-\udbff](?![\udc00-\udfff])|[\U0001f1e6-\U0001f1ff](?![\U0001f1e6-\U0001f1ff]))"
    r"(?=[^MARKS\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f])",
}


@cache
def _unit_ends(unit: Unit, is_ascii: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    pattern = _ENDS[unit]
    if unit == "character":  # in ASCII, as most texts are, nothing combines
        # `re` has no \p{M}; the standard library knows the marks one by one.
        runs = () if is_ascii else categories(0xE01F0)
        marks = (f"{chr(run[0])}-{chr(run[-1])}" for category, run in runs if category[0] == "M")
        pattern = pattern.replace("MARKS", "".join(marks))
    return re.compile(pattern), re.compile("(?s:.*)" + pattern)


def first_split_point(text: str, start: int, stop: int) -> int | None:
    """Return the first split point after `start` and before `stop`."""
    # Each has a blank or line end beside it; most texts without are one word, and cost no more.
    blank = _BLANK_OR_END.search(text, start, stop)
    if blank is None:
        return None
    found = _NEXT_JOIN.search(text, max(start, blank.start() - 1), stop)
    return found.end() if found else None


def last_split_point(text: str, start: int, stop: int) -> int | None:
    """Return the last split point after `start` and before `stop`."""
    # The greedy `(?s:.*)` runs to the end, and backtracks from there.
    found = _LAST_JOIN.match(text, start, stop)
    return found.end() if found else None


def is_split_point(text: str, place: int) -> bool:
    """Return True if counts add up at `place`."""
    return place > 0 and _NEXT_JOIN.match(text, place - 1) is not None


def split_at_points(text: str, size: int) -> Iterator[str]:
    """Yield stretches of `text`, of about `size` characters, in order; their counts add up.

    A stretch is longer where `text` has no split point for longer than `size`.
    """
    start = 0
    while len(text) - start > size:
        # A megabyte of base64 has no blank in reach: then the next one counts, however far it is.
        stop = last_split_point(text, start, start + size) or first_split_point(
            text, start + size - 1, len(text)
        )
        if stop is None:
            break
        yield text[start:stop]
        start = stop
    yield text[start:]


def last_unit_end(text: str, unit: Unit, upto: int) -> int:
    """Return the last end of a `unit` at or before `upto`, less than `len(text)`; 0 without one."""
    # One character more than the end may take: the look-ahead wants to see what follows.
    found = _unit_ends(unit, text.isascii())[1].match(text, 0, upto + 1)
    return found.end() if found else 0


def unit_ends(text: str, unit: Unit, start: int, stop: int) -> list[int]:
    """Return the ends of a `unit` after `start` and before `stop`, ascending."""
    # A look-ahead sees nothing past `stop`, so an end right there is not found.
    pattern = _unit_ends(unit, text.isascii())[0]
    return [found.end() for found in pattern.finditer(text, start, stop)]
