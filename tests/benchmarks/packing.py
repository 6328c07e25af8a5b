"""Packs the same items with every subject in turn, each in a process of its own, and weighs what
came out.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import resource
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import promptforge as pf

from . import corpus, reference
from .corpus import Piece
from .subjects import BY_NAME, FLOOR, Subject

LIMIT = 120.0
"""CPU seconds after which a cell is given up, and a tenth of the seconds by the clock."""
GIVEN_UP = 99
"""The exit code that says so."""
ENOUGH = 15.0
"""CPU seconds of a subject after which it is not repeated."""
_MB = 1 << 20


class Work(NamedTuple):
    """So many items into so many tokens."""

    items: int
    budget: int
    runs: int


class Sample(NamedTuple):
    """One packing."""

    seconds: float
    """CPU time of the process."""
    peak: float
    """Bytes by which its memory grew at the most."""
    text: str


class Cell(NamedTuple):
    """What one subject did with one work."""

    subject: str
    runs: int
    note: str = ""
    """Why there are no figures."""
    ratio: float | None = None
    """Median of CPU time over the floor's in the same run."""
    milliseconds: float | None = None
    used: float | None = None
    """Tokens of the finished text over the budget's."""
    over: int | None = None
    """Tokens above the budget, in the worst run."""
    worth: float | None = None
    """Scores of the items whole in the text, as a share of the upper bound."""
    shown: int | None = None
    """Items whole in the text."""
    peak_mb: float | None = None
    """Peak memory above the items, the libraries and the vocabulary."""


def run(subject: Subject[Any], pieces: list[Piece], budget: int) -> Sample:
    """Pack once, in this process."""
    prepared = subject.prepare(pieces, budget)
    gc.collect()
    before = _reset_peak()
    start = time.process_time()
    text = subject.pack(prepared, budget)
    seconds = time.process_time() - start
    return Sample(seconds, max(0, _peak() - before), text)


def measure(
    work: Work,
    subjects: Sequence[Subject[Any]],
    *,
    seed: int = corpus.SEED,
    enough: float = ENOUGH,
    weigh: bool = True,
) -> list[Cell]:
    """Return a cell for each subject; the floor, which must be the first of them, is what the others are divided by.

    `enough`: CPU seconds of a subject after which it is not repeated. `weigh`: whether to work out the upper bound.
    """
    workers = [_Worker(subject, work, seed) for subject in subjects]
    samples: dict[str, list[Sample]] = {subject.name: [] for subject in subjects}
    notes: dict[str, str] = {}
    try:
        for number in range(work.runs):
            for worker in workers:
                name = worker.name
                if name in notes or sum(sample.seconds for sample in samples[name]) > enough:
                    continue
                found = worker.pack(number)
                if isinstance(found, str):
                    notes[name] = found
                else:
                    samples[name].append(found)
    finally:
        for worker in workers:
            worker.stop()
    return judge(work, samples, notes, corpus.fresh(corpus.make(work.items, seed), 0), weigh=weigh)


def judge(
    work: Work,
    samples: dict[str, list[Sample]],
    notes: dict[str, str],
    pieces: list[Piece],
    *,
    weigh: bool = True,
) -> list[Cell]:
    """Return the cells; `pieces` are those of the first run, by which quality is told."""
    floors = [sample.seconds for sample in samples[FLOOR.name]]
    scores = [piece.score for piece in pieces]
    most = (
        reference.upper_bound(scores, reference.costs(pieces), work.budget + reference.spared())
        if weigh
        else 0
    )
    cells = []
    for name, found in samples.items():
        if name in notes:
            cells.append(Cell(name, len(found), notes[name]))
            continue
        counts = [reference.count(sample.text) for sample in found]
        whole = corpus.shown(pieces, found[0].text)
        cells.append(
            Cell(
                name,
                len(found),
                ratio=statistics.median(
                    s.seconds / floor for s, floor in zip(found, floors, strict=False)
                ),
                milliseconds=1000 * statistics.median(sample.seconds for sample in found),
                used=counts[0] / work.budget,
                over=max(0, max(counts) - work.budget),
                worth=sum(scores[i] for i in whole) / most if most else None,
                shown=len(whole),
                peak_mb=found[0].peak / _MB,
            )
        )
    return cells


# --- chunks that touch ----------------------------------------------------------------------------


class Joined(NamedTuple):
    """One packing of chunks that touch."""

    packing: str
    joined: bool
    ratio: float
    """CPU time over the floor's."""
    worth: float
    """Scores of the chunks whole in the text, as a share of the upper bound."""
    shown: int
    tokens: int


def join_touching(work: Work) -> list[Joined]:
    """Pack chunks of files that touch, with `merge_overlaps` and without."""
    pieces = corpus.make_touching(work.items)
    scores = [piece.score for piece in pieces]
    room = work.budget + reference.spared()
    most = reference.upper_bound(scores, reference.costs(pieces), room)
    floor = run(FLOOR, pieces, work.budget).seconds
    items = [pf.Item(**piece.fields()) for piece in pieces]
    pf.render(items[:20], max_tokens=1000)
    found: list[Joined] = []
    for packing in ("score", "value"):
        for joined in (False, True):
            options: dict[str, Any] = {"packing": packing, "merge_overlaps": joined}
            # Other texts for each time: counts of those seen before are remembered.
            seed = corpus.SEED + 1 + len(found)
            fresh = [pf.Item(**p.fields()) for p in corpus.make_touching(work.items, seed)]
            gc.collect()
            start = time.process_time()
            pf.render(fresh, max_tokens=work.budget, **options)
            ratio = (time.process_time() - start) / floor
            result = pf.render(items, max_tokens=work.budget, **options)
            whole = [
                n
                for n, (piece, item) in enumerate(zip(pieces, result.items, strict=True))
                if is_whole(item)
                or (item.reason == "duplicate" and piece.content.strip("\n") in result.text)
            ]
            if not all(pieces[n].content.strip("\n") in result.text for n in whole):
                raise AssertionError("a chunk is not in the text")
            worth = sum(scores[n] for n in whole) / most
            found.append(Joined(packing, joined, ratio, worth, len(whole), result.tokens))
    return found


def is_whole(item: pf.ResultItem) -> bool:
    """Return True for an item that is whole in the text, alone or within a joined range."""
    return item.status == "included" or item.reason == "merged"


# --- a process a subject --------------------------------------------------------------------------


class _Worker:
    def __init__(self, subject: Subject[Any], work: Work, seed: int) -> None:
        self.name = subject.name
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=serve, args=(theirs, subject.name, work, seed), daemon=True
        )
        self._process.start()
        theirs.close()

    def pack(self, number: int) -> Sample | str:
        """Return the sample of one run, or why there is none."""
        try:
            self._pipe.send(number)
            ready = self._pipe.recv()
            if ready is not None:
                return str(ready)
            if self._pipe.poll(10 * LIMIT):
                found: Sample | str = self._pipe.recv()
                return found
            self._process.kill()
        except (EOFError, OSError):
            self._process.join()
            if self._process.exitcode != GIVEN_UP:
                return f"ended without an answer, exit code {self._process.exitcode}"
        return f"> {LIMIT:.0f} s"

    def stop(self) -> None:
        self._pipe.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()


def serve(pipe: Connection, name: str, work: Work, seed: int) -> None:
    """Answer numbers of runs with None, when the items are made, and a `Sample`; or with a text
    that says why not.
    """
    subject = BY_NAME[name]
    why = None
    try:
        subject.check()
        run(
            subject, corpus.fresh(corpus.make(30, seed), -1), 1000
        )  # imports, tables, templates: not part of any run
    except ImportError as error:
        why = f"not installed ({error.name})"
    except LookupError as error:
        why = str(error.args[0])
    pieces = [] if why else corpus.make(work.items, seed)
    while True:
        try:
            number: int = pipe.recv()
        except EOFError:
            return
        if why:
            pipe.send(why)
            continue
        made = corpus.fresh(pieces, number)
        _TimedPipe(pipe, subject, threading.Event()).answer(made, work.budget)


class _TimedPipe(NamedTuple):
    pipe: Connection
    subject: Subject[Any]
    done: threading.Event

    def answer(self, pieces: list[Piece], budget: int) -> None:
        told = self.subject._replace(prepare=self._prepare)
        found: Sample | str
        try:
            found = run(told, pieces, budget)
        except Exception as error:  # a peer's failure is a line in the table
            found = f"{type(error).__name__}: {str(error)[:60]}"
        self.done.set()
        self.pipe.send(found)

    def _prepare(self, pieces: list[Piece], budget: int) -> object:
        prepared: object = self.subject.prepare(pieces, budget)
        self.pipe.send(None)
        threading.Thread(target=_watch, args=(self.done,), daemon=True).start()
        return prepared


def _watch(done: threading.Event) -> None:
    """End the process when it has used too much CPU time. (A timer of the system's would make that
    clock coarse.)
    """
    start = time.process_time()
    while not done.wait(1):
        if time.process_time() - start > LIMIT:
            os._exit(GIVEN_UP)


# --- memory ---------------------------------------------------------------------------------------


def _reset_peak() -> int:
    """Give free memory back, start the peak anew where Linux lets us, and return the bytes in use
    (else the peak).
    """
    with suppress(AttributeError, OSError, TypeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return _peak()


def _peak() -> int:
    try:
        with open("/proc/self/status") as file:
            line = next(line for line in file if line.startswith("VmHWM"))
        return int(line.split()[1]) << 10
    except (OSError, StopIteration):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most << 10


def cpus() -> int:
    """Return how many CPUs there are to use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
