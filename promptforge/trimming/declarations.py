"""The worth of the declarations of a program: by the use of their names elsewhere."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from ..text.words import late_pattern
from .pieces import Piece
from .program import FIELD, IMPORTS, SAYS

TYPE_WORTH, PRIVATE_WORTH, NAMELESS_WORTH = 3.0, 0.3, 0.2
"""Worth of a type beside that of a function, of a private name, and of what declares no name."""
SAYS_SHARE = 0.15
"""Share of a declaration's worth that the first line of its docstring has."""
FIELD_SHARE = 0.1
"""Worth of a field or a constant beside that of a function of that name."""
CONSTRUCTOR_SHARE = 0.3
"""Share of a type's worth that its constructor has, which every class calls by one name."""
INNER_SHARE = 0.8
"""Share of its worth that a declaration within another one has."""
PLAIN_SHARE = 0.5
"""Share of its uses that count of a plain word, such as `name`: some of them are other names."""
MIN_NAME = 3
"""A shorter plain word is a variable in most files: its uses do not count."""
CROWD = 10
"""Place among the declarations of a file, by worth, that halves it: so many files have some."""
_SEAM = late_pattern(r"[^_]_[^_]|[A-Z]")
_TYPE = (
    r"class|struct|trait|interface|protocol|enum(?:[ \t]+(?:class|struct))?|record|type|union"
    r"|object|defmodule|defprotocol|actor|contract|library|mixin"
)
_DECLARED = late_pattern(
    rf"(?m)^[ \t]*(?:pub\([^)\n]*\))?[^\n\"'=(#]*?\b(?P<word>{_TYPE}"
    r"|module|namespace|def|defp|defmacro|func|fun|fn|function"
    r"|macro|sub|impl|extension|callback|macrocallback)\b"
    r"(?:[ \t]*\([^()\n]*\))?[ \t]*(?:<[^>\n]*>[ \t]*)?"
    r"(?:[A-Z][A-Z0-9_]+[ \t]+(?=\w))?(?:[\w.]+[.:])?(?P<name>[^\W\d]\w*+)"
    r"(?![ \t]*[*&]+[ \t]*\w+[ \t]*\()"  # `struct command *look_up(` is a function
    r"|^(?P<block>resource|data|variable|output|module)[ \t]+\"(?P<label>[\w-]+)"
    r"|^[^\n\"'=(#]*?\b(?P<called>[^\W\d]\w*)[ \t]*(?:<[^>\n]*>)?\("
    r"|^[^\n\"'(#]*?\b(?P<set>[^\W\d]\w*)[ \t]*(?::[^=\n]{1,60})?="
)
_COMMENT = late_pattern(
    r"(?m)^[ \t]*(?://|#(?!\[|include|define)|/?\*|--).*\n?"
    # Attributes and decorators may take several lines.
    r"|^[ \t]*(?:#!?\[|\[(?=\w))(?:[^\[\]]|\[[^\[\]]*+\])*+\][ \t]*\n"
    r"|^[ \t]*@(?!(?:macro)?callback\b)[\w.]++"
    r"(?:\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\)[ \t]*\n|.*\n)"
)
_NO_NAMES = frozenset({
    *("if", "for", "while", "switch", "return", "else", "catch", "sizeof", "throw", "new", "await"),
    *("case", "elif", "with", "lock", "foreach", "do", "try", "function", "func", "def", "self"),
    *("this", "super"),
})  # fmt: skip
_CONSTRUCTORS = frozenset({"__init__", "__construct", "initialize", "constructor", "init"})
_PRIVATE = late_pattern(r"(?m)^[ \t]*(?:static[ \t]+)?(?:(?:file)?private|defp)\b")

_TEST = late_pattern(r"(?:[ \t]*(?:(?:#\[|//).*)?\n)*?[ \t]*#\[(?:cfg\((?:all\()?test\b|test\])")
"""Tests beside what they test, as Rust has them."""
_GIVES_TRAIT = late_pattern(r"[ \t]*(?:unsafe[ \t]+)?impl\b[^\n{;]*?[ \t]for[ \t]")
"""`impl Clone for Pool`: says less than the pool's own methods."""

_ROOM = late_pattern(r"(?:[ \t]*(?:#|//|/?\*).*\n|[ \t]*\n)*+[ \t]*(module|namespace|class)\b")
_ALIAS = late_pattern(r"[ \t]*(?:<(?:[^<>]|<[^<>]*+>)*+>)?[ \t]*=")
"""The rest of `type Id<T> = …`: a helper, mostly."""


def rate_declarations(parts: Sequence[Piece], holders: Mapping[str, int]) -> dict[int, float]:
    """Return the worth of each piece of a program that is a declaration, by its number.

    `holders` has the number of files that hold a word: the one that declares it is among them.
    """
    found: dict[int, float] = {}
    below = defaultdict[int, list[Piece]](list)
    for part in parts:
        if part.skeleton and part.closes < 0 and part.kind != SAYS:
            below[part.parent].append(part)
    names: Counter[str] = Counter()
    tests: set[int] = set()
    for number, part in enumerate(parts):
        if part.parent in tests or _TEST.match(part.text):
            tests.add(number)
        is_field = part.kind == FIELD
        if not (part.skeleton or is_field) or part.closes >= 0 or part.kind == IMPORTS:
            continue
        if part.kind == SAYS:
            found[number] = SAYS_SHARE * found.get(part.parent, NAMELESS_WORTH)
        else:
            name, worth = _rate(part.text, holders)
            held = below.get(number, ())
            if held and (_is_room(part) or (len(held) == 1 and _is_room(held[0], "class"))):
                worth = 0.0
            if is_field:
                worth *= FIELD_SHARE
            if name in _CONSTRUCTORS and part.parent in found:
                name, worth = "", CONSTRUCTOR_SHARE * found[part.parent]
            inner = INNER_SHARE if part.parent >= 0 else 1.0
            found[number] = inner * worth / (1 + names[name])  # overloads say little more
            names[name] += bool(name)
    order = sorted(found.keys() - tests, key=lambda number: (-found[number], number))
    return {
        number: found[number] / (1 + place / CROWD)
        for place, number in enumerate(order)
        if found[number]
    }


def _is_room(part: Piece, *words: str) -> bool:
    """Tell whether a piece is `module Acme`: many files open it, and what it holds says more."""
    found = _ROOM.match(part.text)
    return found is not None and found[1] in ("module", "namespace", *words)


def _rate(text: str, holders: Mapping[str, int]) -> tuple[str, float]:
    code = _COMMENT.sub("", text)
    declared = _DECLARED.search(code)
    if declared is None:
        return "", NAMELESS_WORTH
    name = declared["name"] or declared["label"] or declared["called"] or declared["set"]
    if name in _NO_NAMES:
        return "", NAMELESS_WORTH
    used = math.sqrt(max(0, holders.get(name, 1) - 1))
    if name.islower() and len(name) < MIN_NAME:  # `s` is a variable everywhere
        used = 0.0
    worth = 1 + used * (1 if _SEAM.search(name) else PLAIN_SHARE)
    is_alias = declared["word"] == "type" and _ALIAS.match(code, declared.end())
    if declared["word"] and re.fullmatch(_TYPE, declared["word"]) and not is_alias:
        worth *= TYPE_WORTH
    if name[0] == "_" or _PRIVATE.match(code) or _GIVES_TRAIT.match(code):
        worth *= PRIVATE_WORTH
    return name, worth
