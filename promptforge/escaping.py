"""Escaping: text of an item → text that cannot break out of its place. One class of rules a syntax.

- *label*: a short value (name, path, language, number, metadata). It prints on one line.
- *content*: the long text of an item (`Content`). It may span lines where the syntax lets it.
- *place*: where a value lands: in an attribute, at the start of a line, …  `templating` finds it by
  reading the template, so authors never state it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from json.encoder import encode_basestring

from .safe import Content, Safe, Verbatim

LABEL_CAP = 2000
"""Characters of a label; longer ones end in an ellipsis."""

# Characters that are invisible or move visible ones: controls, soft hyphen, joiners, bidi, fillers,
# annotations, tags, private variation selectors, lone surrogates, noncharacters.
INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\ufdd0-\ufdef\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINED = re.compile(
    "[\u00a9-\u3299\U0001f000-\U0001faff\ufe0f]\ufe0f?\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)
SURROGATE = re.compile("[\ud800-\udfff]")
XML_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _show(match: re.Match[str]) -> str:
    char = match[0]
    # The selector or joiner of an emoji stays; in a row of them only the first can be one.
    if char in "\ufe0e\ufe0f\u200d":
        before = match.string[match.start() - 1 : match.start()]
        if before > "\u00a8" and not INVISIBLE.match(before) and before.strip():
            return char
        if char == "\u200d" and _JOINED.match(match.string, max(0, match.start() - 2)):
            return char
    return _SHORT.get(char) or _code(char)


def _code(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def to_text(value: object) -> str:
    """Return plain data as text: `None` is empty, lists get commas, floats are the shortest."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(to_text(v) for v in value)
    if isinstance(value, dict):
        return ", ".join(f"{to_text(k)}: {to_text(v)}" for k, v in value.items())
    return str(value)


def label(value: object) -> str:
    r"""Return `value` on one line; invisible characters become escapes, a line end `\n`."""
    text = to_text(value)
    if len(text) > LABEL_CAP:
        text = text[: LABEL_CAP - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return INVISIBLE.sub(_show, text)


# --- Markdown (CommonMark 0.31, with the pipe of GFM tables) --------------------------------------

_MD_SPECIAL = re.compile(
    r"[`*]|~(?=~)|(?<=~)~"
    r"|<(?=[A-Za-z/!?]|$)"  # <b>, </b>, <!--, <?x, <http://…>
    r"|\](?=[(\[])"  # a link needs ]( or ][
    r"|&(?=#?\w{1,32};|$)"
    r"|\\(?=[!-/:-@\[-`{-~]|$)"
)
_MD_HARMLESS = re.compile(r"[A-Za-z0-9 ./:,_()'=+@#%-]{0,200}").fullmatch
_MD_BLOCK = re.compile(
    r"#{1,6}(?=\s|$)|>|[-+](?=\s|$)|~{3}|\|"
    r"|[-=_~|:+ ]+$"  # setext underline, rule, table delimiter
    r"|\[[^\]]*\](?::|$)"
)
_MD_ORDERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")


def _md_escape(text: str) -> str:
    return _MD_SPECIAL.sub(r"\\\g<0>", text)


def md_inline(value: object) -> Safe:
    """Return a label for the middle of a line of Markdown."""
    if isinstance(value, Safe):
        return value
    if type(value) is str and _MD_HARMLESS(value):
        return Safe(value)
    return Safe(_md_escape(label(value)))


def md_cell(value: object) -> Safe:
    """Return a label for a table cell, where a pipe would open the next one."""
    if isinstance(value, Safe):
        return value
    return Safe(_md_escape(label(value)).replace("|", "\\|"))


def md_line(value: object) -> Safe:
    """Return a label that begins its line: no heading, list, quote, rule, table or code."""
    if isinstance(value, Safe):
        return value
    text = label(value)
    if text[:1].isspace():
        text = _code(text[0]) + text[1:]
    return Safe(_md_opening(text))


def _md_opening(text: str, split: bool = False) -> str:
    # With `split`, a bracket opened here may be closed on a later line.
    escaped = _md_escape(text)
    if _MD_BLOCK.match(escaped) or (split and escaped.startswith("[") and "]" not in escaped):
        return "\\" + escaped
    return _MD_ORDERED.sub(r"\1\\\2", escaped, count=1) if _MD_ORDERED.match(escaped) else escaped


def md_joined(value: object) -> Safe:
    """Return a label that directly follows another value, so that the two make no link or tag."""
    if isinstance(value, Safe):
        return value
    text = md_line(value)
    return Safe("\\" + text) if text[:1] in ("(", "[", "#", "~", "!") else text


def md_link(value: object) -> Safe:
    """Return a label inside brackets that the template has opened."""
    if isinstance(value, Safe):
        return value
    return Safe(re.sub(r"(?<!\\)[\[\]!]", r"\\\g<0>", md_inline(value)))


def md_prose(value: object) -> Safe:
    """Return running text of any length: line ends stay, each line is a line of a paragraph."""
    if isinstance(value, Safe):
        return value
    # Leading blanks go: a paragraph does not show them, and four of them are a code block.
    lines = (INVISIBLE.sub(_show, line.strip(" \t")) for line in to_text(value).strip().split("\n"))
    return Safe("\n".join(_md_opening(line, split=True) for line in lines))


def md_code(value: object) -> Safe:
    """Return a label as inline code, in a run of backticks longer than any inside."""
    text = label(value)
    mark = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    # CommonMark takes one blank off both ends; the empty text would join the two marks.
    if text[:1] in ("`", " ", "") or text[-1:] in ("`", " "):
        text = f" {text} "
    return Safe(f"{mark}{text}{mark}")


# --- XML 1.0 --------------------------------------------------------------------------------------


def xml_text(value: object) -> Safe:
    """Return a value for character data; `&`, `<` and the `>` of `]]>` are escaped."""
    if isinstance(value, Safe):
        return value
    if type(value) is Verbatim:
        return value.tags()
    text = value if type(value) is Content else label(value)
    if "&" in text or "<" in text or "]]>" in text:
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")
    return Safe(XML_ILLEGAL.sub("\ufffd", text))


def xml_joined(value: object) -> Safe:
    """Return character data after another value or a bracket, where a `>` may end a `]]>`."""
    text = xml_text(value)
    if isinstance(value, Safe | Verbatim):
        return text
    return Safe(re.sub(r"^(\]{0,2})>", r"\1&gt;", text))


def xml_unknown(value: object) -> Safe:
    """Return a value that suits both text and an attribute: another template decides."""
    return value if isinstance(value, Safe) else xml_attribute(value)


def xml_attribute(value: object) -> Safe:
    """Return a label for an attribute in double quotes; safe text is escaped here too."""
    if isinstance(value, Safe):
        return Safe(value.replace("<", "&lt;").replace('"', "&quot;"))
    text = label(value)
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


def _json_show(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    return json.dumps(match[0])[1:-1]  # in ASCII: two escapes for a character past U+FFFF


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
    return Safe(INVISIBLE.sub(_json_show, text))


def json_string(value: object) -> Safe:
    """Return a value for the inside of a JSON string."""
    return Safe(json_value(str.__str__(to_text(value)))[1:-1])


# --- plain text -----------------------------------------------------------------------------------


def plain(value: object) -> Safe:
    """Return a value for plain text: a label on one line, content as it is: `clean` marked it."""
    if isinstance(value, Safe):
        return value
    if type(value) is Verbatim:
        return value.tags()
    return Safe(value if type(value) is Content else label(value))


def plain_line(value: object) -> Safe:
    """Return a value that begins its line of plain text.

    Only content begins a line with white space or a bar, so such lines are known to be content.
    """
    text = plain(value)
    if isinstance(value, Safe | Content) or not text:
        return text
    if text[0].isspace():
        return Safe(_code(text[0]) + text[1:])
    return Safe("\\" + text) if text[0] == "|" else text


def plain_own(value: object) -> Safe:
    """Return an expression that begins its line with words or blanks of the template's own."""
    text = plain(value)
    if text.startswith("|") and not isinstance(value, Safe | Content):
        return Safe("\\" + text)
    return text


# --- the table ------------------------------------------------------------------------------------

Escape = Callable[[object], Safe]

PLACES: dict[str, dict[str, Escape]] = {
    "md": {
        "line": md_line,
        "inline": md_inline,
        "cell": md_cell,
        "joined": md_joined,
        "link": md_link,
    },
    "xml": {
        "text": xml_text,
        "joined": xml_joined,
        "attribute": xml_attribute,
        "unknown": xml_unknown,
    },
    "json": {"value": json_value, "string": json_string},
    "txt": {"line": plain_line, "own": plain_own, "inline": plain},
}
"""Extension of a template → place → escape. An unknown extension is plain text."""

ALIASES = {"html": "xml", "svg": "xml", "markdown": "md", "jsonl": "json"}


def syntax_of(extension: str) -> str:
    """Return the syntax of an extension: `md`, `xml`, `json` or `txt`."""
    known = ALIASES.get(extension, extension)
    return known if known in PLACES else "txt"
