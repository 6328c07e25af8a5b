"""A rendering written down: as flags, a command, a profile of YAML, or a few lines of Python."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

_PLAIN_SCALAR = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*")
_WORDS_OF_YAML = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"})
"""Words that a reader of YAML, or promptforge, does not take for a text."""


def as_flags(options: Mapping[str, Any]) -> str:
    """Return options as one types them; in words the flags to leave out."""
    typed, left_out = [], []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if value is None and name in ("kinds", "paths", "languages"):
            # These take a list, and `none` would be a kind of that name.
            left_out.append(f"leaving out {flag}")
        elif isinstance(value, bool):
            typed.append(flag.replace("--", ("--no-", "--")[value], 1))
        else:
            typed.append(f"{flag} {shlex.quote(flag_value(value))}")
    return " and ".join(filter(None, [" ".join(typed), *left_out]))


def flag_value(value: object) -> str:
    """Return the value of an option as the word after its flag."""
    if value is None:
        return "none"
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return ",".join(value)
    return str(value)


def as_command(words: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the words of a command, and options after them, as one line for a shell."""
    kept = {name: value for name, value in options.items() if value is not None}
    # `none` takes a limit away; a filter is taken away by an empty list, which no flag can say.
    kept |= {n: None for n in options if n not in kept and n not in ("kinds", "paths", "languages")}
    return f"{shlex.join(words)} {as_flags(kept)}".rstrip()


def as_profile(extends: str | None, options: Mapping[str, Any]) -> str:
    """Return options as a profile that extends another."""
    values = {"extends": extends, **options} if extends else options
    return "".join(f"{name}: {_scalar(value)}\n" for name, value in values.items())


def _scalar(value: object) -> str:
    if value is None:
        return "none"
    text = str(value)
    is_plain = _PLAIN_SCALAR.fullmatch(text) and text.lower() not in _WORDS_OF_YAML
    if isinstance(value, str) and is_plain:
        return text
    # A value of JSON is one of YAML, but for characters that YAML wants escaped.
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def as_python(items: str | None, arguments: Mapping[str, Any]) -> str:
    """Return Python that renders the same; `items` is the file of all items."""
    source = "pf.load(...)" if items is None else f"pf.load({items!r})"
    given = "".join(f", {name}={value!r}" for name, value in arguments.items())
    lines = ["import promptforge as pf", "", f"items = {source}"]
    return "\n".join([*lines, f"result = pf.render(items{given})", "print(result.text)", ""])
