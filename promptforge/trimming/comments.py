"""Programs without their comments, as Pygments finds these: the extra `comments`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..errors import OptionError, PromptForgeError, call_foreign, pip_install
from ..text import table_rows
from ..text.characters import freeze
from ..text.words import late_pattern

_KEPT_COMMENTS = ("Hashbang", "Preproc", "PreprocFile")
"""Tokens below `Comment` that a program needs: `#!/bin/sh`, `#include`."""
_C_FAMILY = ("c", "cpp", "objectivec")
_SCRIPTS = ("javascript", "jsx", "typescript", "tsx")
_STYLES = ("less", "scss")
_SLOW_WORDS = ("ocaml", "xquery")
"""Languages with lexers that take quadratic time for one word."""
MAX_SLOW_WORD = 1_000
"""Characters of such a word, and of blanks in a row."""
_HASH_AFTER_BLANK = ("bash", "fish", "ksh", "perl", "ruby", "sh", "shell", "zsh")
"""Languages in which `#` stands for many things without a blank before it."""
_TWO_HEREDOCS = r"""(?:<<[-~]?["'`]?[A-Za-z_].*){2}"""
_NOT_TOLD = {
    **dict.fromkeys(("dart", "kotlin"), late_pattern(r"/\*(?:(?!\*/)(?s:.))*?/\*")),
    "php": late_pattern(r"(?m)^(?>.*?(?://|#)).*\?>"),
    **dict.fromkeys(
        _HASH_AFTER_BLANK,
        late_pattern(rf"""{_TWO_HEREDOCS}|<<[-~]?(["'`])\w*[^\w"'`\n][^"'`\n]*\1"""),
    ),
}
"""Language → what its lexer loses: a comment in a comment, `// a ?>`, and two texts of a line, or
`<<-'end;'`."""
_DOLLAR_QUOTE = late_pattern(r"\$\w{0,63}\$")
"""A text of SQL, which a lexer reads on in."""
# What has no end is passed over as a whole, not looked for again from each of its characters.
_STYLE_COMMENT = late_pattern(
    r"""(?s)"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|url\([^)\n]*\)?|\w://"""
    r"""|(/\*.*?\*/|//[^\r\n]*)|/\*.*"""
)
_DIRECTIVE = late_pattern(r"(?:^[ \t]*#|\\\r?\n)[^\r\n]*\Z", re.MULTILINE)
_READ_BY_TOOLS = late_pattern(dict(table_rows("words"))["comments of tools"])
"""A comment that changes what a compiler, an interpreter or a linter does."""
MAX_CHARS_BEFORE = 1 << 10
_OPENING_BLANK_LINES = re.compile(r"\A(?:[ \t\f\v]*(?:\r\n|\r|\n))+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_SIGN = r"[-+*/<>=&|^!%:.~?#@$]"
"""Signs that would make another one together."""


def without_comments(
    text: str, language: str | None, is_late: Callable[[], bool] = bool
) -> str | None:
    """Return a program without its comments; None where they cannot be told for sure.

    A line that held a comment alone goes as a whole. What may be a part of a string stays, and what
    a tool reads, as `//go:build` and `# noqa`. Raises `OptionError` without Pygments, and
    `TimeoutError` as soon as `is_late` says so.
    """
    name = language or ""
    held = set(text)
    hole = next((char for char in map(chr, range(0xE000, 0xF8FF)) if char not in held), None)
    lost = _DOLLAR_QUOTE if "sql" in name else _NOT_TOLD.get(name)
    if hole is None or (lost and lost.search(text)) or _is_read_slowly(text, name):
        return None
    spans: list[tuple[int, int]] | None
    try:
        if name in _STYLES:  # Pygments sees no comment within a rule of SCSS
            spans = [found.span(1) for found in _STYLE_COMMENT.finditer(text) if found[1]]
        else:
            spans = _comments_by_lexer(freeze(text), name, is_late)
    except OptionError:
        raise
    except PromptForgeError:  # a lexer that fails cannot tell either
        spans = None
    if spans is None:
        return None
    parts, shown, kept = [], 0, -1
    for begin, end in spans:
        if begin == kept or _READ_BY_TOOLS.match(text, begin):
            kept = end if text[end - 1] != "\n" else -1  # SQL's lexer reads a comment in parts
            continue
        if begin < shown or _is_in_doubt(text, begin, end, name):
            continue
        end = begin + len(text[begin:end].rstrip("\r\n"))  # the line end behind it stays
        before = text[max(0, begin - MAX_CHARS_BEFORE) : begin]
        # A directive of C goes on behind a comment of several lines.
        is_directive = text.startswith("/*", begin) and _DIRECTIVE.search(before)
        breaks = [] if is_directive else _LINE_END.findall(text[begin:end])
        parts += [text[shown:begin], hole, *(f"{each}{hole}" for each in breaks)]
        shown = end
    return _close_holes("".join(parts) + text[shown:], hole)


def _is_read_slowly(text: str, language: str) -> bool:
    """Tell whether a lexer would take quadratic time for a text: no clock is read within a word."""
    # Those of C and Java read blanks so: 8,000 spaces for more than 3 seconds.
    slow = [r"\s+", r"\w+"] if language in _SLOW_WORDS else [r"\s+"]
    longest = [max(map(len, re.findall(pattern, text)), default=0) for pattern in slow]
    return max(longest) > MAX_SLOW_WORD


def _comments_by_lexer(
    text: str, language: str, is_late: Callable[[], bool]
) -> list[tuple[int, int]] | None:
    """Return the places of comments as Pygments sees them; None: it cannot tell."""
    lexer = _lexer(language)
    if lexer is None:
        return None
    spans: list[tuple[int, int]] = []
    found = call_foreign(lexer.get_tokens_unprocessed, PromptForgeError, text)
    for start, token, part in iter(lambda: call_foreign(next, PromptForgeError, found, None), None):
        if is_late():  # at each `__END__` of HCL the lexer looks through the rest
            raise TimeoutError
        names = [str(name) for name in token]  # Comment.Single is ("Comment", "Single")
        is_quoted = names[-1:] in (["Single"], ["Double"]) and "String" in names
        if is_quoted and language in _SCRIPTS and re.search(r"(?<!\\)\r?\n", part):
            return None  # of `<p>Don't</p>` it takes all up to the next `'` for a string
        goes_on = language == "rust" and spans and spans[-1][1] == start
        is_doc = names[-1:] == ["Doc"] and (goes_on or part.startswith(("//", "/*")))
        # Of C, what `#if 0` encloses is plain `Comment`.
        is_comment = names[:1] == ["Comment"] and names[-1] not in _KEPT_COMMENTS
        if is_doc or (is_comment and not (names == ["Comment"] and language in _C_FAMILY)):
            spans.append((start, start + len(part)))
    return sorted(spans)


def _is_in_doubt(text: str, begin: int, end: int, language: str) -> bool:
    """Tell whether what a lexer takes for a comment may be something else."""
    before = text[begin - 1] if begin else "\n"
    if language in _HASH_AFTER_BLANK and text[begin] == "#":
        if not before.isspace() or text[max(0, begin - 2) : begin] == "\\ ":  # s#a#b#, a\ #b
            return True
        return text.count("`", begin, end) % 2 == 1 and language not in ("perl", "ruby")
    if language in _SCRIPTS and text.startswith("//", begin):  # http://, '//', as text of a tag
        if before in "\"'`" or (before == ":" and text[max(0, begin - 2)].isalpha()):
            return True
        line = text[text.rfind("\n", 0, begin) + 1 : begin]
        return bool(line.strip()) and "</" in text[begin:end]
    return False


def _close_holes(text: str, hole: str) -> str:
    """Return a text without the holes where comments were, and without lines of holes alone."""
    lines: list[str] = []
    for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text):
        if hole not in line:
            lines.append(line)
            continue
        shown = line.rstrip("\r\n")
        line_end = line[len(shown) :]
        kept = shown.rstrip(f"{hole} \t\f\v")
        if hole in shown[len(kept) :]:
            shown = kept
        # int/**/x is two words, a +/**/+ b two signs.
        shown = re.sub(rf"(?<=\w){hole}+(?=\w)|(?<={_SIGN}){hole}+(?={_SIGN})", " ", shown)
        shown = shown.replace(hole, "")
        # The line after one that goes on is a part of it: an empty one ends it as a comment does.
        if shown.strip() or (lines and lines[-1].rstrip("\r\n").endswith("\\")):
            lines.append(shown + line_end)
    closed = "".join(lines)
    if text.lstrip().startswith(hole):  # the blank line below a licence goes with it
        return _OPENING_BLANK_LINES.sub("", closed)
    return closed


@lru_cache
def _lexer(language: str) -> Any:
    try:
        from pygments.lexers import get_lexer_by_name
    except ImportError:
        raise OptionError(
            f"comments: false needs the package pygments: {pip_install('comments')}",
            option="comments",
        ) from None
    try:
        return call_foreign(get_lexer_by_name, PromptForgeError, language)
    except PromptForgeError:  # mostly Pygments' ClassNotFound
        return None
