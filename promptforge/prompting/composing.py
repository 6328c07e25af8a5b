"""Parts → messages, and where it is wanted one text; and what these cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from ..counting import Counter
from ..options import Options
from .frame import Frame, Piece
from .messages import Block, Call, Cited, Message, Output, Role, Text, join


class Context(NamedTuple):
    """What retrieval gave, as it is to be shown: a text, or blocks that answers can point at."""

    text: str
    cited: tuple[Cited, ...] = ()


class Printed(NamedTuple):
    """One part as it stands in the prompt."""

    name: str
    role: str
    text: str


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
        parts = tuple(Printed(piece.name, piece.role, text) for piece, text in printed)
        if self.whole:
            text = str.__str__(self._frame.whole(printed, boundary))
            message = Message("user", (Text(text),))
            tokens = self._options.prompt_tokens + self.price(message)
            return Composed((message,), text, parts, boundary, tokens)
        messages = tuple(self._messages(printed, context))
        tokens = self._options.prompt_tokens + sum(map(self.price, messages))
        return Composed(messages, None, parts, boundary, tokens)

    def turn_price(self, turn: Sequence[Message]) -> int:
        """Return about what a turn of the history costs, rather too much than too little."""
        if self.whole:
            text = self._frame.part(Piece("history", "", "", tuple(turn)), "-00000000")
            return self.count(text) + 2
        return sum(map(self.price, turn)) + len(turn)

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
        if isinstance(block, Call):
            texts = [block.name, block.id, block.arguments]
            around = self._options.call_tokens * (1 + len(json.loads(block.arguments)))
        elif isinstance(block, Output):
            texts = [block.name, block.id, block.text]
            around = self._options.call_tokens
        else:
            texts = [block.title, block.source, block.text]
            around = self._options.message_tokens
        return around + sum(map(self.count, texts))

    # --- parts ------------------------------------------------------------------------------------------------------

    def _pieces(self, context: Context | None, history: Sequence[Message]) -> list[Piece]:
        pieces = []
        for name in self._options.prompt_order:
            if name == "history":
                if history:
                    pieces.append(Piece(name, "", "", tuple(history)))
            elif name == "context":
                if context is not None:
                    pieces.append(Piece(name, "user", context.text))
            elif self._fixed.get(name):
                role = self._options.system_role if name == "system" else "user"
                pieces.append(Piece(name, role, self._fixed[name]))
        return pieces

    def _print(self, piece: Piece, boundary: str) -> str:
        if piece.name == "history" and not self.whole:
            return "\n\n".join(text for text in piece.texts if text)
        more = {"citation": self._citation} if piece.name == "context" else {}
        return str.__str__(self._frame.part(piece, boundary, **more))

    def _messages(self, printed: Sequence[tuple[Piece, str]], context: Context | None) -> list[Message]:
        messages: list[Message] = []
        marked = set(self._options.cache_after or ())
        for piece, text in printed:
            if piece.name == "history":
                own = list(piece.messages)
            else:
                role: Role = piece.role  # type: ignore[assignment]
                cited = context.cited if piece.name == "context" and context else ()
                own = [Message(role, (*cited, *((Text(text),) if text else ())))]
            if piece.name in marked and own:  # of a part that comes twice the first: there the prefix ends
                marked.discard(piece.name)
                last = own.pop()
                own.append(Message(last.role, last.blocks, (len(last.blocks),)))
            messages += own
        return join(messages)

    @cached_property
    def files(self) -> list[str]:
        """The names of the templates that may print this prompt."""
        parts = [name for name in self._options.prompt_order if self.whole or name != "history"]
        return self._frame.files([*parts, *(["prompt"] if self.whole else [])])
