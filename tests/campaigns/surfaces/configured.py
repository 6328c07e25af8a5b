"""A payload as what configures: a profile, an item file, a job, a layout's settings, front matter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from commandline import run as command
from harmless_records import HarmlessCopier, harmless
from unfiltered import FORMATS

import promptforge as pf
from promptforge.config import profiles

from ..corpus import Attack
from .seen import Seen, attempt, told

NAMES = {"max_length": "max_tokens", "max_lenght": "max_tokenz"}
"""What a corpus calls an option, and what it is called here."""
_PWNED = "a\n```\n# PWNED\n</document>\n"


def profile(
    attack: Attack, options: dict[str, Any], folder: Path, _memo: Any = None
) -> Iterator[Seen]:
    """Try the payload as a profile: as it is, with this library's names, each known key alone; and
    in a project.
    """
    value = attack.value()
    for number, data in enumerate(_variants(value)):
        path = folder / f"theirs{number}.yaml"
        path.write_bytes(data)
        for format in FORMATS if number and not options else FORMATS[:1]:  # noqa: A001
            yield _with(path, format, options)
        if options:  # commands say the same in both
            continue
        records = json.dumps([harmless(1), harmless(2)])
        yield told("render --profile", "render", "--profile", path, "-", stdin=records, cwd=folder)
        found = command("check", path)
        assert found.code in (0, 1, 2) and "Traceback" not in found.err, (
            f"check: {found.code} {found.err}"
        )
        lines = found.out.splitlines() if found.code else ()
        yield Seen("check", "", tuple(f"check: {line}" for line in lines[:9]))
    if not options:
        yield _in_project(folder, "profiles/default.yaml", (folder / "theirs0.yaml").read_bytes())


def yaml(
    attack: Attack, options: dict[str, Any], folder: Path, _memo: Any = None
) -> Iterator[Seen]:
    """Try the payload as a profile, a file of items, a job, the settings of a layout, and the head
    of a document.
    """
    yield from profile(attack, options, folder)
    path = folder / "theirs0.yaml"
    data = path.read_bytes()
    strict = ["--strict"] if options else []
    codes = (0, 1, 2, 3, 4, 5)
    yield told("a file of items", "render", path, *strict, codes=codes)
    yield told("--job", "render", "--job", path, *strict, codes=codes)
    brief = folder / "templates" / "brief"
    brief.mkdir(parents=True)
    (brief / "layout.yaml").write_bytes(data)
    flags: list[str | Path] = ["--templates", brief.parent, "--layout", "brief"]
    yield told("a layout", "render", "-", *flags, *strict, stdin="[]", codes=codes)
    document = folder / "front.md"
    document.write_bytes(b"---\n" + data + b"\n---\n\ncontent number 1\n")
    yield told("front matter", "render", "--doc", document, *strict, codes=codes)


def _variants(value: Any) -> list[bytes]:
    """Return a text as it is, with this library's words for options, and each of its lines that
    sets one alone.
    """
    if isinstance(value, bytes):
        return [value]
    value = str(value)
    renamed = re.sub("|".join(NAMES), lambda m: NAMES[m[0]], value)
    lines = [
        line for line in renamed.split("\n") if line.split(":")[0] in profiles.PROFILE_VOCABULARY
    ]
    texts = dict.fromkeys((value, renamed, *(line for line in lines if len(renamed) < 10_000)))
    return [text.encode("utf-8", "surrogatepass") for text in texts]


def _with(path: Path, format: str, options: dict[str, Any]) -> Seen:
    """Render hostile items and harmless ones in their places with a profile."""
    bad = harmless(0, content=_PWNED, name="# PWNED\n<b>", path='"],{[`x')
    tamer = HarmlessCopier()
    tame = tamer.records([bad, harmless(1), harmless(2)])
    given: dict[str, Any] = {
        "profile": path,
        "format": format,
        "control_text": "keep",
        "min_score": None,
    }
    same = attempt("", lambda: pf.render(tame, **given)).text

    def make() -> pf.Result:
        return pf.render([bad, harmless(1), harmless(2)], **given, **options)

    tried = attempt(f"{path.name} in {format}", make, may_refuse=True)
    if (
        tried.result is None
        or same is None
        or tried.result.truncated
        or tried.result.layout != "chunks"
    ):
        return tried
    if tried.result.tokens > (tried.result.max_tokens or 10**9):
        return tried._replace(wrong="H4: over the budget")
    more: dict[str, Any] = {
        "format": format,
        "layout": "chunks",
        "tame": (same, same, tamer, tame),
        "budget": 10**6,
    }
    return tried._replace(**more)


def _in_project(folder: Path, name: str, data: bytes) -> Seen:
    """Put a file into a project's own folder: it changes nothing until it is trusted."""
    root = folder / "cloned"
    path = root / ".promptforge" / name
    path.parent.mkdir(parents=True)
    (root / "items.json").write_text(json.dumps([harmless(1), harmless(2)]))
    without = command("render", "items.json", cwd=root)
    path.write_bytes(data)
    seen = told("in a cloned repository", "render", "items.json", cwd=root)
    changed = None if seen.text == without.out else "H7: a project's own file was used"
    return seen._replace(wrong=changed)
