"""The shipped templates and their contracts, the order of folders, and refused templates."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2 import nodes
from template_folders import ITEM, PAGE, write

import promptforge as pf
from promptforge.config.options import PROMPT_PARTS
from promptforge.errors import OptionError, ProfileError, TemplateError
from promptforge.files import (
    MAX_TEMPLATE_BYTES,
    TemplateFile,
    read_template_file,
    shipped_folder,
)
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS
from promptforge.templating import loader
from promptforge.templating.language import Fields
from promptforge.templating.loader import Templates

SHIPPED = Templates()
NAMES = [name for name in SHIPPED.names() if name.endswith(".j2")]
LAYOUTS = [
    "chunks",
    "chunks-compact",
    "cited",
    "context",
    "documents",
    "entities",
    "knowledge",
    "knowledge-long",
]


# --- the shipped ones -----------------------------------------------------------------------------


def parse(name: str) -> nodes.Template:
    return jinja2.Environment(trim_blocks=True, lstrip_blocks=True).parse(SHIPPED.source(name)[0])


def compiled(name: str) -> Any:
    """Return the facts about one template alone, without those it draws on."""
    SHIPPED.compile(name)
    return SHIPPED._environment.facts(name)


def said(comment: str, word: str) -> set[str]:
    """Return the names after `Uses:` or `Blocks:` in a comment, without the words in brackets."""
    match = re.search(rf"\b{word}s?: (.*?)\.(?:\s|$)", re.sub(r"\([^)]*\)", "", comment))
    return {re.split(r"\s", part.strip())[0] for part in match[1].split(",")} if match else set()


@pytest.mark.parametrize("name", NAMES)
def test_the_first_comment_of_a_template_names_what_it_uses(name: str) -> None:
    source, found = SHIPPED.source(name)
    assert found.shipped
    match = re.match(r"\{# ([A-Z].*?) #\}\n", source, re.DOTALL)
    assert match, "a template begins with a comment, on lines of its own"
    comment = " ".join(match[1].split())
    assert re.match(r"[^:]*[^:]\. |.*\.$|.*: .*\. ", comment), "a sentence comes first"
    root = parse(name)
    own = compiled(name)
    assert said(comment, "Use") == own.names
    parents = [node for node in root.body if isinstance(node, nodes.Extends)]
    inherited = {b.name for p in own.parents if parents for b in parse(p).find_all(nodes.Block)}
    assert said(comment, "Block") == {b.name for b in root.find_all(nodes.Block)} - inherited
    if parents:
        assert source[match.end() :].startswith("{% extends "), "a line between would be printed"


LINES = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"
OWN = {"mine/layout.org.j2": LINES, "mine/item.org.j2": "{{ item.name }}"}
NAMED = [{"content": "x", "name": 'a "b" <c>: d'}]


@pytest.mark.parametrize(
    ("syntax", "printed"),
    [
        ("json", '"a \\"b\\" <c>: d"'),
        ("xml", 'a "b" &lt;c>: d'),
        ("yaml", '"a \\"b\\" <c>: d"'),
        ("toon", '"a \\"b\\" <c>: d"'),
        ("markdown", 'a "b" &lt;c>: d'),
        ("plain", 'a "b" <c>: d'),
    ],
)
def test_a_format_of_ones_own_is_escaped_by_the_syntax_it_declares(
    syntax: str, printed: str
) -> None:
    files = {**OWN, "mine/layout.yaml": f"syntax: {syntax}\n"}
    result = pf.render(NAMED, templates=files, layout="mine", format="org")
    assert (result.text, [d.code for d in result.warnings]) == (f"{printed}\n", [])
    beside = {**OWN, "layout.yaml": f"syntax: {syntax}\n"}
    assert pf.render(NAMED, templates=beside, layout="mine", format="org").text == f"{printed}\n"


def test_a_format_without_a_declared_syntax_is_plain_text_and_that_is_said() -> None:
    result = pf.render(NAMED, templates=OWN, layout="mine", format="org")
    assert result.text == 'a "b" <c>: d\n'
    (said,) = result.warnings
    assert said.code == "PF130" and "syntax: with one of markdown, xml, json" in said.message
    known = {name.replace("org", "md"): text for name, text in OWN.items()}
    known["mine/layout.yaml"] = "syntax: json\n"  # an ending that is known says it itself
    made = pf.render(NAMED, templates=known, layout="mine", format="markdown")
    assert (made.text, [*made.warnings]) == ('a "b" &lt;c>: d\n', [])


def test_a_page_and_its_items_have_one_syntax() -> None:
    files = {**OWN, "mine/layout.yaml": "syntax: json\n", "top/layout.yaml": "base: mine\n"}
    pf.render(NAMED, templates=files, layout="top", format="org")
    files |= {"top/layout.yaml": "base: mine\nsyntax: xml\n", "top/layout.org.j2": "<a/>"}
    with pytest.raises(TemplateError, match=r"its syntax is xml, and that of .mine/item\.org\.j2"):
        Templates([files]).layout("top", "org")
    with pytest.raises(ProfileError, match="syntax"):
        Templates([{**OWN, "mine/layout.yaml": "syntax: jsn\n"}]).layout("mine", "org")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("format", FORMAT_EXTENSIONS)
def test_every_layout_has_every_format(layout: str, format: str) -> None:
    assert SHIPPED.formats(layout) == list(FORMAT_EXTENSIONS)
    assert SHIPPED.settings(layout).description
    assert "x = 1" in pf.render([ITEM], layout=layout, format=format, strict=True).text


def test_the_shipped_layouts() -> None:
    assert SHIPPED.layouts() == LAYOUTS


def test_every_shipped_template_is_read_by_some_look_or_by_another_template() -> None:
    used = {name for name in NAMES if name.startswith("prompt/")}
    parts = {name.split("/")[2].split(".")[0] for name in used}
    assert parts == {*PROMPT_PARTS, "prompt", "recall", "left_out", "filler", "part"}
    for layout in LAYOUTS:
        for format in FORMAT_EXTENSIONS:  # noqa: A001
            todo = SHIPPED.layout(layout, format).files()
            while todo:
                name = todo.pop()
                used.add(name)
                todo += compiled(name).parents
    assert used == set(NAMES)


# --- what is found where --------------------------------------------------------------------------


def test_the_first_folder_wins_and_shipped_is_always_the_original(tmp_path: Path) -> None:
    for number in ("one", "two"):
        write(tmp_path / number, {"chunks/item.txt.j2": number})
    write(tmp_path / "two", {"chunks/error.txt.j2": "error"})
    templates = Templates([tmp_path / "one", tmp_path / "two"])
    assert templates.source("chunks/item.txt.j2")[0] == "one"
    assert templates.source("chunks/error.txt.j2")[0] == "error"
    assert templates.source("chunks/item.md.j2")[1].shipped
    text, found = templates.source("shipped/chunks/item.txt.j2")
    assert text == SHIPPED.source("chunks/item.txt.j2")[0]
    assert found.shipped


def test_a_kinds_own_look_comes_before_item_and_both_before_the_bases(tmp_path: Path) -> None:
    files = {
        "low/layout.txt.j2": PAGE,
        "low/item.txt.j2": "low item",
        "low/code.txt.j2": "low code",
        "high/layout.yaml": "base: low",
        "high/item.txt.j2": "high item",
    }
    look = write(tmp_path, files).layout("high", "plain")
    assert look.printer("text", {})(Fields(), 0)[0] == "high item"
    assert look.printer("code", {})(Fields(), 0)[0] == "low code"
    assert look.page_name == "low/layout.txt.j2"
    assert look.files() == ["high/item.txt.j2", "low/code.txt.j2", "low/layout.txt.j2"]


@pytest.mark.parametrize(
    "kind", ["layout", "item", "_part", "../chunks/item", "a/b", "Code", "", "x" * 65, "a.b", "é"]
)
def test_a_kind_that_is_no_plain_word_looks_like_any_item(kind: str, tmp_path: Path) -> None:
    look = write(
        tmp_path, {"t/layout.txt.j2": PAGE, "t/item.txt.j2": "item", "t/_part.txt.j2": "part"}
    ).layout("t", "plain")
    assert look.printer(kind, {})(Fields(), 0)[0] == "item"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "../outside.md.j2",
            "t/../../outside.md.j2",
            "t/..",
            "/etc/passwd",
            "t//item.md.j2",
            "./t/item.md.j2",
            "",
        ),
        *(
            "t/item.md.j2\n",
            "t\\item.md.j2",
            "-t/item.md.j2",
            ".hidden",
            "t/\0",
            "shipped/../x",
            "shipped/",
            "~/x",
        ),
    ],
)
def test_a_name_that_is_no_name_is_not_found(name: str, tmp_path: Path) -> None:
    (tmp_path / "outside.md.j2").write_text("secret")
    templates = write(tmp_path / "mine", {"t/item.md.j2": "x"})
    assert templates.find("t/item.md.j2") is not None
    assert templates.find(name) is None
    with pytest.raises(TemplateError, match="there is no template"):
        templates.source(name)


def test_a_link_that_leaves_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside.txt.j2").write_text("secret")
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "item.txt.j2").write_text("secret")
    write(tmp_path / "mine", {"t/real.txt.j2": "real"})
    (tmp_path / "mine" / "t" / "item.txt.j2").symlink_to(tmp_path / "outside.txt.j2")
    (tmp_path / "mine" / "u").symlink_to(tmp_path / "far")
    (tmp_path / "mine" / "t" / "near.txt.j2").symlink_to("real.txt.j2")
    templates = Templates([tmp_path / "mine"])
    assert templates.find("t/item.txt.j2") is None
    assert templates.find("u/item.txt.j2") is None
    assert templates.source("t/near.txt.j2")[0] == "real"


def test_a_folder_that_is_a_link_is_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "real", {"t/item.txt.j2": "x"})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Templates([tmp_path / "link"]).source("t/item.txt.j2")[0] == "x"


def test_a_file_too_large_or_not_utf8_is_refused_with_its_path(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"t/big.txt.j2": "x" * (MAX_TEMPLATE_BYTES + 1), "t/full.txt.j2": "x" * MAX_TEMPLATE_BYTES},
    )
    (tmp_path / "t" / "bad.txt.j2").write_bytes(b"caf\xe9")
    templates = Templates([tmp_path])
    assert templates.compile("t/full.txt.j2")
    for name, words in (
        ("t/big.txt.j2", "larger than 256 kB"),
        ("t/bad.txt.j2", "line 1 is not UTF-8 text"),
    ):
        with pytest.raises(TemplateError, match=words) as caught:
            templates.compile(name)
        assert caught.value.where == str(tmp_path / name)


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "item.txt.j2").write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert Templates([tmp_path]).source("t/item.txt.j2")[0] == "a\nb"


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="there is no template folder"):
        Templates([tmp_path / "none"])


def test_unknown_layouts_and_formats_name_the_nearest() -> None:
    with pytest.raises(OptionError, match='there is no layout "chunk"; did you mean "chunks"'):
        SHIPPED.layout("chunk", "markdown")
    with pytest.raises(OptionError, match='has no format "markdwon"; did you mean "markdown"'):
        SHIPPED.layout("chunks", "markdwon")
    with pytest.raises(OptionError, match=r'there is no layout "\.\./x"'):
        SHIPPED.layout("../x", "markdown")


def test_what_a_layout_lacks_is_named_with_the_way_out(tmp_path: Path) -> None:
    page = "{% for item in items %}{{ item.title }}{% endfor %}"
    templates = write(tmp_path, {"a/page.md.j2": page, "b/layout.md.j2": page})
    with pytest.raises(OptionError, match='"a" is not a layout: it has neither a page, such as'):
        templates.layout("a", "markdown")
    with pytest.raises(TemplateError, match="add it, or write base: chunks into b/layout"):
        templates.layout("b", "markdown").item_template("text")
    templates = write(tmp_path, {"c/layout.markdown.j2": page})
    assert templates.formats("c") == []
    with pytest.raises(OptionError, match="it needs a page such as layout"):
        templates.layout("c", "markdown")


def test_layouts_based_on_each_other_are_named_in_their_circle(tmp_path: Path) -> None:
    templates = write(tmp_path, {"a/layout.yaml": "base: b", "b/layout.yaml": "base: a"})
    with pytest.raises(TemplateError, match="the layouts a → b → a are based on each other"):
        templates.settings("a")
    templates = write(tmp_path, {"a/layout.yaml": "base: chunsk"})
    with pytest.raises(TemplateError, match='there is no layout "chunsk"; did you mean "chunks"'):
        templates.settings("a")


def test_an_unknown_key_of_a_layout_names_file_line_and_the_nearest(tmp_path: Path) -> None:
    templates = write(tmp_path, {"t/layout.yaml": "base: chunks\nseparater: x\n"})
    with pytest.raises(
        ProfileError, match=r'layout\.yaml:2: unknown key "separater"; did you mean "separator"'
    ):
        templates.settings("t")


# --- what a template may not do -------------------------------------------------------------------


def test_a_template_that_draws_on_itself_is_told_of_the_original(tmp_path: Path) -> None:
    for files in (
        {"chunks/layout.md.j2": '{% extends "chunks/layout.md.j2" %}'},
        {"chunks/item.md.j2": '{% include "chunks/item.md.j2" %}'},
        {
            "chunks/item.md.j2": '{% include "chunks/other.md.j2" %}',
            "chunks/other.md.j2": '{% include "chunks/item.md.j2" %}',
        },
    ):
        name = next(iter(files))
        templates = write(tmp_path / str(len(files)) / name.split("/")[1], files)
        with pytest.raises(TemplateError, match=f"extends or includes itself.*shipped/{name}"):
            templates.facts(name)
        result = pf.render([ITEM], templates=templates.folders[0], layout="chunks")
        assert result.text == pf.render([ITEM], layout="chunks").text
        assert "itself" in result.warnings[0].message


# --- what filters and tests do --------------------------------------------------------------------


def test_shipped_files_are_read_again_where_one_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(shipped_folder("templates"), tmp_path / "templates")
    item = copy / "chunks" / "item.md.j2"
    looked: list[Path] = []

    def read(path: Path) -> TemplateFile:
        looked.append(path)
        return read_template_file(path)

    monkeypatch.setattr(loader, "shipped_folder", lambda _: copy)
    monkeypatch.setattr(loader, "read_template_file", read)
    for text in (item.read_text("utf-8"), "{# One. #}\nnew\n", "{# One. #}\nnewer\n"):
        item.write_text(text, encoding="utf-8")
        for _ in range(2):
            assert Templates().source("chunks/item.md.j2")[0] == text
    assert looked == [item] * 3  # and none of the others


def test_lines_are_marked_only_where_the_page_can_print_them_now() -> None:
    hits = [{"content": "Notes\nSources:\n[Content truncated...]", "path": "a.rst"}]
    for layout in ("chunks", "context", "documents", "knowledge"):
        shown = {
            on: pf.render(hits, layout=layout, format="plain", sources=on).text
            for on in (False, True)
        }
        assert "| Sources:" in shown[True] and "| Sources:" not in shown[False]
        assert all("| [Content" in text for text in shown.values())
    own = {
        "mine/layout.txt.j2": "{% include '_foot.txt.j2' %}\n{% for item in items %}{{ item.text }}{% endfor %}",
        "mine/item.txt.j2": "{{ item.content }}",
        "_foot.txt.j2": "Sources:\n{% if sources %}{{ sources[0].name }}{% endif %}",
    }
    assert "| Sources:" in pf.render(hits, layout="mine", format="plain", templates=own).text
