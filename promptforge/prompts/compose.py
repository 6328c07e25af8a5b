"""Parts → messages, or one text; and their cost in tokens.

The context of a prompt: its text, or each item as a block that an answer can point at.

Break up control tokens in the question and the history, because strangers wrote parts of them.

The system text and the instructions are the caller's own and stay as they are.

The templates of whole prompts, and the proof that no part passes for text of the templates.

The templates' own tags and lines are found by printing them around nothing. If a part holds one of
these, the templates get a nonce to put into their tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ..config.options import PROMPT_PARTS, Options
from ..errors import OptionError, TemplateError, quote, suggest_name
from ..files import FORMAT_EXTENSIONS
from ..model import Result, ResultItem
from ..templating.autoescape import PRINTED_VALUE
from ..templating.language import Fields
from ..templating.loader import PROMPTS_FOLDER, Templates
from ..text.control_tokens import ControlTokens, TokenBreaker
from ..text.delimiters import pick_nonce, read_leniently, template_line_pattern
from ..text.escape import Content, Safe, syntax_of, to_label
from ..tokenizers.base import Counter
from .messages import (
    ROLES,
    CitedItem,
    Message,
    MessageBlock,
    Role,
    TextBlock,
    ToolCall,
    ToolOutput,
    block_texts,
    join_messages,
)


def break_up_controls(
    messages: Sequence[Message], controls: ControlTokens
) -> tuple[list[Message], int]:
    """Return the messages with every control token broken up, and the number of changes."""
    made, count = [], 0
    for message in messages:
        blocks = []
        for block in message.blocks:
            block, changes = _block(block, controls)
            blocks.append(block)
            count += changes
        made.append(Message(message.role, tuple(blocks), message.breaks))
    return made, count


def _block(block: MessageBlock, controls: ControlTokens) -> tuple[MessageBlock, int]:
    if isinstance(block, TextBlock):
        text, count = controls.break_up(block.text)
        return TextBlock(text), count
    assert not isinstance(block, CitedItem)  # made from items later, which have been treated
    # A chat template prints ids and names too.
    (id_, name), changes = controls.break_up_data([block.id, block.name])
    if isinstance(block, ToolOutput):
        text, count = controls.break_up(block.text)
        return ToolOutput(id_, name, text, block.failed), count + changes
    arguments, count = block.arguments, 0
    # A server may decode the escapes, so "\u003c|im_end|>" is a token too. The change is made in
    # the decoded texts, so that the arguments stay JSON.
    if "\\" in arguments or controls.holds(arguments):
        decoded, count = controls.break_up_data(json.loads(arguments))
        if count or controls.holds(arguments):
            arguments = json.dumps(decoded, ensure_ascii=False)
    return ToolCall(id_, name, arguments), count + changes


CALLERS_PARTS = ("system", "instructions")
"""Parts by the caller, who may name a tag in them; only closing one is forgery."""

# Stands in the place of a part's text while only the templates' own text is looked at.
_HOLE = "\ue07f"

_TAG = re.compile(r"<[\s/]*([a-z_][\w.:-]*)")

# The roles of the parts that are not always the user's.
_ROLES_OF = {"system": ("system", "developer", "user"), "history": ("",)}

# Syntaxes that print a text unescaped.
_VERBATIM = {"md", "txt"}


class GivenPart(NamedTuple):
    """One part of the prompt, before it is printed."""

    name: str
    role: str
    text: str
    messages: tuple[Message, ...] = ()
    """Those of the history; those of the context if its items are citable blocks."""

    @property
    def texts(self) -> list[str]:
        """Every text that somebody else may have written."""
        return [text for message in self.messages for text in message_texts(message)] or [self.text]


def message_texts(message: Message) -> list[str]:
    """Return every text of a message, plain text joined."""
    # Joined, because "<" and "system>" in two blocks are a tag together.
    texts = [message.text]
    for block in message.blocks:
        if not isinstance(block, TextBlock):
            texts += block_texts(block)
    return texts


class PromptTemplates:
    """A set of prompt templates in one format, with the marks that it prints around nothing."""

    def __init__(
        self,
        templates: Templates,
        name: str,
        format: str,
        controls: ControlTokens | None = None,
    ) -> None:
        """Find the set `name`; the set `default` fills its gaps. No text may print `controls`.

        Raises `OptionError` if there is no such set.
        """
        known = templates.prompts()
        own = name.removeprefix("shipped/")
        if own not in known:
            message = (
                f"there is no set of prompt templates {quote(name)}{suggest_name(name, known)}"
            )
            raise OptionError(message, option="prompt", absent=name)
        self._templates = templates
        self._controls = controls
        origin = name.removesuffix(own)
        self._folders = [f"{origin}{PROMPTS_FOLDER}/{own}", f"{PROMPTS_FOLDER}/default"]
        # Nearest first: the format's own ending, its syntax's, plain text.
        endings = (
            FORMAT_EXTENSIONS.get(format, format),
            format.rpartition(".")[2],
            FORMAT_EXTENSIONS["plain"],
        )
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
                hint = suggest_name(names[0], self._templates.names())
                raise TemplateError(f"there is no template {quote(names[0])}{hint}")
            self._found[part] = found
        return self._found[part]

    def files(self, parts: Iterable[str]) -> list[str]:
        """Return the names of the templates that print these parts."""
        return sorted({self.template(part) for part in parts})

    # --- printing ---

    def part(self, piece: GivenPart, boundary: str, **more: Any) -> Safe:
        """Print a part by its template."""
        name = self.template(piece.name)
        made: type[Safe] | type[Content] = Content
        if _syntax(name) in _VERBATIM or piece.name == "context":
            made = Safe
        value: Any = made(piece.text)
        if piece.name == "history":
            value = [_fields(message, made) for message in piece.messages]
        mend = None
        if piece.name not in CALLERS_PARTS:
            mend = self._mend(name, ())
        return self._templates.print(name, {piece.name: value, "boundary": boundary, **more}, mend)

    def whole(self, parts: Sequence[tuple[GivenPart, str]], boundary: str) -> Safe:
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
        joints = TokenBreaker(self._controls, _syntax(name), spare)
        return lambda pieces: joints.break_up(pieces).parts

    # --- the templates' own text ---

    def boundary(self, pieces: Sequence[GivenPart], *, whole: bool, citation: str | None) -> str:
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
            (read_leniently(text), piece.name in CALLERS_PARTS)
            for piece in pieces
            for text in piece.texts
        ]
        if not marks.among(seen):
            return ""
        word = pick_nonce(text for text, _ in seen)
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
        left = self._bare_marks(pick_nonce(()), True, citation)
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
                    Message("user", (TextBlock(marks[0]),)),
                    Message("assistant", (TextBlock(marks[1]),)),
                )
            piece = GivenPart(name, "user", marks[0], messages)
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

    def _sample(self, piece: GivenPart, boundary: str, citation: str | None) -> str:
        if piece.name == "context":
            return str(self.part(piece, boundary, citation=citation))
        return str(self.part(piece, boundary))

    def _marks(self, boundary: str, whole: bool, citation: str | None) -> _Marks:
        """Print all parts around nothing, in every role and with every kind of message."""
        pieces = [
            GivenPart(part, role, _HOLE, _every_message() if part == "history" else ())
            for part in PROMPT_PARTS
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
        for line in read_leniently(skeleton, keep=_HOLE).split("\n"):
            parts: list[object] = []
            for n, static in enumerate(line.split(_HOLE)):
                if n:
                    parts.append(PRINTED_VALUE)
                if static:
                    parts.append(static)
            if any(part is not PRINTED_VALUE for part in parts):
                lines.add(tuple(parts))
        return cls(frozenset(_TAG.findall(read_leniently(skeleton))), frozenset(lines))

    def among(self, texts: Sequence[tuple[str, bool]]) -> str | None:
        """Return the first mark in the texts; in a text with `True`, only a closing tag counts."""
        names = "|".join(map(re.escape, sorted(self.tags)))
        tag = re.compile(rf"<[\s/\\]*(?:{names})(?![\w.:-])")
        close = re.compile(rf"<\s*[/\\][\s/\\]*(?:{names})(?![\w.:-])")
        line = template_line_pattern(self.lines)
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
        if isinstance(block, ToolCall):
            calls.append(Fields(id=block.id, name=block.name, arguments=made(block.arguments)))
        elif isinstance(block, ToolOutput):
            results.append(Fields(id=block.id, name=block.name, text=made(block.text)))
    return Fields(role=message.role, text=made(message.text), calls=calls, results=results)


def _every_message() -> tuple[Message, ...]:
    """Return messages that make a template print all it can: each role with each kind of block."""
    blocks = (TextBlock(_HOLE), ToolCall(_HOLE, _HOLE, _HOLE), ToolOutput(_HOLE, _HOLE, _HOLE))
    some = (blocks, blocks[:1], blocks[1:2], blocks[2:], blocks + blocks)
    return tuple(Message(role, each) for role in ROLES for each in some)


class PromptContext(NamedTuple):
    """The context to show: a text, or blocks that answers can point at."""

    text: str
    cited: tuple[CitedItem, ...] = ()


class PrintedPart(NamedTuple):
    """One part as it stands in the prompt."""

    name: str
    role: str
    text: str
    messages: tuple[Message, ...] = ()
    """Its messages in the request; none if the prompt is one text."""


class ComposedPrompt(NamedTuple):
    """A finished prompt, before it takes the shape of a provider."""

    messages: tuple[Message, ...]
    text: str | None
    """The one text, if one text was asked for."""
    parts: tuple[PrintedPart, ...]
    """The parts in the prompt's order; a part named twice is there twice."""
    boundary: str
    """The nonce in the tags of the templates; empty if no part imitates a tag."""
    tokens: int
    """Tokens of the window, with the LLM's own overhead as far as it is known."""


class Composer:
    """Composes one prompt, as often as fitting it takes."""

    def __init__(
        self,
        frame: PromptTemplates,
        options: Options,
        counter: Counter,
        fixed: Mapping[str, str],
        *,
        whole: bool,
        blocks: bool,
        native: bool,
    ) -> None:
        """Take the texts `fixed` of system, instructions and question.

        `whole`: make one text. `blocks`: the shape keeps the texts of a message apart. `native`:
        the provider asks for citations itself.
        """
        self.whole = whole
        self._frame = frame
        self._options = options
        self._counter = counter
        self._fixed = fixed
        self._blocks = blocks
        self._citation: str | None = None
        if options.cite and not native:
            self._citation = options.citation
        self._counts: dict[str, int] = {}

    def compose(self, context: PromptContext | None, history: Sequence[Message]) -> ComposedPrompt:
        """Return the prompt with this context and history; raises `TemplateError`."""
        pieces = self._pieces(context, history)
        boundary = self._frame.boundary(pieces, whole=self.whole, citation=self._citation)
        printed = [(piece, self._print(piece, boundary)) for piece in pieces]
        text = None
        if self.whole:
            parts = tuple(PrintedPart(piece.name, piece.role, text) for piece, text in printed)
            text = str.__str__(self._frame.whole(printed, boundary))
            messages = [Message("user", (TextBlock(text),))]
        else:
            parts = tuple(self._part(piece, text) for piece, text in printed)
            messages = self._joined(parts)
        tokens = self._options.prompt_tokens + sum(map(self.price, messages))
        return ComposedPrompt(tuple(messages), text, parts, boundary, tokens)

    def turn_prices(self, turns: Sequence[Sequence[Message]]) -> list[int]:
        """Estimate the cost of each turn of a history, rather too high than too low."""
        if not self.whole:
            return [sum(map(self.price, turn)) + len(turn) for turn in turns]
        pieces = self._pieces(None, [message for turn in turns for message in turn])
        boundary = self._frame.boundary(pieces, whole=True, citation=self._citation)
        texts = (
            self._frame.part(GivenPart("history", "", "", tuple(turn)), boundary) for turn in turns
        )
        return [self.count(text) + 2 for text in texts]

    def recount(self, composed: ComposedPrompt, counter: Counter) -> int:
        """Return the prompt's tokens by another counter, called once with all texts joined."""
        blocks = [block for message in composed.messages for block in message.blocks]
        others = sum(not isinstance(block, TextBlock) for block in blocks)
        overhead = self._options.message_tokens * (len(composed.messages) + others)
        texts = [text for block in blocks for text in block_texts(block)]
        return self._options.prompt_tokens + overhead + counter.count("\n\n".join(texts))

    def count(self, text: str) -> int:
        """Return the tokens of a text, counted once."""
        if text not in self._counts:
            self._counts[text] = self._counter.count(text)
        return self._counts[text]

    def price(self, message: Message) -> int:
        """Return the cost of a message, with the overhead of it and its blocks."""
        texts = [block.text for block in message.blocks if isinstance(block, TextBlock)]
        if self._blocks:
            tokens = sum(map(self.count, texts)) + max(0, len(texts) - 1)
        else:
            tokens = self.count("\n\n".join(texts))
        return self._options.message_tokens + tokens + sum(map(self._extra, message.blocks))

    def _extra(self, block: MessageBlock) -> int:
        """Return the cost of a block that is no text."""
        if isinstance(block, TextBlock):
            return 0
        overhead = self._options.message_tokens
        if isinstance(block, ToolCall):
            # Many LLMs are shown each argument in tags of its own, so each costs an overhead.
            overhead = self._options.call_tokens * (1 + len(json.loads(block.arguments)))
        elif isinstance(block, ToolOutput):
            overhead = self._options.call_tokens
        return overhead + sum(map(self.count, block_texts(block)))

    # --- parts ---

    def _pieces(self, context: PromptContext | None, history: Sequence[Message]) -> list[GivenPart]:
        pieces = []
        for name in self._options.prompt_order:
            if name == "history":
                if history:
                    pieces.append(GivenPart(name, "", "", tuple(history)))
            elif name == "context":
                if context is not None:
                    cited = (Message("user", context.cited),) if context.cited else ()
                    pieces.append(GivenPart(name, "user", context.text, cited))
            elif self._fixed.get(name):
                role = self._options.system_role if name == "system" else "user"
                pieces.append(GivenPart(name, role, self._fixed[name]))
        return pieces

    def _print(self, piece: GivenPart, boundary: str) -> str:
        if piece.name == "history" and not self.whole:
            return "\n\n".join(filter(None, piece.texts))
        more = {}
        if piece.name == "context":
            more["citation"] = self._citation
        return str.__str__(self._frame.part(piece, boundary, **more))

    def _part(self, piece: GivenPart, text: str) -> PrintedPart:
        if piece.name == "history":
            return PrintedPart(piece.name, piece.role, text, piece.messages)
        blocks = [block for message in piece.messages for block in message.blocks]
        texts = [each for block in blocks for each in block_texts(block)]
        said = "\n\n".join(filter(None, [*texts, text]))
        if text.strip():
            blocks.append(TextBlock(text))
        role: Role = piece.role  # type: ignore[assignment]
        messages = (Message(role, tuple(blocks)),) if blocks else ()
        return PrintedPart(piece.name, piece.role, said, messages)

    def _joined(self, parts: Sequence[PrintedPart]) -> list[Message]:
        """Join the messages of the parts, with a mark where a prefix to be cached ends."""
        messages: list[Message] = []
        marked = set(self._options.cache_after or ())
        for part in parts:
            own = list(part.messages)
            # The prefix ends at the first place of a part that comes twice.
            if part.name in marked and own:
                marked.discard(part.name)
                last = own.pop()
                own.append(Message(last.role, last.blocks, (len(last.blocks),)))
            messages += own
        return join_messages(messages)

    def lost(self, composed: ComposedPrompt) -> list[tuple[str, str]]:
        """Return parts that the templates do not print, each with the template at fault."""
        names = [part.name for part in composed.parts if self.whole or part.name in self._fixed]
        return self._frame.lost(names, whole=self.whole)

    @cached_property
    def files(self) -> list[str]:
        """Names of the templates that may print this prompt."""
        if self.whole:
            return self._frame.files([*self._options.prompt_order, "prompt"])
        return self._frame.files(name for name in self._options.prompt_order if name != "history")


MAX_TITLE_CHARS = 200
"""Characters of a title or a source that are kept."""


def show_context(
    result: Result, cited: bool, controls: ControlTokens | None
) -> PromptContext | None:
    """Return the context to print; `None` if it holds no item.

    `controls` are broken up in titles and sources; the rendering has done so in the texts.
    """
    if not result.items_included:
        return None
    if not cited:
        text = result.text.strip("\n")
        return PromptContext(text) if text else None
    blocks = tuple(_cited(item, controls) for item in _in_order(result) if item.text.strip())
    return PromptContext("", blocks) if blocks else None


def _in_order(result: Result) -> list[ResultItem]:
    """Return the items of the text in its order; several may share an id."""
    by_id: dict[str, list[ResultItem]] = {}
    for item in result.report.brief:
        if item.status != "dropped":
            by_id.setdefault(item.id, []).append(item)
    names = [name for section in result.sections for name in section.items]
    return [by_id[name].pop(0) for name in names if by_id.get(name)]


def _cited(item: ResultItem, controls: ControlTokens | None) -> CitedItem:
    source = item.path or item.name or item.id
    title = item.name or item.path or item.id
    if item.line_range and item.path:
        title = f"{title} ({item.line_range})"
    title, source = to_label(title), to_label(source)
    if controls is not None:
        title, source = controls.break_up(title)[0], controls.break_up(source)[0]
    found = item.origin == "similarity"
    return CitedItem(title[:MAX_TITLE_CHARS], source[:MAX_TITLE_CHARS], item.text, found)
