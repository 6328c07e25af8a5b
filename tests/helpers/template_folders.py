"""Templates written into a folder: what they print, and what is said of those that are refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import promptforge as pf
from promptforge.errors import TemplateError
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS
from promptforge.templating.loader import Templates

ITEM = {"content": "x = 1", "path": "a.py", "kind": "code", "start_line": 1, "end_line": 1}
PAGE = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"


def write(folder: Path, files: Mapping[str, str]) -> Templates:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Templates([folder])


def refusal(folder: Path, source: str, ending: str = "txt") -> str:
    templates = write(folder, {f"t/item.{ending}.j2": source})
    with pytest.raises(TemplateError) as caught:
        templates.compile(f"t/item.{ending}.j2")
    return str(caught.value)


def render(folder: Path, item: str, ending: str = "txt", page: str = PAGE, **record: object) -> str:
    write(folder, {f"t/layout.{ending}.j2": page, f"t/item.{ending}.j2": item})
    format = next((f for f, e in FORMAT_EXTENSIONS.items() if e == ending), ending)  # noqa: A001
    return pf.render([{**ITEM, **record}], templates=folder, layout="t", format=format).text
