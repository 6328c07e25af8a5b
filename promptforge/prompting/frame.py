"""How the parts of a prompt are printed, and that no part can pass for what is printed around it.

The frame is whatever the templates print themselves. It is found by printing them around nothing: what is left are its
tags and lines. Where a part holds one of these, the templates are given a word that no part holds, to put into them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..controls import Controls
from ..enclosing import free_word, lenient
from ..errors import OptionError, TemplateError, nearest, quote
from ..escaping import syntax_of
from ..framing import frame_pattern
from ..joints import Joints
from ..options import PARTS
from ..safe import Content, Safe
from ..template_files import EXTENSIONS
from ..templates import PROMPTS, Templates
from ..templating.environment import Fields
from ..templating.places import VALUE
from .messages import ROLES, Call, Message, Output, Text, texts_of

OWN = ("system", "instructions")
"""Parts that whoever builds the prompt wrote: to name a tag in them is no forgery, to close one is."""

_HOLE = "\ue07f"
"""What stands for a part's text where only the frame is looked at."""
_TAG = re.compile(r"<[\s/]*([a-z_][\w.:-]*)")
_ROLES_OF = {"system": ("system", "developer", "user"), "history": ("",)}
"""The roles that a part may come with, where it is not always the user's."""
_VERBATIM = {"md", "txt"}
"""Syntaxes in which a text stands as it was written."""


class Piece(NamedTuple):
    """One part of the prompt, to be printed."""

    name: str
    role: str
    text: str
    messages: tuple[Message, ...] = ()
    """Of the history; of the context one, where its items are blocks that answers can point at."""

    @property
    def texts(self) -> list[str]:
        """Everything in it that somebody else may have written."""
        return [text for message in self.messages for text in texts_in(message)] or [self.text]


def texts_in(message: Message) -> Iterable[str]:
    """Yield every text of a message."""
    yield message.text  # of all its blocks: "<" and "system>" in two of them are a tag together
    for block in message.blocks:
        yield from () if isinstance(block, Text) else texts_of(block)


class Frame:
    """One set of templates for whole prompts, in one format. It remembers what these print around nothing."""

    def __init__(
        self, templates: Templates, name: str, format: str, controls: Controls | None = None
    ) -> None:  # noqa: A002
        """Find the set `name`; what it lacks is that of the set `default`. `controls` are to come out of no text.

        Raises `OptionError` where there is no such set.
        """
        known = templates.prompts()
        own = name.removeprefix("shipped/")
        if own not in known:
            raise OptionError(
                f"there is no set of prompt templates {quote(name)}{nearest(name, known)}",
                option="prompt",
                absent=name,
            )
        self._templates = templates
        self._controls = controls
        self._folders = [
            f"{'shipped/' if own != name else ''}{PROMPTS}/{own}",
            f"{PROMPTS}/default",
        ]
        self._endings = _endings(format)
        self._found: dict[str, str] = {}
        self._own: dict[tuple[bool, str | None], _Marks] = {}
        self._lost: dict[tuple[tuple[str, ...], bool], list[tuple[str, str]]] = {}

    def template(self, part: str) -> str:
        """Return the name of the template that prints a part, or `prompt`: the whole."""
        if part not in self._found:
            names = [
                f"{folder}/{part}.{ending}.j2"
                for folder in self._folders
                for ending in self._endings
            ]
            found = next((name for name in names if self._templates.find(name)), None)
            if found is None:
                raise TemplateError(
                    f"there is no template {quote(names[0])}{nearest(names[0], self._templates.names())}"
                )
            self._found[part] = found
        return self._found[part]

    def files(self, parts: Iterable[str]) -> list[str]:
        """Return the names of the templates that print these parts."""
        return sorted({self.template(part) for part in parts})

    # --- printing ---------------------------------------------------------------------------------------------------

    def part(self, piece: Piece, boundary: str, **more: Any) -> Safe:
        """Return a part as its template prints it."""
        name = self.template(piece.name)
        made = Safe if _syntax(name) in _VERBATIM or piece.name == "context" else Content
        value: Any = (
            [_fields(m, made) for m in piece.messages]
            if piece.name == "history"
            else made(piece.text)
        )
        mend = None if piece.name in OWN else self._mend(name, ())
        return self._templates.print(name, {piece.name: value, "boundary": boundary, **more}, mend)

    def whole(self, parts: Sequence[tuple[Piece, str]], boundary: str) -> Safe:
        """Return the whole prompt as one text; each part comes with what its own template printed."""
        whole = self.template("prompt")
        shown = []
        for piece, text in parts:
            own = _syntax(self.template(piece.name))
            kept = own == _syntax(whole) or {own, _syntax(whole)} <= _VERBATIM
            shown.append(
                Fields(name=piece.name, role=piece.role, text=(Safe if kept else Content)(text))
            )
        mend = self._mend(whole, [text for _, text in parts])
        return self._templates.print(whole, {"parts": shown, "boundary": boundary}, mend)

    def _mend(self, name: str, before: Sequence[str]) -> Callable[[list[str]], list[str]] | None:
        """Return what keeps the pieces of a text from making a control token together, those of texts `before` aside:
        such a token is the caller's own, or the template's of a part.
        """
        if self._controls is None:
            return None
        spare = {text[start:end] for text in before for start, end in self._controls.find(text)}
        joints = Joints(self._controls, _syntax(name), spare)
        return lambda pieces: joints.mend(pieces).parts

    # --- what is the frame's own ------------------------------------------------------------------------------------

    def boundary(self, pieces: Sequence[Piece], *, whole: bool, citation: str | None) -> str:
        """Return what the templates put into their tags: nothing, or `-` and a word that is in none of `pieces`.

        `whole` says whether they are to be one text, so that the frame around them counts too. Raises `TemplateError`
        where a part holds a mark of the frame into which the templates put no boundary. In XML and JSON there is none:
        there what parts hold is escaped.
        """
        if whole and _syntax(self.template("prompt")) not in _VERBATIM:
            return ""
        marks = self._own.get((whole, citation))
        if marks is None:
            marks = self._own[whole, citation] = self._marks("", whole, citation)
        if not marks.tags and not marks.lines:
            return ""
        seen = [(lenient(text), piece.name in OWN) for piece in pieces for text in piece.texts]
        if not marks.among(seen):
            return ""
        word = free_word(text for text, _ in seen)
        left = self._marks(f"-{word}", whole, citation).without(word)
        held = left.among(seen)
        if held:
            message = (
                f"a part of the prompt holds {quote(held)}, which the templates print themselves;"
                " write {{ boundary }} into each tag or line of theirs, as <system{{ boundary }}>"
            )
            raise TemplateError(message, where=self.template("prompt" if whole else "question"))
        return f"-{word}"

    def bare(self, citation: str | None) -> str | None:
        """Return a tag or line of the frame around a whole prompt into which no template puts the boundary."""
        if _syntax(self.template("prompt")) not in _VERBATIM:
            return None
        word = free_word(())
        left = self._marks(f"-{word}", True, citation).without(word)
        tags = [f"<{tag}" for tag in sorted(left.tags)]
        lines = [
            "".join(part for part in line if isinstance(part, str)).strip() for line in left.lines
        ]
        return next(iter([*tags, *sorted(filter(None, lines))]), None)

    def lost(self, names: Iterable[str], *, whole: bool = True) -> list[tuple[str, str]]:
        """Return which of these parts the templates do not print, each with the template that leaves it out.

        It is told by printing a mark in the place of each; `whole`: as one text.
        """
        parts = tuple(dict.fromkeys(names))
        if (parts, whole) not in self._lost:
            self._lost[parts, whole] = self._find_lost(parts, whole)
        return self._lost[parts, whole]

    def _find_lost(self, names: tuple[str, ...], whole: bool) -> list[tuple[str, str]]:
        found, printed = [], []
        for name in names:
            marks = [f"{_HOLE}{name}{n}" for n in range(2 if name == "history" else 1)]
            messages = (
                Message("user", (Text(marks[0]),)),
                Message("assistant", (Text(marks[-1]),)),
            )
            piece = Piece(name, "user", marks[0], messages if name == "history" else ())
            text = str(self.part(piece, "", **({"citation": None} if name == "context" else {})))
            if all(mark in text.lower() for mark in marks):
                printed.append((piece, text))
            else:
                found.append((name, self.template(name)))
        shown = str(self.whole(printed, "")).lower() if whole else ""
        lost = [piece.name for piece, _ in printed if whole and f"{_HOLE}{piece.name}" not in shown]
        return [*found, *((name, self.template("prompt")) for name in lost)]

    def _marks(self, boundary: str, whole: bool, citation: str | None) -> _Marks:
        pieces = [
            Piece(part, role, _HOLE, _every_message() if part == "history" else ())
            for part in PARTS
            if whole or (part != "history" and _syntax(self.template(part)) in _VERBATIM)
            for role in _ROLES_OF.get(part, ("user",))
        ]
        around = {"citation": citation}
        printed = [
            str(self.part(p, boundary, **(around if p.name == "context" else {}))) for p in pieces
        ]
        text = (
            self.whole(list(zip(pieces, printed, strict=True)), boundary)
            if whole
            else "\n".join(printed)
        )
        return _Marks.of(str(text).replace(citation or _HOLE, _HOLE))


class _Marks(NamedTuple):
    """The tags and lines of a frame."""

    tags: frozenset[str]
    lines: frozenset[tuple[object, ...]]

    @classmethod
    def of(cls, skeleton: str) -> _Marks:
        lines = set()
        for line in lenient(skeleton, keep=_HOLE).split("\n"):
            parts: list[object] = []
            for n, static in enumerate(line.split(_HOLE)):
                parts += [VALUE] if n else []
                parts += [static] if static else []
            if any(part is not VALUE for part in parts):
                lines.add(tuple(parts))
        return cls(frozenset(_TAG.findall(lenient(skeleton))), frozenset(lines))

    def without(self, word: str) -> _Marks:
        """Return the marks that do not carry the boundary."""
        lines = frozenset(
            line for line in self.lines if not any(isinstance(p, str) and word in p for p in line)
        )
        return _Marks(frozenset(tag for tag in self.tags if word not in tag), lines)

    def among(self, texts: Sequence[tuple[str, bool]]) -> str | None:
        """Return the first mark that one of the texts holds; where a true stands beside it, a tag must be closed."""
        names = "|".join(map(re.escape, sorted(self.tags)))
        tag = re.compile(rf"<[\s/\\]*(?:{names})(?![\w.:-])") if names else None
        close = re.compile(rf"<\s*[/\\][\s/\\]*(?:{names})(?![\w.:-])") if names else None
        line = frame_pattern(self.lines)
        for text, own in texts:
            found = (close if own else tag).search(text) if tag and close and "<" in text else None
            found = found or (line.search(text) if line else None)
            if found:
                return found[0].strip()
        return None


def _syntax(name: str) -> str:
    return syntax_of(name.removesuffix(".j2").rpartition(".")[2])


def _endings(format: str) -> list[str]:  # noqa: A002
    """Return the endings of templates that suit a format, the nearest first: its own, its syntax's, plain text."""
    return list(
        dict.fromkeys(
            (EXTENSIONS.get(format, format), format.rpartition(".")[2], EXTENSIONS["plain"])
        )
    )


def _fields(message: Message, made: type[str]) -> Fields:
    calls = [
        Fields(id=b.id, name=b.name, arguments=made(b.arguments))
        for b in message.blocks
        if isinstance(b, Call)
    ]
    results = [
        Fields(id=b.id, name=b.name, text=made(b.text))
        for b in message.blocks
        if isinstance(b, Output)
    ]
    return Fields(role=message.role, text=made(message.text), calls=calls, results=results)


def _every_message() -> tuple[Message, ...]:
    """Return messages that make a template print all it can: each role, with texts, calls and results."""
    blocks = (Text(_HOLE), Call(_HOLE, _HOLE, _HOLE), Output(_HOLE, _HOLE, _HOLE))
    some = (blocks, blocks[:1], blocks[1:2], blocks[2:], blocks + blocks)
    return tuple(Message(role, each) for role in ROLES for each in some)
