"""Exact counts by byte pair encoding: of texts of any size, of texts in parts, bounds and cuts.

Everything here rests on split points: there counts add up exactly, so that no stretch of a text
is counted twice.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..errors import TokenizerError, call_foreign
from ..files import fork_safe_lock
from ..files.memory import recall
from ..text.characters import normalize
from ..text.escape import SURROGATE
from ..text.words import (
    BLANK_CHARACTERS,
    Unit,
    first_split_point,
    is_split_point,
    last_split_point,
    last_unit_end,
    late_pattern,
    split_at_points,
    unit_ends,
)
from .counters import MAX_CHARS_CACHED, Counter, RecentCache, require_text
from .vocabulary import LookupEncoder, speed_up_pattern

if TYPE_CHECKING:
    from tiktoken import Encoding

MAX_CHARS_ENCODED = 1 << 18
"""Characters given to the tokenizer at a time."""
MIN_BLANKS_APART = 1 << 17
"""Blanks in a row that are encoded apart; tiktoken's regular expression fails at 1,000,055."""
MIN_CHARS_RECALLED = 256
"""A shorter text is counted sooner than it is looked up among those of earlier runs."""
MIN_CHARS_SPLIT = 16
"""A shorter part is not searched for split points."""
_MAX_CHARS_TRIED = 1024
"""In so many characters without a split point, a cut tries every end of a unit."""
_MAX_SINGLE_STEPS = 16
"""Ends of a unit that a cut tries one by one; then its steps grow."""
_MAX_GROWTH = 16
"""Where there is no split point, a cut looks at most so many times as far next."""
# A run before a line end does not count: it is one piece with the line end.
_LONG_BLANKS = late_pattern(
    rf"(?<![{BLANK_CHARACTERS}])[{BLANK_CHARACTERS}]{{{MIN_BLANKS_APART},}}+(?![\r\n])"
)
# bytes.translate turns ASCII's letters and digits into "a", all others but the apostrophe into a
# blank: then b"a " counts the ends of runs of letters faster than any regular expression. What is
# not ASCII ends none: it may be a letter, or a mark on the one before.
_RUN_TABLE = re.sub(rb"[0-9A-Za-z]", b"a", bytes(range(256)))
_RUN_TABLE = re.sub(rb"[^a'\x80-\xff]", b" ", _RUN_TABLE)
# At these str.split() ends a word, but one token may reach over them.
_NO_WORD_ENDS = ("\n/", "\r/", "\x1c", "\x1d", "\x1e", "\x1f")


LOADING = fork_safe_lock()
"""Held while a table loads: one for all threads."""


class _Part(NamedTuple):
    head: str | None
    """None: there is no split point, so all of it is head."""
    body: int
    """Tokens between head and tail."""
    tail: str


class BytePairCounter(Counter):
    """Counts by a tiktoken encoding, loaded when the first text is counted."""

    lookup: LookupEncoder | None = None
    """Takes the first small texts, until the encoding is loaded."""

    def __init__(
        self,
        name: str,
        load: Callable[[], tuple[str, Mapping[bytes, int]]],
        *,
        longest: int,
        fingerprint: str,
        exact: bool = True,
        additive: bool = True,
        normal_form: Literal["NFC", "NFKC"] | None = None,
    ) -> None:
        """Take `load`, for pattern and ranks.

        `longest`: bytes of the longest token. `additive`: counts add up at split points (with
        `normal_form`, at those of the normalized text).
        """
        super().__init__(name, exact=exact, fingerprint=fingerprint)
        self._load = load
        self._longest = longest
        self._additive = additive
        self._normal_form = normal_form
        self._encoding: Encoding | None = None
        self._counts: RecentCache[int] = RecentCache(MAX_CHARS_CACHED)
        self._parts: RecentCache[_Part] = RecentCache(
            MAX_CHARS_CACHED, lambda part: len(part.head or "") + len(part.tail)
        )
        self._cut_last: tuple[str, int, _Edge | None] = ("", 0, None)

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`; half of a surrogate pair counts as U+FFFD."""
        tokens = self._counts.get(text)
        if tokens is None:
            require_text(text)
            if len(text) <= MAX_CHARS_ENCODED or not self._additive:
                tokens = self._count(text)
            else:
                tokens = sum(map(self._count_stretch, split_at_points(text, MAX_CHARS_ENCODED)))
            self._counts.put(text, tokens)
        return tokens

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return exactly `count("".join(parts))`; a part seen before costs only its ends."""
        if not self._additive:
            return self.count("".join(parts))
        # Only the text between the last split point of one part and the first of the next is
        # counted: no token reaches over a split point, and neighbours of a part do not change that.
        total = 0
        between: list[str] = []
        for text in parts:
            if len(text) < MIN_CHARS_SPLIT:
                between.append(text)
                continue
            part = self._parts.get(text) or self._split(text)
            if part.head is None:
                between.append(text)
                continue
            between.append(part.head)
            total += self.count("".join(between)) + part.body
            between = [part.tail]
        return total + self.count("".join(between))

    def count_ended(self, text: str, tokens: int, end: str) -> int:
        """Return `count(text + end)`, where `text` alone has so many tokens."""
        place = last_split_point(text, 0, len(text)) if self._additive else None
        if place is None:
            return self.count(text + end)
        last = text[place:]
        return tokens - self.count(last) + self.count(last + end)

    def at_least(self, text: str, limit: int) -> int:
        """Return the best of three bounds: bytes over the longest token, words, runs of letters."""
        limit = max(limit, 0)
        if not self._additive:
            return 0
        least = 0
        if not self._normal_form:
            least = -(-len(text) // self._longest)
        if least > limit:
            return limit + 1
        words = 0
        # Most texts show enough in their first few words, indented ones later.
        for reach in (8, 48):
            beginning = text[: reach * (limit + 1)]
            # No token has letters on both sides of anything but a letter or digit, save the
            # apostrophe of a contraction. That holds in ASCII; elsewhere marks go with letters.
            if beginning.isascii():
                words = _count_runs(beginning)
            else:
                # No token has letters of two words. But o200k_base may take line ends and "/"
                # to the punctuation before them, so a word that begins with "/" after a line
                # end is not counted; nor is a word after a blank that only Python knows.
                words = len(beginning.split(None, limit))
                words -= sum(map(beginning.count, _NO_WORD_ENDS))
            if words > limit or len(beginning) == len(text):
                break
        return min(max(least, words), limit + 1)

    def words_at_least(self, text: str, limit: int) -> int:
        """Return the runs of letters that end before an ASCII character.

        No token has letters on both sides of such an end, whatever else is in the text.
        """
        if not self._additive:
            return 0
        return min(_count_runs(text[: 48 * (max(limit, 0) + 1)]), limit + 1)

    def most_chars(self, tokens: int) -> float:
        """Return the characters that so many of the longest token could hold."""
        if self._normal_form or not self._additive:
            return math.inf
        return self._longest * tokens

    def count_upto(self, text: str, limit: int) -> int:
        """Return the count, or `limit + 1` as soon as there are more."""
        if not self._additive:
            return super().count_upto(text, limit)
        limit = max(limit, 0)
        if self.at_least(text, limit) > limit:
            return limit + 1
        total = 0
        # Prose has about four characters a token: mostly the first stretch decides, and of a text
        # that is far too long hardly more is encoded.
        for stretch in split_at_points(text, 4 * limit + 64):
            total += self.count(stretch)
            if total > limit:
                return limit + 1
        return total

    def cut(self, text: str, n: int, unit: Unit) -> str:
        """Cut with one count of about as much as `n` tokens take; see `Counter.cut`.

        A cut at a line is the longest there is, unless more than 1,024 characters of line ends
        stand there.
        """
        if n <= 0:
            return ""
        if not self._additive or self._normal_form:
            return super().cut(text, n, unit)
        # Callers cut one text at each unit in turn, and the edge is the same for all of them.
        last, limit, edge = self._cut_last
        if n != limit or text != last:
            edge = _find_edge(text, n, self)
            if len(text) <= MAX_CHARS_CACHED:
                self._cut_last = (text, n, edge)
            else:
                self._cut_last = ("", 0, None)
        if edge is None:
            return super().cut(text, n, unit)
        return _cut_at_edge(text, n, unit, self, edge)

    def encode(self, text: str) -> list[int] | None:
        """Return the tokens of a stretch of text; None if the library gives up.

        Very long runs of blanks are encoded apart.
        """
        run = None
        if len(text) > MIN_BLANKS_APART and self._additive:
            run = _LONG_BLANKS.search(text)
        if run is None:
            return self._encode(text)
        start, stop = run.span()
        if stop < len(text):
            stop -= 1  # The last blank goes with the word after it; the others are one piece.
        before = self._encode(text[:start])
        blanks = self._run(self.prepare()._encode_single_piece, text[start:stop])
        rest = self.encode(text[stop:])
        if before is None or blanks is None or rest is None:
            return None
        return before + blanks + rest

    def decode(self, tokens: list[int]) -> bytes:
        """Return the bytes of tokens that `encode` gave."""
        if self._encoding is None and self.lookup is not None:
            with suppress(KeyError):  # a token of a long run of blanks
                return self.lookup.decode(tokens)
        return self.prepare().decode_bytes(tokens)

    def _count_stretch(self, text: str) -> int:
        """Count a stretch; remember a long one, as the same one comes again in other texts."""
        # Longer than asked for: there was no split point in it.
        if len(text) <= 2 * MAX_CHARS_ENCODED:
            return self._count(text)
        tokens = self._counts.get(text)
        if tokens is None:
            tokens = self._count(text)
            self._counts.put(text, tokens)
        return tokens

    def _split(self, text: str) -> _Part:
        start = first_split_point(text, 0, len(text))
        if start is None:
            part = _Part(None, 0, "")
        else:
            stop = last_split_point(text, 0, len(text)) or start
            middle = split_at_points(text[start:stop], MAX_CHARS_ENCODED)
            part = _Part(text[:start], sum(map(self._count_stretch, middle)), text[stop:])
        self._parts.put(text, part)
        return part

    def _count(self, text: str) -> int:
        if len(text) < MIN_CHARS_RECALLED:
            return self._count_anew(text)
        about = "tokens", self.fingerprint
        return recall(text, about, lambda: self._count_anew(text), int, of_any=True)

    def _count_anew(self, text: str) -> int:
        tokens = self.encode(text)
        if tokens is None:
            # No tiktoken is known to give up here; if one does, the bytes are never too few.
            return len(replace_surrogates(text).encode())
        return len(tokens)

    def prepare(self) -> Encoding:
        """Load the encoding, if that was not done yet."""
        if self._encoding is None:
            with LOADING:
                if self._encoding is None:
                    # Asked again under the lock: two threads with their first texts load one table.
                    self._encoding = make_encoding(self.name, *self._load())
        return self._encoding

    def _encode(self, text: str) -> list[int] | None:
        text = replace_surrogates(text)
        if self.lookup is not None and self._encoding is None:
            tokens = self.lookup.encode(text)
            if tokens is not None:
                return tokens
        return self._run(self.prepare().encode_ordinary, text)

    def _run(self, encode: Callable[[str], list[int]], text: str) -> list[int] | None:
        if self._normal_form:
            text = normalize(self._normal_form, text)
        try:
            return call_foreign(encode, TokenizerError, text)
        except TokenizerError:
            return None


def make_encoding(name: str, pattern: str, ranks: Mapping[bytes, int]) -> Encoding:
    """Make a tiktoken encoding from tables at hand."""
    import tiktoken

    # Without special tokens: their spelling is ordinary text in what is counted here.
    encoding = tiktoken.Encoding(
        name, pat_str=speed_up_pattern(pattern), mergeable_ranks=dict(ranks), special_tokens={}
    )
    # It counts by a table of its own, and keeps this one for pickling: 23 MB of 200,000 tokens.
    encoding._mergeable_ranks = {}
    return encoding


def _count_runs(text: str) -> int:
    """Return how many runs of letters and digits end in a text before another ASCII character."""
    return text.encode("utf-8", "surrogatepass").translate(_RUN_TABLE).count(b"a ")


def replace_surrogates(text: str) -> str:
    """Return `text` with U+FFFD for each half of a surrogate pair: UTF-8 cannot hold them."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return SURROGATE.sub("\ufffd", text)
    return text


class _Edge(NamedTuple):
    """The place where the first n tokens of a text end: the same for cuts at any unit."""

    low: int
    """The last split point at or before the edge that was found."""
    tokens: int
    """Tokens of the text up to `low`."""
    place: int
    stop: int
    """The text was read up to here."""


def _find_edge(text: str, n: int, counter: BytePairCounter) -> _Edge | None:
    """Return where the first `n` (1 or more) tokens of a text end; None if the library gave up.

    Counts must add up at split points, and the bytes of the tokens must be those of the text.
    """
    # As in `count_upto`: the cut of a huge text costs what its beginning costs.
    base, left, room = 0, n, 4 * n + 64
    while True:
        point = None
        if base + room < len(text):
            point = last_split_point(text, base, base + room)
        stop = point or min(base + room, len(text))
        tokens = counter.encode(text[base:stop])
        if tokens is None:
            return None
        if len(tokens) > left:
            break
        if stop == len(text):
            return _Edge(len(text), n - left + len(tokens), len(text), stop)
        if point:
            left -= len(tokens)
            base, room = point, 4 * left + 64
        else:
            # " " * 1_200_000: a token has up to 128 of them, and small steps count all again.
            wanted = room * left // (len(tokens) or 1) * 9 // 8
            room = min(max(2 * room, wanted), _MAX_GROWTH * room)
    kept = counter.decode(tokens[:left])
    # The last token may end inside a character, as most emoji are several tokens: a part of one
    # is no text, and is left out.
    edge = base + len(kept.decode("utf-8", "ignore"))
    low = last_split_point(text, base, edge + 1) or base
    # The tokens up to `low` are found from the nearer side: by encoding the text before it ...
    if low - base < edge - low:
        return _Edge(low, n - left + len(counter.encode(text[base:low]) or ()), edge, stop)
    # ... or by walking back over the tokens after it. A token may not reach over a split point,
    # so the walk ends exactly there.
    used = left
    spare = len(kept) - len(text[base:low].encode("utf-8", "surrogatepass"))
    while spare > 0:
        used -= 1
        spare -= len(counter.decode(tokens[used : used + 1]))
    return _Edge(low, n - left + used, edge, stop)


def _cut_at_edge(text: str, n: int, unit: Unit, counter: BytePairCounter, edge: _Edge) -> str:
    """Return the cut of `text` (see `Counter.cut`) by the edge that `_find_edge` found for `n`."""
    if edge.low == len(text):
        return text

    def fits(place: int) -> bool:
        """Tell whether the text up to `place` has at most n tokens; count from a known place on."""
        if is_split_point(text, place):
            # No token reaches over it, so the text behind it cannot change the tokens before it.
            return place <= edge.place
        # Split points of the beginning alone: those made by the text behind `place` do not count.
        point = last_split_point(text, 0, place) or 0
        tokens = edge.tokens + counter.count(text[point:place])
        if point >= edge.low:
            tokens += counter.count(text[edge.low : point])
        else:
            tokens -= counter.count(text[point : edge.low])
        return tokens <= n

    # A cut may end a little behind the edge: " the" is one token, " t" and "he" may be two.
    high = first_split_point(text, edge.place, edge.stop) or edge.stop
    if high - edge.low <= _MAX_CHARS_TRIED:
        near = unit_ends(text, unit, max(edge.place - 1, 0), min(high + 1, len(text)))
        for place in reversed(near):
            if place > edge.place and fits(place):
                return text[:place]
    place, tries = last_unit_end(text, unit, edge.place), 0
    while place > 0 and not fits(place):
        tries += 1
        step = 1
        if tries > _MAX_SINGLE_STEPS:
            step += place // 8
        place = last_unit_end(text, unit, place - step)
    return text[:place]


class TokenPieces(NamedTuple):
    """The tokens of a text; those that share one character, as of an emoji, are one piece."""

    ends: list[int]
    """The end of each piece, in characters."""
    numbers: list[list[int]]
    """The numbers of the tokens of each piece in the vocabulary."""


def token_pieces(counter: Counter, text: str) -> TokenPieces | None:
    """Return the tokens of a text.

    Returns None for a counter without tokens, such as an estimate, and for tokens that do not spell
    the text as it is.
    """
    if not isinstance(counter, BytePairCounter):
        return None
    found = TokenPieces([], [])
    held: list[int] = []
    at = 0
    for stretch in split_at_points(text, MAX_CHARS_ENCODED):
        tokens = counter.encode(stretch)
        if tokens is None:
            return None
        # The decoder keeps the first bytes of a character until a later token brings its last.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        start = at
        for token in tokens:
            at += len(decoder.decode(counter.decode([token])))
            held.append(token)
            if not decoder.getstate()[0]:
                found.ends.append(at)
                found.numbers.append(held)
                held = []
        if at - start != len(stretch):
            return None
    return found
