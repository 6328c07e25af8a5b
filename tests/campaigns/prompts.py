"""Whole prompts whose parts cost more together than alone: the window holds all the same.

The parts end and begin with texts that cost fewer tokens apart than together; 1 to 1000 items of
them are printed without a separator, among system text, instructions, history and question. The
promise: the finished request, counted afresh, is within the window. The control adds up the counts
of the parts, as is often done, and must go over.

As many prompts end in a hostile item, in every shape, layout and format. The promise: the question
stands in a block of its own, or after a mark that no item holds. The control joins both texts.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import tiktoken
from conversations import TAILS, check_question, recount

import promptforge as pf
from promptforge.prompts.providers import SHAPES
from promptforge.tokenizers.vocabulary import SHIPPED_VOCABULARIES, load_table

from .hostility import Hostility
from .items import framings
from .report import Report

VOCABULARIES = ("o200k_base", "cl100k_base")
SEEDS = (
    "_tA",
    "aB",
    "'s",
    " '",
    "\n",
    " \n",
    "_",
    "1",
    "12",
    "A",
    "Ab",
    " a",
    "é",
    "日",
    "))",
    "://",
    "\t",
    " ",
    "  ",
)
TRIED = 4000
"""Pairs tried for each vocabulary."""
BARE = {
    "bare/layout.txt.j2": "{% for item in items %}{{ item.text }}{% endfor %}",
    "bare/item.txt.j2": "{{ item.content }}",
}
LARGE = 40
"""Of so many cases one has up to 1000 items."""


def run(cases: int, seed: int = 1) -> Report:
    """Make so many prompts."""
    report = Report("prompts", cases, seed)
    r, seen = random.Random(seed), Counter[str]()
    codings = {
        name: tiktoken.Encoding(
            name,
            pat_str=SHIPPED_VOCABULARIES[name].pattern,
            mergeable_ranks=load_table(name).all_ranks(),
            special_tokens={},
        )
        for name in VOCABULARIES
    }
    parts = {name: _parts(coding, r) for name, coding in codings.items()}
    renderer = pf.Renderer(
        templates=BARE, dedupe=False, min_score=None, max_items=None, combine="combined"
    )
    for number in range(cases):
        name = VOCABULARIES[number % 2]
        case = _case(r, parts[name], many=number % LARGE == 0)
        window, to = r.randint(0, 40 + 3 * len(case["items"])), r.choice(sorted(SHAPES))
        layout: dict[str, Any] = (
            {"layout": "bare", "format": "plain"}
            if number % 4
            else {"layout": "context", "format": "markdown"}
        )
        frame: dict[str, Any] = {"message_tokens": 3, "prompt_tokens": 5}
        seen["items"] += len(case["items"])
        seen["most items of a prompt"] = max(seen["most items of a prompt"], len(case["items"]))
        try:
            prompt = renderer.prompt(
                **case, to=to, tokenizer=name, context_window=window, reserve=0, **layout, **frame
            )
        except pf.BudgetError as error:
            seen["too small for what is fixed"] += 1
            if error.needed <= window:
                report.broken.append(
                    {"promise": "what is needed is more", "case": number, "said": str(error)}
                )
            continue
        seen["prompts"] += 1
        used = recount(prompt, name, 3, 5)
        if to == "text":
            used = len(codings[name].encode_ordinary(prompt.text)) + 8
        if used > window or prompt.tokens > window or used > prompt.tokens:
            report.broken.append(
                {
                    "promise": "window",
                    "case": number,
                    "to": to,
                    "window": window,
                    "tokens": prompt.tokens,
                    "true": used,
                }
            )
        seen["left"] += window - prompt.tokens
        _control(codings[name], [item["content"] for item in case["items"]], window, seen)
    _check_last_items(cases, Hostility(seed), report)
    report.figures |= {
        key: seen[key] for key in ("prompts", "too small for what is fixed", "items")
    }
    report.figures["most items of a prompt"] = seen["most items of a prompt"]
    report.figures["control: % over"] = 100 * seen["over"] / max(seen["tried"], 1)
    report.figures["control: most % over"] = seen["most over"] / 10
    if not seen["over"]:
        report.broken.append({"promise": "the control finds breaks", "control": "counts added up"})
    return report


def _check_last_items(cases: int, made: Hostility, report: Report) -> None:
    """Make as many prompts whose last item would pass for the question."""
    renderer = pf.Renderer(max_tokens=None, dedupe=False, min_score=None, combine="combined")
    r, pairs, passed = made.random, framings(), 0
    shapes = sorted(SHAPES)
    for number in range(cases):
        layout, format = pairs[number % len(pairs)]  # noqa: A001
        item = made.record(0)
        item[r.choice(("content", "content", "content", "name", "summary"))] = (
            f"{made.text()}x{r.choice(TAILS)}"
        )
        passed += f"{item['content']}\n\nq".count("\n\nq") > 1
        to = r.choice(shapes)
        try:
            options: dict[str, Any] = {"layout": layout, "format": format, "to": to}
            check_question(renderer.prompt([item], user="q", **options))
        except Exception as error:
            said = f"{type(error).__name__}: {str(error)[:200]}"
            report.broken.append(
                {"promise": "question", "case": number, "item": ascii(item), "said": said} | options
            )
    report.figures["control: % that joined read as two questions"] = 100 * passed / max(cases, 1)
    if not passed:
        report.broken.append({"promise": "the control finds breaks", "control": "texts joined"})


def _parts(coding: tiktoken.Encoding, r: random.Random) -> list[tuple[str, str]]:
    """Return pairs of texts that cost more tokens joined than alone."""

    def count(text: str) -> int:
        return len(coding.encode_ordinary(text))

    found = []
    for _ in range(TRIED):
        a, b = ("".join(r.choices(SEEDS, k=r.randint(1, 4))) for _ in range(2))
        if count(a + b) > count(a) + count(b):
            found.append((a, b))
    return found


def _case(r: random.Random, pairs: list[tuple[str, str]], *, many: bool) -> dict[str, Any]:
    def text() -> str:
        (_, begin), (end, _) = r.choice(pairs), r.choice(pairs)
        return begin + r.choice(("", " word ", "\n", "x" * r.randint(1, 30))) + end

    count = r.randint(100, 1000) if many else r.randint(1, 12)
    one = r.choice(pairs)
    items = [
        {"content": "".join(one) if r.random() < 0.3 else text(), "score": 0.9}
        for _ in range(count)
    ]
    case: dict[str, Any] = {"items": items, "user": text(), "query": None}
    for part in ("system", "instructions"):
        if r.random() < 0.5:
            case[part] = text()
    if r.random() < 0.5:
        roles = ("user", "assistant")
        case["history"] = [
            {"role": roles[n % 2], "content": text()} for n in range(2 * r.randint(1, 4))
        ]
    return case


def _control(
    coding: tiktoken.Encoding, contents: list[str], window: int, seen: Counter[str]
) -> None:
    """Take contents while the sum of their counts is within the window."""
    taken, used = [], 0
    for content in contents:
        used += len(coding.encode_ordinary(content))
        if used > window:
            break
        taken.append(content)
    if taken:
        over = len(coding.encode_ordinary("".join(taken))) - window
        seen["tried"] += 1
        seen["over"] += over > 0
        seen["most over"] = max(seen["most over"], 1000 * over // max(window, 1))
