"""Kinds of text that pages are made of: finished ones, fenced ones, and the contents of items."""

from __future__ import annotations


class Safe(str):
    """Text made by the engine or written in a template. It has no arithmetic: `Safe + x` is an ordinary string."""

    __slots__ = ()

    def __str__(self) -> str:
        return self


class Opens(Safe):
    """Safe text whose first line opens a fence: it must begin a line, outside a block of HTML."""

    __slots__ = ()


class Closes(Safe):
    """Safe text whose last line closes a fence: with anything more on its line it closes nothing."""

    __slots__ = ()


class Block(Opens, Closes):
    """Safe text that is fenced from its first line to its last."""

    __slots__ = ()


class Content(str):
    """The long text of an item, cleaned for one syntax. Any string operation turns it back into a label."""

    __slots__ = ()


class Tags(Block):
    """Safe text between the two tags of a `Verbatim` content."""

    __slots__ = ()


class Verbatim(Content):
    """Content to be printed as it is, between tags that carry `word`. Where no tags can stand it is a label."""

    __slots__ = ("printed", "word")
    word: str
    """What nothing else on the page holds; `enclosing` finds it."""
    printed: set[str]
    """What has been put between tags of this content, and of what filters made of it."""

    def __new__(cls, text: str, word: str, printed: set[str] | None = None) -> Verbatim:
        """Take a text and the word that it does not hold."""
        made = super().__new__(cls, text)
        made.word = word
        made.printed = set() if printed is None else printed
        return made

    def like(self, text: str) -> Verbatim:
        """Return what a filter made of this content."""
        return Verbatim(text, self.word, self.printed)

    def tags(self) -> Tags:
        """Return the content between its tags, each on a line of its own."""
        text = str.__str__(self)
        self.printed.add(text)
        return Tags(f"<content-{self.word}>\n{text}\n</content-{self.word}>")
