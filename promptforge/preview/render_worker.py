"""Render for the page, in the sandbox: templates here are drafts that nobody has checked.

This runs in a process of its own, so requests and answers are plain data. It keeps the items and
the last renderers, so that a keystroke in a template sends no items and reads no vocabulary.
"""

from __future__ import annotations

import bisect
import codecs
import collections
import difflib
import functools
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..authoring.compare import build_from_result, compare_builds
from ..authoring.golden import add_case, case_name_of_item, parse_cases, run_case
from ..errors import Diagnostic, ItemError, TemplateError
from ..model import Item, Result
from ..prompts.prompt import Renderer, format_prompt
from ..rendering.pipeline import SHIPPED_TEMPLATES_USED
from ..templating.loader import Templates
from ..text.split_points import split_at_points
from ..tokenizers.base import Counter
from ..tokenizers.bpe import BytePairCounter
from ..tokenizers.registry import get_tokenizer

MAX_RENDERERS_KEPT = 6
"""Renderers kept for later requests: some for each side of a comparison."""
MAX_LINES_COMPARED = 20_000
"""Lines of both texts up to which they are compared line by line; `difflib` is quadratic."""
STRETCH_CHARS = 1 << 16
"""Characters that the tokenizer gets at a time."""
CASES_FILE_NAME = "preview.yaml"
"""Name of the file of cases, in the folder of tests."""
_SAID = (
    "text", "tokens", "max_tokens", "exact", "tokenizer", "layout", "format", "profile",
    "items_included", "items_trimmed", "items_dropped", "chars", "build_seconds",
)  # fmt: skip
_TOLD = (
    "id", "kind", "name", "path", "start_line", "end_line", "score", "status", "form", "tokens",
    "tokens_full", "reason", "fits_at", "rank", "section",
)  # fmt: skip
_OPTIONS = ("context_window", "reserve", "max_chars", "packing", "query")
Request = Mapping[str, Any]
Answer = dict[str, Any]
_NEEDS_ITEMS: Answer = {"needs": "items"}
# The items of the last request that brought some, under its `items_key`.
_items: dict[str, list[Item]] = {}


def draw(request: Request, begin: Callable[[], None]) -> Answer:
    """Answer a request for `request["what"]`: `page`, `account`, `comparison` or `prompt`.

    Returns `{"needs": "items"}` for an `items_key` that is not known here: the caller then sends
    the request again, with the items in `items`. `begin` starts the templates' time.
    """
    if not _keep_items(request):
        return _NEEDS_ITEMS
    renderer = _warm_renderer(request["settings"], begin)
    what, tokens = request["what"], request["tokens"]
    if what == "prompt":
        return _prompt(renderer, request)
    result = _render(renderer, request, "settings")
    if what == "page":
        return _page(result, tokens)
    if what == "account":
        return _account(result)
    return _comparison(result, _render(_renderer(request["other"]), request, "other"), tokens)


def record_case(request: Request, begin: Callable[[], None]) -> Answer:
    """Return `{"source"}`: the file of cases `request["source"]` with the view as one more case.

    Further keys of `request`: those of `draw`; `name` and `expect` of the case; `path` of its file;
    `items_file`, the file of all items, or None to write the items into the case. The case is tried
    as `promptforge test` will try it. Raises `ItemError` if it would fail.
    """
    if not _keep_items(request):
        return _NEEDS_ITEMS
    result = _render(_warm_renderer(request["settings"], begin), request, "settings")
    path = Path(request["path"])
    source = add_case(request["source"], path, _case_keys(request, result, path.parent))
    outcome = run_case(parse_cases(source, path)[-1])
    if outcome.problems:
        raise ItemError(f"the case would not hold when it is tested: {outcome.problems[0]}")
    return {"source": source}


def _keep_items(request: Request) -> bool:
    """Keep the items of a request; return False where they are missing."""
    if request.get("items") is not None:
        # One set of items is kept, however often their file changes.
        _items.clear()
        _items[request["items_key"]] = msgspec.convert(request["items"], list[Item])
    return request["items_key"] in _items


def _warm_renderer(settings: Request, begin: Callable[[], None]) -> Renderer:
    # The templates' time begins when all else is loaded.
    # Loading a vocabulary takes a second, which is not the template's fault.
    renderer = _renderer(settings)
    given, profile = settings["options"].get("tokenizer"), renderer.profile.options.get("tokenizer")
    get_tokenizer(given or profile or "o200k_base").count("a text")
    begin()
    return renderer


def _renderer(settings: Request) -> Renderer:
    names = ("stamp", "profile", "templates", "profiles", "allow_outside")
    return _make_renderer(msgspec.json.encode([settings[name] for name in names]))


@functools.lru_cache(MAX_RENDERERS_KEPT)
def _make_renderer(key: bytes) -> Renderer:
    # The stamp is part of the key alone: it grows when a file changes.
    _, profile, templates, profiles, outside = msgspec.json.decode(key)
    folders: Any = [each if isinstance(each, dict) else Path(each) for each in templates]
    return Renderer(profile=profile, templates=folders, profiles=profiles, allow_outside=outside)


def _render(renderer: Renderer, request: Request, side: str) -> Result:
    result = renderer.render(_items[request["items_key"]], **request[side]["options"])
    _refuse_stand_in(result.warnings)
    return result


def _refuse_stand_in(warnings: Iterable[Diagnostic]) -> None:
    # The page shows the error of a template, not the text that stands in for its output.
    for said in warnings:
        if said.code == "PF401":
            message = said.message.removesuffix(SHIPPED_TEMPLATES_USED)
            place = f"{said.where}: " if said.where else ""
            raise TemplateError(message.removeprefix(place), where=said.where)


def _prompt(renderer: Renderer, request: Request) -> Answer:
    given = {**request["settings"]["options"], **request["texts"]}
    prompt = renderer.prompt(_items[request["items_key"]], to=request["to"], **given)
    _refuse_stand_in(prompt.warnings)
    named = prompt.manifest["templates"]
    return {
        "to": prompt.to,
        "sent": format_prompt(prompt),
        "messages": list(prompt) if prompt.to == "roles" else [],
        "tokens": prompt.tokens,
        "window": prompt.window,
        "exact": prompt.exact,
        "parts": msgspec.to_builtins(prompt.parts),
        "files": [["templates", name] for name in named if name.startswith("prompt/")],
        "warnings": [msgspec.to_builtins(said) for said in prompt.warnings],
    }


def _page(result: Result, tokens: bool) -> Answer:
    """Describe a rendering: its text, the items and template lines behind each part of it."""
    text, sources = result.text, result.sources
    options = result.report.page.options
    names = dict.fromkeys(span.template for span in result.map)
    numbers = {name: number for number, name in enumerate(names)}
    places: dict[str | None, int] = {source.id: place for place, source in enumerate(sources)}
    at = _units(text)
    ends = token_ends(get_tokenizer(result.tokenizer), text) if tokens else None
    shown = []
    if text:
        for source, item in zip(sources, result.report.placed.values(), strict=True):
            facts = {name: getattr(item, name) for name in ("section", "title", "tokens", "whole")}
            shown.append({"id": source.id, **facts})
    return {
        **{name: getattr(result, name) for name in _SAID},
        "options": {name: getattr(options, name) for name in _OPTIONS},
        "shown": shown,
        "spans": [
            [at(s.start), at(s.end), places.get(s.item), numbers[s.template], s.line]
            for s in result.map
        ],
        "templates": list(names),
        "ends": None if ends is None else [at(end) for end in ends],
        "warnings": [msgspec.to_builtins(said) for said in result.warnings],
        "files": _files(result),
    }


def _units(text: str) -> Callable[[int], int]:
    # JavaScript counts in UTF-16 units.
    wide: list[int] = []
    if not text.isascii():
        wide = [index for index, char in enumerate(text) if char > "\uffff"]
    # A character above U+FFFF, such as an emoji, takes two units: one more for each before.
    return lambda place: place + bisect.bisect_left(wide, place)


def _files(result: Result) -> list[list[str]]:
    # The template of the whole text first: the editor opens it.
    report = result.report
    page, templates, profile = report.page, report.templates, report.profile
    named = [
        page.layout.page_name,
        *(name for name in page.layout.files() if name != page.layout.page_name),
    ]
    drawn: dict[str, None] = {}
    for name in named:
        _gather(templates, name, drawn)
    layouts = dict.fromkeys([result.layout, *(name.partition("/")[0] for name in named)])
    settings = [name for layout in layouts if templates.find(name := f"{layout}/layout.yaml")]
    every = dict.fromkeys((*named, *settings, *drawn))
    return [["templates", name] for name in every] + [
        ["profiles", file.name.removeprefix("shipped/")] for file in reversed(profile.chain)
    ]


def _gather(templates: Templates, name: str, found: dict[str, None]) -> None:
    # With the parents of a template, but no `shipped/` original of a user's copy.
    if name not in found and not name.startswith("shipped/"):
        found[name] = None
        for parent in templates.facts(name).parents:
            _gather(templates, parent, found)


def _account(result: Result) -> Answer:
    items = [msgspec.to_builtins(item) for item in result.items]
    return {
        "items": [{name: item[name] for name in _TOLD} for item in items],
        "explanation": msgspec.to_builtins(result.explain()),
    }


def _comparison(a: Result, b: Result, tokens: bool) -> Answer:
    found = compare_builds(build_from_result(a), build_from_result(b))
    texts = [result.text.split("\n") for result in (a, b)]
    rows = None
    if sum(map(len, texts)) <= MAX_LINES_COMPARED:
        matcher = difflib.SequenceMatcher(None, texts[0], texts[1])
        rows = [list(code) for code in matcher.get_opcodes()]
    return {
        "a": _page(a, tokens),
        "b": _page(b, tokens),
        "figures": [msgspec.to_builtins(pair) for pair in found.figures],
        "changes": [
            {"id": (change.a or change.b).id, "how": change.how, "delta": change.delta}  # type: ignore[union-attr]
            for change in found.items
            if change.how not in ("same", "neither")
        ],
        "moved": found.moved,
        "sections": _sections(a, b),
        "rows": rows,
    }


def _sections(a: Result, b: Result) -> list[dict[str, Any]]:
    costs: dict[str, dict[str, Any]] = {}
    for side, result in (("a", a), ("b", b)):
        for section in result.sections:
            known = costs.setdefault(
                section.key, {"key": section.key, "title": section.title, "a": 0, "b": 0}
            )
            known[side] = section.tokens
    return list(costs.values())


def _case_keys(request: Request, result: Result, folder: Path) -> Answer:
    # Paths in the case are relative to its folder, so that both can move.
    def relative(other: str) -> str:
        return Path(os.path.relpath(other, folder)).as_posix()

    keys: dict[str, Any] = {"name": request["name"]}
    if request["items_file"]:
        keys["items"] = relative(request["items_file"])
    else:
        keys["items"] = [_record(item) for item in _items[request["items_key"]]]
    settings = request["settings"]
    for what in ("templates", "profiles"):
        if settings[what]:
            keys[what] = [relative(folder) for folder in settings[what]]
    keys["options"] = dict(settings["options"])
    if settings["profile"]:
        keys["options"] = {"profile": settings["profile"], **settings["options"]}
    if request["expect"] == "text":
        return keys | {"text": result.text}
    most = result.tokens if result.max_tokens is None else result.max_tokens
    names = collections.Counter(map(case_name_of_item, result.items))
    statuses = {}
    for item in result.items:
        name = case_name_of_item(item)
        if names[name] > 1:  # two items of one name: only the id tells them apart
            name = item.id
        statuses[name] = item.status
    return keys | {"tokens_at_most": most, "statuses": statuses}


def _record(item: Item) -> dict[str, Any]:
    # As a user writes an item: without the fields that have their defaults.
    plain: dict[str, Any] = msgspec.to_builtins(item)
    default = msgspec.to_builtins(Item())
    return {name: value for name, value in plain.items() if value != default[name]}


def token_ends(counter: Counter, text: str) -> list[int] | None:
    """Return the end of each token, in characters.

    Tokens that share one character, such as those of an emoji, count as one. Returns None for a
    counter without tokens, such as an estimate, and for tokens that do not spell the text as it is.
    """
    if not isinstance(counter, BytePairCounter):
        return None
    found: list[int] = []
    at = 0
    for stretch in split_at_points(text, STRETCH_CHARS):
        tokens = counter.encode(stretch)
        if tokens is None:
            return None
        # The decoder keeps the first bytes of a character until a later token brings its last.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        start = at
        for token in tokens:
            at += len(decoder.decode(counter.decode([token])))
            if not decoder.getstate()[0]:
                found.append(at)
        if at - start != len(stretch):
            return None
    return found
