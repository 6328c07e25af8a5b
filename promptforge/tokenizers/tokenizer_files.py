"""Tokenizers out of files: the user's own, and those that packages of LLM families bring.

Known: a `.tiktoken`, a tekken.json, a tokenizer.json, and the head of a GGUF file. A byte pair
encoding with one split pattern is counted as the shipped ones are; any other tokenizer.json needs
the tokenizers library.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import json
import os
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..errors import TokenizerError, call_foreign, pip_install, quote
from .bpe import BytePairCounter, replace_surrogates
from .counters import MAX_CHARS_CACHED, Counter, RecentCache, require_text
from .vocabulary import (
    ADDITIVE_PATTERNS,
    GPT2_PATTERN,
    KNOWN_TIKTOKEN_FILES,
    LLAMA_PATTERN,
    PATTERNS_OF_STEPS,
    keep_unmatched,
    parse_tiktoken,
)

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from .registry import TokenizerPackage

GEMMA_SHA256 = "d47b1ae926d2c8f811264dd879ba155e80f120bed270189051c09c3542e59e83"


def load_package(name: str, family: TokenizerPackage, spec: ModuleSpec | None) -> Counter:
    """Return the counter of a family's package; `spec` is `None` where it is not installed.

    Raises `TokenizerError` without the package, or if it has another file than expected.
    """
    hint = f"its file comes with an extra: {pip_install(family.extra)}"
    if spec is None:
        raise TokenizerError(f"tokenizer {quote(name)}: {hint}")
    path = os.path.join((spec.submodule_search_locations or [""])[0], *family.file.split("/"))
    try:
        # A package in a zip archive has this too.
        content: bytes = spec.loader.get_data(path)  # type: ignore[union-attr]
    except (OSError, AttributeError) as error:
        raise TokenizerError(
            f"tokenizer {quote(name)}: the package {family.package} has no readable {family.file}:"
            f" {quote(str(error), 200)}; {hint}"
        ) from error
    digest = hashlib.sha256(content).hexdigest()
    known = {*KNOWN_TIKTOKEN_FILES, GEMMA_SHA256}
    if path.endswith((".tiktoken", ".model", ".gguf.part00")) and digest not in known:
        message = f"the {family.file} of {family.package} is not the one that is known here"
        raise TokenizerError(f"tokenizer {quote(name)}: {message}; {hint}")
    if digest == GEMMA_SHA256:
        make = functools.partial(gguf_tokenizer, content)
        return _count_by_library(name, make, digest, "it is a GGUF file")
    return load_file(name, path, content)


class _Table(NamedTuple):
    """A byte pair encoding."""

    pattern: str
    ranks: dict[bytes, int]
    normal_form: Literal["NFC", "NFKC"] | None = None
    exact: bool = True


class _UnconvertibleError(Exception):
    """The reason why a tokenizer.json is no byte pair encoding with one pattern."""


def load_file(name: str, path: str, content: bytes) -> Counter:
    """Return the counter of a file's content.

    Raises `TokenizerError` if the file is of another kind, damaged, or needs a library that is not
    installed.
    """
    digest = hashlib.sha256(content).hexdigest()
    unusable = f"tokenizer {quote(name)}: no .tiktoken, tokenizer.json or tekken.json file"
    try:
        table = _read_table(content, digest)
        counter = BytePairCounter(
            name,
            lambda: (table.pattern, table.ranks),
            longest=max(map(len, table.ranks)),
            fingerprint=hashlib.sha256(f"{digest}\n{table.pattern}".encode()).hexdigest(),
            exact=table.exact,
            # NFKC turns some characters into several with blanks, so split points would move.
            additive=table.pattern in ADDITIVE_PATTERNS and table.normal_form != "NFKC",
            normal_form=table.normal_form,
        )
        # Now, so that a pattern that tiktoken cannot read is an error here.
        call_foreign(counter.prepare, lambda said: TokenizerError(f"{unusable}: {said}"))
    except _UnconvertibleError as reason:
        return _count_by_library(
            name, functools.partial(_open_by_library, content), digest, str(reason)
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TokenizerError(f"{unusable}: {quote(str(error), 200)}") from error
    return counter


def _open_by_library(content: bytes) -> Any:
    import tokenizers

    return tokenizers.Tokenizer.from_buffer(content)


def _count_by_library(name: str, make: Callable[[], Any], digest: str, reason: str) -> Counter:
    def open_it() -> Any:
        try:
            tokenizer = make()
        except ImportError:
            return None
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # their spelling is ordinary text here too
        return tokenizer

    tokenizer = call_foreign(
        open_it, lambda said: TokenizerError(f"tokenizer {quote(name)} cannot be read: {said}")
    )
    if tokenizer is None:
        raise TokenizerError(
            f"tokenizer {quote(name)}: {reason}, so it needs the tokenizers library:"
            f" {pip_install('tokenizers')}"
        )
    return LibraryCounter(name, tokenizer, digest)


class LibraryCounter(Counter):
    """Counts whole texts by a tokenizer of the tokenizers library."""

    def __init__(self, name: str, tokenizer: Any, fingerprint: str) -> None:
        super().__init__(name, exact=True, fingerprint=fingerprint)
        self._tokenizer = tokenizer
        self._counts: RecentCache[int] = RecentCache(MAX_CHARS_CACHED)

    def count(self, text: str) -> int:
        """Return the library's count."""
        tokens = self._counts.get(text)
        if tokens is None:
            require_text(text)
            tokens = call_foreign(self._count_anew, self._refusal(text), replace_surrogates(text))
            self._counts.put(text, tokens)
        return tokens

    def _count_anew(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _refusal(self, text: str) -> Callable[[str], TokenizerError]:
        counted = f"tokenizer {quote(self.name)} failed on a text of {len(text):,} characters"
        return lambda said: TokenizerError(f"{counted}: {said}")


def _read_table(content: bytes, digest: str) -> _Table:
    if not content.lstrip().startswith(b"{"):
        table = _read_tiktoken(content, digest)
    else:
        data = json.loads(content)
        if "model" in data:
            table = _read_json(data)
        elif "config" in data:
            table = _read_tekken(data)
        else:
            raise ValueError('it has neither "model" nor "config"')
    missing = next((byte for byte in range(256) if bytes([byte]) not in table.ranks), None)
    if missing is not None:
        raise ValueError(f"it has no token for byte 0x{missing:02x}")
    return table


def _read_tiktoken(content: bytes, digest: str) -> _Table:
    known = KNOWN_TIKTOKEN_FILES.get(digest)
    if known is not None:
        return _Table(known.pattern, parse_tiktoken(content), known.normal_form)
    # Such a file does not name its pattern. Llama 3's is the likeliest, but a guess.
    return _Table(LLAMA_PATTERN, parse_tiktoken(content), exact=False)


def _read_tekken(data: dict[str, Any]) -> _Table:
    config = data["config"]
    count = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {
        base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in data["vocab"][:count]
    }
    return _Table(config["pattern"], ranks)


# Settings of a tokenizer.json that make its encoding another than one of bytes.
_ODD_SETTINGS = (
    *("dropout", "unk_token", "byte_fallback", "fuse_unk"),
    *("continuing_subword_prefix", "end_of_word_suffix"),
)


def _read_json(data: dict[str, Any]) -> _Table:
    model = data["model"]
    if model.get("type", "BPE") != "BPE" or "merges" not in model:
        raise _UnconvertibleError("its model is not a byte pair encoding")
    if any(model.get(key) for key in _ODD_SETTINGS):
        raise _UnconvertibleError("its byte pair encoding is not one of bytes alone")
    normalizer = data.get("normalizer")
    normal_form: Literal["NFC", "NFKC"] | None = None
    if normalizer and normalizer != {"type": "Sequence", "normalizers": []}:
        if normalizer["type"] not in ("NFC", "NFKC"):
            raise _UnconvertibleError(f"it normalizes by {normalizer['type']}")
        normal_form = normalizer["type"]
    pattern = _read_pattern(data.get("pre_tokenizer"))
    # A merge makes a token; its rank is the place of the merge, after the 256 single bytes.
    symbols = _byte_symbols()
    ranks = {bytes([byte]): byte for byte in range(256)}
    try:
        for merge in model["merges"]:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            ranks.setdefault(bytes(symbols[symbol] for symbol in left + right), len(ranks))
    except KeyError:
        raise _UnconvertibleError("its tokens are not spelled in bytes") from None
    return _Table(pattern, ranks, normal_form)


def _read_pattern(pre_tokenizer: dict[str, Any] | None) -> str:
    steps = []
    if pre_tokenizer:
        steps = [pre_tokenizer]
        if pre_tokenizer["type"] == "Sequence":
            steps = pre_tokenizer["pretokenizers"]
    kinds = [step["type"] for step in steps]
    if not kinds or kinds[-1] != "ByteLevel" or steps[-1].get("add_prefix_space"):
        raise _UnconvertibleError("its text is not split into bytes")
    splits = steps[:-1]
    if steps[-1].get("use_regex", True):
        if not splits:
            return GPT2_PATTERN
    elif len(splits) == 1 and _is_regex(splits[0], "Removed", inverted=True):
        return str(splits[0]["pattern"]["Regex"])
    elif splits and all(_is_regex(step, "Isolated", inverted=False) for step in splits):
        patterns = tuple(str(step["pattern"]["Regex"]) for step in splits)
        if len(patterns) == 1:
            return keep_unmatched(patterns[0])
        if patterns in PATTERNS_OF_STEPS:
            return PATTERNS_OF_STEPS[patterns]
    raise _UnconvertibleError(f"it splits a text by {' and '.join(kinds)}, not by one pattern")


def _is_regex(step: dict[str, Any], behavior: str, *, inverted: bool) -> bool:
    found = (step["type"], step.get("behavior"), bool(step.get("invert")))
    return found == ("Split", behavior, inverted) and "Regex" in step["pattern"]


@functools.cache
def _byte_symbols() -> dict[str, int]:
    """Return character → byte, as a tokenizer.json spells bytes.

    Bytes that print as themselves in Latin-1 are themselves; the others follow from U+0100 in
    their order.
    """
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in plain]
    symbols = {chr(byte): byte for byte in plain}
    return symbols | {chr(0x100 + index): byte for index, byte in enumerate(others)}


# --- GGUF -------------------------------------------------------------------------------------

_TEXT, _LIST = 8, 9
_FORMATS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
_NORMAL, _USER_DEFINED = 1, 4
SPACE_MARK = "\u2581"
"""The character that stands for a space in SentencePiece's tokens."""


def read_gguf(content: bytes) -> dict[str, Any]:
    """Return the keys and values at the head of a GGUF file."""
    stream = io.BytesIO(content)

    def take(format: str) -> tuple[Any, ...]:
        return struct.unpack("<" + format, stream.read(struct.calcsize("<" + format)))

    def value(kind: int) -> Any:
        if kind == _TEXT:
            return stream.read(*take("Q")).decode("utf-8", "replace")
        if kind != _LIST:
            return take(_FORMATS[kind])[0]
        kind, count = take("IQ")
        if kind == _TEXT:
            return [value(_TEXT) for _ in range(count)]
        return take(f"{count}{_FORMATS[kind]}")

    *_, count = take("4sIQQ")
    return {value(_TEXT): value(*take("I")) for _ in range(count)}


def gguf_tokenizer(content: bytes) -> Any:
    """Return the tokenizer of a GGUF file; `ImportError` without the tokenizers library.

    It is SentencePiece's byte pair encoding without a space in front, as Gemma has it.
    """
    from tokenizers import AddedToken, Tokenizer, models, normalizers

    found = {key.rpartition(".")[2]: value for key, value in read_gguf(content).items()}
    tokens = [token.replace(" ", SPACE_MARK) for token in found["tokens"]]
    merges = _gguf_merges(tokens, found["scores"], found["token_type"])
    vocabulary = {token: number for number, token in enumerate(tokens)}
    encoding = models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = Tokenizer(encoding)
    tokenizer.normalizer = normalizers.Replace(" ", SPACE_MARK)
    pairs = zip(tokens, found["token_type"], strict=True)
    added = [token for token, kind in pairs if kind == _USER_DEFINED]
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in added])
    return tokenizer


def _gguf_merges(tokens: list[str], scores: list[float], kinds: list[int]) -> list[tuple[str, str]]:
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
