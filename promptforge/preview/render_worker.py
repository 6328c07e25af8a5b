"""Render for the page, in the sandbox: templates here are drafts that nobody has checked.

This runs in a process of its own, so requests and answers are plain data. It keeps the items and
the last renderers, so that a keystroke in a template sends no items and reads no vocabulary.
"""

from __future__ import annotations

import bisect
import difflib
import functools
import operator
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..authoring.golden import (
    add_case,
    case_of_result,
    is_cases_file,
    load_cases,
    parse_cases,
    run_case,
)
from ..authoring.results import build_from_result, compare_builds
from ..authoring.snapshot import draw_page, ghosts_of, query_hits
from ..config.models import price_of
from ..engine import REASONS, Fields, Templates, get_tokenizer
from ..errors import Diagnostic, ItemError, TemplateError
from ..model import Item, LoadedItems, Result
from ..prompts.finished import format_prompt
from ..prompts.prompt import Renderer
from ..rendering.pipeline import SHIPPED_TEMPLATES_USED
from ..tokenizers.bpe import token_pieces

MAX_RENDERERS_KEPT = 2
"""Renderers kept for later requests, one for each side of a comparison: 20 MB for 2,000 items."""
MAX_LINES_COMPARED = 20_000
"""Lines of both texts up to which they are compared line by line; `difflib` is quadratic."""
_SAID = (
    "text", "tokens", "max_tokens", "exact", "tokenizer", "layout", "format", "profile",
    "items_included", "items_trimmed", "items_dropped", "chars", "build_seconds",
)  # fmt: skip
_ROW = operator.attrgetter(
    "id", "kind", "name", "path", "start_line", "end_line", "score", "status", "form", "tokens",
    "reason", "rank", "section",
)  # fmt: skip
"""Fields of an item's row on the page, in their order; ranking score and place come after them."""
MAX_RESULTS_KEPT = 2
"""Renderings kept, so that an account does not render again what it tells more of."""
SLICE_SECONDS = 0.06
"""Seconds after which what is known so far is told; the page then asks for more."""
MAX_VALUE_CHARS = 400
"""Characters of a value that is shown over a name in the editor."""
Request = Mapping[str, Any]
Answer = dict[str, Any]
_NEEDS_ITEMS: Answer = {"needs": "items"}
# The items of the last request that brought some, under its `items_key`.
_items: dict[str, LoadedItems] = {}
# The last renderings by their settings, the newest last.
_results: dict[bytes, Result] = {}
# What is told in slices, so that a newer request never waits for a second: what is told so far and
# the rest of it, by `id` of the result and a word.
_begun: dict[tuple[int, object], tuple[list[Any], Iterator[Any]]] = {}


def draw(request: Request, begin: Callable[[], None]) -> Answer:
    """Answer a request for `request["what"]`, a key of `_TASKS` or `prompt`.

    Returns `{"needs": "items"}` for an `items_key` that is not known here: the caller then sends
    the request again, with the items in `items`. `begin` starts the templates' time.
    """
    what = request["what"]
    if not _keep_items(request):
        return _NEEDS_ITEMS
    renderer = _warm_renderer(request["settings"], begin)
    if what == "prompt":
        return _prompt(renderer, request)
    return _TASKS[what](_render(renderer, request, "settings"), request)


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
    source = add_case(request["source"], path, _case_keys(request, result))
    outcome = run_case(parse_cases(source, path)[-1], allow_outside=True)
    if outcome.problems:
        raise ItemError(f"the case would not hold when it is tested: {outcome.problems[0]}")
    return {"source": source}


def run_tests(request: Request, begin: Callable[[], None]) -> Answer:
    """Run the golden cases of the files `paths` with the drafts; return name and problems of each.

    Further keys of `request`: `templates`, with texts for drafts; `profiles`, `draft_profiles` and
    `allow_outside`.
    """
    get_tokenizer("o200k_base").count("a text")
    begin()
    texts = [each for each in request["templates"] if isinstance(each, dict)]
    templates = [Path(each) for each in request["templates"] if not isinstance(each, dict)]
    profiles, drafts = ([*map(Path, request[name])] for name in ("profiles", "draft_profiles"))
    found: list[Answer] = []
    for path in filter(is_cases_file, map(Path, request["paths"])):
        try:
            cases = load_cases(path)
        except ItemError as error:
            found.append({"name": path.name, "problems": [str(error)]})
            continue
        for case in cases:
            outcome = run_case(
                case,
                templates,
                profiles,
                request["allow_outside"],
                draft_templates=texts,
                draft_profiles=drafts,
            )
            found.append({"name": case.name, "problems": list(outcome.problems)})
    return {"cases": found}


def _keep_items(request: Request) -> bool:
    """Keep the items of a request; return False where they are missing."""
    if request.get("items") is not None:
        # One set of items is kept, however often their file changes.
        _items.clear()
        _results.clear()
        _begun.clear()
        kept = LoadedItems(msgspec.convert(request["items"], list[Item]))
        kept.listed = tuple(request.get("listed", ()))
        _items[request["items_key"]] = kept
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
    key = msgspec.json.encode([request[side], request["items_key"]])
    result = _results.pop(key, None)
    if result is None:
        result = renderer.render(_items[request["items_key"]], **request[side]["options"])
        _refuse_stand_in(result.warnings)
    _results[key] = result
    while len(_results) > MAX_RESULTS_KEPT:
        old = id(_results.pop(next(iter(_results))))
        for begun in [key for key in _begun if key[0] == old]:
            del _begun[begun]
    return result


def _so_far(result: Result, word: object, begin: Callable[[], Iterator[Any]]) -> Answer:
    """Return what an iterator has given so far, `{"told", "more"}`, after one more slice of it."""
    key = id(result), word
    told, rest = _begun.setdefault(key, ([], begin()))
    end = time.monotonic() + SLICE_SECONDS
    try:
        for each in rest:
            told.append(each)
            if time.monotonic() > end:
                return {"told": told, "more": True}
    except BaseException:
        del _begun[key]  # what has failed begins anew, and is not taken for all there is
        raise
    return {"told": told, "more": False}


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
    messages = list(prompt) if prompt.to == "roles" else []
    made_with = prompt.manifest["options"]
    counter, cached = get_tokenizer(made_with["tokenizer"]), made_with.get("cache_after")
    return {
        "to": prompt.to,
        "sent": format_prompt(prompt),
        "messages": messages,
        "tokens": prompt.tokens,
        "window": prompt.window,
        "price": price_of(renderer.profile, prompt.tokens, exact=prompt.exact),
        "exact": prompt.exact,
        "parts": msgspec.to_builtins(prompt.parts),
        "message_tokens": [
            counter.count(str(message.get("content") or "")) for message in messages
        ],
        "cache_after": list(cached or ()),
        "files": [["templates", name] for name in named if name.startswith("prompt/")],
        "warnings": msgspec.to_builtins(list(prompt.warnings)),
    }


def _page(result: Result, request: Request) -> Answer:
    """Describe a rendering: its text, its items, the template lines behind each part of it."""
    text, report = result.text, result.report
    names = dict.fromkeys(span.template for span in result.map)
    numbers = {name: number for number, name in enumerate(names)}
    places: dict[str | None, int] = {item.id: n for n, item in enumerate(report.items) if item.form}
    at = _units(text)
    shown = []
    if text:
        for index, item in report.placed.items():
            facts = {name: getattr(item, name) for name in ("section", "title", "tokens", "whole")}
            shown.append({"index": index, "id": report.name(index), **facts})
    options = msgspec.to_builtins(report.page.options.plain(result.tokenizer))
    answer: Answer = {name: getattr(result, name) for name in _SAID}
    return {
        **answer,
        "price": price_of(report.profile, result.tokens, exact=result.exact),
        "tokenizer": _short(result.tokenizer),
        "options": options,
        "reasons": _reasons(result, options),
        "overrides": {str(i): word for i, word in report.page.candidates.overrides.items()},
        "overhead": report.page.count(report.page.render({})) if text else 0,
        "items": [
            [*_ROW(item), round(item.ranking_score or 0, 4), item.place] for item in report.items
        ],
        "shown": shown,
        "spans": [
            [at(s.start), at(s.end), places.get(s.item), numbers[s.template], s.line]
            for s in result.map
        ],
        "templates": list(names),
        "ghosts": ghosts_of(result) if text else [],
        "hits": [(at(start), at(end)) for start, end in query_hits(result)],
        **_tokens(result, at, wanted=request["tokens"]),
        "warnings": msgspec.to_builtins(list(result.warnings)),
        "files": _files(result),
    }


def _reasons(result: Result, options: Mapping[str, Any]) -> dict[str, str]:
    """Return what the reasons of items mean, with the values of this rendering."""
    found = {}
    words = {"required", *result.report.counts, *result.report.page.candidates.overrides.values()}
    for reason in (REASONS[name] for name in REASONS if name in words):
        option, value = reason.option, options.get(reason.option or "")
        if isinstance(value, list | tuple):
            option = f"{option} ({', '.join(value)})"
        found[reason.name] = reason.fill(reason.sentence, options, option)
    return found


def _tokens(result: Result, at: Callable[[int], int], *, wanted: bool) -> Answer:
    """Return the ends of all tokens and their numbers; of an estimate those of its base."""
    counter = get_tokenizer(result.tokenizer)
    base = getattr(counter, "_counter", counter)
    pieces = token_pieces(base, result.text) if wanted else None
    if pieces is None:
        return {"ends": None, "numbers": None, "base": None}
    ends = [at(end) for end in pieces.ends]
    return {"ends": ends, "numbers": pieces.numbers, "base": _short(base.name)}


def _short(tokenizer: str) -> str:
    # The folder of a tokenizer's file, which may be that of a draft, says nothing to the reader.
    return re.sub(r"file:.*/", "file:", tokenizer)


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
    named = [page.layout.page_name, *page.layout.files()]
    drawn: dict[str, None] = {}
    for name in named:
        _gather(templates, name, drawn)
    layouts = dict.fromkeys([result.layout, *(name.partition("/")[0] for name in named)])
    settings = filter(templates.find, (f"{layout}/layout.yaml" for layout in layouts))
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


def _needs(result: Result, request: Request) -> Answer:
    """Say what the items in `request["rows"]` take whole, and each template line: that is quick."""
    report = result.report
    rows = [index for index in request["rows"] if index < len(report.given)]
    full = [report.item(index).tokens_full for index in rows]
    return {"rows": rows, "full": full, "lines": _line_tokens(result)}


def _account(result: Result, request: Request) -> Answer:
    """Say of the items in `request["rows"]` what they take whole, and which budget brings them.

    `fits` of an item is None where no budget is known; those up to `small` are too small.
    """
    report, decisions, picked = result.report, result.report.decisions, request["picked"]
    rows = [index for index in request["rows"] if index < len(report.given)]
    seek_next = functools.partial(decisions.budgets.search_next, decisions.lost)
    # In the order of `explain`, so that both have the same numbers.
    more = _so_far(result, "next", seek_next)["more"]
    more = more or _so_far(result, "budgets", lambda: decisions.foreseen)["more"]
    if picked is not None and picked < len(report.given) and not more:  # one may take its time
        rows = [*rows, picked]
        one = report.kept(picked)
        tries = functools.partial(decisions.budgets_of(one).search, one)
        more = _so_far(result, ("budget", picked), tries)["more"]
    first = decisions.budgets.known_next(decisions.lost)
    told = [(decisions.budgets_of(kept), kept) for kept in map(report.kept, rows)]
    return {
        "rows": rows,
        "picked": picked,
        "full": [report.item(index).tokens_full for index in rows],
        "fits": [budgets.known(kept) for budgets, kept in told],
        "small": [budgets.too_small(kept) for budgets, kept in told],
        "decisions": [msgspec.to_builtins(report.decision(index, asked=False)) for index in rows],
        "next": None if first is None or more else {"at": first[0], "index": first[1]},
        "gain": None if more else msgspec.to_builtins(report.gain),
        "more": more,
    }


def _line_tokens(result: Result) -> dict[str, dict[int, int]]:
    """Return the tokens of each template line; of an estimate by its share of the characters."""
    text = result.text
    pieces = token_pieces(get_tokenizer(result.tokenizer), text)
    costs: dict[str, dict[int, float]] = {}
    for span in result.map:
        lines = costs.setdefault(span.template, {})
        if pieces is None:
            cost = result.tokens * (span.end - span.start) / max(len(text), 1)
        else:
            cost = bisect.bisect_right(pieces.ends, span.end)
            cost -= bisect.bisect_right(pieces.ends, span.start)
        lines[span.line] = lines.get(span.line, 0) + cost
    return {name: {line: round(n) for line, n in lines.items()} for name, lines in costs.items()}


def _remedies(result: Result, _request: Request) -> Answer:
    found = _so_far(result, "remedies", result.report.find_remedies)
    return {**found, "told": msgspec.to_builtins(found["told"])}


def _values(result: Result, request: Request) -> Answer:
    """Return what templates see of one item by its name, and what an expression prints of it."""
    report, index = result.report, request["picked"] or 0
    if index not in report.page.candidates:
        return {"values": {}, "printed": None}
    variant = report.packed.chosen.get(index) or report.page.variants(index)[0]
    view = report.page.views.view(index, variant)
    values = {f"item.{name}": _shorten(value) for name, value in view.items()}
    for name, value in msgspec.structs.asdict(report.page.options).items():
        values.setdefault(name, _shorten(value))
    for name, value in report.page.candidates[index].item.metadata.items():
        values[f"item.metadata.{name}"] = _shorten(value)
    printed = _printed(result, view, request["expression"]) if request["expression"] else None
    return {"values": values, "printed": printed}


def _printed(result: Result, view: Fields, expression: str) -> str | None:
    """Return what `{{ expression }}` prints in an item template; None where it cannot be tried."""
    page = result.report.page
    name = f"{page.layout.name}/_tried.{page.layout.ending}.j2"
    variables = page.page_variables(result.report.packed.chosen)
    variables |= {**msgspec.structs.asdict(page.options), "item": view}
    try:
        return _shorten(Templates([{name: f"{{{{ {expression} }}}}"}]).print(name, variables))
    except TemplateError:  # such as a name that a loop around it sets
        return None


def _shorten(value: object) -> str:
    if value is None:
        return "nothing"
    text = str.__str__(value) if isinstance(value, str) else str(value)
    if len(text) > MAX_VALUE_CHARS:
        return f"{text[:MAX_VALUE_CHARS]}…"
    return text


def _case(result: Result, request: Request) -> Answer:
    """Return the view as the text of a golden case, for the clipboard."""
    return {"source": add_case("", Path(request["path"]), _case_keys(request, result))}


def _case_keys(request: Request, result: Result) -> Answer:
    file = request["items_file"]
    items = Path(file) if file else _items[request["items_key"]]
    folder, settings = Path(request["path"]).parent, request["settings"]
    only_bounds = request["expect"] != "text"
    keys = case_of_result(result, items, settings, folder, only_bounds=only_bounds)
    return {"name": request["name"], **keys}


def _comparison(a: Result, request: Request) -> Answer:
    b = _render(_renderer(request["other"]), request, "other")
    found = compare_builds(build_from_result(a), build_from_result(b))
    texts = [result.text.split("\n") for result in (a, b)]
    rows = None
    if sum(map(len, texts)) <= MAX_LINES_COMPARED:
        matcher = difflib.SequenceMatcher(None, texts[0], texts[1])
        rows = [list(code) for code in matcher.get_opcodes()]
    changes = [change for change in found.items if change.how not in ("same", "neither")]
    return {
        "a": _page(a, request),
        "b": _page(b, request),
        "figures": msgspec.to_builtins(found.figures),
        "options": msgspec.to_builtins(found.options),
        "changes": msgspec.to_builtins(changes),
        "moved": found.moved,
        "rows": rows,
    }


_TASKS: Mapping[str, Callable[[Result, Request], Answer]] = {
    "page": _page,
    "needs": _needs,
    "account": _account,
    "remedies": _remedies,
    "values": _values,
    "snapshot": lambda result, _: {"html": draw_page(result)},
    "as_case": _case,
    "comparison": _comparison,
}
