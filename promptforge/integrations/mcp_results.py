"""Shortens a tool's result to a budget, and holds it whole by a handle for a while.

A text is shortened by its kind and by a question, and JSON stays JSON. Structured content keeps the
schema of its tool; a text that says the same still says the same.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import os
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import islice
from typing import Any, Literal, NamedTuple

import msgspec
from jsonschema.validators import validator_for
from referencing import Registry

from ..engine import get_tokenizer
from ..errors import OptionError, quote
from ..prompts.shorten import is_output
from ..sources.text_files import rank_texts
from .bridge import Bridge

MIN_BUDGET = 200
"""Tokens below which the note on what was left out has no room."""
MAX_BYTES = 1 << 26
"""Bytes of all results that are held, and of one message."""
MAX_QUESTION_CHARS = 1_000
MIN_SHARE = 50
"""Tokens of a text, or a twelfth of the room, below which some are left out, not all cut more."""
LEFT_OUT = "The tool ran, but no part of its structured content agrees with its schema."
SIZES = sorted({int(1.2**number) for number in range(70)} | {0})
"""Elements of an array that are kept; of a text forty times as many characters."""
MAX_CHARS_READ, MAX_PASSAGES, MIN_RANKED = 1 << 20, 50, 12
"""Characters of a text that is read whole for a question, passages of a longer one, and elements of
an array, or texts, from which on they are ranked by the question."""
# Torn within a word only where 2,000 characters are one.
_PASSAGE = re.compile(r"(?s).{1,2000}(?:\n|\Z)|.{1,2000}\b|.{2000}")
_to_json = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
_LINES = re.compile(r"(\d{1,9})(?::(\d{1,9}))?(?:-(\d{1,9})?)?")


class ToolResult(NamedTuple):
    """The texts of a tool's result, and its structured content as JSON."""

    texts: Sequence[str]
    """Shortened: empty for one that is left out, and a note after all."""
    structured: str | None = None
    """Shortened: `None` too where nothing within the budget agrees with the schema."""

    @property
    def parts(self) -> list[str]:
        """All that an LLM may be shown; a text that is left out costs nothing."""
        return list(filter(None, [*self.texts, self.structured]))


class ResultShortener:
    """Shortens results, and holds them whole for a while; threads may share it."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge, self.counter = bridge, get_tokenizer(bridge.setting("tokenizer"))
        self.most: int = bridge.setting("max_tokens") or 0
        if self.most < MIN_BUDGET:
            raise OptionError(f"--wrap needs --max-tokens, {MIN_BUDGET} or more")
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._key = os.urandom(16)  # no other client can guess a handle

    def cost(self, texts: Sequence[str]) -> int:
        """Return the tokens of texts, one by one or joined by a client, if not above the budget."""
        alone = sum(self.counter.count_upto(text, self.most) for text in texts)
        return max(alone, self.counter.count_upto("\n".join(texts), self.most))

    def hold(self, text: str) -> str:
        """Hold a text; return its handle."""
        data = text.encode("utf-8", "surrogatepass")
        handle = hashlib.blake2b(data, digest_size=6, key=self._key).hexdigest()
        self._held[handle] = data
        self._held.move_to_end(handle)
        while sum(map(len, self._held.values())) > MAX_BYTES and len(self._held) > 1:
            self._held.popitem(last=False)
        return handle

    def shorten(
        self,
        given: ToolResult,
        question: str = "",
        languages: Sequence[str | None] = (),
        schema: Any = None,
        failed: bool = False,
    ) -> ToolResult | None:
        """Return the shorter result; `None` where all of it costs no more than the budget.

        `languages` are those of the texts; `schema` is that of the structured content. `failed`:
        the result is flagged as an error.
        """
        if self.cost(given.parts) <= self.most:
            return None
        known = languages or [None] * (1 + len(given.texts))
        return _Shortening(self, given, question, known, schema or {}, failed).run()

    def read(self, given: object) -> list[str]:
        """Return the texts that a call of `read_more` asks for. Raises `ValueError`."""
        try:
            arguments = msgspec.convert(given, dict[Literal["handle", "lines", "query"], str])
        except msgspec.ValidationError:
            raise ValueError("read_more takes the texts handle, lines and query") from None
        handle, query = arguments.get("handle", ""), arguments.get("query", "")
        data = self._held.get(handle)
        if data is None:
            said = f"the newest {MAX_BYTES >> 20} MiB are kept; call the tool itself again"
            raise ValueError(f"no result is held by the handle {quote(handle)}; {said}")
        text = data.decode("utf-8", "surrogatepass")
        lines = text.split("\n")
        asked = _LINES.fullmatch(arguments.get("lines", "1-").replace(" ", ""))
        if asked is None or not 1 <= int(asked[1]) <= len(lines):
            raise ValueError(f'lines takes "START-END" within 1 and {len(lines)}')
        start, column = int(asked[1]), int(asked[2] or 1)
        end = int(asked[3] or (start if "-" not in asked[0] else len(lines)))
        piece = "\n".join(lines[start - 1 : end])[column - 1 :]
        if not query:
            return self._page(piece, start, column, len(lines))
        query = query[:MAX_QUESTION_CHARS]
        if self.cost([piece]) <= self.most:
            return [piece]
        if _has_word(piece, query):
            found = self.shorten(ToolResult([piece]), query)
            return [piece] if found is None else found.parts
        where = f"{start}-{min(end, len(lines))} of {len(lines)}"
        return [
            f"[Nothing in lines {where} answers the query: they have none of its words. Ask in"
            f' other words, or read them by lines="{start}-".]'
        ]

    def _page(self, piece: str, start: int, column: int, lines: int) -> list[str]:
        """Return the beginning of a text within the budget, and a note on where the next begins."""
        shown, place, room = piece, "", self.most
        while True:
            last = start + shown.count("\n") - shown.endswith("\n")
            said = f"[Lines {start}-{last} of {lines}.{place}]"
            over = self.cost([shown, said]) - self.most
            if over <= 0:
                return [shown, said]
            room -= over
            shown = self.counter.cut(piece, room, "line") or self.counter.cut(
                piece, room, "character"
            )
            rest = shown.rpartition("\n")[2]
            at = len(rest) + (1 if "\n" in shown else column)
            row = start + shown.count("\n")
            place = f' Next: lines="{row}{f":{at}" * (at > 1)}-".'


class _Shortening:
    """One result that costs more than the budget."""

    def __init__(
        self,
        by: ResultShortener,
        given: ToolResult,
        question: str,
        languages: Sequence[str | None],
        schema: dict[str, Any],
        failed: bool,
    ) -> None:
        self._by, self._counter, self._question = by, by.counter, question
        self._structured, self._schema, self._languages = given.structured, schema, languages
        self._failed = failed
        self._value = _json_value(given.structured or "")
        self._others = texts = list(given.texts)
        said = [_json_value(text) for text in texts if self._value]
        self._copies = [n for n, value in enumerate(said) if value == self._value]
        """Places of texts with the value of the structured content."""
        if self._copies:
            self._others = [text if said[n] != self._value else "" for n, text in enumerate(texts)]
        self._sizes = [self._counter.count_upto(text, by.most) for text in self._others]
        values = list(self._value.values()) if isinstance(self._value, dict) else []
        # Of a list of objects, the library of Python sends each in a text of its own.
        is_list = bool(texts) and values in (texts, [texts], [said])
        self._is_repeated = is_list or bool(self._copies)
        """True if the structured content says no more than the texts."""
        self._whole = "\n".join(texts if self._is_repeated else given.parts)
        self._handle = by.hold(self._whole)

    def run(self) -> ToolResult:
        """Return it within the budget."""
        note = self._by.cost([self._note(len(self._whole))])
        room = self._by.most - note * (1 if self._structured is None else 2)
        less = 0
        while room > 0:
            found = self._within(room)
            over = self._by.cost(found.parts) - self._by.most
            if over <= 0:
                return found
            less = max(over, 2 * less)  # all is cut anew each time, so few times must do
            room -= less
        return self._with_notes([""] * len(self._others), "")

    def _note(self, shown: int) -> str:
        lines = self._whole.count("\n") + 1
        return (
            f"[Shortened: {shown:,} of {len(self._whole):,} characters are shown, of {lines:,}"
            f' lines. The rest: read_more(handle="{self._handle}", lines="1-") or query="…" for a'
            " part.]"
        )

    def _with_notes(self, texts: list[str], made: str) -> ToolResult:
        shown = [*texts, "" if self._is_repeated else made]
        note = self._note(sum(map(len, shown)))
        if made and made != self._structured:
            made = _with_note(made, note, self._schema)
        elif self._structured and not made:
            note = f"{LEFT_OUT} {note}"
        return ToolResult([*texts, note], made or None)

    def _within(self, room: int) -> ToolResult:
        """Shorten all to a room; a client may show the texts, the structured content, or both."""
        each = max(room - sum(self._sizes), room // 2) // (1 + len(self._copies))
        made = self._structured_within(each)
        if not made and self._structured:  # it alone
            return self._with_notes([""] * len(self._others), self._structured_within(room))
        cost = self._counter.count(made)
        texts = self._level(room - cost * (1 + len(self._copies)))
        for n in self._copies:
            texts[n] = made
        return self._with_notes(texts, made)

    def _level(self, room: int) -> list[str]:
        """Shorten the longest texts, all to one length; of too many, keep the best."""
        kept = self._best_within(room, max(MIN_SHARE, room // MIN_RANKED))
        share = self._share(kept, room)
        texts = [""] * len(self._others)
        for n in kept:
            texts[n] = self._text_within(self._others[n], self._languages[n], share)
        return texts

    def _best_within(self, room: int, least: int) -> list[int]:
        """Return the places of the best texts, so many that each is whole or has the `least`."""
        best: list[int] = []
        for n in self._order:
            room -= min(self._sizes[n], least)
            if best and room < 0:
                break
            best.append(n)
        return best

    @cached_property
    def _order(self) -> list[int]:
        """The places of the texts, those that answer the question best first."""
        order = [n for n, size in enumerate(self._sizes) if size]
        if self._failed:  # an error is at the end
            return order[::-1]
        if self._question and len(order) >= MIN_RANKED:
            worths = rank_texts(self._question, [text[:MAX_CHARS_READ] for text in self._others])
            order.sort(key=lambda n: -worths[n])
        return order

    def _share(self, places: Sequence[int], room: int) -> int:
        """Return the most tokens of one text with which those at the places keep the room."""
        sizes = sorted(self._sizes[n] for n in places)
        for number, size in enumerate(sizes):
            share = room // (len(sizes) - number)
            if size > share:
                return share
            room -= size
        return max(sizes, default=0)

    def _text_within(self, text: str, language: str | None, room: int) -> str:
        if self._counter.count_upto(text, room) <= room:
            return text
        value = _json_value(text)
        if len(text) > MAX_CHARS_READ and self._question:
            if value is not None:
                return self._prune(value, None, room)
            text = _passages(text, self._question)
        language = language if value is None else "json"
        item = {"content": text, "kind": "file", "language": language}
        if self._failed and is_output(text):
            item = {"content": text, "kind": "error"}
        fitted = self._by.bridge.fit([item], self._question or None, max_tokens=max(0, room))
        made = fitted.result.text
        return made if value is None or _agrees(made, None) else self._prune(value, None, room)

    def _structured_within(self, room: int) -> str:
        text = self._structured or ""
        if self._counter.count_upto(text, room) <= room:
            return text
        if self._value is None:
            return ""
        holder: Any
        strings = _strings(self._value)
        holder, key, longest = max(strings, key=lambda each: len(each[2]), default=(None, 0, ""))
        size = room if 2 * len(longest) > len(text) else 0
        while size > 0:  # most of it is one text
            holder[key] = self._text_within(longest, self._languages[0], size)
            made = _to_json(self._value)
            holder[key] = longest
            over = self._counter.count(made) - room
            if over <= 0 and _agrees(made, self._schema):
                return made
            size -= max(over, 1 + size // 8)
        return self._prune(self._value, self._schema, room)

    def _prune(self, value: Any, schema: dict[str, Any] | None, room: int) -> str:
        prune = _Pruner(self._question)
        for keys in (True, False):
            best = ""
            for size in SIZES:
                pruned = prune(value, size, keys)
                if self._counter.count_upto(pruned, room) > room:
                    break
                if _agrees(pruned, schema):
                    best = pruned
            if best:
                return best
        return ""


def _strings(value: Any) -> Iterator[tuple[Any, Any, str]]:
    """Yield the strings in an object or array, each with its holder and its key there."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        for key, each in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(each, str):
                yield holder, key, each
            elif isinstance(each, dict | list):
                waiting.append(each)


def _with_note(made: str, note: str, schema: dict[str, Any]) -> str:
    """Return an object with the note as its first field, if the schema allows one more."""
    value = json.loads(made)
    if isinstance(value, dict):
        noted = _to_json({"_shortened": note, **value})
        if _agrees(noted, schema):
            return noted
    return made


def _json_value(text: str) -> Any:
    with suppress(ValueError, RecursionError):
        if text.lstrip()[:1] in ("{", "["):
            return json.loads(text)
    return None


def _has_word(text: str, question: str) -> bool:
    """Return whether a text has a word of a question; most have one near the beginning."""
    passages = _PASSAGE.findall(text)
    starts = range(0, len(passages), MAX_PASSAGES)
    return any(any(rank_texts(question, passages[at : at + MAX_PASSAGES])) for at in starts)


def _passages(text: str, question: str) -> str:
    """Return those of the passages of a huge text that answer a question best, in their order."""
    passages = _PASSAGE.findall(text)
    worths = rank_texts(question, passages)
    best = heapq.nlargest(MAX_PASSAGES, range(len(passages)), key=worths.__getitem__)
    return "…\n".join(passages[place] for place in sorted(best) if worths[place] > 0) or text


class _Pruner:
    """Writes JSON without the elements that answer a question least."""

    def __init__(self, question: str) -> None:
        self._question = question
        self._orders: dict[int, list[int]] = {}
        """By the `id` of an array: its places, the best first."""

    def __call__(self, value: Any, size: int, keys: bool) -> str:
        """Return a value with so many elements of each array, and all `keys` or so many."""
        with suppress(RecursionError):
            return _to_json(self._cut(value, size, keys))
        return ""

    def _cut(self, value: Any, size: int, keys: bool) -> Any:
        if isinstance(value, dict):
            kept = islice(value.items(), None if keys else size)
            return {key: self._cut(each, size, keys) for key, each in kept}
        if isinstance(value, list):
            places = sorted(self._order(value)[:size]) if len(value) > size else range(len(value))
            return [self._cut(value[place], size, keys) for place in places]
        if isinstance(value, str) and len(value) > 40 * size:
            return value[: 40 * size] + "…"
        return value

    def _order(self, value: list[Any]) -> Sequence[int]:
        if not self._question or len(value) < MIN_RANKED:
            return range(len(value))
        if id(value) not in self._orders:
            worths = rank_texts(self._question, list(map(json.dumps, value)))
            order = sorted(range(len(value)), key=lambda place: -worths[place])
            self._orders[id(value)] = order
        return self._orders[id(value)]


def _agrees(text: str, schema: dict[str, Any] | None) -> bool:
    value = _json_value(text)
    if value is None or schema is None:
        return value is not None
    try:  # no registry: a stranger's schema would have its references fetched
        json.dumps(value, allow_nan=False)
        return bool(validator_for(schema)(schema, registry=Registry()).is_valid(value))
    except Exception:  # the schema is none
        return False
