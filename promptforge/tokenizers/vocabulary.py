"""The token tables that ship with the package, packed, and the encodings that they are for.

A packed table is zlib over: the number of tokens (4 bytes, little endian), the length of each
token (a byte each), then the bytes of all tokens. The place of a token in the table is its rank.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .._shipped import VOCABULARIES


class Vocabulary(NamedTuple):
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
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PUBLISHED: Mapping[str, Vocabulary] = {
    "o200k_base": Vocabulary(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTIONS}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    "cl100k_base": Vocabulary(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
}
LONGEST = 128
"""Bytes of the longest token of either table (a run of blanks)."""


def pack(tokens: Sequence[bytes]) -> bytes:
    """Return the packed table of `tokens` in the order of their ranks, each up to 255 bytes."""
    lengths = bytes(len(token) for token in tokens)
    return zlib.compress(len(tokens).to_bytes(4, "little") + lengths + b"".join(tokens), 9)


def unpack(packed: bytes) -> list[bytes]:
    """Return the tokens of a packed table by rank; raise `ValueError` if it is damaged."""
    try:
        data = zlib.decompress(packed)
    except zlib.error as error:
        raise ValueError(f"not a packed token table: {error}") from None
    count = int.from_bytes(data[:4], "little")
    tokens: list[bytes] = []
    start = 4 + count
    for length in data[4 : 4 + count]:
        tokens.append(data[start : start + length])
        start += length
    if len(tokens) != count or start != len(data):
        raise ValueError(f"not a packed token table: {count} tokens do not fill {len(data)} bytes")
    return tokens


def format_tiktoken(tokens: Sequence[bytes]) -> bytes:
    """Return the `.tiktoken` file of `tokens`: a line for each, its base64 and its rank."""
    return b"".join(
        b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens)
    )


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


def load_ranks(name: str) -> dict[bytes, int]:
    """Return token → rank of the shipped table `name` (a key of `PUBLISHED`)."""
    packed = (VOCABULARIES / f"{name}.bin").read_bytes()
    return {token: rank for rank, token in enumerate(unpack(packed))}
