"""The blocks of a program by the depth of its lines, for languages without a grammar here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..text.words import late_pattern
from .pieces import split_lines
from .program import C_COMMENTS, IMPORT, MAX_BLOCK_DEPTH, NONE, SIGNATURE, Blocks

# The last line of a block, or the next part of it, begins so.
_BLOCK_END = late_pattern(
    r"\s*(?:[)}\]]|</|#\}"
    r"|(?:end|fi|done|esac|else|elif|elsif|elseif|except|finally|catch|rescue|ensure)\b)"
)
_CONTROL = late_pattern(
    r"\s*(?:if|else|elif|elsif|for|foreach|while|until|unless|switch|match|case|when|do|loop|try|"
    r"catch|with|begin|return|let|const|var|defer|select|repeat)\b"
)
_IMPORT_LINE = late_pattern(
    r"\s*(?:import|from|use|using|include|require|package|#include|#import|extern crate|@import)\b"
)
# A definition in one line, as of Kotlin, Elixir, protobuf, Terraform and SQL.
_DEFINITION = late_pattern(
    r"\s*+(?:(?:export|public|private|protected|internal|static|final|abstract|open|sealed|data"
    r"|inline|value|suspend|override|operator|infix|enum|annotation|const|async|pub)[ \t]++)*+"
    r"(?:(?:class|interface|object|enum|trait|struct|record|typealias|type|newtype|instance|fun|func"
    r"|fn|function|defp?|defmacrop?|defdelegate|defguard|sub|message|rpc|service|extension|protocol)"
    r"[ \t]+[\w`<(]|(?:variable|output|resource|data|module|provider)[ \t]+\""
    r"|(?i:create)[ \t](?:[ \t]*(?i:or|replace|temp|temporary|unique|materialized))*[ \t]*"
    r"(?i:table|view|index|function|procedure|trigger|type)\b)"
)
_COMMENT = late_pattern(
    r"\s*(?://|/\*|\*[ /\n]|--|;|%"
    r"|#(?!\s*(?:include|define|undef|if|ifn?def|else|elif|endif|pragma|import)\b))"
)
_BLOCK_COMMENTS = {
    **dict.fromkeys(C_COMMENTS.split(), ("/*", "*/")),
    **dict.fromkeys(("fsharp", "ocaml", "pascal", "sml"), ("(*", "*)")),
    **dict.fromkeys(("elm", "haskell", "idris", "purescript"), ("{-", "-}")),
}
"""Language → what begins and what ends a comment of several lines."""
_LET_DEFINES = ("fsharp", "ocaml")
"""Languages where a header `let take pool =` is a function; elsewhere it is a value, mostly."""
_LET = late_pattern(r"\s*let\b")
_HAS_MEMBERS = late_pattern(r"\b(?:struct|interface|type)\b")
_SKELETON_DEPTH = 2
"""Headers less deep than this are skeleton: functions, and the methods of classes."""


class _Header(NamedTuple):
    """A line with deeper lines below it."""

    depth: int
    number: int
    body: int
    text: str


def read_indentation(text: str, language: str | None = None) -> Blocks | None:
    """Return the lines of a program as blocks, each under the shallower line before it.

    None if no line is deeper than another. A line with deeper lines below it is a header, and the
    deeper run its body. The next line of the header's depth belongs to it too if it begins as the
    end of a block does (`}`, `end`, `else`).
    """
    lines = split_lines(text)
    depths = list(map(_depth, lines))
    if len({depth for depth in depths if depth >= 0}) < 2:
        return None
    blocks = Blocks(lines)
    open_headers: list[_Header] = []
    # Headers with a list under them, as `import (` or `type A struct {`: all have one rank.
    lists: dict[int, int] = {}
    comments = _find_comments(lines, depths, _BLOCK_COMMENTS.get(language or ""))
    next_depths = _next_depths(depths)
    of_code = [-1 if line in comments else depth for line, depth in enumerate(depths)]
    next_of_code = _next_depths(of_code)
    for line, depth in enumerate(depths):
        # A blank line goes with the next line of code, and so does a comment no deeper than that.
        if depth < 0 or line < blocks.next or (line in comments and depth <= next_of_code[line]):
            continue
        ended = _close_headers(open_headers, depth)
        parent = body = -1
        if open_headers:
            _, parent, body, _ = open_headers[-1]
        heads = line not in comments and next_depths[line] > depth
        heads = heads and len(open_headers) < MAX_BLOCK_DEPTH
        if ended >= 0 and _BLOCK_END.match(lines[line]):
            number = blocks.add(line, line + 1, parent=ended, closes=ended, body=body)
        else:
            own = _rank_of_line(lines[line], heads, open_headers, language)
            rank = lists.get(parent, own)
            number = blocks.add(line, line + 1, parent=parent, rank=rank, body=body)
            if heads and rank and _heads_list(lines[line]):
                lists[number] = rank
        if heads:
            # Outside of any body, or in the skeleton, a header begins a body of its own.
            if blocks.found[number].rank or body < 0:
                body = number
            open_headers.append(_Header(depth, number, body, lines[line]))
    return blocks


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
    """Return for each line the depth of the next one that is not blank."""
    found = [-1]
    for depth in reversed(depths[1:]):
        found.append(depth if depth >= 0 else found[-1])
    return found[::-1]


def _close_headers(open_headers: list[_Header], depth: int) -> int:
    """Close all headers of this depth or deeper; return the one of this depth, else -1."""
    ended = -1
    while open_headers and open_headers[-1].depth >= depth:
        header = open_headers.pop()
        ended = header.number if header.depth == depth else -1
    return ended


def _heads_list(line: str) -> bool:
    """Tell whether a header has a list under it: `import (`, `type Options struct {`."""
    line = line.rstrip()
    if line.endswith("{") and "(" not in line:
        return bool(_HAS_MEMBERS.search(line))
    return line.endswith("(")


def _rank_of_line(text: str, heads: bool, above: Sequence[_Header], language: str | None) -> int:
    if not above and _IMPORT_LINE.match(text):
        return IMPORT
    if len(above) >= _SKELETON_DEPTH:
        return NONE
    if not heads:
        return SIGNATURE if _DEFINITION.match(text) else NONE
    if language in _LET_DEFINES and _LET.match(text):
        return NONE if above and _LET.match(above[-1].text) else SIGNATURE
    return NONE if _CONTROL.match(text) else SIGNATURE
