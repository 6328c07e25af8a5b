"""Every case of a file of attacks, lenient and strict, and what of H1 to H9 held.

`python -m tests.campaigns attacks --corpus FILE`; without a file, the corpus of the tests. H1 structure, H2 fidelity,
H3 never a crash, H4 budget, H5 said, H6 other items unharmed, H7 nothing reached, H8 bounded, H9 equal bytes. A
profile, YAML file or strict run may be *refused* in a message of one line; whatever else may not.
"""

from __future__ import annotations

import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import judges
import parsers
from structures import check_contents, check_known, structure_of

import promptforge as pf

from .corpus import Attack, NotRunError, read
from .report import Report
from .surfaces import OUTSIDE, SURFACES, Seen

TESTS = Path(__file__).parents[1]
OWN = TESTS / "data" / "attacks.json"
CANARY = Path("/tmp/promptforge-canary")
MODES: dict[str, dict[str, Any]] = {"lenient": {}, "strict": {"on_error": "raise"}}
SECONDS = 60
"""Processor time in which all tries of a case have to end."""
_FORBIDDEN = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect", "socket.bind")
_reached: list[str] = []
_hooked: list[bool] = []


class _Stuck(BaseException):
    """A case did not end."""


@contextmanager
def _deadline() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise _Stuck

    if not hasattr(signal, "SIGPROF"):
        yield
        return
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run(cases: int = 1000, seed: int = 1, corpus: Path = OWN) -> Report:
    """Run at most `cases` of the file; the table is in the figures."""
    attacks = read(corpus)[:cases]
    report = Report("attacks", len(attacks), seed)
    if not _hooked:
        sys.addaudithook(_hear)
        _hooked.append(True)
    counted = Counter[str]()
    rows = {}
    for attack in attacks:
        outcomes, broken = _both(attack)
        rows[f"{attack.id} {attack.surface} {','.join(attack.properties)}"] = " | ".join(outcomes)
        report.broken += [{"promise": what[:300], "id": attack.id, "surface": attack.surface} for what in broken]
        ran = not outcomes[0].startswith("not run")
        counted["run" if ran else "not run"] += 1
        counted["held in both"] += ran and not broken
    report.figures |= rows
    report.figures |= {f"cases {key}": counted[key] for key in ("run", "held in both", "not run")}
    return report


def _both(attack: Attack) -> tuple[list[str], list[str]]:
    """Return the outcome lenient and strict, and what was broken."""
    if attack.surface not in SURFACES:
        return [f"not run: {_elsewhere(attack)}"], []
    outcomes: list[str] = []
    broken: dict[str, None] = {}
    seen: dict[str, list[Seen]] = {}
    for mode, options in MODES.items():
        _reached.clear()
        found: list[str] = []
        try:
            seen[mode] = _tries(attack, options, found)
        except NotRunError as why:
            return [f"not run: {why}; {_elsewhere(attack)}"], []
        if "H5" in attack.properties and mode == "lenient":
            found += _unsaid(attack, seen[mode])
        if "H9" in attack.properties and [s.text for s in seen[mode]] != [s.text for s in _tries(attack, options, [])]:
            found.append("H9: another text the second time")
        if _reached or CANARY.exists():
            found.append(f"H7: reached {_reached[:3] or CANARY}")
            CANARY.unlink(missing_ok=True)
        refused = sum(s.text is None for s in seen[mode])
        says = f", refused {refused} of {len(seen[mode])}" if refused else ""
        outcomes.append("BROKEN" if found else f"holds{says}")
        broken |= dict.fromkeys(f"{mode}: {what}" for what in found)
    if not broken:
        unlike = _unlike(seen["lenient"], seen["strict"])
        broken |= dict.fromkeys(unlike)
        outcomes = ["BROKEN"] * 2 if unlike else outcomes
    return outcomes, [*broken]


def _tries(attack: Attack, options: dict[str, Any], found: list[str]) -> list[Seen]:
    """Run a case one way; append to `found` what was broken."""
    right = pf.render([{"content": "x", "name": "n"}]).text
    tries: list[Seen] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            with _deadline():
                for seen in SURFACES[attack.surface](attack, options, Path(folder)):
                    seen = seen._replace(said=tuple(line.replace(folder, "") for line in seen.said))
                    tries.append(seen)
                    problem = _judge(seen, attack, strict=bool(options))
                    if problem:
                        found.append(f"{problem} ({seen.where})")
        except _Stuck:
            found.append(f"H8: did not end within {SECONDS} s of processor time")
        except NotRunError:
            raise
        except BaseException as error:
            found.append(f"H3: {type(error).__name__} came out: {ascii(str(error))[:200]}")
    if pf.render([{"content": "x", "name": "n"}]).text != right:
        found.append("H8: the next rendering was wrong")
    return tries


def _judge(seen: Seen, attack: Attack, *, strict: bool) -> str | None:
    """Return what is broken in one try, by the property."""
    for line in seen.said:
        if not line.isprintable():
            return "H5: a message carries bytes of the item"
    if seen.text is None:
        may = strict or attack.surface in ("profile", "yaml") or seen.where == "--file"
        return None if may and (seen.said or seen.where == "--file") else f"H3: refused: {seen.said[:1]}"
    if OUTSIDE in seen.text or "root:x:" in seen.text:
        return "H7: shows a file outside the root"
    if seen.result is not None:
        budget = seen.budget if seen.budget is not None else 10**9
        counted = pf.get_tokenizer("cl100k_base" if "cl100k_base" in seen.where else "o200k_base").count(seen.text)
        if not counted == seen.result.tokens <= budget:
            return f"H4: {counted} tokens, said {seen.result.tokens}, budget {budget}"
        whole_budget = (seen.budget or 0) >= 10**6 and attack.surface not in ("template", "profile", "yaml")
        if whole_budget and not ("content number 1" in seen.text and "content number 2" in seen.text):
            return "H6: another item is gone"
    if seen.tame is None:
        return None
    same, whole, tamer, tame = seen.tame
    try:
        if (seen.budget or 0) >= 10**6 and same is not None and "PF204" not in str(seen.said):
            try:
                expected = structure_of(same, seen.format, same, tamer, tame, seen.layout)
            except Exception:
                if attack.surface == "template":  # its author wrote what is no XML or JSON, with any item
                    return None
                raise
            if structure_of(seen.text, seen.format, same, tamer, tame, seen.layout) != expected:
                return "H1: another structure"
            parsers.check_alike(seen.text, same, seen.format)
        elif whole is not None:
            check_known(seen.text, whole, seen.format)
    except Exception as error:
        return f"H1: {type(error).__name__}: {ascii(str(error))[:200]}"
    if seen.given is not None and "H2" in attack.properties and (seen.budget or 0) >= 10**6 and seen.format != "plain":
        try:
            check_contents(seen.text, same, tamer, seen.format)
        except (AssertionError, ValueError):
            if not seen.said:
                return "H2: read back otherwise, and nothing said"
    return None


def _unsaid(attack: Attack, tries: list[Seen]) -> list[str]:
    """Return what should have been said: nothing was, of a value that is no text of visible characters."""
    value = attack.value() if attack.kind != "setup" else None
    if any(seen.said for seen in tries) or (isinstance(value, str) and _is_visible(value)):
        return []
    return ["H5: nothing was said"]


def _is_visible(text: str) -> bool:
    """Return whether each character of a text is a line end, a blank or one that is seen."""
    return (
        bool(text.strip()) and all(c.isprintable() or c in "\n\t" for c in text) and not judges.SURROGATE.search(text)
    )


def _unlike(lenient: list[Seen], strict: list[Seen]) -> list[str]:
    """Strict refuses exactly where lenient had a warning, with the same words."""
    for one, other in zip(lenient, strict, strict=True):
        if one.result is None and one.text is not None:
            continue  # a command line, which is run lenient here
        grave = [line for line in one.said if line.startswith("!")]
        if bool(grave) != (other.text is None):
            return [f"H5: lenient says {grave[:1]}, strict {'is silent' if other.text is not None else other.said[:1]}"]
        if grave and grave != [line for line in other.said if line.startswith("!")]:
            return [f"H5: strict says {other.said[:2]}, lenient {grave[:2]} ({one.where})"]
    return []


def _elsewhere(attack: Attack) -> str:
    """Return which test names the case."""
    named = [p.name for p in sorted(TESTS.glob("test_*.py")) if re.search(rf"\b{attack.id}\b", p.read_text("utf-8"))]
    return f"a {attack.kind} in words, held by {', '.join(named)}" if named else f"a {attack.kind} that no test names"


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_FORBIDDEN):
        _reached.append(f"{event} {str(arguments)[:100]}")
    elif event == "open" and isinstance(arguments[0], str) and arguments[0] == "/etc/passwd":
        _reached.append("open /etc/passwd")
