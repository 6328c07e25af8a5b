"""A template that cannot be read → where the mistake was made, which, and the way out.

Jinja says where it could not go on. Whoever wrote the template wants to know where it went wrong: at the tag, bracket
or quote that was opened and not closed, far above perhaps. So the tags are read once more, as a person would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import nearest

CLOSES = {"{{": "}}", "{%": "%}", "{#": "#}"}
PAIRS = frozenset({"if", "for", "block", "macro", "call", "filter", "with", "autoescape", "raw"})
"""Tags that are closed by one of their own, besides `{% set x %}` without a value."""
KNOWN = ("if", "elif", "else", "for", "set", "block", "extends", "include", "from", "macro")
_IN_TAG = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[%}]\}|\{[{%#]")
_SPELT = {"elseif": "elif", "elsif": "elif", "elsf": "elif", "foreach": "for", "endfi": "endif"}
_WORDS = {"&": "and", "&&": "and", "||": "or", "!": "not ", "=": "=="}
_NAMES = {
    "end of statement block": "%}", "end of print statement": "}}", "end of template": "the end of the file",
    "begin of statement block": "{%", "begin of print statement": "{{", "end of comment": "#}",
}  # fmt: skip


class Mistake(NamedTuple):
    """Where, how long, what, and what `--fix` may write in its place."""

    start: int
    length: int
    message: str
    new: str | None = None


class Tag(NamedTuple):
    """One `{{ … }}`, `{% … %}` or `{# … #}`."""

    start: int
    end: int
    """Past its last character."""
    open: str
    word: str
    """The first word of a statement, such as `if`."""
    closed: bool


def find(source: str, message: str, at: int) -> Mistake:
    """Return the mistake behind Jinja's `message` about the place `at`; `source` has been refused there."""
    ended = "end of template" in message or "Missing end of" in message or not source[at:].strip()
    until = len(source) if ended else at
    tags = list(_tags(source))
    mistake = _structure(source, tags, until)
    if mistake is not None:
        return mistake
    tag = next((tag for tag in tags if tag.start <= at < tag.end), None)
    return _inside(source, tag, message, at)


def _tags(source: str) -> Iterator[Tag]:
    """Yield the tags in their order; one that is not closed ends with its line."""
    at = 0
    while (begin := re.compile(r"\{[{%#]").search(source, at)) is not None:
        start, mark = begin.start(), begin[0]
        word = re.compile(r"[-+]?\s*(\w*)").match(source, begin.end())
        name = word[1] if word and mark == "{%" else ""
        end = (
            source.find("#}", begin.end()) + 2
            if mark == "{#"
            else _end(source, begin.end(), CLOSES[mark])
        )
        if name == "raw" and end >= 2:
            closing = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}").search(source, end)
            at = closing.end() if closing else len(source)
            yield Tag(start, at, mark, "" if closing else name, closing is not None)
            continue
        closed = end >= 2
        line = source.find("\n", start)
        at = end if closed else len(source) if line < 0 else line
        yield Tag(start, at, mark, name, closed)


def _end(source: str, at: int, close: str) -> int:
    """Return the place past the `close` of a tag, or 0 where it has none before another tag begins."""
    for found in _IN_TAG.finditer(source, at):
        if found[0] == close:
            return found.end()
        if found[0][0] == "{" or found[0] in CLOSES.values():
            return 0
    return 0


def _structure(source: str, tags: list[Tag], until: int) -> Mistake | None:
    """Return the first tag before `until` that is not closed, closes nothing, or is none; else what is open there."""
    stack: list[Tag] = []
    for tag in tags:
        if tag.start > until:
            break
        if not tag.closed:
            return _unclosed(source, tag)
        if tag.open != "{%":
            continue
        inside = source[tag.start : tag.end]
        if tag.word in PAIRS or (tag.word == "set" and not re.search(r"(?<![=!<>])=(?!=)", inside)):
            stack.append(tag)
        elif tag.word.startswith("end") and tag.word[3:] in (*PAIRS, "set"):
            if not stack or stack[-1].word != tag.word[3:]:
                return _wrong_end(source, tag, stack)
            stack.pop()
        elif tag.word in ("else", "elif"):
            other = re.search(r"else\s+if\b", inside)
            if other:
                begin = tag.start + other.start()
                return Mistake(begin, len(other[0]), "write elif for else if", "elif")
            if not stack or stack[-1].word not in (
                ("if", "for") if tag.word == "else" else ("if",)
            ):
                return _word(
                    source, tag, f"{{% {tag.word} %}} stands in no {{% if %}}{_open(source, stack)}"
                )
        elif tag.word not in (*KNOWN, "import"):
            return _no_tag(source, tag, stack)
    if stack and until >= len(source.rstrip()):
        tag = stack[-1]
        end = f"{{% end{tag.word} %}}"
        length = tag.end - tag.start
        return Mistake(
            tag.start, length, f"{{% {tag.word} %}} is not closed; write {end} where it ends"
        )
    return None


def _unclosed(source: str, tag: Tag) -> Mistake:
    rest = source[tag.start + 2 : tag.end]
    length = 2 + len(rest.rstrip())
    close = CLOSES[tag.open]
    if tag.open == "{#":
        return Mistake(
            tag.start, 2, f"the comment that begins here is not closed; write {close} where it ends"
        )
    bare = re.sub(
        r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", lambda quoted: "_" * len(quoted[0]), rest
    )
    if quote := re.search(r"[\"']", bare):
        return _quote(tag.start + 2 + quote.start(), quote[0])
    wrong = re.search(r"%\s*\}|\}\s*\}|\}|%(?=\s*$)", bare)
    if wrong:
        return Mistake(
            tag.start, 2 + wrong.end(), f"{tag.open} ends with {wrong[0]} here; write {close}"
        )
    return Mistake(tag.start, length, f"{tag.open} is not closed; write {close} where it ends")


def _quote(at: int, mark: str) -> Mistake:
    return Mistake(
        at, 1, f"the text that begins with this {mark} is not closed; write {mark} where it ends"
    )


def _wrong_end(source: str, tag: Tag, stack: list[Tag]) -> Mistake:
    wanted = tag.word[3:]
    if any(other.word == wanted for other in stack):
        inner = stack[-1]
        message = (
            f"{{% {inner.word} %}} is not closed before the {{% {tag.word} %}} of line {_line(source, tag)};"
            f" write {{% end{inner.word} %}} before that"
        )
        return Mistake(inner.start, inner.end - inner.start, message)
    return _word(source, tag, f"{{% {tag.word} %}} closes nothing{_open(source, stack)}")


def _open(source: str, stack: list[Tag]) -> str:
    if not stack:
        return "; take it out, or write what it belongs to before it"
    inner = stack[-1]
    line = _line(source, inner)
    return (
        f"; open is the {{% {inner.word} %}} of line {line}, which {{% end{inner.word} %}} closes"
    )


def _no_tag(source: str, tag: Tag, stack: list[Tag]) -> Mistake:
    ends = [f"end{other.word}" for other in stack]
    if tag.word in ("end", "") and stack:
        return _word(
            source,
            tag,
            f'there is no tag "{tag.word}"; {{% {ends[-1]} %}} closes what is open here',
        )
    known = _SPELT.get(tag.word)
    hint = f'; did you mean "{known}"?' if known else nearest(tag.word, [*KNOWN, *ends])
    return _word(
        source, tag, f'there is no tag "{tag.word}"{hint}', "elif" if known == "elif" else None
    )


def _word(source: str, tag: Tag, message: str, new: str | None = None) -> Mistake:
    start = source.find(tag.word, tag.start + 2) if tag.word else tag.start
    return Mistake(start, len(tag.word) or 2, message, new)


def _line(source: str, tag: Tag) -> int:
    return source.count("\n", 0, tag.start) + 1


# --- inside of one tag ------------------------------------------------------------------------------------------------


def _inside(source: str, tag: Tag | None, message: str, at: int) -> Mistake:
    """Return what is wrong with the words of a tag."""
    here = re.compile(r"&&|\|\||\"[^\"\n]*\"|'[^'\n]*'|\w+|\S").match(source, at)
    said = here[0] if here else ""
    if found := re.match(r"block '(.*)' defined twice", message):
        return Mistake(
            at,
            max(1, len(said)),
            f'the block "{found[1]}" is there twice; a name stands for one place',
        )
    if tag is None:
        return Mistake(at, max(1, len(said)), _plain(message))
    bracket = _bracket(source, tag)
    if bracket is not None and re.search(
        r"unexpected '[%}]'|expected token '[,)\]]|expected '[)\]]", message
    ):
        return bracket
    if said.startswith("|") and source[at - 1 : at + 1] == "||":
        at, said = at - 1, "||"
    if said in _WORDS and (said != "=" or tag.word in ("if", "elif", "")):
        new = _WORDS[said]
        why = "to compare, write ==" if said == "=" else f"write {new.strip()}"
        return Mistake(at, len(said), f"{said} is no part of the template language; {why}", new)
    if said in ('"', "'"):
        return _quote(at, said)
    if said and said[0] in "“”„«»‘’‚":
        return Mistake(at, 1, f"{said[0]} is no quote to a template; write \" or '")
    if tag.word == "for" and "expected token 'in'" in message:
        return Mistake(
            at, len(said), f'"{said}" stands where a loop says in: {{% for item in items %}}'
        )
    if "unexpected end" in message or said in ("}", "%"):
        return Mistake(
            tag.start, tag.end - tag.start, "something is missing at the end of this tag"
        )
    return Mistake(at, max(1, len(said)), _plain(message))


def _bracket(source: str, tag: Tag) -> Mistake | None:
    """Return the bracket of a tag that is not closed in it."""
    opened: list[int] = []
    for found in re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[()\[\]]").finditer(
        source, tag.start, tag.end - 2
    ):
        if found[0] in "([":
            opened.append(found.start())
        elif found[0] in ")]" and opened:
            opened.pop()
    if not opened:
        return None
    mark = source[opened[-1]]
    return Mistake(
        opened[-1], 1, f"{mark} is not closed; write {')' if mark == '(' else ']'} where it ends"
    )


def _plain(message: str) -> str:
    """Return Jinja's own words with tags as they are written."""
    message = message.rstrip(".")
    for name, mark in _NAMES.items():
        message = message.replace(f"'{name}'", f"'{mark}'").replace(name, mark)
    found = re.match(r"expected token '(.*)', got '(.*)'$", message)
    message = f'"{found[2]}" stands where {found[1]} belongs' if found else message
    return re.sub(r"^unexpected (?:char )?'(.*)'$", r'"\1" does not belong here', message)
