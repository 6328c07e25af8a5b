"""What came of one try, and what it took."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from commandline import Ran
from commandline import run as command
from harmless_records import HarmlessCopier

import promptforge as pf

T = TypeVar("T")

OUTSIDE = "content outside the root"
"""What stands in the files that nothing may show."""
_STATUS = Path("/proc/self/status")


class Seen(NamedTuple):
    """What came of one try."""

    where: str
    text: str | None
    """None: refused with `said`, or left with another error than the library's, which is raised."""
    said: tuple[str, ...] = ()
    """Messages, codes first; those that fail a strict run have a `!` before them."""
    result: pf.Result | None = None
    format: str = ""
    """The format, where the structure can be judged."""
    layout: str = ""
    tame: tuple[Any, Any, HarmlessCopier, Any] | None = None
    """The harmless text, the whole of it, the stand-ins and the harmless records."""
    budget: int | None = None
    given: str | None = None
    """The content, where it is a text that should be read back."""
    others: tuple[str, ...] = ()
    """The texts of the other items as they are where a harmless item stands in its place."""
    wrong: str | None = None
    """What the surface itself has found broken, the property first."""
    may_refuse: bool = False
    """Whether a message alone is an answer, as it is to a file that is no profile."""
    seconds: float = 0.0
    """Processor time."""
    mib: int = 0
    """How much memory it took at its peak over what there was before; 0 where that cannot be told.
    """


def attempt(where: str, make: Callable[[], pf.Result], **more: Any) -> Seen:
    """Return what a rendering gives; an error that is not the library's comes out."""
    taken = Meter()
    try:
        result = taken.of(make)
    except pf.StrictError as error:
        found = error.result if isinstance(error.result, pf.Result) else None
        said = tuple(f"!{d.code} {d.message}" for d in error.diagnostics)
        return Seen(where, None, said, found, **more, **taken.facts())
    except pf.PromptForgeError as error:
        return Seen(where, None, (f"!{type(error).__name__} {error}",), **more, **taken.facts())
    marks = (
        ("" if d.severity == "info" else "!") + f"{d.code} {d.message}" for d in result.warnings
    )
    return Seen(where, result.text, tuple(marks), result, **more, **taken.facts())


def told(
    where: str, *arguments: str | Path, codes: tuple[int, ...] = (0, 2, 3, 4, 5), **more: Any
) -> Seen:
    """Return what a command says; any exit code but `codes`, and a traceback, is a crash."""
    taken = Meter()
    ran: Ran = taken.of(lambda: command(*arguments, **more))
    assert ran.code in codes, f"exit code {ran.code}: {ran.err}"
    assert "Traceback" not in ran.err, "a traceback"
    said = tuple(f"!{line}" for line in ran.err.splitlines())
    return Seen(where, ran.out if ran.code == 0 else None, said, may_refuse=True, **taken.facts())


class Meter:
    """Measures processor time and memory of one call."""

    def __init__(self) -> None:
        self._seconds, self._mib = 0.0, 0

    def of(self, make: Callable[[], T]) -> T:
        before, started = _memory("VmRSS"), time.process_time()
        _forget_peak()
        try:
            return make()
        finally:
            self._seconds = time.process_time() - started
            self._mib = max(0, _memory("VmHWM") - before) >> 10 if before else 0

    def facts(self) -> dict[str, Any]:
        """Return what the last call took, in the words of `Seen`."""
        return {"seconds": self._seconds, "mib": self._mib}


def _memory(of: str) -> int:
    """Return a figure of this process in KiB; 0 where the system does not tell."""
    try:
        return next(
            int(line.split()[1]) for line in _STATUS.read_text().splitlines() if line.startswith(of)
        )
    except (OSError, StopIteration):
        return 0


def _forget_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


class Stuck(BaseException):
    """A case did not end."""


@contextmanager
def deadline(seconds: int) -> Iterator[None]:
    """Raise `Stuck` after so much processor time, or ten times as much of the clock."""

    def ring(*_: object) -> None:
        raise Stuck

    if not hasattr(signal, "SIGPROF"):
        yield
        return
    before = [signal.signal(number, ring) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)
