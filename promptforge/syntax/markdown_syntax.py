"""Markdown: CommonMark 0.31, and GFM 0.29 with footnotes, alerts, definition lists."""

from __future__ import annotations

import re
from typing import ClassVar

from ..text.escape import (
    FENCE_TAG,
    Content,
    Escape,
    FencedBlock,
    FenceStart,
    LoneMarker,
    Safe,
    VerbatimContent,
    code_of,
    longest_run,
    put_in_fence,
    show_line,
    to_label,
)
from ..text.format import to_text
from ..text.urls import (
    BEGINS_WITH_SCHEME,
    DECODED_IN_MARKDOWN,
    url_escape,
    url_places,
    without_escapes,
)
from ..text.words import late_pattern
from .contents import clean_content
from .syntax import (
    IN_CODE,
    Inside,
    LineParts,
    PlacementError,
    Syntax,
    ends_with_backslash,
    ends_with_value,
    has_values,
    static_text,
    with_marks,
)

# Pandoc reads TeX. Any command at the end takes a bracket that follows for its argument, and some
# take the fence below; these take the rest of the line, or are a block wherever they stand.
_TEX_COMMANDS = (
    "addcontentsline|address|addtocontents|addtocounter|bf|bfseries|bibliographystyle|"
    "caption|centerline|closing|date|dedication|def|edef|em|endinput|extratitle|"
    "frontispiece|gdef|hrule|hyperdef|ignore|include|it|item|itshape|let|"
    "listoffigures|listoftables|lowertitleback|makeglossary|makeindex|maketitle|"
    "markboth|markleft|markright|newcommand|newenvironment|opening|par|pdfannot|"
    "pdfstringdef|pfbreak|providecommand|publishers|raggedright|renewcommand|"
    "renewenvironment|rm|rule|scshape|si|sl|slshape|special|strut|subfile|subject|"
    "subtitle|texorpdfstring|titlehead|tt|unit|uppertitleback|usepackage|xdef"
)
_MD_SPECIAL = late_pattern(
    r"[`*{]"  # in a brace stand attributes, of the text before or of the next block, or code
    r"|~(?=~)|(?<=\S)~"  # strikethrough needs a closer, and that follows a character
    r"|<(?! +\S)"  # <b>, </b>, <!--, <?x, <http://…>; MDX takes other letters, and the end
    r"|\](?=[(\[@])"  # a link needs ]( or ][; after a pair, @ opens a citation of pandoc's
    r"|\^(?=\[)|\[(?=[\[^])"  # footnotes, a link of a wiki
    r"|&(?=#?[0-9A-Za-z_\x80-\U0010ffff]{1,32};|$)"
    r"|(\\)(?=[(\[])"  # two of them before a bracket open a formula of MultiMarkdown
    r"|\\(?=[!-/:-@\[-`{-~]|$)"
    rf"|\\(?=[A-Za-z]+(?:[*\s]*[\[{{%]|[^A-Za-z]*$)|(?:{_TEX_COMMANDS})(?![A-Za-z]))"
    r"|(?<!\S)#(?=#*\s*$)"  # it would end a heading
)
# GFM makes a link of a bare URL, and a backslash is part of it: `http://a\<b>` would open a tag.
_MD_ENTITIES = {"<": "&lt;", "]": "&#93;"}
_BACKSLASH = "&#92;"
MD_HARMLESS = late_pattern(r"[A-Za-z0-9 ./:,_()'=+@%-]{0,200}").fullmatch
_MD_BLOCK = late_pattern(
    r"[#>]|[-+](?=\s|$)|[:|]"  # Python-Markdown and older readers need no blank after #
    # Some see a definition in each ~, a list in (a).
    r"|~(?!/)|\((?=[0-9A-Za-z_\x80-\U0010ffff#@]+\)(?:\s|$))"
    r"|[-=_~|:+ ]+$"  # setext underline, rule, table delimiter
    r"|\[(?:[ xX]\]|[!^]|.*\](?::|$))"  # task box, alert, footnote, link reference; an abbreviation
)
# Some count by letters too: `B. Russell` is none of these, for a capital needs two blanks.
_MD_ORDERED = late_pattern(
    r"([\d\U00010d30-\U0001e950]{1,9}|[a-z]|[ivxlcdm]+|[IVXLCDM]{2,}|[A-Z](?=\)|\.\s\s))([.)])(?=\s|$)"
)
_MD_RUN = late_pattern(
    r"^(?=(?:import|export)(?![0-9A-Za-z_]))"
)  # MDX runs such a line, if no blank begins it
_MD_DELIMITER_CELL = late_pattern(r":?-+:?\s*").fullmatch
_MD_ESCAPED_OR_PIPE = late_pattern(r"\\.|\|")
_MD_ESCAPED_OR_BRACKET = late_pattern(r"\\.|[\[\]!]|^\^")


class CodeSpan(Safe):
    """Safe text that is inline code."""

    __slots__ = ()


def _md_escape(text: str) -> str:
    escaped = _MD_SPECIAL.sub(
        lambda found: (found[1] and _BACKSLASH) or _MD_ENTITIES.get(found[0]) or "\\" + found[0],
        text,
    )
    if "[" in text and _leaves_bracket_open(escaped):
        escaped = _MD_ESCAPED_OR_BRACKET.sub(
            lambda found: "\\[" if found[0] == "[" else found[0], escaped
        )
    # Between two dollars GitHub and others see a formula, in which no backslash counts. Each label
    # may hold one of them: pandoc takes a heading and the line below it into one.
    if "$" in text:
        escaped = escaped.replace("$", "\\$")
    if text[-1:].isspace() and text[-1] != " ":
        escaped = f"{escaped[:-1]}&#{ord(text[-1])};"  # some make a paragraph of what ends so
    return escaped


def _leaves_bracket_open(text: str) -> bool:
    """Tell whether a bracket is open at the end: the next value, line or item may close it.

    Older pandocs even take the blocks between into it.
    """
    depth = 0
    for found in _MD_ESCAPED_OR_BRACKET.findall(text):
        depth = max(depth + (found == "[") - (found == "]"), 0)
    return depth > 0


def _md_escape_brackets(text: str) -> str:
    entities = {"[": "&#91;", "]": "&#93;", "!": "\\!", "^": "\\^"}
    return _MD_ESCAPED_OR_BRACKET.sub(
        lambda found: entities.get(found[0].removeprefix("\\"), found[0]), text
    )


def _md_escape_pipes(text: str) -> str:
    # A literal backslash is two by now, so each pair is read as one.
    return _MD_ESCAPED_OR_PIPE.sub(lambda found: "\\|" if found[0] == "|" else found[0], text)


def md_heading(value: object) -> Safe:
    """Return a label for the middle of a heading of Markdown."""
    if isinstance(value, Safe):
        return value
    if type(value) is str and MD_HARMLESS(value):
        return Safe(value)
    return Safe(_md_escape(to_label(value)))


def md_inline(value: object) -> Safe:
    """Return a label for the middle of a line, where kramdown makes a table of each pipe."""
    text = md_heading(value)
    return text if isinstance(value, Safe) or "|" not in text else Safe(_md_escape_pipes(text))


def md_cell(value: object) -> Safe:
    """Return a label for a table cell, where a pipe would open the next one, even in code."""
    if isinstance(value, CodeSpan):
        if "\\|" not in value:
            return Safe(value.replace("|", "\\|"))
        # Readers disagree on a backslash before a pipe in code: it is shown as no code.
        value = value.strip("`")
    if isinstance(value, Safe):
        return value
    text = _md_escape_pipes(_md_escape(to_label(value)))
    # Kramdown looks for code in a row before it sees a backslash, and takes cells together.
    text = text.replace("\\`", "&#96;")
    # A row of such cells alone would make a table of the row above.
    return Safe(f"\\{text}" if _MD_DELIMITER_CELL(text) else text)


def md_line(value: object) -> Safe:
    """Return a label that begins its line: no heading, list, task, quote, rule, table or code."""
    if isinstance(value, Safe):
        return value
    text = to_label(value)
    if text[:1].isspace():
        text = code_of(text[0]) + text[1:]
    return Safe(_md_opening(text))


def _md_opening(text: str) -> str:
    escaped = _md_escape_pipes(_md_escape(text))
    if _MD_BLOCK.match(escaped):
        return "\\" + escaped
    if _MD_ORDERED.match(escaped):
        return _MD_ORDERED.sub(r"\1\\\2", escaped, count=1)
    return escaped


def md_joined(value: object) -> Safe:
    """Return a label that directly follows another value, so that the two make no link or tag."""
    if isinstance(value, CodeSpan):
        # A URL before it would take in the mark that opens the code.
        return Safe(" " + _md_escape_pipes(value))
    if isinstance(value, Safe):
        return value
    text = md_line(value)
    # After `]`, a bracket makes a link; after `&`, a `#` an entity; after `~` or `!`, more of them.
    if text[:1] in ("(", "[", "#", "~", "!"):
        return Safe("\\" + text)
    return Safe(text)


def md_link(value: object) -> Safe:
    """Return a label inside brackets that the template has opened."""
    if isinstance(value, Safe):
        return value
    return Safe(_md_escape_brackets(md_inline(value)))


def md_prose(value: object) -> Safe:
    """Return running text of any length: line ends stay, each line is a line of a paragraph."""
    if isinstance(value, Safe):
        return value
    # Leading blanks go: a paragraph does not show them, and four of them are a code block.
    lines = (show_line(line.strip(" \t")) for line in to_text(value).strip().split("\n"))
    return Safe("\n".join(_MD_RUN.sub(" ", _md_opening(line)) for line in lines))


def md_code(value: object) -> Safe:
    """Return a label as inline code, in a run of backticks longer than any inside.

    A formula that an earlier dollar opens would end at one of the code, and what follows would be
    no code: a label with a dollar is shown as no code, harmless in each place.
    """
    text = to_label(value)
    if "$" in text:
        return Safe(_md_escape_brackets(md_joined(text)))
    mark = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    # CommonMark takes one blank off both ends; the empty text would join the two marks.
    if text[:1] in ("`", " ", "") or text[-1:] in ("`", " "):
        text = f" {text} "
    return CodeSpan(f"{mark}{text}{mark}")


def md_autolink(value: object) -> Safe:
    """Return an address between angle brackets; any other value would make a tag of HTML there."""
    text = to_text(value)
    if BEGINS_WITH_SCHEME.match(text):
        return url_escape(DECODED_IN_MARKDOWN)(value)
    return Safe(f" {md_inline(str.__str__(text)).lstrip()}")


def md_title(value: object) -> Safe:
    """Return a label for the title of a link, between quotes or brackets of the template."""
    text = to_label(without_escapes(value) if isinstance(value, Safe) else value)
    return Safe(re.sub(r"""[&"'()<>\\`*_{}\[\]$|~]""", lambda found: f"&#{ord(found[0])};", text))


def _at_line_begin(escape: Escape) -> Escape:
    """Return the escape of a place in a link or tag that goes over a line end."""

    def escape_line(value: object) -> Safe:
        """Return a value escaped; an entity for its first sign, which may be a mark of a block."""
        if isinstance(value, FenceStart):
            return value  # it ends the paragraph, and what is open in it
        text = escape(value)
        if text[:1].isalpha() or text[:1] in ("", "&", "/"):
            return text
        return type(text)(f"&#{ord(text[0])};{text[1:]}")

    return escape_line


def md_link_joined(value: object) -> Safe:
    """Return a label in brackets that begins its line, or follows another value."""
    if isinstance(value, Safe):
        return md_joined(value)
    return Safe(_md_escape_brackets(md_joined(value)))


def md_below(value: object) -> Safe:
    """Return a label on the line below a definition, where quotes would make its title."""
    text = md_joined(value)
    return Safe(f"\\{text}") if text[:1] in ('"', "'") and not isinstance(value, Safe) else text


MAX_FENCE_MARKS = 100
"""Longest fence, in backticks. cmark counts no more than 255, and not each reader knows tildes."""
_MARKS = frozenset("`~\n")  # a backslash beside them would change a fence or a line


def _md_marker(marker: str) -> str:
    line = md_line(str(marker))
    # Nothing on the page defines a link, so an opening bracket of the marker needs no backslash.
    bracket = marker.startswith("[") and "]:" not in marker
    return str(marker) if bracket and line == f"\\{marker}" else line


def fence(text: object, language: object = None) -> FencedBlock:
    """Return `text` in a fenced code block that nothing in it can close.

    The fence is one longer than any run of backticks inside, at least three. Where that would be
    too long, `clean_content` gives each line the prefix `| `. Verbatim content stands between its
    delimiters instead.
    """
    if type(text) is VerbatimContent:
        return text.delimited()
    if type(text) is LoneMarker:
        return FencedBlock(_md_marker(text))
    body = text if isinstance(text, Content) else clean_content(to_text(text), MARKDOWN).text
    return FencedBlock(put_in_fence(body, to_text(language)))


_IN_LINKS = {"title": md_title, **url_places(DECODED_IN_MARKDOWN)}
_OPENS = late_pattern(r"[`<\[\]]")
_NO_LINK = (
    "a value that ends with ] would make a link with this bracket; put a blank or a backslash"
    " between: {{ value }}\\("
)
_MAY_BE_BLANK = (
    "a line of values alone may be blank, and would end the link or tag around it; write the"
    " value on a line with its quote or bracket"
)


class Markdown(Syntax):
    """CommonMark and GFM. Modes: `html` in a block of HTML, `fence` in a fence.

    Others say what is open in a paragraph; see `markdown_links`.
    """

    name = "markdown"
    is_taggable = True
    keeps_returns = False
    fuel_per_char = 50
    is_parsed = False
    has_fences = True
    uncarried = (re.compile("\0"), "NUL characters replaced by U+FFFD")
    places: ClassVar = dict(
        line=md_line,
        heading=md_heading,
        inline=md_inline,
        cell=md_cell,
        joined=md_joined,
        link=md_link,
        link_joined=md_link_joined,
        below=md_below,
        autolink=md_autolink,
        **_IN_LINKS,
        **{f"{place}_line": _at_line_begin(escape) for place, escape in _IN_LINKS.items()},
    )

    # Marks of lists, tasks, quotes, definitions and footnotes, after which a line begins anew.
    _marks = re.compile(r"(?:[ \t]*(?:[-+*>:]|[0-9]{1,9}[.)]|\[[ xX]\]|\[\^[^\]\s]+\]:))*[ \t]*")
    _prefix = re.compile(r"\A(?:[ \t]*(?:>|(?:[-+*:]|[0-9]{1,9}[.)])(?=[ \t]|\Z)))*[ \t]*")
    _heading = re.compile(r"[ \t>]*#{1,6}[ \t]")
    _rule = re.compile(r"[-=_~:+ \t]+")
    # Blocks of HTML that a blank line does not end (CommonMark 0.31, §4.6, kinds 1 to 5), and
    # comments and the like anywhere.
    _raw = re.compile(
        r"(?im)^ {0,3}<(?:(?:pre|script|style|textarea)\b|\?|!\[CDATA\[|![a-z])|<!--(?!.*-->)"
        r"|<\?(?!.*\?>)|<!\[CDATA\[(?!.*\]\]>)"
    )
    _html = re.compile(r" {0,3}</?[A-Za-z]")
    _fence = re.compile(r" {0,3}(?:```|~~~)")

    def feed(self, mode: str, line: LineParts, text: str) -> str:
        hidden = self._raw.search(text)
        if hidden:
            opens = f'"{hidden[0].strip()}" opens a block of HTML'
            raise PlacementError(f"{opens}, and a fence in it is not one")
        if mode.lstrip("[{") in ("", "]") and text[:1] == "(" and ends_with_value(line):
            raise PlacementError(_NO_LINK)
        pieces = text.split("\n")
        for number, piece in enumerate(pieces):
            ended = number + 1 < len(pieces)
            # After a value, nothing at the beginning of its line can be a mark any more.
            was, before = mode, static_text(line)
            if not has_values(line):
                mode = self._after(mode, before + piece, before, ended=ended)
            if "fence" not in (was, mode) and mode != "html":
                mode = self._within(mode, line, piece, ended=ended)
            line = ()
        return mode

    def _within(self, mode: str, line: LineParts, piece: str, *, ended: bool) -> str:
        """Return the mode after a piece of a line: what it leaves open in its paragraph."""
        if not mode and not _OPENS.search(piece):
            return ""
        from . import markdown_links as links

        begins = self._prefix.fullmatch(with_marks(line)) is not None
        if begins:
            piece = self._prefix.sub("", piece, count=1)
        if ended and not self._prefix.sub("", static_text(line) + piece, count=1).strip():
            if not has_values(line):
                return ""  # a blank line ends the paragraph
            if links.is_broken_by_blank_line(mode):
                raise PlacementError(_MAY_BE_BLANK)
        piece = "\0" * ends_with_value(line) + piece + "\n" * ended
        return links.after(mode, piece, begins=begins)

    def _after(self, mode: str, line: str, before: str = "", *, ended: bool) -> str:
        """Return the mode after a line; `before` is the part of it that has been read already."""
        if mode != "fence" and self._html.match(line):
            return "html"
        # Text may come in parts: marks that an earlier part has counted are not counted again.
        if self._fence.match(line) and not self._fence.match(before):
            return "" if mode == "fence" else "fence"
        # A blank line ends HTML, but only once its own end is written: `  {{ x }}` is not blank.
        if mode == "html" and ended and not line.strip():
            return ""
        return mode

    def place(self, mode: str, line: LineParts) -> str:
        before = static_text(line)
        refusal = self._refusal(mode, before)
        if refusal:
            raise PlacementError(refusal)
        begins = self._marks.fullmatch(before) is not None
        in_label = False
        if mode:
            from .markdown_links import is_in_label, place_in

            in_label = is_in_label(mode)
            linked = place_in(mode, joined=ends_with_value(line))
            if linked:
                return f"{linked}_line" if begins and linked != "below" else linked
            if in_label and (begins or ends_with_value(line)):
                return "link_joined"
        if ends_with_value(line):  # two values could make a link or an entity together
            return "joined"
        if begins:
            return "line"
        # `--- ` and the value `-` would be a rule, `~~` and `~` a fence.
        if self._rule.fullmatch(before):
            return "joined"
        if in_label:
            return "link"
        if "|" in before:
            return "cell"
        return "heading" if self._heading.match(before) else "inline"

    def _refusal(self, mode: str, before: str) -> str | None:
        # Inside of code nothing can be escaped.
        if before.lstrip().startswith(("```", "~~~")):
            return IN_CODE
        if mode == "fence":
            where = "a value cannot stand in a fence of the template's own"
            return f"{where}; write {{{{ value | framed }}}} instead"
        if mode == "html":
            return "a value cannot stand in a block of HTML; end the block with a blank line"
        if ends_with_backslash(before):
            return "a backslash before a value would undo its escape; write two"
        # `#` and the value `a` would be a word, no heading; `1` and the value `.` a list.
        if re.fullmatch(r"[ \t]*(?:#{1,6}|[0-9]{1,9})", before):
            return f'"{before.strip()}" and a value would make one word; put a blank between them'
        return None

    def join(self, a: str, b: str) -> str:
        for refusing in ("fence", "html"):  # either branch may have been taken
            if refusing in (a, b):
                return refusing
        from .markdown_links import joined_modes

        return joined_modes(a, b)

    def end(self, mode: str) -> None:
        if mode == "html":
            message = "a block of HTML must be followed by a blank line; leave one after it"
            raise PlacementError(message)
        if mode == "fence":
            message = "the fence is not closed; write its marks again on a line of their own"
            raise PlacementError(message)
        if mode:
            from .markdown_links import end_of

            end_of(mode)

    def can_frame(self, content: str) -> bool:
        return longest_run(content) < MAX_FENCE_MARKS

    def takes_tag(self, language: str) -> bool:
        return FENCE_TAG.fullmatch(language) is not None

    def inside(self, text: str) -> Inside:
        return lambda place: not _MARKS.intersection(text[place - 1 : place + 1])


MARKDOWN = Markdown()
