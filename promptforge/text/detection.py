"""Detect what a text without a name is written in: data, markup, a log, a program, or prose.

Only a part of a text is looked at. A wrong guess does no harm: a trimmer that does not find its
structure leaves the text to be cut as prose.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from . import table_text
from .words import late_pattern

SAMPLE_CHARS = 3_000
"""Characters at the beginning of a text, and as many in its middle, by which lines are judged."""
MAX_JSON_CHARS = 1 << 22
"""A longer text is judged by its first line, whether it is JSON."""
MAX_LINE_CHARS = 300
"""A longer line is a paragraph: its first words tell nothing."""
LOG_SHARE, TRACE_SHARE, PROGRAM_SHARE, MARKUP_SHARE, REGULAR_SHARE = 0.5, 0.25, 0.2, 0.03, 0.9
"""Shares of the lines of a text that only a log, a trace, a program or markup has; share of keys
among the lines of settings that are not indented, and of rows of one width in a table."""
MAX_SENTENCES = 0.25
"""Share of lines that are sentences, above which a text is no program, and code within a line no
sign of Markdown: each line of such notes answers for itself."""
MIN_ROWS = 3
_BLANKS = "\ufeff \t\r\n"
_HTML_TAGS = """
    html head body div p span table tr td ul ol li h1 h2 h3 h4 main article section nav header
    footer form script style meta link title a b i br img pre center details strong em
"""
_ROOT = late_pattern(
    r"(?:\s++|<\?(?s:.*?)\?>|<!--(?s:.*?)-->|<!(?i:doctype)\s[^>\[]*(?:\[(?s:.*?)\]\s*)?>)*+"
    r"<([A-Za-z_][\w:.-]*+)(?=[\s/>])"
)
_OBJECT = late_pattern(r"[{\[]\s*+(?://.*\s*+|/\*(?s:.*?)\*/\s*+)*+(?:\{\s*)?\"[^\"\n]*+\"\s*:")
_REPR = late_pattern(r"[\[({\s]*+(?:b?'(?:[^'\\\n]|\\.)*+'|\(?\d+)\s*[:,)\]}]|\[?\w[\w.]*\(\w+=")
_PAGE = late_pattern(r"(?:.*\n){0,5}?\s*NAME\n[ \t]+\S.*\n(?:.*\n){1,6}?[A-Z]{4}[A-Z ]+\n[ \t]+\S")
_DIFF = late_pattern(
    r"diff --git |Index: |--- .*\n\+\+\+ |From [0-9a-f]{7,40} |@@ -\d+(?:,\d+)? \+\d+"
    r"|commit [0-9a-f]{7,40}\b(?=(?s:.{0,9000}?)\ndiff --(?:git|cc) )"
)
_ASIDE = late_pattern(
    r"^([ \t]*)(?:(```+|~~~+).*\n(?:.*\n)*?[ \t]*\2[ \t]*$"
    r"|(#|--|;+|\"|%+|REM|dnl)(?:[ \t].*)?\n(?:\1\3.*\n)++|/\*(?s:.*?)\*/|//.*|\* .*)",
    re.MULTILINE,
)
"""Fenced blocks, and comments."""
_FRONT_MATTER = late_pattern(r"---[ \t]*\n(?s:.*?)\n---[ \t]*\n\s*\S")
_KEY = r"(?:- +)*(?:\"[^\"]*\"|'[^']*'|[\w./$<][\w./$<@-]*):(?: +[^\s=].*)? *$"
_YAML_KEY = late_pattern(_KEY)
_YAML_LINE = late_pattern(rf"{_KEY}|(?:- *)+\S|#|---|\.\.\.|%YAML|[\]}}],?$")
_SECTION = late_pattern(r"\[\[?[^\[\]|{}()]+\]\]?\s*(?:[#;].*)?$")
_SETTING = late_pattern(
    r"\[\[?[^\[\]|{}()]+\]\]?\s*(?:[#;].*)?$|[\w.\"'/$\\-]+ *=(?!=)|[\]})]|#(?![a-z])|;"
)
_TOML_VALUE = late_pattern(r"[\w.\"-]+ *= *(?:\"|'|\[|\{|\d|true|false)")
_SENTENCE = late_pattern(r"(?=.*[a-z)][.!?:]\s*$).*?[a-z]{2,} +[a-z]{2,} ")
"""Three words and the end of a sentence, as in notes on functions: `read(n): Return all bytes.`"""
_PROGRAMS = {"python": 0.3, "bash": 0.3, "sql": 0.3, "c": 0.25, "code": 0.0}
"""Language → the least share that it has of the telling lines of a program."""
_MARKUP = ("rst", "asciidoc", "latex", "markdown")


def detect_language(text: str) -> str | None:
    """Return the language that a text is written in, in the words of `language_of`; None for prose.

    Programs are told apart by how they are shortened: `python`, `bash`, `sql`, `c` for all with
    braces, `code` for others. No file's name tells `repr` (data as Python prints them), `man` (a
    manual page as `man` prints it), `traceback`, `console` and `log`.

    >>> detect_language('[{"id": 1}, {"id": 2}]'), detect_language("Two rows were found.")
    ('json', None)
    """
    begin = text[: 2 * SAMPLE_CHARS].lstrip(_BLANKS)
    if begin[:1] in ("{", "[", '"') and _is_json(text):
        return "json"
    if _REPR.match(begin) and text[-SAMPLE_CHARS:].rstrip()[-1:] in (")", "]", "}"):
        return "repr"
    if _OBJECT.match(begin):  # with comments, or only its beginning
        return "json"
    if begin.startswith("<?php"):
        return "php"
    root = _ROOT.match(begin)
    if root and root[1].lower() in _HTML_TAGS.split():
        return "html"
    if root and ("/>" in text or f"</{root[1]}" in text):
        return "xml"
    if _DIFF.match(begin):
        return "diff"
    if _PAGE.match(begin):
        return "man"
    return _table_of(text[: 2 * SAMPLE_CHARS]) or _language_of_lines(text)


def _is_json(text: str) -> bool:
    first, _, rest = text.strip(_BLANKS).partition("\n")
    for candidate in (text, first) if len(text) <= MAX_JSON_CHARS else (first,):
        try:
            raw = msgspec.json.decode(candidate.lstrip("\ufeff"), type=msgspec.Raw)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            continue
        # All of it, or a line of JSON and another below it.
        if candidate is text or rest.lstrip()[:1] == first[:1]:
            return bytes(raw).startswith((b"{", b"[", b'"{', b'"['))
    return False


def _table_of(sample: str) -> str | None:
    """Return `csv` or `tsv` for rows of as many fields."""
    rows = sample.split("\n")[:-1][:60] or [sample]
    for delimiter, name in (("\t", "tsv"), (",", "csv"), (";", "csv")):
        if delimiter not in rows[0]:
            continue
        try:
            widths = [len(row) for row in csv.reader(rows, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if widths[0] > 1 and widths.count(widths[0]) >= max(MIN_ROWS, REGULAR_SHARE * len(widths)):
            return name
    return None


@lru_cache(maxsize=1)
def _line_pattern() -> re.Pattern[str]:
    # `NAME: PATTERN`, a long one over several lines; the first that matches counts.
    rows = (row.partition(": ") for row in table_text("lines").replace("\n  ", "").splitlines())
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, _, pattern in rows))


def _language_of_lines(text: str) -> str | None:
    sample = text
    if len(text) > 2 * SAMPLE_CHARS:
        middle = text.find("\n", len(text) // 2) + 1 or len(text) // 2
        sample = f"{text[:SAMPLE_CHARS]}\n{text[middle : middle + SAMPLE_CHARS]}"
    rest = _ASIDE.sub(lambda aside: aside[2] or "", sample)
    lines = [line for line in rest.split("\n") if line.strip()]
    outer = [line for line in lines if not line[0].isspace()]
    match = _line_pattern().match
    told = [match(line.strip()) if len(line) <= MAX_LINE_CHARS else None for line in lines]
    found = Counter(each.lastgroup or "" for each in told if each)
    if found["log"] >= max(2, LOG_SHARE * len(outer)):
        return "log"
    if found["traceback"] >= max(2, TRACE_SHARE * len(lines)):
        return "traceback"
    if told and told[0] and told[0].lastgroup == "console":
        return "console"
    settings = _settings_of(outer, len(lines) - len(outer))
    if settings:
        return "markdown" if settings == "yaml" and _FRONT_MATTER.match(text) else settings
    short = filter(lambda line: len(line) <= MAX_LINE_CHARS, lines)
    is_said = sum(_SENTENCE.match(line) is not None for line in short) > MAX_SENTENCES * len(lines)
    found["markdown"] += 0 if is_said and not found["markdown"] else found["inline"]
    markup = max(_MARKUP, key=found.__getitem__)
    program = sum(found[name] for name in _PROGRAMS)
    if not is_said and program >= max(2, PROGRAM_SHARE * len(lines), found[markup]):
        return next(name for name, least in _PROGRAMS.items() if found[name] >= least * program)
    is_markup = found[markup] >= max(1 + (markup == "asciidoc"), MARKUP_SHARE * len(lines))
    return markup if is_markup else None


def _settings_of(outer: Sequence[str], nested: int) -> str | None:
    """Return the language of keys with values, by the lines that are not indented."""

    def count(pattern: re.Pattern[str]) -> int:
        return sum(pattern.match(line) is not None for line in outer)

    least = max(1, REGULAR_SHARE * len(outer))
    if any(len(line) > MAX_LINE_CHARS for line in outer):
        return None
    keys = count(_YAML_KEY)
    if keys and nested + keys > 1 and count(_YAML_LINE) >= least:
        return "yaml"
    if count(_SETTING) < max(2, least):
        return None
    if not count(_SECTION):
        is_plain = not any(" = " in line or "(" in line for line in outer)
        return "properties" if is_plain else None
    values = sum("=" in line for line in outer)
    return "toml" if 2 * count(_TOML_VALUE) > values else "ini"
