"""A text cut into pieces that may be left out one by one: the base of all trimming by structure.

Marks for lines that are left out: short, and in a program a comment of its language.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

ALWAYS = math.inf
"""The `keep` of a piece that is never left out."""


class TrimmedText(NamedTuple):
    """One shorter variant of a text: valid in its own syntax, with a mark for each gap."""

    text: str
    name: str = "trimmed"
    """`trimmed`, or `outline` if only the skeleton is left."""


class TrimmedVariants:
    """The shorter variants of one text, from long to short; each is made when it is asked for."""

    def __init__(self, count: int, make: Callable[[int], TrimmedText]) -> None:
        self._numbers = range(count)
        self._make = make

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, number: int) -> TrimmedText:
        return self._make(self._numbers[number])

    def __iter__(self) -> Iterator[TrimmedText]:
        return map(self._make, self._numbers)


class Piece(NamedTuple):
    """A stretch of a text that stays or goes as one."""

    text: str
    keep: float = 0.0
    """The order of leaving where no query says otherwise: the lowest goes first.

    Of equal pieces the last goes first. `ALWAYS`: the piece stays.
    """
    parent: int = -1
    """The earlier piece that this one needs: its heading, its signature; -1: none."""
    skeleton: bool = False
    """A heading or signature: part of an outline, but worth nothing by itself."""
    kind: str = ""
    """A word for the `Gap` of this text: it tells a row of a table from a paragraph, say."""
    closes: int = -1
    """The piece that this one ends, and stays exactly as long as; -1: none.

    A closing brace, say, or an `except` after its `try`.
    """


GapMark = Callable[[Sequence[Piece]], str]
"""Returns the mark that replaces a run of pieces."""

HeadMark = Callable[[int, int], str]
"""Returns the head of a shortened text, from the lines left out and the lines in all."""

Size = Callable[[str], int]
"""Returns the size of a piece in the unit of the head, if that is not lines."""


class Pieces:
    """A text cut into pieces: joined, they are the text. A piece is never reworded."""

    def __init__(
        self,
        parts: Sequence[Piece],
        gap: GapMark,
        head: HeadMark,
        size: Size | None = None,
        *,
        cuttable: bool = False,
    ) -> None:
        self.parts = tuple(parts)
        self.cuttable = cuttable
        """True if a piece may be cut at a word too, because nothing has to be closed."""
        self._gap = gap
        self._head = head
        if size is None:
            self._sizes = _count_lines_begun(self.parts)
        else:
            self._sizes = [size(part.text) for part in self.parts]
        self._total = sum(self._sizes)
        self._always = frozenset(i for i, part in enumerate(self.parts) if part.keep == ALWAYS)
        self._closing = [(i, part.closes) for i, part in enumerate(self.parts) if part.closes >= 0]

    def closed(self, kept: Collection[int]) -> set[int]:
        """Return `kept` with all pieces that they need, and all that always stay."""
        found = set(self._always)
        for index in kept:
            while index >= 0 and index not in found:
                found.add(index)
                index = self.parts[index].parent
        # One by one, not all at once: a piece that closes one may itself be closed by the next.
        found.update(end for end, start in self._closing if start in found)
        return found

    def text(self, kept: Collection[int], beginning: tuple[int, str] | None = None) -> str:
        """Return the text of these pieces and all they need, with a mark at each gap.

        It has no mark if nothing is left out. `beginning`: the index of one more piece, and the
        part of it that stays.
        """
        staying = self.closed(kept)
        if len(staying) == len(self.parts):
            return "".join(part.text for part in self.parts)
        shown = {index: self.parts[index].text for index in staying}
        if beginning is not None:
            shown.setdefault(*beginning)
        out: list[str] = []
        following = 0
        for index in sorted(shown):
            if following < index:
                out.append(self._gap(self.parts[following:index]))
            out.append(shown[index])
            # A piece with only its beginning shown is in the gap after it.
            following = index + (index in staying)
        if following < len(self.parts):
            out.append(self._gap(self.parts[following:]))
        gone = self._total - sum([self._sizes[index] for index in staying])
        return self._head(gone, self._total) + "".join(out)

    def variants(self, worth: Mapping[int, float] | None = None) -> TrimmedVariants:
        """Return the variants made by leaving out one piece after another.

        `worth` (of pieces, by a query) goes before `keep`.
        """
        order = self._order(worth or {})
        count = len(order)
        if not self.closed(()):
            count = max(0, count - 1)  # a mark alone is no variant

        def make(number: int) -> TrimmedText:
            left = order[number + 1 :]
            text = self.text(left)
            if left and all(self.parts[i].skeleton for i in left):
                return TrimmedText(text, "outline")
            return TrimmedText(text)

        return TrimmedVariants(count, make)

    def _order(self, worth: Mapping[int, float]) -> list[int]:
        """Return the pieces that may go, the first to go first; a heading goes after its text."""
        value = [(worth.get(i, 0.0), part.keep) for i, part in enumerate(self.parts)]
        # From the end: each piece lifts the one that it needs to its own value.
        for index in range(len(self.parts) - 1, -1, -1):
            parent = self.parts[index].parent
            if parent >= 0:
                value[parent] = max(value[parent], value[index])
        staying = self.closed(())
        going = [i for i, part in enumerate(self.parts) if i not in staying and part.closes < 0]
        return sorted(going, key=lambda i: (value[i], -i))


def _count_lines_begun(parts: Sequence[Piece]) -> list[int]:
    """Return how many lines begin in each piece; one that only ends in it does not go with it."""
    found, fresh = [], True
    for text in (part.text for part in parts):
        found.append((fresh and text != "") + text.count("\n") - text.endswith("\n"))
        if text:
            fresh = text.endswith("\n")
    return found


_COMMENTS = {
    "// ": "javascript typescript tsx jsx go rust java c cpp objectivec csharp kotlin swift scala "
    "dart groovy php d zig solidity fsharp vala protobuf thrift glsl hlsl wgsl metal verilog "
    "systemverilog jsonnet cue gleam prisma qml odin scss less stylus json5 haxe nushell just",
    "# ": "python ruby bash sh shell zsh fish perl r julia elixir makefile cmake dockerfile yaml "
    "toml nix hcl powershell tcl awk puppet crystal nim coffeescript gdscript meson graphql robot "
    "gherkin csh properties rego yara",
    "-- ": "sql lua luau haskell elm ada vhdl idris lean purescript applescript",
    "; ": "lisp commonlisp clojure scheme racket emacs-lisp asm ini wasm",
    "% ": "erlang latex bibtex prolog postscript matlab",
    "' ": "vbnet basic",
    "! ": "fortran",
    '" ': "vim",
    ":: ": "batch",
    "/* */": "css pascal-c",
    "(* *)": "ocaml sml pascal",
    "<!-- -->": "html xml markdown vue svelte astro",
}

_OPENERS = {name: opener for opener, names in _COMMENTS.items() for name in names.split()}

_NO_OPS = {"python": "...  ", "bash": ": ", "sh": ": ", "shell": ": ", "zsh": ": "}
"""A statement that does nothing, for languages in which a body cannot be empty."""

IN_STRING = "inside"
"""The kind of a piece inside a string, where a comment would be text."""

COMMENT_ONLY = "bare"
"""The kind of a piece that only a comment may replace: a case of a `match`."""


def split_lines(text: str) -> list[str]:
    """Return the lines of `text`, each with its line feed; no other character ends a line."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + [last] * bool(last)


def comment_line(language: str | None, text: str) -> str:
    """Return `text` as a one-line comment of `language`, without a line end.

    It is bare if the comments of the language are unknown.
    """
    line = " ".join(text.split())
    opener, _, closer = _OPENERS.get(language or "", "").partition(" ")
    if closer:
        # A marker of the caller's may hold `*/` or `-->`.
        return f"{opener} {line.replace(closer, '')} {closer}"
    return f"{opener} {line}" if opener else line


def count_lines(run: Sequence[Piece]) -> int:
    """Return how many lines a run of pieces has, a last one without a line end too."""
    return max(sum(part.text.count("\n") for part in run) + (not run[-1].text.endswith("\n")), 1)


def say_left_out(number: int, unit: str = "line") -> str:
    """Return `12 lines left out`, or the same of another unit."""
    return f"{number:,} {unit}{'s' * (number != 1)} left out"


def head_line(marker: str, gone: int, total: int, unit: str = "line") -> str:
    """Return the line above a shortened text: `marker`, and how much is gone; "" for no marker."""
    return f"{marker} {gone:,} of {total:,} {unit}s left out" if marker else ""


def line_end(run: Sequence[Piece]) -> str:
    """Return the line end of a run: its mark ends the same way."""
    last = run[-1].text
    for end in ("\r\n", "\n", "\r"):
        if last.endswith(end):
            return end
    return ""


def code_gap(language: str | None) -> GapMark:
    """Return the marks of gaps in a program.

    A mark is as deep as the lines it replaces, and keeps a body that is empty now a body.
    """
    no_op = _NO_OPS.get(language or "", "")
    opener = _OPENERS.get(language or "", "").partition(" ")[0]
    dash = "" if opener else "… "
    code_line = re.compile(rf"^[ \t\f]*(?!{re.escape(opener)})[^\s].*", re.MULTILINE)

    def gap(run: Sequence[Piece]) -> str:
        said = say_left_out(count_lines(run))
        if run[0].kind == IN_STRING:
            return f"{_margin(run[0].text)}… {said}{line_end(run)}"
        margin, filler = _margin(run[0].text), ""
        if no_op:
            # Depth has a meaning here, and a comment may stand at any depth: the first line of
            # code tells how deep the mark must be.
            for part in run:
                if code := code_line.search(part.text):
                    margin = _margin(code[0])
                    if part.parent >= 0 and part.kind != COMMENT_ONLY:
                        filler = no_op
                    break
        return f"{margin}{filler}{comment_line(language, dash + said)}{line_end(run)}"

    return gap


def code_head(language: str | None, marker: str) -> HeadMark:
    """Return the head of a shortened program: a comment with `marker`; "" for no marker."""

    def head(gone: int, total: int) -> str:
        if not marker:
            return ""
        return comment_line(language, head_line(marker, gone, total)) + "\n"

    return head


_FIRST = re.compile(r"^([ \t\f]*)\S", re.MULTILINE)


def _margin(text: str) -> str:
    found = _FIRST.search(text)
    return found[1] if found else ""


def append_marker(text: str, marker: str) -> str:
    """Return `text`, then `marker` on a line of its own."""
    return "\n".join(filter(None, (text, marker)))
