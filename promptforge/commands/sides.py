"""Read the two sides of a comparison: saved files, or options to render with."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from ..comparing import Build, Manifest, SavedPrompt
from ..errors import ItemError, OptionError, nearest, quote
from ..options import VOCABULARY
from .output import VERSION

_PLACES = ("profile", "templates", "profiles")
_NAMED = re.compile(r"[A-Za-z][A-Za-z_-]*=")
_NEXT = re.compile(r",(?=[A-Za-z][A-Za-z_-]*=)")
_BOOLS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_HOW = "save one with: promptforge render --json -o FILE"


class Spec(NamedTuple):
    """Options, profile and folders of one side, over those of the command line."""

    profile: str | None
    folders: Mapping[str, list[Path]]
    options: Mapping[str, Any]


def side(text: str) -> Spec | Build | Manifest:
    """Read an argument: `name=value,…`, or a file that `--json` saved.

    Raises `OptionError` for a wrong name or value, `ItemError` for a file that is no result, and a
    usage error for any other text.
    """
    if Path(text).is_file():
        return _saved(text)
    if text == "" or _NAMED.match(text):
        return _spec(text)
    raise click.UsageError(
        f"{quote(text)} is neither a file nor options such as profile=claude,max_tokens=2000; {_HOW}"
    )


def _spec(text: str) -> Spec:
    profile, options = None, {}
    folders: dict[str, list[Path]] = {}
    for part in filter(None, _NEXT.split(text)):
        word, _, value = part.partition("=")
        name = word.replace("-", "_")
        if name == "profile":
            profile = value
        elif name in _PLACES:
            folders[name] = [Path(value)]
            if not Path(value).is_dir():
                raise click.UsageError(f"{quote(text)}: {name}: there is no folder {quote(value)}")
        elif name not in VOCABULARY:
            known = [*VOCABULARY, *_PLACES]
            raise OptionError(
                f"{quote(text)}: unknown option {quote(word)}{nearest(name, known)}", option=word
            )
        else:
            options[name] = _parse_value(name, value)
    return Spec(profile, folders, options)


def _parse_value(name: str, text: str) -> Any:
    """Return the value of a text: its first reading that the option takes."""
    readings: list[Any] = [text]
    if "list" in VOCABULARY.rules[name].takes:
        readings = [[part for part in text.split(",") if part], text]
    for read in (int, float):
        try:
            readings.append(read(text.replace("_", "")))
        except ValueError:
            continue
    if text.startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            readings.append(json.loads(text))
    if text.lower() in _BOOLS:
        readings.append(_BOOLS[text.lower()])
    refusals = []
    for value in readings:
        try:
            VOCABULARY.check(name, value)
            return value
        except OptionError as error:
            refusals.append(error)
    # The last reading is the nearest to the type; a list alone is judged as it was written.
    raise refusals[-("list" not in VOCABULARY.rules[name].takes)]


class _Saved(msgspec.Struct):
    promptforge: int | str = 0
    """Version of the JSON; in a manifest alone, that of the library."""
    error: msgspec.Raw = msgspec.Raw()
    text: msgspec.Raw = msgspec.Raw()
    request: msgspec.Raw = msgspec.Raw()
    """The request of a whole prompt."""


def _saved(path: str) -> Build | Manifest:
    data = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        shape = msgspec.json.decode(data, type=_Saved)
        if bytes(shape.error):
            raise ItemError(f"holds the report of an error and no result; {_HOW}", where=path)
        if isinstance(shape.promptforge, str):
            return msgspec.json.decode(data, type=Manifest)
        if shape.promptforge != VERSION:
            known = f"it has version {shape.promptforge} of --json, and this is version {VERSION}"
            raise ItemError(f"is not a saved result: {known}; {_HOW}", where=path)
        if bytes(shape.request):
            return msgspec.json.decode(data, type=SavedPrompt).build
        return msgspec.json.decode(data, type=Build)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ItemError(f"is not a saved result: {error}; {_HOW}", where=path) from None
