"""Tokenizers by name, and the only door to the tokenizer libraries.

All counting happens on this machine, from tables in the package or from the user's files; nothing
is downloaded. A shipped table is loaded when the first text is counted, a file when its counter
is asked for.

A file is the user's own, or that of an LLM family in another package, which is read where it is
installed and never imported.
"""

import copyreg
import hashlib
import re
from fractions import Fraction
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..errors import TokenizerError, did_you_mean, quote, suggest_name
from ..files import SCALED_TOKENIZER, TOKENIZER_FILE
from ..files.access import read_bytes
from ..plugins import Plugin, call_plugin, find_plugin, plugin_names
from .bpe import LOADING, BytePairCounter
from .counters import (
    FAMILY_ESTIMATES,
    CharacterCounter,
    CharacterEstimate,
    Counter,
    CustomCounter,
    FamilyCounter,
    ScaledCounter,
    Tokenizer,
    WordEstimate,
)
from .vocabulary import MAX_TOKEN_BYTES, SHIPPED_VOCABULARIES, LookupEncoder, load_table


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


_TABLES = msgspec.json.decode(read_bytes(Path(__file__).with_name("tokenizers.json")))
TOKENIZER_PACKAGES = {name: TokenizerPackage(*row) for name, *row in _TABLES["packages"]}
"""Name of the tokenizer → the place of its file."""
_DESCRIPTIONS: dict[str, str] = {
    **_TABLES["described_first"],
    **{
        name: f"estimate: {declared.family} takes no more in 99.5 % of texts;"
        f" from o200k_base and kinds of characters (fitted {declared.as_of} to {declared.source})"
        for name, declared in FAMILY_ESTIMATES.items()
    },
    **{name: f"exact: {family.about}" for name, family in TOKENIZER_PACKAGES.items()},
    **_TABLES["described_last"],
}
_TOKENIZER_OF_LLM = _TABLES["begins_of_llms"] | {
    name.removeprefix("approximate-"): name for name in FAMILY_ESTIMATES if name.count("-") == 1
}
"""Beginning of an LLM's name → its tokenizer, for those who give the one in place of the other."""
_FORMULAS = (
    CharacterCounter("characters", exact=True),
    CharacterEstimate("approximate-characters"),
    WordEstimate("approximate-words"),
)
_counters: dict[str, Counter] = {each.name: each for each in _FORMULAS}


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
            from .tokenizer_files import load_file

            _counters[key] = _by_name(load_file(name, path, content))
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
        from .tokenizer_files import load_package

        family = TOKENIZER_PACKAGES[name]
        return _by_name(load_package(name, family, _find_package(family.package)))
    plugin = find_plugin("tokenizers", name, TokenizerError)
    if plugin is not None:
        return _plugged(name, plugin)
    raise TokenizerError(f"unknown tokenizer {quote(name)}{_hint(name)}")


def _hint(name: str) -> str:
    meant = suggest_spelling(name)
    if meant is not None:
        return f"; did you mean {quote(meant)}?"
    base, star, factor = name.rpartition("*")
    if star and (base in _DESCRIPTIONS or base.startswith(TOKENIZER_FILE)):
        return f": {quote(factor)} is not a factor up to 9999, as the 1.35 of o200k_base*1.35"
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


def _find_package(package: str) -> ModuleSpec | None:
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    # A folder that merely has the name, in the working directory, has no origin.
    if spec is None or spec.origin is None:
        return None
    return spec


# A counter holds tables and locks, so a pickled one is its name alone.
def _by_name(counter: Counter) -> Counter:
    copyreg.pickle(type(counter), lambda known: (get_tokenizer, (known.name,)))
    return counter


for _kind in (
    *(BytePairCounter, FamilyCounter, ScaledCounter),
    *(CharacterCounter, CharacterEstimate, WordEstimate),
):
    copyreg.pickle(_kind, lambda counter: (get_tokenizer, (counter.name,)))
