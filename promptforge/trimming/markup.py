"""Trimming of LaTeX and AsciiDoc: whole blocks go, deep and late sections first; headings stay.

A block is a paragraph, an item of a list, an environment or a delimited block. A long environment
of text (`proof`) is cut within, between its first and last line; one of formulas, or a table, stays
or goes as one. A mark in place of blocks is a comment of the language.
"""

from __future__ import annotations

import re
from collections import Counter

from ..text.format import Marks
from .blocks import MAX_LINES_WHOLE, MAX_NESTING, LineReader, make_document
from .pieces import Piece, Pieces, introduces, paragraph, split_lines, split_sentences

_LEVELS = ["part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph"]
_TEX_HEADING = re.compile(rf"[ \t]*\\({'|'.join(_LEVELS)})\*?[ \t]*[\[{{]")
_TEX_LABEL = re.compile(r"[ \t]*\\(?:label|index\w*)\{[^\n]*\}[ \t]*%?[ \t\r]*\n?\Z")
_TEX_EDGE = re.compile(r"\\(begin|end)[ \t]*\{([^{}\n]{1,80})\}")
_TEX_BEGIN = re.compile(r"[ \t]*\\begin[ \t]*\{([^{}\n]{1,80})\}")
_TEX_COMMENT = re.compile(r"(?<!\\)%.*")
_TEX_ITEM = re.compile(r"[ \t]*\\(?:item|bibitem)\b")
_TEX_LITERAL = ("Verbatim", "alltt", "comment", "filecontents", "lstlisting", "minted", "verbatim")
_TEX_WHOLE = re.compile(
    r"(?:align(?:ed|at)?|array|cases|displaymath|eqnarray|equation|figure|flalign|gather(?:ed)?"
    r"|longtable|[bpvBV]?matrix|math|multline|narrowmultline|picture|split|tab(?:bing|le|ular[xy]?)"
    r"|thebibliography|tikz(?:picture|cd)|\w*(?:code|diagram|listing|math|table|tree))\*?"
)
"""Environments in which a mark would be part of a formula, a table or a picture."""
_DOC_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+\S")
_DOC_DELIMITER = re.compile(
    r"(?:-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|[|,:!]={3,})[ \t\r]*\n?\Z|`{3,}"
)
_DOC_ITEM = re.compile(
    r"[ \t]*(?:[*.]{1,5}|-|\d{1,9}\.|<\d{1,9}>|[^\s:][^\n]{0,200}?:{2,4})(?:[ \t]|\r?$)"
)
_DOC_LEAD = re.compile(r"\[[^\n]*\][ \t\r]*\n?\Z|\.[^\s.][^\n]*\n?\Z")
"""The attributes, the anchor and the title of the block below."""
_DOC_SETTING = re.compile(r":!?[\w-]+!?:(?:\s|\Z)|(?:ifn?def|ifeval|endif)::|//(?!//)")
"""An attribute, a condition of the processor or a comment."""


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a document in LaTeX or AsciiDoc in pieces; None if it is one block."""
    made: _Blocks = _AsciiDoc(text) if language == "asciidoc" else _LaTeX(text)

    def above(said: str) -> str:
        return paragraph(made.comment + said)

    return make_document(made.read(), marks, above)


class _Blocks(LineReader):
    """The pieces of one document, read from top to bottom; each syntax tells its lines apart."""

    risky = re.compile(r"(?!)")
    comment = ""
    """The beginning of a comment in a line of its own."""

    def __init__(self, text: str) -> None:
        super().__init__(split_lines(text))
        self._ends = self._find_ends()
        """First line of a block with an end → its last line."""

    def _find_ends(self) -> dict[int, int]:
        raise NotImplementedError

    def _level(self, number: int) -> int | None:
        raise NotImplementedError

    def _is_lead(self, number: int) -> bool:
        raise NotImplementedError

    def _goes_with_heading(self, number: int) -> bool:
        return self._is_lead(number)

    def _begins_block(self, number: int) -> bool:
        return number in self._ends or self._level(number) is not None

    def _inside(self, number: int) -> str:
        """Return `lines` for a block of lines that may go one by one, `blocks` for one of these."""
        raise NotImplementedError

    def _rank(self, text: str, keep: float) -> float:
        """Return the `keep` of a paragraph: less where it says nothing to a reader."""
        raise NotImplementedError

    def read(self) -> list[Piece]:
        """Return the pieces."""
        numbers = range(len(self._lines))
        levels = [level for level in map(self._level, numbers) if level is not None]
        self._has_title = bool(levels) and levels[0] == min(levels) and levels.count(levels[0]) == 1
        self._read(0, len(self._lines))
        return self._parts

    def _read(self, start: int, stop: int) -> None:
        while start < stop:
            number = self._skip_blank(start, stop)
            while number < stop and self._is_lead(number):
                number = self._skip_blank(number + 1, stop)
            if number == stop:
                self._add(self._slice(start, stop), self._keep(), self._under(), self.comment)
                return
            level = self._level(number)
            if level is not None:
                end = number + 1
                while end < stop and self._goes_with_heading(end):
                    end += 1
                end = self._skip_blank(end, stop)
                self._heading(level, self._slice(start, end), self.comment)
            elif self._ends.get(number, stop) < stop:
                end = self._skip_blank(self._ends[number] + 1, stop)
                self._block(start, number, end)
            else:
                end = number + 1
                while end < stop and not self._is_blank(end) and not self._begins_block(end):
                    end += 1
                end = self._skip_blank(end, stop)
                self._text(self._slice(start, end))
            start = end

    def _text(self, text: str) -> None:
        keep, under = self._rank(text, self._keep()), self._under()
        if keep < 2:
            self._add(text, keep, under, self.comment)
            return
        self._fresh, self._intro = False, -1
        if introduces(text):
            self._intro = len(self._parts)
        self._paragraph(text, keep, under, self.comment)

    def _block(self, start: int, number: int, end: int) -> None:
        """Add the block that has its first line in `number`; what belongs to it begins before."""
        keep, under, last = self._keep(), self._under(), self._ends[number]
        self._fresh, self._intro = False, -1
        is_whole = last - number - 1 <= MAX_LINES_WHOLE or self._nesting >= MAX_NESTING
        inside = "" if is_whole else self._inside(number)
        if inside == "lines":
            head, inner = self._slice(start, number + 1), self._lines[number + 1 : last]
            self._add_lines([head, *inner, self._slice(last, end)], (keep, under, self.comment))
        elif inside == "blocks":
            index = self._add(self._slice(start, number + 1), keep, under, self.comment)
            self._read_within(index, number + 1, last)
            self._add(self._slice(last, end), keep, closes=index)
        else:
            self._add(self._slice(start, end), keep, under, self.comment)


class _LaTeX(_Blocks):
    comment = "% "

    def _find_ends(self) -> dict[int, int]:
        found: dict[int, int] = {}
        open_: list[tuple[str, int]] = []
        count = Counter[str]()
        for number, line in enumerate(self._lines):
            if "\\begin" not in line and "\\end" not in line:
                continue
            for edge in _TEX_EDGE.finditer(_TEX_COMMENT.sub("", line)):
                name = edge[2]
                if open_ and open_[-1][0] in _TEX_LITERAL and name != open_[-1][0]:
                    continue
                if edge[1] == "begin":
                    open_.append((name, number))
                    count[name] += 1
                while edge[1] == "end" and count[name]:
                    opened, first = open_.pop()
                    count[opened] -= 1
                    if opened == name:
                        begin = _TEX_BEGIN.match(self._lines[first])
                        if begin and begin[1] == name and name != "document":
                            found[first] = number
                        break
        self._document = next(
            (n for n, line in enumerate(self._lines) if "\\begin{document}" in line), -1
        )
        return found

    def _level(self, number: int) -> int | None:
        found = _TEX_HEADING.match(self._lines[number])
        return _LEVELS.index(found[1]) if found else None

    def _is_lead(self, number: int) -> bool:
        return bool(_TEX_LABEL.match(self._lines[number]))

    def _begins_block(self, number: int) -> bool:
        return super()._begins_block(number) or bool(_TEX_ITEM.match(self._lines[number]))

    def _inside(self, number: int) -> str:
        found = _TEX_BEGIN.match(self._lines[number])
        name = found[1] if found else ""
        if name.rstrip("*") in _TEX_LITERAL:
            return "lines"
        return "" if _TEX_WHOLE.fullmatch(name) else "blocks"

    def _rank(self, text: str, keep: float) -> float:
        lines = [line for line in text.split("\n") if line.strip()]
        if all(line.lstrip().startswith("%") for line in lines):
            return 0
        if len(self._parts) and self._headings:
            return keep
        is_preamble = "\\title" not in text and (
            text.lstrip().startswith("\\") or (self._document > 0 and not self._headings)
        )
        return 1 if is_preamble else keep

    def _sentences(self, text: str) -> list[str]:
        found: list[str] = []
        start = end = dollars = math = display = edges = braces = 0
        # Each sentence is read once: a million of `}` in one line never close.
        bare = text.replace("\\\\", "  ").replace("\\$", "  ")
        bare = _TEX_COMMENT.sub(lambda comment: " " * len(comment[0]), bare)
        for sentence in split_sentences(text):
            part = bare[end : end + len(sentence)]
            end += len(sentence)
            dollars += part.count("$")
            math += part.count("\\(") - part.count("\\)")
            display += part.count("\\[") - part.count("\\]")
            edges += sum(1 if edge[1] == "begin" else -1 for edge in _TEX_EDGE.finditer(part))
            part = part.replace("\\{", "").replace("\\}", "")
            braces += part.count("{") - part.count("}")
            if not (dollars % 2 or math or display or edges or braces):
                found.append(text[start:end])
                start = end
        return [*found, text[start:]] if start < len(text) else found


class _AsciiDoc(_Blocks):
    comment = "// "
    risky = re.compile(r"\n[ \t]*(?:[-=*.|_+/#\[:`<]|\d{1,9}\.|[^\n]*::)")
    """A line that, where it came second, might begin another block."""

    def _find_ends(self) -> dict[int, int]:
        found: dict[int, int] = {}
        next_: dict[str, int] = {}
        for number in range(len(self._lines) - 1, -1, -1):
            line = self._lines[number]
            if _DOC_DELIMITER.match(line):
                sign = line.strip()
                if sign.startswith("```"):
                    sign = sign[: len(sign) - len(sign.lstrip("`"))]
                if sign in next_:
                    found[number] = next_[sign]
                next_[sign] = number
        return found

    def _level(self, number: int) -> int | None:
        found = _DOC_HEADING.match(self._lines[number])
        return len(found[1]) if found else None

    def _is_lead(self, number: int) -> bool:
        return bool(_DOC_LEAD.match(self._lines[number]))

    def _goes_with_heading(self, number: int) -> bool:
        """Tell whether a line is the author's, below the title."""
        if self._level(number - 1) != 1 or self._is_blank(number):
            return False
        return not _DOC_SETTING.match(self._lines[number])

    def _begins_block(self, number: int) -> bool:
        before, line = self._lines[number - 1], self._lines[number]
        if before.strip() == "+":  # joined to the item above
            return False
        if bool(_DOC_SETTING.match(line)) != bool(_DOC_SETTING.match(before)):
            return True
        is_block = super()._begins_block(number) or self._is_lead(number)
        return is_block or bool(_DOC_ITEM.match(line))

    def _inside(self, number: int) -> str:
        line = self._lines[number]
        if line.startswith(("---", "...", "```")):
            return "lines"
        return "blocks" * line.startswith(("=", "*", "_"))

    def _rank(self, text: str, keep: float) -> float:
        return 1 if all(map(_DOC_SETTING.match, text.strip().split("\n"))) else keep
