"""The work of a template author, with files alone: the examples of templates/README.md and more."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from commandline import run
from judges import json_value, xml_root
from places import ROOT

import promptforge as pf
from promptforge.cli.preview import preview_command
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS
from promptforge.templating.language import FILTERS, Environment
from promptforge.templating.loader import Templates

README = (ROOT / "templates" / "README.md").read_text(encoding="utf-8")
_PIECE = re.compile(r"(?ms)^#{2,3} ([^\n]+)$|^(?:`([^`\n]+)`\n{1,2})?(`{3,})(\w+)\n(.*?)\n\3$")

ITEMS = [
    {
        "kind": "code", "name": "digest", "path": "src/hash.py", "start_line": 3,
        "end_line": 4, "score": 0.9,
        "content": "def digest(data):\n    return 1", "metadata": {"author": "Ada"},
    },
    {"kind": "man_page", "name": "sum(1)", "content": "check sums", "score": 0.8},
]  # fmt: skip


class Step(NamedTuple):
    """A file that is written, or a command with its standard output, then its standard error."""

    name: str
    text: str
    is_command: bool = False


def examples(readme: str) -> dict[str, list[Step]]:
    """Return the examples of a README by their heading: files and commands in their order."""
    found: dict[str, list[Step]] = {}
    title = ""
    for heading, name, _, language, text in _PIECE.findall(readme):
        if heading:
            title = heading
        elif language == "console":
            for command, output in re.findall(r"(?ms)^\$ ([^\n]*)\n(.*?)(?=^\$ |\Z)", text + "\n"):
                found.setdefault(title, []).append(Step(command, output.rstrip("\n"), True))
        elif name:
            found.setdefault(title, []).append(Step(name, text + "\n"))
    return found


def follow(steps: list[Step]) -> None:
    """Do what an example says, and assert that it prints what it shows."""
    for step in steps:
        if not step.is_command:
            write(Path(), {step.name: step.text})
            continue
        program, *arguments = shlex.split(step.name)
        assert program == "promptforge"
        ran = run(*arguments)
        assert "\n".join(part.rstrip("\n") for part in (ran.out, ran.err) if part) == step.text
        assert ran.code in (0, 1, 5)


EXAMPLES = examples(README)
PROFILES = examples((ROOT / "profiles" / "README.md").read_text(encoding="utf-8"))


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def look(folder: Path, files: Mapping[str, str], layout: str, format: str = "markdown") -> str:
    write(folder / "mine", files)
    result = pf.render(ITEMS, templates=folder / "mine", layout=layout, format=format)
    assert not result.warnings
    return result.text


# --- the README -----------------------------------------------------------------------------------


def test_the_readme_has_an_example_of_each_kind_of_change() -> None:
    commands = [step for steps in EXAMPLES.values() for step in steps if step.is_command]
    assert len(commands) == README.count("$ promptforge") >= 9
    assert len(EXAMPLES) >= 4 and len(PROFILES) >= 1
    told = {word for steps in EXAMPLES.values() for step in steps for word in step.name.split()[:2]}
    assert {"init", "check", "test", "render", "prompt"} <= told and "promptforge preview" in README


def test_the_command_of_the_preview_is_one(folder: Path) -> None:
    """It goes on until somebody ends it, so what is run here is all that comes before the page."""
    (line,) = re.findall(r"^    promptforge preview (.*)$", README, re.MULTILINE)
    assert run("init").code == 0
    (folder / "needs.yaml").write_text("[]", encoding="utf-8")
    with preview_command.make_context("preview", shlex.split(line)) as context:
        given = {name: context.params[name] for name in ("items", "profile", "edit")}
    assert given == {"items": ("needs.yaml",), "profile": "ours", "edit": True}


@pytest.mark.slow
@pytest.mark.parametrize("title", EXAMPLES)
def test_every_example_of_the_readme_prints_what_it_shows(
    title: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)  # where it is set, --update is refused
    if not any(step.is_command and step.name == "promptforge init" for step in EXAMPLES[title]):
        assert run("init").code == 0
    follow(EXAMPLES[title])


@pytest.mark.parametrize("title", PROFILES)
def test_every_example_of_the_profiles_prints_what_it_shows(title: str, folder: Path) -> None:
    follow(PROFILES[title])


def test_the_readme_names_every_filter_variable_and_switch() -> None:
    assert {name for name in FILTERS if not re.search(rf"\\\| {name}\b", README)} == set()
    templates = Templates()
    used: set[str] = set()
    for name in templates.names():
        if name.endswith(".j2"):
            used |= templates.facts(name).names
    assert {name for name in used if f"`{name}`" not in README} == set()


# --- beyond the README ----------------------------------------------------------------------------


def test_a_whole_shipped_template_can_be_copied_and_changed(folder: Path) -> None:
    source = (ROOT / "templates" / "context" / "layout.md.j2").read_text(encoding="utf-8")
    changed = look(
        folder, {"context/layout.md.j2": source.replace("## Context", "## Background")}, "context"
    )
    assert changed == pf.render(ITEMS, layout="context").text.replace("## Context", "## Background")


def test_sections_are_reordered_by_the_page_itself(folder: Path) -> None:
    page = (
        "{# The search first, then what the user named. Uses: explicit, similarity (lists of "
        "sections). #}\n"
        "{% for part in [similarity, explicit] %}{% for section in part %}"
        "{% for item in section.items %}\n"
        "{{ item.text }}\n"
        "{% endfor %}{% endfor %}{% endfor %}\n"
    )
    files = {
        "knowledge/layout.txt.j2": page,
        "knowledge/item.txt.j2": "{{ item.origin }}: {{ item.content }}",
    }
    write(folder / "mine", files)
    items = [{"content": "named"}, {"content": "found", "origin": "similarity"}]
    text = pf.render(
        items, templates=folder / "mine", layout="knowledge", format="plain", combine="combined"
    ).text
    assert text.split() == ["similarity:", "found", "explicit:", "named"]


def test_a_new_section_comes_from_a_metadata_key(folder: Path) -> None:
    files = {
        "teams/layout.yaml": "group_by: author\ntitles: {Ada: By Ada}\nsections: [Ada]\n",
        "teams/layout.txt.j2": "{% for section in sections %}\n[{{ section.title }}"
        "] {{ section.items | length }}\n"
        "{% for item in section.items %}\n{{ item.text }}\n{% endfor %}\n{% endfor %}",
        "teams/item.txt.j2": "Note: {{ item.content }}",
    }
    assert look(folder, files, "teams", "plain").splitlines()[0] == "[By Ada] 1"


def test_a_kind_of_its_own_looks_different_and_the_others_do_not(folder: Path) -> None:
    shipped = pf.render(ITEMS, layout="context", format="xml").text
    text = look(
        folder, {"context/man_page.xml.j2": '<man name="{{ item.name }}"/>'}, "context", "xml"
    )
    assert '<man name="sum(1)"/>' in text
    assert xml_root(text).find(".//item") is not None
    assert shipped.count("<item ") == text.count("<item ") + 1


def test_a_layout_on_a_base_inherits_every_format_and_setting(folder: Path) -> None:
    files = {"short/layout.yaml": "base: entities\ntitles: {code: Sources}\n"}
    write(folder / "mine", files)
    templates = Templates([folder / "mine"])
    assert "short" in templates.layouts()
    assert templates.formats("short") == [*FORMAT_EXTENSIONS]
    settings = templates.settings("short")
    assert settings.group_by == "category"
    assert settings.titles["code"] == "Sources"
    assert settings.titles["documentation"] == "Related Documentation"
    for format in templates.formats("short"):  # noqa: A001
        assert (
            "Sources"
            in pf.render(ITEMS, templates=folder / "mine", layout="short", format=format).text
        )


def test_a_layout_of_ones_own_shows_one_kind_as_its_base_does(folder: Path) -> None:
    files = {"mine/layout.yaml": "base: knowledge\n", "mine/item.txt.j2": "* {{ item.content }}"}
    text = look(folder, files, "mine", "plain")
    assert "* def digest" in text
    assert "Source: man page 'sum(1)'" in text


@pytest.mark.parametrize(
    ("format", "ending"),
    [("html", "html"), ("jsonl", "jsonl"), ("org", "org"), ("memo", "memo.txt")],
)
def test_a_format_is_named_by_its_files(format: str, ending: str, folder: Path) -> None:
    page = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"
    items = {
        "html": "<p>{{ item.content }}</p>",
        "jsonl": '{"text": {{ item.content }}}',
        "org": "* {{ item.title }}\n{{ item.content }}",
        "memo": "{{ item.title }} - {{ item.content }}",
    }
    text = look(
        folder,
        {
            f"chunks/layout.{ending}.j2": page,
            f"chunks/item.{ending}.j2": items[format],
            "chunks/layout.yaml": "syntax: plain\n",  # for the ending that says none
        },
        "chunks",
        format,
    )
    assert Templates([folder / "mine"]).formats("chunks") == [
        *FORMAT_EXTENSIONS,
        format,
    ]
    if format == "html":
        assert [p.text for p in xml_root(text)] == [item["content"] for item in ITEMS]
    elif format == "jsonl":
        assert [json_value(line)["text"] for line in text.splitlines()] == [
            item["content"] for item in ITEMS
        ]
    else:
        assert all(str(item["content"]) in text for item in ITEMS)


def test_a_format_with_a_name_of_its_own_is_escaped_as_its_ending_says(folder: Path) -> None:
    files = {
        "chunks/layout.slides.md.j2": "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n",
        "chunks/item.slides.md.j2": "# {{ item.title }}\n{{ item.content | fence }}",
    }
    write(folder / "mine", files)
    items = [{"content": "```\n# out", "path": "a <b>"}]
    text = pf.render(items, templates=folder / "mine", layout="chunks", format="slides").text
    assert text == "# a &lt;b>\n````\n```\n# out\n````"


def test_shipped_is_the_original_of_a_page_of_an_item_and_of_a_piece(folder: Path) -> None:
    files = {
        "context/layout.md.j2": '{% extends "shipped/context/layout.md.j2" %}\n'
        "{% block body %}\n{{ super() }}\nEnd\n{% endblock %}",
        "context/item.md.j2": '{% include "shipped/context/item.md.j2" %}',
    }
    text = look(folder, files, "context")
    shipped = pf.render(ITEMS, layout="context").text
    assert shipped.strip() in text
    assert text.rstrip().endswith("End")


def test_the_variable_for_the_folder_is_read_and_a_flag_wins(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"
    for name in ("one", "two"):
        write(
            folder / name,
            {"own/layout.txt.j2": page, "own/item.txt.j2": f"{name}: {{{{ item.title }}}}"},
        )
    (folder / "items.json").write_text(json.dumps(ITEMS), encoding="utf-8")
    monkeypatch.setenv("PROMPTFORGE_TEMPLATES", str(folder / "one"))
    arguments = ["render", "items.json", "--layout", "own", "--format", "plain"]
    assert "one: src/hash.py" in run(*arguments).out
    assert "two: src/hash.py" in run(*arguments, "--templates", str(folder / "two")).out


def test_an_unchanged_template_draws_on_what_is_changed(tmp_path: Path) -> None:
    """What was compiled lately is used again: its parents, its file and its names are still its."""
    parent, child = tmp_path / "chunks" / "_parent.md.j2", tmp_path / "chunks" / "item.md.j2"
    parent.parent.mkdir()
    child.write_text("{% extends 'chunks/_parent.md.j2' %}\n", encoding="utf-8")
    for text, shown in (("ONE {{ item.name }}", "ONE n"), ("TWO {{ query }}", "TWO why")):
        parent.write_text(text, encoding="utf-8")
        made = pf.render([{"name": "n", "content": "c"}], templates=tmp_path, query="why")
        assert shown in made.text and {span.template for span in made.map} >= {
            "chunks/_parent.md.j2"
        }
    child.write_text("{{ item.nme }}", encoding="utf-8")
    (tmp_path / "knowledge").mkdir()
    (tmp_path / "knowledge" / "item.md.j2").write_text("{{ item.nme }}", encoding="utf-8")
    for layout in ("chunks", "knowledge", "chunks"):  # the same text, and each says its own name
        said = pf.render([{"content": "c"}], templates=tmp_path, layout=layout).warnings
        assert [each.where for each in said if each.code == "PF401"] == [f"{layout}/item.md.j2:1"]


def test_another_renderer_reads_no_shipped_template_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pf.Renderer(max_tokens=500).render(ITEMS).text
    monkeypatch.delattr(Environment, "tree")
    assert pf.Renderer(max_tokens=501).render(ITEMS).text == before
