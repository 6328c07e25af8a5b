"""Messages in one form of our own: blocks of text, tool calls, results, images, and opaque blocks.

A block may keep the `original` of a provider's family. It goes back to this family as it came; any
other family gets the block in its own shape, or nothing, and a diagnostic says so (PF208).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import count, groupby
from operator import is_
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import msgspec
from msgspec.structs import replace

from ..errors import Diagnostics, Severity, quote
from ..files.access import read_bytes
from ..text.control_tokens import ControlTokens
from ..text.escape import SURROGATE
from ..text.words import late_property

Role = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)
_FILE = Path(__file__).with_name("provider_words.json")
PROVIDER_WORDS: dict[str, tuple[str, ...]] = {
    kind: tuple(" ".join(lines).split())
    for kind, (_comment, *lines) in msgspec.json.decode(read_bytes(_FILE)).items()
}
"""Names of blocks and fields in the messages of providers, by the part that they play. To complete
a command's words loads no reader of YAML."""
GEMINI_SIGNATURES = frozenset({"thought_signature", "thoughtSignature"})
"""The key of a signature of Gemini, in the spellings of its SDK and of its REST interface."""
MAX_FACTS_REMEMBERED = 16
"""Facts kept with a message, such as its tokens by one counter."""
Fact = TypeVar("Fact")


def replace_surrogates(text: str) -> str:
    """Replace each lone surrogate by U+FFFD, because no request can carry one."""
    if text.isascii():
        return text
    return SURROGATE.sub("\ufffd", text)


class Loss(NamedTuple):
    """The sentence for a block that a request cannot carry."""

    message: str
    where: str
    severity: Severity
    spared: str | None = None
    """A family that gets the same in another block."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """The part that all blocks share: how a provider wrote it."""

    original: dict[str, Any] | None = None
    """As it came, for the same `family` of providers."""
    family: str = ""
    """`anthropic bedrock gemini openai openai-responses`; empty without an original."""
    loss: Loss | None = None
    """The sentence for another family, about the part that it does not get."""


class TextBlock(Block, frozen=True):
    """Plain text in a message."""

    text: str


class ToolCall(Block, frozen=True):
    """A tool call by the LLM."""

    id: str
    name: str
    arguments: str
    """A JSON object, as text."""


class ToolOutput(Block, frozen=True):
    """The result of a tool call."""

    id: str
    """The id of the call."""
    name: str
    """The tool's name; empty if unknown."""
    text: str
    failed: bool = False


class ImageBlock(Block, frozen=True):
    """An image, by its data or its address."""

    mime: str
    data: str
    """Base64; empty if there is a URL."""
    url: str = ""


class OpaqueBlock(Block, frozen=True):
    """A block that means something to its own family alone: a thought, a file, a server's tool."""

    kind: str
    reasoning: bool = False
    """True for a thought: its family wants it right before the block that follows it."""
    call_id: str = ""
    """Of a call of a provider's own tool: the id under which its result comes."""
    answers: str = ""
    """Of such a result: the id of its call."""


class CitedItem(Block, frozen=True):
    """An item as a block of its own, for providers that let answers point at such blocks."""

    title: str
    source: str
    text: str
    found: bool
    """True if a search found the item, false if the user named it."""


MessageBlock = TextBlock | ToolCall | ToolOutput | ImageBlock | OpaqueBlock | CitedItem
FIELDS = "fields"
"""The kind of an opaque block that holds fields of a whole message, such as `name`."""


class Message(msgspec.Struct, frozen=True, dict=True):
    """One message. Its role is set by code; no text is ever searched for a role.

    A renderer reads a message that it saw before as the same object, so its facts stay known.
    """

    role: Role
    blocks: tuple[MessageBlock, ...]
    breaks: tuple[int, ...] = ()
    """Numbers of leading blocks after which a cache mark goes."""
    pinned: bool = False
    """True where its turn is the last to be shortened and to go."""

    @late_property
    def text(self) -> str:
        """The text blocks, joined by blank lines."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @late_property
    def texts(self) -> tuple[str, ...]:
        """Every text in it, plain text joined."""
        # Joined, because "<" and "system>" in two blocks are a tag together.
        others = (block for block in self.blocks if not isinstance(block, TextBlock))
        return (self.text, *(text for block in others for text in block_texts(block)))

    @late_property
    def _facts(self) -> dict[Hashable, Any]:
        return {}

    def fact(self, about: Hashable, make: Callable[[Message], Fact]) -> Fact:
        """Return what `make` finds out about this message; it depends on `about` alone.

        It is not remembered if `about` is None.
        """
        if about is None:
            return make(self)
        found: Fact | None = self._facts.get(about)
        if found is None:
            if len(self._facts) >= MAX_FACTS_REMEMBERED:
                self._facts.clear()
            found = self._facts[about] = make(self)
        return found


def block_texts(block: MessageBlock) -> list[str]:
    """Return every text in a block that an LLM reads."""
    if isinstance(block, TextBlock):
        return [block.text]
    if isinstance(block, ToolCall):
        return [block.name, block.id, block.arguments]
    if isinstance(block, ToolOutput):
        more = weigh(block.original).texts if block.original else ()
        # The text has the keys and numbers of data; the original may hold texts beside it.
        return [block.name, block.id, block.text, *(t for t in more if t not in block.text)]
    if isinstance(block, CitedItem):
        return [block.title, block.source, block.text]
    return list(weigh(block.original).texts) if isinstance(block, OpaqueBlock) else []


def grow(
    messages: Sequence[Message],
    about: Hashable,
    extend: Callable[[Fact | None, Sequence[Message]], Fact],
) -> Fact:
    """Return the value that `extend` makes of a value for the first messages and of the others.

    The last message of a call remembers its value, and the next call extends that: a history that
    has grown costs as much as its new messages. Without such a value `extend` gets None and all.
    """
    value: Fact | None = None
    start = 0
    for n in range(len(messages), 0, -1):
        known = messages[n - 1]._facts.get(about)
        if known is not None and len(known[0]) == n and all(map(is_, known[0], messages)):
            messages[n - 1]._facts.pop(about, None)
            value, start = known[1], n
            break
    made = extend(value, messages[start:])
    if messages:
        messages[-1].fact(about, lambda _: (tuple(messages), made))
    return made


class Weight(NamedTuple):
    """The contents of a provider's own block."""

    texts: tuple[str, ...] = ()
    """Texts that an LLM may read."""
    hidden_bytes: int = 0
    """Bytes that only the provider can read: signatures and encrypted thoughts."""
    images: tuple[object, ...] = ()
    """Its images, as the provider wrote them."""
    files: tuple[object, ...] = ()
    """Its files and recordings."""


_HIDDEN, _IMAGES, _FILES, _NAMES, _DATA_KEYS, _KINDS = (
    PROVIDER_WORDS[kind] for kind in ("hidden", "images", "files", "names", "data", "kinds")
)
_BLOCK, _CONTENT, _DATA = "block", "content of Pydantic AI", "data"
"""Places of an object: data is the caller's own, and its words say nothing about media."""


def weigh(value: Any) -> Weight:
    """Add up the contents of a block, by the documented names of its fields.

    Arguments of calls and data in results are texts, whatever the words in them: the entry of a
    folder may have the `type` `file`.
    """
    texts: list[str] = []
    images: list[object] = []
    files: list[object] = []
    hidden = 0
    waiting = [(value, _BLOCK)]
    while waiting:
        part, place = waiting.pop()
        if isinstance(part, list):
            waiting += [(member, place) for member in reversed(part)]
        elif isinstance(part, str):
            texts.append(part)
        if not isinstance(part, dict):
            continue
        media = _medium(part, place)
        if media == "image":
            images.append(part)
        elif media:
            files.append(part)
        else:
            for key, member in reversed(part.items()):
                # The `data` of a document is its text where its type says so.
                read = place != _BLOCK or (key == "data" and part.get("type") == "text")
                if key in _HIDDEN and isinstance(member, str) and not read:
                    hidden += len(member) * 3 // 4
                elif key not in _NAMES:
                    waiting.append((member, _place_inside(part, key, place)))
    return Weight(tuple(texts), hidden, tuple(images), tuple(files))


def _place_inside(part: dict[str, Any], key: str, place: str) -> str:
    if place != _BLOCK:
        return _DATA
    if "part_kind" in part:
        return _CONTENT if key == "content" else _DATA
    return _DATA if part.get("type") == "json" or key in _DATA_KEYS else _BLOCK


def _medium(part: dict[str, Any], place: str) -> str:
    if place == _DATA:
        return ""
    kind = part.get("kind")
    named = kind in _KINDS and not part.keys().isdisjoint(("url", "file_id"))
    if named or (kind == "binary" and "media_type" in part):  # Pydantic AI
        is_image = kind == "image-url" or str(part.get("media_type")).startswith("image/")
        return "image" if is_image else "file"
    if place == _CONTENT:
        return ""
    block = part.get("block_type")
    if block in ("audio", "document", "image", "video"):  # LlamaIndex
        return "image" if block == "image" else "file"
    kind = part.get("type")
    # Gemini names the resolution of an image beside it, so the whole part is the image.
    inner = part.get("inline_data") or part.get("inlineData") or part
    mime = None
    if isinstance(inner, dict):
        mime = inner.get("mime_type") or inner.get("mimeType")
    source = part.get("source")
    if "format" in part and isinstance(source, dict) and not source.keys() & {"text", "content"}:
        mime = "file"  # of Bedrock, as are its recordings
        if part["format"] in ("png", "jpeg", "gif", "webp"):
            mime = "image/"
    if kind in _IMAGES or (isinstance(mime, str) and mime.startswith("image/")):
        return "image"
    is_file = kind in _FILES or isinstance(mime, str) or "transcript" in part
    return "file" if is_file else ""


def join_messages(messages: Iterable[Message]) -> list[Message]:
    """Merge neighbouring messages of the same role."""
    joined: list[Message] = []
    for message in messages:
        if (
            joined
            and joined[-1].role == message.role
            and not (_has_fields(joined[-1].blocks) or _has_fields(message.blocks))
        ):
            last = joined.pop()
            moved = tuple(len(last.blocks) + n for n in message.breaks)
            pinned = last.pinned or message.pinned
            blocks, breaks = last.blocks + message.blocks, last.breaks + moved
            message = Message(message.role, blocks, breaks, pinned)
        joined.append(message)
    return joined


def _has_fields(blocks: Iterable[MessageBlock | None]) -> bool:
    # Fields of a message, such as a name, are not those of its neighbour.
    return any(isinstance(block, OpaqueBlock) and block.kind == FIELDS for block in blocks)


def keep_for(
    family: str, messages: Iterable[Message], diagnostics: Diagnostics, images: Collection[str]
) -> list[Message]:
    """Return the messages for one family of providers; losses are said (PF208).

    A block of this family keeps its original. Others lose it, and an opaque block is left out, as
    is an image that comes by `data` or `url` while the family takes none of these `images`.
    """
    made = []
    for message in messages:
        kept: list[MessageBlock] = []
        for block in message.blocks:
            # The LLM's own images go back to its family alone.
            taken = () if message.role == "assistant" else images
            own, loss = _keep_block(block, family, taken)
            if own is not None:
                kept.append(own)
            if loss is not None and loss.spared != family:
                diagnostics.add("PF208", loss.message, where=loss.where, severity=loss.severity)
        if len(kept) == len(message.blocks) and all(map(is_, kept, message.blocks)):
            made.append(message)
        elif kept:
            made.append(replace(message, blocks=tuple(kept)))
    # What stood after a thought may have been for another family.
    joined = [(m.role, m.pinned, m.blocks) for m in join_messages(made)]
    return _drop_loose_thoughts(joined, "history", diagnostics)


def _keep_block(
    block: MessageBlock, family: str, images: Collection[str]
) -> tuple[MessageBlock | None, Loss | None]:
    if block.original is not None and block.family == family:
        return block, None
    if isinstance(block, OpaqueBlock):
        return None, block.loss
    if family == "gemini" and isinstance(block, ToolCall) and (sign := signature_beside(block)):
        call = {"id": block.id, "name": block.name, "args": json.loads(block.arguments)}
        original = {"function_call": call, "thought_signature": sign}
        return replace(block, original=original, family=family), None
    neutral = block
    if block.original is not None or block.loss is not None:
        neutral = replace(block, original=None, family="", loss=None)
    if not isinstance(block, ImageBlock):
        return neutral, block.loss
    if ("data" if block.data else "url") in images:
        return neutral, None
    return None, block.loss


def signature_beside(call: ToolCall) -> str | None:
    """Return the signature of a call of Gemini in the shape of OpenAI: Google's and LiteLLM's."""
    given: Any = call.original or {}
    for path in (("extra_content", "google"), ("provider_specific_fields",)):
        found = given
        for key in (*path, "thought_signature"):
            found = found.get(key) if isinstance(found, dict) else None
        if found and isinstance(found, str):
            return found
    return None


def is_failure(response: Any) -> bool:
    """Return whether a response to Gemini has an error and no output; it may have other members."""
    return isinstance(response, dict) and bool(response.get("error")) and "output" not in response


class _Waiting(NamedTuple):
    """A call without a result so far, and its place in the row of kept blocks."""

    call: ToolCall
    row: list[MessageBlock | None]
    at: int


def pair_calls(
    messages: list[Message], where: str, diagnostics: Diagnostics, closed: bool, first: int = 0
) -> list[Message]:
    """Drop calls without a result and results without a call (PF209); give every call an id.

    A late result moves to its call. A call of a provider's own tool may wait at the end, unless the
    history is `closed`: something of the user follows. `first` messages stand before these.
    """
    messages = _with_late_results(messages, where, diagnostics)
    waiting: dict[str, _Waiting] = {}
    # A call that is given up later leaves `None` in its row, so that places stay.
    rows: list[list[MessageBlock | None]] = []
    lost: list[str] = []
    given_ids = {
        block.id
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolCall | ToolOutput)
    }
    for index, message in enumerate(messages, first):
        row: list[MessageBlock | None] = []
        rows.append(row)
        # Providers refuse a call whose result does not follow at once.
        if message.role != "tool":
            lost += _give_up(waiting)
        for block in message.blocks:
            if isinstance(block, ToolCall):
                id_ = block.id
                # Gemini's calls may come without an id, and a broken history may use one id twice.
                if not id_ or id_ in waiting:
                    id_ = f"{id_ or 'call'}_{index}_{len(row)}"
                    while id_ in given_ids:
                        id_ += "_"
                call = _with_id(block, id_)
                waiting[id_] = _Waiting(call, row, len(row))
                row.append(call)
            elif isinstance(block, ToolOutput):
                answered = waiting.pop(block.id or _first_waiting(waiting, block.name), None)
                if answered is None:
                    lost.append(f"the result of {quote(block.name or block.id)} has no call")
                    row.append(None)
                    continue
                id_, name = answered.call.id, answered.call.name
                row.append(replace(_with_id(block, id_), name=name))
            else:
                row.append(block)
    lost += _give_up(waiting)
    lost += _drop_loose_pairs(rows, [message.role for message in messages], closed)
    for text in lost:
        diagnostics.add("PF209", f"{text}; it was left out", where=where)
    made = [(m.role, m.pinned, row) for m, row in zip(messages, rows, strict=True)]
    return _drop_loose_thoughts(made, where, diagnostics)


def _with_late_results(
    messages: Sequence[Message], where: str, diagnostics: Diagnostics
) -> list[Message]:
    """Move a result that comes after other messages to its call; a second one replaces the first.

    Claude refuses signed thoughts behind what has changed: those between the two are left out.
    """
    made: list[tuple[Message, list[MessageBlock]]] = []
    places: dict[str, int] = {}
    # A broken history may use one id for two calls, and has a result for each.
    waiting: dict[str, int] = {}
    for message in messages:
        kept: list[MessageBlock] = []
        for block in message.blocks:
            if not isinstance(block, ToolOutput) or block.id not in places:
                kept.append(block)
                continue
            place = places[block.id]
            results = made[place][1]
            is_late = place < len(made) - 1
            if is_late:
                text = f"the late result of {quote(block.id)} was moved to its call"
                diagnostics.add("PF209", text, where=where, severity="info")
                for _, row in made[place:]:
                    row[:] = [one for one in row if not is_bound_thought(one)]
            if waiting[block.id] <= 0:
                results[:] = [one for one in results if getattr(one, "id", "") != block.id]
                if not is_late:
                    text = f"a second result of {quote(block.id)} has replaced the first"
                    diagnostics.add("PF209", text, where=where)
            waiting[block.id] -= 1
            results.append(block)
            if message.pinned:
                made[place] = replace(made[place][0], pinned=True), results
        made.append((message, kept))
        ids = [b.id for b in kept if isinstance(b, ToolCall) and b.id]
        if ids:
            places |= dict.fromkeys(ids, len(made))
            waiting |= Counter(ids)
            made.append((Message("tool", ()), []))
    moved = (replace(message, blocks=tuple(row)) for message, row in made if row)
    return join_messages(moved)


def is_bound_thought(block: MessageBlock) -> bool:
    """Return whether a block is a thought of Claude, in its own shape, Bedrock's or LiteLLM's."""
    if not isinstance(block, OpaqueBlock):
        return False
    if block.kind == FIELDS:
        return "thinking_blocks" in (block.original or ())
    return block.reasoning and block.family in ("anthropic", "bedrock")


def _drop_loose_thoughts(
    rows: Iterable[tuple[Role, bool, Sequence[MessageBlock | None]]],
    where: str,
    diagnostics: Diagnostics,
) -> list[Message]:
    """Make messages of the blocks that are left, but of no thought without a block after it."""
    made = []
    left = [row for row in rows if any(block is not None for block in row[2])]
    apart = count(1)
    # A thought's call may follow after a result that was left out, so its row is joined.
    for (role, _), same in groupby(left, lambda one: (one[0], next(apart) * _has_fields(one[2]))):
        members = list(same)
        pinned = any(is_pinned for _, is_pinned, _ in members)
        row = [block for *_, part in members for block in part]
        kept = tuple(_without_loose_thoughts(row))
        for _ in range(len(row) - row.count(None) - len(kept)):
            text = "a thought has nothing after it; it was left out"
            diagnostics.add("PF209", text, where=where)
        if kept:
            made.append(Message(role, kept, pinned=pinned))
    return made


def _drop_loose_pairs(
    rows: list[list[MessageBlock | None]], roles: Sequence[Role], closed: bool
) -> list[str]:
    found = [
        (n, row, at, block)
        for n, row in enumerate(rows)
        for at, block in enumerate(row)
        if isinstance(block, OpaqueBlock)
    ]
    called = {block.call_id for *_, block in found}
    answered = {block.answers for *_, block in found}
    last_user = max((n for n, role in enumerate(roles) if role == "user"), default=-1)
    lost = []
    for n, row, at, block in found:
        # Anthropic goes on with a turn that it paused, unless the user says something after it.
        waits = n > last_user and block.family != "openai-responses" and not closed
        if block.call_id and block.call_id not in answered and not waits:
            lost.append(f"the call of {quote(block.kind)} has no result")
        elif block.answers and block.answers not in called:
            lost.append(f"the result of {quote(block.kind)} has no call")
        else:
            continue
        row[at] = None
    return lost


_Paired = TypeVar("_Paired", ToolCall, ToolOutput)


def _with_id(block: _Paired, id_: str) -> _Paired:
    if block.id == id_:
        return block
    # Gemini pairs by place: without an id, the part goes back without one.
    original = block.original if not block.id else None
    return replace(block, id=id_, original=original)


def _without_loose_thoughts(row: Sequence[MessageBlock | None]) -> Iterator[MessageBlock]:
    """Yield kept blocks, and each thought that has a block after it, as providers demand."""
    thoughts: list[MessageBlock] = []
    dropped = False
    for block in row:
        if isinstance(block, OpaqueBlock) and block.reasoning:
            if dropped:
                thoughts, dropped = [], False
            thoughts.append(block)
        elif block is None:
            dropped = bool(thoughts)
        else:
            yield from thoughts
            yield block
            thoughts, dropped = [], False


def _first_waiting(waiting: dict[str, _Waiting], name: str) -> str:
    """Find the call for a result without an id: the first waiting call of that tool."""
    fitting = (id_ for id_, entry in waiting.items() if name in ("", entry.call.name))
    return next(fitting, "")


def _give_up(waiting: dict[str, _Waiting]) -> list[str]:
    lost = []
    for call, row, at in waiting.values():
        lost.append(f"the call of {quote(call.name)} has no result")
        row[at] = None
    waiting.clear()
    return lost


def break_up_controls(
    messages: Sequence[Message], controls: ControlTokens
) -> tuple[list[Message], int]:
    """Return the messages with every control token broken up, and the number of changes."""
    about = type(controls), controls.tokens

    def break_up(message: Message) -> tuple[Message, int]:
        changes = [_block(block, controls) for block in message.blocks]
        made = replace(message, blocks=tuple(block for block, _ in changes))
        return (message if made == message else made), sum(count for _, count in changes)

    made = [message.fact(about, break_up) for message in messages]
    return [message for message, _ in made], sum(count for _, count in made)


class RestoringTokens(ControlTokens):
    """Takes back what control tokens broke up, in the place of breaking up."""

    def __init__(self, controls: ControlTokens) -> None:
        self.__dict__ = controls.__dict__

    def break_up(self, text: str) -> tuple[str, int]:
        """Return the text as it was before, and whether it has changed."""
        restored = self.restore(text)
        return restored, int(restored != text)


def _block(block: MessageBlock, controls: ControlTokens) -> tuple[MessageBlock, int]:
    original, count = controls.break_up_data(block.original)
    # A chat template prints ids and names too.
    names = [name for name in _PRINTED if hasattr(block, name)]
    texts, changes = controls.break_up_data([getattr(block, name) for name in names])
    made: Any = replace(block, original=original, **dict(zip(names, texts, strict=True)))
    if isinstance(block, OpaqueBlock):
        return made, count
    if not isinstance(block, ToolCall):
        return made, changes
    arguments, count = block.arguments, 0
    # A server may decode the escapes, so "\u003c|im_end|>" is a token too. The change is made in
    # the decoded texts, so that the arguments stay JSON.
    if "\\" in arguments or controls.holds(arguments):
        decoded, count = controls.break_up_data(json.loads(arguments))
        if count or controls.holds(arguments):
            arguments = json.dumps(decoded, ensure_ascii=False)
            made = replace(made, original=None)
    return replace(made, arguments=arguments), count + changes


_PRINTED = ("id", "name", "mime", "url", "title", "source", "text")
"""Fields of blocks that an LLM may read as they are."""
