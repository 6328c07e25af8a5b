"""Every call to the disk goes wrong, in every way, while templates, profiles and sources are read
and files written.

The promises, at each call: what comes out is what comes out of a good disk, or a message names the
file; nothing but the library's own errors comes out, and no traceback; each file is as it was or as
it should be, never in between; where all files belong together, none is there alone; and done once
more on a good disk it comes out right, with nothing half written left. `cases` is how many calls of
each scenario fail in each mode, spread over all; the control is a plain `write_text`, which must
leave a torn file.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from promptforge import files as template_files
from promptforge.files.access import UNFINISHED_SUFFIX
from promptforge.templating import following

from .corpus import CorpusError
from .disk import MODES, Disk, KilledError
from .report import Report
from .scenarios import SCENARIOS, Scenario

ASIDE = ("lock",)
"""Files that may be there or not."""

Files = dict[str, bytes]


def run(
    cases: int, seed: int = 1, *, only: Sequence[str] = (), modes: tuple[str, ...] = MODES
) -> Report:
    """Let at most `cases` calls of each scenario, or of those called `only`, fail in each mode.

    `seed` is where the first one is. Raises `CorpusError` where there is no such scenario.
    """
    if strange := sorted({*only} - {scenario.name for scenario in SCENARIOS}):
        known = ", ".join(scenario.name for scenario in SCENARIOS)
        raise CorpusError(f"there is no scenario {strange[0]!r}; there are {known}")
    report = Report("faults", cases, seed)
    seen, tried = Counter[str](), 0
    with _hurried():
        for scenario in [each for each in SCENARIOS if not only or each.name in only]:
            calls, before, after, right = _good(scenario)
            report.figures[f"calls to the disk in {scenario.name}"] = calls
            step = max(1, -(-calls // cases))
            for mode in modes:
                for at in range(1 + seed % step, calls + 2, step):
                    tried += 1
                    for promise, how in _try(scenario, at, mode, before, after, right, seen):
                        report.broken.append(
                            {
                                "promise": promise,
                                "scenario": scenario.name,
                                "mode": mode,
                                "at": at,
                                **how,
                            }
                        )
    torn = _control()
    report.figures |= {
        "failing runs": tried,
        **{key: seen[key] for key in sorted(seen)},
        "control: torn files": torn,
    }
    if not torn:
        report.broken.append({"promise": "the control finds breaks", "control": "write_text"})
    return report


@contextmanager
def _hurried() -> Iterator[None]:
    """Wait less for files to be at rest: nobody else writes here."""
    with (
        mock.patch.object(template_files, "SETTLE_SECONDS", 0.001),
        mock.patch.object(following, "SETTLE_SECONDS", 0.001),
        mock.patch.object(template_files, "MAX_SETTLE_SECONDS", 0.2),
        mock.patch.object(following, "MAX_SETTLE_SECONDS", 0.2),
    ):
        yield


@contextmanager
def _folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="disk-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def _files(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): path.read_bytes().replace(os.fsencode(folder), b"FOLDER")
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ASIDE
    }


def _good(scenario: Scenario) -> tuple[int, Files, Files, object]:
    """Return how many calls a run makes, the files before and after, and what comes of it."""
    with _folder() as folder:
        given = scenario.prepare(folder)
        before, disk = _files(folder), Disk(folder)
        with disk.failing():
            answer = scenario.act(folder, given)
        assert not answer.failed, answer
        return disk.calls, before, _files(folder), _placeless(answer.value, folder)


def _placeless(value: object, folder: Path) -> str:
    return repr(value).replace(str(folder), "FOLDER")


def _try(
    scenario: Scenario,
    at: int,
    mode: str,
    before: Files,
    after: Files,
    right: object,
    seen: Counter[str],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Do it with the call number `at` going wrong; yield what is broken."""
    with _folder() as folder:
        given = scenario.prepare(folder)
        disk, answer, out = Disk(folder, at, mode), None, None
        with disk.failing():
            try:
                answer = scenario.act(folder, given)
            except BaseException as error:
                out = error
        struck = disk.struck[0].replace(str(folder), "FOLDER") if disk.struck else ""
        how = {
            "struck": struck,
            "said": (str(out) or repr(out)) if out else answer.said if answer else "",
        }
        failed = out is not None or (answer is not None and answer.failed)
        seen["ended with an error" if failed else "ended well"] += 1
        if out is not None and not _allowed(out, scenario, mode):
            yield f"{type(out).__name__} came out", how
        if isinstance(out, OSError) and UNFINISHED_SUFFIX in str(out.filename):
            yield "the name of a temporary file is told", how
        if "Traceback" in how["said"]:
            yield "a traceback is printed", how
        killed = out is not None and not isinstance(out, Exception)
        wrong = failed or (answer is not None and _placeless(answer.value, folder) != right)
        if (
            wrong
            and not killed
            and not isinstance(out, MemoryError)
            and not _names(how["said"], disk.struck, folder)
        ):
            yield "another outcome, and no message names the file", how
        out = None
        there = {
            name: data
            for name, data in _files(folder).items()
            if not name.endswith(UNFINISHED_SUFFIX)
        }
        torn = [
            name for name, data in there.items() if data not in (before.get(name), after.get(name))
        ]
        if torn and not _in_work(torn, scenario):
            yield f"neither as before nor as it should be: {torn}", how
        if set(before) - set(there) - set(after):
            yield "a file is gone", how
        if (
            scenario.together
            and not killed
            and mode != "broken"
            and set(there) not in (set(before), set(after))
        ):
            yield "some of the files are there, and others are not", how
        yield from _once_more(scenario, folder, given, killed, after, right, how)


def _in_work(torn: list[str], scenario: Scenario) -> bool:
    """Tell whether all of these are what a batch keeps for itself, which it reads with a checksum."""
    return scenario.name.startswith("batch") and all(".batch/" in name for name in torn)


def _once_more(
    scenario: Scenario,
    folder: Path,
    given: Any,
    killed: bool,
    after: Files,
    right: object,
    how: dict[str, str],
) -> Iterator[tuple[str, dict[str, Any]]]:
    gc.collect(0)  # what a process held, its locks too, ends with it
    try:
        answer = scenario.act(folder, scenario.anew(folder, given, killed))
    except Exception as error:
        yield f"once more: {type(error).__name__}: {error}", how
        return
    there = _files(folder)
    if left := [name for name in there if name.endswith(UNFINISHED_SUFFIX)]:
        yield f"half written and left: {left}", how
    if answer.failed and scenario.again is False:
        return  # it says which file is there already
    if _placeless(answer.value, folder) != right:
        yield (
            "once more: another outcome",
            {**how, "outcome": _placeless(answer.value, folder)[:500], "now": answer.said},
        )
    elif any(there.get(name) != data for name, data in after.items() if ".batch/" not in name):
        yield "once more: other files", how


def _allowed(error: BaseException, scenario: Scenario, mode: str) -> bool:
    if isinstance(error, KilledError):
        return mode == "killed"
    if isinstance(error, MemoryError):
        return mode == "memory"
    return isinstance(error, scenario.api)


def _names(said: str, struck: list[str], folder: Path) -> bool:
    """Tell whether a message names a file that could not be used, or a folder that it is in."""
    names = {folder.name}
    for each in struck:
        path = Path(each.partition(" ")[2])
        name = path.name
        if name.endswith(UNFINISHED_SUFFIX):  # its own name is nobody's
            name = name.removesuffix(UNFINISHED_SUFFIX).removeprefix(".").rpartition(".")[0]
        names |= {name, *(p.name for p in path.parents if p.is_relative_to(folder) and p != folder)}
    return any(name and name in said for name in names)


def _control() -> int:
    """Return how many of the calls of a plain `write_text` leave a torn file."""
    torn = 0
    with _folder() as folder:
        for at in range(1, 10):
            path = folder / "file"
            path.write_text("old")
            disk = Disk(folder, at, "broken")
            with disk.failing():
                try:
                    path.write_text("new " * 9)
                except OSError:
                    torn += 1
            torn -= path.read_text() in ("old", "new " * 9) and bool(disk.struck)
            os.unlink(path)
    return torn
