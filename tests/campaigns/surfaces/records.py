"""A payload as content, as labels, as metadata, as the record: between two good items, in every
framing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from harmless_records import STAND_INS, HarmlessCopier, harmless
from unfiltered import FORMATS, render

import promptforge as pf
from promptforge.prompts.providers import ShapeName

from ..corpus import Attack, NotRunError
from .files import big, named, on_disk, setup
from .seen import Seen, attempt, told

LAYOUTS = ["context", "knowledge", "chunks", "entities", "documents"]
"""Layouts in which an item is tried; the last one alone where it is long."""
LONG = 20_000
"""Characters from which a value is tried in few framings."""
SHAPES: tuple[ShapeName, ...] = (
    "text", "roles", "openai", "openai-responses", "anthropic", "gemini",
)  # fmt: skip
PROMPT: dict[str, Any] = {"system": "System.", "user": "Question?", "max_tokens": 4000}
Memo = dict[tuple[str, str, str, int], tuple[Any, ...]]
"""What stands in for an item, by place, layout, format and budget: the same lenient and strict."""


def content(attack: Attack, options: dict[str, Any], folder: Path, memo: Memo) -> Iterator[Seen]:
    """Try the payload as the content of an item; a list as many items, a generator as the items."""
    repeated = attack.repeated()
    if repeated:
        yield from big(*repeated, options, folder)
        return
    value = attack.value()
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        records = [{"content": v, "name": f"n{n}"} for n, v in enumerate(value)]
        for tokenizer in ("o200k_base", "cl100k_base"):
            for budget in (50, 500, 2000):
                yield attempt(
                    f"{len(value)} items, {tokenizer}, {budget} tokens",
                    lambda t=tokenizer, b=budget: pf.render(
                        records, tokenizer=t, max_tokens=b, **options
                    ),  # type: ignore[misc]
                    budget=budget,
                )
        return
    if hasattr(value, "__next__"):
        yield attempt(
            "as the items", lambda: pf.render(value, max_tokens=500, **options), budget=500
        )
        value = attack.value()
    yield from _records("content", harmless(0, id="bad", content=value), options, memo)
    if isinstance(value, str) and 0 < len(value) <= LONG:
        yield from _in_prompts(value, options)
        yield from _apart(value, options)
    if isinstance(value, bytes) or (isinstance(value, str) and len(value) > LONG):
        data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        yield from on_disk(data, "bad.txt", options, folder)


def filename(attack: Attack, options: dict[str, Any], folder: Path, memo: Memo) -> Iterator[Seen]:
    """Try the payload as path, name and id, and as the name of a file; words as what they arrange
    in a folder.
    """
    if attack.is_words:
        yield from setup(attack.payload, options, folder)
        return
    value = attack.value()
    yield from _records(
        "path", harmless(0, id="bad", path=value, language=None), options, memo, (10**6,)
    )
    yield from _records(
        "name", harmless(0, id="bad", name=value, path=None), options, memo, (10**6,)
    )
    yield from _records(
        "all labels", harmless(0, id=value, name=value, path=value, language=value), options, memo
    )
    if isinstance(value, str | bytes):
        yield from named(value, options, folder)


def metadata(attack: Attack, options: dict[str, Any], folder: Path, memo: Memo) -> Iterator[Seen]:
    """Try the payload as the metadata of an item, as its fields, as the record itself and, if it
    can be, in a file.
    """
    if attack.is_words:
        raise NotRunError("words, where a value is expected")
    value = attack.value()
    yield from _records("metadata", harmless(0, id="bad", metadata=value), options, memo)
    if isinstance(value, dict):  # of which a subclass may raise
        yield from _records(
            "fields", {**harmless(0, id="bad"), **dict(dict.items(attack.value()))}, options, memo
        )
    if not isinstance(value, Mapping) or (type(value) is dict and not value):
        yield from _records("record", value, options, memo)
    try:
        text = json.dumps(harmless(0, metadata=value))
    except Exception:  # a value of its own making may raise anything
        return
    path = folder / "record.json"
    path.write_text(text, encoding="utf-8")
    yield told("a file of items", "render", path, *_flags(options), codes=(0, 1))


def _records(
    where: str,
    bad: Any,
    options: dict[str, Any],
    memo: Memo,
    budgets: tuple[int, ...] = (40, 10**6),
) -> Iterator[Seen]:
    """Try a record between two good ones in framings and budgets."""
    long = _is_long(bad)
    # What a strict run refuses is the same in every layout.
    for layout in LAYOUTS[-1:] if long or options else LAYOUTS:
        for format in FORMATS:  # noqa: A001
            for budget in (500,) if long else budgets:
                more: dict[str, Any] = {"format": format, "layout": layout, "budget": budget}
                if isinstance(bad, dict):
                    key = (where, layout, format, budget)
                    if key not in memo:
                        memo[key] = _stand_in(bad, layout, format, budget)
                    more["tame"], more["others"] = memo[key]
                    more["given"] = bad["content"] if isinstance(bad.get("content"), str) else None

                def make(layout: str = layout, more: dict[str, Any] = more) -> pf.Result:
                    between = [harmless(1, id="good-1"), bad, harmless(2, id="good-2")]
                    return render(
                        between, layout, more["format"], max_tokens=more["budget"], **options
                    )

                yield attempt(f"{where} in {layout}, {format}, {budget} tokens", make, **more)


def _stand_in(bad: dict[str, Any], layout: str, format: str, budget: int) -> tuple[Any, ...]:
    tamer = HarmlessCopier()
    tamed = {k: _tame(tamer, k, v) for k, v in bad.items()}
    tame = [
        *tamer.records([harmless(1, id="good-1")]),
        tamed,
        *tamer.records([harmless(2, id="good-2")]),
    ]
    if budget == 10**6:
        return (render(tame, layout, format).text, None, tamer, tame), _others(layout, format)
    whole = render(tame, layout, format, scores=True, sources=True).text
    return (None, whole, tamer, tame), ()


@cache
def _others(layout: str, format: str) -> tuple[str, ...]:
    """Return the texts of the good items with a good one between them."""
    records = [harmless(1, id="good-1"), harmless(0, id="bad"), harmless(2, id="good-2")]
    return tuple(item.text for item in render(records, layout, format).items if item.id != "bad")


def _tame(tamer: HarmlessCopier, field: str, value: Any) -> Any:
    if field in ("id", "origin", "score", "start_line", "end_line", "required"):
        return value
    if isinstance(value, bytes) and field in ("path", "name"):
        value = value.decode("utf-8", "replace")  # as it is read
    if isinstance(value, str):
        stand_in = tamer.copy_value(value, field if field in STAND_INS else "metadata")
        ending = re.search(r"\.[A-Za-z0-9]{1,8}$", value) if field == "path" else None
        return f"{stand_in}{ending[0]}" if ending else stand_in  # which tells the language
    if type(value) in (list, dict) and len(value) < 50:
        try:
            return tamer.copy_value(value, field if field in STAND_INS else "metadata")
        except RecursionError:
            return {}
    if field == "metadata":
        return {}
    return (
        "stand-in"
        if value is not None and (field in STAND_INS or not isinstance(value, int | float))
        else value
    )


def _is_long(value: Any) -> bool:
    """Return whether a text in a record is long, or a list or mapping in it, or there are very many
    of them.
    """
    inside = list(dict.values(value)) if isinstance(value, dict) else [value]
    if len(inside) > LONG / 10:
        return True
    for each in inside:
        if isinstance(each, str | bytes) and len(each) > LONG:
            return True
        if isinstance(each, dict | list):
            deeper = list(dict.values(each)) if isinstance(each, dict) else list.copy(each)
            sizes = [len(one) for one in (each, *deeper) if isinstance(one, dict | list | str)]
            if max(sizes, default=0) > LONG / 10:
                return True
    return False


def _in_prompts(value: str, options: dict[str, Any]) -> Iterator[Seen]:
    """Try a content in whole prompts: the roles are those that a harmless content gives."""
    renderer = pf.Renderer(**options)
    for to in SHAPES:
        try:
            made = renderer.prompt(
                [{"id": "a", "kind": "document", "content": value}], to=to, **PROMPT
            )
        except pf.StrictError as error:
            said = tuple(f"!{d.code} {d.message}" for d in error.diagnostics)
            yield Seen(f"prompt as {to}", None, said)
            continue
        marks = tuple(
            ("" if d.severity == "info" else "!") + f"{d.code} {d.message}" for d in made.warnings
        )
        wrong = None
        if to != "text" and _roles(made.request) != _usual_roles(to):
            wrong = f"H1: the roles {_roles(made.request)}"
        yield Seen(f"prompt as {to}", str(made.text), marks, wrong=wrong)


@cache
def _usual_roles(to: ShapeName) -> list[str]:
    made = pf.Renderer().prompt(
        [{"id": "a", "kind": "document", "content": "harmless"}], to=to, **PROMPT
    )
    return _roles(made.request)


def _roles(value: Any) -> list[str]:
    """Return every role in plain data, in order."""
    if isinstance(value, dict):
        own = [str(value["role"])] if "role" in value else []
        return own + [role for each in value.values() for role in _roles(each)]
    return [role for each in value for role in _roles(each)] if isinstance(value, list) else []


def _apart(value: str, options: dict[str, Any]) -> Iterator[Seen]:
    """Try a content where control tokens are written apart: none of a family's is whole in the
    text.
    """
    for profile, tokens in _families().items():
        record = [{"content": value, "name": value[:200]}]

        def make(profile: str = profile, record: Any = record) -> pf.Result:
            return pf.render(
                record, profile=profile, control_text="escape", tokenizer="o200k_base", **options
            )

        seen = attempt(f"profile {profile}", make)
        whole = [
            token for token in tokens if token in (seen.text or "") and token not in _page(profile)
        ]
        yield seen._replace(wrong=f"H1: the control tokens {whole[:3]!a}" if whole else None)


@cache
def _page(profile: str) -> str:
    """Return a page of a profile, whose templates may say control tokens of their own."""
    harmless = [{"content": "x", "name": "n"}]
    return pf.render(harmless, profile=profile, control_text="escape", tokenizer="o200k_base").text


@cache
def _families() -> dict[str, tuple[str, ...]]:
    """Return the control tokens of each shipped profile that lists any."""
    from promptforge.config.profiles import find_profiles, load_profile

    profiles = {name: load_profile(name) for name, _, _ in find_profiles()}
    found: dict[tuple[str, ...], str] = {}
    for name, profile in profiles.items():
        tokens = tuple(token for token in profile.control_tokens if "{" not in token)
        if tokens:
            found.setdefault(tokens, name)
    return {name: tokens for tokens, name in found.items()}


def _flags(options: dict[str, Any]) -> list[str]:
    return ["--strict"] if options.get("strict") else []
