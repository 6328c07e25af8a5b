"""`python -m tests.benchmarks.rules DIR`: what a rule of ranking is worth, and what each kind keeps.

DIR holds sets as `evidence.py` describes. A row is a set and a kind: its questions, the share of what answers that is
in the text in each budget, and the mean gain over the better of skipping what does not fit and cutting the last.
`--rule selection.evidence.PRIOR_WEIGHT=1` measures the same with a constant set to another value, and `--beside FILE`
beside what `--save FILE` wrote from another checkout: the row then ends with the mean change in thousandths and the
standard error of the paired differences. `--half` takes every second question: choose by one half, report the other.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from promptforge.selection import query as query_module

from .evidence import Query, measure_each, packers, queries_of

KINDS = ("none", "text", "document", "passage", "code")
SIMPLE = ("skip", "cut last")
TOKENIZER = "o200k_base"
Shares = dict[str, list[list[float]]]
"""Set and kind → for each question its share in each budget."""


def of_kind(queries: Sequence[Query], kind: str) -> list[Query]:
    """Return the questions with candidates of a kind; `none` leaves it to promptforge."""
    if kind == "passage":
        return list(queries)
    return [each._replace(items=[_of_kind(item, kind) for item in each.items]) for each in queries]


def _of_kind(item: Any, kind: str) -> Any:
    if kind != "none":
        return msgspec.structs.replace(item, kind=kind)
    fields = {"id": item.id, "title": item.name, "text": item.content, "score": item.score}
    return fields


def with_rule(rule: str | None) -> None:
    """Set a constant of promptforge, and forget what was worked out with the old one."""
    if rule is not None:
        name, _, value = rule.partition("=")
        module, _, constant = name.rpartition(".")
        found = importlib.import_module(f"promptforge.{module}")
        if not hasattr(found, constant):
            raise SystemExit(f"promptforge.{module} has no {constant}")
        setattr(found, constant, yaml.safe_load(value))
    query_module._relevance_by_key.clear()


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 of none."""
    return sum(values) / max(1, len(values))


def change(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> str:
    """Return the mean change of the questions in thousandths, with its standard error."""
    each = [mean(a) - mean(b) for b, a in zip(before, after, strict=True)]
    middle = mean(each)
    spread = math.sqrt(sum((one - middle) ** 2 for one in each) / max(1, len(each) - 1))
    return f"{1000 * middle:+6.1f} ± {1000 * spread / math.sqrt(max(1, len(each))):.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the flags say and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.rules", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--sets", nargs="*", help="names of sets; all in DIR")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=["passage"])
    parser.add_argument("--budgets", nargs="*", type=int, default=[250, 500, 1000])
    parser.add_argument("--limit", type=int, help="questions a set")
    parser.add_argument("--half", type=int, choices=(0, 1), help="every second question")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="of promptforge"
    )
    parser.add_argument("--rule", metavar="MODULE.NAME=VALUE", help="a constant to change")
    parser.add_argument("--simple", action="store_true", help="measure the simple ways too")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the shares")
    parser.add_argument("--beside", type=Path, metavar="FILE", help="compare with saved shares")
    flags = parser.parse_args(arguments)
    names = flags.sets or sorted(
        path.name.split(".")[0] for path in flags.folder.glob("*.queries.jsonl.gz")
    )
    before: Shares = json.loads(flags.beside.read_text("utf-8")) if flags.beside else {}
    with_rule(flags.rule)
    named = dict(option.split("=", 1) for option in flags.option)
    ways = packers(TOKENIZER, {name: yaml.safe_load(value) for name, value in named.items()})
    found: Shares = {}
    for name in names:
        queries = list(queries_of(flags.folder, name, 40, flags.limit))
        if flags.half is not None:
            queries = queries[flags.half :: 2]
        for kind in flags.kinds:
            asked = of_kind(queries, kind)
            key = f"{name} {kind}"
            found[key] = measure_each(ways["promptforge"], asked, flags.budgets)
            row = f"{key:20}{len(asked):5}" + _cells(found[key])
            if flags.simple and kind == flags.kinds[0]:
                plain = [measure_each(ways[way], queries, flags.budgets) for way in SIMPLE]
                best = list(map(max, *map(_by_budget, plain)))
            if flags.simple:
                row += "  gain" + "".join(
                    f"{ours - other:+7.3f}"
                    for ours, other in zip(_by_budget(found[key]), best, strict=True)
                )
            if key in before:
                row += f"  {change(before[key][: len(asked)], found[key])}"
            print(row, flush=True)
    if flags.save:
        flags.save.write_text(json.dumps(found), "utf-8")


def _by_budget(shares: Sequence[Sequence[float]]) -> list[float]:
    return list(map(mean, zip(*shares, strict=True)))


def _cells(shares: Sequence[Sequence[float]]) -> str:
    return "".join(f"{one:7.3f}" for one in _by_budget(shares))


if __name__ == "__main__":
    main()
