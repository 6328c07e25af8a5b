"""The histories of earlier prompts: an agent sends its whole history each time, a little longer."""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, cast

from ..errors import MAX_DIAGNOSTICS_PER_CODE, Diagnostic, Diagnostics
from .histories import read_message
from .libraries import Dumper
from .messages import Message

MAX_BYTES_REMEMBERED = 1 << 24
"""Bytes of messages that a renderer remembers."""
MAX_HISTORIES_REMEMBERED = 16
Read = Callable[[object, str, Diagnostics], list[Message]]
"""Takes a message as it was given, and its place; returns the messages in it."""


class HistoryMemory:
    """Messages of earlier prompts, for one renderer.

    A message is known by all its data, so none can be out of date; an object of a library, by all
    that is read of it. Threads may share it.
    """

    def __init__(self, read: Read = read_message) -> None:
        """Take the function that reads a message; `where` may be a part of what it says."""
        self._read_anew = read
        self._read: dict[bytes, tuple[list[Message], tuple[Diagnostic, ...]]] = {}
        self._room = MAX_BYTES_REMEMBERED
        self._finished: deque[list[Message]] = deque(maxlen=MAX_HISTORIES_REMEMBERED)

    def read(self, given: object, place: str, diagnostics: Diagnostics) -> list[Message]:
        """Return the messages in what was given: the same objects for the same data."""
        dumper, data = Dumper(), given
        try:
            if type(given) is not dict:
                data = dumper.dump(given)
            key = marshal.dumps((place, str(type(given)), dumper.owner, cast("Any", data)), 2)
        except (KeyboardInterrupt, SystemExit):
            raise
        # `ValueError` for what is no plain data; a stranger's object may raise anything at all.
        except BaseException:
            return self._read_anew(given, place, diagnostics)
        known = self._read.get(key)
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

    def same(self, made: list[Message]) -> list[Message]:
        """Return messages; those with which an earlier history began too are its objects.

        What is found out about a message stays with the object.
        """
        known: list[Message] = []
        for earlier in list(self._finished):
            pairs = zip(earlier, made, strict=False)
            alike = [message for message, _ in takewhile(_are_alike, pairs)]
            if len(alike) > len(known):
                known = alike
        found = known + made[len(known) :]
        self._finished.append(found)
        return found


def _are_alike(pair: tuple[Message, Message]) -> bool:
    """Tell whether two messages differ in no byte: in Python 1, 1.0 and True are equal data."""
    return pair[0] == pair[1] and all(
        one.original is other.original
        for one, other in zip(pair[0].blocks, pair[1].blocks, strict=True)
    )


def _is_plain(value: object) -> bool:
    if type(value) in (list, tuple):
        return all(map(_is_plain, cast("Sequence[object]", value)))
    if type(value) is dict:
        return all(_is_plain(key) and _is_plain(one) for key, one in value.items())
    return value is None or type(value) in (str, int, float, bool)
