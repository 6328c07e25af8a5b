"""Marks for lines that are left out: short, and in a program a comment of its language."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .pieces import Gap, Head, Piece

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


def code_gap(language: str | None) -> Gap:
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
                    if part.under >= 0 and part.kind != COMMENT_ONLY:
                        filler = no_op
                    break
        return f"{margin}{filler}{comment_line(language, dash + said)}{line_end(run)}"

    return gap


def code_head(language: str | None, marker: str) -> Head:
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
