"""Parts → messages, and where it is wanted one text; and what these cost."""

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
    """What retrieval gave, as it is to be shown: a text, or blocks that answers can point at."""

    text: str
    cited: tuple[Cited, ...] = ()


class Printed(NamedTuple):
    """One part as it stands in the prompt."""

    name: str
    role: str
    text: str
    messages: tuple[Message, ...] = ()
    """As they go into the request; none where the prompt is one text."""


class Composed(NamedTuple):
    """A finished prompt, before it takes the shape of a provider."""

    messages: tuple[Message, ...]
    text: str | None
    """The one text, where that is what was asked for."""
    parts: tuple[Printed, ...]
    """In the order of the prompt; a part that comes twice is there twice."""
    boundary: str
    """What the templates put into their tags; empty where nothing imitates them."""
    tokens: int
    """What it takes of the window, the LLM's own frame included, as far as that is known."""


class Composer:
    """Puts the parts of one prompt together, as often as fitting them takes."""

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
        """Make one for the texts `fixed` of system, instructions and question.

        `whole`: as one text. `blocks`: the shape keeps the blocks of a message apart. `native`: the provider asks for
        citations itself.
        """
        self.whole = whole
        self._frame = frame
        self._options = options
        self._counter = counter
        self._fixed = fixed
        self._blocks = blocks
        self._citation = options.citation if options.cite and not native else None
        self._counts: dict[str, int] = {}

    def compose(self, context: Context | None, history: Sequence[Message]) -> Composed:
        """Return the prompt with this context and this history; raises `TemplateError`."""
        pieces = self._pieces(context, history)
        boundary = self._frame.boundary(pieces, whole=self.whole, citation=self._citation)
        printed = [(piece, self._print(piece, boundary)) for piece in pieces]
        if self.whole:
            parts = tuple(Printed(piece.name, piece.role, text) for piece, text in printed)
            text = str.__str__(self._frame.whole(printed, boundary))
            message = Message("user", (Text(text),))
            tokens = self._options.prompt_tokens + self.price(message)
            return Composed((message,), text, parts, boundary, tokens)
        parts = tuple(self._part(piece, text) for piece, text in printed)
        messages = tuple(self._joined(parts))
        tokens = self._options.prompt_tokens + sum(map(self.price, messages))
        return Composed(messages, None, parts, boundary, tokens)

    def turn_prices(self, turns: Sequence[Sequence[Message]]) -> list[int]:
        """Return about what each turn of a history costs, rather too much than too little."""
        if not self.whole:
            return [sum(map(self.price, turn)) + len(turn) for turn in turns]
        pieces = self._pieces(None, [message for turn in turns for message in turn])
        boundary = self._frame.boundary(pieces, whole=True, citation=self._citation)
        texts = (
            self._frame.part(Piece("history", "", "", tuple(turn)), boundary) for turn in turns
        )
        return [self.count(text) + 2 for text in texts]

    def recount(self, composed: Composed, counter: Counter) -> int:
        """Return what a prompt takes by another counter, which is asked once: for all its texts together."""
        texts = [
            text
            for message in composed.messages
            for block in message.blocks
            for text in texts_of(block)
        ]
        framed = len(composed.messages) + sum(
            not isinstance(b, Text) for m in composed.messages for b in m.blocks
        )
        own = self._options.prompt_tokens + self._options.message_tokens * framed
        return own + counter.count("\n\n".join(texts))

    def count(self, text: str) -> int:
        """Return the tokens of a text, counted once."""
        if text not in self._counts:
            self._counts[text] = self._counter.count(text)
        return self._counts[text]

    def price(self, message: Message) -> int:
        """Return what a message costs, the frame around it and its blocks included."""
        texts = [block.text for block in message.blocks if isinstance(block, Text)]
        if self._blocks:
            tokens = sum(map(self.count, texts)) + max(0, len(texts) - 1)
        else:
            tokens = self.count("\n\n".join(texts))
        return self._options.message_tokens + tokens + sum(map(self._extra, message.blocks))

    def _extra(self, block: Block) -> int:
        """Return what a block costs that is no text: its own texts, and the frame around them.

        Many LLMs are shown each argument of a call in tags of its own, so each is taken to cost a frame.
        """
        if isinstance(block, Text):
            return 0
        around = self._options.message_tokens
        if isinstance(block, Call):
            around = self._options.call_tokens * (1 + len(json.loads(block.arguments)))
        elif isinstance(block, Output):
            around = self._options.call_tokens
        return around + sum(map(self.count, texts_of(block)))

    # --- parts ------------------------------------------------------------------------------------------------------

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
            return "\n\n".join(text for text in piece.texts if text)
        more = {"citation": self._citation} if piece.name == "context" else {}
        return str.__str__(self._frame.part(piece, boundary, **more))

    def _part(self, piece: Piece, text: str) -> Printed:
        if piece.name == "history":
            return Printed(piece.name, piece.role, text, piece.messages)
        role: Role = piece.role  # type: ignore[assignment]
        cited = [block for message in piece.messages for block in message.blocks]
        message = Message(role, (*cited, *((Text(text),) if text.strip() else ())))
        said = "\n\n".join(
            filter(None, [*(each for block in cited for each in texts_of(block)), text])
        )
        return Printed(piece.name, role, said, (message,) if message.blocks else ())

    def _joined(self, parts: Sequence[Printed]) -> list[Message]:
        messages: list[Message] = []
        marked = set(self._options.cache_after or ())
        for part in parts:
            own = list(part.messages)
            if (
                part.name in marked and own
            ):  # of a part that comes twice the first: there the prefix ends
                marked.discard(part.name)
                last = own.pop()
                own.append(Message(last.role, last.blocks, (len(last.blocks),)))
            messages += own
        return join(messages)

    def lost(self, composed: Composed) -> list[tuple[str, str]]:
        """Return the parts of a prompt that its templates do not print, each with the template that leaves it out."""
        names = [part.name for part in composed.parts if self.whole or part.name in self._fixed]
        return self._frame.lost(names, whole=self.whole)

    @cached_property
    def files(self) -> list[str]:
        """The names of the templates that may print this prompt."""
        parts = [name for name in self._options.prompt_order if self.whole or name != "history"]
        return self._frame.files([*parts, *(["prompt"] if self.whole else [])])
