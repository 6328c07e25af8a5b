"""Exact counts by byte pair encoding: whole texts of any size, texts in parts, bounds and cuts.

Everything here rests on the places where counts add up (see `boundaries`), so that nothing is counted twice.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..boundaries import BLANK, Unit, first_join, last_join, split_at_joins
from ..counting import Counter
from ..recent import LONG, Recent
from .cutting import Edge, cut_at_edge, find_edge

STRETCH = 1 << 18
"""Characters that are given to the tokenizer at a time."""
BLANK_RUN = 1 << 17
"""Blanks in a row that are counted apart. (tiktoken's regular expression gives up at 1,000,055 of them.)"""
CACHED = 1 << 24
"""Characters of text whose counts are remembered, a counter."""
SMALL = 16
"""Characters of a part that is not worth a look for places to cut."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile(f"[{BLANK}]+")
_LAST_OTHER = re.compile(f"(?s:.*)[^{BLANK}]")


_ENDS = re.sub(rb"[^a']", b" ", re.sub(rb"[0-9A-Za-z]", b"a", bytes(range(256))))
"""Turns ASCII's letters and digits into one letter and all but the apostrophe into a blank."""
_JOINED = ("\n/", "\r/", "\x1c", "\x1d", "\x1e", "\x1f")
"""What Python may take for the end of a word where a token goes on."""


class Encoding(Protocol):
    """What is used of `tiktoken.Encoding`."""

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the tokens of `text`."""
        ...

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of `tokens`."""
        ...


def _runs_in(text: str) -> int:
    """Return how many runs of letters and digits end in a text of ASCII, -1 for any other."""
    return text.encode().translate(_ENDS).count(b"a ") if text.isascii() else -1


class _Part(NamedTuple):
    """A part of a text, cut where counts add up."""

    head: str | None
    """`None`: nowhere to cut, all of it is head."""
    body: int
    """Tokens between head and tail."""
    tail: str


class BytePairCounter(Counter):
    """Counts by `encoding`, which is made when the first text is counted."""

    def __init__(
        self,
        name: str,
        load: Callable[[], tuple[str, Mapping[bytes, int]]],
        make: Callable[[str, Mapping[bytes, int]], Encoding],
        *,
        longest: int,
        fingerprint: str,
        exact: bool = True,
        additive: bool = True,
        normalize: Callable[[str], str] | None = None,
    ) -> None:
        """Take where pattern and ranks come from and what makes an encoding of them.

        `longest`: bytes of the longest token. `additive`: counts add up where `boundaries` says so for the pattern
        (and, with `normalize`, for what it makes of the text).
        """
        super().__init__(name, exact=exact, fingerprint=fingerprint)
        self._load = load
        self._make = make
        self._longest = longest
        self._additive = additive
        self._normalize = normalize
        self._lock = threading.RLock()
        self._encoding: Encoding | None = None
        self._blanks: Encoding | None = None
        self._counts: Recent[int] = Recent(CACHED)
        self._parts: Recent[_Part] = Recent(CACHED)
        self._cut_last: tuple[str, int, Edge | None] = ("", 0, None)

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`; each surrogate counts as U+FFFD, which replaces it in UTF-8."""
        tokens = self._counts.get(text)
        if tokens is None:
            tokens = self._count_afresh(text)
            self._counts.put(text, tokens)
        return tokens

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return exactly `count("".join(parts))`; a part seen before costs no more than its two ends."""
        if not self._additive:
            return self.count("".join(parts))
        total = 0
        between: list[str] = []
        for text in parts:
            if len(text) < SMALL:
                between.append(text)
                continue
            part = self._parts.get(text) or self._trimmed(text) or self._split(text)
            if part.head is None:
                between.append(text)
                continue
            between.append(part.head)
            total += self.count("".join(between)) + part.body
            between = [part.tail]
        return total + self.count("".join(between))

    def at_least(self, text: str, limit: int) -> int:
        """Return the best of three bounds: bytes over the longest token; words, and runs of letters, at the beginning.

        No token has letters of two words. But o200k_base may take line ends and "/" to the punctuation before them,
        so a word that begins with "/" after a line end is not counted; nor is what Python alone takes for a blank.
        Nor has a token letters on both sides of anything but a letter or digit, save the apostrophe of a contraction;
        the ends of such runs are counted in ASCII only, since combining marks go with letters.
        """
        limit = max(limit, 0)
        if not self._additive:
            return 0
        least = 0 if self._normalize else -(-len(text) // self._longest)
        if least > limit:
            return limit + 1
        words = 0
        for reach in (
            8,
            48,
        ):  # most texts show enough in their first few words, indented ones later
            beginning = text[: reach * (limit + 1)]
            if (words := _runs_in(beginning)) < 0:
                words = len(beginning.split(None, limit))
                words -= sum(map(beginning.count, _JOINED))
            if words > limit or len(beginning) == len(text):
                break
        return min(max(least, words), limit + 1)

    def most_chars(self, tokens: int) -> float:
        """Return what the longest token could fill."""
        return math.inf if self._normalize or not self._additive else self._longest * tokens

    def exceeds(self, text: str, limit: int) -> bool:
        """Tell it by the beginning alone where that is enough, which is quickest: by runs of letters, then by words."""
        if self._additive and limit >= 0:
            if _runs_in(text[: 16 * limit + 16]) > limit:
                return True
            for reach in (
                10 * limit + 64,
                24 * limit + 160,
            ):  # indented lines begin with many blanks
                beginning = text[:reach].encode(
                    "utf-8", "replace"
                )  # of bytes only ASCII's white space parts words
                if (
                    len(beginning.split(None, limit)) > limit
                    and b"\n/" not in beginning
                    and b"\r/" not in beginning
                ):
                    return True
        return self.at_least(text, limit) > limit

    def count_upto(self, text: str, limit: int) -> int:
        """Return the count, or `limit + 1` as soon as there are more."""
        if not self._additive:
            return super().count_upto(text, limit)
        limit = max(limit, 0)
        if self.at_least(text, limit) > limit:
            return limit + 1
        total = 0
        for stretch in split_at_joins(text, 4 * limit + 64):
            total += self.count(stretch)
            if total > limit:
                return limit + 1
        return total

    def cut(self, text: str, n: int, unit: Unit) -> str:
        """Cut with one count of about what `n` tokens take; see `Counter.cut`.

        A cut at a line is the longest there is, unless it falls in more than 1,024 characters of line ends.
        """
        if n <= 0:
            return ""
        if not self._additive or self._normalize:
            return super().cut(text, n, unit)
        last, limit, edge = self._cut_last  # one text is cut at each unit in turn
        if n != limit or text != last:
            edge = find_edge(text, n, self)
            self._cut_last = (text, n, edge) if len(text) <= CACHED else ("", 0, None)
        return (
            super().cut(text, n, unit) if edge is None else cut_at_edge(text, n, unit, self, edge)
        )

    def encode(self, text: str) -> list[int] | None:
        """Return the tokens of a stretch of text, very long runs of blanks apart; `None` if the library gives up."""
        run = _find_blanks(text) if len(text) > BLANK_RUN and self._additive else None
        if run is None:
            return self._encode(text)
        start, stop = run
        if stop < len(text):
            stop -= 1  # The last blank goes with the word after it; the others are one piece.
        found: list[int] = []
        for piece, encode in ((text[:start], self.encode), (text[start:stop], self._encode_blanks)):
            if (tokens := encode(piece)) is None:
                return None
            found += tokens
        rest = self.encode(text[stop:]) if stop < len(text) else []
        return None if rest is None else found + rest

    def decode(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of tokens that `encode` gave."""
        return self._encoding.decode_bytes(tokens) if self._encoding else b""

    def _count_afresh(self, text: str) -> int:
        if len(text) <= STRETCH or not self._additive:
            return self._count(text)
        return sum(map(self._count_stretch, split_at_joins(text, STRETCH)))

    def _count_stretch(self, text: str) -> int:
        """Count a stretch, and remember one without a place to cut: it comes again in each text that holds it."""
        if len(text) <= 2 * STRETCH:
            return self._count(text)
        tokens = self._counts.get(text)
        if tokens is None:
            tokens = self._count(text)
            self._counts.put(text, tokens)
        return tokens

    def _trimmed(self, text: str) -> _Part | None:
        """Return the part for a text that was seen with a line end behind it, as the last one on a page often was."""
        longer = self._parts.get(text + "\n") if text[-1] not in "\r\n" else None
        if longer is None or not longer.tail:
            return None
        return longer._replace(tail=longer.tail[:-1])

    def _split(self, text: str) -> _Part:
        """Cut a part at its first and its last place where counts add up, count what is between, remember it."""
        start = first_join(text, 0, len(text))
        if start is None:
            part = _Part(None, 0, "")
        else:
            stop = last_join(text, 0, len(text)) or start
            part = _Part(text[:start], self._count_afresh(text[start:stop]), text[stop:])
        if len(part.head or "") + len(part.tail) < LONG:
            self._parts.put(text, part)
        return part

    def _count(self, text: str) -> int:
        """Count a stretch."""
        tokens = self.encode(text)
        # No tiktoken is known to give up here; if one does, the number of bytes is never too few.
        return len(replace_surrogates(text).encode()) if tokens is None else len(tokens)

    def _encode(self, text: str) -> list[int] | None:
        if self._encoding is None:
            with self._lock:
                if self._encoding is None:
                    self._encoding = self._make(*self._load())
        text = replace_surrogates(text)
        return _encode(self._encoding, self._normalize(text) if self._normalize else text)

    def _encode_blanks(self, text: str) -> list[int] | None:
        """Return the tokens of one piece of blanks, by those alone that blanks can be made of, without the pattern."""
        if self._blanks is None:
            with self._lock:
                _, ranks = self._load()
                alphabet = set("".join(_BLANKS.findall("".join(map(chr, range(0x3001))))).encode())
                blanks = {
                    token: rank for token, rank in ranks.items() if alphabet.issuperset(token)
                }
                self._blanks = self._make(r"[\s\S]+", blanks)
        return _encode(self._blanks, self._normalize(text) if self._normalize else text)


def _find_blanks(text: str) -> tuple[int, int] | None:
    """Return start and stop of a very long run of blanks that no line end follows (else they are one piece with it)."""
    stop = 0
    for probe in range(BLANK_RUN - 1, len(text), BLANK_RUN):
        if probe >= stop and (run := _BLANKS.match(text, probe)):
            before = _LAST_OTHER.match(text, stop, probe)
            start, stop = before.end() if before else stop, run.end()
            if stop - start >= BLANK_RUN and text[stop : stop + 1] not in ("\r", "\n"):
                return start, stop
    return None


def replace_surrogates(text: str) -> str:
    """Return `text` with U+FFFD for each half of a surrogate pair, which no encoding of bytes can hold."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return _SURROGATE.sub("\ufffd", text)
    return text


def _encode(encoding: Encoding, text: str) -> list[int] | None:
    try:
        return encoding.encode_ordinary(text)
    except ValueError:
        return None
    except BaseException as error:
        # Rust's panics are no Exception, and their class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        return None
