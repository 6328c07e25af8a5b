"""The templates of whole prompts, and the proof that no part passes for text of the templates.

The templates' own tags and lines are found by printing them around nothing. If a part holds one of
these, the templates get a nonce to put into their tags.
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

CALLERS_OWN = ("system", "instructions")
"""Parts by the caller, who may name a tag in them; only closing one is forgery."""

# Stands in the place of a part's text while only the templates' own text is looked at.
_HOLE = "\ue07f"
_TAG = re.compile(r"<[\s/]*([a-z_][\w.:-]*)")
# The roles of the parts that are not always the user's.
_ROLES_OF = {"system": ("system", "developer", "user"), "history": ("",)}
# Syntaxes that print a text unescaped.
_VERBATIM = {"md", "txt"}


class Piece(NamedTuple):
    """One part of the prompt, before it is printed."""

    name: str
    role: str
    text: str
    messages: tuple[Message, ...] = ()
    """Those of the history; those of the context if its items are citable blocks."""

    @property
    def texts(self) -> list[str]:
        """Every text that somebody else may have written."""
        return [text for message in self.messages for text in texts_in(message)] or [self.text]


def texts_in(message: Message) -> list[str]:
    """Return every text of a message, plain text joined."""
    # Joined, because "<" and "system>" in two blocks are a tag together.
    texts = [message.text]
    for block in message.blocks:
        if not isinstance(block, Text):
            texts += texts_of(block)
    return texts


class Frame:
    """A set of prompt templates in one format, with the marks that it prints around nothing."""

    def __init__(
        self,
        templates: Templates,
        name: str,
        format: str,  # noqa: A002
        controls: Controls | None = None,
    ) -> None:
        """Find the set `name`; the set `default` fills its gaps. No text may print `controls`.

        Raises `OptionError` if there is no such set.
        """
        known = templates.prompts()
        own = name.removeprefix("shipped/")
        if own not in known:
            message = f"there is no set of prompt templates {quote(name)}{nearest(name, known)}"
            raise OptionError(message, option="prompt", absent=name)
        self._templates = templates
        self._controls = controls
        origin = name.removesuffix(own)
        self._folders = [f"{origin}{PROMPTS}/{own}", f"{PROMPTS}/default"]
        # Nearest first: the format's own ending, its syntax's, plain text.
        endings = (EXTENSIONS.get(format, format), format.rpartition(".")[2], EXTENSIONS["plain"])
        self._endings = list(dict.fromkeys(endings))
        self._found: dict[str, str] = {}
        self._own: dict[tuple[bool, str | None], _Marks] = {}
        self._lost: dict[tuple[tuple[str, ...], bool], list[tuple[str, str]]] = {}

    def template(self, part: str) -> str:
        """Return the name of the template that prints a part; `prompt` is the whole."""
        if part not in self._found:
            names = [
                f"{folder}/{part}.{end}.j2" for folder in self._folders for end in self._endings
            ]
            found = next(filter(self._templates.find, names), None)
            if found is None:
                hint = nearest(names[0], self._templates.names())
                raise TemplateError(f"there is no template {quote(names[0])}{hint}")
            self._found[part] = found
        return self._found[part]

    def files(self, parts: Iterable[str]) -> list[str]:
        """Return the names of the templates that print these parts."""
        return sorted({self.template(part) for part in parts})

    # --- printing ---

    def part(self, piece: Piece, boundary: str, **more: Any) -> Safe:
        """Print a part by its template."""
        name = self.template(piece.name)
        made: type[Safe] | type[Content] = Content
        if _syntax(name) in _VERBATIM or piece.name == "context":
            made = Safe
        value: Any = made(piece.text)
        if piece.name == "history":
            value = [_fields(message, made) for message in piece.messages]
        mend = None
        if piece.name not in CALLERS_OWN:
            mend = self._mend(name, ())
        return self._templates.print(name, {piece.name: value, "boundary": boundary, **more}, mend)

    def whole(self, parts: Sequence[tuple[Piece, str]], boundary: str) -> Safe:
        """Print the whole prompt as one text; each part comes with the text of its template."""
        whole = self.template("prompt")
        syntax = _syntax(whole)
        shown = []
        for piece, text in parts:
            own = _syntax(self.template(piece.name))
            made: type[Safe] | type[Content] = Content
            if own == syntax or {own, syntax} <= _VERBATIM:
                made = Safe
            shown.append(Fields(name=piece.name, role=piece.role, text=made(text)))
        mend = self._mend(whole, [text for _, text in parts])
        return self._templates.print(whole, {"parts": shown, "boundary": boundary}, mend)

    def _mend(self, name: str, before: Sequence[str]) -> Callable[[list[str]], list[str]] | None:
        """Return the function that breaks up control tokens at the joints of a printed text.

        Tokens inside of the texts `before` are left: they are the caller's own or a template's.
        """
        if self._controls is None:
            return None
        spare = {text[start:end] for text in before for start, end in self._controls.find(text)}
        joints = Joints(self._controls, _syntax(name), spare)
        return lambda pieces: joints.mend(pieces).parts

    # --- the templates' own text ---

    def boundary(self, pieces: Sequence[Piece], *, whole: bool, citation: str | None) -> str:
        """Return the text for the templates' tags: empty, or `-` and a nonce that no piece holds.

        `whole`: the pieces become one text, so the text around them counts too.

        Raises `TemplateError` if a part holds a mark that carries no boundary.
        """
        # XML and JSON escape the parts, so nothing in them passes for a tag.
        if whole and _syntax(self.template("prompt")) not in _VERBATIM:
            return ""
        marks = self._own.get((whole, citation))
        if marks is None:
            marks = self._own[whole, citation] = self._marks("", whole, citation)
        if not marks.tags and not marks.lines:
            return ""
        seen = [
            (lenient(text), piece.name in CALLERS_OWN) for piece in pieces for text in piece.texts
        ]
        if not marks.among(seen):
            return ""
        word = free_word(text for text, _ in seen)
        held = self._bare_marks(word, whole, citation).among(seen)
        if held:
            message = (
                f"a part of the prompt holds {quote(held)}, which the templates print themselves;"
                " write {{ boundary }} into each tag or line of theirs, as <system{{ boundary }}>"
            )
            raise TemplateError(message, where=self.template("prompt" if whole else "question"))
        return f"-{word}"

    def bare(self, citation: str | None) -> str | None:
        """Return a tag or line of the templates of a whole prompt that carries no boundary."""
        if _syntax(self.template("prompt")) not in _VERBATIM:
            return None
        left = self._bare_marks(free_word(()), True, citation)
        tags = [f"<{tag}" for tag in sorted(left.tags)]
        lines = [
            "".join(part for part in line if isinstance(part, str)).strip() for line in left.lines
        ]
        return next(iter([*tags, *sorted(filter(None, lines))]), None)

    def lost(self, names: Iterable[str], *, whole: bool = True) -> list[tuple[str, str]]:
        """Return those of these parts that are not printed, each with the template at fault.

        A mark is printed in the place of each; `whole`: as one text.
        """
        parts = tuple(dict.fromkeys(names))
        if (parts, whole) not in self._lost:
            self._lost[parts, whole] = self._find_lost(parts, whole)
        return self._lost[parts, whole]

    def _find_lost(self, names: tuple[str, ...], whole: bool) -> list[tuple[str, str]]:
        found, printed = [], []
        for name in names:
            marks = [f"{_HOLE}{name}0"]
            messages: tuple[Message, ...] = ()
            if name == "history":  # of both sides: a template may print one of them alone
                marks.append(f"{_HOLE}{name}1")
                messages = (
                    Message("user", (Text(marks[0]),)),
                    Message("assistant", (Text(marks[1]),)),
                )
            piece = Piece(name, "user", marks[0], messages)
            text = self._sample(piece, "", None)
            # A template may change capitals, and has printed the part all the same.
            if all(mark in text.lower() for mark in marks):
                printed.append((piece, text))
            else:
                found.append((name, self.template(name)))
        if whole:
            shown = str(self.whole(printed, "")).lower()
            lost = [piece.name for piece, _ in printed if f"{_HOLE}{piece.name}" not in shown]
            found += [(name, self.template("prompt")) for name in lost]
        return found

    def _sample(self, piece: Piece, boundary: str, citation: str | None) -> str:
        if piece.name == "context":
            return str(self.part(piece, boundary, citation=citation))
        return str(self.part(piece, boundary))

    def _marks(self, boundary: str, whole: bool, citation: str | None) -> _Marks:
        """Print all parts around nothing, in every role and with every kind of message."""
        pieces = [
            Piece(part, role, _HOLE, _every_message() if part == "history" else ())
            for part in PARTS
            if whole or (part != "history" and _syntax(self.template(part)) in _VERBATIM)
            for role in _ROLES_OF.get(part, ("user",))
        ]
        printed = [self._sample(piece, boundary, citation) for piece in pieces]
        text = "\n".join(printed)
        if whole:
            text = str(self.whole(list(zip(pieces, printed, strict=True)), boundary))
        return _Marks.of(text.replace(citation or _HOLE, _HOLE))

    def _bare_marks(self, word: str, whole: bool, citation: str | None) -> _Marks:
        """Return the marks that do not carry the boundary `-word`."""
        marks = self._marks(f"-{word}", whole, citation)
        lines = (
            line for line in marks.lines if not any(isinstance(p, str) and word in p for p in line)
        )
        return _Marks(frozenset(tag for tag in marks.tags if word not in tag), frozenset(lines))


class _Marks(NamedTuple):
    """The tags and lines that templates print themselves."""

    tags: frozenset[str]
    lines: frozenset[tuple[object, ...]]

    @classmethod
    def of(cls, skeleton: str) -> _Marks:
        """Read the marks in a text with holes."""
        lines = set()
        for line in lenient(skeleton, keep=_HOLE).split("\n"):
            parts: list[object] = []
            for n, static in enumerate(line.split(_HOLE)):
                if n:
                    parts.append(VALUE)
                if static:
                    parts.append(static)
            if any(part is not VALUE for part in parts):
                lines.add(tuple(parts))
        return cls(frozenset(_TAG.findall(lenient(skeleton))), frozenset(lines))

    def among(self, texts: Sequence[tuple[str, bool]]) -> str | None:
        """Return the first mark in the texts; in a text with `True`, only a closing tag counts."""
        names = "|".join(map(re.escape, sorted(self.tags)))
        tag = re.compile(rf"<[\s/\\]*(?:{names})(?![\w.:-])")
        close = re.compile(rf"<\s*[/\\][\s/\\]*(?:{names})(?![\w.:-])")
        line = frame_pattern(self.lines)
        for text, callers_own in texts:
            found = None
            if names and "<" in text:
                found = (close if callers_own else tag).search(text)
            if not found and line:
                found = line.search(text)
            if found:
                return found[0].strip()
        return None


def _syntax(name: str) -> str:
    return syntax_of(name.removesuffix(".j2").rpartition(".")[2])


def _fields(message: Message, made: type[str]) -> Fields:
    """Return a message as the templates see it."""
    calls, results = [], []
    for block in message.blocks:
        if isinstance(block, Call):
            calls.append(Fields(id=block.id, name=block.name, arguments=made(block.arguments)))
        elif isinstance(block, Output):
            results.append(Fields(id=block.id, name=block.name, text=made(block.text)))
    return Fields(role=message.role, text=made(message.text), calls=calls, results=results)


def _every_message() -> tuple[Message, ...]:
    """Return messages that make a template print all it can: each role with each kind of block."""
    blocks = (Text(_HOLE), Call(_HOLE, _HOLE, _HOLE), Output(_HOLE, _HOLE, _HOLE))
    some = (blocks, blocks[:1], blocks[1:2], blocks[2:], blocks + blocks)
    return tuple(Message(role, each) for role in ROLES for each in some)
