"""Kinds of printed text (safe, label, content), labels on one line, and fences.

- *label*: a short value (name, path, language, number, metadata). It prints on one line.
- *content*: the long text of an item (`Content`). It may span lines where the syntax lets it.
- *place*: the spot of a value in a template: in an attribute, at the start of a line, …
  `templating.autoescape` finds it by reading the template, so authors never state it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .format import to_text
from .words import late_pattern

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
# In words of Persian, Indic and their neighbours they shape the letters on both sides.
_IN_WORD = late_pattern(
    "[\u0620-\u109f\u1780-\u17d3][\u200c\u200d](?=[\u0620-\u109f\u1780-\u17d3])"
)
SURROGATE = late_pattern("[\ud800-\udfff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def show_line(text: str) -> str:
    """Return a line with escapes for the characters that are not seen."""
    return INVISIBLE_CHARACTER.sub(_show, text)


def _show(match: re.Match[str]) -> str:
    char = match[0]
    # The selector or joiner of an emoji stays; in a row of them only the first can be one.
    if char in "\ufe0e\ufe0f\u200d":
        before = match.string[match.start() - 1 : match.start()]
        if before > "\u00a8" and not INVISIBLE_CHARACTER.match(before) and before.strip():
            return char
        if char == "\u200d" and _JOINED.match(match.string, max(0, match.start() - 2)):
            return char
    if char in "\u200c\u200d" and _IN_WORD.match(match.string, max(0, match.start() - 1)):
        return char
    return _SHORT.get(char) or code_of(char)


def code_of(char: str) -> str:
    """Return the escape of a character by its number."""
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
    return show_line(text)


# Tab, line feed and carriage return are invisible in labels, but not in contents.
INVISIBLE_IN_CONTENT = late_pattern(
    INVISIBLE_CHARACTER.pattern.replace("\x00-\x1f", "\x00-\x08\x0b\x0c\x0e-\x1f")
)


def count_invisible(text: str) -> int:
    """Return how many characters of a content are not seen, but for joiners in their words."""
    return sum(_show(match) != match[0] for match in INVISIBLE_IN_CONTENT.finditer(text))


_INVISIBLE_IN_LINES = late_pattern(f"\r|{INVISIBLE_IN_CONTENT.pattern}")


def show_invisible(text: str) -> str:
    r"""Return a text of many lines with escapes for what is not seen, or steers a terminal.

    >>> show_invisible("a\u202eb\n")
    'a\\u202eb\n'
    """
    # A carriage return before a line feed is a line end.
    return "\r\n".join(_INVISIBLE_IN_LINES.sub(_show, part) for part in text.split("\r\n"))


# --- fences of Markdown ---------------------------------------------------------------------------

_RUN = late_pattern("`{3,}")


def longest_run(text: str) -> int:
    """Return the length of the longest run of backticks; 0 if none reaches three."""
    if "`" not in text or "```" not in text:  # one character is found much faster than three
        return 0
    return max(map(len, _RUN.findall(text)))


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


def put_in_fence(text: str, language: str) -> str:
    """Return a text in a fence one longer than any run of backticks inside, at least three."""
    line = "`" * max(3, 1 + longest_run(text))
    return f"{line}{fence_tag(language)}\n{text}\n{line}"
