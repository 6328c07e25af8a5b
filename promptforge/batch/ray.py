"""Workers as actors of Ray, on a cluster or on this machine; they take and give plain bytes.

Actors get one shard at a time, not a Ray Dataset. The input is never held whole, its order stays,
a row that kills its process costs no other row, and only the process of the run writes files.
`RenderBatch` is for pipelines of Ray Data.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ..errors import OptionError, PromptForgeError
from .rows import BatchSpec
from .workers import ShardServer, Worker, WorkerDied

CPUS_PER_ACTOR = 0.5
"""CPUs per actor: below one, so that a cluster with all CPUs but a part of one taken has room."""
MIN_RAY_VERSION = (2, 54)
"""The first version of Ray that can ask for a token."""
# Ray raises the same error for a cluster that is not there and for one that refuses us.
_TOKEN = (
    "; where the cluster asks for a token, set RAY_AUTH_MODE=token and either RAY_AUTH_TOKEN, or"
    " RAY_AUTH_TOKEN_PATH to the file that holds it"
)


@contextlib.contextmanager
def ray_workers(
    spec: BatchSpec, fingerprint: str, address: str | None, count: int
) -> Iterator[Callable[[], Worker]]:
    """Connect to Ray and give a maker of workers.

    Without an address, use the connection of this process if there is one, else start Ray on
    127.0.0.1 for this run. Raises `OptionError` if Ray is missing, too old or out of reach, or has
    no room for `count` actors: they would wait for ever.
    """
    ray = _ray()
    mine = not ray.is_initialized()
    if mine:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send nobody any statistics
        own: dict[str, Any] = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        try:
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level="error",
                **({} if address else own),
            )
        except (
            ConnectionError, ValueError, RuntimeError, ImportError, ray.exceptions.RayError
        ) as error:  # fmt: skip
            message = f"no Ray at {address or 'this machine'}: {error}"
            if address and isinstance(error, ConnectionError):
                message += _TOKEN
            raise OptionError(message, option="address") from None
    try:
        free = ray.available_resources().get("CPU", 0.0)
        if count * CPUS_PER_ACTOR > free:
            most = int(free / CPUS_PER_ACTOR)
            remedy = f"--workers {most}" if most else "wait until something ends there"
            message = (
                f"{count} actors need {count * CPUS_PER_ACTOR:g} CPUs and Ray has {free:g} free"
            )
            raise OptionError(f"{message}: {remedy}")
        yield lambda: RayWorker(spec, fingerprint)
    finally:
        if mine:
            ray.shutdown()


class RayWorker:
    """An actor that holds a `ShardServer`; see `Worker`."""

    def __init__(self, spec: BatchSpec, fingerprint: str) -> None:
        self._settings = msgspec.msgpack.encode((spec, fingerprint))
        self._actor: Any = None
        self._stopped = False

    def start(self) -> None:
        """See `Worker`."""
        if self._stopped:
            raise PromptForgeError("the run was stopped")
        # No restarts by Ray: the run makes new actors, and counts the deaths that a row causes.
        actor = _ray().remote(ShardServer).options(num_cpus=CPUS_PER_ACTOR, max_restarts=0)
        self._actor = actor.remote(self._settings)
        refusal: str = self._wait(self._actor.refusal.remote())
        if refusal:
            raise PromptForgeError(refusal)

    def render(self, task: bytes) -> bytes:
        """See `Worker`."""
        answer: bytes = self._wait(self._actor.render.remote(task))
        return answer

    def stop(self) -> None:
        """See `Worker`."""
        self._stopped = True
        if self._actor is not None:
            with contextlib.suppress(Exception):  # it has gone already, or Ray has
                _ray().kill(self._actor)

    def close(self) -> None:
        """See `Worker`."""
        self.stop()

    def _wait(self, reference: Any) -> Any:
        exceptions = _ray().exceptions
        try:
            return _ray().get(reference)
        except exceptions.RayTaskError:  # raised inside of the actor: no death
            raise
        except exceptions.RayError as error:
            raise WorkerDied(str(error).strip().partition("\n")[0]) from None


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        message = "the engine ray needs Ray, which is not installed: pip install '.[ray]'"
        raise OptionError(message, option="engine") from None
    if tuple(map(int, ray.__version__.split(".")[:2])) < MIN_RAY_VERSION:
        raise OptionError(
            f"Ray {ray.__version__} is too old: 2.54 or later is needed", option="engine"
        )
    return ray
