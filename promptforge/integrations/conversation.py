"""Keep the messages of any framework within the window of an LLM, and give them back.

Messages are read as a history is, and fitted as `Renderer.prompt` fits one. Then each goes back as
the object that it was, or as a copy with its shortened texts. They may be those of LangChain,
LlamaIndex, OpenAI Agents, Google ADK or Pydantic AI, or a provider's own.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from operator import is_
from typing import Any, NamedTuple

from msgspec.structs import replace

from ..engine import log_diagnostics
from ..errors import Diagnostic, Diagnostics, OptionError
from ..prompts.histories import read_message
from ..prompts.ladder import FittedHistory, HistoryFitter, say_changes, to_response, with_output
from ..prompts.libraries import Dumper
from ..prompts.messages import (
    ImageBlock,
    Message,
    MessageBlock,
    OpaqueBlock,
    TextBlock,
    ToolCall,
    ToolOutput,
    weigh,
)
from ..prompts.providers import SYSTEM_ROLES
from ..prompts.recall import RECALL_OVERHEAD_TOKENS, recall_passages
from ..prompts.remembered import HistoryMemory
from ..prompts.tools import read_tools
from .bridge import Bridge, too_small

_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")


class FittedMessages(NamedTuple):
    """Messages after fitting."""

    messages: list[Any]
    """The same objects, but copies of those that were shortened."""
    tokens: int
    """Tokens of messages, system text and tools, rather too many than too few."""
    dropped: int
    """Messages left out, the oldest."""


class Conversation:
    """Messages of a framework, read into blocks, and the way back."""

    def __init__(self, given: Iterable[Any], memory: HistoryMemory | None = None) -> None:
        self._given = list(given)
        memory = memory or HistoryMemory(_read)
        self._units = [(n, unit) for n, one in enumerate(self._given) for unit in _units(one)]
        self.messages: list[Message] = []
        self._sources: list[list[int]] = []
        """The unit of each block of each message."""
        for at, (_, unit) in enumerate(self._units):
            for message in memory.read(unit, "messages", Diagnostics()):
                self._add(message, at)

    def _add(self, message: Message, at: int) -> None:
        # A thought of OpenAI is an item of its own, and so is the call that follows it.
        if message.role == "assistant" and self.messages and self.messages[-1].role == "assistant":
            last = self.messages[-1]
            self.messages[-1] = replace(last, blocks=last.blocks + message.blocks)
        else:
            self.messages.append(message)
            self._sources.append([])
        self._sources[-1] += [at] * len(message.blocks)

    def restore(self, fitted: FittedHistory, first: int = 0) -> list[Any]:
        """Return the framework's messages that are left: the objects given, or changed copies.

        `first` messages stand before those that were fitted, and stay.
        """
        changes: dict[int, _Rewriter] = {}
        left = [*self.messages[:first], *fitted.messages]
        for n, (message, now) in enumerate(zip(self.messages, left, strict=True)):
            shown = iter(now.blocks if now is not None else ())
            for place, (block, at) in enumerate(zip(message.blocks, self._sources[n], strict=True)):
                change = changes.setdefault(at, _Rewriter())
                if (n - first, place) in fitted.gone:
                    change.leave_out(block)
                elif now is not None:
                    change.add(block, next(shown))
        units: dict[int, list[Any]] = {}
        for at, (n, unit) in enumerate(self._units):
            if at in changes and changes[at].shows:
                made = changes[at].rewrite(unit) if changes[at].differs else unit
                units.setdefault(n, []).append(made)
        return [_rebuild(self._given[n], made) for n, made in units.items()]


def _units(given: Any) -> list[Any]:
    """Return the parts of a message of Pydantic AI, each as a message; any other one itself."""
    kind, parts = _get(given, "kind"), _get(given, "parts")
    if kind not in ("request", "response") or not isinstance(parts, Sequence):
        return [given]
    return [{"kind": kind, "parts": [part]} for part in parts]


def _rebuild(given: Any, units: list[Any]) -> Any:
    if units[0] is given:
        return given
    if _get(given, "kind") not in ("request", "response"):
        return units[0]
    parts, before = [unit["parts"][0] for unit in units], _get(given, "parts")
    same = len(parts) == len(before) and all(map(is_, parts, before))
    return given if same else _copy(given, {"parts": parts})


def _read(unit: Any, where: str, said: Diagnostics) -> list[Message]:
    """Read a message with all that it costs; one that cannot be read stays with those before it."""
    messages = [m for m in read_message(unit, where, Diagnostics()) if m.blocks]
    plain = Dumper().dump(unit)
    if not messages:
        return [Message("tool", (OpaqueBlock(kind="unread", original={"content": plain}),))]
    weight = weigh(plain)
    media = [*weight.images, *weight.files]
    blocks = [block for message in messages for block in message.blocks]
    known = [weigh(b.original) for b in blocks if b.original is not None]
    counted = sum(len(each.images) + len(each.files) for each in known)
    counted += sum(isinstance(b, ImageBlock) and b.original is None for b in blocks)
    if len(media) > counted:
        *others, block = messages[-1].blocks
        if isinstance(block, ToolOutput) and block.original is None:
            others.append(replace(block, original={"content": media}))
        else:
            others += block, OpaqueBlock(kind="media", original={"content": media})
        messages[-1] = replace(messages[-1], blocks=tuple(others))
    return messages


# --- any object of a message ----------------------------------------------------------------------


def _get(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name)
    return getattr(value, name, None)


def _fields(value: Any) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    names: Iterable[str] = getattr(type(value), "model_fields", ())
    if dataclasses.is_dataclass(value):
        names = [each.name for each in dataclasses.fields(value)]
    return {name: getattr(value, name) for name in names}


def _copy(value: Any, changes: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {**value, **changes}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **changes)
    return value.model_copy(update=changes)


class _Rewriter:
    """Writes the changes of one message into a copy of it."""

    def __init__(self) -> None:
        self.shows = self.differs = False
        """`shows`: something of it is left."""
        self._bare = False
        """True if its thoughts are left out."""
        self._texts: dict[str, str] = {}
        self._gone: set[str] = set()
        """The ids of calls that are left out."""
        self._calls: list[bool] = []
        """For each call without an id: True if it stays."""
        self._results: list[str | bool] = []
        """The new text of each result; True for one that stays, False for one that is left out."""

    def leave_out(self, block: MessageBlock) -> None:
        """Take the next block, which is a thought, a call or a result, as left out."""
        self.differs = True
        if isinstance(block, ToolCall | ToolOutput) and block.id:
            self._gone.add(block.id)
        elif isinstance(block, ToolCall):
            self._calls.append(False)
        elif isinstance(block, ToolOutput):
            self._results.append(False)
        else:
            self._bare = True

    def add(self, block: MessageBlock, new: MessageBlock) -> None:
        """Take the new state of the next block."""
        self.shows = True
        self.differs |= new is not block
        text = getattr(new, "text", "")
        if isinstance(block, ToolOutput):
            self._results.append(new is block or text)
        elif isinstance(block, ToolCall) and not block.id:
            self._calls.append(True)
        elif new is not block:
            self._texts[getattr(block, "text", "")] = text

    def rewrite(self, value: Any) -> Any:
        """Return the value with the changes; the same object if there are none in it."""
        if isinstance(value, str):
            return self._texts.get(value, value)
        if isinstance(value, list | tuple):
            made = [self.rewrite(one) for one in value if self._stays(one)]
            same = len(made) == len(value) and all(map(is_, made, value))
            return value if same else type(value)(made)
        if _is_result(value):
            text = self._results.pop(0) if self._results else True
            return _with_result(value, text) if isinstance(text, str) else value
        fields = {name: (one, self.rewrite(one)) for name, one in _fields(value).items()}
        changes = {name: new for name, (one, new) in fields.items() if new is not one}
        return _copy(value, changes) if changes else value

    def _stays(self, one: Any) -> bool:
        """Return whether a member of a list is left; a message may name a call in several lists."""
        if _is_thought(one):
            return not self._bare
        call, result = (_first(one, keys) for keys in (_CALLS, _RESULTS))
        id_ = _first(call or result or one, _IDS)
        if id_ is not None:
            return id_ not in self._gone
        if result is not None and self._results[:1] == [False]:
            self._results.pop(0)
            return False
        return self._calls.pop(0) if call is not None and self._calls else True


_CALLS = ("function_call", "functionCall", "toolUse")
_RESULTS = ("function_response", "functionResponse", "toolResult")
_IDS = ("call_id", "tool_call_id", "tool_use_id", "toolUseId", "id")


def _first(value: Any, names: Iterable[str]) -> Any:
    return next(filter(None, (_get(value, name) for name in names)), None)


def _is_thought(value: Any) -> bool:
    kinds = (_get(value, name) for name in ("type", "block_type"))
    return any(kind in _THOUGHTS for kind in kinds if isinstance(kind, str))


def _is_result(value: Any) -> bool:
    """Return whether an object is a tool's result, in the words of any library."""
    kind, role = _get(value, "type"), _get(value, "role")
    if getattr(role, "value", role) in ("tool", "function") or kind == "tool":
        return True
    if isinstance(kind, str) and (kind.endswith("call_output") or kind == "tool_result"):
        return True
    if _get(value, "part_kind") in ("tool-return", "retry-prompt"):  # Pydantic AI
        return True
    if isinstance(value, dict):
        return not value.keys().isdisjoint(("toolResult", "functionResponse", "function_response"))
    return hasattr(value, "response") and hasattr(value, "name")


def _with_result(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return with_output(value, text)
    if hasattr(value, "response"):  # Gemini
        return _copy(value, {"response": to_response(_fields(value), text)})
    if hasattr(value, "blocks"):  # LlamaIndex
        shown = next(block for block in value.blocks if hasattr(block, "text"))
        return _copy(value, {"blocks": [_copy(shown, {"text": text})]})
    return _copy(value, {"content": text})


# --- fitting --------------------------------------------------------------------------------------


def count_messages(bridge: Bridge, messages: Iterable[Any]) -> int:
    """Return the tokens of messages of a framework, rather too many than too few."""
    return sum(HistoryFitter(Conversation(messages).messages, bridge.composer()).costs)


def count_tools(bridge: Bridge, tools: Iterable[Any]) -> int:
    """Return the tokens of definitions of tools."""
    defined = (json.dumps(t.original, ensure_ascii=False, default=str) for t in read_tools(tools))
    return sum(map(bridge.composer().count, defined))


class ConversationWindow:
    """Keeps messages of a framework within the window of an LLM.

    `context_window` less `reserve` is the room; a profile may say both. Takes every option by its
    name, and the arguments of `Bridge`. Results of tools are shortened first, the oldest first, by
    the question of their own turn; then the oldest turns lose their steps, and go; then the oldest
    steps of the turn that runs. System messages stay wherever they stand. The same messages always
    give the same, so a provider's cache lasts.

        window = ConversationWindow(profile="claude")
        messages = window.fit(state["messages"], tools=tools).messages

    A window may be called like a function of messages: `window(messages)` counts no tools.
    """

    def __init__(self, **options: Any) -> None:
        self._bridge = Bridge(**{"score_order": None, **options})
        if self._bridge.window is None:
            message = "context_window: set it, or choose a profile that does"
            raise OptionError(message, option="context_window")
        self._window: int = self._bridge.window
        self._memory = HistoryMemory(_read)

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        """Return the messages that keep the window."""
        return self.fit(messages).messages

    def fit(
        self, messages: Sequence[Any], *, system: object = None, tools: Iterable[Any] = ()
    ) -> FittedMessages:
        """Return the messages that keep the window; the log says what changed (PF116).

        `system` is a system text outside of the messages. Raises `BudgetError` if the system text,
        the tools, the question and the least of the last step do not fit.
        """
        if system is None:  # Pydantic AI keeps it in its messages
            system = next(filter(None, (_get(m, "instructions") for m in messages[::-1])), None)
        given = Conversation(messages, self._memory)
        head, history, room = self._prepare(given, system, tools)
        fitted = self._fit(history, room)
        if fitted.tokens > room:
            fitted = self._fit(dataclasses.replace(history, drops_calls=True), room)
        over = fitted.tokens - room
        if over > 0:
            raise too_small(self._window + over, self._window, "what cannot be left out")
        made = given.restore(fitted, len(head))
        dropped = len(messages) - len(made)
        say(fitted, dropped)
        return FittedMessages(made, self._window - room + fitted.tokens, dropped)

    def _fit(self, history: HistoryFitter, room: int) -> FittedHistory:
        """Fit the history, with passages of what it no longer shows before the question."""
        reserve = 0
        if history.runs and len(history.turns) > 1:
            reserve = int(max(0, room) * self._bridge.setting("recall_share"))
        if reserve < 2 * RECALL_OVERHEAD_TOKENS:  # no passage has room
            reserve = 0
        fitted = history.fit(room, None, reserve)
        if not history.runs:
            return fitted
        number = max(n for n in history.steps[-1][0] if history.messages[n].role == "user")
        message = fitted.messages[number]
        blocks = message.blocks if message is not None else ()
        texts = [(n, block) for n, block in enumerate(blocks) if isinstance(block, TextBlock)]
        if message is None or not texts:
            return fitted
        at, asked = texts[0]
        tokens, questions = reserve - RECALL_OVERHEAD_TOKENS, history.questions_of(-1)
        text = recall_passages(history, fitted, questions, tokens, None, asked=False)
        if not text:
            return fitted
        before = history.composer.print_before("recall", text, history.question_of(-1))
        recalled = f"{before}\n\n{asked.text}"
        changed = replace(asked, text=recalled, original=None, family="")
        made = replace(message, blocks=(*blocks[:at], changed, *blocks[at + 1 :]))
        tokens = fitted.tokens + history.cost(made) - history.cost(message)
        if tokens > room:
            return fitted
        messages = (*fitted.messages[:number], made, *fitted.messages[number + 1 :])
        return fitted._replace(messages=messages, tokens=tokens)

    def _prepare(
        self, given: Conversation, system: object, tools: Iterable[Any]
    ) -> tuple[list[Message], HistoryFitter, int]:
        """Return leading system messages, the fitter of the others, and the room for these."""
        head = list(takewhile(lambda message: message.role in SYSTEM_ROLES, given.messages))
        history = HistoryFitter(given.messages[len(head) :], self._bridge.composer())
        beside = [{"role": "system", "content": system}] if system else []
        spent: int = self._bridge.setting("prompt_tokens") + sum(map(history.cost, head))
        spent += count_messages(self._bridge, beside) + count_tools(self._bridge, tools)
        return head, history, self._window - spent


def say(fitted: FittedHistory, dropped: int) -> None:
    """Log what is left out of a window, and what is shortened."""
    said = list(say_changes(fitted._replace(steps_gone=0)))
    if dropped:
        said.insert(0, f"{dropped} messages were left out, the oldest, to keep the window")
    found = tuple(Diagnostic("PF116", "info", message) for message in said)
    log_diagnostics(None, found, strict=False)
