"""Hot reload: threads and tasks render while an editor saves version after version of files that draw on each other.

The promises: every text is of one version, whole, and rendering never fails. An editor that stands still between two
files for longer than `SETTLE_SECONDS` cannot be told from one that has done: a text of what it was amid is counted apart.
`cases` is how many texts, a fourth each for threads and tasks, and for an editor that writes in place and one that
replaces each file at one stroke. The control is Jinja's own loader with `auto_reload`, which must mix versions: it
looks at each file when that is needed.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jinja2
from template_edits import ITEMS, SHOWN, busy_editor, save, texts, versions

import promptforge as pf
from promptforge.files import SETTLE_SECONDS

from .report import Report

THREADS = 8
BATCH = 200
"""Texts that are asked for at once."""
CONTROLLED = 2000
"""Texts of the control at the least."""
PATIENCE = 60.0
"""Seconds in which the control must have mixed versions."""


def run(cases: int, seed: int = 1) -> Report:
    """Render so many texts; nothing here comes from the seed."""
    report = Report("reload", cases, seed)
    for tasks in (False, True):
        for in_place in (True, False):
            _follow(report, cases // 4, tasks=tasks, in_place=in_place)
    for in_place in (True, False):
        _control(report, in_place=in_place)
    return report


def _follow(report: Report, cases: int, *, tasks: bool, in_place: bool) -> None:
    called = (
        f"{'tasks' if tasks else 'threads'}, saved {'in place' if in_place else 'at one stroke'}"
    )
    seen = Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(folder, texts("v1"))
        renderer = pf.Renderer(templates=folder, layout="t", format="plain", follow_edits=True)

        def render(_: int = 0) -> tuple[str, str]:
            try:
                result = renderer.render(ITEMS)
            except Exception as error:
                return "", f"{type(error).__name__}: {error}"
            return result.text, ""

        async def many() -> list[tuple[str, str]]:
            return await asyncio.gather(*(asyncio.to_thread(render) for _ in range(BATCH)))

        outcomes = Counter[tuple[str, str]]()
        with busy_editor(folder, in_place=in_place) as pauses, ThreadPoolExecutor(THREADS) as pool:
            until = time.monotonic() + PATIENCE
            while outcomes.total() < cases or (len(outcomes) < 2 and time.monotonic() < until):
                outcomes.update(asyncio.run(many()) if tasks else pool.map(render, range(BATCH)))
    stood = 0
    for (text, said), count in outcomes.items():
        found = versions(text)
        seen.update(found)
        if said or len(found) != 1 or sum(map(text.count, found)) != SHOWN:
            if not said and any(pauses.get(version, 0) >= SETTLE_SECONDS for version in found):
                stood += count
            else:
                report.broken.append(
                    {"promise": "one whole version", "how": called, "said": said, "text": text}
                )
    paused = sum(pause >= SETTLE_SECONDS for pause in pauses.values())
    report.figures[f"versions written by an editor that stood still, {called}"] = paused
    report.figures[f"texts of these, {called}"] = stood
    report.figures[f"texts by {called}"] = outcomes.total()
    report.figures[f"versions seen by {called}"] = len(seen)
    if len(seen) < 2:
        report.broken.append({"promise": "edits are seen", "how": called})


def _control(report: Report, *, in_place: bool) -> None:
    cases = mixed = torn = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(folder, texts("v1"))
        environment = jinja2.Environment(loader=jinja2.FileSystemLoader(folder), auto_reload=True)

        def render(_: int) -> str | None:
            try:
                item = environment.get_template("t/item.txt.j2").render()
                return environment.get_template("t/layout.txt.j2").render(items=[{"text": item}])
            except Exception:
                return None

        with busy_editor(folder, in_place=in_place), ThreadPoolExecutor(THREADS) as pool:
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until and not (mixed + torn and cases >= CONTROLLED):
                for text in pool.map(render, range(BATCH)):
                    found = versions(text or "")
                    cases += 1
                    failed += text is None
                    mixed += len(found) > 1
                    torn += len(found) == 1 and sum(map((text or "").count, found)) != SHOWN
    how = "in place" if in_place else "at one stroke"
    report.figures[f"control: % mixed or torn, saved {how}"] = 100 * (mixed + torn) / cases
    report.figures[f"control: % failed, saved {how}"] = 100 * failed / cases
    if not mixed + torn:
        report.broken.append({"promise": "the control finds breaks", "control": how})
