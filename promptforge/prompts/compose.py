"""Compose one prompt: print its parts by templates, join them into messages or one text, count.

Strangers wrote the items and much of the history, so no part may pass for text of the templates.
The templates' own tags and lines, their delimiters, are found by printing all parts around nothing.
If a part holds one of these, the templates get a nonce for them, in the variable `boundary`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec.structs import replace

from ..config.media import MediaCosts
from ..config.options import MAX_CACHE_BREAKPOINTS, PROMPT_PARTS, Options, is_own_part
from ..errors import TemplateError, quote
from ..model import Result, ResultItem
from ..syntax.syntax import PRINTED_VALUE, Syntax
from ..syntax.syntaxes import FORMAT_EXTENSIONS
from ..templating.language import Fields
from ..templating.loader import PROMPTS_FOLDER, Templates
from ..text.control_tokens import ControlTokens, TokenBreaker
from ..text.delimiters import TemplateLines, pick_nonce, read_leniently
from ..text.escape import Content, Safe, to_label
from ..text.words import late_property
from ..tokenizers.counters import Counter
from .cache_marks import mark_history
from .messages import (
    ROLES,
    CitedItem,
    ImageBlock,
    Message,
    MessageBlock,
    Role,
    TextBlock,
    ToolCall,
    ToolOutput,
    block_texts,
    join_messages,
    weigh,
)
from .providers import OTHER_FAMILY, SHAPES, SYSTEM_ROLES, FamilyRules, ProviderShape

MAX_ARGUMENT_CHARS = 120
"""Characters kept of a call's arguments in the line in the place of its result."""
MAX_TITLE_CHARS = 200
"""Characters kept of the title of a cited item; half an address would lead nowhere."""
BYTES_PER_TOKEN = 2
"""Bytes of an encrypted thought for each token that it may cost: texts have more."""
MAX_DELIMITERS_REMEMBERED = 64
"""Sets of delimiters with their patterns."""
# Parts that the caller wrote. To name a tag in them is no forgery; only closing one is.
_CALLERS_PARTS = ("system", "instructions")
# The roles of the parts that are not always the user's.
_ROLES_OF = {"system": ("system", "developer", "user"), "history": ("",)}
# Stands in the place of a part's text while only the templates' own text is looked at.
_HOLE = "\ue07f"
_TAG = re.compile(r"<[\s/]*([a-z_][\w.:-]*)")


class PromptContext(NamedTuple):
    """The context to show: a text, or items that answers can point at."""

    text: str
    cited: tuple[CitedItem, ...] = ()


class PromptSegment(NamedTuple):
    """One part of the prompt, before or after it is printed."""

    name: str
    role: str
    text: str
    messages: tuple[Message, ...] = ()
    """Given: those of the history or of the cited items. Printed: those of the request, if any."""
    later: bool = False
    """True if it stands behind the history."""

    @property
    def texts(self) -> list[str]:
        """Every text in it."""
        return [text for message in self.messages for text in message.texts] or [self.text]


class ComposedPrompt(NamedTuple):
    """A finished prompt, before it takes the shape of a provider."""

    messages: tuple[Message, ...]
    text: str | None
    """The one text, if one text was asked for."""
    parts: tuple[PromptSegment, ...]
    """The parts in the prompt's order; a part named twice is there twice."""
    boundary: str
    """`-` and the nonce of the delimiters; empty if no part imitates a delimiter."""
    imitated: bool
    """False if only earlier messages hold one, such as a context that `Prompt.sent` kept."""
    tokens: int
    """Tokens of the window, with the LLM's own overhead as far as it is known."""
    fillers: tuple[Message, ...] = ()
    """Messages that nobody wrote: the user's before a greeting, an answer before a question."""
    folded: int = 0
    """System messages within the conversation that became the user's."""


@dataclass
class Composer:
    """Composes one prompt, as often as fitting it takes."""

    templates: PromptTemplates
    options: Options
    counter: Counter
    texts: Mapping[str, str]
    """System, instructions and question."""
    shape: ProviderShape
    citation: str | None = None
    """The words that ask the LLM to cite; `None` if the provider asks."""
    folds_system: bool = False
    """True if a system message may not stand within a conversation: the user says its text."""
    family: FamilyRules = OTHER_FAMILY
    """The rules of the chat template that prints the messages."""
    tools: Sequence[str] = ()
    """Definitions of tools, as JSON."""
    _counts: dict[str, int] = field(default_factory=dict)
    _printed: Sequence[str] = ()
    """The texts of the parts, as they were printed last."""

    @property
    def one_text(self) -> bool:
        """True if the whole prompt is one text."""
        return self.shape is SHAPES["text"]

    @property
    def splits_texts(self) -> bool:
        """True if the shape keeps the texts of a message apart."""
        return bool(self.shape.family)

    @property
    def joined(self) -> bool:
        """True if the context and the question become one text of one message."""
        return not (self.one_text or self.splits_texts)

    def compose(
        self,
        context: PromptContext | None,
        history: Sequence[Message],
        recall: str = "",
        at: int = -1,
    ) -> ComposedPrompt:
        """Return the prompt with this context and history; raises `TemplateError`.

        `recall` are passages of earlier turns; they stand before the question, which may be the
        message `at` of the history.
        """
        given = self._given_parts(context, history, recall)
        boundary = self._boundary(given)
        imitated = boundary != "" and self._boundary(list(map(_without_talk, given))) != ""
        printed = [(part, self._print(part, boundary)) for part in given]
        self._printed = [text for _, text in printed]
        whole, fillers, folded = None, list[Message](), 0
        if self.one_text:
            parts = tuple(part._replace(text=text, messages=()) for part, text in printed)
            # `Safe.__str__` returns the `Safe` itself; a request holds plain strings.
            whole = str.__str__(self.templates.print_whole(printed, boundary))
            messages = [Message("user", (TextBlock(whole),))]
        else:
            if at >= 0:
                printed = _with_recall(printed, at)
            parts = tuple(_to_messages(part, text) for part, text in printed)
            messages = self._join(parts)
            if self.folds_system:
                messages, folded = _fold_system(messages)
            messages = self._adapt(messages)
            fillers = self._fill(messages)
        tokens = self.options.prompt_tokens + self.tools_cost
        tokens += sum(map(self.message_cost, messages))
        shown, put = tuple(messages), tuple(fillers)
        return ComposedPrompt(shown, whole, parts, boundary, imitated, tokens, put, folded)

    def _fill(self, messages: list[Message]) -> list[Message]:
        places: list[tuple[int, Role]] = []
        spoken = [n for n, message in enumerate(messages) if message.role not in SYSTEM_ROLES]
        alternates = self.family.alternates
        user_first = self.shape.user_first or alternates
        if user_first and spoken and messages[spoken[0]].role == "assistant":
            places.append((spoken[0], "user"))
        if alternates:
            for before, n in pairwise(spoken):
                if messages[n].role == "user" and messages[before].role == "tool":
                    places.append((n, "assistant"))
        made = []
        for n, role in reversed(places):
            made.append(Message(role, (TextBlock(self.templates.print_filler(role)),)))
            messages.insert(n, made[-1])
        return made[::-1]

    def _adapt(self, messages: list[Message]) -> list[Message]:
        if self.family.knows_tools:
            return self.family.adapt(messages)
        texts = [text for message in messages for text in message.texts]
        boundary = f"-{pick_nonce(texts)}" if any("</" in text for text in texts) else ""
        made = []
        for message in messages:
            tools = tuple(b for b in message.blocks if isinstance(b, ToolCall | ToolOutput))
            if tools:
                own = PromptSegment("history", "", "", (replace(message, blocks=tools),))
                text = str.__str__(self.templates.print_part(own, boundary)).strip()
                rest = [block for block in message.blocks if block not in tools]
                role: Role = "user" if message.role == "tool" else message.role
                message = Message(role, (*rest, TextBlock(text)))
            made.append(message)
        return join_messages(made)

    @property
    def tools_cost(self) -> int:
        """The tokens of the definitions of tools, rather too many than too few."""
        return sum(self.count(text) + self.options.message_tokens for text in self.tools)

    def boundary_of(self, history: Sequence[Message]) -> str:
        """Return the boundary of a prompt as one text with this history."""
        return self._boundary(self._given_parts(None, history)) if self.one_text else ""

    def history_cost(self, message: Message, boundary: str) -> int:
        """Estimate the tokens of a message of the history, rather too many than too few."""
        # Tokens of texts that meet may be more than their sum, so each message gets one to spare.
        if not self.one_text:
            return self.message_cost(message) + 1
        part = PromptSegment("history", "", "", (message,))
        return self.count(self.templates.print_part(part, boundary)) + 1

    def cost_change(self, before: MessageBlock, after: MessageBlock | None) -> int | None:
        """Return the tokens that a message costs more with `after` in the place of a block.

        After None, the block is gone. Returns None where only the whole message tells: texts meet.
        """
        if self.one_text or isinstance(before, TextBlock):
            return None
        return (self._block_cost(after) if after is not None else 0) - self._block_cost(before)

    def question_cost(self) -> int:
        """Return the tokens of the question, as `history_cost` counts a message of the history."""
        if not self.texts.get("question"):
            return 0
        return self.history_cost(Message("user", (TextBlock(self.texts["question"]),)), "")

    def weigh(self, block: MessageBlock) -> int:
        """Return the tokens of the contents of a result, with its images and files."""
        shown = block_texts(block)
        if isinstance(block, ToolOutput):
            shown = shown[2:]
        return self.hidden_cost(block) + sum(map(self.count, shown))

    def left_out(self, call: ToolCall | None, tokens: int) -> str:
        """Return the line in the place of a result that has no room left."""
        name, arguments = "", ""
        if call is not None:
            name, arguments = call.name, to_label(call.arguments)[:MAX_ARGUMENT_CHARS]
        return self.templates.print_left_out(name, arguments, tokens)

    def print_before(self, name: str, text: str, question: str) -> str:
        """Print a part, such as recalled passages, before a question in the same text."""
        part = PromptSegment(name, "user", text)
        asked = PromptSegment("question", "user", question)
        return self._print(part, self._boundary([part, asked]))

    def recount(self, composed: ComposedPrompt, counter: Counter) -> int:
        """Return the prompt's tokens by another counter, called once with all texts joined."""
        blocks = [block for message in composed.messages for block in message.blocks]
        others = sum(not isinstance(block, TextBlock) for block in blocks)
        others += sum(map(_further_answers, composed.messages))
        overhead = self.options.message_tokens * (len(composed.messages) + others)
        overhead += sum(map(self.hidden_cost, blocks))
        overhead += self.options.message_tokens * len(self.tools)
        texts = [text for block in blocks for text in block_texts(block)] + list(self.tools)
        return self.options.prompt_tokens + overhead + counter.count("\n\n".join(texts))

    def count(self, text: str) -> int:
        """Return the tokens of a text, counted once."""
        if text not in self._counts:
            # The printed parts are counted by themselves as well.
            self._counts[text] = self.counter.count_parts(_cut_out(text, self._printed))
        return self._counts[text]

    def count_part(self, part: PromptSegment) -> int:
        """Return the tokens of the text of a printed part; messages seen before cost little."""
        texts = list(filter(None, part.texts))
        if "\n\n".join(texts) != part.text:  # of a template, or with recalled passages beside it
            return self.count(part.text)
        return self.counter.count_parts([t for text in texts for t in (text, "\n\n")][:-1])

    @late_property
    def cost_key(self) -> Hashable:
        """All that the tokens of a message depend on; None for a caller's own counter."""
        if self.counter.fingerprint == "custom":
            return None
        figures = self.options.message_tokens, self.options.call_tokens, self._media_key
        return self.counter, self.splits_texts, figures

    def message_cost(self, message: Message) -> int:
        """Return the tokens of a message, with the overhead of it and its blocks."""
        return message.fact(self.cost_key, self._message_cost)

    def hidden_tokens(self, message: Message) -> int:
        """Return the most that what no tokenizer here can count in a message may cost."""
        return message.fact(
            self._media_key, lambda message: sum(map(self.hidden_cost, message.blocks))
        )

    def _message_cost(self, message: Message) -> int:
        texts = [block.text for block in message.blocks if isinstance(block, TextBlock)]
        # A server may put a line end between texts that stay apart, a token each, or begin another
        # message.
        if self.splits_texts:
            between = max(0, len(texts) - 1)
            between = max(between, self.options.message_tokens * _further_answers(message))
            tokens = sum(map(self.count, texts)) + between
        else:
            tokens = self.count("\n\n".join(texts))
        return self.options.message_tokens + tokens + sum(map(self._block_cost, message.blocks))

    def _block_cost(self, block: MessageBlock) -> int:
        hidden = self.hidden_cost(block)
        if isinstance(block, TextBlock):
            return hidden
        overhead = self.options.message_tokens + hidden
        if isinstance(block, ToolCall):
            # Many LLMs are shown each argument in tags of its own, so each costs an overhead.
            overhead = hidden + self.options.call_tokens * (1 + len(json.loads(block.arguments)))
        elif isinstance(block, ToolOutput):
            overhead = hidden + self.options.call_tokens
        return overhead + sum(map(self.count, block_texts(block)))

    @late_property
    def _media(self) -> MediaCosts:
        return MediaCosts(*(getattr(self.options, name) for name in MediaCosts._fields))

    @late_property
    def _media_key(self) -> str:
        return repr(self._media)

    def hidden_cost(self, block: MessageBlock) -> int:
        """Return the most that images, files and what is encrypted in a block may cost."""
        media = self._media
        if isinstance(block, ImageBlock):
            return media.image(block.original or block.data)
        if block.original is None:
            return 0
        weight = weigh(block.original)
        shown = sum(map(media.image, weight.images)) + sum(map(media.file, weight.files))
        return shown - (-weight.hidden_bytes // BYTES_PER_TOKEN)  # rounded up

    @late_property
    def files(self) -> list[str]:
        """Names of the templates that may print this prompt."""
        if self.one_text:
            names = [*self.options.prompt_order, "prompt"]
        else:
            names = [name for name in self.options.prompt_order if name != "history"]
        return sorted(set(map(self.templates.template, names)))

    def _given_parts(
        self, context: PromptContext | None, history: Sequence[Message], recall: str = ""
    ) -> list[PromptSegment]:
        parts = []
        later = "history" not in self.options.prompt_order
        for name in self.options.prompt_order:
            if name == "question" and recall and self.texts.get(name):
                parts.append(PromptSegment("recall", "user", recall, later=later))
                recall = ""
            if name == "history":
                later = True
                if history:
                    parts.append(PromptSegment(name, "", "", tuple(history)))
            elif name == "context":
                if context is not None:
                    cited = (Message("user", context.cited),) if context.cited else ()
                    parts.append(PromptSegment(name, "user", context.text, cited, later))
            elif self.texts.get(name):
                role = "user"
                if name == "system":
                    role = self.options.system_role
                parts.append(PromptSegment(name, role, self.texts[name], (), later))
        if recall:
            parts.append(PromptSegment("recall", "user", recall, later=later))
        return parts

    def _boundary(self, parts: Sequence[PromptSegment]) -> str:
        return self.templates.boundary(
            parts, one_text=self.one_text, joined=self.joined, citation=self.citation
        )

    def _print(self, part: PromptSegment, boundary: str) -> str:
        if part.name == "history" and not self.one_text:
            return "\n\n".join(filter(None, part.texts))
        joined = self.joined
        if is_own_part(part.name):
            joined = not self.one_text
        printed = self.templates.print_part(
            part, boundary, self.citation, joined=joined, layout=self.options.layout
        )
        return str.__str__(printed)

    def _join(self, parts: Sequence[PromptSegment]) -> list[Message]:
        """Join the messages of the parts, with a mark where a prefix to be cached ends."""
        messages: list[Message] = []
        marked = set(self.options.cache_after or ()) & {p.name for p in parts if p.messages}
        spare = MAX_CACHE_BREAKPOINTS - len(marked)
        for part in parts:
            own = list(part.messages)
            # The prefix ends at the first place of a part that comes twice.
            if part.name in marked and own:
                marked.discard(part.name)
                further = spare if part.name == "history" else 0
                own = mark_history(own, further, self.shape.look_back)
            messages += own
        return join_messages(messages)


def _without_talk(part: PromptSegment) -> PromptSegment:
    """Return a history with its calls and results alone; any other part itself."""
    if part.name != "history":
        return part
    messages = []
    for message in part.messages:
        tools = tuple(b for b in message.blocks if isinstance(b, ToolCall | ToolOutput))
        messages.append(replace(message, blocks=tools))
    return part._replace(messages=tuple(messages))


def _cut_out(whole: str, texts: Iterable[str]) -> list[str]:
    """Cut a text where these others stand in it, one behind the other."""
    pieces = []
    for text in filter(None, texts):
        before, found, after = whole.partition(text)
        if found:
            pieces += [before, found]
            whole = after
    return [*pieces, whole]


def _fold_system(messages: Sequence[Message]) -> tuple[list[Message], int]:
    """Return messages with the user's text in place of later system messages, and their number."""
    later = [n > 0 and message.role in SYSTEM_ROLES for n, message in enumerate(messages)]
    made = [
        replace(message, role="user") if folds else message
        for message, folds in zip(messages, later, strict=True)
    ]
    return join_messages(made), sum(later)


def _further_answers(message: Message) -> int:
    """Return the texts of an assistant but one: each is a message to OpenAI's Responses."""
    texts = sum(isinstance(block, TextBlock) for block in message.blocks)
    return max(0, texts - 1) if message.role == "assistant" else 0


def _with_recall(
    printed: list[tuple[PromptSegment, str]], at: int
) -> list[tuple[PromptSegment, str]]:
    """Move the last part, recalled passages, into the message `at` of the history."""
    *others, (_, recalled) = printed
    made = []
    for part, text in others:
        if part.name == "history":
            messages = list(part.messages)
            blocks = (TextBlock(recalled), *messages[at].blocks)
            messages[at] = Message("user", blocks)
            part = part._replace(messages=tuple(messages))
        made.append((part, text))
    return made


def _to_messages(part: PromptSegment, text: str) -> PromptSegment:
    if part.name == "history":
        return part._replace(text=text)
    blocks = [block for message in part.messages for block in message.blocks]
    texts = [each for block in blocks for each in block_texts(block)]
    said = "\n\n".join(filter(None, [*texts, text]))
    if text.strip():
        blocks.append(TextBlock(text))
    role: Role = part.role  # type: ignore[assignment]
    messages = (Message(role, tuple(blocks)),) if blocks else ()
    return part._replace(text=said, messages=messages)


class PromptTemplates:
    """A set of prompt templates in one format, and the delimiters that it prints."""

    def __init__(
        self, templates: Templates, name: str, format: str, controls: ControlTokens | None = None
    ) -> None:
        """Find the set `name`; the set `default` fills its gaps. No text may print `controls`.

        Raises `OptionError` if there is no such set.
        """
        templates.check_prompt(name)
        own = name.removeprefix("shipped/")
        self._templates = templates
        self._controls = controls
        origin = name.removesuffix(own)
        folders = (f"{origin}{PROMPTS_FOLDER}/{own}", f"{PROMPTS_FOLDER}/default")
        # Nearest first: the format's own ending, its syntax's, plain text.
        ending = FORMAT_EXTENSIONS.get(format, format)
        endings = (ending, format.rpartition(".")[2], FORMAT_EXTENSIONS["plain"])
        self._places = [(f"{folder}/", f".{end}.j2") for folder in folders for end in endings]
        self._found: dict[str, str] = {}
        self._format = format
        self._delimiters: dict[_Frame, _Delimiters] = {}
        self._unprinted: dict[tuple[tuple[str, ...], bool], list[tuple[str, str]]] = {}

    def template(self, part: str) -> str:
        """Return the name of the template that prints a part; `prompt` is the whole.

        The shipped set `default` has each of them in plain text.
        """
        if part not in self._found:
            stems = (part, "part") if is_own_part(part) else (part,)
            names = (f"{at}{stem}{end}" for stem in stems for at, end in self._places)
            self._found[part] = next(filter(self._templates.find, names))
        return self._found[part]

    def _syntax(self, part: str) -> Syntax:
        return self._templates.syntax_of(self.template(part))

    def print_part(
        self,
        part: PromptSegment,
        boundary: str,
        citation: str | None = None,
        *,
        joined: bool = False,
        layout: str = "",
    ) -> Safe:
        """Print a part by its template; `joined`: other parts stand in the same text.

        `layout` is that of the context.
        """
        name = part.name
        made: type[Safe] | type[Content] = Content
        # The context was escaped when it was rendered, for the same syntax.
        escaped = name == "context" or isinstance(part.text, Safe)
        if escaped or not self._syntax(name).is_parsed:
            made = Safe
        variables: dict[str, Any] = {name: made(part.text), "boundary": boundary}
        if name == "history":
            variables[name] = [_to_fields(message, made) for message in part.messages]
        elif name == "context":
            own = layout.removeprefix("shipped/")
            variables |= {"citation": citation, "joined": joined, "layout": own}
            variables["format"] = self._format
        elif is_own_part(name):
            variables |= {"name": name, "text": variables[name], "joined": joined}
        break_up = self._token_breaker(name, ()) if name not in _CALLERS_PARTS else None
        return self._templates.print(self.template(name), variables, break_up)

    def print_left_out(self, name: str, arguments: str, tokens: int) -> str:
        """Print the line in the place of a tool's result; a message escapes it where it must."""
        values = {"name": Safe(name), "arguments": Safe(arguments), "tokens": tokens}
        return str.__str__(self._templates.print(self.template("left_out"), values, None)).strip()

    def print_filler(self, role: Role) -> str:
        """Print a message that nobody wrote, where a provider demands one."""
        name = self.template("filler")
        return str.__str__(self._templates.print(name, {"role": role}, None)).strip()

    def print_whole(self, parts: Sequence[tuple[PromptSegment, str]], boundary: str) -> Safe:
        """Print the whole prompt as one text; each part comes with the text of its template."""
        syntax = self._syntax("prompt")
        shown = []
        for part, text in parts:
            own = self._syntax(part.name)
            made: type[Safe] | type[Content] = Content
            if own is syntax or not (own.is_parsed or syntax.is_parsed):
                made = Safe
            shown.append(Fields(name=part.name, role=part.role, text=made(text)))
        break_up = self._token_breaker("prompt", [text for _, text in parts])
        variables = {"parts": shown, "boundary": boundary}
        return self._templates.print(self.template("prompt"), variables, break_up)

    def _token_breaker(
        self, part: str, settled: Sequence[str]
    ) -> Callable[[list[str]], list[str]] | None:
        """Return a function that breaks up the control tokens that pieces of a text form together.

        Tokens inside of the texts `settled` are left: they are the caller's or a template's own.
        """
        if self._controls is None:
            return None
        spare = {text[start:end] for text in settled for start, end in self._controls.find(text)}
        breaker = TokenBreaker(self._controls, self._syntax(part), spare)
        return lambda pieces: breaker.break_up(pieces).parts

    def boundary(
        self, parts: Sequence[PromptSegment], *, one_text: bool, joined: bool, citation: str | None
    ) -> str:
        """Return the text for the templates' delimiters: empty, or `-` and a nonce.

        `one_text`: the parts become one text, so the delimiters around them count too. `joined`:
        those of a message do.

        Raises `TemplateError` if a part holds a delimiter that carries no boundary.
        """
        # XML and JSON escape the parts, so nothing in them passes for a tag.
        if one_text and self._syntax("prompt").is_parsed:
            return ""
        # Finding them renders every template, so it is done once, not for each prompt.
        own = tuple(sorted({part.name for part in parts if is_own_part(part.name)}))
        frame = _Frame(one_text, joined, citation, own)
        known = self._delimiters.get(frame)
        if known is None:
            known = self._delimiters[frame] = self._find_delimiters("", frame)
        if not known.tags and not known.lines:
            return ""
        if all(map(known.is_absent, parts)):
            return ""
        seen = [
            (read_leniently(t), part.name in _CALLERS_PARTS) for part in parts for t in part.texts
        ]
        nonce = pick_nonce(text for text, _ in seen)
        held = self._find_bare(nonce, frame).first_in(seen)
        if held:
            message = (
                f"a part of the prompt holds {quote(held)}, which the templates print themselves;"
                " write {{ boundary }} into each tag or line of theirs, as <system{{ boundary }}>"
            )
            raise TemplateError(message, where=self.template("prompt" if one_text else "question"))
        return f"-{nonce}"

    def bare_delimiter(self, citation: str | None) -> str | None:
        """Return a tag or line of a prompt as one text that carries no boundary."""
        if self._syntax("prompt").is_parsed:
            return None
        left = self._find_bare(pick_nonce(()), _Frame(True, False, citation, ()))
        tags = [f"<{tag}" for tag in sorted(left.tags)]
        lines = ("".join(p for p in line if isinstance(p, str)).strip() for line in left.lines)
        return next(iter([*tags, *sorted(filter(None, lines))]), None)

    def unprinted(self, names: Iterable[str], *, one_text: bool = True) -> list[tuple[str, str]]:
        """Return those of these parts that are not printed, each with the template at fault."""
        parts = tuple(dict.fromkeys(names))
        if (parts, one_text) not in self._unprinted:
            self._unprinted[parts, one_text] = self._find_unprinted(parts, one_text)
        return self._unprinted[parts, one_text]

    def _find_unprinted(self, names: tuple[str, ...], one_text: bool) -> list[tuple[str, str]]:
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
            part = PromptSegment(name, "user", marks[0], messages)
            text = str(self.print_part(part, ""))
            # A template may change capitals, and has printed the part all the same.
            if all(mark in text.lower() for mark in marks):
                printed.append((part, text))
            else:
                found.append((name, self.template(name)))
        if one_text:
            shown = str(self.print_whole(printed, "")).lower()
            lost = [part.name for part, _ in printed if f"{_HOLE}{part.name}" not in shown]
            found += [(name, self.template("prompt")) for name in lost]
        return found

    def _find_delimiters(self, boundary: str, frame: _Frame) -> _Delimiters:
        one_text, joined, citation, own = frame
        parts = [
            PromptSegment(name, role, _HOLE, _every_message() if name == "history" else ())
            for name in (*PROMPT_PARTS, "recall", *own)
            if one_text or (name != "history" and not self._syntax(name).is_parsed)
            for role in _ROLES_OF.get(name, ("user",))
        ]
        printed = []
        for part in parts:
            joins = joined or part.name in own
            printed.append((part, str(self.print_part(part, boundary, citation, joined=joins))))
        text = "\n".join(text for _, text in printed)
        if one_text:
            text = str(self.print_whole(printed, boundary))
        # The words of the citation are no delimiter: an item may well ask to cite something.
        return _Delimiters.of(text.replace(citation or _HOLE, _HOLE))

    def _find_bare(self, nonce: str, frame: _Frame) -> _Delimiters:
        tags, lines = self._find_delimiters(f"-{nonce}", frame)
        bare = {line for line in lines if not any(isinstance(p, str) and nonce in p for p in line)}
        return _Delimiters(frozenset(tag for tag in tags if nonce not in tag), frozenset(bare))


class _Frame(NamedTuple):
    """All that the delimiters of a set of templates depend on; see `PromptTemplates.boundary`."""

    one_text: bool
    joined: bool
    citation: str | None
    own: tuple[str, ...]
    """The names of the caller's own parts."""


class _Delimiters(NamedTuple):
    tags: frozenset[str]
    lines: frozenset[tuple[object, ...]]

    @classmethod
    def of(cls, text: str) -> _Delimiters:
        """Find the delimiters in a text with holes."""
        lines = set()
        for line in read_leniently(text, keep=_HOLE).split("\n"):
            segments: list[object] = []
            for n, static in enumerate(line.split(_HOLE)):
                if n:
                    segments.append(PRINTED_VALUE)
                if static:
                    segments.append(static)
            if any(segment is not PRINTED_VALUE for segment in segments):
                lines.add(tuple(segments))
        return cls(frozenset(_TAG.findall(read_leniently(text))), frozenset(lines))

    def is_absent(self, part: PromptSegment) -> bool:
        """Return True if a part holds no delimiter; what is known of a message is not asked."""
        own = [(read_leniently(part.text), part.name in _CALLERS_PARTS)]
        held = not part.messages and self.first_in(own)
        return not held and all(each.fact(self, self._is_absent) for each in part.messages)

    def _is_absent(self, message: Message) -> bool:
        return self.first_in([(read_leniently(text), False) for text in message.texts]) is None

    def first_in(self, texts: Sequence[tuple[str, bool]]) -> str | None:
        """Return the first delimiter in the texts; of a caller's text, only a closing tag."""
        tag, close, lines = _compile(self)
        for text, callers in texts:
            if self.tags and "<" in text and (found := (close if callers else tag).search(text)):
                return found[0].strip()
            line = lines.first(text)
            if line:
                return line.strip()
        return None


# Each prompt of a batch has the delimiters of the one before.
@lru_cache(maxsize=MAX_DELIMITERS_REMEMBERED)
def _compile(known: _Delimiters) -> tuple[re.Pattern[str], re.Pattern[str], TemplateLines]:
    # LLMs forgive blanks in a tag, and a backslash for the slash; case is folded already.
    names = "|".join(map(re.escape, sorted(known.tags)))
    tag = re.compile(rf"<[\s/\\]*(?:{names})(?![\w.:-])")
    close = re.compile(rf"<\s*[/\\][\s/\\]*(?:{names})(?![\w.:-])")
    return tag, close, TemplateLines(known.lines)


def _to_fields(message: Message, made: type[str]) -> Fields:
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


def show_context(
    result: Result, cited: bool, controls: ControlTokens | None
) -> PromptContext | None:
    """Return the context to print, as a text or as cited items; `None` if it holds no item.

    `controls` are broken up in titles and sources; the rendering has done so in the texts.
    """
    if not result.items_included:
        return None
    if not cited:
        text = result.text.strip("\n")
        return PromptContext(text) if text else None
    by_place = {item.place: item for item in result.report.items}
    blocks = []
    for place, source in enumerate(result.sources, 1):
        item = by_place[place]
        if item.text.strip():
            blocks.append(_to_cited(item, source.url, controls))
    return PromptContext("", tuple(blocks)) if blocks else None


def _to_cited(item: ResultItem, url: str | None, controls: ControlTokens | None) -> CitedItem:
    source = item.path or url or item.name or item.id
    title = item.name or item.path or url or item.id
    if item.line_range and item.path:
        title = f"{title} ({item.line_range})"
    title, source = to_label(title), to_label(source)
    if controls is not None:
        title, source = controls.break_up(title)[0], controls.break_up(source)[0]
    found = item.origin == "similarity"
    return CitedItem(title[:MAX_TITLE_CHARS], source, item.text, found)
