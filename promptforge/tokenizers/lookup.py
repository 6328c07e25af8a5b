"""Small texts, encoded exactly without the whole token table in memory.

tiktoken needs 0.2 s of processor time to take over the 200,000 tokens of o200k_base, more than a
small text takes for all the rest. Most pieces of a text are tokens. So the table lies in order on
the disk and is searched for them, Python's `re` finds the pieces, and only a piece that is no token
is merged here. Whatever is not certain is left to tiktoken: long pieces, rare characters, and any
text after the first hundred kilobytes.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable

from .vocabulary import RankTable

MAX_CHARS_LOOKED_UP = 1 << 16
"""Characters of all texts; about there, tiktoken's table has paid."""
MAX_RANKS_SEARCHED = 1 << 14
"""Tokens that are searched for in all: at 4 µs each, less than tiktoken's table takes."""
_MAX_BYTES_MERGED = 64
"""A longer piece that is no token is left to tiktoken: merging takes quadratic time."""
# In place of a character outside of ASCII stands another of its class: `re` knows no \p{Lu}. The
# letters named here are in no contraction, and the last two classes stand for themselves.
_STAND_INS = {
    **dict.fromkeys(("Lu", "Lt"), "A"),
    "Ll": "a",
    **dict.fromkeys(("Nd", "Nl", "No"), "0"),
    **dict.fromkeys(("Zs", "Zl", "Zp"), "\t"),
    **dict.fromkeys(("Lm", "Lo"), "ª"),
    **dict.fromkeys(("Mn", "Mc", "Me"), "\u0301"),
}
_CLASSES = {
    **{"Lu": "A-Z", "Lt": "", "Ll": "a-z", "Lm": "", "Lo": "ª"},
    **{"L": "A-Za-zª", "M": "\u0301", "N": "0-9"},
}
_OTHER = "!"
# Letters and signs of living scripts, of one class in every version of Unicode since 2010. The long
# s is not among them: for a pattern without case it is an s.
_RARE = re.compile(
    "[^\x00-\x7f\xa0-\u017e\u0180-\u024f\u0391-\u03a1\u03a3-\u03c9А-яёЁא-ת\u2010-\u2027\u2030-\u205e"
    "\u2070-\u2071\u2074-\u208e\u20a0-\u20b5\u2190-\u23e8\u2460-\u26ff\u2701-\u27bf\u3001-\u3020"
    "ぁ-ゖァ-ヺ一-龥가-힣\uff01-\uff5e\U0001f300-\U0001f64f\U0001f680-\U0001f6ff]"
)
_NOT_ASCII = re.compile("[^\x00-\x7f]")


class LookupEncoder:
    """Encodes by one published pattern and the table on the disk; gives up after some work."""

    def __init__(self, pattern: str, load: Callable[[], RankTable]) -> None:
        self._pattern = pattern
        self._load = load
        self._table: RankTable | None = None
        self._pieces: re.Pattern[str] | None = None
        self._known: dict[str, tuple[int, ...]] = {}
        self._ranks: dict[bytes, int | None] = {}
        self._tokens: dict[int, bytes] = {}
        self._chars_left = MAX_CHARS_LOOKED_UP

    def encode(self, text: str) -> list[int] | None:
        """Return the tokens of `text`, or None: it is for tiktoken."""
        self._chars_left -= len(text)
        if self._chars_left < 0 or len(self._ranks) > MAX_RANKS_SEARCHED:
            return None
        if self._pieces is None:
            self._pieces = re.compile(python_pattern(self._pattern), re.ASCII)
        if text.isascii():
            pieces = self._pieces.findall(text)
        elif _RARE.search(text) is None:
            plain = _NOT_ASCII.sub(_stand_in, text)
            pieces = [text[slice(*found.span())] for found in self._pieces.finditer(plain)]
        else:
            return None
        tokens: list[int] = []
        for piece in pieces:
            found = self._known.get(piece)
            if found is None:
                found = self._encode_piece(piece.encode())
                if found is None:
                    return None
                self._known[piece] = found
            tokens += found
        return tokens

    def decode(self, tokens: list[int]) -> bytes:
        """Return the bytes of tokens that `encode` gave."""
        return b"".join(map(self._tokens.__getitem__, tokens))

    def _encode_piece(self, piece: bytes) -> tuple[int, ...] | None:
        """Merge, again and again, the first two neighbours that make the token of lowest rank."""
        parts = [piece]
        if self._rank(piece) is None:
            if len(piece) > _MAX_BYTES_MERGED:
                return None
            parts = [piece[place : place + 1] for place in range(len(piece))]
        while len(parts) > 1:
            pairs = [left + right for left, right in itertools.pairwise(parts)]
            ranks = enumerate(map(self._rank, pairs))
            ranked = [(rank, at) for at, rank in ranks if rank is not None]
            if not ranked:
                break
            at = min(ranked)[1]
            parts[at : at + 2] = [pairs[at]]
        found = []
        for part in parts:
            rank = self._rank(part)
            assert rank is not None, "each byte is a token"
            self._tokens[rank] = part
            found.append(rank)
        return tuple(found)

    def _rank(self, token: bytes) -> int | None:
        if token not in self._ranks:
            if self._table is None:
                self._table = self._load()
            self._ranks[token] = self._table.rank(token)
        return self._ranks[token]


def python_pattern(pattern: str) -> str:
    """Return a published pattern for `re` and texts of ASCII and stand-ins."""

    def translate(found: re.Match[str]) -> str:
        inside = re.sub(r"\\p\{(\w+)\}", lambda each: _CLASSES[each[1]], found[0])
        return inside if inside.startswith("[") else f"[{inside}]"

    # At `$`, `re` stops before a line feed at the end too.
    return re.sub(r"\[[^\]]*\]|\\p\{\w+\}", translate, pattern).replace("$", r"\Z")


def _stand_in(found: re.Match[str]) -> str:
    return _STAND_INS.get(unicodedata.category(found[0]), _OTHER)
