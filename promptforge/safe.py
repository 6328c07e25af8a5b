"""Kinds of text on a page: finished text, fenced blocks, and the contents of items."""

from __future__ import annotations


class Safe(str):
    """Text that needs no escaping. It has no arithmetic: `Safe + x` is an ordinary string."""

    __slots__ = ()

    def __str__(self) -> str:
        return self


class Opens(Safe):
    """Safe text that opens a fence: it must begin a line, outside a block of HTML."""

    __slots__ = ()


class Closes(Safe):
    """Safe text that closes a fence: anything more on its last line would leave it open."""

    __slots__ = ()


class Block(Opens, Closes):
    """Safe text that is a whole fenced block."""

    __slots__ = ()


class Content(str):
    """The long text of an item, cleaned for one syntax. Any string method makes it a label."""

    __slots__ = ()


class Tags(Block):
    """A `Verbatim` content with its delimiters around it."""

    __slots__ = ()


class Verbatim(Content):
    """Content to be printed as it is, between delimiters with a nonce; elsewhere it is a label."""

    __slots__ = ("printed", "word")
    word: str
    """The nonce: no other text of the page holds it."""
    printed: set[str]
    """Texts put between delimiters so far: this content, and results of filters on it."""

    def __new__(cls, text: str, word: str, printed: set[str] | None = None) -> Verbatim:
        """Take a text and a nonce that it does not hold."""
        made = super().__new__(cls, text)
        made.word = word
        made.printed = set() if printed is None else printed
        return made

    def like(self, text: str) -> Verbatim:
        """Return `text`, the result of a filter on this content, with the same nonce."""
        return Verbatim(text, self.word, self.printed)

    def tags(self) -> Tags:
        """Return the content between its delimiters, each on a line of its own."""
        text = str.__str__(self)
        self.printed.add(text)
        return Tags(f"<content-{self.word}>\n{text}\n</content-{self.word}>")
