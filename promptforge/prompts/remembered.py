"""The histories of earlier prompts: an agent sends its whole history each time, a little longer."""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from operator import is_
from typing import Any, NamedTuple, cast

from ..errors import MAX_DIAGNOSTICS_PER_CODE, Diagnostic, Diagnostics
from .histories import read_message
from .libraries import Dumper
from .messages import Message, OpaqueBlock, ToolCall, ToolOutput, join_messages

MAX_BYTES_REMEMBERED = 1 << 24
"""Bytes of messages that a renderer remembers."""
MAX_HISTORIES_REMEMBERED = 16
Read = Callable[[object, str, Diagnostics], list[Message]]
"""Takes a message as it was given, and its place; returns the messages in it."""
Finish = Callable[[list[Message], Diagnostics, int], list[Message]]
"""Takes messages as they were read, and how many stand before them; finishes them and says what
was lost."""


class _Finished(NamedTuple):
    """A history without open calls: what follows is finished without it."""

    about: Hashable
    found: Sequence[Message]
    """The messages as they were read."""
    joined: int
    """Their number when neighbours of one role are joined."""
    made: list[Message]
    said: tuple[Diagnostic, ...]
    ids: frozenset[str]
    """The ids of its calls and results, before and after."""

    def begins(self, about: Hashable, found: Sequence[Message]) -> bool:
        """Return True if messages begin with this history."""
        same = about == self.about and len(found) >= len(self.found)
        return same and all(map(is_, self.found, found))

    def joins(self, other: _Finished) -> bool:
        """Return True if what follows, finished alone, is as it were if finished with this."""
        if not other.made or not self.ids.isdisjoint(other.ids):
            return False
        if self.said and other.lost_calls:  # what is said of calls comes first
            return False
        apart = self.made[-1].role != other.made[0].role
        return apart and self.found[-1].role != other.found[0].role

    @property
    def lost_calls(self) -> bool:
        """True if calls or results without each other were left out."""
        return any(each.code == "PF209" for each in self.said)

    @property
    def is_closed(self) -> bool:
        """True if nothing that follows can change it."""
        if not self.made or self.lost_calls:
            return False
        blocks = [b for m in self.found for b in m.blocks if isinstance(b, OpaqueBlock)]
        return {b.call_id for b in blocks} - {""} == {b.answers for b in blocks} - {""}


class HistoryMemory:
    """Messages and whole histories of earlier prompts, for one renderer.

    A message is known by all its data, so none can be out of date; an object of a library, by all
    that is read of it. Threads may share it.
    """

    def __init__(self, read: Read = read_message) -> None:
        """Take the function that reads a message; `where` may be a part of what it says."""
        self._read_anew = read
        self._read: dict[bytes, tuple[list[Message], tuple[Diagnostic, ...]]] = {}
        self._room = MAX_BYTES_REMEMBERED
        self._finished: deque[_Finished] = deque(maxlen=MAX_HISTORIES_REMEMBERED)

    def read(self, given: object, place: str, diagnostics: Diagnostics) -> list[Message]:
        """Return the messages in what was given: the same objects for the same data."""
        try:
            key = b""
            if type(given) is dict:
                with suppress(ValueError):  # it holds objects of a library
                    key = marshal.dumps((place, "", "", cast("Any", given)), 2)
            known, data = self._read.get(key), given
            if known is None and not (key and _is_plain(given)):
                # Objects as text, and bytes in base64; what only looks like bytes stays as it is.
                dumper = Dumper()
                data = dumper.dump(given)
                written = (place, str(type(given)), dumper.owner, cast("Any", data))
                key = marshal.dumps(written, 2)
                known = self._read.get(key)
        except (KeyboardInterrupt, SystemExit):
            raise
        # `ValueError` for what is no plain data; a stranger's object may raise anything at all.
        except BaseException:
            return self._read_anew(given, place, diagnostics)
        if known is None:
            own = Diagnostics()
            known = self._read_anew(given, place, own), tuple(own)
            # Bytes and what only looks like bytes have one key, so neither is remembered.
            if len(key) < MAX_BYTES_REMEMBERED // 4 and _is_plain(data):
                self._room -= len(key)
                if self._room < 0:
                    self._read, self._room = {}, MAX_BYTES_REMEMBERED - len(key)
                    self._finished.clear()
                self._read[key] = known
        messages, said = known
        if len(said) > MAX_DIAGNOSTICS_PER_CODE:  # some are only counted
            return self._read_anew(given, place, diagnostics)
        diagnostics.extend(said)
        return messages

    def finish(
        self, found: list[Message], about: Hashable, diagnostics: Diagnostics, finish: Finish
    ) -> list[Message]:
        """Return what `finish` makes of messages; what it made of their beginning is not made anew.

        `about`: all that it depends on beside the messages.
        """
        earlier = [each for each in list(self._finished) if each.begins(about, found)]
        known = max(earlier, key=lambda each: len(each.found), default=None)
        made = known
        if known is not None and len(found) > len(known.found):
            more = _finish(found[len(known.found) :], about, finish, known.joined)
            made = None
            if known.joins(more):
                made = _Finished(
                    about,
                    found,
                    known.joined + more.joined,
                    known.made + more.made,
                    known.said + more.said,
                    known.ids | more.ids,
                )
        if made is None:
            made = _finish(found, about, finish, 0)
        if len(made.said) > MAX_DIAGNOSTICS_PER_CODE:
            return finish(join_messages(found), diagnostics, 0)
        if made is not known and made.is_closed:
            self._finished.append(made)
        diagnostics.extend(made.said)
        return list(made.made)


def _finish(found: list[Message], about: Hashable, finish: Finish, first: int) -> _Finished:
    diagnostics, joined = Diagnostics(), join_messages(found)
    made = finish(joined, diagnostics, first)
    blocks = [block for message in (*joined, *made) for block in message.blocks]
    ids = {block.id for block in blocks if isinstance(block, ToolCall | ToolOutput)}
    for block in blocks:
        if isinstance(block, OpaqueBlock):
            ids |= {block.call_id, block.answers}
    said = tuple(diagnostics)
    return _Finished(about, found, len(joined), made, said, frozenset(ids - {""}))


def _is_plain(value: object) -> bool:
    if type(value) in (list, tuple):
        return all(map(_is_plain, cast("Sequence[object]", value)))
    if type(value) is dict:
        return all(_is_plain(key) and _is_plain(one) for key, one in value.items())
    return value is None or type(value) in (str, int, float, bool)
