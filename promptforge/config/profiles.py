"""Profiles: YAML files of options for one LLM; finding, reading and layering them.

Layers, lowest first: `default`, the profile named by `extends`, the profile itself. The user's
folders come before the shipped one. `shipped/NAME` is always the original, and `shipped/default`
always the lowest layer.
"""

import contextlib
import datetime
import errno
import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ..errors import OptionError, ProfileError, did_you_mean, list_names, quote
from ..files import TOKENIZER_FILE, YAML_SUFFIXES, path_text, shipped_folder, tokenizer_file
from ..files.access import ALLOW_OUTSIDE, leads_outside, link_problem, read_utf8
from ..yaml_reader import load_shipped_yaml, load_yaml_with_lines
from .options import FORMER_OPTIONS, OPTION_VOCABULARY, FenceTag, LibraryName
from .schema import COUNT_TEXT, Vocabulary, matching, rules_of

_SHIPPED = "shipped/"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,249}")  # a file's name has 255 bytes at most
_MODEL = re.compile(r"[A-Za-z0-9][\w.:@-]*(/[\w.:@-]+)*", re.ASCII)
"""The id of a model, perhaps behind its provider: `gpt-5-mini`, `openrouter/claude-opus-5`."""
_MAX_PROFILE_BYTES = 1 << 20
"""Bytes of a profile file; a larger one is no profile."""
_NOT_INHERITED = ("description", "match")
"""Keys about one file alone: they are not inherited."""
_Day = Annotated[str, matching("[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date such as 2026-11-21")]
# Two characters or more besides backslashes, or one with a number to stand for it: `\uE200`.
# No range of numbers at the beginning.
_Token = Annotated[
    str,
    matching(
        r"(?!\\*([uU0-9A-F]\\*)?$)(?!\\*\{[0-9]+-[0-9]+\})[\s\S]+",
        "control token such as <|im_start|>",
    ),
]
_Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
_Steps = Annotated[
    dict[Annotated[str, msgspec.Meta(pattern=COUNT_TEXT)], _Dollars],
    msgspec.Meta(extra_json_schema={"required": ["0"]}),
]
_PRICES_TAKE = (
    "a mapping of globs, each to US dollars or to dollars by the tokens above which the whole"
    " input costs them, from 0 up, such as {gpt-5.2: 1.75, gpt-6-sol: {0: 2, 272k: 4}}"
)
_Prices = Annotated[dict[str, _Dollars | _Steps], msgspec.Meta(extra={"takes": _PRICES_TAKE})]


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a profile about itself and its LLMs, besides options."""

    # fmt: off
    description: Annotated[str, "One sentence for lists."] = ""
    family: Annotated[str, "The family of its LLMs; empty: any."] = ""
    as_of: Annotated[_Day | None, "The day of its figures."] = None
    references: Annotated[tuple[str, ...], "Sources of its figures."] = ()
    unknown: Annotated[tuple[str, ...], "Figures that could not be found."] = ()
    match: Annotated[tuple[str, ...], "Globs of the names of its LLMs."] = ()
    prices: Annotated[_Prices, "US dollars for a million tokens of input, by globs of names."] = {}
    language_tags: Annotated[dict[str, FenceTag],
        "The fence tag of a kind (man_page), an extension (.el) or a language (common-lisp)."] = {}
    control_tokens: Annotated[tuple[_Token, ...],
        "Texts that a server of these LLMs may read as control tokens; {0-98} stands for any such"
        " number."] = ()
    # fmt: on


class ProfileFile(msgspec.Struct, frozen=True):
    """One layer of a profile."""

    name: str
    """`default`, `claude`; the shipped ones as `shipped/claude`."""
    path: Path
    sha256: str
    """SHA-256 of the file's text in UTF-8, hexadecimal."""


class Profile(About, frozen=True, kw_only=True):
    """A profile, merged from its layers."""

    name: str
    model: str | None = None
    """The id of the model by which it was chosen; None: by its own name."""
    options: dict[str, Any] = {}
    """Checked options set by its files; of `default`, those that differ from the built-in."""
    chain: tuple[ProfileFile, ...] = ()
    outside: tuple[str, str] | None = None
    """Message and place (`file:line`) of a tokenizer's file that lies outside of its folder."""

    def check_outside(self, allowed: bool) -> None:
        """Raise `ProfileError` for a file outside of the profile's folder, unless it is allowed."""
        if self.outside and not allowed:
            raise ProfileError(self.outside[0], where=self.outside[1], option="tokenizer")


class _Extends(msgspec.Struct, frozen=True):
    extends: Annotated[LibraryName | None, "The profile it builds on; none: default alone."] = None


def _is_day(value: Any) -> bool:
    try:
        return bool(datetime.date.fromisoformat(value))
    except ValueError:
        return False


def _are_prices(prices: dict[str, Any]) -> bool:
    return all("0" in price for price in prices.values() if isinstance(price, dict))


_ABOUT = rules_of(About, allow={"as_of": _is_day, "prices": _are_prices})
_ELSEWHERE = {
    "name": "a profile is called as its file is",
    "base": "a profile that builds on another says extends",
    **dict.fromkeys(("sections", "titles", "trim_end"), "it belongs in a layout's layout.yaml"),
}
PROFILE_VOCABULARY = Vocabulary(
    "key", _ABOUT | rules_of(_Extends) | OPTION_VOCABULARY.rules, _ELSEWHERE, FORMER_OPTIONS
)


def load_profile(given: str | Path | None, folders: Iterable[Path | str] = ()) -> Profile:
    """Return the profile of a name, of a model's id, or in the file `given` that ends in `.yaml`.

    `folders` are the user's; the first wins. Files are read each time, and parsed once for each
    content. Raises `ProfileError` for a missing profile (with the nearest name), a bad file (with
    `file:line`), or a profile that extends itself.

    Example: `load_profile("azure/gpt-5-mini").name == "gpt-5.2"`.
    """
    name = "default" if given is None else path_text(given, "profile")
    own_folders = [Path(folder) for folder in folders]
    model = None
    if not name.endswith(YAML_SUFFIXES) and _profile_file(name, own_folders) is None:
        found = profile_of_model(name, own_folders)
        if found is not None:
            model, name = name, found
    chain = _chain(name, own_folders)
    merged: dict[str, Any] = {}
    outside = None
    for file, values, place in chain:
        is_default = file.name.removeprefix(_SHIPPED) == "default"
        for key, value in values.items():
            if key in _NOT_INHERITED and file is not chain[-1][0]:
                continue
            if key == "language_tags":
                value = {**merged.get(key, {}), **value}
            elif key == "tokenizer":
                value, problem = near_tokenizer(value, file.path.parent)
                outside = (problem, place(key)) if problem else None
            merged[key] = value
            rule = OPTION_VOCABULARY.rules.get(key)
            # `default.yaml` lists every option. Those with the built-in value count as not set, or
            # no layout could ever set them.
            if is_default and rule is not None and value == rule.default:
                del merged[key]
    merged.pop("extends", None)
    about = {key: merged.pop(key) for key in _ABOUT if key in merged}
    stem = Path(name).stem if name.endswith(YAML_SUFFIXES) else name
    files = tuple(file for file, *_ in chain)
    return Profile(name=stem, model=model, options=merged, chain=files, outside=outside, **about)


def profile_or_model(profile: str | Path | None, model: str | None) -> str | Path | None:
    """Return the one that is given; raise `OptionError` for a profile and a model together."""
    if model is None:
        return profile
    if profile is not None:
        said = f"profile {quote(str(profile))} and model {quote(str(model))} both choose a profile"
        raise OptionError(f"{said}; give one of them", option="model")
    return model


def near_tokenizer(tokenizer: str, folder: Path) -> tuple[str, str | None]:
    """Return the tokenizer with its file's path from here, and why `folder` may not name it."""
    name = tokenizer_file(tokenizer)
    if name is None:
        return tokenizer, None
    problem = leads_outside(name, folder)
    path = f"{TOKENIZER_FILE}{folder / name}"
    factor = tokenizer.removeprefix(TOKENIZER_FILE).removeprefix(name)
    return path + factor, problem and f"tokenizer: {problem}; {ALLOW_OUTSIDE}"


def find_profiles(folders: Iterable[Path | str] = ()) -> list[tuple[str, str, Path]]:
    """Return name, description and file of each profile, sorted; a user's hides the shipped one.

    The description of a bad file is its error.
    """
    found: dict[str, tuple[str, str, Path]] = {}
    for folder in (*map(Path, folders), shipped_folder("profiles")):
        paths: list[Path] = []
        with contextlib.suppress(OSError):  # not there, not a folder, not ours to read
            paths = sorted(folder.iterdir())
        for path in paths:
            name, is_yaml = path.stem, path.suffix in YAML_SUFFIXES
            if name in found or not (is_yaml and _NAME.fullmatch(name) and _is_there(path)):
                continue
            try:
                description = _read(path)[1].get("description", "")
            except ProfileError as error:
                description = f"not usable: {error}"
            found[name] = (name, description, path)
    return [found[name] for name in sorted(found)]


def profile_schema() -> dict[str, Any]:
    """Return the JSON Schema of a profile file."""
    return PROFILE_VOCABULARY.schema("promptforge profile")


_Layer = tuple[ProfileFile, dict[str, Any], Callable[[str], str]]


def _chain(name: str, folders: list[Path]) -> list[_Layer]:
    if name.endswith(YAML_SUFFIXES):
        path = Path(name)
        if not _is_there(path):
            raise ProfileError(f"there is no profile file {quote(name)}", option="profile")
        folders = [path.parent, *folders]
    else:
        path = _find(name, folders)
    chain: list[_Layer] = []
    while True:
        file, values, place = _read(path)
        chain.insert(0, (file, values, place))
        if file.name == _SHIPPED + "default":
            return chain
        base = "default"
        if file.name == "default":  # the user's own stands on the shipped one
            base = _SHIPPED + "default"
        named_at = place("extends")
        path = _find(values.get("extends") or base, folders, named_at)
        if path in [known.path for known, *_ in chain]:
            names = " > ".join([known.name for known, *_ in chain[::-1]] + [path.stem])
            said = f"the profile extends itself: {names}"
            if _profile_file(_SHIPPED + path.stem, ()):
                said += f"; the original is {_SHIPPED}{path.stem}"
            raise ProfileError(said, where=named_at, option="extends")


def _profile_file(name: str, folders: Sequence[Path]) -> Path | None:
    stem = name.removeprefix(_SHIPPED)
    if not _NAME.fullmatch(stem):
        return None
    if stem == name:
        for path in (folder / (stem + suffix) for folder in folders for suffix in YAML_SUFFIXES):
            if _is_there(path):
                return path
    path = shipped_folder("profiles") / f"{stem}.yaml"
    return path if path.is_file() else None


def _find(name: str, folders: Sequence[Path], place: str | None = None) -> Path:
    """Return the file of the profile called `name`; `place` is the file and line that names it."""
    path = _profile_file(name, folders)
    if path is not None:
        return path
    stem = name.removeprefix(_SHIPPED)
    for_model = profile_of_model(stem, folders)
    hint = f'; "{for_model}" is the profile for it'
    if for_model is None:
        hint = _nearest(stem, folders)
    if not _MODEL.fullmatch(stem):
        said = f"{quote(name)} is neither a profile's name nor a .yaml file that is there"
        raise ProfileError(said, where=place, option="profile", hint=hint)
    said = f"there is no profile {quote(name)}"
    raise ProfileError(said, where=place, option="profile", absent=name, hint=hint)


def _nearest(name: str, folders: Sequence[Path]) -> str:
    """Return the end of a message about a name: the likeliest one meant, or a way out and all."""
    from .models import first_match, spellings

    names = [known for known, *_ in find_profiles(folders)]
    for called in spellings(name):
        family = max((known for known in names if called.startswith(known)), key=len, default=None)
        if family == name.lower():  # capitals are a slip
            return f'; did you mean "{family}"?'
        if family is not None:
            return f'; "{family}" is the nearest of its family: take it and set context_window'
    globs = _model_globs(folders)
    stems = [glob.rstrip("*-") for _, given in globs for glob in given]
    # Not `devstral` for its glob `devstral-2*` alone; nor `o4-mini` in place of `phi4-mini`.
    known = [*names, *(stem for stem in stems if "*" not in stem and first_match(stem, globs))]
    guess = did_you_mean(name, [n for n in known if n[:1] == name[:1].lower()])
    if guess:
        return guess
    own = re.sub(r"[^\w.-]+", "-", name)
    way_out = f"; default fits any LLM, `promptforge new profile {own}` makes your own"
    return f"{way_out}; there are: {list_names(names)}"


def profile_of_model(model: str, folders: Sequence[Path] = ()) -> str | None:
    """Return the name of the profile for a model, by its `match`; None: there is none.

    Providers' prefixes, regions, versions and tags do not count:
    `profile_of_model("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0") == "claude-4.5"`.
    """
    if not _MODEL.fullmatch(model):
        return None
    from .models import first_match  # late: most profiles are chosen by their own names

    return first_match(model, _model_globs(folders))


def _model_globs(folders: Sequence[Path]) -> list[tuple[str, list[str]]]:
    found = []
    for name, _, path in find_profiles(folders):
        with contextlib.suppress(ProfileError):  # another profile's mistake is not the matter
            globs = [glob.lower() for glob in _read(path)[1].get("match", ())]
            found.append((path.parent == shipped_folder("profiles"), name, globs))
    return [(name, globs) for _, name, globs in sorted(found)]


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # reading it will say why
        return True


def _read(path: Path) -> _Layer:
    problem = link_problem(path, path.parent)
    if problem:
        raise ProfileError(problem, where=str(path))
    try:
        text = read_utf8(path, _MAX_PROFILE_BYTES)
    except OSError as error:
        said = f"cannot be read: {error.strerror}"
        if error.errno == errno.EFBIG:
            said = f"is not a profile: it has more than {_MAX_PROFILE_BYTES} bytes"
        raise ProfileError(said, where=str(path)) from None
    values, place = _parse(text, str(path))
    name = path.stem
    if path.resolve().parent == shipped_folder("profiles").resolve():
        name = _SHIPPED + name
    return ProfileFile(name, path, hashlib.sha256(text.encode()).hexdigest()), values, place


@functools.lru_cache(maxsize=256)
def _parse(text: str, where: str) -> tuple[dict[str, Any], Callable[[str], str]]:
    return read_values(PROFILE_VOCABULARY, text, where)


def read_values(
    vocabulary: Vocabulary, text: str, file: str
) -> tuple[dict[str, Any], Callable[[str], str]]:
    """Return the checked values of a YAML text, and the place of each key.

    `file` is its name in messages. Raises `ProfileError` with `file:line`.
    """
    # Not in `schema`: flags are made from a vocabulary, and must not wait for the import of YAML.
    load = load_yaml_with_lines
    shipped = map(shipped_folder, ("profiles", "templates"))
    if any(file.startswith(f"{folder}{os.sep}") for folder in shipped):
        load = load_shipped_yaml
    values, lines = load(text, file)
    at = {str(path[0])[:80]: line for path, line in lines.items() if len(path) == 1}

    def where(name: str) -> str:
        return f"{file}:{at.get(name, 1)}"

    if values is None:  # a file of comments alone
        values = {}
    if not isinstance(values, dict):
        said = f"a file of {vocabulary.noun}s has lines of the form `key: value`"
        raise ProfileError(said, where=f"{file}:1")
    checked = {name: vocabulary.check(name, value, where) for name, value in values.items()}
    return vocabulary.former.renew(checked), where
