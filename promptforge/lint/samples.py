"""Samples of layouts and prompts: rendered to find failures that show only then, and to be counted.

A sample has all fields, few or none: each takes other branches of a template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from ..config.options import PROMPT_PARTS, Options, apply_options
from ..engine import PROMPTS_FOLDER, Templates, format_of, get_tokenizer
from ..errors import PromptForgeError, TemplateError, quote
from ..model import Item
from ..prompts.compose import PromptTemplates
from ..rendering.context import LanguageTags, Setting
from ..rendering.page import Page
from ..selection.filter import Candidates
from ..templating.limits import TOO_MUCH_WORK
from .findings import Finding, about_file
from .template_reader import TemplateLibrary
from .yaml_files import LayoutFormat

_SAMPLE_TEXT = "A sentence that is found in the text."
_SWITCHES = ("headers", "scores", "sources", "tree", "code")
_SETTINGS: tuple[Mapping[str, Any], ...] = (
    {**dict.fromkeys(_SWITCHES, True), "header": "Before", "footer": "After", "query": "what?"},
    {**dict.fromkeys(_SWITCHES, False), "lines": "none"},
    {},
)


def _sample_items(kind: str) -> list[Item]:
    """Return an item of a kind with every field, one with nothing but its text, and a found one."""
    full = Item(
        kind=kind,
        content=_SAMPLE_TEXT,
        summary="A summary.",
        name="name",
        path="src/file.py",
        start_line=3,
        end_line=9,
        language="python",
        score=0.85,
        id="sample-1",
        metadata={
            "technique_id": "T1003.001",
            "tactics": ["credential-access"],
            "tools": ["mimikatz"],
            "mitigations": ["Privileged Account Management"],
            "url": "https://example.org",
            "author": "somebody",
        },
    )
    found = replace(full, id="sample-2", origin="similarity", content=f"{_SAMPLE_TEXT} Again.")
    return [full, Item(kind=kind, content=_SAMPLE_TEXT, id="sample-3"), found]


def _page(
    templates: Templates,
    pair: LayoutFormat,
    items: list[Item],
    changes: Mapping[str, Any],
    tokenizer: str = "characters",
) -> Page:
    layout, counter = templates.layout(pair.layout, pair.format), get_tokenizer(tokenizer)
    # As a rendering does, without a profile: only the layout's own settings count.
    options = apply_options(apply_options(Options(), layout.settings.options), dict(changes))
    tag = LanguageTags({}).tags(options, layout.settings)
    entries = Candidates(list(items), [item.score for item in items], list(range(len(items))), {})
    return Page(entries, Setting(layout, options, counter, tag, tag))


def _print(page: Page, number: int) -> list[str]:
    return page.render({index: page.variants(index)[0] for index in range(number)})


def try_layout(
    library: TemplateLibrary, layout: LayoutFormat, asked: Mapping[str, Path]
) -> Iterator[Finding]:
    """Yield failures of samples, at the file that fails or else at one that is `asked` for."""
    # A failure in a shipped template is the fault of the file that makes it fail.
    for (code, where), message in _failures(library.templates, layout).items():
        name, _, line = (where or layout.page).partition(":")
        template = library.template(name) or library.template(layout.page)
        if template is None or Path(template.text.path) not in asked.values():
            line = ""
            template = next((library.template(n) for n in layout.files if n in asked), None)
        if template is not None and line.isdigit():
            yield template.text.on(int(line), code, message)
        elif template is not None:
            yield about_file(template.text.path, code, message)


def _failures(templates: Templates, pair: LayoutFormat) -> dict[tuple[str, str | None], str]:
    """Return the messages about samples of all kinds, by code and `name:line` if it is known."""
    found: dict[tuple[str, str | None], str] = {}
    kinds = *sorted(set(pair.items) - {"item"}), "text"
    items = [item for kind in kinds for item in _sample_items(kind)]
    try:
        layout = templates.layout(pair.layout, pair.format)
    except PromptForgeError as error:
        return {("PF814", None): str(error)}
    if layout.page_uses.isdisjoint(("items", "sections", "explicit", "similarity")):
        message = "prints no item: {% for item in items %}{{ item.text }}{% endfor %} prints all"
        found["PF133", layout.page_name] = message
    for changes in _SETTINGS:
        # All together, one with every field, one with few, none: each takes other branches.
        for some in (items, items[:1], items[1:2], []):
            try:
                text = "".join(_print(_page(templates, pair, some, changes), len(some)))
            except TemplateError as error:
                found.setdefault((_failure_code(error), error.where), error.bare)
                if error.bare.startswith(TOO_MUCH_WORK):  # the others would take as long
                    return found
                continue
            except PromptForgeError as error:
                found.setdefault(("PF814", None), str(error))
                continue
            wrong = None
            if text.strip():
                wrong = layout.syntax.problem(text, layout.ending.rpartition(".")[2])
            if wrong is not None:
                message = f"a sample of this page is {wrong}"
                found.setdefault(("PF815", layout.page_name), message)
    return found


def _failure_code(error: TemplateError) -> str:
    return "PF817" if error.bare.startswith(TOO_MUCH_WORK) else "PF814"


class LayoutCost(NamedTuple):
    """The cost of a layout in one format."""

    layout: str
    format: str
    page: int
    """Tokens around the items of one section."""
    items: dict[str, int]
    """By kind (`item` for all without a template of their own): tokens around an item's text."""


def measure_layout(templates: Templates, pair: LayoutFormat, tokenizer: str) -> LayoutCost:
    """Return the cost of a layout, by rendering samples of each kind.

    A page of four items costs more than a page of two by two items; without their texts, half of
    that is the cost of one item. The rest of the page of two is the page's own.
    """
    costs, fixed, text = {}, 0, get_tokenizer(tokenizer).count(_SAMPLE_TEXT)
    for kind in ("item", *sorted(set(pair.items) - {"item"})):
        one = _sample_items("text" if kind == "item" else kind)[0]
        # Places of their own, or the ranges of one file would be merged.
        items = [replace(one, start_line=10 * n, end_line=10 * n + 6) for n in range(1, 5)]
        page = _page(templates, pair, items, {}, tokenizer)
        two, four = page.count(_print(page, 2)), page.count(_print(page, 4))
        costs[kind] = max(0, round((four - two) / 2) - text)
        fixed = max(fixed, 2 * two - four)
    return LayoutCost(pair.layout, pair.format, fixed, costs)


# --- samples of whole prompts ---------------------------------------------------------------------

_CITATION = "Name the sources."


def try_prompts(
    library: TemplateLibrary, asked: Mapping[str, Path], wrong: set[str]
) -> Iterator[Finding]:
    """Yield failures of the prompt templates that are `asked` for and draw on no `wrong` file."""
    names = [n for n in asked if n.startswith(f"{PROMPTS_FOLDER}/") and n.count("/") == 2]
    sets: dict[tuple[str, str], None] = {}
    for name in names:
        _, own, file = name.split("/")
        sets[own, file.removesuffix(".j2").partition(".")[2]] = None
    for own, ending in sets:
        try:
            prompt = PromptTemplates(library.templates, own, format_of(ending))
            files = [prompt.template(part) for part in (*PROMPT_PARTS, "prompt")]
        except PromptForgeError:  # the name of a template has its own finding
            continue
        drawn = {str(library.path(name)) for name in library.mentioned(files)}
        if not drawn & wrong:
            yield from _try_prompt(prompt, library, asked, names)


def _try_prompt(
    prompt: PromptTemplates, library: TemplateLibrary, asked: Mapping[str, Path], names: list[str]
) -> Iterator[Finding]:
    first = next(template for template in map(library.template, names) if template is not None)
    try:
        lost: dict[str, list[str]] = {}
        for part, name in prompt.unprinted(PROMPT_PARTS):
            lost.setdefault(name, []).append(part)
        bare = prompt.bare_delimiter(_CITATION)
    except TemplateError as error:
        name, _, line = (error.where or "").partition(":")
        template = library.template(name)
        if template is not None and name in asked and line.isdigit():
            yield template.text.on(int(line), _failure_code(error), error.bare)
        else:
            yield about_file(first.text.path, _failure_code(error), error.bare)
        return
    for name, parts in lost.items():
        template = (library.template(name) if name in asked else None) or first
        value = parts[0]
        if parts == ["history"]:
            value = "message.text"
        remedy = f"{{{{ {value} }}}}"
        if name == prompt.template("prompt"):
            remedy = "{{ part.text }} of every part"
        message = f"given and not printed: {', '.join(parts)}; print {remedy}"
        yield about_file(template.text.path, "PF818", message)
    if bare is not None:
        found = _bare_mark(library, bare, names, first.text.path)
        if found.line or not lost:  # a part that is lost comes first
            yield found


def _bare_mark(library: TemplateLibrary, mark: str, names: list[str], otherwise: str) -> Finding:
    """Return a finding about a mark, where it stands as it is printed, or else about a file."""
    said = "has no {{ boundary }}, so a prompt with a part that holds it is refused"
    for template in filter(None, map(library.template, names)):
        found = re.search(re.escape(mark), template.text.text, re.IGNORECASE)
        if found is not None:
            message = f"{quote(found[0])} {said}"
            return template.text.at(found.start(), len(mark), "PF819", message)
    return about_file(otherwise, "PF819", f"{quote(mark)} {said}")
