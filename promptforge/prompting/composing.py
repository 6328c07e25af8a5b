"""Parts → messages, or one text; and their cost in tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from ..counting import Counter
from ..options import Options
from .frame import Frame, Piece
from .messages import Block, Call, Cited, Message, Output, Role, Text, join, texts_of


class Context(NamedTuple):
    """The context to show: a text, or blocks that answers can point at."""

    text: str
    cited: tuple[Cited, ...] = ()


class Printed(NamedTuple):
    """One part as it stands in the prompt."""

    name: str
    role: str
    text: str
    messages: tuple[Message, ...] = ()
    """Its messages in the request; none if the prompt is one text."""


class Composed(NamedTuple):
    """A finished prompt, before it takes the shape of a provider."""

    messages: tuple[Message, ...]
    text: str | None
    """The one text, if one text was asked for."""
    parts: tuple[Printed, ...]
    """The parts in the prompt's order; a part named twice is there twice."""
    boundary: str
    """The nonce in the tags of the templates; empty if no part imitates a tag."""
    tokens: int
    """Tokens of the window, with the LLM's own overhead as far as it is known."""


class Composer:
    """Composes one prompt, as often as fitting it takes."""

    def __init__(
        self,
        frame: Frame,
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

    def compose(self, context: Context | None, history: Sequence[Message]) -> Composed:
        """Return the prompt with this context and history; raises `TemplateError`."""
        pieces = self._pieces(context, history)
        boundary = self._frame.boundary(pieces, whole=self.whole, citation=self._citation)
        printed = [(piece, self._print(piece, boundary)) for piece in pieces]
        text = None
        if self.whole:
            parts = tuple(Printed(piece.name, piece.role, text) for piece, text in printed)
            text = str.__str__(self._frame.whole(printed, boundary))
            messages = [Message("user", (Text(text),))]
        else:
            parts = tuple(self._part(piece, text) for piece, text in printed)
            messages = self._joined(parts)
        tokens = self._options.prompt_tokens + sum(map(self.price, messages))
        return Composed(tuple(messages), text, parts, boundary, tokens)

    def turn_prices(self, turns: Sequence[Sequence[Message]]) -> list[int]:
        """Estimate the cost of each turn of a history, rather too high than too low."""
        if not self.whole:
            return [sum(map(self.price, turn)) + len(turn) for turn in turns]
        pieces = self._pieces(None, [message for turn in turns for message in turn])
        boundary = self._frame.boundary(pieces, whole=True, citation=self._citation)
        texts = (
            self._frame.part(Piece("history", "", "", tuple(turn)), boundary) for turn in turns
        )
        return [self.count(text) + 2 for text in texts]

    def recount(self, composed: Composed, counter: Counter) -> int:
        """Return the prompt's tokens by another counter, called once with all texts joined."""
        blocks = [block for message in composed.messages for block in message.blocks]
        others = sum(not isinstance(block, Text) for block in blocks)
        overhead = self._options.message_tokens * (len(composed.messages) + others)
        texts = [text for block in blocks for text in texts_of(block)]
        return self._options.prompt_tokens + overhead + counter.count("\n\n".join(texts))

    def count(self, text: str) -> int:
        """Return the tokens of a text, counted once."""
        if text not in self._counts:
            self._counts[text] = self._counter.count(text)
        return self._counts[text]

    def price(self, message: Message) -> int:
        """Return the cost of a message, with the overhead of it and its blocks."""
        texts = [block.text for block in message.blocks if isinstance(block, Text)]
        if self._blocks:
            tokens = sum(map(self.count, texts)) + max(0, len(texts) - 1)
        else:
            tokens = self.count("\n\n".join(texts))
        return self._options.message_tokens + tokens + sum(map(self._extra, message.blocks))

    def _extra(self, block: Block) -> int:
        """Return the cost of a block that is no text."""
        if isinstance(block, Text):
            return 0
        overhead = self._options.message_tokens
        if isinstance(block, Call):
            # Many LLMs are shown each argument in tags of its own, so each costs an overhead.
            overhead = self._options.call_tokens * (1 + len(json.loads(block.arguments)))
        elif isinstance(block, Output):
            overhead = self._options.call_tokens
        return overhead + sum(map(self.count, texts_of(block)))

    # --- parts ---

    def _pieces(self, context: Context | None, history: Sequence[Message]) -> list[Piece]:
        pieces = []
        for name in self._options.prompt_order:
            if name == "history":
                if history:
                    pieces.append(Piece(name, "", "", tuple(history)))
            elif name == "context":
                if context is not None:
                    cited = (Message("user", context.cited),) if context.cited else ()
                    pieces.append(Piece(name, "user", context.text, cited))
            elif self._fixed.get(name):
                role = self._options.system_role if name == "system" else "user"
                pieces.append(Piece(name, role, self._fixed[name]))
        return pieces

    def _print(self, piece: Piece, boundary: str) -> str:
        if piece.name == "history" and not self.whole:
            return "\n\n".join(filter(None, piece.texts))
        more = {}
        if piece.name == "context":
            more["citation"] = self._citation
        return str.__str__(self._frame.part(piece, boundary, **more))

    def _part(self, piece: Piece, text: str) -> Printed:
        if piece.name == "history":
            return Printed(piece.name, piece.role, text, piece.messages)
        blocks = [block for message in piece.messages for block in message.blocks]
        texts = [each for block in blocks for each in texts_of(block)]
        said = "\n\n".join(filter(None, [*texts, text]))
        if text.strip():
            blocks.append(Text(text))
        role: Role = piece.role  # type: ignore[assignment]
        messages = (Message(role, tuple(blocks)),) if blocks else ()
        return Printed(piece.name, piece.role, said, messages)

    def _joined(self, parts: Sequence[Printed]) -> list[Message]:
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
        return join(messages)

    def lost(self, composed: Composed) -> list[tuple[str, str]]:
        """Return parts that the templates do not print, each with the template at fault."""
        names = [part.name for part in composed.parts if self.whole or part.name in self._fixed]
        return self._frame.lost(names, whole=self.whole)

    @cached_property
    def files(self) -> list[str]:
        """Names of the templates that may print this prompt."""
        if self.whole:
            return self._frame.files([*self._options.prompt_order, "prompt"])
        return self._frame.files(name for name in self._options.prompt_order if name != "history")
