"""A payload as a template: in place of a shipped item and page, and as what a folder of templates
may hold.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import judges
from commandline import run as command
from harmless_records import HarmlessCopier, harmless
from unfiltered import render

from promptforge import plugins

from ..corpus import Attack, NotRunError
from .files import SETUPS
from .races import race
from .seen import OUTSIDE, Seen, attempt

ENDINGS = {"markdown": "md", "xml": "xml", "json": "json", "plain": "txt"}
BAD = {"content": "a\n```\n# PWNED\n</document>\n", "name": "# PWNED\n<b>", "path": '"],{[`x'}
CHECKED = ("chunks/item.md.j2", "chunks/layout.xml.j2")
"""Where `check` reads it too."""
FILTERS = {
    "raises": "def f(value): raise BaseException('out')",
    "divides": "def f(value): return 1 / 0",
    "none": "def f(value): return None",
    "generator": "def f(value): return iter(int, 1)",
    "markup": "def f(value):\n    import markupsafe\n    return markupsafe.Markup('<PWNED/>\\n# PWNED\\n')",
    "object": "def f(value): return object()",
    "endless": "def f(value): return 'a' * 10**8",
}
"""Plug-ins that misbehave, as their source."""


def template(attack: Attack, options: dict[str, Any], folder: Path, memo: Any) -> Iterator[Seen]:
    """Try the payload in place of a shipped item and page, in every format, and read it with
    `check`.
    """
    if attack.is_words:
        yield from _arranged(attack.payload, options, folder)
        return
    value = attack.value()
    for format, ending in ENDINGS.items():  # noqa: A001
        for name in (f"chunks/item.{ending}.j2", f"chunks/layout.{ending}.j2"):
            place = folder / format / name.replace("/", "-")
            (place / "chunks").mkdir(parents=True)
            data = (
                value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
            )
            (place / name).write_bytes(data)
            given: Any = place if len(data) % 2 or isinstance(value, bytes) else {name: str(value)}
            yield _tried(name, format, given, options, memo)
            if not options and name in CHECKED:  # what `check` says is the same in both
                yield _checked(place)


def _tried(name: str, format: str, given: Any, options: dict[str, Any], memo: Any) -> Seen:
    bad = harmless(0, **BAD)
    tamer = HarmlessCopier()
    tame = tamer.records([bad])
    key = (name, "", format, 0)
    if key not in memo:
        memo[key] = attempt("", lambda: render(tame, "chunks", format, templates=given)).text
    same = memo[key]
    more: dict[str, Any] = {"tame": (same, same, tamer, tame), "budget": 10**6}
    return attempt(
        name,
        lambda: render([bad], "chunks", format, templates=given, **options),
        format=format,
        layout="chunks",
        **more,
    )


def _checked(place: Path) -> Seen:
    ran = command("check", place)
    assert ran.code in (0, 1, 2), f"check left with exit code {ran.code}: {ran.err}"
    assert "Traceback" not in ran.err, "a traceback of check"
    lines = (*ran.out.splitlines(), *ran.err.splitlines()) if ran.code else ()
    return Seen("check", "", tuple(f"check: {line}" for line in lines[:5]))


def _arranged(words: str, options: dict[str, Any], folder: Path) -> Iterator[Seen]:
    """Arrange what words describe: a race, a filter that misbehaves, bytes, a size, a name, a file
    that is none.
    """
    if re.search(r"edit|while|thread|race|reload|mtime|in place|delet|remov|renam", words):
        yield from race(words, folder)
        return
    if re.search(r"filter|plug-?in", words):
        yield from _filtered(options, folder)
        return
    root = folder / "theirs"
    (root / "chunks").mkdir(parents=True)
    (folder / "outside.txt").write_text(OUTSIDE)
    _make(words, root / "chunks")
    tame = attempt("", lambda: render([harmless(0, **BAD)], "chunks", "markdown")).text
    for name in ("item.md.j2", "layout.md.j2"):
        seen = attempt(
            name,
            lambda: render([harmless(0, **BAD)], "chunks", "markdown", templates=root, **options),
        )
        if seen.text is not None and seen.text != tame:
            seen = seen._replace(wrong="H7: it was used")
        yield seen
    if not options:
        yield _checked(root)


def _make(words: str, chunks: Path) -> None:
    for name in ("item.md.j2", "layout.md.j2"):
        path = chunks / name
        if found := re.search(r"bytes ((?:[0-9a-f]{2}\b ?)+)", words):
            path.write_bytes(bytes.fromhex(found[1]))
        elif found := re.search(r"(\d+)\s*([kMG])i?B", words):
            with path.open("wb") as file:
                file.truncate(int(found[1]) * 1000 ** (" kMG".index(found[2])))
        elif found := re.search(r"(?s)named (.+?)(?: or (?:with )?(.+))?$", words):
            for given in filter(None, found.groups()):
                odd = os.path.basename(given.replace("\\n", "\n"))
                (chunks / odd).write_text("{{ PWNED }}")
        elif re.search(r"link|->", words):
            path.symlink_to(chunks.parent.parent / "outside.txt")
        elif make := next(
            (make for pattern, make in SETUPS[2:] if re.search(pattern, words, re.IGNORECASE)), None
        ):
            make(chunks, words)
            for made in [each for each in os.listdir(chunks) if not each.endswith(".j2")]:
                os.rename(chunks / made, path)
        else:
            raise NotRunError(f"no state of a template is known by these words: {words[:80]!r}")


def _filtered(options: dict[str, Any], folder: Path) -> Iterator[Seen]:
    """Bring filters along as a distribution would, and use each."""
    brought = folder / "brought"
    about = brought / "promptforge_campaign_filters-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: promptforge-campaign-filters\nVersion: 1.0\n"
    )
    lines = [f"campaign_{name} = promptforge_campaign_{name}:f" for name in FILTERS]
    (about / "entry_points.txt").write_text("\n".join(["[promptforge.filters]", *lines]))
    for name, source in FILTERS.items():
        (brought / f"promptforge_campaign_{name}.py").write_text(source + "\n")
    sys.path.insert(0, str(brought))
    plugins._points.cache_clear()
    try:
        for name in FILTERS:
            yield _one_filter(name, options)
    finally:
        sys.path.remove(str(brought))
        plugins._points.cache_clear()
        for name in FILTERS:
            sys.modules.pop(f"promptforge_campaign_{name}", None)


def _one_filter(name: str, options: dict[str, Any]) -> Seen:
    text = f"### x\n\n{{{{ item.content | campaign_{name} }}}}\n\n{{{{ item.content | fence }}}}\n"
    given = {"chunks/item.md.j2": text}
    bad = harmless(0, **BAD)
    seen = attempt(
        f"a filter: {name}", lambda: render([bad], "chunks", "markdown", templates=given, **options)
    )
    if seen.text is not None and any(
        "h1" in blocks for blocks in map(str, judges.markdown_structure(seen.text))
    ):
        return seen._replace(wrong="H1: what a filter returned was not escaped")
    return seen
