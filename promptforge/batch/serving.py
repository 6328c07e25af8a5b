"""What a worker does, wherever it is: it makes sure that it is as its run is, and renders parts."""

from __future__ import annotations

import msgspec

from ..errors import PromptForgeError
from . import spec as specs
from .parts import referring
from .reading import Part
from .rows import Rendered, RowRenderer
from .spec import Spec


class Server:
    """Renders parts for a run whose results depend on `ground`."""

    def __init__(self, spec: Spec, ground: str) -> None:
        """Raise `PromptForgeError` where the same rows would come out otherwise than where the run was started."""
        if specs.ground(specs.made_of(spec)) != ground:
            message = "a worker found another version, profile, template or tokenizer than the run began with"
            raise PromptForgeError(
                f"{message}; they must be the same everywhere, and not change meanwhile"
            )
        self._renderer = RowRenderer(spec)

    def render(self, part: Part, known: str) -> Rendered | None:
        """Return the results of `part`; None where `known` is the hash of what its rows name, and still is."""
        if known and referring(self._renderer.references(part)) == known:
            return None
        return self._renderer.render(part)


class Task(msgspec.Struct, frozen=True):
    """What a worker is asked."""

    part: Part
    known: str


def encode(part: Part, known: str) -> bytes:
    """Return a task as plain bytes."""
    return msgspec.msgpack.encode(Task(part, known))


def answer(server: Server, task: bytes) -> bytes:
    """Return the answer to a task, as plain bytes too."""
    asked = msgspec.msgpack.decode(task, type=Task)
    return msgspec.msgpack.encode(server.render(asked.part, asked.known))


def decode(answered: bytes) -> Rendered | None:
    """Return what an answer says."""
    return msgspec.msgpack.decode(answered, type=Rendered | None)
