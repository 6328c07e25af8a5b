"""Every budget from nothing to the whole text, for hostile and harmless items in every shipped
layout and format.

The promises: the finished text, counted afresh by tiktoken itself, is never over; it is never
broken (it parses, and has no block that the harmless text has not). What is left unused is measured
where there is something left to cut. The control spends what the frame leaves on tokens of the
content, as is often done, and must go over.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape

import tiktoken
from harmless_records import HarmlessCopier, harmless
from structures import check_known, tame_text_of
from unfiltered import render

from promptforge.tokenizers.vocabulary import SHIPPED_VOCABULARIES, load_table

from .hostility import Hostility
from .items import framings
from .report import Report

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
SENTENCES = 12
"""Sentences of the item that is measured for what is left unused."""
NAIVE: dict[str, Callable[[str], str]] = {
    "markdown": lambda s: f"### name\n\n```text\n{s}\n```\n",
    "xml": lambda s: f'<item name="name">{escape(s)}</item>',
    "json": lambda s: json.dumps([{"name": "name", "content": s}]),
}


def run(cases: int, seed: int = 1) -> Report:
    """Render so many texts, each of some items in some framing at the next budget from 0 up."""
    report = Report("budgets", cases, seed)
    coding = tiktoken.Encoding(
        "o200k_base",
        pat_str=SHIPPED_VOCABULARIES["o200k_base"].pattern,
        mergeable_ranks=load_table("o200k_base").all_ranks(),
        special_tokens={},
    )
    made, pairs, seen = Hostility(seed), framings(), Counter[str]()
    unused: list[int] = []
    turn = 0
    while seen["texts"] < cases:
        layout, format = pairs[turn % len(pairs)]  # noqa: A001
        trim = ("prefix", "structure")[turn // len(pairs) % 2]
        options: dict[str, Any] = {"scores": bool(turn % 3), "sources": turn % 5 == 0, "trim": trim}
        divisible = turn % 4 == 0
        if divisible:
            records = [harmless(0, kind="text", content=_prose(made))]
        else:
            records = [made.record(n) for n in range(made.random.randint(1, 3))]
            for record in records:
                record["content"] = record["content"][:400]
        seen["sets of items"] += 1
        whole = tame_text_of(
            HarmlessCopier().records(records),
            layout,
            format,
            **{**options, "sources": True, "scores": True},
        )
        full = render(records, layout, format, **options).tokens
        known = ""
        for budget in range(min(full + 1, cases - seen["texts"])):
            result = render(records, layout, format, **options, max_tokens=budget)
            seen["texts"] += 1
            seen[f"texts in {format}"] += 1
            counted = len(coding.encode_ordinary(result.text))
            try:
                assert counted == result.tokens <= budget, (
                    f"{counted} tokens, said to be {result.tokens}"
                )
                if result.text != known:
                    check_known(result.text, whole, format)
                    known = result.text
            except Exception as error:
                said = f"{type(error).__name__}: {str(error)[:300]}"
                report.broken.append(
                    {
                        **{
                            "promise": "budget",
                            "layout": layout,
                            "format": format,
                            "options": options,
                        },
                        **{"budget": budget, "records": ascii(records), "said": said},
                    }
                )
            if divisible and result.items[0].status == "trimmed":
                unused.append(budget - result.tokens)
        turn += 1
        _control(records, coding, seen)
    report.figures["sets of items"] = seen["sets of items"]
    report.figures |= {key: seen[key] for key in sorted(seen) if key.startswith("texts in")}
    report.figures["mean unused of prose that is cut, tokens"] = sum(unused) / max(len(unused), 1)
    for format in NAIVE:  # noqa: A001
        over, tried = seen[f"over in {format}"], seen[f"control in {format}"]
        report.figures[f"control: % over in {format}"] = 100 * over / max(tried, 1)
        if not over:
            report.broken.append({"promise": "the control finds breaks", "control": format})
    report.figures["control: most tokens over"] = seen["most over"]
    return report


def _prose(made: Hostility) -> str:
    r = made.random
    return " ".join(
        f"{' '.join(r.choices(WORDS, k=r.randint(3, 9))).capitalize()}."
        for _ in range(r.randint(2, SENTENCES))
    )


def _control(records: list[dict[str, Any]], coding: tiktoken.Encoding, seen: Counter[str]) -> None:
    """Give the content what the frame leaves of each budget, in tokens of the content alone."""
    content = records[0]["content"].encode("utf-8", "replace").decode()
    tokens = coding.encode_ordinary(content)
    for format, frame in NAIVE.items():  # noqa: A001
        left_over = len(coding.encode_ordinary(frame("")))
        for kept in range(1, len(tokens)):
            over = (
                len(coding.encode_ordinary(frame(coding.decode(tokens[:kept])))) - left_over - kept
            )
            seen[f"control in {format}"] += 1
            seen[f"over in {format}"] += over > 0
            seen["most over"] = max(seen["most over"], over)
