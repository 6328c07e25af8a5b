"""Read the vocabulary at the head of a GGUF file, for a tokenizer of the tokenizers library.

Only SentencePiece's byte pair encoding without a space in front, as Gemma has it, is made of it.
"""

from __future__ import annotations

import struct
from typing import Any

_TEXT, _LIST = 8, 9
_FORMATS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
_NORMAL, _USER_DEFINED = 1, 4
SPACE = "\u2581"
"""The character that stands for a space in SentencePiece's tokens."""


class _Reader:
    """The values of a GGUF file, one after the other."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def take(self, format: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + format, self._content, self._at)
        self._at += struct.calcsize("<" + format)
        return found

    def text(self) -> str:
        (size,) = self.take("Q")
        self._at += size
        return self._content[self._at - size : self._at].decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind != _LIST:
            return self.take(_FORMATS[kind])[0]
        kind, count = self.take("IQ")
        if kind == _TEXT:
            return [self.text() for _ in range(count)]
        return self.take(f"{count}{_FORMATS[kind]}")


def read_metadata(content: bytes) -> dict[str, Any]:
    """Return the keys and values at the head of a GGUF file.

    Raises `ValueError` where it is none, and `struct.error` where it ends too soon.
    """
    reader = _Reader(content)
    magic, _, _, count = reader.take("4sIQQ")
    if magic != b"GGUF":
        raise ValueError("no GGUF file")
    return {reader.text(): reader.value(*reader.take("I")) for _ in range(count)}


def make_tokenizer(content: bytes) -> Any:
    """Return the tokenizer of a GGUF file; `ImportError` without the tokenizers library."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers

    found = {key.rpartition(".")[2]: value for key, value in read_metadata(content).items()}
    tokens = [token.replace(" ", SPACE) for token in found["tokens"]]
    merges = _merges(tokens, found["scores"], found["token_type"])
    vocabulary = {token: number for number, token in enumerate(tokens)}
    encoding = models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = Tokenizer(encoding)
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    pairs = zip(tokens, found["token_type"], strict=True)
    added = [token for token, kind in pairs if kind == _USER_DEFINED]
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in added])
    return tokenizer


def _merges(tokens: list[str], scores: list[float], kinds: list[int]) -> list[tuple[str, str]]:
    """Return the pairs that make a token, in the order in which they are merged.

    A score is the rank of a token, and stands for all pairs that make it. Runs of one white space
    have none: of these the longest pairs go first.
    """
    numbers = {token: number for number, token in enumerate(tokens)}
    ranked = list[tuple[tuple[float, ...], str, str]]()
    for number, token in enumerate(tokens):
        if kinds[number] not in (_NORMAL, _USER_DEFINED):
            continue
        for at in range(1, len(token)):
            left, right = token[:at], token[at:]
            first, second = numbers.get(left), numbers.get(right)
            if first is None or second is None:
                continue
            if kinds[number] == _NORMAL:
                rank: tuple[float, ...] = (1, -scores[number], first, second)
            else:
                rank = (0, -at, at - len(token), number)
            ranked.append((rank, left, right))
    return [(left, right) for _, left, right in sorted(ranked)]
