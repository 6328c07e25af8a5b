"""Escaping and cleaning: text of an item → text that cannot break out of its place.

- *label*: a short value (name, path, language, number, metadata). It prints on one line.
- *content*: the long text of an item (`Content`). It may span lines where the syntax lets it.
- *place*: the spot of a value in a template: in an attribute, at the start of a line, …
  `templating.autoescape` finds it by reading the template, so authors never state it.

`places.PLACES` holds the rules of every syntax. Contents are cleaned once, before any template sees
them; `fence` puts one into a code block that nothing in it can close.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, NamedTuple

from .control_tokens import ControlTokens
from .format import plural, to_text
from .words import late_pattern

if TYPE_CHECKING:
    from .delimiters import TemplateLines

Escape = Callable[[object], "Safe"]


class Safe(str):
    """Text that needs no escaping. It has no arithmetic: `Safe + x` is an ordinary string."""

    __slots__ = ()

    def __str__(self) -> str:
        return self


class FenceStart(Safe):
    """Safe text that opens a fence: it must begin a line, outside a block of HTML."""

    __slots__ = ()


class FenceEnd(Safe):
    """Safe text that closes a fence: anything more on its last line would leave it open."""

    __slots__ = ()


class FencedBlock(FenceStart, FenceEnd):
    """Safe text that is a whole fenced block."""

    __slots__ = ()


class Content(str):
    """The long text of an item, cleaned for one syntax. Any string method makes it a label."""

    __slots__ = ()


class LoneMarker(Content):
    """The marker alone, in the place of a content; Markdown needs no fence around it."""

    __slots__ = ()


class DelimitedBlock(FencedBlock):
    """A `VerbatimContent` with its delimiters around it."""

    __slots__ = ()


class VerbatimContent(Content):
    """Content to be printed as it is, between delimiters with a nonce; elsewhere it is a label."""

    __slots__ = ("name", "printed")
    name: str
    """The name of its tags: a word of the layout and the nonce, which no other text holds."""
    printed: set[str]
    """Texts put between delimiters so far: this content, and results of filters on it."""

    def __new__(cls, text: str, name: str, printed: set[str] | None = None) -> VerbatimContent:
        """Take a text and the name of its tags, with a nonce that the text does not hold."""
        made = super().__new__(cls, text)
        made.name = name
        if printed is None:
            printed = set()
        made.printed = printed  # shared with the results of filters, which are printed instead
        return made

    def with_text(self, text: str) -> VerbatimContent:
        """Return `text`, the result of a filter on this content, with the same nonce."""
        return VerbatimContent(text, self.name, self.printed)

    def delimited(self) -> DelimitedBlock:
        """Return the content between its delimiters, each on a line of its own."""
        text = str.__str__(self)
        self.printed.add(text)
        return DelimitedBlock(f"<{self.name}>\n{text}\n</{self.name}>")


class InertUrl(Safe):
    """An address that leads nowhere, since its scheme does not stay."""

    __slots__ = ()


# --- labels ---------------------------------------------------------------------------------------

MAX_LABEL_CHARACTERS = 2000
"""Characters of a label; longer ones end in an ellipsis."""
# Characters that are invisible or move visible ones: controls, soft hyphen, joiners, bidi, fillers,
# annotations, tags, private variation selectors, lone surrogates, noncharacters.
INVISIBLE_CHARACTER = late_pattern(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\ud800-\udfff\ufdd0-\ufdef\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINED = late_pattern(
    "[\u00a9-\u3299\U0001f000-\U0001faff\ufe0f]\ufe0f?\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)
SURROGATE = late_pattern("[\ud800-\udfff]")
XML_ILLEGAL = late_pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _show(match: re.Match[str]) -> str:
    char = match[0]
    # The selector or joiner of an emoji stays; in a row of them only the first can be one.
    if char in "\ufe0e\ufe0f\u200d":
        before = match.string[match.start() - 1 : match.start()]
        if before > "\u00a8" and not INVISIBLE_CHARACTER.match(before) and before.strip():
            return char
        if char == "\u200d" and _JOINED.match(match.string, max(0, match.start() - 2)):
            return char
    return _SHORT.get(char) or _code(char)


def _code(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def to_label(value: object) -> str:
    r"""Return `value` on one line; invisible characters become escapes, a line end `\n`."""
    text = to_text(value)
    if len(text) > MAX_LABEL_CHARACTERS:
        text = text[: MAX_LABEL_CHARACTERS - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return INVISIBLE_CHARACTER.sub(_show, text)


# --- Markdown (CommonMark 0.31, and GFM 0.29 with footnotes, alerts, definition lists) ------------

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
        text = _code(text[0]) + text[1:]
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
    lines = (
        INVISIBLE_CHARACTER.sub(_show, line.strip(" \t"))
        for line in to_text(value).strip().split("\n")
    )
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


# --- XML 1.0 --------------------------------------------------------------------------------------


def xml_text(value: object) -> Safe:
    """Return a value for character data; `&`, `<` and the `>` of `]]>` are escaped."""
    if isinstance(value, Safe):
        return value
    if type(value) is VerbatimContent:
        return value.delimited()
    text = value if type(value) is Content else to_label(value)
    if "&" in text or "<" in text or "]]>" in text:
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")
    return Safe(XML_ILLEGAL.sub("\ufffd", text))


def xml_joined(value: object) -> Safe:
    """Return character data after another value or a bracket, where a `>` may end a `]]>`."""
    text = xml_text(value)
    if isinstance(value, Safe | VerbatimContent):
        return text
    return Safe(re.sub(r"^(\]{0,2})>", r"\1&gt;", text))


def xml_unknown(value: object) -> Safe:
    """Return a value that suits both text and an attribute: another template decides."""
    return value if isinstance(value, Safe) else xml_attribute(value)


def xml_attribute(value: object) -> Safe:
    """Return a label for an attribute in double quotes; safe text is escaped here too."""
    if isinstance(value, Safe):
        return Safe(value.replace("<", "&lt;").replace('"', "&quot;"))
    text = to_label(value)
    if "&" in text or "<" in text or '"' in text or ">" in text:
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        # `]]>` is harmless in an attribute, but a macro may print this between tags.
        text = text.replace("]]>", "]]&gt;")
    return Safe(XML_ILLEGAL.sub("\ufffd", text))


# --- JSON (RFC 8259) ------------------------------------------------------------------------------


def _json_finite(value: object) -> object:
    # JSON has no NaN and no infinity; keys must be texts.
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {to_text(k): _json_finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_json_finite(v) for v in value]
    return value


def json_value(value: object) -> Safe:
    """Return a value as JSON: text quoted, UTF-8 as it is, NaN and infinities null.

    In labels, invisible characters are escaped by number; the parsed value is the same.
    """
    if isinstance(value, Safe):
        return value
    if isinstance(value, str):
        text = encode_basestring(value)
    else:
        text = json.dumps(_json_finite(value), ensure_ascii=False)
    if text.isascii():
        return Safe(text)
    if type(value) is Content:
        return Safe(SURROGATE.sub("\ufffd", text))
    return Safe(INVISIBLE_CHARACTER.sub(_json_escape, text))


def _json_escape(match: re.Match[str]) -> str:
    # `json.dumps` is ASCII: two escapes for a character past U+FFFF.
    return "\ufffd" if SURROGATE.match(match[0]) else json.dumps(match[0])[1:-1]


def json_string(value: object) -> Safe:
    """Return a value for the inside of a JSON string."""
    return Safe(json_value(str.__str__(to_text(value)))[1:-1])


# --- YAML 1.1, as `yaml.safe_load` reads it, and 1.2 ---------------------------------------------

# A letter first, so no number, date or mark; no `: ` and no ` #`; no word with a meaning.
_YAML_PLAIN = late_pattern(
    r"(?!(?:y|n|yes|no|on|off|true|false|null|none)\Z)[A-Za-z_/][A-Za-z0-9_./()+-]*"
    r"(?: [A-Za-z0-9_./()+-]+)*",
    re.IGNORECASE,
)
# Characters that no reader takes as they are, and those that it takes for line ends.
_YAML_UNPRINTABLE = late_pattern("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_YAML_NO_LITERAL = late_pattern(f"[\x00-\x08\x0b-\x1f\ud800-\udfff]|{_YAML_UNPRINTABLE.pattern}")
YAML_LITERAL_INDENTS = range(2, 25)
"""Columns at which a content may stand as a literal block."""


def _yaml_escape(match: re.Match[str]) -> str:
    char = match[0]
    if SURROGATE.match(char):
        return "\ufffd"
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _yaml_quoted(text: str) -> str:
    """Return a text in double quotes; in labels, invisible characters are escaped too."""
    quoted = encode_basestring(text)
    if text.isascii() and text.isprintable():
        return quoted
    if type(text) is Content:
        return _YAML_UNPRINTABLE.sub(_yaml_escape, SURROGATE.sub("\ufffd", quoted))
    return INVISIBLE_CHARACTER.sub(_yaml_escape, quoted)


def _yaml_flow(value: object) -> str:
    """Return a value on one line."""
    if isinstance(value, str):
        return _yaml_quoted(value)
    if isinstance(value, dict):
        members = (f"{_yaml_quoted(to_text(k))}: {_yaml_flow(v)}" for k, v in value.items())
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_yaml_flow, value))}]"
    if isinstance(value, float) and math.isfinite(value):
        # YAML 1.1 has no float without a point: `1e+16` would be a text.
        number = repr(value)
        return number if "." in number else number.replace("e", ".0e")
    return json.dumps(_json_finite(value))


def yaml_value(value: object) -> Safe:
    """Return a value as a scalar, or as a list or mapping on one line."""
    if isinstance(value, Safe):
        return value
    if (
        isinstance(value, str)
        and len(value) <= MAX_LABEL_CHARACTERS
        and _YAML_PLAIN.fullmatch(value)
    ):
        return Safe(value)
    return Safe(_yaml_flow(value))


def yaml_string(value: object) -> Safe:
    """Return a value for the inside of double quotes."""
    return Safe(_yaml_quoted(str.__str__(to_text(value)))[1:-1])


def yaml_block(indent: int) -> Escape:
    """Return the escape of a value after a key, with the lines of a content at column `indent`."""
    margin = " " * indent

    def block(value: object) -> Safe:
        """Return a content of several lines as a literal block, any other value as a scalar."""
        if type(value) is not Content or "\n" not in value or not value.strip():
            return yaml_value(value)
        # Blank lines of the page after it would count as the content's own line ends, and some
        # readers lose a last line of blanks.
        last = value.removesuffix("\n").rpartition("\n")[2]
        if not last.strip(" \t") or _YAML_NO_LITERAL.search(value):
            return yaml_value(value)
        strip = "" if value.endswith("\n") else "-"
        lines = value.removesuffix("\n").split("\n")
        return Safe(f"|2{strip}\n" + "\n".join(line and margin + line for line in lines))

    return block


# --- plain text -----------------------------------------------------------------------------------


def plain_inline(value: object) -> Safe:
    """Return a value for plain text: a label on one line, content as `clean_content` left it."""
    if isinstance(value, Safe):
        return value
    if type(value) is VerbatimContent:
        return value.delimited()
    return Safe(value if type(value) is Content else to_label(value))


def plain_line(value: object) -> Safe:
    """Return a value that begins its line of plain text.

    Only content begins a line with white space or a bar, so such lines are known to be content.
    """
    text = plain_inline(value)
    if isinstance(value, Safe | Content) or not text:
        return text
    if text[0].isspace():
        return Safe(_code(text[0]) + text[1:])
    if text[0] == "|":
        return Safe("\\" + text)
    return text


def plain_own(value: object) -> Safe:
    """Return an expression that begins its line with words or blanks of the template's own."""
    text = plain_inline(value)
    if text.startswith("|") and not isinstance(value, Safe | Content):
        return Safe("\\" + text)
    return text


# --- contents -------------------------------------------------------------------------------------

VERBATIM = "verbatim"
"""The syntax of content between delimiters: it is printed as it is."""
MAX_FENCE_MARKS = 100
"""Longest fence, in backticks. cmark counts no more than 255, and not each reader knows tildes."""
_HARMLESS_BYTES = bytes((9, 10, 13, *range(32, 127), *"\ufffd".encode()))
"""ASCII without the characters that move the cursor of a terminal or send it a command."""
TURNS = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|start|>",
    "<|channel|>", "<|message|>", "<|system|>", "<|user|>", "<|assistant|>", "[INST]", "[/INST]",
    "<<SYS>>", "<start_of_turn>", "<end_of_turn>", "<|turn>", "<\uff5cUser\uff5c>",
    "<\uff5cAssistant\uff5c>", "<tool_call>", "<think>", "\n\nHuman:", "\n\nAssistant:",
    "### Instruction:",
)  # fmt: skip
"""Chat-template tokens of well-known families of LLMs: they begin or end turns, thoughts, calls."""
# Searching 24 tokens in each content is slow. A single character is found much faster, so each
# token is filed under a character that most texts lack, and is searched only where that stands.
_RARE_CHARACTERS = "|\uff5cYN#<HA"
_BY_CHARACTER: dict[str, list[str]] = {}

for _token in TURNS:
    _rare = next(char for char in _RARE_CHARACTERS if char in _token)
    _BY_CHARACTER.setdefault(_rare, []).append(_token)

# Tab, line feed and carriage return are invisible in labels, but not in contents.
_INVISIBLE_IN_CONTENT = late_pattern(
    INVISIBLE_CHARACTER.pattern.replace("\x00-\x1f", "\x00-\x08\x0b\x0c\x0e-\x1f")
)
_INVISIBLE_IN_LINES = late_pattern(f"\r|{_INVISIBLE_IN_CONTENT.pattern}")


def show_invisible(text: str) -> str:
    r"""Return a text of many lines with escapes for what is not seen, or steers a terminal.

    >>> show_invisible("a\u202eb\n")
    'a\\u202eb\n'
    """
    # A carriage return before a line feed is a line end.
    return "\r\n".join(_INVISIBLE_IN_LINES.sub(_show, part) for part in text.split("\r\n"))


_RUN = late_pattern("`{3,}")


def longest_run(text: str) -> int:
    """Return the length of the longest run of backticks; 0 if none reaches three."""
    if "`" not in text or "```" not in text:  # one character is found much faster than three
        return 0
    return max(map(len, _RUN.findall(text)))


class CleanedContent(NamedTuple):
    """Content ready for one syntax, with notes on changes: (code, message) pairs."""

    text: Content
    notes: tuple[tuple[str, str], ...]
    broken: int = 0
    """Number of control tokens that were broken up."""


def clean_content(
    text: str,
    syntax: str,
    template_lines: TemplateLines | None = None,
    controls: ControlTokens | None = None,
) -> CleanedContent:
    """Return `text` as content of `syntax`, with a note for each change.

    Characters that the syntax cannot carry become U+FFFD. A lone carriage return becomes a line
    feed, because Markdown and XML read it as one. In plain text, a line that could be taken for one
    of `template_lines` gets the prefix `| `. With `controls`, control tokens are broken up.
    """
    notes: list[tuple[str, str]] = []
    body = _carriable(text, syntax, notes)
    broken = 0
    if controls is not None:
        body, broken = controls.break_up(body)
    elif found := [
        token
        for char, tokens in _BY_CHARACTER.items()
        if char in body
        for token in tokens
        if token in body
    ]:
        found.sort(key=TURNS.index)
        listed = ", ".join([token.strip() for token in found[:3]] + ["…"] * (len(found) > 3))
        said = f"content contains chat-template tokens: {listed}. They are plain text here;"
        notes.append(("PF707", f"{said} --control-text escape breaks them up"))
    if syntax == "md":
        if longest_run(body) >= MAX_FENCE_MARKS:
            notes.append(("PF305", "each line is prefixed with '| ': no fence is long enough"))
            body = re.sub("(?m)^", "| ", body)
    elif template_lines is not None:
        body, count, unusual = template_lines.mark(body)
        if count:
            said = plural(count, "line looks like a line", "lines look like lines")
            said += " of the template; prefixed with '| '"
            if unusual:
                codes = ", ".join(f"U+{ord(char):04X}" for char in unusual[:3])
                said += f"; disguised by {codes}{', …' * (len(unusual) > 3)}"
            notes.append(("PF304", said))
    return CleanedContent(Content(body), tuple(notes), broken)


def _carriable(body: str, syntax: str, notes: list[tuple[str, str]]) -> str:
    """Replace the characters that the syntax cannot carry; note these and invisible ones."""
    counts: list[tuple[str, str, int]] = []
    was_ascii = body.isascii()
    if not was_ascii:
        body, count = SURROGATE.subn("\ufffd", body)
        counts.append(("PF302", "lone surrogates replaced by U+FFFD", count))
        invisible = len(_INVISIBLE_IN_CONTENT.findall(body))
        what = "invisible or direction-changing characters in the content"
        counts.append(("PF702", what, invisible))
    if "\r" in body and syntax not in ("json", "yaml", VERBATIM):
        body, count = re.subn("\r(?!\n)", "\n", body)
        counts.append(("PF303", "lone carriage returns that became line ends", count))
    if syntax == "xml":
        body, count = XML_ILLEGAL.subn("\ufffd", body)
        counts.append(("PF302", "characters that XML cannot carry, replaced by U+FFFD", count))
    elif syntax == "md" and "\x00" in body:
        counts.append(("PF302", "NUL characters replaced by U+FFFD", body.count("\x00")))
        body = body.replace("\x00", "\ufffd")
    if counts:
        notes += [(code, f"{what}: {count:,}") for code, what, count in counts if count]
    # Deleting the harmless bytes is the fastest search for any other; U+FFFD is from above.
    if was_ascii and body.encode().translate(None, _HARMLESS_BYTES):
        notes.append(("PF703", "terminal control characters are in the content"))
    return body


def _md_marker(marker: str) -> str:
    """Return the marker as a line of Markdown."""
    line = md_line(str(marker))
    # Nothing on the page defines a link, so an opening bracket of the marker needs no backslash.
    bracket = marker.startswith("[") and "]:" not in marker
    return str(marker) if bracket and line == f"\\{marker}" else line


FENCE_TAG = late_pattern(r"[A-Za-z0-9_+#.\-]{1,40}")
"""A language that may follow the marks of a fence, as `fence_tag` writes it."""


def fence_tag(language: str) -> str:
    """Return the tag of a language; "" for one that no fence can carry.

    >>> fence_tag("C#")
    'csharp'
    """
    if not FENCE_TAG.fullmatch(language):
        return ""
    if "#" in language or "." in language:  # markdown2 sees no fence before one of these
        return language.lower().replace("#", "sharp").replace(".", "")[:40]
    return language


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
    body = text if isinstance(text, Content) else clean_content(to_text(text), "md").text
    tag = fence_tag(to_text(language))
    line = "`" * max(3, 1 + longest_run(body))
    return FencedBlock(f"{line}{tag}\n{body}\n{line}")
