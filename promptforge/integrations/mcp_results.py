"""Shortens the texts of a tool's result to a budget, and holds them whole by a handle for a while.

A text is shortened by its kind and by a question; JSON stays JSON, and agrees with a schema if any
shorter text does.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import os
import re
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Literal

import msgspec
from jsonschema.validators import validator_for
from referencing import Registry

from ..engine import get_tokenizer
from ..errors import OptionError, quote
from ..sources.text_files import rank_texts
from .bridge import Bridge

MIN_BUDGET = 200
"""Tokens below which the note on what was left out has no room."""
MAX_BYTES = 1 << 26
"""Bytes of all results that are held, and of one message."""
MAX_QUESTION_CHARS = 1_000
SIZES = sorted({int(1.2**number) for number in range(70)} | {0})
"""Elements of an array that are kept; of a text forty times as many characters."""
MAX_CHARS_READ, MAX_PASSAGES, MIN_RANKED = 1 << 20, 50, 12
"""Characters of a text that is read whole for a question, passages of a longer one, and elements of
an array from which on they are ranked by the question."""
_PASSAGE = re.compile(r"(?s).{1,2000}(?:\n|\Z)|.{2000}")
_LINES = re.compile(r"(\d{1,9})(?::(\d{1,9}))?(?:-(\d{1,9})?)?")


class ResultShortener:
    """Shortens texts, and holds them whole for a while; threads may share it."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge, self._counter = bridge, get_tokenizer(bridge.setting("tokenizer"))
        self.most: int = bridge.setting("max_tokens") or 0
        if self.most < MIN_BUDGET:
            raise OptionError(f"--wrap needs --max-tokens, {MIN_BUDGET} or more")
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._key = os.urandom(16)  # no other client can guess a handle

    def _cost(self, texts: Sequence[str]) -> int:
        """Return the tokens of texts, one by one or joined by a client, if not above the budget."""
        alone = sum(self._counter.count_upto(text, self.most) for text in texts)
        return max(alone, self._counter.count_upto("\n".join(texts), self.most))

    def _hold(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        handle = hashlib.blake2b(data, digest_size=6, key=self._key).hexdigest()
        self._held[handle] = data
        self._held.move_to_end(handle)
        while sum(map(len, self._held.values())) > MAX_BYTES and len(self._held) > 1:
            self._held.popitem(last=False)
        return handle

    def shorten(
        self, texts: Sequence[str], languages: Sequence[str | None], question: str, schema: Any
    ) -> tuple[list[str], str] | None:
        """Return the shorter texts and a note; None where all cost no more than the budget."""
        if self._cost(texts) <= self.most:
            return None
        whole = "\n".join(texts)
        handle, lines = self._hold(whole), whole.count("\n") + 1

        def note(shown: int) -> str:
            return (
                f"[Shortened: {shown:,} of {len(whole):,} characters are shown, of {lines:,} lines."
                f' The rest: read_more(handle="{handle}", lines="1-") or query="…" for a part.]'
            )

        share = self._share(texts, self.most - self._cost([note(len(whole))]))
        while share > 0:
            short = [
                self._within(text, language, question, schema, share)
                for text, language in zip(texts, languages, strict=True)
            ]
            said = note(sum(map(len, short)))
            over = self._cost([*short, said]) - self.most
            if over <= 0:
                return short, said
            share -= over
        return [""] * len(texts), note(0)

    def _share(self, texts: Sequence[str], room: int) -> int:
        """Return the most tokens of one text with which all keep the room."""
        sizes = sorted(self._counter.count_upto(text, room) for text in texts)
        for number, size in enumerate(sizes):
            share = room // (len(sizes) - number)
            if size > share:
                return share
            room -= size
        return sizes[-1]

    def _within(
        self, text: str, language: str | None, question: str, schema: Any, room: int
    ) -> str:
        if self._counter.count_upto(text, room) <= room:
            return text
        value = _json_value(text)
        is_huge = len(text) > MAX_CHARS_READ and question
        if value is None and is_huge:
            text = _passages(text, question)
        if value is None or not is_huge:
            language = language if value is None else "json"
            item = {"content": text, "kind": "file", "language": language}
            made = self._bridge.fit(
                [item], question or None, max_tokens=room, compact=schema is None
            ).result.text
            if value is None or _agrees(made, schema):
                return made
        prune = _Pruner(question)
        for keys, wanted in ((True, schema), (True, None), (False, None)):
            best = ""
            for size in SIZES:
                pruned = prune(value, size, keys)
                if self._counter.count_upto(pruned, room) > room:
                    break
                if _agrees(pruned, wanted):
                    best = pruned
            if best:
                return best
        return ""

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
        if query:
            found = self.shorten([piece], [None], query[:MAX_QUESTION_CHARS], None)
            return [piece] if found is None else [*found[0], found[1]]
        return self._page(piece, start, column, len(lines))

    def _page(self, piece: str, start: int, column: int, lines: int) -> list[str]:
        """Return the beginning of a text within the budget, and a note on where the next begins."""
        shown, place, room = piece, "", self.most
        while True:
            last = start + shown.count("\n") - shown.endswith("\n")
            said = f"[Lines {start}-{last} of {lines}.{place}]"
            over = self._cost([shown, said]) - self.most
            if over <= 0:
                return [shown, said]
            room -= over
            shown = self._counter.cut(piece, room, "line") or self._counter.cut(
                piece, room, "character"
            )
            rest = shown.rpartition("\n")[2]
            at = len(rest) + (1 if "\n" in shown else column)
            row = start + shown.count("\n")
            place = f' Next: lines="{row}{f":{at}" * (at > 1)}-".'


def _json_value(text: str) -> Any:
    """Return the value of a JSON object or array; None for any other text."""
    with suppress(ValueError, RecursionError):
        if text.lstrip()[:1] in ("{", "["):
            return json.loads(text)
    return None


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
            cut = self._cut(value, size, keys)
            return json.dumps(cut, ensure_ascii=False, separators=(",", ":"))
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


def _agrees(text: str, schema: Any) -> bool:
    value = _json_value(text)
    if value is None or not isinstance(schema, dict):
        return value is not None
    try:  # no registry: a stranger's schema would have its references fetched
        return bool(validator_for(schema)(schema, registry=Registry()).is_valid(value))
    except Exception:  # the schema is none
        return False
