"""Any text as a template or a `layout.yaml`: `check` reads it, and it is rendered or refused."""

from __future__ import annotations

import tempfile
from pathlib import Path

import promptforge as pf
from promptforge.lint.checker import LintTargets, check

from .drawing import Draw

NAMES = (
    "t/item.md.j2",
    "t/layout.md.j2",
    "t/item.xml.j2",
    "t/_part.json.j2",
    "t/layout.yaml",
    "t/item.txt.j2",
)
WORDS = (
    *(
        "{{ ",
        " }}",
        "{% ",
        " %}",
        "{# ",
        " #}",
        "item",
        "items",
        "section",
        "loop",
        ".content",
        ".name",
        "|",
        "fence",
    ),
    *(
        "for ",
        " in ",
        "endfor",
        "if ",
        "endif",
        "else",
        "set ",
        "block b",
        "endblock",
        "extends ",
        '"t/item.md.j2"',
    ),
    *(
        "include ",
        "macro m()",
        "endmacro",
        "(",
        ")",
        "[",
        "]",
        "'",
        '"',
        "~",
        "*",
        "**",
        "9",
        "\n",
        "<a>",
        "</a>",
        "`",
    ),
    *(
        "call",
        "filter upper",
        "endfilter",
        "raw",
        "endraw",
        "join",
        "sort",
        "map",
        "range",
        "-",
        "base: ",
        "titles:",
    ),
)
ITEMS = [{"content": "x = 1", "name": "n", "path": "a.py"}]


def one(data: bytes) -> None:
    """Check and render a template made of the bytes."""
    draw = Draw(data)
    texts: dict[str, str] = {}
    for _ in range(1 + draw.number(1)):
        name = draw.of(NAMES)
        parts = [
            draw.of(WORDS) if draw.number(3) else draw.text(20) for _ in range(draw.number(40))
        ]
        texts[name] = "".join(parts).encode("utf-8", "replace").decode()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, text in texts.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="")
        targets = LintTargets()
        targets.add(folder)
        for finding in check(targets).findings:
            assert finding.message.isprintable(), finding
    try:
        pf.Renderer(templates=texts, layout="t").render(ITEMS, max_tokens=200)
    except pf.PromptForgeError:
        return
