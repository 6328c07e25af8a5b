"""Work of a worker, on any engine: check that its environment is that of the run, render shards."""

from __future__ import annotations

import msgspec

from ..errors import PromptForgeError
from .parts import referring
from .reading import Part
from .rows import Rendered, RowRenderer
from .spec import Spec, ground, made_of


class Server:
    """Renders shards for one run."""

    def __init__(self, spec: Spec, fingerprint: str) -> None:
        """Raise `PromptForgeError` where rows would come out otherwise than where the run began."""
        if ground(made_of(spec)) != fingerprint:
            raise PromptForgeError(
                "a worker found another version, profile, template or tokenizer than the run began"
                " with; they must be the same everywhere, and not change meanwhile"
            )
        self._renderer = RowRenderer(spec)

    def render(self, part: Part, known: str) -> Rendered | None:
        """Render `part`; return None if `known` is still the hash of the files its rows name."""
        if known and referring(self._renderer.references(part)) == known:
            return None
        return self._renderer.render(part)


class Task(msgspec.Struct, frozen=True):
    """A request to a worker."""

    part: Part
    known: str


def encode(part: Part, known: str) -> bytes:
    """Pack a task into bytes."""
    return msgspec.msgpack.encode(Task(part, known))


def answer(server: Server, task: bytes) -> bytes:
    """Do a packed task; return the packed results."""
    asked = msgspec.msgpack.decode(task, type=Task)
    return msgspec.msgpack.encode(server.render(asked.part, asked.known))


def decode(answered: bytes) -> Rendered | None:
    """Unpack the results."""
    return msgspec.msgpack.decode(answered, type=Rendered | None)
