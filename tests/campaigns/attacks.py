"""Every case of a file of attacks, lenient and strict, and what of H1 to H9 held.

`python -m tests.campaigns attacks --corpus FILE`; without a file, the corpus of the tests. `--only SURFACE` and `--ids`
choose cases, `--jobs 2` runs them on two processes. H1 structure, H2 fidelity, H3 never a crash, H4 budget, H5 said,
H6 other items unharmed, H7 nothing reached, H8 bounded, H9 equal bytes.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import promptforge as pf

from .corpus import Attack, CorpusError, NotRunError, read
from .report import Report
from .surfaces.seen import Seen, Stuck, deadline
from .surfaces.table import SURFACES
from .verdicts import judge, unlike, unsaid

TESTS = Path(__file__).parents[1]
OWN = TESTS / "data" / "attacks.json"
CANARY = Path("/tmp/promptforge-canary")
MODES: dict[str, dict[str, Any]] = {"lenient": {}, "strict": {"strict": True}}
SECONDS = 60
"""Processor time in which all tries of a case, one way, have to end."""
_FORBIDDEN = (
    "subprocess.",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "socket.connect",
    "socket.bind",
)
_ALLOWED = (
    "tests.campaigns.surfaces.reference",
    "tests/helpers/template_edits.py",
    *("kramdown", "readers.lua", "readers.rb"),
    "promptforge",
    "resource, sys",
    "socket.txt",
)
"""In the arguments of a process that a judge or a surface itself starts."""
_reached: list[str] = []
_hooked: list[bool] = []


class Outcome(NamedTuple):
    """What came of a case."""

    attack: Attack
    broken: tuple[str, ...] = ()
    why_not: str | None = None
    """Why it was not run."""
    tries: int = 0
    refused: int = 0
    seconds: float = 0.0
    """Processor time of its slowest try."""


def run(
    cases: int = 1000,
    seed: int = 1,
    corpus: Path = OWN,
    only: Sequence[str] = (),
    ids: Sequence[str] = (),
    jobs: int = 1,
) -> Report:
    """Run at most `cases` of the file, of the surfaces `only`, or those called `ids`. Raises
    `CorpusError`.
    """
    attacks = read(corpus)
    if strange := sorted({*ids} - {attack.id for attack in attacks}):
        raise CorpusError(f"{corpus}: no case has the id {', '.join(strange)}")
    if strange := sorted({*only} - {attack.surface for attack in attacks}):
        raise CorpusError(f"{corpus}: no case has the surface {', '.join(strange)}")
    chosen = [a for a in attacks if (not only or a.surface in only) and (not ids or a.id in ids)][
        :cases
    ]
    found = sorted(_outcomes(chosen, jobs), key=lambda outcome: chosen.index(outcome.attack))
    report = Report("attacks", len(chosen), seed)
    for outcome in found:
        report.broken += [
            {"promise": what[:300], "id": outcome.attack.id, "surface": outcome.attack.surface}
            for what in outcome.broken
        ]
        if outcome.why_not is not None:
            report.notes.append(
                f"not run: {outcome.attack.id} {outcome.attack.surface}: {outcome.why_not}"
            )
    report.table = [
        ("surface", "cases", "held", "broken", "not run", "tries", "refused", "slowest try, s")
    ]
    for surface in (*dict.fromkeys(o.attack.surface for o in found), "all"):
        report.table.append(
            _row(surface, [o for o in found if surface in ("all", o.attack.surface)])
        )
    counted = Counter(_verdict(outcome) for outcome in found)
    report.figures = {f"cases {key}": counted[key] for key in ("held in both", "broken", "not run")}
    return report


def _verdict(outcome: Outcome) -> str:
    return (
        "not run" if outcome.why_not is not None else "broken" if outcome.broken else "held in both"
    )


def _row(surface: str, found: list[Outcome]) -> tuple[str, ...]:
    counted = Counter(map(_verdict, found))
    numbers = [len(found), *(counted[key] for key in ("held in both", "broken", "not run"))]
    sums = [sum(o.tries for o in found), sum(o.refused for o in found)]
    return (
        surface,
        *map(str, (*numbers, *sums)),
        f"{max((o.seconds for o in found), default=0.0):.2f}",
    )


def _outcomes(attacks: list[Attack], jobs: int) -> Iterator[Outcome]:
    if jobs < 2:
        yield from map(outcome_of, attacks)
        return
    left = set(attacks)
    try:
        yield from _apart(attacks, jobs, left)
    except (
        BrokenProcessPool
    ):  # one of those left has ended the process: each of them in one of its own
        for attack in sorted(left):
            try:
                yield from _apart([attack], 1, set())
            except BrokenProcessPool:
                yield Outcome(attack, ("H3: the process died",))


def _apart(attacks: list[Attack], jobs: int, left: set[Attack]) -> Iterator[Outcome]:
    with ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), _begin, (sys.path,)
    ) as pool:
        for done in as_completed([pool.submit(outcome_of, attack) for attack in attacks]):
            outcome = done.result()
            left.discard(outcome.attack)
            print(
                f"  {outcome.attack.id} {_verdict(outcome)} {outcome.broken[:1] or ''}",
                file=sys.stderr,
                flush=True,
            )
            yield outcome


def _begin(path: list[str]) -> None:
    sys.path[:] = path


def outcome_of(attack: Attack) -> Outcome:
    """Run a case lenient and strict."""
    if attack.surface not in SURFACES:
        return Outcome(
            attack, why_not=f"a surface that is not known here; there are {', '.join(SURFACES)}"
        )
    if not _hooked:
        with suppress(ImportError):
            import urllib3  # noqa: F401  as it is imported, it binds a socket to see if there is IPv6
        sys.addaudithook(_hear)
        _hooked.append(True)
    broken: dict[str, None] = {}
    seen: dict[str, list[Seen]] = {}
    memo: dict[Any, Any] = {}
    for mode, options in MODES.items():
        _reached.clear()
        found: list[str] = []
        try:
            seen[mode] = _tries(attack, options, memo, found)
            if "H5" in attack.properties and mode == "lenient":
                found += unsaid(attack, seen[mode])
        except NotRunError as why:
            return Outcome(attack, why_not=str(why))
        if "H9" in attack.properties and not attack.is_words:
            again = _tries(attack, options, memo, [])
            if [s.text for s in seen[mode]] != [s.text for s in again]:
                found.append("H9: another text the second time")
        if _reached or CANARY.exists():
            found.append(f"H7: reached {_reached[:3] or CANARY}")
            CANARY.unlink(missing_ok=True)
        broken |= dict.fromkeys(f"{mode}: {what}" for what in found)
    if not broken and not attack.is_words:  # what is arranged may be a race, which ends either way
        broken |= dict.fromkeys(unlike(seen["lenient"], seen["strict"]))
    every = [each for tries in seen.values() for each in tries]
    refused, slowest = (
        sum(each.text is None for each in every),
        max((each.seconds for each in every), default=0.0),
    )
    return Outcome(attack, tuple(broken), None, len(every), refused, slowest)


def _tries(
    attack: Attack, options: dict[str, Any], memo: dict[Any, Any], found: list[str]
) -> list[Seen]:
    """Run a case one way; append to `found` what was broken."""
    right = pf.render([{"content": "x", "name": "n"}]).text
    tries: list[Seen] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            with deadline(SECONDS):
                for seen in SURFACES[attack.surface](attack, options, Path(folder), memo):
                    seen = seen._replace(said=tuple(line.replace(folder, "") for line in seen.said))
                    known = memo.get(("judged", seen.where)) == (
                        seen.text,
                        seen.wrong,
                    )  # no need to ask twice
                    seen = seen._replace(tame=None, others=()) if known else seen
                    problem = judge(seen, attack, strict=bool(options))
                    memo["judged", seen.where] = (seen.text, seen.wrong)
                    if problem:
                        found.append(f"{problem} ({seen.where})")
                    # What is compared later is the words; a million of them need not be kept.
                    tries.append(seen._replace(tame=None, text=_short(seen.text, folder)))
        except Stuck:
            found.append(f"H8: did not end within {SECONDS} s of processor time")
        except NotRunError:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            found.append(f"H3: {type(error).__name__} came out: {ascii(str(error))[:200]}")
    if pf.render([{"content": "x", "name": "n"}]).text != right:
        found.append("H8: the next rendering was wrong")
    return tries


def _short(text: str | None, folder: str) -> str | None:
    """Return what a second run must give again: the place of the case is another each time."""
    text = text.replace(folder, "") if text else text
    return text if text is None or len(text) < 10_000 else f"{text[:5000]}{hash(text)}"


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_FORBIDDEN):
        if not any(word in str(arguments) for word in _ALLOWED) and "127.0.0.1" not in str(
            arguments
        ):
            _reached.append(f"{event} {str(arguments)[:100]}")
    elif event == "open" and isinstance(arguments[0], str) and arguments[0] == "/etc/passwd":
        _reached.append("open /etc/passwd")
