"""`python -m tests.benchmarks.evidence DIR`: how much of what answers a query is left in a small budget.

DIR holds sets of two files each: `NAME.passages.jsonl.gz`, a passage a line (`id`, `title`, `text`), and
`NAME.queries.jsonl.gz`, a query a line: `query`, `ranked` (pairs of a passage's id and a score, the best first) and
`gold` (`id` and `spans`, the stretches of text that answer it). A cell says which share of the gold is in the text,
measured in runs of six words, and for how many queries all of it is. The whole text counts, headings too.
With --looks there is a row for each layout and format, and each cell ends with its ceiling: the share that is in the
text when the items hold only what answers.
"""

from __future__ import annotations

import argparse
import gzip
import html
import importlib
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from promptforge import Item, Renderer, get_tokenizer
from promptforge.templating.loader import Templates

from . import simple

RUN = 6
"""Words in a run that is looked for."""
MARKER = "[Content truncated...]"
Packer = Callable[[str, Sequence[Item], int], str]


class Query(NamedTuple):
    """A query with its candidates, the best first, and what answers it."""

    query: str
    items: list[Item]
    gold: Any
    answer: str | None
    """The right answer in words, where the set has it."""


class Cell(NamedTuple):
    """What one way of packing made of one set in one budget."""

    kept: float
    whole: float
    over: int
    seconds: float
    ceiling: float | None = None


def read(folder: Path, name: str, kind: str) -> list[dict[str, Any]]:
    """Return the passages or the queries of a set."""
    with gzip.open(folder / f"{name}.{kind}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def runs(span: str) -> list[str]:
    """Return the runs of words of a span; the span itself where it is shorter than one."""
    words = span.split()
    return (
        [" ".join(words[i : i + RUN]) for i in range(max(1, len(words) - RUN + 1))] if words else []
    )


def share(text: str, gold: Sequence[dict[str, Any]]) -> float:
    """Return the share of the gold's runs in `text`, as it is written or with escapes undone."""
    plain = html.unescape(text).replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
    plain = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", plain)  # Markdown's
    hays = [f" {' '.join(form.split())} " for form in (text, plain)]
    wanted = [run for one in gold for span in one["spans"] for run in runs(span)]
    return sum(any(run in hay for hay in hays) for run in wanted) / len(wanted) if wanted else 1.0


def packers(tokenizer: str, options: dict[str, Any]) -> dict[str, Packer]:
    """Return the ways of packing: simple ones in a plain frame, two of them in promptforge's, and
    promptforge.
    """
    count = get_tokenizer(tokenizer).count

    def frame(item: Item, text: str) -> str:
        return f"Source: {item.name} ({item.id})\n{text}\n"

    def skip(query: str, items: Sequence[Item], budget: int) -> str:
        found: list[str] = []
        used = 0
        for item in items:
            cost = count(frame(item, item.content or "") + "\n")
            if used + cost <= budget:
                found.append(frame(item, item.content or ""))
                used += cost
        return "\n".join(found)

    def cut_last(query: str, items: Sequence[Item], budget: int) -> str:
        found: list[str] = []
        for item in items:
            text = item.content or ""
            if count("\n".join([*found, frame(item, text)])) <= budget:
                found.append(frame(item, text))
                continue
            low, high = 0, len(text)
            while low < high:
                middle = (low + high + 1) // 2
                fits = count("\n".join([*found, frame(item, text[:middle] + MARKER)])) <= budget
                low, high = (middle, high) if fits else (low, middle - 1)
            return "\n".join([*found, frame(item, text[:low] + MARKER)] if low > 20 else found)
        return "\n".join(found)

    def best(cut: Callable[[str], list[str]]) -> Packer:
        return lambda query, items, budget: simple.best_pieces(
            query, items, budget, count, frame, cut
        )

    return {
        "skip": skip,
        "cut last": cut_last,
        "windows of 30 words": best(simple.windows(30)),
        "windows of 60 words": best(simple.windows(60)),
        "sentences": best(simple.sentences),
        "MMR, cut last": lambda query, items, budget: cut_last(
            query, simple.mmr(query, items), budget
        ),
        "promptforge skip": forge(tokenizer, options, packing="whole", rerank="none"),
        "promptforge cut last": forge(tokenizer, options, trim="prefix", rerank="none"),
        "promptforge": forge(tokenizer, options),
    }


def forge(tokenizer: str, options: dict[str, Any], **more: Any) -> Packer:
    """Return promptforge's way of packing with some options."""
    common = {"tokenizer": tokenizer, "max_items": None, "min_score": None}
    renderer = Renderer(**(common | more | options))
    return lambda query, items, budget: renderer.render(items, query=query, max_tokens=budget).text


def looks(tokenizer: str, options: dict[str, Any]) -> dict[str, Packer]:
    """Return promptforge's way of packing in each shipped layout and format."""
    templates = Templates()
    return {
        f"{layout} {syntax}": forge(tokenizer, options, layout=layout, format=syntax)
        for layout in templates.layouts()
        for syntax in templates.formats(layout)
    }


def measure(
    pack: Packer, queries: Sequence[Query], budget: int, tokenizer: str, *, ceiling: bool = False
) -> Cell:
    """Return what a way of packing makes of these queries, and of what answers them alone."""
    count = get_tokenizer(tokenizer).count
    shares: list[float] = []
    most: list[float] = []
    over = 0
    seconds = 0.0
    for query, items, gold, _ in queries:
        started = time.process_time()
        text = pack(query, items, budget)
        seconds += time.process_time() - started
        over += count(text) > budget
        shares.append(share(text, gold))
        if ceiling:
            most.append(share(pack(query, only_gold(items, gold), budget), gold))
    number = max(1, len(shares))
    whole = sum(one > 0.999 for one in shares) / number
    reach = sum(most) / number if ceiling else None
    return Cell(sum(shares) / number, whole, over, seconds / number, reach)


def measure_each(
    pack: Packer, queries: Sequence[Query], budgets: Sequence[int]
) -> list[list[float]]:
    """Return for each query the share of its gold that is in the text, budget by budget."""
    return [
        [share(pack(query, items, budget), gold) for budget in budgets]
        for query, items, gold, _ in queries
    ]


def only_gold(items: Sequence[Item], gold: Sequence[dict[str, Any]]) -> list[Item]:
    """Return the items that answer, with nothing but the stretches of text that do."""
    spans = {one["id"]: " ".join(one["spans"]) for one in gold}
    return [
        msgspec.structs.replace(item, content=spans[item.id or ""])
        for item in items
        if item.id in spans
    ]


def queries_of(folder: Path, name: str, top: int, limit: int | None) -> Iterator[Query]:
    """Yield the queries of a set."""
    passages = {passage["id"]: passage for passage in read(folder, name, "passages")}
    for query in read(folder, name, "queries")[:limit]:
        items = [
            Item(
                kind="passage",
                id=key,
                name=passages[key]["title"],
                content=passages[key]["text"],
                score=score,
                origin="similarity",
            )
            for key, score in query["ranked"][:top]
        ]
        yield Query(query["query"], items, query["gold"], query.get("answer"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the flags say and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.evidence", description=__doc__
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--sets", nargs="*", help="names of sets; all in DIR")
    parser.add_argument("--budgets", nargs="*", type=int, default=[250, 500, 1000])
    parser.add_argument("--top", type=int, default=40, help="candidates a query")
    parser.add_argument("--limit", type=int, help="queries a set")
    parser.add_argument("--tokenizer", default="o200k_base")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of promptforge",
    )
    parser.add_argument("--rerank", metavar="MODULE:FUNCTION", help="a function for rerank=")
    parser.add_argument("--looks", action="store_true", help="a row for each layout and format")
    flags = parser.parse_args(arguments)
    named = dict(option.split("=", 1) for option in flags.option)
    options: dict[str, Any] = {name: yaml.safe_load(value) for name, value in named.items()}
    if flags.rerank:
        module, _, function = flags.rerank.partition(":")
        options["rerank"] = getattr(importlib.import_module(module), function)
    names = flags.sets or sorted(
        path.name.split(".")[0] for path in flags.folder.glob("*.queries.jsonl.gz")
    )
    print(f"{'set':12}{'packer':22}" + "".join(f"{budget:>24}" for budget in flags.budgets))
    for name in names:
        queries = list(queries_of(flags.folder, name, flags.top, flags.limit))
        rows = (looks if flags.looks else packers)(flags.tokenizer, options)
        for packer, pack in rows.items():
            cells = [
                measure(pack, queries, budget, flags.tokenizer, ceiling=flags.looks)
                for budget in flags.budgets
            ]
            print(f"{name:12}{packer:22}" + "".join(_show(cell) for cell in cells), flush=True)
        if not flags.looks:
            shares = [_oracle(queries, budget, rows["cut last"]) for budget in flags.budgets]
            print(
                f"{name:12}{'what answers, alone':22}"
                + "".join(f"{each:>24.3f}" for each in shares)
            )


def _oracle(queries: Sequence[Query], budget: int, pack: Packer) -> float:
    """Return the share of what answers that a text of nothing else has room for."""
    found = [share(pack(q.query, only_gold(q.items, q.gold), budget), q.gold) for q in queries]
    return sum(found) / max(1, len(found))


def _show(cell: Cell) -> str:
    said = f"{cell.kept:.3f}/{cell.whole:.2f} {cell.seconds * 1000:.0f} ms"
    said += "" if cell.ceiling is None else f" of {cell.ceiling:.3f}"
    width = 24 if cell.ceiling is None else 32
    return f"{said + (f' OVER {cell.over}' if cell.over else ''):>{width}}"


if __name__ == "__main__":
    main()
