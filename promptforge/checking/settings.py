"""What is wrong with a `layout.yaml` or a profile: every key, not the first alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import ProfileError, sure
from ..options import Options
from ..rules import Vocabulary
from ..yamltext import MODELINE, invisible, load_with_lines
from .findings import Edit, Finding, Text

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class Keys:
    """The keys of one YAML file, each checked on its own."""

    def __init__(self, text: Text, vocabulary: Vocabulary) -> None:
        self.text = text
        self.values: dict[str, Any] = {}
        """Those that are good."""
        self.findings: list[Finding] = []
        self._lines: Mapping[tuple[str | int, ...], int] = {}
        for line, char in invisible(text.text):
            self.findings.append(
                text.on(line, "PF834", f"the character {char} cannot be seen here")
            )
        try:
            values, self._lines = load_with_lines(text.text, text.path)
        except ProfileError as error:
            line, message = split(error, text.path)
            self.findings.append(text.on(line, "PF830", message, column=error.column))
            return
        if values is not None and not isinstance(values, dict):
            message = "the file has lines of the form `key: value`, with a blank after the colon"
            self.findings.append(text.on(self._first(), "PF830", message))
            return
        values = values or {}
        for key, value in values.items():
            try:
                self.values[key] = vocabulary.check(key, value, lambda _: text.path)
            except ProfileError as error:
                message = error.bare
                if key not in vocabulary:
                    new = None if key in vocabulary.elsewhere else sure(key, vocabulary)
                    self.findings.append(
                        self.key(key, "PF831", message, None if new in values else new)
                    )
                else:
                    self.findings.append(self.value(key, "PF832", message, error.inside))

    def key(self, key: str, code: str, message: str, new: str | None = None) -> Finding:
        """Return a finding about a key; `new` is what `--fix` calls it."""
        start = self._start(key)
        found = re.compile(rf"[\"']?{re.escape(key)}[\"']?").search(self.text.text, start)
        if found is None or "\n" in self.text.text[start : found.start()]:
            return self.text.on(self._line(key), code, message)
        length = found.end() - found.start()
        return self.text.at(
            found.start(),
            length,
            code,
            message,
            Edit(found.start(), found.end(), new) if new else None,
        )

    def _first(self) -> int:
        """Return the first line that holds more than a comment."""
        lines = enumerate(self.text.text.split("\n"), 1)
        return next(
            (n for n, line in lines if line.strip() and not line.lstrip().startswith("#")), 1
        )

    def value(self, key: str, code: str, message: str, inside: tuple[str, ...] = ()) -> Finding:
        """Return a finding about the value of a key, or of one `inside` of it."""
        start = self._start(key)
        if inside and (found := self._inside(start, key, inside)) is not None:
            which = 1 if "unknown key" in message or not found[2] else 2
            return self.text.at(found.start(which), len(found[which]), code, message)
        found = re.compile(
            rf"[\"']?{re.escape(key)}[\"']?\s*:[ \t]*([^\n]*?)[ \t]*(?:[ \t]#[^\n]*)?(?=\n|\Z)"
        ).search(self.text.text, start)
        if found is None or "\n" in self.text.text[start : found.start()] or not found[1]:
            return self.key(key, code, message)
        return self.text.at(found.start(1), len(found[1]), code, message)

    def word(self, key: str, word: str, code: str, message: str) -> Finding:
        """Return a finding about a word in the value of a key."""
        found = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])").search(
            self.text.text, self._start(key)
        )
        return (
            self.text.at(found.start(), len(word), code, message)
            if found
            else self.key(key, code, message)
        )

    def _inside(self, at: int, key: str, inside: tuple[str, ...]) -> re.Match[str] | None:
        found = None
        for word in (key, *inside):
            pattern = rf"([\"']?{re.escape(word)}[\"']?)\s*:[ \t]*([^\n,}}]*[^\s,}}])?"
            found = re.compile(pattern).search(self.text.text, at)
            if found is None:
                return None
            at = found.end(1)
        return found

    def _line(self, key: str) -> int:
        return self._lines.get((key,), 1)

    def _start(self, key: str) -> int:
        lines = self.text.text.split("\n")[: self._line(key) - 1]
        return sum(len(line) + 1 for line in lines)


def split(error: ProfileError, path: str) -> tuple[int, str]:
    """Return the line and the message of an error about the file `path`."""
    found = re.match(rf"{re.escape(path)}:(\d+): (.*)", str(error), re.DOTALL)
    return (int(found[1]), found[2]) if found else (1, str(error).removeprefix(f"{path}: "))


def modeline(text: Text, schema: str) -> Iterator[Finding]:
    """Yield what is to be said of the first line, which tells editors where the schema is."""
    first = text.text.split("\n")[0]
    if not first.startswith(MODELINE):
        edit = Edit(0, 0, f"{MODELINE}{schema}\n")
        if (Path(text.path).parent / schema).is_file():
            yield text.at(
                0,
                1,
                "PF835",
                f"editors check and complete this file if it begins with {edit.text[:-1]}",
                edit,
            )
        return
    named = first.removeprefix(MODELINE).strip()
    if "://" not in named and not (Path(text.path).parent / named).is_file():
        at = len(MODELINE)
        yield text.at(
            at,
            len(named),
            "PF835",
            f'there is no schema "{named}"; `promptforge schema profile` prints it',
        )


def sums(keys: Keys, merged: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what does not add up among the figures of a profile; `merged` holds those of its layers too."""
    options = {
        **{name: getattr(Options(), name) for name in ("max_tokens", "context_window", "reserve")},
        **merged,
    }
    window, reserve, most = (options[name] for name in ("context_window", "reserve", "max_tokens"))
    say = _sayer(keys)
    if window is not None:
        if reserve is not None and reserve >= window:
            message = (
                f"reserve {reserve:,} leaves nothing of the context_window, {window:,}; lower it"
            )
            yield from say(("reserve", "context_window"), "PF840", message)
        elif most is not None and most > window - (reserve or 0):
            left = window - (reserve or 0)
            message = (
                f"max_tokens {most:,} is more than the window leaves after the reserve, {left:,}"
            )
            if "max_tokens" not in keys.values:
                message += f"; nobody set it here: say max_tokens: {left}, or less"
            yield from say(("max_tokens", "reserve", "context_window"), "PF841", message)
    budgets = options.get("section_budgets") or {}
    share = sum(budget.share for budget in budgets.values())
    if share > 1 + 1e-9:
        yield from say(
            ("section_budgets",),
            "PF842",
            f"the shares of the sections add up to {share:.0%} of max_tokens; 100% is all there is",
        )
    least = sum(budget.min_tokens for budget in budgets.values())
    if most is not None and least > most:
        message = f"the sections are sure of {least:,} tokens together, and max_tokens is {most:,}"
        yield from say(("section_budgets", "max_tokens"), "PF842", message)
    for name, budget in budgets.items():
        if budget.max_tokens is not None and budget.min_tokens > budget.max_tokens:
            message = f'"{name}" is sure of {budget.min_tokens:,} tokens and may take {budget.max_tokens:,}'
            yield from say(("section_budgets",), "PF842", message)


def around(keys: Keys) -> Iterator[Finding]:
    """Yield which texts between and before items open what they do not close, so that Markdown takes items into it."""
    for name in ("separator", "header"):
        mark = _left_open(str(keys.values.get(name) or ""))
        if mark:
            message = f"{name} opens {mark} and does not close it, so in Markdown the items after it are part of that"
            yield keys.value(name, "PF844", message)


def _left_open(text: str) -> str | None:
    mark = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if found and not mark:
            mark = found[1]
        elif found and found[1].startswith(mark) and not line[found.end() :].strip():
            mark = ""
    return mark or ("<!--" if text.count("<!--") > text.count("-->") else None)


def _sayer(keys: Keys) -> Callable[[tuple[str, ...], str, str], Iterator[Finding]]:
    def say(names: tuple[str, ...], code: str, message: str) -> Iterator[Finding]:
        here = [name for name in names if name in keys.values]
        if here:  # otherwise it is a file below that is to blame, and it has its own findings
            yield keys.value(here[0], code, message)

    return say
