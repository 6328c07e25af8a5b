"""Rendering samples of whole prompts: which part is lost, and which mark of the frame an item could imitate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import PromptForgeError, TemplateError, quote
from ..options import PARTS
from ..prompting.frame import Frame
from ..template_files import format_of
from ..templates import PROMPTS
from . import weight
from .findings import Finding, Text
from .library import Library

_CITATION = "Name the sources."


def tried(library: Library, meant: Mapping[str, Path], wrong: set[str]) -> Iterator[Finding]:
    """Yield what goes wrong in the sets of prompt templates that are `meant`; none that draws on a `wrong` file."""
    names = [name for name in meant if name.startswith(f"{PROMPTS}/") and name.count("/") == 2]
    ends: dict[tuple[str, str], None] = {}
    for name in names:
        _, own, file = name.split("/")
        ends[own, file.removesuffix(".j2").partition(".")[2]] = None
    for own, ending in ends:
        try:
            frame = Frame(library.templates, own, format_of(ending))
            files = [frame.template(part) for part in (*PARTS, "prompt")]
        except PromptForgeError:  # a name that is no part has its finding
            continue
        drawn = set[str]().union(*map(library.drawn, files))
        paths = {str(found.path) for found in map(library.templates.find, drawn) if found}
        if paths & wrong or any(library.weight(name) >= weight.MOST for name in files):
            continue
        yield from _findings(frame, library, meant, names)


def _findings(
    frame: Frame, library: Library, meant: Mapping[str, Path], names: list[str]
) -> Iterator[Finding]:
    whole = frame.template("prompt")
    first = next(volume for volume in map(library.volume, names) if volume is not None)
    try:
        lost: dict[str, list[str]] = {}
        for part, template in frame.lost(PARTS):
            lost.setdefault(template, []).append(part)
        bare = frame.bare(_CITATION)
    except TemplateError as error:
        name, _, line = (error.where or "").partition(":")
        volume, message = library.volume(name), error.bare
        if volume is not None and name in meant and line.isdigit():
            yield volume.text.on(int(line), "PF814", message)
        else:
            yield first.text.whole("PF814", message)
        return
    for template, parts in lost.items():
        volume = library.volume(template) if template in meant else first
        way = (
            "{{ part.text }}"
            if template == whole
            else "{{ message.text }}"
            if parts == ["history"]
            else parts[0]
        )
        way = way if way.startswith("{{") else f"{{{{ {way} }}}}"
        each = " of every part" if template == whole else ""
        message = f"given and not printed: {', '.join(parts)}; print {way}{each}"
        yield (volume or first).text.whole("PF818", message)
    if bare is not None:
        text, at = _standing(library, bare, names) or (first.text, None)
        if at is None and lost:  # a part that is lost comes first
            return
        mark = quote(bare if at is None else text.text[at : at + len(bare)])
        message = f"{mark} has no {{{{ boundary }}}}, so a prompt of which a part holds the same is refused"
        yield (
            text.whole("PF819", message) if at is None else text.at(at, len(bare), "PF819", message)
        )


def _standing(library: Library, mark: str, names: list[str]) -> tuple[Text, int | None] | None:
    """Return the template of a frame in which a mark stands as it is printed, and where."""
    for name in names:
        volume = library.volume(name)
        found = (
            re.search(re.escape(mark), volume.text.text, re.IGNORECASE)
            if volume is not None
            else None
        )
        if volume is not None and found is not None:
            return volume.text, found.start()
    return None
