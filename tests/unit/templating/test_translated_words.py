"""Words that no template prints are settings: an author turns a whole page German by files alone.

A set by hand is German. Another, made of the shipped one, has no word at all: each letter that its
templates and settings print is another. What is left in English is then a word of the engine.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from places import ROOT

import promptforge as pf
from promptforge.config.layouts import shipped_words
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS
from promptforge.templating.loader import Templates

GERMAN = """\
marker: "[Inhalt gekürzt]"
words:
  thousands: "."
  gap: "(…)"
  equal_line: 1 gleiche Zeile
  equal_lines: "{count} gleiche Zeilen"
  frame: 1 Aufruf
  frames: "{count} Aufrufe"
  repeated_frame: 1 wiederholter Aufruf
  repeated_frames: "{count} wiederholte Aufrufe"
  frames_in: "{frames} aus {package}"
  lines_gone: "{count} von {total} Zeilen fehlen"  # an earlier word, which prints nothing
  more_items: "{count} weitere"
  more_keys: "{count} weitere Felder"
  more_characters: "{count} weitere Zeichen"
  all_items: "{count} Einträge"
  all_keys: "{count} Felder"
  line: Zeile {start}
  lines: Zeilen {start} bis {end}
  content_tag: inhalt
kinds:
  code: {title: Quelltext}
  document: {title: Schriftstück, category: papiere}
  man_page: {title: Handbuchseite}
  runbook: {title: Betriebshandbuch, trim_as: man_page}
"""
FILES = {
    "layout.yaml": GERMAN,
    "entities/layout.yaml": "titles: {other: Sonstiges, papiere: Papiere}",
    "context/layout.md.j2": (
        "{# Der Rahmen. #}\n"
        '{% extends "shipped/context/layout.md.j2" %}\n'
        "{% block heading %}\n## Zusammenhang\n\n{% endblock %}\n"
    ),
}
MAN = "\n".join(
    ["NAME", "       kochen - Wasser", "", "SYNOPSIS", "       kochen [-v]", "", "OPTIONS"]
    + [f"       -{c}     schaltet {c} ein\n              und noch mehr\n" for c in "abcdefgh"]
)
CODE = "\n".join(f"def f{n}(x):\n    a = x + {n}\n    b = a * 2\n    return b\n" for n in range(9))
TABLE = "# Titel\n\nEin Satz.\n\n| a | b |\n|---|---|\n" + "".join(
    f"| {n} | {n * n} |\n" for n in range(40)
)
TRACE = "Traceback (most recent call last):\n" + "".join(
    f'  File "/usr/lib/python3/dist-packages/flask/app.py", line {n}, in go\n    run()\n'
    for n in [1, 2, 3, 4, 5, 5, 5, 6, 7]
)
TEXTS = [
    ("man_page", None, MAN),
    ("runbook", None, MAN),
    ("code", "python", CODE),
    ("code", "go", CODE.replace("def", "func").replace(":\n", " {\n").replace("b\n", "b\n}\n")),
    ("code", "nosuch", CODE),
    ("document", "markdown", TABLE),
    ("error", None, TRACE + "ValueError: nein\n"),
    ("terminal", None, "".join(f"$ ls {n}\n" + "datei\n" * 6 for n in range(9))),
    ("text", "json", json.dumps({"a": list(range(2000)), "b": "x" * 3000, "c": {"d": {}}})),
    ("mitre_attack", None, "Ein Satz ist lang. " * 60),
    ("text", None, "Noch ein Satz, der lang ist. " * 60),
]
# The words of the shipped phrases, as they stand by themselves.
ENGLISH = re.compile(
    r"\b(?:left out|repeated|frames?|more|items|keys|characters|lines?|rows?|sentences|Context)\b"
)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "language", "text"), TEXTS)
@pytest.mark.parametrize("layout", ["context", "knowledge", "chunks-compact"])
def test_a_whole_page_is_german_by_files_alone(
    kind: str, language: str | None, text: str, layout: str
) -> None:
    item = {"kind": kind, "content": text, "language": language, "path": "a/b", "start_line": 3}
    whole = pf.render([item | {"end_line": 9}], layout=layout, templates=FILES, max_tokens=None)
    for share in (0.15, 0.3, 0.5, 0.7, 0.9):
        for query in (None, "Satz 3"):
            budget = int(share * whole.tokens)
            given: dict[str, Any] = {"layout": layout, "templates": FILES, "max_tokens": budget}
            printed = pf.render([item | {"end_line": 9}], query=query, **given).text
            said = printed.replace("(most recent call last)", "").replace(", line", "")
            assert not ENGLISH.search(said), printed
            assert "Content truncated" not in printed


def test_the_marks_are_those_of_the_author() -> None:
    result = pf.render(
        [{"kind": "man_page", "content": MAN, "path": "x", "start_line": 1, "end_line": 31}],
        layout="context",
        templates=FILES,
        max_tokens=120,
    )
    assert "### Handbuchseite (from x:1-31)" in result.text
    assert "[Inhalt gekürzt]\n" in result.text
    assert "\n       [(…)]\n" in result.text
    assert result.items[0].line_range == "Zeilen 1 bis 31"


def test_a_kind_is_shortened_as_another_and_has_a_category() -> None:
    result = pf.render(
        [
            {"kind": "runbook", "name": "kochen", "content": MAN},
            {"kind": "document", "name": "d", "content": "Text"},
            {"kind": "thing", "name": "t", "content": "Text"},
        ],
        layout="entities",
        templates=FILES,
        max_tokens=200,
    )
    assert "NAME\n       kochen - Wasser" in result.text  # never left out of a man page
    assert [section.title for section in result.sections] == ["Sonstiges", "Papiere"]


def test_a_trimmer_that_is_not_there_is_named() -> None:
    files = {"layout.yaml": "kinds: {runbook: {trim_as: manpage}}"}
    with pytest.raises(pf.PromptForgeError, match=r'trim_as.*"manpage"; did you mean "man_page"'):
        Templates([files]).layout("chunks", "markdown")


def test_contents_stand_between_tags_of_the_authors_word() -> None:
    held = "x\n<inhalt-k417082>\n</content-k417082>"
    result = pf.render(
        [{"content": held}], templates=FILES, layout="chunks", framing="tagged", format="plain"
    )
    assert f"<inhalt-k035115>\n{held}\n</inhalt-k035115>" in result.text


def test_every_phrase_is_in_the_shipped_file_and_is_used() -> None:
    fields = set(pf.rendering.context.Marks._fields) - {"marker"}
    assert fields == set(shipped_words()["words"])
    sources = "".join(path.read_text("utf-8") for path in Path(pf.__file__).parent.rglob("*.py"))
    assert [
        name for name in fields if f"marks.{name}" not in sources.replace("self.", "marks.")
    ] == []


SHIPPED = ROOT / "templates"
PARTS = {"system", "instructions", "context", "history", "question", "user", "assistant", "tool"}
"""Names that templates of whole prompts read: `{% if part.name == "question" %}`."""
VALUES = {"null", "true", "false", "amp", "lt", "zz"}
TECHNIQUE = {
    "technique_id": "\u03a41003",
    "tactics": ["\u03b1"],
    "tools": ["\u03b2"],
    "mitigations": ["\u03b3"],
}
PATCH = "".join(
    f"--- a/x{n}.py\n+++ b/x{n}.py\n@@ -1,3 +1,3 @@\n \u03b1\n-\u03b2\n+\u03b3\n \u03b4\n"
    for n in range(6)
)
ITEMS: list[dict[str, Any]] = [
    *({"kind": k, "language": lang, "content": text, "name": "\u03bb"} for k, lang, text in TEXTS),
    {"kind": "code", "path": "\u03b1/\u03b2.py", "content": CODE, "start_line": 1, "end_line": 36},
    {"kind": "diff", "name": "\u03b4", "content": PATCH},
    {"kind": "mitre_attack", "name": "\u03c4", "content": "\u03b1 \u03b2. " * 90, "metadata": TECHNIQUE},
    {"kind": "text", "name": "\u03c4", "url": "https://\u03b5.gr", "content": "\u03b1 \u03b2. " * 90,
     "summary": "\u03c3", "origin": "similarity"},
    {"kind": "requirement", "content": "\u03c1 " * 50},
]  # fmt: skip
WAYS: list[dict[str, Any]] = [
    {},
    {"stubs": True, "packing": "drop_first"},
    {"sources": True, "tree": True, "packing": "even", "group_by": "origin"},
    {"query": "\u03b1 3", "lines": "each", "scores": True, "trim": "prefix"},
    {"outline": True, "packing": "repository"},
]


def without_words(text: str) -> str:
    return re.sub(r"(\{\w+\})|[A-Za-z]", lambda found: found[1] or "\u0436", text)


def keep(text: str) -> str:
    KEYS_OF_TOON.update(re.findall(r"[A-Za-z]{2,}", text))
    return text


KEYS_OF_TOON: set[str] = set()
"""Words of the templates for TOON."""


def translated() -> dict[str, str]:
    """Return the shipped set with another letter for each that its texts and settings print."""
    lexer = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    files = {}
    for path in SHIPPED.rglob("*.j2"):
        tokens = lexer.lex(path.read_text(encoding="utf-8"))
        # A key of TOON is made of ASCII letters, or it is quoted.
        shown = keep if path.name.endswith(".toon.j2") else without_words
        texts = [shown(text) if kind == "data" else text for _, kind, text in tokens]
        text = "".join(texts).replace('else "text"', 'else "\u0436"')
        files[path.relative_to(SHIPPED).as_posix()] = text
    for path in SHIPPED.rglob("layout.yaml"):
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
        for key in settings.keys() & {"titles", "words"}:
            settings[key] = {name: without_words(text) for name, text in settings[key].items()}
        if "words" in settings:
            settings["words"]["content_tag"] = "zz"  # the name of a tag is ASCII
            for kind in {*settings["kinds"], *(item["kind"] for item in ITEMS)}:
                settings["kinds"].setdefault(kind, {})["title"] = "\u0436"
        files[path.relative_to(SHIPPED).as_posix()] = yaml.safe_dump(settings)
    return files


GIVEN = " ".join(str(value) for item in ITEMS for value in item.values())


def words_of_the_engine(text: str) -> set[str]:
    """Return the English words of a text that came neither with items nor out of a template."""
    words = set(re.findall(r"[A-Za-z]{2,}", re.sub(r"\\[nt]", " ", text)))
    return {word for word in words - VALUES if word not in GIVEN}


@pytest.mark.slow
def test_the_engine_has_no_word_of_its_own() -> None:
    files = translated()
    layouts = sorted(Templates().layouts())
    for at, layout in enumerate(layouts):
        for number, syntax in enumerate(FORMAT_EXTENSIONS):
            renderer = pf.Renderer(
                templates=files, layout=layout, format=syntax, marker="[\u0436]", combine="combined"
            )
            way = WAYS[(at + number) % len(WAYS)]
            text = renderer.render(ITEMS, max_tokens=1_500 if way else None, **way).text
            allowed = {"markdown"} | (KEYS_OF_TOON if syntax == "toon" else set())
            assert words_of_the_engine(text) <= allowed, (layout, syntax, way)


@pytest.mark.slow
def test_a_whole_prompt_has_no_word_of_the_engine() -> None:
    history = [
        {"role": "user", "content": "\u03b1"},
        {"role": "assistant", "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "\u03c6", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "\u03c9" * 9000},
        {"role": "user", "content": "\u03b2 " * 5000},
    ]  # fmt: skip
    for profile in ("claude", "gpt", "deepseek", "lisp", "command"):
        renderer = pf.Renderer(profile=profile, templates=translated(), marker="[\u0436]")
        prompt = renderer.prompt(
            ITEMS, system="\u03c3", instructions="\u03b9", user="\u03c4;", history=history,
            context_window=9_000, reserve=0,
        )  # fmt: skip
        assert words_of_the_engine(prompt.text) <= PARTS | {"lisp", "markdown", "message"}, profile
