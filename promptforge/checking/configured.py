"""The findings about one `layout.yaml` or one profile as a whole: its keys, what it builds on, what it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import layouts, plugins, profiles
from ..errors import ProfileError, PromptForgeError, nearest, quote
from ..folders import contents
from ..framing import TAGGED, framing_of
from ..options import VOCABULARY, Options
from ..profiles import load_profile
from ..template_files import EXTENSIONS
from ..templates import Templates, nearest_format
from ..tokens import names as tokenizers
from ..tokens import respelt, unscaled
from .findings import Edit, Finding, Text
from .library import Library
from .looks import Layouts, near_kind, part_of
from .settings import Keys, around, modeline, split, sums


def marks(path: Path) -> Iterator[Finding]:
    """Yield what a file has that is left out when it is read: a byte order mark, line ends of Windows."""
    try:
        data = contents(path)
    except OSError:  # said where it is read
        return
    said = []
    if data.startswith(b"\xef\xbb\xbf"):
        said.append("a byte order mark")
    if b"\r\n" in data:
        said.append("line ends of Windows")
    if said:
        yield Text(path, "").whole(
            "PF826", f"has {' and '.join(said)}, which are left out", Edit(0, 0, "")
        )


def layout(templates: Templates, known: Layouts, name: str, path: Path) -> Iterator[Finding]:
    """Yield what is wrong with the settings of a layout."""
    try:
        text = Text(path, templates.source(name)[0])
    except PromptForgeError as error:
        yield Finding(str(path), 0, 0, "PF825", str(error).removeprefix(f"{path}: "))
        return
    yield from marks(path)
    keys = Keys(text, layouts.VOCABULARY)
    yield from keys.findings
    own = name.split("/")[0]
    base = keys.values.get("base")
    if base is not None and base not in known.layouts:
        yield keys.value(
            "base", "PF833", f'there is no layout "{base}"{nearest(base, known.layouts - {own})}'
        )
    elif base is not None and own in known.chain(base):
        yield keys.value("base", "PF833", f'"{base}" is based on "{own}" in turn, in a circle')
    if keys.values.get("group_by") == "auto":
        yield keys.value(
            "group_by", "PF832", "auto means what the layout says, and this is where it says it"
        )
    yield from around(keys)
    if keys.values.get("group_by", "kind") in ("kind", "category"):
        for key in ("sections", "titles"):
            yield from _sections(keys, key, known.kinds(own))
    yield from modeline(text, "../layout.schema.json")


def _sections(keys: Keys, key: str, kinds: set[str]) -> Iterator[Finding]:
    """Yield the sections that a key names and that are no kind of `kinds`, but nearly one."""
    for name in keys.values.get(key) or ():
        if (near := near_kind(name, kinds)) is not None:
            message = f'no kind and no template is called {quote(name)}; did you mean "{near}"?'
            yield keys.word(key, name, "PF821", message)


def looks(library: Library, known: Layouts, meant: Mapping[str, Path]) -> Iterator[Finding]:
    """Yield the looks of kinds that a layout has in some of its formats and not in the others."""
    pairs = list(known.pairs())
    for name, path in meant.items():
        part = part_of(name)
        if (
            part is None
            or part.stem in ("layout", "item")
            or library.templates.find(f"shipped/{name}") is not None
        ):
            continue
        have = [pair for pair in pairs if pair.layout == part.layout]
        lacking = [pair.ending for pair in have if part.stem not in pair.items]
        first = min((pair.ending for pair in have if part.stem in pair.items), default="")
        if lacking and part.ending == first:
            message = f'in {", ".join(lacking)} the layout shows the kind "{part.stem}" by `item`; this look is for {first}'
            yield Text(path, "").whole("PF828", message)


def profile(
    path: Path, folders: Sequence[Path], known: Layouts, templates: Templates
) -> Iterator[Finding]:
    """Yield what is wrong with a profile."""
    try:
        data = contents(path)
        text = Text(path, data.decode("utf-8-sig").replace("\r\n", "\n"))
    except (OSError, UnicodeDecodeError) as error:
        reason = (
            "is not UTF-8 text; save it as UTF-8"
            if isinstance(error, ValueError)
            else f"cannot be read: {error}"
        )
        yield Finding(str(path), 0, 0, "PF825", reason)
        return
    yield from marks(path)
    keys = Keys(text, profiles.VOCABULARY)
    yield from keys.findings
    yield from modeline(text, "schema.json")
    merged: dict[str, Any] = {}
    if any(f.severity == "error" for f in keys.findings):
        try:  # the figures below it are right all the same
            merged = load_profile(keys.values.get("extends") or "default", folders).options
        except ProfileError as error:
            file = (error.where or "").rpartition(":")[0]
            message = str(error) if not file else f"what this builds on is wrong: {error}"
            if file and Path(file).resolve() == path.resolve():  # it leads back to here
                message = f'"{keys.values.get("extends")}" builds on this file in turn, in a circle'
            yield keys.value("extends", "PF833", message)
    else:
        try:
            merged = load_profile(path, folders).options
        except ProfileError as error:
            line, message = split(error, str(path))
            if error.where and error.where.rpartition(":")[0] == str(path):
                yield (
                    keys.value("extends", "PF833", message)
                    if error.option
                    else text.on(line, "PF832", message)
                )
            else:
                yield keys.value("extends", "PF833", f"what this builds on is wrong: {message}")
    merged = {**merged, **{key: keys.values[key] for key in keys.values if key in VOCABULARY}}
    yield from sums(keys, merged)
    yield from around(keys)
    yield from _named(keys, merged, known, templates)


def _named(
    keys: Keys, merged: dict[str, Any], known: Layouts, templates: Templates
) -> Iterator[Finding]:
    """Yield layouts, formats and tokenizers that a profile names and that are not there."""
    layout = merged.get("layout", Options().layout)
    if "layout" in keys.values and layout not in known.layouts:
        yield keys.value(
            "layout", "PF836", f"there is no layout {quote(layout)}{nearest(layout, known.layouts)}"
        )
    elif "format" in keys.values or "layout" in keys.values:
        wanted = merged.get("format", Options().format)
        try:
            have = templates.formats(layout)
        except PromptForgeError:  # said where the layout is looked at
            have = [wanted]
        if wanted not in have:
            key = "format" if "format" in keys.values else "layout"
            message = (
                f'the layout "{layout}" has no format {quote(wanted)}{nearest_format(wanted, have)}'
            )
            yield keys.value(key, "PF836", message)
    order = keys.values.get("prompt_order")
    if order is not None and "context" not in order:
        yield keys.value(
            "prompt_order",
            "PF845",
            "names no context, so no item is ever in the prompt; add context",
        )
    if merged.get("group_by", "auto") in ("auto", "none", "kind", "category"):
        yield from _sections(keys, "section_budgets", known.kinds(layout))
    asked, format = keys.values.get("framing", "auto"), merged.get("format", Options().format)  # noqa: A001
    # a profile may well ask for tags wherever these can stand, which a rendering says in a note
    if (
        format in EXTENSIONS
        and asked != TAGGED
        and (problem := framing_of(asked, EXTENSIONS[format], format)[1])
    ):
        yield keys.value("framing", "PF107", problem)
    prompt = keys.values.get("prompt")
    if prompt is not None and prompt.removeprefix("shipped/") not in templates.prompts():
        yield keys.value(
            "prompt",
            "PF836",
            f"there is no prompt {quote(prompt)}{nearest(prompt, templates.prompts())}",
        )
    tokenizer = keys.values.get("tokenizer")
    if isinstance(tokenizer, str):
        base = unscaled(tokenizer)
        names = [name for name, _ in [*tokenizers(), *plugins.names("tokenizers")]]
        if base.startswith("file:"):
            if not Path(base.removeprefix("file:")).is_file():
                yield keys.value(
                    "tokenizer", "PF836", f"there is no file {quote(base.removeprefix('file:'))}"
                )
        elif (meant := respelt(tokenizer)) is not None:
            message = f"unknown tokenizer {quote(tokenizer)}; did you mean {quote(meant)}?"
            yield keys.value("tokenizer", "PF836", message)
        elif base not in names:
            yield keys.value(
                "tokenizer", "PF836", f"unknown tokenizer {quote(tokenizer)}{nearest(base, names)}"
            )
