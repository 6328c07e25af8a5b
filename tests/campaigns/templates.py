"""Hostile templates, compiled and rendered in process and in the sandbox.

The promises: nothing but `PromptForgeError` comes out; nothing is opened, run or connected to; no
secret of the process is printed; each ends within two seconds of processor time; the next rendering
is right.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import promptforge as pf
from promptforge import files as _shipped
from promptforge.sandbox import Sandbox

from .grammar import Grammar
from .report import Report
from .surfaces.seen import Stuck, deadline

SECONDS = 2.0
STUCK = 20
"""Seconds of processor time after which a case that runs in process is broken off."""
SECRET = "the-canary-of-this-process"
FORMATS = {"md": "markdown", "xml": "xml", "json": "json", "txt": "plain"}
ITEMS: list[dict[str, Any]] = [
    {
        "content": "x = 1\n" * 400,
        "path": "a.py",
        "kind": "code",
        "metadata": {"tags": ["a", "b"], "deep": {"c": [1]}},
    },
    {"content": "```\n</document>\u202e" * 30, "name": "{{ 7 * 7 }}", "summary": "short"},
]
_EVENTS = ("open", "exec", "os.", "socket.", "subprocess.", "shutil.", "ctypes.", "pty.", "glob.")
_SHIPPED = str(_shipped.shipped_folder("templates"))


class Watch:
    """An audit hook that remembers what happened while it was on; such a hook stays for the life of
    a process.
    """

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on or not event.startswith(_EVENTS):
            return
        what = str(getattr(arguments[0], "co_filename", arguments[0]) if arguments else "")
        if what.startswith(_SHIPPED):  # the engine falls back to its own templates
            return
        if event in ("open", "exec", "os.listdir") and (
            what.endswith((".py", ".pyc")) or "packages" in what
        ):
            return  # something is imported late
        if event in ("open", "exec") and re.fullmatch(r"t/\w+\.\w+\.j2|<unknown>", what):
            return  # Jinja runs what it compiled; Python looks for the line that it complains of
        self.seen.append(f"{event} {arguments[:1]!r:.200}")


_watch: list[Watch] = []


def run(
    cases: int, seed: int = 1, *, every_nth_sandboxed: int = 1, seconds: float = SECONDS
) -> Report:
    """Render so many hostile templates, `seconds` for each; every `every_nth_sandboxed`th of them
    in the sandbox as well.
    """
    report = Report("templates", cases, seed)
    grammar = Grammar(seed)
    if not _watch:
        _watch.append(Watch())
    watch, ended = _watch[0], Counter[str]()
    right = pf.render(ITEMS, max_tokens=200).text
    # The whole vocabulary, which only a long text needs, is read now.
    pf.get_tokenizer("o200k_base").count("".join(map(chr, range(0x400, 0x2000))))
    slowest = [0.0, 0.0]
    os.environ["PROMPTFORGE_CANARY"] = SECRET
    os.environ["PROMPTFORGE_PLUGINS"] = (
        ""  # an unknown filter is looked for among plug-ins, by reading their list
    )
    canary = Path(tempfile.mkdtemp()) / "canary"
    for name in FORMATS.values():  # what is imported late is imported now
        pf.render(ITEMS, format=name, max_tokens=100, templates={"t/x.md.j2": ""})
    for wrong in (
        "{{ item.titel }}",
        "{{ item.title | uper }}",
        "{% filter uper %}{% endfilter %}",
        "{% if %}",
        "{{",
    ):
        pf.render(ITEMS, max_tokens=100, templates={"chunks/item.md.j2": wrong})
    with Sandbox(seconds=max(1.5, seconds / 2)) as sandbox:
        assert sandbox.render(ITEMS, max_tokens=200)["text"] == right
        for number in range(cases):
            ending, templates = grammar.templates()
            options: dict[str, Any] = {"layout": "t", "format": FORMATS[ending], "max_tokens": 2000}

            def broken(
                promise: str, templates: dict[str, str] = templates, number: int = number
            ) -> None:
                report.broken.append({"promise": promise, "case": number, "templates": templates})

            watch.seen.clear()
            started, said, text = time.process_time(), "", ""
            try:
                renderer = pf.Renderer(templates=templates)  # which reads the shipped files
                with deadline(STUCK):
                    watch.on = True
                    text = renderer.render(ITEMS, **options).text
            except pf.PromptForgeError as error:
                said = str(error)
            except Stuck:
                broken(f"over {STUCK} s in process")
            except BaseException as error:
                broken(f"{type(error).__name__} came out: {str(error)[:200]}")
            finally:
                watch.on = False
            taken = time.process_time() - started
            slowest[0] = max(slowest[0], taken)
            ended[
                "stopped for too much work"
                if "too much work" in said
                else "refused"
                if said
                else "rendered"
            ] += 1
            if taken > seconds:
                broken(f"took {taken:.1f} s")
            if watch.seen:
                broken(f"reached out: {watch.seen[:3]}")
            if SECRET in text or SECRET in said or canary.exists():
                broken("a secret was told, or a file made")
            if pf.render(ITEMS, max_tokens=200).text != right:
                broken("the next rendering was wrong")
            if number % every_nth_sandboxed == 0:
                ended["in the sandbox too"] += 1
                started = time.monotonic()
                theirs, there = "", ""
                try:
                    theirs = sandbox.render(ITEMS, templates=templates, **options)["text"]
                except pf.PromptForgeError as error:
                    there = str(error)
                slowest[1] = max(slowest[1], time.monotonic() - started)
                if "and were stopped" in there or "ended the process" in there:
                    ended["ended by the sandbox"] += 1
                elif (theirs, there) != (text, said):
                    broken(
                        f"in the sandbox otherwise: {there or theirs!r:.200} for "
                        f"{said or text!r:.200}"
                    )
                if number % 20 == 0 and sandbox.render(ITEMS, max_tokens=200)["text"] != right:
                    broken("the next rendering in the sandbox was wrong")
    report.figures |= {key: ended[key] for key in sorted(ended)}
    report.figures["slowest in process, s of processor"] = slowest[0]
    report.figures["slowest in the sandbox, s of clock"] = slowest[1]
    try:
        import resource

        report.figures["most memory of this process, MiB"] = (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        )
    except ImportError:
        pass
    return report
