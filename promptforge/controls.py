r"""The control tokens of an LLM: broken up in an item's texts, and restored.

A token is broken up by a backslash after its first character: `<\|im_start|>`. A text that already
looks so gets one more backslash, so taking one away restores every text. The places to change are
found in the text without its backslashes, and that is the same before and after. So no two texts
become one, and a broken token forms no new one. A token of one character is shown by its number:
`\uE200`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

NUMBERS = re.compile(r"\{([0-9]{1,9})-([0-9]{1,9})\}")
"""A range of numbers in an entry of the list: `<unused{0-98}>`."""
_SLASH = re.escape("\\")

_Token = tuple[str, ...]
"""A token as the patterns of its characters."""


class Controls:
    """The control tokens of a profile, compiled for searching. Immutable, shared by threads."""

    def __init__(self, tokens: Sequence[str]) -> None:
        """Compile `tokens`; `{0-98}` in one stands for a number with as many digits."""
        self.tokens = tuple(tokens)
        self.longest = max(map(len, tokens), default=0) + 8
        """No token is longer, in characters."""
        exact = [_characters(token) for token in tokens]
        # The search ignores backslashes, so they are left out of the patterns.
        bare = [tuple(char for char in token if char != _SLASH) for token in exact]
        self.bar = "\\" * (1 + max(map(_longest_run_of_slashes, exact), default=0))
        """The backslashes put into a token: one more than any token has in a row."""
        long = [token for token in bare if len(token) > 1]
        self._places = _compiled(_either(long, r"\\*"))
        self._barred = _compiled(_either(long, r"\\*", lead=rf"\\{{{len(self.bar)}}}"))
        self._exact = re.compile(_either(exact, "", whole=True) or "(?!)")
        singles = "".join(
            sorted({token[0].replace("\\", "", 1) for token in bare if len(token) == 1})
        )
        self._single = self._shown = None
        if singles:
            numbers = "|".join(map(_number, singles))
            self._single = re.compile(
                rf"(?<!\\)(\\*)(?:([{re.escape(singles)}])|(?<=\\)(?:{numbers}))"
            )
            self._shown = re.compile(rf"(?<!\\)(\\+)({numbers})")
            # `_single` tries every position; this finds a text without any much faster.
            self._hint = re.compile(rf"[{re.escape(singles)}]|\\(?:{numbers})")

    def write_apart(self, text: str) -> tuple[str, int]:
        """Return `text` with every token in it broken up, and the number of changes."""
        shown = 0
        if self._single is not None and self._hint.search(text):
            text, shown = self._single.subn(_show, text)
        if self._places is None or not self._places.search(text):
            return text, shown
        text, broken = self._places.subn(rf"\g<0>{re.escape(self.bar)}", text)
        return text, shown + broken

    def restore(self, text: str) -> str:
        """Return the original of a text made by `write_apart`."""
        if self._barred is not None:
            text = self._barred.sub(lambda match: match[0][0], text)
        return text if self._shown is None else self._shown.sub(_unshow, text)

    def find(self, text: str) -> list[tuple[int, int]]:
        """Return start and end of every token in `text`, as a tokenizer reads it, with overlaps."""
        return [(match.start(), match.end(1)) for match in self._exact.finditer(text)]

    def holds(self, text: str) -> bool:
        """Return True if there is a token in `text`."""
        return self._exact.search(text) is not None

    def plain(self, value: Any) -> tuple[Any, int]:
        """Break up the tokens in all texts of plain data; return it with the number of changes."""
        if isinstance(value, str):
            return self.write_apart(value)
        if isinstance(value, list | tuple):
            pairs = [self.plain(member) for member in value]
            return [member for member, _ in pairs], sum(count for _, count in pairs)
        if isinstance(value, dict):
            keys, broken = self.plain(list(value))
            members, more = self.plain(list(value.values()))
            return dict(zip(keys, members, strict=True)), broken + more
        return value, 0


@lru_cache(maxsize=64)
def controls_of(tokens: tuple[str, ...]) -> Controls:
    """Return the `Controls` of these tokens, compiled once."""
    return Controls(tokens)


def _characters(token: str) -> _Token:
    atoms: list[str] = []
    at = 0
    for match in NUMBERS.finditer(token):
        atoms += map(re.escape, token[at : match.start()])
        low, high = sorted(map(len, match.groups()))
        atoms.append(f"[0-9]{{{low},{high}}}")
        at = match.end()
    return (*atoms, *map(re.escape, token[at:]))


def _longest_run_of_slashes(token: _Token) -> int:
    runs = re.findall(r"\\+", "".join(char[-1] if char == _SLASH else "." for char in token))
    return max(map(len, runs), default=0)


def _either(tokens: Iterable[_Token], between: str, *, lead: str = "", whole: bool = False) -> str:
    """Return a pattern of the first character of any token, followed by `lead` and the rest of it.

    `between` may stand between any two characters. The rest is looked ahead at only, so matches
    may overlap. With `whole` it is group 1.
    """
    heads: dict[str, list[_Token]] = {}
    for token in tokens:
        heads.setdefault(token[0], []).append(token[1:])
    choices = [(head, _rest(rests, between)) for head, rests in sorted(heads.items())]
    if not whole:
        return "|".join(f"{head}{lead}(?={rest})" for head, rest in choices)
    if not choices:
        return ""
    # One group for all: every head is one character, so a look-behind tells which one was read.
    chosen = "|".join(f"(?<={head}){rest}" for head, rest in choices)
    return f"(?:{'|'.join(head for head, _ in choices)})(?=({chosen}))"


def _rest(tokens: Iterable[_Token], between: str) -> str:
    """Return a pattern of `tokens` as a tree of their characters.

    A tree is tried in time that does not grow with the number of tokens. Where one token begins
    another, the shorter is enough.
    """
    nexts: dict[str, list[_Token]] = {}
    for token in tokens:
        if not token:
            return ""
        nexts.setdefault(token[0], []).append(token[1:])
    branches = [
        _atom(atom, between) + _rest(rests, between) for atom, rests in sorted(nexts.items())
    ]
    return between + (branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})")


def _atom(atom: str, between: str) -> str:
    # `between` may also stand between the digits of a number.
    if not between or not atom.startswith("[0-9]{"):
        return atom
    low, high = (int(number) - 1 for number in atom[len("[0-9]{") : -1].split(","))
    return f"[0-9](?:{between}[0-9]){{{low},{high}}}"


def _compiled(pattern: str) -> re.Pattern[str] | None:
    return re.compile(pattern) if pattern else None


def _number(char: str) -> str:
    return f"u{ord(char):04X}" if ord(char) < 0x10000 else f"U{ord(char):08X}"


# An odd run of backslashes before a number means that character; an even run, half of it, is what
# the text had before the number's own text.
def _show(match: re.Match[str]) -> str:
    if match[2] is None:
        return match[1] + match[0]
    return "\\" * (2 * len(match[1]) + 1) + _number(match[2])


def _unshow(match: re.Match[str]) -> str:
    run = len(match[1])
    return "\\" * (run // 2) + (chr(int(match[2][1:], 16)) if run % 2 else match[2])
