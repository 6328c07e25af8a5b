"""`python -m tests.benchmarks.answers`: how many questions one long text, or nine, answer in a small budget.

The questions of `questions.yaml` are about man pages of this machine and modules of the standard library; each has
the words that must be in the text, and the set it belongs to. promptforge packs beside two simple ways: lines around
those with most words of the query (grep with context), and paragraphs by BM25. Questions about pages that are not
installed are left out.
"""

from __future__ import annotations

import argparse
import html
import importlib.util
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from promptforge import Item, Renderer, get_tokenizer
from promptforge.errors import ItemError
from promptforge.sources.man import load_man_page
from promptforge.text.words import (
    inverse_document_frequency,
    split_words,
    term_shares,
    terms_of_text,
)
from promptforge.yaml_reader import load_yaml

QUESTIONS = Path(__file__).with_name("questions.yaml")
SETS = ("first", "second", "tuning", "held_out")
"""Weights were chosen by all but the last, which was asked once, at the end."""
CONTEXT_LINES = 2
TOKENIZER = "o200k_base"
count = get_tokenizer(TOKENIZER).count


class Question(NamedTuple):
    """A question about a text, and the words that answer it."""

    about: str
    query: str
    needle: str
    item: Item


def fold(text: str) -> str:
    """Return `text` with one blank for each run of white space."""
    return " ".join(text.split())


def load(*sets: str) -> list[Question]:
    """Return the questions of some sets whose texts are on this machine and hold the answer."""
    items: dict[str, Item | None] = {}
    found = []
    for entry in load_yaml(QUESTIONS.read_text("utf-8"), str(QUESTIONS)):
        if entry["set"] not in sets:
            continue
        kind = "man" if "man" in entry else "module"
        about = f"{kind}:{entry[kind]}"
        if about not in items:
            items[about] = _man_page(entry[kind]) if kind == "man" else _module(entry[kind])
        item = items[about]
        if item is not None and fold(entry["needle"]) in fold(item.content or ""):
            found.append(Question(about, entry["query"], entry["needle"], item))
    return found


def _man_page(name: str) -> Item | None:
    try:
        return load_man_page(name)
    except ItemError:
        return None


def _module(name: str) -> Item | None:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.origin:
        return None
    text = Path(spec.origin).read_text("utf-8")
    return Item(kind="code", path=f"{name}.py", name=name, content=text)


def grep(query: str, items: Sequence[Item], budget: int) -> str:
    """Return the lines with most words of the query, each with two lines around it."""
    terms = dict.fromkeys(terms_of_text(query))
    lines = [(item.content or "").split("\n") for item in items]
    ranked = sorted(
        (-sum(term in line.lower() for term in terms), at, number)
        for at, text in enumerate(lines)
        for number, line in enumerate(text)
    )
    shown: set[tuple[int, int]] = set()
    found = ""
    for held, at, number in ranked:
        around = range(number - CONTEXT_LINES, number + CONTEXT_LINES + 1)
        more = shown | {(at, n) for n in around if 0 <= n < len(lines[at])}
        text = "\n".join(lines[a][n] for a, n in sorted(more))
        if held < 0 and count(text) <= budget:
            shown, found = more, text
        if not held or count(found) > budget - 10:
            break
    return found


def paragraphs(query: str, items: Sequence[Item], budget: int) -> str:
    """Return the paragraphs that BM25 finds best, in the order of the texts."""
    texts = [part for item in items for part in re.split(r"\n\s*\n", item.content or "")]
    terms = set(terms_of_text(query))
    held = [Counter(t for t in terms_of_text(text) if t in terms) for text in texts]
    sizes = [len(split_words(text)) for text in texts]
    mean = max(1.0, sum(sizes) / len(sizes))
    rarity = {
        term: inverse_document_frequency(len(texts), sum(term in one for one in held))
        for term in terms
    }
    scores = [
        sum(rarity[term] * share for term, share in term_shares(one, size / mean, 1.2, 0.75))
        for one, size in zip(held, sizes, strict=True)
    ]
    shown: list[int] = []
    for index in sorted(range(len(texts)), key=lambda i: -scores[i]):
        if scores[index] <= 0:
            break
        if count("\n\n".join(texts[i] for i in sorted([*shown, index]))) <= budget:
            shown.append(index)
    return "\n\n".join(texts[i] for i in sorted(shown))


def forge(
    renderer: Renderer, layout: str, syntax: str, query: str, items: Sequence[Item], budget: int
) -> str:
    """Return what promptforge makes of the texts."""
    made = renderer.render(items, query=query, max_tokens=budget, layout=layout, format=syntax)
    return made.text


def beside(question: Question, questions: Sequence[Question], many: int) -> list[Item]:
    """Return the text of a question among others of its kind, `many` in all: as a search finds them.

    What a user names is shown before anything competes, so nine named texts would share the room.
    """
    kind = question.about.split(":")[0]
    others = list(
        {
            other.about: other.item
            for other in questions
            if other.about.startswith(kind) and other.about != question.about
        }.values()
    )
    half = (many - 1) // 2
    together = [*others[:half], question.item, *others[half : many - 1]]
    return [msgspec.structs.replace(item, score=1.0, origin="similarity") for item in together]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each way of packing: the questions answered, by budget."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.answers", description=__doc__)
    parser.add_argument("--budgets", nargs="*", type=int, default=[200, 400, 800])
    parser.add_argument("--layouts", nargs="*", default=["chunks", "knowledge"])
    parser.add_argument("--formats", nargs="*", default=["markdown", "xml", "json"])
    parser.add_argument("--sets", nargs="*", choices=SETS, default=["first"])
    flags = parser.parse_args(arguments)
    questions = load(*flags.sets)
    ways: dict[str, Callable[[str, Sequence[Item], int], str]] = {
        "grep with context": grep,
        "BM25 paragraphs": paragraphs,
    }
    renderer = Renderer(tokenizer=TOKENIZER, max_items=None)
    for layout in flags.layouts:
        for syntax in flags.formats:
            ways[f"promptforge {layout} {syntax}"] = partial(forge, renderer, layout, syntax)
    print(f"{len(questions)} questions; tokens: {flags.budgets} for one text, twice that for nine")
    for name, pack in ways.items():
        cells = []
        for many in (1, 9):
            for budget in flags.budgets:
                most = budget * (1 if many == 1 else 2)
                texts = [pack(q.query, beside(q, questions, many), most) for q in questions]
                found = [
                    fold(q.needle) in fold(unescape(text))
                    for q, text in zip(questions, texts, strict=True)
                ]
                over = " OVER" if any(count(text) > most for text in texts) else ""
                cells.append(f"{sum(found)}{over}")
        print(f"{name:32}" + "".join(f"{cell:>8}" for cell in cells), flush=True)


def unescape(text: str) -> str:
    """Return `text` with the escapes of XML and JSON undone."""
    return html.unescape(text).replace("\\n", "\n").replace('\\"', '"')


if __name__ == "__main__":
    main()
