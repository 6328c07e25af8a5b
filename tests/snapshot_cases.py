"""The cases of the snapshots that call Python: renderings, prompts, pieces, golden cases."""

from __future__ import annotations

import itertools
import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from snapshot_texts import (
    BUDGETS,
    COUNTED,
    FILES,
    FORMATS,
    FORTY_BUDGETS,
    HOSTILE,
    LAYOUTS,
    MAN,
    PACKINGS,
    PROFILES,
    PROSE,
    QUERIES,
    SEARCHED,
    SHAPES,
    SHARES,
    TESTS,
    forty,
    pool,
)

import promptforge as pf

RENDERINGS = 720
PROMPTS = 144


class Facts(NamedTuple):
    """What one case gives."""

    text: str
    account: object
    messages: str = ""
    """What is said to the user; the account has no sentence, so new words change nothing else."""


class Case(NamedTuple):
    """One case of the corpus."""

    name: str
    run: Callable[[], Facts]
    uses: frozenset[str] = frozenset()
    """What it exercises: `packing score`, `layout chunks xml`, `to openai`, `command render`."""


def uses_of(options: Mapping[str, Any]) -> frozenset[str]:
    """Return what a case with these options exercises."""
    found = {f"{key} {options[key]}" for key in ("packing", "to") if options.get(key)}
    if {"layout", "format"} <= options.keys():
        found.add(f"layout {options['layout']} {options['format']}")
    return frozenset(found)


def _codes(warnings: Sequence[pf.Diagnostic]) -> list[list[object]]:
    found: list[list[object]] = [[w.code, w.severity, w.item] for w in warnings]
    return sorted(found, key=str)


def account(result: pf.Result) -> dict[str, Any]:
    """Return the figures of a rendering without its sentences."""
    items = [
        [
            i.id,
            i.status,
            i.reason,
            i.form,
            i.tokens,
            i.tokens_full,
            i.known("fits_at"),
            i.chars,
            i.rank,
            i.section,
        ]
        for i in result.items
    ]
    return {
        "tokens": result.tokens,
        "chars": result.chars,
        "exact": result.exact,
        "truncated": result.truncated,
        "items": items,
        "sections": [[s.key, s.title, s.items, s.tokens] for s in result.sections],
        "sources": [[s.id, s.name, s.line] for s in result.sources],
        "codes": _codes(result.warnings),
    }


def _rendered(render: Callable[[], pf.Result]) -> Facts:
    try:
        result = render()
    except pf.PromptForgeError as error:
        return Facts("", ["raised", type(error).__name__, error.exit_code])
    return Facts(result.text, account(result))


def _prompted(make: Callable[[], pf.Prompt]) -> Facts:
    try:
        prompt = make()
    except pf.PromptForgeError as error:
        return Facts("", ["raised", type(error).__name__, error.exit_code])
    context = None
    if prompt.context is not None:
        context = account(prompt.context)
    parts = [[p.name, p.role, p.tokens, p.kept, p.dropped] for p in prompt.parts]
    history = [prompt.history.kept, prompt.history.dropped]
    facts = [prompt.tokens, prompt.window, prompt.exact, parts, history, _codes(prompt.warnings)]
    request = json.dumps(prompt.request, ensure_ascii=True, sort_keys=True)
    return Facts(f"{prompt.text}\0{request}", [facts, context])


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write `files` into the folder: name and text of each."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _chosen(rng: random.Random) -> list[dict[str, Any]]:
    """Return some items with scores, origins and now and then a requirement."""
    items: list[dict[str, Any]] = []
    for item in rng.sample(pool(), rng.randint(1, 11)):
        given = dict(item, score=round(rng.random(), 2))
        if rng.random() < 0.3:
            given["origin"] = "similarity"
        if rng.random() < 0.015:
            given["required"] = True
        items.append(given)
    items += [dict(record) for record in SEARCHED if rng.random() < 0.12]
    if rng.random() < 0.1:
        items.append(dict(items[0]))
    return items


def _options(rng: random.Random) -> dict[str, Any]:
    """Return options of one rendering; some do not go together, which is a case too."""
    options: dict[str, Any] = {
        "max_tokens": rng.choice(BUDGETS),
        "packing": rng.choice(PACKINGS),
        "query": rng.choice(QUERIES),
        "combine": rng.choice(
            ("combined", "combined", "explicit_first", "explicit_only", "similarity_fallback")
        ),
    }
    rare: list[tuple[float, str, Sequence[object]]] = [
        (0.8, "layout", LAYOUTS),
        (0.8, "format", FORMATS),
        (0.5, "profile", PROFILES),
        (0.25, "framing", ("tagged", "auto", "fenced", "xml")),
        (0.3, "group_by", ("none", "file", "kind", "category", "origin", "team")),
        (0.4, "trim", ("structure", "prefix", "none")),
        (0.2, "order", ("given", "file", "edges")),
        (0.15, "rerank", (None, "mmr")),
        (0.15, "stubs", (True,)),
        (0.1, "max_chars", (200, 900)),
        (0.1, "item_max_chars", (80,)),
        (0.1, "max_items", (1, 2)),
        (0.6, "min_score", (None, None, 0.5)),
        (0.1, "sources", (True,)),
        (0.1, "scores", (True,)),
        (0.1, "headers", (False,)),
        (0.1, "lines", ("none",)),
        (0.06, "code", (False,)),
        (0.1, "dedupe", (False,)),
        (0.1, "merge_overlaps", (False,)),
        (0.04, "kinds", (["code", "document"],)),
        (0.03, "paths", (["src/**"],)),
        (0.03, "languages", (["python"],)),
        (0.15, "control_text", ("escape",)),
        (0.2, "section_budgets", SHARES),
        (0.06, "separator", ("\n***\n",)),
        (0.06, "header", ("A header",)),
        (0.06, "footer", ("A footer",)),
        (0.06, "marker", ("(cut)",)),
        (0.06, "fence_language", ("lisp",)),
        (
            0.2,
            "tokenizer",
            ("cl100k_base", "characters", "approximate-words", "approximate-claude"),
        ),
        (0.05, "strict", (True,)),
    ]
    for chance, name, values in rare:
        if rng.random() < chance:
            options[name] = rng.choice(values)
    return options


def renderings() -> Iterator[Case]:
    """Yield renderings over layouts, formats, packings, profiles and the rest."""
    for n in range(RENDERINGS):
        rng = random.Random(n)
        items, options = _chosen(rng), _options(rng)

        def run(items: Any = items, options: Any = options) -> Facts:
            return _rendered(lambda: pf.render(items, **options))

        words = (
            options.get("layout", "-"),
            options.get("format", "-"),
            options["packing"],
            options["max_tokens"],
        )
        yield Case(f"render {n} {' '.join(map(str, words))}", run, uses_of(options))


def budgets() -> Iterator[Case]:
    """Yield the same forty items under each budget and packing, over layouts and formats."""
    for n, (packing, budget) in enumerate(itertools.product(PACKINGS, FORTY_BUDGETS)):
        options: dict[str, Any] = {
            "packing": packing,
            "max_tokens": budget,
            "layout": LAYOUTS[n % len(LAYOUTS)],
            "format": FORMATS[n // 2 % len(FORMATS)],
            "query": QUERIES[n % 4],
        }

        def run(options: Any = options) -> Facts:
            return _rendered(lambda: pf.render(forty(), **options))

        yield Case(f"budget {budget} {packing}", run, uses_of(options))


def prompts() -> Iterator[Case]:
    """Yield whole prompts in all shapes, with histories."""
    history = [
        {
            "role": ("user", "assistant")[n % 2],
            "content": f"{n}: {HOSTILE[n] if n % 3 else PROSE[: 40 * n]}",
        }
        for n in range(12)
    ]
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "look", "arguments": '{"at": "tar"}'},
    }
    tools: list[dict[str, Any]] = [
        {"role": "user", "content": "Look at tar."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": MAN[:150]},
        {"role": "assistant", "content": "I have looked."},
    ]
    for n in range(PROMPTS):
        rng = random.Random(10_000 + n)
        values: dict[str, Any] = {
            "to": SHAPES[n % len(SHAPES)],
            "profile": PROFILES[n // len(SHAPES) % len(PROFILES)],
            "system": rng.choice((None, "You answer from the notes.", HOSTILE[2])),
            "instructions": rng.choice((None, "Answer in one sentence.")),
            "user": rng.choice((None, "What is the exit status of tar?", HOSTILE[8])),
            "history": rng.choice(
                (None, history[:2], history, history[:4] + tools, tools + history[:8])
            ),
        }
        if rng.random() < 0.7:
            values["context_window"] = rng.choice((300, 600, 1200, 3000))
            values["reserve"] = rng.choice((0, 50))
        if rng.random() < 0.3:
            values["cite"] = True
        if rng.random() < 0.2:
            values["prompt"] = "lisp"
        items = _chosen(rng)[: rng.randint(0, 6)]

        def run(items: Any = items, values: Any = values) -> Facts:
            return _prompted(lambda: pf.Renderer().prompt(items, **values))

        yield Case(f"prompt {n} {values['to']} {values['profile']}", run, uses_of(values))


def golden() -> Iterator[Case]:
    """Yield the golden cases of tests/golden/cases and tests/golden/prompts."""
    for path in sorted((TESTS / "golden" / "cases").glob("*/options.json")):
        items = json.loads((path.parent / "items.json").read_text("utf-8"))
        options = json.loads(path.read_text("utf-8"))

        def run(items: Any = items, options: Any = options) -> Facts:
            return _rendered(lambda: pf.render(items, **options))

        yield Case(f"case {path.parent.name}", run, uses_of(options))
    for path in sorted((TESTS / "golden" / "prompts").glob("*/prompt.json")):

        def made(path: Path = path) -> Facts:
            options = json.loads(path.read_text("utf-8"))
            return _prompted(lambda: pf.Renderer().prompt(options.pop("items", ()), **options))

        yield Case(f"golden prompt {path.parent.name}", made)


def pieces() -> Iterator[Case]:
    """Yield single items rendered alone, tokens counted, sources loaded."""
    for layout, form in itertools.product(LAYOUTS, FORMATS):

        def alone(layout: str = layout, form: str = form) -> Facts:
            renderer = pf.Renderer(layout=layout, format=form)
            return Facts("\0".join(str(renderer.render_item(item)) for item in pool()[::3]), None)

        yield Case(f"item {layout} {form}", alone)
    for name in (
        "o200k_base",
        "cl100k_base",
        "characters",
        "approximate-characters",
        "approximate-words",
        "approximate-claude",
        "approximate-gemini",
        "approximate-qwen",
        "deepseek-v3",
        "qwen-3",
        "qwen-3.5",
        "o200k_base*1.35",
    ):

        def counted(name: str = name) -> Facts:
            try:
                tokenizer = pf.get_tokenizer(name)
            except pf.TokenizerError as error:
                return Facts("", type(error).__name__)
            return Facts("", [tokenizer.count(text) for text in COUNTED])

        yield Case(f"count {name}", counted)

    def loaded() -> Facts:
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), FILES)
            items = pf.load(
                "items.json",
                files=["src/*.py", "src/a.py:3-9"],
                documents=["guide.md"],
                techniques=["T9001"],
                attack=str(TESTS / "data" / "bundle.json"),
                search="exit status",
                within=["."],
                workspace=folder,
            )
        return _rendered(lambda: pf.render(items, layout="knowledge", combine="combined"))

    yield Case("load", loaded)
