r"""The control tokens of an LLM: broken up in texts, so that no server reads them as control.

A token is broken up by a backslash after its first character: `<\|im_start|>`. A text that already
looks so gets one more backslash, so taking one away restores every text. The places to change are
found in the text without its backslashes, and that is the same before and after. So no two texts
become one, and a broken token forms no new one. A token of one character is shown by its number:
`\uE200`.

`ControlTokens` breaks up the texts of items before a template sees them. Yet two values side by
side may form a token, a value and the template's own words, or a filter: `TokenBreaker` finds these
in the finished text. A whole token written by a template or the caller stays.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from .words import late_pattern

if TYPE_CHECKING:
    from ..syntax.syntax import Syntax

NUMBER_RANGE = late_pattern(r"\{([0-9]{1,9})-([0-9]{1,9})\}")
"""A range of numbers in an entry of the list: `<unused{0-98}>`."""
_SLASH = re.escape("\\")
_Token = tuple[str, ...]
"""A token as the patterns of its characters."""


class ControlTokens:
    """The control tokens of a profile, compiled for searching. Immutable, shared by threads."""

    def __init__(self, tokens: Sequence[str]) -> None:
        """Compile `tokens`; `{0-98}` in one stands for a number with as many digits."""
        self.tokens = tuple(tokens)
        self.max_characters = max(map(len, tokens), default=0) + 8
        """No token is longer, in characters."""
        exact = [_characters(token) for token in tokens]
        # The search ignores backslashes, so they are left out of the patterns.
        bare = [tuple(char for char in token if char != _SLASH) for token in exact]
        runs = re.findall(r"\\+", "\n".join(tokens))
        self.bar = "\\" * (1 + max(map(len, runs), default=0))
        """The backslashes put into a token: one more than any token has in a row."""
        long = [token for token in bare if len(token) > 1]
        self._places = re.compile(_either(long, r"\\*"))
        self._barred = re.compile(_either(long, r"\\*", lead=rf"\\{{{len(self.bar)}}}"))
        self._exact = re.compile(_either(exact, "", whole=True))
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

    def break_up(self, text: str) -> tuple[str, int]:
        """Return `text` with every token in it broken up, and the number of changes."""
        shown = 0
        if self._single is not None and self._hint.search(text):
            text, shown = self._single.subn(_show_number, text)
        text, broken = self._places.subn(rf"\g<0>{re.escape(self.bar)}", text)
        return text, shown + broken

    def restore(self, text: str) -> str:
        """Return the original of a text made by `break_up`."""
        text = self._barred.sub(lambda match: match[0][0], text)
        if self._shown is not None:
            text = self._shown.sub(_restore_number, text)
        return text

    def find(self, text: str) -> list[tuple[int, int]]:
        """Return start and end of every token in `text`, as a tokenizer reads it, with overlaps."""
        return [(match.start(), match.end(1)) for match in self._exact.finditer(text)]

    def holds(self, text: str) -> bool:
        """Return True if there is a token in `text`."""
        return self._exact.search(text) is not None

    def break_up_data(self, value: Any) -> tuple[Any, int]:
        """Break up the tokens in all texts of plain data; return it with the number of changes."""
        if isinstance(value, str):
            return self.break_up(value)
        if isinstance(value, list | tuple):
            pairs = [self.break_up_data(member) for member in value]
            return [member for member, _ in pairs], sum(count for _, count in pairs)
        if isinstance(value, dict):
            keys, broken = self.break_up_data(list(value))
            members, more = self.break_up_data(list(value.values()))
            return dict(zip(keys, members, strict=True)), broken + more
        return value, 0


@lru_cache(maxsize=64)
def control_tokens_of(tokens: tuple[str, ...]) -> ControlTokens:
    """Return `ControlTokens(tokens)`, compiled once."""
    return ControlTokens(tokens)


def _characters(token: str) -> _Token:
    atoms: list[str] = []
    at = 0
    for match in NUMBER_RANGE.finditer(token):
        atoms += map(re.escape, token[at : match.start()])
        low, high = sorted(map(len, match.groups()))
        atoms.append(f"[0-9]{{{low},{high}}}")
        at = match.end()
    return (*atoms, *map(re.escape, token[at:]))


def _either(tokens: Iterable[_Token], between: str, *, lead: str = "", whole: bool = False) -> str:
    """Return a pattern of the first character of any token, followed by `lead` and the rest of it.

    `between` may stand between any two characters. The rest is looked ahead at only, so matches
    may overlap. With `whole` it is group 1.
    """
    heads: dict[str, list[_Token]] = {}
    for token in tokens:
        heads.setdefault(token[0], []).append(token[1:])
    choices = [(head, _rest(rests, between)) for head, rests in sorted(heads.items())]
    if not choices:
        return "\0(?!)"  # never: a character is passed over faster than each place is tried
    if not whole:
        return "|".join(f"{head}{lead}(?={rest})" for head, rest in choices)
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
    branches = []
    for atom, rests in sorted(nexts.items()):
        if between and (number := re.fullmatch(r"\[0-9\]\{(\d+),(\d+)\}", atom)):
            # `between` may also stand between the digits of a number.
            atom = f"[0-9](?:{between}[0-9]){{{int(number[1]) - 1},{int(number[2]) - 1}}}"
        branches.append(atom + _rest(rests, between))
    if len(branches) == 1:
        return between + branches[0]
    return f"{between}(?:{'|'.join(branches)})"


def _number(char: str) -> str:
    return f"u{ord(char):04X}" if ord(char) < 0x10000 else f"U{ord(char):08X}"


# An odd run of backslashes before a number means that character; an even run, half of it, is what
# the text had before the number's own text.
def _show_number(match: re.Match[str]) -> str:
    if match[2] is None:
        return match[1] + match[0]
    return "\\" * (2 * len(match[1]) + 1) + _number(match[2])


def _restore_number(match: re.Match[str]) -> str:
    half, is_character = divmod(len(match[1]), 2)
    if is_character:
        return "\\" * half + chr(int(match[2][1:], 16))
    return "\\" * half + match[2]


class BrokenUp(NamedTuple):
    """The parts of a text without tokens across their ends."""

    parts: list[str]
    broken: int = 0
    """Number of tokens that were broken up."""
    left: int = 0
    """Number of tokens without a place for a backslash."""


class TokenBreaker:
    """Breaks up control tokens that the texts of one rendering form together."""

    def __init__(self, controls: ControlTokens, syntax: Syntax, spare: Set[str]) -> None:
        """Keep the tokens in `spare`: templates and the caller wrote them."""
        self.controls = controls
        self.spare = frozenset(spare)
        self._syntax = syntax
        self._bar = controls.bar * syntax.backslashes

    def break_up(self, parts: list[str], settled: Set[int] = frozenset()) -> BrokenUp:
        """Return the parts of a finished text with the tokens across their ends broken up.

        Parts of exactly the type `str` are a template's own words. `settled` holds the `id`s of
        parts that were broken up before: only their ends matter.
        """
        # Most texts hold no token: this search, over the ends of settled parts, is all they cost.
        reach = self.controls.max_characters
        seen = []
        for part in parts:
            if id(part) in settled and len(part) > 2 * reach:
                seen += [part[:reach], part[-reach:]]
            else:
                seen.append(part)
        if not self.controls.holds("".join(seen)):
            return BrokenUp(parts)
        own = [type(part) is str for part in parts]
        whole = [mine or id(part) in settled for mine, part in zip(own, parts, strict=True)]
        changed, broken = list(parts), 0
        while True:  # a backslash may complete another token, so until none is left
            text = "".join(changed)
            ends = list(accumulate(map(len, changed)))
            found = list(self._stray_tokens(text, ends, own, whole))
            places = self._places(text, ends, own, found)
            if not places:
                return BrokenUp(changed, broken, len(found))
            broken += len(places)
            for place, number in reversed(places):  # from the end, so that earlier places stay
                old = changed[number]
                at = place - (ends[number] - len(old))
                changed[number] = type(old)(old[:at] + self._bar + old[at:])

    def _stray_tokens(
        self, text: str, ends: Sequence[int], own: Sequence[bool], whole: Sequence[bool]
    ) -> Iterator[tuple[int, int]]:
        for start, end in self.controls.find(text):
            first, last = bisect_right(ends, start), bisect_right(ends, end - 1)
            if first == last:
                is_theirs = whole[first] or text[start:end] in self.spare
            else:
                is_theirs = all(own[first : last + 1])
            if not is_theirs:
                yield start, end

    def _places(
        self, text: str, ends: Sequence[int], own: Sequence[bool], found: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Return positions for backslashes with their parts; never parts of a template."""
        places: list[tuple[int, int]] = []
        if not found:
            return places
        inside = self._syntax.inside(text)
        for start, end in found:
            if places and start < places[-1][0] < end:  # the last backslash breaks this one up too
                continue
            for place in range(start + 1, end):
                before, after = bisect_right(ends, place - 1), bisect_right(ends, place)
                part = before
                if own[before]:
                    part = after
                # Beside another backslash the two would be read as one escape.
                if not own[part] and "\\" not in text[place - 1 : place + 1] and inside(place):
                    places.append((place, part))
                    break
        return places


def spread_insertions(text: str, parts: Sequence[str]) -> list[str]:
    """Return the `parts` of a text with the characters inserted into them: `text` is the result."""
    begins, at = [], 0
    for part in parts:
        begins.append(at)
        for char in part:
            while text[at] != char:  # an inserted backslash
                at += 1
            at += 1
    # What follows the last character of a part belongs to it.
    return [text[begin:end] for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]
