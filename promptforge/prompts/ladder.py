"""Fit a history into a room: results of tools step down, the oldest first, and turns go last.

A history is turns, each a question and its steps; a step is an answer with the results of its
calls. Nothing changes until a request would be over the high mark. Then one batch brings it down to
the low mark: results, and long texts that the user pasted, are shortened by the question of their
own turn, then again; then each result is one line, and turns lose their steps before what was asked
and answered goes. Results of the turn that runs are one line last: it is not answered yet. Where
its newest step has no room so, its oldest calls go with their results. After the first batch a new
result enters shortened, since a session that overflowed once will do so again. Each request repeats
the decisions of those before it: the history is replayed from its beginning, so the same history
always gives the same messages, a longer one begins with the same ones until the next batch, and a
fitted history is not changed again.

Claude signs its thoughts together with all that stands before them: behind a change they are left
out. Later thoughts answer the changed history, as it was sent, and stay.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

from msgspec.structs import replace

from ..errors import quote
from ..text.format import plural
from .compose import Composer
from .messages import (
    GEMINI_SIGNATURES,
    Message,
    MessageBlock,
    OpaqueBlock,
    TextBlock,
    ToolCall,
    ToolOutput,
    grow,
    is_bound_thought,
    is_failure,
    signature_beside,
)
from .providers import SYSTEM_ROLES
from .shorten import shortener_of

FIRST_DIVISOR = 16
"""A result that steps down has a 16th of the room at most."""
LATER_DIVISORS = {64: 512, 192: 160}
"""Then it has a 64th of the room, and a 192nd, but at most so many tokens: what answers its
question needs no more. Then it is one line."""
MIN_TOKENS_SHORTENED = 40
"""A smaller text is left whole, or becomes one line."""
SPARED_SHARE_DIVISOR = 4
"""A result that is a fourth too long is left whole: little is gained, and its end would be lost."""
KEPT_SHARE = 0.75
"""Share of the room that is left where results become one line: less far than the low mark, since
more is lost, but so far that the next ones do not go at once. So do turns of a chat without
tools."""
TURNS_SHARE = 0.6
"""Share that is left where turns with results go: each time, a provider's cache loses all messages,
and until the next time, results that are read now become one line."""
ONE_LINE = 0
"""The limit of a result that is one line."""
NOTHING = -1
"""The limit of a result that is gone with its call."""
MAX_NAMED = 3
"""Results and texts that a message names; it counts the others."""
GONE = TextBlock("")
"""Stands in the place of a block that is left out, so that other places stay."""
Place = tuple[int, int]
"""The numbers of a message and of a block in it."""


class FittedHistory(NamedTuple):
    """A history after fitting."""

    messages: tuple[Message | None, ...]
    """Each message as it stays, at its place; None for one that is gone."""
    tokens: int
    room: int
    """The tokens that it was fitted into."""
    shortened: int = 0
    """Blocks with shorter texts."""
    one_line: int = 0
    """Results that are one line."""
    turns_gone: int = 0
    steps_gone: int = 0
    """Steps that are gone of turns that stay."""
    thoughts_gone: int = 0
    """Thoughts left out of messages that stay."""
    calls_gone: int = 0
    """Calls that are gone with their results, of a step that stays."""
    gone: frozenset[Place] = frozenset()
    """The blocks that are left out of messages that stay: thoughts, and calls with results."""
    names: tuple[str, str, str, str] = ("", "", "", "")
    """The first of the shorter texts, of the results of one line, of the calls of the steps, and of
    the calls that are gone alone."""

    @property
    def kept(self) -> list[Message]:
        """The messages that are left."""
        return [message for message in self.messages if message is not None]

    @property
    def changed(self) -> bool:
        """True if anything was shortened or left out."""
        gone = self.turns_gone or self.steps_gone or self.calls_gone
        return bool(self.shortened or self.one_line or gone)


def say_changes(history: FittedHistory) -> Iterator[str]:
    """Yield a sentence for what was shortened or left out of turns that stay."""
    shortened, lines, steps, calls = history.names
    if history.steps_gone:
        said = plural(history.steps_gone, "step was", "steps were")
        yield f"{said} left out, the oldest, to keep the window{steps}"
    if history.calls_gone:
        one, many = "call and its result were", "calls and their results were"
        said = plural(history.calls_gone, one, many)
        yield f"{said} left out of the newest step, the oldest, to keep the window{calls}"
    if history.shortened:
        one, many = "text of the history was", "texts of the history were"
        yield f"{plural(history.shortened, one, many)} shortened to keep the window{shortened}"
    if history.one_line:
        one, many = "result of a tool is", "results of tools are"
        yield f"{plural(history.one_line, one, many)} one line, to keep the window{lines}"
    if history.thoughts_gone:
        said = plural(history.thoughts_gone, "thought was", "thoughts were")
        yield f"{said} left out: what stands before them has changed; thoughts: keep sends them"


@dataclass
class HistoryFitter:
    """One history, and the composer that counts and prints it, to fit it as often as that takes."""

    messages: Sequence[Message]
    composer: Composer
    drops_calls: bool = False
    """True if calls of the newest step may go with their results: all of it has no room."""
    _costs: list[int] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.turns = split_turns(self.messages)
        self.steps = [split_steps(self.messages, turn) for turn in self.turns]
        """The steps of each turn; the first of them is its question."""
        self.calls = _pair(self.messages)
        """The place of the call of each result."""
        self._boundary = self.composer.boundary_of(self.messages) if self.messages else ""
        self.pinned = {n for n, m in enumerate(self.messages) if m.role in SYSTEM_ROLES}
        """Messages that never go: system texts within a conversation."""
        held = (turn for turn in self.turns if any(self.messages[n].pinned for n in turn))
        self.held = frozenset(n for turn in held for n in turn)
        """Messages of turns that the caller pinned: shortened, and left out, last of all."""
        self.starts = [
            (turn, step.start) for turn, steps in enumerate(self.steps) for step in steps
        ]
        """The turn and the first message of each step."""

    def turn_of(self, number: int) -> int:
        """Return the number of the turn of a message."""
        return next(n for n, turn in enumerate(self.turns) if number in turn)

    def call_of(self, result: Place) -> ToolCall | None:
        """Return the call of a result."""
        if result not in self.calls:
            return None
        number, at = self.calls[result]
        call = self.messages[number].blocks[at]
        assert isinstance(call, ToolCall)
        return call

    @property
    def costs(self) -> list[int]:
        """The tokens of each message as it came."""
        if self._costs is None:
            self._costs = list(map(self.cost, self.messages))
        return self._costs

    def cost(self, message: Message) -> int:
        """Return the tokens of a message, rather too many than too few."""
        return self.composer.history_cost(message, self._boundary)

    @property
    def runs(self) -> bool:
        """True if the newest turn has a question that the user asked in the history."""
        return bool(self.turns) and self.messages[self.turns[-1].start].role == "user"

    def fit(self, room: int, question: int | None = None, reserve: int = 0) -> FittedHistory:
        """Return the history in at most `room` tokens, if that can be.

        `question` are the tokens of one that is asked after the history; they count as well. None:
        the newest turn is the one to be answered. `reserve` tokens stay free once the history does
        not fit whole. Without any room, only the last request counts: no earlier one had it.
        """
        total = sum(self.costs)
        if total + (question or 0) <= int(max(0, room) * self.composer.options.compact_at):
            return FittedHistory(tuple(self.messages), total, room)
        had_room = room > (question or 0)

        def go_on(known: _Replay | None, rest: Sequence[Message]) -> _Replay:
            if known is not None and known.holds_for(self):
                replay = known.copy(self)
            else:
                replay, rest = _Replay(self, room, reserve), self.messages
            for n in range(len(self.messages) - len(rest), len(self.messages)):
                asked = n > 0 and self.messages[n - 1].role != "assistant"
                if asked and had_room and self.messages[n].role == "assistant":
                    if replay.settled is not None:
                        replay = replay.settled.copy(self)
                    else:
                        replay.settle(n - 1, None)
                replay.add(n)
            return replay

        key, templates = self.composer.cost_key, self.composer.templates
        about = key and (room, reserve, had_room, self._boundary, self.drops_calls, key, templates)
        replay, number = grow(self.messages, about, go_on), len(self.messages) - 1
        if question is not None:
            replay = replay.copy(self)
            replay.settle(number, question)
            return replay.result()
        if replay.settled is None:
            replay.settled = replay.copy(self)
            replay.settled.settle(number, None)
        return replay.settled.copy(self).result()

    def name_first(self, places: Sequence[Place]) -> str:
        """Return the names of the first calls, results and texts at these places, for a message."""
        names = []
        for number, at in places[:MAX_NAMED]:
            message = self.messages[number]
            block = message.blocks[at]
            if isinstance(block, ToolCall | ToolOutput):
                names.append(f"{quote(block.name)} ({quote(block.id)})")
            else:
                turn = self.turn_of(number) + 1
                names.append(f"a text of the {message.role} in turn {turn}")
        if len(places) > MAX_NAMED:
            names.append(f"{len(places) - MAX_NAMED:,} more")
        return f": {', '.join(names)}" if names else ""

    def questions_of(self, turn: int) -> list[str]:
        """Return the texts of the user that a turn begins with."""
        first = self.steps[turn][0]
        asked = (m for m in self.messages[first.start : first.stop] if m.role == "user")
        return [block.text for m in asked for block in m.blocks if isinstance(block, TextBlock)]

    def question_of(self, turn: int) -> str:
        """Return the words of the user that a turn begins with."""
        return "\n\n".join(self.questions_of(turn))


class _Replay:
    """Takes the messages of a history one by one, and decides as each request did."""

    def __init__(self, fitter: HistoryFitter, room: int, reserve: int) -> None:
        self._fitter, self._composer = fitter, fitter.composer
        self._given_room, self._options = room, fitter.composer.options
        self._first_high = int(max(0, room) * self._options.compact_at)
        self._room = max(0, room - reserve)
        self._high = int(self._room * self._options.compact_at)
        self._low = int(self._high * self._options.compact_to)
        self._first = max(MIN_TOKENS_SHORTENED, self._room // FIRST_DIVISOR)
        later = (min(self._room // n, most) for n, most in LATER_DIVISORS.items())
        self._later = [size for size in later if size >= MIN_TOKENS_SHORTENED]
        self._now: list[Message | None] = []
        self._costs: list[int] = []
        self._limits: dict[Place, float] = {}
        self._results: list[Place] = []
        self._pasted: list[Place] = []
        self._turn = 0
        self._turns_gone: set[int] = set()
        self._over = False
        self._changed = len(fitter.messages)
        """The first message that the last batch changed."""
        self.total = 0
        self.settled: _Replay | None = None
        """A copy under the marks, if a request ended here: the next step goes on with it."""

    def copy(self, fitter: HistoryFitter) -> _Replay:
        """Return a copy that goes on with a history that begins alike."""
        other = copy(self)
        other._fitter, other._composer = fitter, fitter.composer
        for name in ("_now", "_costs", "_limits", "_results", "_pasted", "_turns_gone"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def holds_for(self, fitter: HistoryFitter) -> bool:
        """Return True if a longer history has its beginning in the same turns and steps."""
        mine, number = self._fitter, len(self._now)
        same = mine.composer.options == fitter.composer.options
        same = same and mine.held == {n for n in fitter.held if n < number}
        return same and mine.starts == [n for n in fitter.starts if n[-1] < number]

    def add(self, number: int) -> None:
        """Take one more message."""
        fitter, self.settled = self._fitter, None
        message = fitter.messages[number]
        self._now.append(message)
        self._costs.append(fitter.costs[number])
        self.total += fitter.costs[number]
        while number >= fitter.turns[self._turn].stop:
            self._end_turn()
            self._turn += 1
        found = [
            (number, n) for n, block in enumerate(message.blocks) if isinstance(block, ToolOutput)
        ]
        self._results += found
        if message.role == "user":
            texts = (n for n, block in enumerate(message.blocks) if isinstance(block, TextBlock))
            self._pasted += ((number, n) for n in texts if self._is_long((number, n)))
        if self._over:
            for place in self._open(found):
                self._enter(place)

    def settle(self, number: int, question: int | None) -> None:
        """Bring the request that ends with this message under the marks.

        `question`: see `HistoryFitter.fit`.
        """
        more = question or 0
        if question is not None:
            self._end_turn()
        if self.total + more <= (self._high if self._over else self._first_high):
            return
        is_first, self._over = not self._over, True
        self.total += more
        self._step_down(number, question is not None, is_first)
        self.total -= more

    def result(self) -> FittedHistory:
        """Return the history as it stands now."""
        given = self._fitter.messages
        changed, calls_gone = list[Place](), list[Place]()
        for n, at in sorted(self._limits):
            block = now.blocks[at] if (now := self._now[n]) is not None else given[n].blocks[at]
            if block is GONE:
                calls_gone.append((n, at))
            elif block is not given[n].blocks[at]:
                changed.append((n, at))
        lines = [place for place in changed if self._limits[place] == ONE_LINE]
        shortened = [place for place in changed if self._limits[place] != ONE_LINE]
        stay = (s for n, s in enumerate(self._fitter.steps) if n not in self._turns_gone)
        steps = (step for each in stay for step in each[1:])
        steps_gone = [step for step in steps if all(self._now[n] is None for n in step)]
        numbers = (n for step in steps_gone for n in step)
        blocks = ((n, at, each) for n in numbers for at, each in enumerate(given[n].blocks))
        calls = [(n, at) for n, at, block in blocks if isinstance(block, ToolCall)]
        messages = [m and m.fact(_without_gone, _without_gone) for m in self._now]
        name = self._fitter.name_first
        kept = ((n, message.blocks) for n, message in enumerate(self._now) if message is not None)
        gone = frozenset((n, at) for n, own in kept for at, b in enumerate(own) if b is GONE)
        return FittedHistory(
            tuple(messages),
            self.total,
            self._given_room,
            len(shortened),
            len(lines),
            len(self._turns_gone),
            len(steps_gone),
            len(gone) - 2 * len(calls_gone),
            len(calls_gone),
            gone,
            (name(shortened), name(lines), name(calls), name(calls_gone)),
        )

    # --- the batch ---

    def _step_down(self, number: int, asked: bool, is_first: bool) -> None:
        # Results that no answer has read yet are the newest, also where a question follows them.
        messages, steps = self._fitter.messages, self._fitter.steps
        last = next((n for n in range(number, -1, -1) if messages[n].role == "assistant"), number)
        newest = next(step for turn in reversed(steps) for step in turn if last in step)
        self._changed = len(self._fitter.messages)
        self._results = [place for place in self._results if self._now[place[0]] is not None]
        results = [place for place in self._results if place[0] < newest.start]
        fresh = [place for place in self._results if place[0] >= newest.start]
        # A text that the user pasted is as long as a result, and what it was for is answered.
        answered = newest.start if asked else self._fitter.turns[self._turn].start
        older = sorted([*results, *(place for place in self._pasted if place[0] < answered)])
        ended = [place for place in older if place[0] < answered]
        running = [place for place in results if place[0] >= answered]
        if self._later and not is_first:
            self._limit_at_once(ended)
        for place in self._open(older):
            if self.total > self._low:
                self._enter(place)
        if is_first:
            self._level(self._open(fresh), self._low, self._first)
        self._limit_until(self._low, self._open(ended), *self._later)
        self._limit_until(self._low, self._open(running), *self._later[:1])
        enough = min(int(self._room * KEPT_SHARE), self._high)
        self._limit_until(enough, self._open([p for p in results if p[0] < answered]), ONE_LINE)
        if not asked:
            self._shorten_question()
        if self.total > self._room:
            self._limit_until(enough, self._open(running), *self._later)
        self._drop_turns(asked, held=False)
        if not asked:
            if self.total > self._room:
                self._limit_until(enough, self._open(running), *self._later, ONE_LINE)
            self._drop_steps(newest)
        # Tools and turns that are to be kept, the newest step, and texts are the last resorts.
        self._limit_until(self._room, older, self._first, *self._later)
        self._limit_until(self._room, results, ONE_LINE)
        self._drop_turns(asked, held=True)
        self._level(fresh, self._room, ONE_LINE)
        self._shorten_texts(range(len(self._now)), self._room)
        self._drop_calls(newest)
        end = len(self._now)
        if self._options.thoughts == "auto":
            end = self._find_loop(number, asked)
        self._leave_thoughts(range(self._changed + 1, end))

    def _find_loop(self, number: int, asked: bool) -> int:
        """Return the first message of the turn that Claude goes on with, which needs its thoughts.

        A question after a result without an answer belongs to the turn of this result.
        """
        messages, turns = self._fitter.messages, self._fitter.turns[: self._turn + 1]
        start = turns[-1].start
        if asked:
            start = number + 1
        while start and all(m.role != "assistant" for m in messages[start - 1 : number + 1]):
            start = next(turn.start for turn in turns[::-1] if turn.start < start)
        return start

    def _end_turn(self) -> None:
        """Leave out the thoughts of a turn that ends; its question had recalled passages."""
        turn = self._fitter.turns[self._turn]
        answered = self._fitter.messages[turn.stop - 1].role == "assistant"
        if self._over and (answered or self._options.thoughts == "drop"):
            self._leave_thoughts(turn)

    def _leave_thoughts(self, numbers: Iterable[int]) -> None:
        for n in numbers:
            message = self._now[n]
            if message is not None and self._options.thoughts != "keep":
                blocks = [GONE if is_bound_thought(block) else block for block in message.blocks]
                if any(block is not GONE for block in blocks):
                    self._put(n, replace(message, blocks=tuple(blocks)))

    def _put_block(self, place: Place, block: MessageBlock) -> None:
        number, at = place
        now = self._now[number]
        if now is not None:
            blocks = (*now.blocks[:at], block, *now.blocks[at + 1 :])
            # To count all of a message with 1,000 results for each of them takes seconds.
            change = self._composer.cost_change(now.blocks[at], None if block is GONE else block)
            self._put(number, replace(now, blocks=blocks), change)
            if self._now[number] is not now:
                self._changed = min(self._changed, number)

    def _put(self, number: int, message: Message, change: int | None = None) -> None:
        if change is None:
            cost = self._fitter.cost(_without_gone(message))  # what is gone has no overhead
        else:
            cost = self._costs[number] + change
        if cost < self._costs[number]:
            self.total += cost - self._costs[number]
            self._now[number], self._costs[number] = message, cost

    def _limit_until(self, room: int, places: Sequence[Place], *sizes: int) -> None:
        for size in sizes:
            for place in places:
                if self.total > room:
                    self._limit(place, size)

    def _limit_at_once(self, older: Sequence[Place]) -> None:
        """Shorten results to the last size, if no size brings the total down to the low mark."""
        last = self._later[-1]
        waiting = [place for place in self._open(older) if self._limits.get(place, inf) > last]
        if self.total - sum(map(self._size, waiting)) > self._low:
            for place in waiting:
                if place not in self._pasted:
                    self._limit(place, last)

    def _open(self, places: Iterable[Place]) -> list[Place]:
        """Return the results that may step down before all else."""
        fitter, kept = self._fitter, self._options.keep_tools or ()
        return [
            (n, at)
            for n, at in places
            if n not in fitter.pinned
            and n not in fitter.held
            and getattr(fitter.messages[n].blocks[at], "name", "") not in kept
        ]

    def _enter(self, place: Place) -> None:
        if self._limits.get(place, inf) > self._first and self._is_long(place):
            self._limit(place, self._first)

    def _is_long(self, place: Place) -> bool:
        return self._size(place) > self._first + self._first // SPARED_SHARE_DIVISOR

    def _level(self, places: Sequence[Place], room: int, least: int) -> None:
        """Shorten the longest of these results, all to one length, until the total has room."""
        while self.total > room:
            sizes = sorted(size for size in map(self._size, places) if size > least)
            if not sizes:
                return
            # What the smaller ones leave, the longest share.
            left = sum(sizes) - (self.total - room)
            level = 0
            for n, size in enumerate(sizes):
                level = max(0, left // (len(sizes) - n))
                if size > level:
                    break
                left -= size
            before = self.total
            for place in places:
                if self._size(place) > level:
                    self._limit(place, max(level, least))
            if self.total >= before:
                if least == ONE_LINE:
                    for place in places:
                        self._limit(place, ONE_LINE)
                return

    def _size(self, place: Place) -> int:
        message = self._now[place[0]]
        if message is None:
            return 0
        return self._composer.weigh(message.blocks[place[1]])

    def _limit(self, place: Place, tokens: int) -> None:
        """Shorten a result or a text to so many tokens, of itself as it came."""
        number, at = place
        if self._now[number] is None or self._limits.get(place, inf) <= tokens:
            return
        self._limits[place] = tokens
        block = self._fitter.messages[number].blocks[at]
        made = self._shortened(place, block, tokens)
        if made is not None:
            self._put_block(place, made)

    def _shortened(self, place: Place, block: MessageBlock, tokens: int) -> MessageBlock | None:
        assert isinstance(block, ToolOutput | TextBlock)
        size = self._composer.weigh(block)
        if size <= tokens:
            return None
        shortener = shortener_of(self._composer.counter, self._options.marker)
        if isinstance(block, TextBlock):
            text = shortener.shorten_pasted(block.text, tokens)
            return replace(block, text=text, original=None, family="") if text else None
        text = ""
        if tokens >= MIN_TOKENS_SHORTENED:
            text = block.text
            if self._composer.count(text) > tokens:
                question = self._fitter.question_of(self._fitter.turn_of(place[0]))
                text = shortener.shorten(text, question, tokens, block.failed)
        if not text.strip():
            self._limits[place] = ONE_LINE
            text = self._composer.left_out(self._fitter.call_of(place), size)
        return with_text(block, text)

    # --- the last resorts ---

    def _drop_turns(self, asked: bool, *, held: bool) -> None:
        """Drop the steps of the oldest turns, if the request is over, down to a share of the room.

        What was asked and answered stays; then it goes as well, the oldest turns first. Those that
        are pinned go with `held` alone.
        """
        if self.total <= self._room:
            return
        share = KEPT_SHARE
        # A result of a few words is not shortened, so it is no reason to drop more.
        if any(self._now[n] is not self._fitter.messages[n] for n, _ in self._results):
            share = TURNS_SHARE
        turns = self._fitter.turns[: self._turn + asked]
        for whole in (False, True):
            for n, turn in enumerate(turns):
                if self.total <= self._room * (1 if n == len(turns) - 1 else share):
                    return
                if (turn.start in self._fitter.held) == held:
                    steps = self._fitter.steps[n]
                    self._drop(turn if whole else range(steps[0].stop, steps[-1].start))
                    self._turns_gone |= {n} if whole else set()

    def _drop_steps(self, newest: range) -> None:
        """Drop the oldest steps of the newest turn so, but not its question or its newest step."""
        if self.total <= self._room:
            return
        steps = [step for step in self._fitter.steps[self._turn][1:] if step.start < newest.start]
        for n, step in enumerate(steps):
            if self.total <= self._room * (1 if n == len(steps) - 1 else TURNS_SHARE):
                return
            self._drop(step)

    def _drop(self, numbers: Iterable[int]) -> None:
        for n in numbers:
            if n < len(self._now) and self._now[n] is not None and n not in self._fitter.pinned:
                self.total -= self._costs[n]
                self._now[n] = None
                self._changed = min(self._changed, n)

    def _drop_calls(self, newest: range) -> None:
        """Drop the oldest calls of the newest step with their results; the last one, and the step.

        Results of many calls in parallel have no room even as a line each.
        """
        if not self._fitter.drops_calls or newest.stop > len(self._now):
            return
        messages = self._fitter.messages
        blocks = [each for n in newest for each in messages[n].blocks]
        pairs = [pair for pair in self._fitter.calls.items() if pair[0][0] in newest]
        # Gemini 3 signs the first call, and refuses a step of the running turn without that.
        signed = [place for place, _ in pairs if _is_signed(self._fitter.call_of(place))]
        # OpenAI refuses a thought without the call that follows it, and the call without it.
        tied = any(map(_has_id_of_responses, blocks)) and any(map(_is_thought, blocks))
        for place, call in () if tied else pairs[: len(pairs) - (not signed)]:
            if self.total <= self._room:
                return
            if place not in signed:
                self._limits[place] = NOTHING
                self._put_block(place, GONE)
                self._put_block(call, GONE)
        if self.total > self._room and pairs:
            self._drop(newest)

    def _shorten_question(self) -> None:
        """Shorten a pasted text that would leave no room for what was said before it."""
        own = self._fitter.steps[self._turn][0]
        before = sum(self._costs[n] for n in range(own.start) if self._now[n] is not None)
        allowed = self._room - before
        if before > self._room // SPARED_SHARE_DIVISOR:
            allowed = self._room // 2
        over = sum(self._costs[n] for n in own) - allowed
        if self.total > self._room and over > 0:
            self._shorten_texts(own, self.total - over)

    def _shorten_texts(self, numbers: Iterable[int], goal: int) -> None:
        for n in numbers:
            message = self._now[n]
            for at, block in enumerate(message.blocks if message is not None else ()):
                over = self.total - goal
                if over <= 0:
                    return
                if isinstance(block, TextBlock) and n not in self._fitter.pinned:
                    size = self._composer.count(block.text)
                    if size > self._first:
                        self._limit((n, at), max(self._first, size - over - SPARED_TOKENS))


SPARED_TOKENS = 8
"""A shortened text may cost some tokens more in its message than alone."""


def with_text(block: ToolOutput, text: str) -> ToolOutput:
    """Return a result with another text, in the shape of its family if it has one."""
    original = block.original
    if original is not None:
        original = with_output(original, text)
    return replace(block, text=text, original=original, loss=None)


def to_response(given: Mapping[str, Any], text: str) -> dict[str, str]:
    """Return another text as a response to Gemini; the text of an error stays one."""
    return {"error" if is_failure(given.get("response")) else "output": text}


def with_output(original: dict[str, Any], text: str) -> dict[str, Any]:
    """Return a result in the shape of its family with another text."""
    for key in ("function_response", "functionResponse"):
        given = original.get(key)
        if isinstance(given, dict):
            return {**original, key: {**given, "response": to_response(given, text)}}
    given = original.get("toolResult")
    if isinstance(given, dict):
        return {**original, "toolResult": {**given, "content": [{"text": text}]}}
    key = "output" if "output" in original else "content"
    return {**original, key: text}


def _without_gone(message: Message) -> Message:
    kept = tuple(block for block in message.blocks if block is not GONE)
    return message if len(kept) == len(message.blocks) else replace(message, blocks=kept)


def split_turns(messages: Sequence[Message]) -> list[range]:
    """Return the numbers of the messages of each turn; a turn begins with one of the user.

    A late result of a framework's history keeps what lies between it and its call in one turn.
    """
    starts: list[int] = []
    end = 0
    for n, (message, last) in enumerate(zip(messages, _last_results(messages), strict=True)):
        # A tool result is no user message here, so a call and its result share a turn.
        follows = n > end and messages[n - 1].role != "user"
        if not starts or (message.role == "user" and follows):
            starts.append(n)
        end = max(end, last)
    return _ranges(starts, len(messages))


def split_steps(messages: Sequence[Message], turn: range) -> list[range]:
    """Split a turn into its question and its steps: an answer with the results of its calls."""
    own = tuple(messages[turn.start : turn.stop])
    about: Hashable = None
    if turn.stop < len(messages):  # A turn that has ended is split for each step that follows.
        about = _find_steps, *map(id, own)
    starts, _ = own[-1].fact(about, lambda _: (_find_steps(own), own))
    return _ranges([turn.start + n for n in starts], turn.stop)


def _find_steps(own: Sequence[Message]) -> list[int]:
    starts: list[int] = []
    end, thought = 0, False
    for n, (message, last) in enumerate(zip(own, _last_results(own), strict=True)):
        # A result that comes in a later answer belongs here. So does a call of an answer whose
        # thought stands before an earlier call and its result.
        tied = thought and _has_id_of_responses(message.blocks[0])
        if not starts or (message.role == "assistant" and n > end and not tied):
            starts.append(n)
        end = max(end, last)
        thought |= message.fact(_links, _links).thinks
    return starts


def _ranges(starts: Sequence[int], end: int) -> list[range]:
    return [range(*each) for each in pairwise([*starts, end])]


def _last_results(messages: Sequence[Message]) -> list[int]:
    """Return for each message the number of the last one with a result of its calls, or 0."""
    results: dict[str, int] = {}
    found = [0] * len(messages)
    for n in range(len(messages) - 1, -1, -1):
        links = messages[n].fact(_links, _links)
        for id_ in links.results:
            results[id_] = n
        for id_ in links.calls:
            found[n] = max(found[n], results.get(id_, 0))
    return found


class _Links(NamedTuple):
    """The ids that tie a message to others, and whether it holds a thought."""

    results: list[str]
    """Ids of calls, made in messages before it."""
    calls: list[str]
    """Ids of its own calls."""
    thinks: bool


def _links(message: Message) -> _Links:
    results, calls, thinks = [], [], False
    for block in message.blocks:
        if isinstance(block, ToolOutput):
            results.append(block.id)
        elif isinstance(block, ToolCall):
            calls.append(block.id)
        elif isinstance(block, OpaqueBlock):
            results.append(block.answers)
            calls.append(block.call_id)
            thinks |= block.reasoning
    return _Links(list(filter(None, results)), list(filter(None, calls)), thinks)


def _is_thought(block: MessageBlock) -> bool:
    return isinstance(block, OpaqueBlock) and block.reasoning


def _has_id_of_responses(block: MessageBlock) -> bool:
    """Return whether OpenAI knows the item by its id, and so the thought that it demands."""
    known = block.family == "openai-responses" and "id" in (block.original or {})
    return known and not _is_thought(block)


def _is_signed(call: ToolCall | None) -> bool:
    """Return whether a call carries a signature of Gemini, in its shape or in one of OpenAI."""
    if call is None:
        return False
    own = call.original or {}
    return any(map(own.get, GEMINI_SIGNATURES)) or signature_beside(call) is not None


def _pair(messages: Sequence[Message]) -> dict[Place, Place]:
    """Return the place of the call of each result; without ids, those of a tool keep order."""
    calls: dict[str, list[Place]] = {}
    paired = {}
    for n, message in enumerate(messages):
        for at, block in enumerate(message.blocks):
            if isinstance(block, ToolCall):
                calls.setdefault(block.id or block.name, []).append((n, at))
            elif isinstance(block, ToolOutput) and calls.get(block.id or block.name):
                paired[n, at] = calls[block.id or block.name].pop(0)
    return paired
