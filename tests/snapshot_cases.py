"""The cases of the snapshots: renderings, prompts, pieces, command lines and planted mistakes."""

from __future__ import annotations

import functools
import io
import itertools
import json
import os
import random
import re
import runpy
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from snapshot_texts import (
    BUDGETS,
    COMMANDS,
    COUNTED,
    FILES,
    FORMATS,
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
    SHOWN,
    TESTS,
    pool,
)

import promptforge as pf

RENDERINGS = 720
PROMPTS = 144
UNSAID = {
    "build_seconds",
    "citation",
    "description",
    "doc",
    "example",
    "explanation_text",
    "fix",
    "hint",
    "manifest",
    "message",
    "next",
    "promptforge",
    "references",
    "said",
    "seconds",
    "unknown",
    "way_out",
    "whose",
    "why",
}
"""Keys of JSON whose values are sentences, versions or times."""


class Facts(NamedTuple):
    """What one case gives."""

    text: str
    account: object


class Case(NamedTuple):
    """One case of the corpus."""

    name: str
    run: Callable[[], Facts]


class Ran(NamedTuple):
    """What a run of the command line leaves behind."""

    code: int
    out: str
    err: str


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
            i.fits_at,
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


def plain(value: Any) -> Any:
    """Return JSON without what is reworded: sentences, versions and times."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key not in UNSAID}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, str) and value.startswith("/"):
        return Path(value).name  # a shipped file lies in the checkout, wherever that is
    return value


def command(*arguments: str, cwd: Path, stdin: bytes | None = None) -> Ran:
    """Run `python -m promptforge` inside this process."""
    source = io.TextIOWrapper(_Terminal(stdin is None, stdin or b""))
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8")
    argv = ["promptforge", *arguments]
    code: object = 0
    before = Path.cwd()
    os.chdir(cwd)
    try:
        with mock.patch.multiple(sys, stdin=source, stdout=out, stderr=err, argv=argv):
            try:
                runpy.run_module("promptforge", run_name="__main__")
            except SystemExit as done:
                code = done.code
            out.flush()
            err.flush()
    finally:
        os.chdir(before)
    assert isinstance(code, int)
    return Ran(code, *(s.buffer.getvalue().decode() for s in (out, err)))


class _Terminal(io.BytesIO):
    def __init__(self, tty: bool, data: bytes) -> None:
        super().__init__(data)
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _commanded(files: Mapping[str, str], *arguments: str) -> Facts:
    """Run one command in a folder with `files`; JSON is compared without its sentences."""
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), files)
        ran = command(*arguments, cwd=Path(folder))
    if "--json" not in arguments:
        return Facts(ran.out, ran.code)
    return _of_json(ran.code, ran.out.replace(folder, "."))


def _of_json(code: int, out: str) -> Facts:
    try:
        data = json.loads(out or "null")
    except json.JSONDecodeError:
        return Facts(out, code)  # some flags ask for a text all the same
    text = ""
    if isinstance(data, dict):
        text = str(data.get("text", ""))
        if isinstance(data.get("warnings"), list):
            data["warnings"] = sorted(
                [w["code"], w["severity"], w["item"]] for w in data["warnings"]
            )
        if isinstance(data.get("findings"), list):
            keys = ("file", "path", "line", "column", "code", "severity")
            data["findings"] = [[f.get(key) for key in keys] for f in data["findings"]]
    return Facts(text, [code, plain(data)])


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
        (0.1, "line_numbers", (False,)),
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
        (0.05, "on_error", ("raise",)),
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
        yield Case(f"render {n} {' '.join(map(str, words))}", run)


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

        yield Case(f"prompt {n} {values['to']} {values['profile']}", run)


def golden() -> Iterator[Case]:
    """Yield the golden cases of tests/golden/cases and tests/golden/prompts."""
    for path in sorted((TESTS / "golden" / "cases").glob("*/options.json")):
        items = json.loads((path.parent / "items.json").read_text("utf-8"))
        options = json.loads(path.read_text("utf-8"))

        def run(items: Any = items, options: Any = options) -> Facts:
            return _rendered(lambda: pf.render(items, **options))

        yield Case(f"case {path.parent.name}", run)
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
            _write(Path(folder), FILES)
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


def commands() -> Iterator[Case]:
    """Yield runs of the command line."""
    for line in COMMANDS:

        def run(line: str = line) -> Facts:
            found = _commanded(FILES, *shlex.split(line))
            if line.startswith("schema"):
                data = plain(json.loads(found.text))
                return Facts("", sorted(data["properties"]))
            return found

        yield Case(f"$ {line}", run)
    for name in SHOWN:

        def show(name: str = name) -> Facts:
            # Comments and descriptions are sentences, and so may be said otherwise.
            text, code = _commanded({}, "show", name)
            text = re.sub(r"(?s)\{#.*?#\}|^ *#.*?$|^description:.*?$", "", text, flags=re.MULTILINE)
            return Facts("".join(text.split()), code)

        yield Case(f"$ show {name}", show)
    yield Case("$ rule --json", _rules)
    yield Case("batch", _batch)
    yield Case("batch of prompts", lambda: _batch("--to", "openai"))
    yield Case("project", _project)


def _rules() -> Facts:
    with tempfile.TemporaryDirectory() as folder:
        ran = command("rule", "--json", cwd=Path(folder))
    return Facts("", [[rule["code"], rule["severity"]] for rule in json.loads(ran.out)["codes"]])


def _batch(*more: str) -> Facts:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, FILES)
        ran = command(
            "batch", "rows.jsonl", "-o", "out.jsonl", "--workers", "1", "-q", *more, cwd=folder
        )
        rows = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]
    texts = [row.pop("text", "") for row in rows]
    for row in rows:
        row["warnings"] = sorted(str(w.get("code")) for w in row.get("warnings") or ())
    return Facts(json.dumps(texts), [ran.code, plain(rows)])


def _project() -> Facts:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = command("init", "desk", cwd=folder)
        tested = command("test", "--json", cwd=folder / "desk")
        checked = command("check", "--json", cwd=folder / "desk")
        wrong = folder / "desk/templates/mine/item.md.j2"
        wrong.write_text(
            wrong.read_text("utf-8").replace("item.name", "item.nme"), encoding="utf-8"
        )
        again = command("check", "--json", cwd=folder / "desk")
    cases = [[c["passed"], c["tokens"], c["text"]] for c in json.loads(tested.out)["cases"]]
    checks = [_of_json(ran.code, ran.out.replace(name, ".")).account for ran in (checked, again)]
    return Facts("", [made.code, tested.code, cases, checks])


def mistakes(blocks: Mapping[str, Mapping[str, str]]) -> Iterator[Case]:
    """Yield `check --json` of planted mistakes."""
    for name, files in blocks.items():

        def run(files: Mapping[str, str] = files) -> Facts:
            folders = sorted({name.partition("/")[0] for name in files})
            return _commanded(files, "check", *folders, "--json")

        yield Case(f"check {name}", run)


def failures() -> Iterator[Case]:
    """Yield the commands of tests/golden/errors: exit code and output."""
    for path in sorted((TESTS / "golden" / "errors").glob("*/command.txt")):

        def run(path: Path = path) -> Facts:
            arguments = shlex.split(path.read_text("utf-8"))
            with tempfile.TemporaryDirectory() as folder:
                work = Path(folder) / "w"
                shutil.copytree(
                    path.parent, work, ignore=shutil.ignore_patterns("command.txt", "message.txt")
                )
                ran = command(*arguments, cwd=work)
            return Facts(ran.out, ran.code)

        yield Case(f"error {path.parent.name}", run)


def sessions(examples: Sequence[Sequence[Sequence[str]]]) -> Iterator[Case]:
    """Yield the examples of the README and the guides: one command each."""
    for number, steps in enumerate(examples):
        files: dict[str, str] = {}
        for program, shown in steps:
            first, *arguments = shlex.split(program)
            if first == "cat":
                files[arguments[0]] = shown
                continue
            if arguments[0] not in ("render", "prompt"):
                arguments.append("--json")

            run = functools.partial(_commanded, dict(files), *arguments)
            yield Case(f"example {number} {program[:70]}", run)
