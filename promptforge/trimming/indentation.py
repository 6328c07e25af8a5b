"""The blocks of a program by the depth of its lines, for languages without a grammar here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import filterfalse
from typing import NamedTuple

from ..text.languages import BLOCK_COMMENTS
from ..text.words import late_pattern, late_patterns
from .pieces import split_lines
from .program import FIELD, IMPORT, MAX_BLOCK_DEPTH, NONE, SIGNATURE, Blocks, Place

_WORDS = late_patterns("programs")
# The last line of a block, or the next part of it, begins so.
_BLOCK_END = _WORDS["end of a block"]
_CONTROL = _WORDS["control"]
_IMPORT_LINE = _WORDS["import"]
_MODIFIERS = _WORDS["modifiers"].pattern
"""Words before the word that tells the kind of a declaration: `final case` before `class`."""
_MIXIN = late_pattern(r"\s*(?:use|using|include)\b")
"""A line in a type or module that takes in the members of another one."""
# A definition in one line, as of Kotlin, Elixir, protobuf, Terraform and SQL.
_DEFINITION = late_pattern(_MODIFIERS + _WORDS["definition"].pattern)
_FUNCTION = _WORDS["function"]
_COMMENT = _WORDS["comment"]
_BLOCK_COMMENTS = {
    **dict.fromkeys(BLOCK_COMMENTS, ("/*", "*/")),
    **dict.fromkeys(("fsharp", "ocaml", "pascal", "sml"), ("(*", "*)")),
    **dict.fromkeys(("elm", "haskell", "idris", "purescript"), ("{-", "-}")),
}
"""Language → what begins and what ends a comment of several lines."""
_TYPES_FIRST = ("elm", "haskell", "idris", "purescript")
"""Languages where `take :: Int -> Pool a -> [a]` stands before a function."""
_TYPE = late_pattern(r"(?:data|newtype|type)\b|\s*[\w']+(?:[ \t]*::?[ \t]|[ \t]*$)")
_LET_DEFINES = ("fsharp", "ocaml")
"""Languages where a header `let take pool =` is a function; elsewhere it is a value, mostly."""
_LET = late_pattern(r"\s*let\b")
_HAS_MEMBERS = late_pattern(r"\b(?:struct|interface|type)\b")
_MAX_LINES_OF_HEADER = 60
_TYPE_OR_ATTRIBUTE = late_pattern(r"\s*(?:@|\[\w|template\b|[\w:<>,*&\[\] \t]+$)")
"""The first line of a signature: `static int`, `@Override`, `template <class T>`."""
_ATTRIBUTE = late_pattern(r"\s*(?:@[\w.:]+(?:\(.*\))?|\[.*\])\s*(?://.*)?$")
_CLAUSE = _WORDS["clause"]
_ACCESS_LABEL = _WORDS["access"]
_DIRECTIVE = _WORDS["directive"]
"""Directives that stand at the margin amid a function's body."""
_MACRO = late_pattern(r"\s*#\s*(?:define|undef|include|import)\b")
"""Those that say something of their own."""
_HOLDER = late_pattern(_MODIFIERS + _WORDS["holder"].pattern)
"""A header that holds definitions: in any number of these a function is skeleton."""
_DECLARATIVE = ("graphql", "hcl", "prisma", "protobuf", "thrift")
"""Languages without functions: each header at the margin holds definitions."""
_SETS = late_pattern(_MODIFIERS + _WORDS["sets"].pattern)
"""A line that sets a value, or tells a type. So do Moose's `has size => (`, and Julia's
`export take, drop` and `half(x::Int) = x / 2`."""
_TYPED = _WORDS["typed"]
"""A variable with its type before it: `static int count = 0;`."""
_MEMBER = late_pattern(r"\s*(?!(?:if|unless|for|while|do|begin|try|return|@\w*doc)\b)[\w$#@:]")
"""A line in a type or module that may be a member of it."""
# A string that nothing closes ends with its line: else each quote in it would be tried anew.
_STRING = late_pattern(r"\"(?:[^\"\\\n]|\\.)*+\"?|'[^'\\\n]'")
_TRIPLE_QUOTES = ('"""', "'''")
_PYTHON_SIGN = late_pattern(
    r"#.*|\"\"\"|'''|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?|[()\[\]{}]"
)
"""A sign by which a statement of Python goes on, or what may hide one: a string, a comment."""
_MAX_SHORT_DEFINITION = 200
"""Characters of a function that is one line."""
_PROTOTYPED = ("c", "cpp", "objectivec")
"""Languages where `int take(int n);` declares a function."""
_NAME_AND_TYPE = late_pattern(r"[@~#\w][\w:<>,.*&~?#\[\] \t]*")
_HEREDOC = late_pattern(r"<<-?[ \t]*['\"\\]?(\w+)")
_SHELLS = ("bash", "ksh", "sh", "shell", "zsh")
_SKELETON_DEPTH = 2
"""Headers less deep than this are skeleton: functions, and the methods of classes."""


class _Header(NamedTuple):
    depth: int
    number: int
    body: int
    text: str
    holds: bool
    """True if it and all headers above it hold definitions."""


def read_indentation(text: str, language: str | None = None) -> Blocks | None:
    """Return the lines of a program as blocks, each under the shallower line before it.

    None if no line is deeper than another. A line with deeper lines below it is a header, and the
    deeper run its body. The next line of the header's depth belongs to it too if it begins as the
    end of a block does (`}`, `end`, `else`).
    """
    lines = split_lines(text)
    if len({depth for depth in map(_depth, lines) if depth >= 0}) < 2:
        return None
    blocks = Blocks(lines)
    open_headers: list[_Header] = []
    # Headers with a list under them, as `import (` or `type A struct {`: all have one rank.
    lists: dict[int, int] = {}
    read = _read_lines(lines, language)
    for line, depth in enumerate(read.depths):
        # A blank line goes with the next line of code, and so does a comment no deeper than that.
        is_said = line in read.comments and depth <= read.next_of_code[line]
        if depth < 0 or line < blocks.next or is_said:
            continue
        ended = -1
        while open_headers and open_headers[-1].depth >= depth:
            closed = open_headers.pop()
            ended = closed.number if closed.depth == depth else -1
        parent = body = -1
        if open_headers:
            _, parent, body, *_ = open_headers[-1]
        last, heads = _read_statement(lines, line, read, language)
        heads = heads and len(open_headers) < MAX_BLOCK_DEPTH
        header = lines[line : last + 1]
        code = next(filterfalse(_ATTRIBUTE.match, header), header[0])
        if ended >= 0 and _BLOCK_END.match(lines[line]):
            number = blocks.add(line, last + 1, Place(ended, body), closes=ended)
        else:
            rank = lists.get(parent, _rank_of_header(header, heads, open_headers, language))
            is_field = rank == NONE and _is_field(code, heads, open_headers, language)
            kind = FIELD if is_field else ""
            number = blocks.add(line, last + 1, Place(parent, body), rank=rank, kind=kind)
            if heads and rank and _heads_list(header):
                lists[number] = rank
        if heads:
            # Outside of any body, or in the skeleton, a header begins a body of its own.
            if blocks.found[number].rank or body < 0:
                body = number
            holds = bool(_HOLDER.match(code)) and all(h.holds for h in open_headers[-1:])
            holds |= language in _DECLARATIVE and not open_headers
            open_headers.append(_Header(depth, number, body, code, holds))
    return blocks


class _Lines(NamedTuple):
    """The lines of a program: for each its depth, and that of the next line, or line of code."""

    depths: Sequence[int]
    next_depths: Sequence[int]
    next_of_code: Sequence[int]
    comments: Collection[int]
    """Lines that go with the next line of code, too: labels such as `public:`."""
    joined: Mapping[int, int]
    """Lines that others belong to, and the last of each: a shell's text, an open bracket."""


def _read_statement(
    lines: Sequence[str], line: int, read: _Lines, language: str | None
) -> tuple[int, bool]:
    """Return the last line of what begins in a line, and whether deeper lines belong to it."""
    last = read.joined.get(line, line)
    if line in read.comments or (last > line and language in _SHELLS):
        return last, False
    if language == "python":
        last = _end_of_python_header(lines, read, line)
    elif language in _TYPES_FIRST and _TYPE.match(lines[line]):
        depths = read.depths
        while last + 1 < len(lines) and not 0 <= depths[last + 1] <= depths[line]:
            last += 1
        while depths[last] < 0:
            last -= 1
    else:
        last = max(last, _end_of_header(lines, read.depths, line, language))
    below = "".join(lines[last + 1 : last + 2]).lstrip()
    is_empty = lines[last].rstrip().endswith("{") and below.startswith("}")
    return last, is_empty or read.next_depths[last] > read.depths[line]


def _read_lines(lines: Sequence[str], language: str | None) -> _Lines:
    depths = list(map(_depth, lines))
    joined: dict[int, int] = {}
    if language in _SHELLS:
        joined = _find_heredocs(lines)
    elif language in ("elixir", "python"):
        joined = _join_statements(lines, depths, brackets=language == "python")
    is_like_c = language in BLOCK_COMMENTS
    if is_like_c:
        joined = _join_macros(lines)
    comments = _find_comments(lines, depths, _BLOCK_COMMENTS.get(language or ""))
    for line, last in joined.items() if language not in _SHELLS else ():
        depths[line + 1 : last + 1] = [-1] * (last - line)
    if is_like_c:
        _indent_macros(lines, depths, comments)
    next_depth = -1
    for line in range(len(lines) - 1, -1, -1):
        # These are as deep as what follows: the members of a class, the rest of a function.
        if _ACCESS_LABEL.match(lines[line]) or (is_like_c and _DIRECTIVE.match(lines[line])):
            comments.add(line)
            depths[line] = max(next_depth, depths[line])
        elif depths[line] >= 0:
            next_depth = depths[line]
    of_code = [-1 if line in comments else depth for line, depth in enumerate(depths)]
    return _Lines(depths, _next_depths(depths), _next_depths(of_code), comments, joined)


def _indent_macros(lines: Sequence[str], depths: list[int], comments: Collection[int]) -> None:
    """Make macros at the margin amid a body as deep as the body, in place."""
    waiting: list[int] = []
    before, opens = -1, False
    for line, text in enumerate(lines):
        depth = depths[line]
        if depth < 0 or line in comments or _DIRECTIVE.match(text):
            continue
        if _MACRO.match(text):
            waiting.append(line)
            continue
        for macro in waiting:
            is_within = before > depths[macro] or opens
            if is_within and (depth > depths[macro] or text.lstrip().startswith("}")):
                depths[macro] = max(depth, before)
        waiting = []
        before, opens = depth, text.rstrip().endswith("{")


def _join_macros(lines: Sequence[str]) -> dict[int, int]:
    """Return the first and last lines of macros: a mark below a backslash would be in them."""
    found: dict[int, int] = {}
    first = -1
    for line, text in enumerate(lines):
        goes_on = text.rstrip("\r\n").endswith("\\")
        if first >= 0:
            found[first] = line
        elif goes_on and (_MACRO.match(text) or _DIRECTIVE.match(text)):
            first = line
        if not goes_on:
            first = -1
    return found


def _find_comments(
    lines: Sequence[str], depths: list[int], pair: tuple[str, str] | None
) -> set[int]:
    """Return the lines of comments. All lines of one get the depth of its first in `depths`."""
    found = {line for line, text in enumerate(lines) if _COMMENT.match(text)}
    first = 0
    while pair and first < len(lines):
        opening, closing = pair
        bare = lines[first].lstrip()
        last = first
        if bare.startswith(opening):
            rest = bare[len(opening) :]
            while closing not in rest:
                last += 1
                if last == len(lines):  # nothing ends it, nor what begins after it
                    return found
                rest = lines[last]
            found.update(range(first, last + 1))
            depths[first : last + 1] = [depths[first]] * (last + 1 - first)
        first = last + 1
    return found


def _depth(line: str) -> int:
    """Return the columns before a line, a tab reaching to the next multiple of 8; -1: blank."""
    bare = line.lstrip(" \t")
    if not bare.strip():
        return -1
    return len(line[: len(line) - len(bare)].expandtabs(8))


def _next_depths(depths: Sequence[int]) -> list[int]:
    found = [-1]
    for depth in reversed(depths[1:]):
        found.append(depth if depth >= 0 else found[-1])
    return found[::-1]


def _find_heredocs(lines: Sequence[str]) -> dict[int, int]:
    found: dict[int, int] = {}
    # From the end: the last line before is known for each word that ends a text.
    ends: dict[str, int] = {}
    for line in range(len(lines) - 1, -1, -1):
        begins = _HEREDOC.search(lines[line])
        if begins and begins[1] in ends:
            found[line] = ends[begins[1]]
        ends[lines[line].strip()] = line
    return found


def _join_statements(lines: Sequence[str], depths: Sequence[int], brackets: bool) -> dict[int, int]:
    """Return the first and last lines of statements with long strings, or open brackets, too.

    They are of Python of any version, or of a language with its strings.
    """
    found: dict[int, int] = {}
    first = opened = 0
    quote, continued = "", False
    for line, text in enumerate(lines):
        # A bracket that is never closed ends before the next definition.
        if opened and not quote and depths[line] <= depths[first] and _DEFINITION.match(text):
            opened = 0
        if not (opened or quote or continued):
            first = line
        signs, quote = _read_signs(text, quote)
        for sign in signs if brackets else ():
            opened = max(0, opened + (sign in "([{") - (sign in ")]}"))
        continued = not quote and text.rstrip("\r\n").endswith("\\")
        if line > first and not (opened or quote or continued):
            found[first] = line
    return found


def _read_signs(text: str, quote: str) -> tuple[list[str], str]:
    """Return the brackets of a line, and the quotes of the long string that is open after it.

    `quote` are those open before it.
    """
    signs: list[str] = []
    at = 0
    while True:
        if quote:
            end = text.find(quote, at)
            if end < 0:
                return signs, quote
            at, quote = end + len(quote), ""
        sign = _PYTHON_SIGN.search(text, at)
        if sign is None:
            return signs, ""
        at = sign.end()
        if sign[0] in _TRIPLE_QUOTES:
            quote = sign[0]
        elif len(sign[0]) == 1:
            signs.append(sign[0])


def _end_of_header(
    lines: Sequence[str], depths: Sequence[int], line: int, language: str | None
) -> int:
    """Return the last line of a header of several lines that begins here, else the line itself.

    Its arguments are in several lines, or its `{` is in the next one.
    """
    first, last = line, min(len(lines), line + _MAX_LINES_OF_HEADER) - 1
    # In a language of another kind a line `take` is a statement.
    if language in BLOCK_COMMENTS:
        while first < last and depths[first + 1] == depths[line] and _may_begin(lines[first]):
            if _DEFINITION.match(lines[first]) and _DEFINITION.match(lines[first + 1]):
                break  # `class Pool` without a body, and a function
            first += 1
    declares = _declares_with_brackets(lines[first])
    left, end = 0, line
    for at in range(first, last + 1):
        text = _STRING.sub("", lines[at].rstrip())
        if depths[at] < depths[line]:
            return line
        left += text.count("(") - text.count(")")
        # What a macro declares has its arguments below: `DEFUN (…)`, `  (int n)`, `{`.
        below = lines[at + 1].lstrip(" \t") if at < last and depths[line] == 0 else ""
        is_open = not text.endswith("{") and below.startswith("(")
        if is_open or (left > 0 and (declares or not text.endswith("{"))):
            continue
        if text.endswith("{"):
            return at if left <= 0 else line
        end = at if declares else line
        if at < last and depths[at + 1] == depths[line] and lines[at + 1].strip() == "{":
            return at + 1
        if at == last or depths[at + 1] < depths[line] or not _CLAUSE.match(lines[at + 1]):
            return end
    return line


def _end_of_python_header(lines: Sequence[str], read: _Lines, line: int) -> int:
    at, last = line, read.joined.get(line, line)
    while lines[at].lstrip().startswith("@") and last + 1 < len(lines):
        at = last + 1
        if read.depths[at] != read.depths[line]:
            break
        last = read.joined.get(at, at)
    return last


def _declares_with_brackets(line: str) -> bool:
    """Tell whether a line begins a function, or another declaration with its list in brackets."""
    name, bracket, rest = line.partition("(")
    if not bracket or (name.endswith(" ") and not rest.strip()):  # `const (`, `CREATE TABLE t (`
        return False
    if _DEFINITION.match(line):
        return True
    typed = _NAME_AND_TYPE.fullmatch(name.strip()) is not None and len(name.split()) > 1
    return typed and not _CONTROL.match(line)


def _may_begin(line: str) -> bool:
    line = line.rstrip()
    others = _CONTROL.match(line) or _IMPORT_LINE.match(line)
    return bool(_TYPE_OR_ATTRIBUTE.match(line)) and not others


def _heads_list(header: Sequence[str]) -> bool:
    """Tell whether a header has a list under it: `import (`, `type Options struct {`."""
    line = " ".join(map(str.strip, header))
    if line.endswith("{") and "(" not in line:
        return bool(_HAS_MEMBERS.search(line))
    return line.endswith("(")


def _rank_of_header(
    header: Sequence[str], heads: bool, above: Sequence[_Header], language: str | None
) -> int:
    text = header[0]
    if not above and _IMPORT_LINE.match(text):
        return IMPORT
    held = not above or above[-1].holds
    # A signature is whole, or it is none.
    line = _STRING.sub("", "".join(header)).rstrip()
    if line.count("(") > line.count(")") and not line.endswith(("{", " (")):
        return NONE
    if not held:
        outer = above[-1].text
        if (
            len(above) >= _SKELETON_DEPTH
            or _FUNCTION.match(outer)
            or _declares_with_brackets(outer)
        ):
            return NONE
    if language in _TYPES_FIRST and _TYPE.match(text):
        return SIGNATURE
    if not heads:
        short = held and _is_short_definition(text.strip(), bool(above), language)
        # The lines of a long string, such as `@doc """` of Elixir begins, define nothing.
        code = header[:1] if any(quotes in text for quotes in _TRIPLE_QUOTES) else header
        return SIGNATURE if short or any(map(_DEFINITION.match, code)) else NONE
    if language in _LET_DEFINES and _LET.match(text):
        return NONE if above and _LET.match(above[-1].text) else SIGNATURE
    return NONE if _CONTROL.match(text) else SIGNATURE


def _is_field(line: str, heads: bool, above: Sequence[_Header], language: str | None) -> bool:
    """Tell whether a line sets a field or a constant: `size = 3`, `private Repo repo;`."""
    if _BLOCK_END.match(line) or (_IMPORT_LINE.match(line) and not (above and _MIXIN.match(line))):
        return False
    if _SETS.match(line) or (language in BLOCK_COMMENTS and _TYPED.match(line)):
        return not above or above[-1].holds
    return bool(above) and above[-1].holds and not heads and bool(_MEMBER.match(line))


def _is_short_definition(line: str, within: bool, language: str | None) -> bool:
    """Tell whether a line is a function: `int size() { return n; }`, `int take(int n);`."""
    name, _, rest = line.partition("(")
    words = _NAME_AND_TYPE.fullmatch(name)
    if not rest or not words or len(line) > _MAX_SHORT_DEFINITION or _CONTROL.match(line):
        return False
    if language not in BLOCK_COMMENTS:
        return False
    if line.endswith(("}", "},", "};")):
        return ")" in rest.partition("{")[0]
    typed = len(name.split()) > 1
    if language in _PROTOTYPED:
        return line.endswith(";") and (typed or within)
    return language == "csharp" and typed and ") =>" in rest
