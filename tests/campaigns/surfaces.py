"""How an attack meets the library: as a content, a label, metadata, a template, a profile, a folder.

Each function renders what it is given, lenient or strict, and yields `Seen`: what came of one try. What must hold of it
is judged in `attacks`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from commandline import run as command
from rendering_all import FORMATS, render
from taming import STAND_INS, Tamer, harmless

import promptforge as pf

from .corpus import Attack, NotRunError

ENDINGS = {"markdown": "md", "xml": "xml", "json": "json", "plain": "txt"}
LAYOUTS = ["context", "knowledge", "chunks", "entities", "documents"]
"""Layouts in which an item is tried; the last one alone where it is long."""
LONG = 20_000
"""Characters from which a value is tried in few framings."""
OUTSIDE = "content outside the root"
NAMES = {"max_length": "max_tokens", "max_lenght": "max_tokenz"}
"""What a corpus calls an option, and what it is called here."""


class Seen(NamedTuple):
    """What came of one try."""

    where: str
    text: str | None
    """None: refused with `said`, or left with another error than the library's, which is raised."""
    said: tuple[str, ...]
    """Messages, codes first; those that fail a strict run have a `!` before them."""
    result: pf.Result | None = None
    format: str = ""
    """The format, where the structure can be judged."""
    layout: str = ""
    tame: tuple[Any, Any, Tamer, Any] | None = None
    """The harmless text, the whole of it, the stand-ins and the harmless records."""
    budget: int | None = None
    given: str | None = None
    """The content, where it is a text that should be read back."""


def _try(where: str, make: Callable[[], pf.Result], **more: Any) -> Seen:
    try:
        result = make()
    except pf.StrictError as error:
        found = error.result if isinstance(error.result, pf.Result) else None
        return Seen(where, None, tuple(f"!{d.code} {d.message}" for d in error.diagnostics), found, **more)
    except pf.PromptForgeError as error:
        return Seen(where, None, (f"!{type(error).__name__} {error}",), **more)
    marks = (("" if d.severity == "info" else "!") + f"{d.code} {d.message}" for d in result.warnings)
    return Seen(where, result.text, tuple(marks), result, **more)


def _records(where: str, bad: Any, options: dict[str, Any]) -> Iterator[Seen]:
    """Try a record between two good ones in framings and budgets."""
    long = len(repr_size(bad)) > LONG
    for layout in LAYOUTS[-1:] if long else LAYOUTS:
        for format in FORMATS:  # noqa: A001
            for budget in (500,) if long else (40, 10**6):
                records = [harmless(1, id="good-1"), bad, harmless(2, id="good-2")]
                more: dict[str, Any] = {"format": format, "layout": layout, "budget": budget}
                if isinstance(bad, dict):
                    tamer = Tamer()
                    tamed = {k: _tame(tamer, k, v) for k, v in bad.items()}
                    tame = [*tamer.records(records[:1]), tamed, *tamer.records(records[2:])]
                    whole = render(tame, layout, format, scores=True, sources=True).text
                    same = render(tame, layout, format, max_tokens=budget).text
                    more["tame"] = (same, whole, tamer, tame)
                    more["given"] = bad["content"] if isinstance(bad.get("content"), str) else None

                def make(records: Any = records, layout: str = layout, more: dict[str, Any] = more) -> pf.Result:
                    return render(records, layout, more["format"], max_tokens=more["budget"], **options)

                yield _try(f"{where} in {layout}, {format}, {budget} tokens", make, **more)


def repr_size(value: Any) -> str:
    """Return the longest text in a value of plain data, or nothing."""
    texts = [v for v in (value.values() if isinstance(value, dict) else ()) if isinstance(v, str | bytes)]
    odd = [v for v in (value.values() if isinstance(value, dict) else ()) if isinstance(v, dict | list)]
    if any(len(each) > LONG / 10 for v in odd for each in (v, *_inside(v)) if isinstance(each, list | dict)):
        return "x" * (LONG + 1)
    return str(max(texts, key=len, default=""))


def _inside(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else list(value)


def _tame(tamer: Tamer, field: str, value: Any) -> Any:
    if isinstance(value, str):
        kept = field in ("id", "origin")
        return value if kept else tamer.tame(value, field if field in STAND_INS else "metadata")
    if isinstance(value, list | dict) and len(value) < 50:
        try:
            return tamer.tame(value, field if field in STAND_INS else "metadata")
        except RecursionError:
            return {}
    if field == "metadata":
        return {}
    return "stand-in" if value is not None and (field in STAND_INS or not isinstance(value, int | float)) else value


def content(attack: Attack, options: dict[str, Any], _folder: Path) -> Iterator[Seen]:
    """Try the payload as the content of an item; a list as many items, a generator as the items."""
    value = attack.value()
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        for tokenizer in ("o200k_base", "cl100k_base"):
            for budget in (50, 500, 2000):
                records = [{"content": v, "name": f"n{n}"} for n, v in enumerate(value)]
                yield _try(
                    f"{len(value)} items, {tokenizer}, {budget} tokens",
                    lambda r=records, t=tokenizer, b=budget: pf.render(r, tokenizer=t, max_tokens=b, **options),  # type: ignore[misc]
                    budget=budget,
                )
        return
    if hasattr(value, "__next__"):
        yield _try("as the items", lambda: pf.render(value, max_tokens=500, **options), budget=500)
        value = attack.value()
    yield from _records("content", harmless(0, id="bad", content=value), options)


def filename(attack: Attack, options: dict[str, Any], folder: Path) -> Iterator[Seen]:
    """Try the payload as path, name and id; a link in a folder that is read by the command line."""
    if attack.kind == "setup":
        yield from _linked(attack, options, folder)
        return
    value = attack.value()
    yield from _records("path", harmless(0, id="bad", path=value, language=None), options)
    yield from _records("name", harmless(0, id="bad", name=value, path=None), options)
    yield from _records("all labels", harmless(0, id=value, name=value, path=value, language=value), options)


def _linked(attack: Attack, options: dict[str, Any], folder: Path) -> Iterator[Seen]:
    found = re.match(r"symlink -> (\S+)|dangling symlink", attack.payload)
    if not found:
        raise NotRunError("a setup in words")
    root = folder / "root"
    root.mkdir()
    (root / "good.txt").write_text("content number 1 content number 2")
    (folder / "outside.txt").write_text(OUTSIDE)
    to = found[1] or "nowhere"
    (root / "link.txt").symlink_to(folder / "outside.txt" if to == "/etc/passwd" else to)
    flags = ["--strict"] if options.get("on_error") == "raise" else []
    ran = command("render", "--file", "**", *flags, cwd=root)
    assert ran.code in (0, 1), f"exit code {ran.code}: {ran.err}"
    assert "Traceback" not in ran.err
    assert OUTSIDE not in ran.out, "H7: what is outside the root was read"
    yield Seen("--file", ran.out or None, tuple(f"!{line}" for line in ran.err.splitlines()))


def metadata(attack: Attack, options: dict[str, Any], _folder: Path) -> Iterator[Seen]:
    """Try the payload as the metadata of an item, as its fields, and as the record itself."""
    yield from _records("metadata", harmless(0, id="bad", metadata=attack.value()), options)
    value = attack.value()
    if isinstance(value, Mapping):
        yield from _records("fields", {**harmless(0, id="bad"), **value}, options)
    if value is None or value == {}:
        yield from _records("record", value, options)


def template(attack: Attack, options: dict[str, Any], folder: Path) -> Iterator[Seen]:
    """Try the payload in place of a shipped item and page, in every format, and read it with `check`."""
    for format, ending in ENDINGS.items():  # noqa: A001
        for name in (f"chunks/item.{ending}.j2", f"chunks/layout.{ending}.j2"):
            place = folder / format / name.replace("/", "-")
            given: Any = place
            (place / "chunks").mkdir(parents=True)
            if attack.kind != "setup":
                text = attack.value()
                (place / name).write_text(text, encoding="utf-8")
                given = place if len(text) % 2 else {name: text}
            elif attack.payload == "template bytes ff fe 00":
                (place / name).write_bytes(b"\xff\xfe\x00")
            elif attack.payload == "template of 50 MB":
                with (place / name).open("wb") as file:
                    file.truncate(50_000_000)
            else:
                raise NotRunError("a setup in words")
            bad = harmless(0, content="a\n```\n# PWNED\n</document>\n", name="# PWNED\n<b>", path='"],{[`x')
            tamer = Tamer()
            tame = tamer.records([bad])
            harmless_text = _try("", lambda t=tame, f=format, g=given: render(t, "chunks", f, templates=g)).text  # type: ignore[misc]
            seen = _try(
                name,
                lambda b=bad, f=format, g=given: render([b], "chunks", f, templates=g, **options),  # type: ignore[misc]
                format=format,
                layout="chunks",
                tame=(harmless_text, harmless_text, tamer, tame),
                budget=10**6,
            )
            ran = command("check", place)
            assert ran.code in (0, 1, 2), f"check left with exit code {ran.code}: {ran.err}"
            assert "Traceback" not in ran.err, "a traceback of check"
            lines = (*ran.out.splitlines(), *ran.err.splitlines()) if ran.code else ()
            yield seen._replace(said=(*seen.said, *(f"check: {line}" for line in lines[:5])))


def profile(attack: Attack, options: dict[str, Any], folder: Path) -> Iterator[Seen]:
    """Try the payload as a profile, with its own names of options and with those of this library."""
    value = attack.value()
    for number, text in enumerate(dict.fromkeys((value, _renamed(value)))):
        path = folder / f"theirs{number}.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        yield _try(
            "profile",
            lambda path=path: pf.render([harmless(1), harmless(2)], profile=path, **options),  # type: ignore[misc]
        )
        yield _told(command("render", "--profile", path, "-", stdin=json.dumps([harmless(1)]), cwd=folder))


def yaml(attack: Attack, options: dict[str, Any], folder: Path) -> Iterator[Seen]:
    """Try the payload as a profile, as a file of items and as a job."""
    yield from profile(attack, options, folder)
    path = folder / "theirs0.yaml"
    yield _told(command("render", path))
    yield _told(command("render", "--job", path))


def _renamed(text: Any) -> Any:
    return text if isinstance(text, bytes) else re.sub("|".join(NAMES), lambda m: NAMES[m[0]], text)


def _told(ran: Any) -> Seen:
    assert ran.code in (0, 2, 3, 4, 5), f"exit code {ran.code}: {ran.err}"
    assert "Traceback" not in ran.err, "a traceback"
    return Seen("command line", ran.out if ran.code == 0 else None, tuple(f"!{line}" for line in ran.err.splitlines()))


SURFACES: dict[str, Callable[[Attack, dict[str, Any], Path], Iterator[Seen]]] = {
    **{"content": content, "filename": filename, "metadata": metadata},
    **{"template": template, "profile": profile, "yaml": yaml},
}
