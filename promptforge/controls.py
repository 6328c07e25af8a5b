r"""The control tokens of an LLM, kept from coming out of an item's text: written apart, and put together again.

A token is written apart by a backslash after its first character: `<\|im_start|>`. What already looks so gets one
more, so taking one away gives back every text. Which places are changed is told by the text without its backslashes,
and these are the same before and after; so no two texts become one, and what is written apart forms no token anew. A
token of one character is shown by its number: `\uE200`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

NUMBERS = re.compile(r"\{([0-9]{1,9})-([0-9]{1,9})\}")
"""What stands for any number of a range in an entry of the list: `<unused{0-98}>`."""

_Word = tuple[str, ...]
"""A token as the patterns of its characters."""


class Controls:
    """The control tokens of a profile, ready to be looked for. Immutable, shared by all threads."""

    def __init__(self, tokens: Sequence[str]) -> None:
        """`tokens` are a profile's: texts, in which `{0-98}` stands for any number of as many digits."""
        self.tokens = tuple(tokens)
        words = [_word(token) for token in tokens]
        bare = [tuple(char for char in word if char != _SLASH) for word in words]
        self.bar = "\\" * (1 + max((_inner_run(word) for word in words), default=0))
        """What is put into a token: more backslashes than any token has in it."""
        long = [word for word in bare if len(word) > 1]
        self._places = _compiled(_either(long, r"\\*", lead=""))
        self._barred = _compiled(_either(long, r"\\*", lead=rf"\\{{{len(self.bar)}}}"))
        singles = "".join(sorted({word[0].replace("\\", "", 1) for word in bare if len(word) == 1}))
        self._single = self._shown = None
        if singles:
            numbers = "|".join(map(_number, singles))
            self._single = re.compile(
                rf"(?<!\\)(\\*)(?:([{re.escape(singles)}])|(?<=\\)(?:{numbers}))"
            )
            self._shown = re.compile(rf"(?<!\\)(\\+)({numbers})")
            self._hint = re.compile(rf"[{re.escape(singles)}]|\\(?:{numbers})")
        self.longest = max(map(len, tokens), default=0) + 8
        """Characters that no token is longer than."""
        self._exact = re.compile(_either(words, "", lead="", whole=True) or "(?!)")

    def write_apart(self, text: str) -> tuple[str, int]:
        """Return `text` with every token in it written apart, and how many places were changed."""
        shown = 0
        if self._single is not None and self._hint.search(text):
            text, shown = self._single.subn(_show, text)
        if self._places is None or not self._places.search(text):
            return text, shown
        text, apart = self._places.subn(rf"\g<0>{re.escape(self.bar)}", text)
        return text, shown + apart

    def restore(self, text: str) -> str:
        """Return the text of which `text` is what `write_apart` made."""
        if self._barred is not None:
            text = self._barred.sub(lambda match: match[0][0], text)
        return text if self._shown is None else self._shown.sub(_unshow, text)

    def find(self, text: str) -> list[tuple[int, int]]:
        """Return start and end of every token in `text`, as a tokenizer would read it, overlapping ones too."""
        return [(match.start(), match.end(1)) for match in self._exact.finditer(text)]

    def holds(self, text: str) -> bool:
        """Return whether there is a token in `text`."""
        return self._exact.search(text) is not None

    def plain(self, value: Any) -> tuple[Any, int]:
        """Return plain data (texts, lists, mappings) with every text in it written apart, and how many places."""
        if isinstance(value, str):
            return self.write_apart(value)
        if isinstance(value, list | tuple):
            pairs = [self.plain(member) for member in value]
            return [member for member, _ in pairs], sum(count for _, count in pairs)
        if isinstance(value, dict):
            keys = [self.plain(key) for key in value]
            members = [self.plain(member) for member in value.values()]
            made = {key: member for (key, _), (member, _) in zip(keys, members, strict=True)}
            return made, sum(count for _, count in keys + members)
        return value, 0


@lru_cache(maxsize=64)
def controls_of(tokens: tuple[str, ...]) -> Controls:
    """Return the `Controls` of these tokens, made once."""
    return Controls(tokens)


_SLASH = re.escape("\\")


def _word(token: str) -> _Word:
    word: list[str] = []
    at = 0
    for match in NUMBERS.finditer(token):
        word += map(re.escape, token[at : match.start()])
        low, high = sorted(map(len, match.groups()))
        word.append(f"[0-9]{{{low},{high}}}")
        at = match.end()
    return (*word, *map(re.escape, token[at:]))


def _inner_run(word: _Word) -> int:
    """Return the length of the longest run of backslashes in a token."""
    longest = run = 0
    for char in word:
        run = run + 1 if char == _SLASH else 0
        longest = max(longest, run)
    return longest


def _either(words: Iterable[_Word], between: str, *, lead: str, whole: bool = False) -> str:
    """Return a pattern of the first characters of `words`, each with `lead`, where the rest of a word follows.

    `between` may stand between any two characters. With `whole` the rest of the word is group 1.
    """
    heads: dict[str, list[_Word]] = {}
    for word in words:
        heads.setdefault(word[0], []).append(word[1:])
    choices = []
    for head, rests in sorted(heads.items()):
        rest = _rest(rests, between)
        choices.append((head, rest))
    if whole:  # one group for all: the heads are single characters, so the rest is chosen by the one that was read
        chosen = "|".join(f"(?<={head}){rest}" for head, rest in choices)
        return f"(?:{'|'.join(head for head, _ in choices)})(?=({chosen}))" if choices else ""
    return "|".join(f"{head}{lead}(?={rest})" for head, rest in choices)


def _rest(words: Iterable[_Word], between: str) -> str:
    """Return a pattern of `words` as a tree; where one is the beginning of another the shorter is enough."""
    nexts: dict[str, list[_Word]] = {}
    for word in words:
        if not word:
            return ""
        nexts.setdefault(word[0], []).append(word[1:])
    branches = [
        _atom(atom, between) + _rest(rests, between) for atom, rests in sorted(nexts.items())
    ]
    return between + (branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})")


def _atom(atom: str, between: str) -> str:
    if not between or not atom.startswith("[0-9]{"):
        return atom
    low, high = (int(number) - 1 for number in atom[len("[0-9]{") : -1].split(","))
    return f"[0-9](?:{between}[0-9]){{{low},{high}}}"


def _compiled(pattern: str) -> re.Pattern[str] | None:
    return re.compile(pattern) if pattern else None


def _number(char: str) -> str:
    return f"u{ord(char):04X}" if ord(char) < 0x10000 else f"U{ord(char):08X}"


def _show(match: re.Match[str]) -> str:
    if match[2] is None:
        return match[1] + match[0]
    return "\\" * (2 * len(match[1]) + 1) + _number(match[2])


def _unshow(match: re.Match[str]) -> str:
    run = len(match[1])
    return "\\" * (run // 2) + (chr(int(match[2][1:], 16)) if run % 2 else match[2])
