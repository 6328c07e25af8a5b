"""What is said in place of lines that are gone: a comment of the text's own language, short."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .pieces import Gap, Head, Piece

_COMMENTS = {
    "// ": "javascript typescript tsx jsx go rust java c cpp objectivec csharp kotlin swift scala dart groovy php d "
    "zig solidity fsharp vala protobuf thrift glsl hlsl wgsl metal verilog systemverilog jsonnet cue gleam prisma qml "
    "odin scss less stylus json5 haxe nushell just",
    "# ": "python ruby bash sh shell zsh fish perl r julia elixir makefile cmake dockerfile yaml toml nix hcl "
    "powershell tcl awk puppet crystal nim coffeescript gdscript meson graphql robot gherkin csh properties rego yara",
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
"""What a body may consist of where one cannot be empty."""


INSIDE = "inside"
"""The kind of a piece inside a string, where a comment would be none."""
BARE = "bare"
"""The kind of a piece in whose place nothing but a comment may stand: one of the cases of a `match`."""


def comment(language: str | None, text: str) -> str:
    """Return one line of `text` as a comment of `language`; bare when its comments are unknown. No line end."""
    line = " ".join(text.split())
    opener, _, closer = _OPENERS.get(language or "", "").partition(" ")
    if not closer:
        return f"{opener} {line}" if opener else line
    # `*/` and `-->` in a caller's marker
    return f"{opener} {line.replace(closer, '')} {closer}"


def lines_of(run: Sequence[Piece]) -> int:
    """Return how many lines a run of pieces has, a last one without a line end too."""
    return max(sum(part.text.count("\n") for part in run) + (not run[-1].text.endswith("\n")), 1)


def say(number: int, unit: str = "line") -> str:
    """Return the words for a number of lines (or other units) that are gone."""
    return f"{number:,} {unit}{'s' * (number != 1)} left out"


def top(marker: str, gone: int, total: int, unit: str = "line") -> str:
    """Return what stands above a shortened text: `marker` and how much of it is gone; "" where the marker is ""."""
    return f"{marker} {gone:,} of {total:,} {unit}s left out" if marker else ""


def end_of(run: Sequence[Piece]) -> str:
    """Return the line end of what is gone: the mark that stands in its place ends the same way."""
    last = run[-1].text
    return "\r\n" if last.endswith("\r\n") else last[-1] if last.endswith(("\n", "\r")) else ""


def gap_in(language: str | None) -> Gap:
    """Return the marks of gaps in a program: as deep as what is gone, and a body that is empty now stays a body."""
    no_op = _NO_OPS.get(language or "", "")
    opener = _OPENERS.get(language or "", "").partition(" ")[0]
    dash = "" if opener else "… "
    code_line = re.compile(rf"^[ \t\f]*(?!{re.escape(opener)})[^\s].*", re.MULTILINE)

    def gap(run: Sequence[Piece]) -> str:
        said = say(lines_of(run))
        if run[0].kind == INSIDE:
            return f"{_margin(run[0].text)}… {said}{end_of(run)}"
        first, code = run[0], ""
        if (
            no_op
        ):  # what stands deeper must not be taken for shallower: a comment's margin says nothing
            first, code = next(
                ((part, found[0]) for part in run if (found := code_line.search(part.text))),
                (first, ""),
            )
        margin = _margin(code or first.text)
        filler = no_op if code and first.under >= 0 and first.kind != BARE else ""
        return f"{margin}{filler}{comment(language, dash + said)}{end_of(run)}"

    return gap


def head_in(language: str | None, marker: str) -> Head:
    """Return what stands before a shortened text: `marker` and how much is gone, as a comment; "" when it is ""."""

    def head(gone: int, lines: int) -> str:
        return comment(language, top(marker, gone, lines)) + "\n" if marker else ""

    return head


_FIRST = re.compile(r"^([ \t\f]*)\S", re.MULTILINE)


def _margin(text: str) -> str:
    found = _FIRST.search(text)
    return found[1] if found else ""
