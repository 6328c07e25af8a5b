"""`python -m tests.benchmarks.hops DIR`: write a set of questions with two hops, for `evidence.py`.

The set is made of the standard library of this machine. A page describes a class: what it extends, its docstring and
its methods. A question describes a class without its name, and asks what a method does that it inherits: one page says
which class it extends, another page has the method. `SHARE_FOR_MENTIONING` was chosen by these questions, so they are not held out.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from promptforge.text.words import (
    inverse_document_frequency,
    split_words,
    term_shares,
    terms_of_text,
)

MAX_CANDIDATES = 40
MIN_WORDS_DESCRIBING = 6
"""Words of a docstring's first sentence; shorter ones describe any class."""
QUESTIONS_A_CLASS = 2


class Page(NamedTuple):
    """A class."""

    name: str
    base: str
    opening: str
    """The line that says what it extends."""
    about: str
    """The first sentence of its docstring."""
    methods: dict[str, str]
    """Name of a method → its line: the signature, and its docstring's first paragraph."""
    text: str


def pages() -> Iterator[Page]:
    """Yield the classes of the standard library's modules that have docstrings."""
    folder = Path(sysconfig.get_path("stdlib"))
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder).with_suffix("")
        if place.parts[0] not in sys.stdlib_module_names or "test" in str(place):
            continue
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        module = ".".join(place.parts).removesuffix(".__init__")
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and (page := _page(node, module)):
                yield page


def _page(node: ast.ClassDef, module: str) -> Page | None:
    said = ast.get_docstring(node)
    if not said or not node.bases:
        base = "object"
    else:
        base = ast.unparse(node.bases[0]).rpartition(".")[2]
    if not said:
        return None
    methods = {}
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            about = (ast.get_docstring(each) or "").partition("\n\n")[0]
            if len(about.split()) > 3:
                methods[each.name] = (
                    f"{each.name}({ast.unparse(each.args)}): {' '.join(about.split())}"
                )
    opening = f"{node.name} extends {base}; it is in the module {module}."
    about = re.split(r"(?<=[.!?])\s|\n\n", " ".join(said.partition("\n\n")[0].split()))[0]
    return Page(
        node.name, base, opening, about, methods, "\n".join([opening, said, *methods.values()])
    )


def rank(
    query: str, texts: Sequence[Counter[str]], sizes: Sequence[int]
) -> list[tuple[int, float]]:
    """Return the texts that BM25 finds best, by number, with their scores."""
    terms = set(terms_of_text(query))
    mean = sum(sizes) / len(sizes)
    rarity = {
        term: inverse_document_frequency(len(texts), sum(term in held for held in texts))
        for term in terms
    }
    scores = []
    for number, (held, size) in enumerate(zip(texts, sizes, strict=True)):
        wanted = Counter({term: held[term] for term in terms if term in held})
        score = sum(rarity[t] * share for t, share in term_shares(wanted, size / mean, 1.2, 0.75))
        scores.append((number, round(score, 4)))
    return sorted(scores, key=lambda one: -one[1])[:MAX_CANDIDATES]


def questions(found: Sequence[Page]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield questions with the stretches of text that answer them."""
    once = Counter(page.name for page in found)
    by_name = {page.name: page for page in found if once[page.name] == 1}
    for page in found:
        base = by_name.get(page.base)
        names = {page.name.lower(), page.base.lower()}
        words = [word.lower() for word in split_words(page.about)]
        if base is None or once[page.name] > 1 or len(words) < MIN_WORDS_DESCRIBING:
            continue
        if names & set(words):
            continue
        inherited = [name for name in base.methods if name not in page.methods]
        for name in inherited[:QUESTIONS_A_CLASS]:
            query = f"{name} of: {page.about}"
            gold = [(page.name, page.opening), (base.name, base.methods[name])]
            yield query, [{"id": key, "grade": 1, "spans": [span]} for key, span in gold]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the set `hops` into a folder."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.hops", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    found = list({page.name: page for page in pages()}.values())
    texts = [Counter(terms_of_text(f"{page.name} {page.text}")) for page in found]
    sizes = [held.total() for held in texts]
    rows = []
    for query, gold in questions(found):
        ranked = [(found[n].name, score) for n, score in rank(query, texts, sizes)]
        rows.append({"query": query, "ranked": ranked, "gold": gold})
    passages = [{"id": page.name, "title": page.name, "text": page.text} for page in found]
    for kind, records in (("passages", passages), ("queries", rows)):
        with gzip.open(folder / f"hops.{kind}.jsonl.gz", "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps(record) + "\n" for record in records)
    print(f"{len(passages)} pages, {len(rows)} questions in {folder}")


if __name__ == "__main__":
    main()
