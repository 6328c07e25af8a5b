"""A template that cannot be read → the place of the mistake, the mistake, and the way out.

Jinja says where it could not go on. The author wants to know where it went wrong: at the tag,
bracket or quote that was opened and not closed, perhaps far above. So the tags are read once more,
as a person would read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import nearest

CLOSES = {"{{": "}}", "{%": "%}", "{#": "#}"}
PAIRS = ("if", "for", "block", "macro", "call", "filter", "with", "autoescape", "raw")
"""Tags that an end tag closes. So is `{% set x %}` without a value."""
KNOWN = ("if", "elif", "else", "for", "set", "block", "extends", "include", "from", "macro")
_IN_TAG = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[%}]\}|\{[{%#]")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_ENDRAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_WORD = re.compile(r"&&|\|\||\"[^\"\n]*\"|'[^'\n]*'|\w+|\S")
_SPELT = {"elseif": "elif", "elsif": "elif", "elsf": "elif", "foreach": "for", "endfi": "endif"}
_OPERATORS = {"&": "and", "&&": "and", "||": "or", "!": "not ", "=": "=="}
_JINJA_NAMES = {
    "end of statement block": "%}",
    "end of print statement": "}}",
    "end of template": "the end of the file",
    "begin of statement block": "{%",
    "begin of print statement": "{{",
    "end of comment": "#}",
}


class Mistake(NamedTuple):
    """One mistake at a place of a template."""

    start: int
    length: int
    message: str
    new: str | None = None
    """Text that `--fix` writes in its place."""


class Tag(NamedTuple):
    """One `{{ … }}`, `{% … %}` or `{# … #}`."""

    start: int
    end: int
    """Past its last character."""
    open: str
    word: str
    """The first word of a statement, such as `if`."""
    closed: bool

    def mistake(self, message: str) -> Mistake:
        """Return a mistake that is the whole tag."""
        return Mistake(self.start, self.end - self.start, message)


def find(source: str, message: str, at: int) -> Mistake:
    """Return the mistake behind Jinja's `message` about the offset `at` of `source`."""
    ended = "end of template" in message or "Missing end of" in message or not source[at:].strip()
    tags = list(_tags(source))
    mistake = _structure(source, tags, len(source) if ended else at)
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
        at = _end(source, begin.end(), mark)
        closed = at > 0
        if name == "raw" and closed:  # nothing in it is a tag
            endraw = _ENDRAW.search(source, at)
            if endraw is not None:
                name, at = "", endraw.end()
            else:
                closed, at = False, len(source)
        elif not closed:
            at = source.find("\n", start)
            if at < 0:
                at = len(source)
        yield Tag(start, at, mark, name, closed)


def _end(source: str, at: int, mark: str) -> int:
    """Return the offset past the end of the tag that `mark` opens, 0 if another one begins first."""
    if mark == "{#":
        return source.find("#}", at) + 2 if "#}" in source[at:] else 0
    for found in _IN_TAG.finditer(source, at):
        if found[0] == CLOSES[mark]:
            return found.end()
        if found[0][0] == "{" or found[0] in CLOSES.values():
            return 0
    return 0


# --- tags that do not go together -----------------------------------------------------------------


def _structure(source: str, tags: list[Tag], until: int) -> Mistake | None:
    """Return the first tag before `until` that is unclosed, unknown or in no pair, else `None`."""
    opened: list[Tag] = []
    for tag in tags:
        if tag.start > until:
            break
        if not tag.closed:
            return _unclosed(source, tag)
        if tag.open == "{%" and (mistake := _follow(source, tag, opened)) is not None:
            return mistake
    if opened and until >= len(source.rstrip()):
        word = opened[-1].word
        message = f"{{% {word} %}} is not closed; write {{% end{word} %}} where it ends"
        return opened[-1].mistake(message)
    return None


def _follow(source: str, tag: Tag, opened: list[Tag]) -> Mistake | None:
    """Open or close a pair, or return the mistake."""
    inside = source[tag.start : tag.end]
    if tag.word in PAIRS or (tag.word == "set" and not re.search(r"(?<![=!<>])=(?!=)", inside)):
        opened.append(tag)
    elif tag.word.startswith("end") and tag.word[3:] in (*PAIRS, "set"):
        if not opened or opened[-1].word != tag.word[3:]:
            return _wrong_end(source, tag, opened)
        opened.pop()
    elif tag.word in ("else", "elif"):
        if other := re.search(r"else\s+if\b", inside):
            return Mistake(tag.start + other.start(), len(other[0]), "write elif for else if", "elif")
        owners = ("if", "for") if tag.word == "else" else ("if",)
        if not opened or opened[-1].word not in owners:
            message = f"{{% {tag.word} %}} stands in no {{% if %}}{_opened(source, opened)}"
            return _word(source, tag, message)
    elif tag.word not in (*KNOWN, "import"):
        return _no_tag(source, tag, opened)
    return None


def _unclosed(source: str, tag: Tag) -> Mistake:
    close = CLOSES[tag.open]
    if tag.open == "{#":
        message = f"the comment that begins here is not closed; write {close} where it ends"
        return Mistake(tag.start, 2, message)
    rest = source[tag.start + 2 : tag.end]
    bare = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), rest)
    if quote := re.search(r"[\"']", bare):
        return _quote(tag.start + 2 + quote.start(), quote[0])
    if wrong := re.search(r"%\s*\}|\}\s*\}|\}|%(?=\s*$)", bare):
        message = f"{tag.open} ends with {wrong[0]} here; write {close}"
        return Mistake(tag.start, 2 + wrong.end(), message)
    message = f"{tag.open} is not closed; write {close} where it ends"
    return Mistake(tag.start, 2 + len(rest.rstrip()), message)


def _quote(at: int, mark: str) -> Mistake:
    message = f"the text that begins with this {mark} is not closed; write {mark} where it ends"
    return Mistake(at, 1, message)


def _wrong_end(source: str, tag: Tag, opened: list[Tag]) -> Mistake:
    if any(other.word == tag.word[3:] for other in opened):
        inner = opened[-1]
        line = _line(source, tag)
        return inner.mistake(
            f"{{% {inner.word} %}} is not closed before the {{% {tag.word} %}} of line {line};"
            f" write {{% end{inner.word} %}} before that"
        )
    return _word(source, tag, f"{{% {tag.word} %}} closes nothing{_opened(source, opened)}")


def _opened(source: str, opened: list[Tag]) -> str:
    """Return the end of a message: the tag that is open here."""
    if not opened:
        return "; take it out, or write what it belongs to before it"
    word, line = opened[-1].word, _line(source, opened[-1])
    return f"; open is the {{% {word} %}} of line {line}, which {{% end{word} %}} closes"


def _no_tag(source: str, tag: Tag, opened: list[Tag]) -> Mistake:
    ends = [f"end{other.word}" for other in opened]
    message = f'there is no tag "{tag.word}"'
    if tag.word in ("end", "") and opened:
        return _word(source, tag, f"{message}; {{% {ends[-1]} %}} closes what is open here")
    known = _SPELT.get(tag.word)
    if known is None:
        return _word(source, tag, message + nearest(tag.word, [*KNOWN, *ends]))
    new = known if known == "elif" else None
    return _word(source, tag, f'{message}; did you mean "{known}"?', new)


def _word(source: str, tag: Tag, message: str, new: str | None = None) -> Mistake:
    """Return a mistake that is the first word of a tag."""
    start = source.find(tag.word, tag.start + 2) if tag.word else tag.start
    return Mistake(start, len(tag.word) or 2, message, new)


def _line(source: str, tag: Tag) -> int:
    return source.count("\n", 0, tag.start) + 1


# --- inside of one tag ----------------------------------------------------------------------------


def _inside(source: str, tag: Tag | None, message: str, at: int) -> Mistake:
    """Return the mistake in the words of a tag, or in the text outside of all tags."""
    here = _WORD.match(source, at)
    said = here[0] if here else ""
    length = max(1, len(said))
    if found := re.match(r"block '(.*)' defined twice", message):
        twice = f'the block "{found[1]}" is there twice; a name stands for one place'
        return Mistake(at, length, twice)
    if tag is None:
        return Mistake(at, length, _plain(message))
    brackets = r"unexpected '[%}]'|expected token '[,)\]]|expected '[)\]]"
    if re.search(brackets, message) and (bracket := _bracket(source, tag)) is not None:
        return bracket
    if (mistake := _sign(source, tag, at, said)) is not None:
        return mistake
    if tag.word == "for" and "expected token 'in'" in message:
        example = "{% for item in items %}"
        return Mistake(at, len(said), f'"{said}" stands where a loop says in: {example}')
    if "unexpected end" in message or said in ("}", "%"):
        return tag.mistake("something is missing at the end of this tag")
    return Mistake(at, length, _plain(message))


def _sign(source: str, tag: Tag, at: int, said: str) -> Mistake | None:
    """Return the mistake if the sign at `at` is another language's."""
    if said.startswith("|") and source[at - 1 : at + 1] == "||":  # Jinja stops at the second
        at, said = at - 1, "||"
    if said in _OPERATORS and (said != "=" or tag.word in ("if", "elif", "")):
        new = _OPERATORS[said]
        why = "to compare, write ==" if said == "=" else f"write {new.strip()}"
        return Mistake(at, len(said), f"{said} is no part of the template language; {why}", new)
    if said in ('"', "'"):
        return _quote(at, said)
    if said and said[0] in "“”„«»‘’‚":
        return Mistake(at, 1, f"{said[0]} is no quote to a template; write \" or '")
    return None


def _bracket(source: str, tag: Tag) -> Mistake | None:
    """Return the bracket of a tag that is not closed in it."""
    opened: list[int] = []
    marks = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[()\[\]]")
    for found in marks.finditer(source, tag.start, tag.end - 2):
        if found[0] in "([":
            opened.append(found.start())
        elif found[0] in ")]" and opened:
            opened.pop()
    if not opened:
        return None
    mark = source[opened[-1]]
    close = ")" if mark == "(" else "]"
    return Mistake(opened[-1], 1, f"{mark} is not closed; write {close} where it ends")


def _plain(message: str) -> str:
    """Return Jinja's own message, with tags as they are written."""
    message = message.rstrip(".")
    for name, mark in _JINJA_NAMES.items():
        message = message.replace(f"'{name}'", f"'{mark}'").replace(name, mark)
    if found := re.match(r"expected token '(.*)', got '(.*)'$", message):
        return f'"{found[2]}" stands where {found[1]} belongs'
    return re.sub(r"^unexpected (?:char )?'(.*)'$", r'"\1" does not belong here', message)
