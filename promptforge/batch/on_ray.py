"""Workers as actors of Ray, on a cluster or on this machine. Plain bytes go to them and come back.

Actors are driven one part at a time and not through a Ray Dataset: so the input is never held whole, its order stays,
a row that kills its process costs itself and not its block, and a part is written by the one process that started it.
`RenderBatch` is for pipelines of Ray Data.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ..errors import OptionError, PromptForgeError
from . import serving
from .crew import Worker, WorkerDied
from .reading import Part
from .rows import Rendered
from .spec import Spec

CPUS = 0.5
"""What an actor asks for: below one, so that a cluster whose processors are all given to something else has room."""
LEAST = (2, 54)
"""The first version of Ray that can ask for a token."""
_TOKEN = (
    "; where the cluster asks for a token, set RAY_AUTH_MODE=token and either RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to"
    " the file that holds it"
)
"""Ray raises the same for a cluster that is not there and for one that refuses."""


@contextlib.contextmanager
def actors(
    spec: Spec, ground: str, address: str | None, count: int
) -> Iterator[Callable[[], Worker]]:
    """Give what makes workers, for as long as the connection to Ray is open.

    Without an address it is the connection that the process has, else a Ray of its own that ends with it, without a
    dashboard and on 127.0.0.1. Raises `OptionError` where Ray is missing, too old, cannot be reached, or has no room
    for `count` actors, which would wait for ever.
    """
    ray = _ray()
    mine = not ray.is_initialized()
    if mine:
        os.environ.setdefault(
            "RAY_USAGE_STATS_ENABLED", "0"
        )  # its own processes are to tell nobody
        own: dict[str, Any] = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        try:
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level="error",
                **({} if address else own),
            )
        except (
            ConnectionError,
            ValueError,
            RuntimeError,
            ImportError,
            ray.exceptions.RayError,
        ) as error:
            way_out = _TOKEN if address and isinstance(error, ConnectionError) else ""
            raise OptionError(
                f"no Ray at {address or 'this machine'}: {error}{way_out}", option="address"
            ) from None
    try:
        free = ray.available_resources().get("CPU", 0.0)
        if count * CPUS > free:
            most = int(free / CPUS)
            way_out = f"--workers {most}" if most else "wait until something ends there"
            raise OptionError(
                f"{count} actors need {count * CPUS:g} CPUs and Ray has {free:g} free: {way_out}"
            )
        yield lambda: RayWorker(spec, ground)
    finally:
        if mine:
            ray.shutdown()


class RayWorker:
    """An actor; see `crew.Worker`."""

    def __init__(self, spec: Spec, ground: str) -> None:
        self._hello = msgspec.msgpack.encode((spec, ground))
        self._actor: Any = None
        self._stopped = False

    def start(self) -> None:
        """See `crew.Worker`."""
        if self._stopped:
            raise PromptForgeError("the run was stopped")
        # Without restarts: `crew` makes a new one, and keeps count of what a row does to its actors.
        self._actor = (
            _ray().remote(_Actor).options(num_cpus=CPUS, max_restarts=0).remote(self._hello)
        )
        refusal: str = self._wait(self._actor.refusal.remote())
        if refusal:
            raise PromptForgeError(refusal)

    def render(self, part: Part, known: str) -> Rendered | None:
        """See `crew.Worker`."""
        return serving.decode(self._wait(self._actor.render.remote(serving.encode(part, known))))

    def stop(self) -> None:
        """See `crew.Worker`."""
        self._stopped = True
        if self._actor is not None:
            with contextlib.suppress(Exception):  # it has gone already, or Ray has
                _ray().kill(self._actor)

    def close(self) -> None:
        """See `crew.Worker`."""
        self.stop()

    def _wait(self, reference: Any) -> Any:
        exceptions = _ray().exceptions
        try:
            return _ray().get(reference)
        except exceptions.RayTaskError:  # raised inside of the actor: no death
            raise
        except exceptions.RayError as error:
            raise WorkerDied(str(error).strip().partition("\n")[0]) from None


class _Actor:
    """What runs in Ray's process."""

    def __init__(self, hello: bytes) -> None:
        spec, ground = msgspec.msgpack.decode(hello, type=tuple[Spec, str])
        self._refusal = ""
        try:
            self._server = serving.Server(spec, ground)
        except PromptForgeError as error:
            self._refusal = str(error)

    def refusal(self) -> str:
        return self._refusal

    def render(self, task: bytes) -> bytes:
        return serving.answer(self._server, task)


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        message = "the engine ray needs Ray, which is not installed: pip install '.[ray]'"
        raise OptionError(message, option="engine") from None
    if tuple(map(int, ray.__version__.split(".")[:2])) < LEAST:
        raise OptionError(
            f"Ray {ray.__version__} is too old: 2.54 or later is needed", option="engine"
        )
    return ray
