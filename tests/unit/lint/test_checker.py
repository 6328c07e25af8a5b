"""`promptforge check`: each code at the right character, and silence where all is well."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from commandline import run
from linted_folders import ITEM, PAGE, found, marked, write
from places import GOLDEN, ROOT

from promptforge.lint.checker import LintTargets, check, check_draft

pytestmark = pytest.mark.usefixtures("folder")


# --- each code ------------------------------------------------------------------------------------

TEMPLATES: dict[str, tuple[str, str, str]] = {
    # what an item's template says → the code, the place, what is marked
    "{% if item.name }": ("PF801", "1:1", "{% if item.name }"),
    "{% raw %}a": ("PF801", "1:1", "{% raw %}a"),
    "{% raw %}a{% endraw %}{{ b c }}": ("PF801", "1:28", "c"),
    "{{ itm.name }}": ("PF802", "1:4", "itm"),
    "{% for a in [1] %}{% endfor %}{{ a }}": ("PF802", "1:34", "a"),
    "{% if item.name %}{% elif nme %}{% endif %}": ("PF802", "1:27", "nme"),
    "{{ loop.index }}": ("PF802", "1:4", "loop"),
    "{{ items | length }}": ("PF802", "1:4", "items"),
    "größe → {{ item.name | uper }}": ("PF803", "1:24", "uper"),
    '{{ item.name | truncate("80") }}': ("PF803", "1:16", "truncate"),
    "{% if item.name is not defind %}{% endif %}": ("PF804", "1:24", "defind"),
    '{% include "_surces.md.j2" %}': ("PF805", "1:12", '"_surces.md.j2"'),
    "x\n\n  {{ item.pth }}": ("PF806", "3:11", "pth"),
    "a { % if item.name % }": ("PF801", "1:3", "{ % if item.name % }"),
    "a { { item.name } }": ("PF801", "1:3", "{ { item.name } }"),
    "a ${item.name}": ("PF801", "1:3", "${item.name}"),
    "{{ item['pth'] }}": ("PF806", "1:9", "'pth'"),
    "{{ item.text }}": ("PF806", "1:9", "text"),
    "{{ item.name.first }}": ("PF806", "1:14", "first"),
    '{% include "mine/item.md.j2" %}': ("PF807", "1:12", '"mine/item.md.j2"'),
    "{{ item.name.upper() }}": ("PF808", "1:14", "upper"),
    "{{ 2 * 3 }}": ("PF808", "1:6", "*"),
    "a `{{ item.name }}` b": ("PF809", "1:12", "name"),
    "<pre>\n{{ item.name }}": ("PF809", "1:1", "<pre"),
    "```\n{{ item.content }}\n```": ("PF809", "2:9", "content"),
    "{{ item.content }}": ("PF810", "1:4", "item.content"),
    "{{ item.content | prose | upper }}": ("PF810", "1:27", "upper"),
    "{% if item.start_line > 3 %}{% endif %}": (
        "PF814",
        "1:1",
        "{% if item.start_line > 3 %}{% endif %}",
    ),
}


@pytest.mark.parametrize("text", TEMPLATES)
def test_an_items_template(text: str) -> None:
    code, place, word = TEMPLATES[text]
    write({"templates/mine/layout.md.j2": PAGE, "templates/mine/item.md.j2": text})
    said = found()
    assert f"templates/mine/item.md.j2:{place}: {code}" in said
    out = run("check").out
    assert word in marked(out)


def test_what_was_meant_as_a_tag_becomes_one_and_braces_of_other_kinds_stay() -> None:
    text = "{# Uses: item. #}\n{ % if item.name % }{item.name}{ % endif % }\n"
    write({"templates/mine/layout.md.j2": PAGE, "templates/mine/item.md.j2": text})
    run("check", "--fix", "--quiet")
    fixed = Path("templates/mine/item.md.j2").read_text()
    assert fixed == "{# Uses: item. #}\n{% if item.name %}{{ item.name }}{% endif %}\n"
    write(
        {
            "templates/mine/item.md.j2": "{# Uses: item. #}\n{a} { b } ${HOME} %}"
            " { 5 % } {{ '{ % if x % }' }}\n"
        }
    )
    assert "PF801" not in run("check", "--quiet").out


PAGES: dict[str, tuple[str, str]] = {
    "{% for s in sections %}{% for i in s.itms %}{{ i.text }}{% endfor %}{% endfor %}": (
        "PF806",
        "1:38",
    ),
    "{% for item in items %}{{ item.txt }}{% endfor %}": ("PF806", "1:32"),
    "{% for x in sources %}{{ x.nme }}{% endfor %}{{ headers }}": ("PF802", "1:49"),
    "{% for item in items %}{{ item.text | lower }}{% endfor %}": ("PF810", "1:39"),
    '{% extends "_page.md.j2" %}\nHello\n{% block body %}{% endblock %}': ("PF812", "2:1"),
    '{# x #}\n\n{% extends "_page.md.j2" %}\n{% block body %}{% endblock %}': ("PF812", "2:1"),
    '{% extends "_page.md.j2" %}\n{% block bdy %}{% endblock %}': ("PF813", "2:10"),
    '{% extends "_pge.md.j2" %}': ("PF805", "1:12"),
    '{% from "_page.md.j2" import nosuch %}': ("PF805", "1:30"),
}


@pytest.mark.parametrize("text", PAGES)
def test_a_page(text: str) -> None:
    code, place = PAGES[text]
    write({"templates/mine/layout.md.j2": text, "templates/mine/item.md.j2": ITEM})
    assert f"templates/mine/layout.md.j2:{place}: {code}" in found()


FILES: dict[str, tuple[str, str]] = {
    "templates/knowledge/man_pag.md.j2": ("PF821", ITEM),
    "templates/chunks/item.htm.j2": ("PF820", "x"),
    "templates/chnks/item.md.j2": ("PF820", ITEM),
    "templates/_piece.md.j2": ("PF820", "x"),
    "templates/loose.md.j2": ("PF820", "x"),
    "templates/prompt/ours/contxt.txt.j2": ("PF820", "x"),
    "templates/prompt/ours/context.txt.j2": ("PF802", "{{ contxt }}"),
    "templates/prompt/ours/history.txt.j2": (
        "PF806",
        "{% for m in history %}{{ m.txt }}{% endfor %}",
    ),
    "templates/mine2/tikcet.md.j2": ("PF821", ITEM),
    "templates/mine/layout.txt.j2": ("PF822", "x"),
    "templates/none/layout.yaml": ("PF822", "description: x"),
    "templates/mine/layout.yml": ("PF824", "base: chunks"),
    "templates/mine/Layout.yaml": ("PF824", "base: chunks"),
    "templates/mine/layout.yaml.txt": ("PF824", "base: chunks"),
    "templates/mine/my-layout.yml": ("PF824", "base: chunks"),
    "templates/chunks/item.md.jinja2": ("PF824", "x"),
    "templates/chunks/deep/item.md.j2": ("PF824", "x"),
    "templates/chunks/two words.md.j2": ("PF824", "x"),
    "templates/chunks/item.json.j2": ("PF815", '{"a": {{ item.name }}'),
    "templates/chunks/item.xml.j2": ("PF815", "<a>{{ item.name }}</b>"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file(name: str) -> None:
    code, text = FILES[name]
    write({name: text, "templates/mine2/layout.yaml": "base: chunks\nsections: [ticket]"})
    got = [line.split(": ") for line in found()]
    assert code in [line[-1] for line in got]


# --- silence --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_shipped_has_nothing_against_it() -> None:
    ran = run("check", "--no-costs", ROOT / "templates", ROOT / "profiles")
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.slow
def test_prompt_templates_and_kinds_of_ones_own_are_right_as_they_are() -> None:
    for part in ("system", "instructions", "question", "context", "history", "prompt"):
        path = ROOT / "templates" / "prompt" / "default" / f"{part}.txt.j2"
        write({f"templates/prompt/ours/{part}.txt.j2": path.read_text("utf-8")})
    write(
        {
            "templates/mine/layout.yaml": "base: chunks\nsections: [ticket]",
            "templates/mine/ticket.md.j2": ITEM,
        }
    )
    write({"profiles/ours.yaml": "tokenizer: o200k_base*1.3\nprompt: ours"})
    assert found() == found("profiles") == []


# --- hostile folders ------------------------------------------------------------------------------


def test_bytes_that_are_no_text_and_files_too_large() -> None:
    write(
        {
            "templates/mine/layout.yaml": "base: chunks",
            "templates/mine/item.md.j2": b"\xff\xfe",
            "profiles/a.yaml": b"\xff",
        }
    )
    write({"templates/mine/item.txt.j2": "x" * 300_000})
    assert found() == [
        "profiles/a.yaml: PF825",
        "templates/mine/item.md.j2: PF825",
        "templates/mine/item.txt.j2: PF825",
    ]


@pytest.mark.slow
def test_a_link_out_of_the_folder_is_not_followed() -> None:
    write({"secret.txt": "secret", "templates/mine/layout.yaml": "base: chunks"})
    Path("templates/mine/item.md.j2").symlink_to(Path("secret.txt").absolute())
    assert found() == ["templates/mine/item.md.j2: PF824"]
    assert "secret" not in run("check", "--json").out


@pytest.mark.slow
@pytest.mark.unwatched
def test_thousands_of_files() -> None:
    for n in range(200):
        write(
            {
                f"templates/l{n}/layout.yaml": "base: chunks",
                f"templates/l{n}/item.md.j2": "{{ item.pth }}",
            }
        )
    targets = LintTargets()
    targets.add(Path("templates"))
    report = check(targets)
    assert report.files == 400 and len(report.findings) == 200


# --- codes ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.unwatched
def test_a_copy_of_all_that_is_shipped_stands_in_for_it() -> None:
    shutil.copytree(ROOT / "templates", "templates")
    assert found() == []
    assert {line.split(": ")[1] for line in found(notes=True)} == {"PF823"}


# --- messages -------------------------------------------------------------------------------------

FOLDER = GOLDEN / "errors" / "check"
SILENT = {"an empty profile"}


class Case(NamedTuple):
    """One mistake."""

    title: str
    text: str
    """All of the case, as it stands in its file."""
    files: dict[str, str]
    said: str


def cases(path: Path) -> list[Case]:
    """Return the cases of a file of cases."""
    everywhere, *blocks = re.split(r"(?m)^=== ", path.read_text(encoding="utf-8"))
    common = _files(everywhere)
    found = []
    for block in blocks:
        title, _, rest = block.partition("\n")
        given, _, said = rest.partition(">>>\n")
        found.append(Case(title, rest, common | _files(given), said))
    return found


def _files(text: str) -> dict[str, str]:
    parts = re.split(r"(?m)^--- (.*)\n", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


CASES = {path: cases(path) for path in sorted(FOLDER.glob("*.txt"))}


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=lambda path: str(path.stem))
def test_what_is_said_of_a_mistake(path: Path, tmp_path: Path, update_golden: bool) -> None:
    for number, case in enumerate(CASES[path]):
        work = tmp_path / str(number)
        for name, text in case.files.items():
            file = work / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        ran = run("check", "--quiet", cwd=work)
        if update_golden:
            whole = path.read_text(encoding="utf-8")
            new = case.text.removesuffix(case.said) + ran.out
            path.write_text(
                whole.replace(f"=== {case.title}\n{case.text}", f"=== {case.title}\n{new}", 1),
                "utf-8",
            )
            continue
        assert ran.out == case.said, case.title
        assert ran.err == ""
        assert ran.code == int(bool(ran.out)) and bool(ran.out) is (case.title not in SILENT), (
            case.title
        )
        assert "Jinja" not in ran.out, case.title


def test_there_are_many() -> None:
    titles = [case.title for each in CASES.values() for case in each]
    assert len(titles) == len(set(titles)) >= 90


def test_places_of_a_draft_are_in_utf_16_units() -> None:
    text = "😀 {{ itm.name }}"
    write({"templates/mine/layout.md.j2": PAGE, "templates/mine/item.md.j2": text})
    request = {"path": "templates/mine/item.md.j2", "templates": [], "profiles": []}
    found = check_draft(request, lambda: None)["findings"]
    assert [(each["code"], each["from"], each["to"]) for each in found] == [("PF802", 6, 9)]


def test_a_template_folder_is_listed_three_folders_deep() -> None:
    write({f"templates/{inner}layout.md.j2": PAGE for inner in ("", "a/", "a/b/c/", "a/b/c/d/")})
    targets = LintTargets()
    targets.add(Path("templates"))
    found = [path.as_posix() for _, path in targets.stray_files()]
    assert found == [f"templates/{inner}layout.md.j2" for inner in ("", "a/", "a/b/c/")]


def test_a_page_with_an_ending_that_is_no_syntax_is_found() -> None:
    write({"templates/mine/layout.org.j2": PAGE, "templates/mine/item.org.j2": ITEM})
    assert found() == ["templates/mine/layout.org.j2: PF130"]
    write({"templates/mine/layout.yaml": "syntax: plain\n"})
    assert found() == []
    write({"templates/mine/layout.yaml": "syntax: jso\n"})
    assert found() == [
        *("templates/mine/layout.org.j2: PF130", "templates/mine/layout.yaml:1:9: PF832")
    ]


def keys_found() -> list[str]:
    return [line for line in found("templates", notes=True) if "PF83" in line]


def test_a_metadata_key_that_is_nearly_that_of_a_case_is_found() -> None:
    read = "{{ item.metadata.tickt }} {{ item.metadata.ticket }} {{ item.metadata['team'] }}"
    known = "{{ item.metadata.tactics | join }}"
    template = Path("templates/mine/item.md.j2")
    write({"templates/mine/layout.md.j2": PAGE, str(template): f"{read} {known}\n{ITEM}"})
    assert keys_found() == []  # without cases nothing is known
    record = "{content: a, metadata: {ticket: T-1, owner: me}}"
    write({"tests/mine.yaml": f"cases:\n- items: [{record}]\n  contains: [a]\n"})
    assert keys_found() == [f"{template}:1:18: PF839"]
    out = run("check", "templates").out
    assert 'no item of the cases in tests has metadata "tickt"; did you mean "ticket"?' in out
    run("check", "--fix", "templates")
    assert template.read_text().startswith("{{ item.metadata.ticket }} {{ item.metadata.ticket }}")
    assert keys_found() == []


def test_cases_that_cannot_be_read_say_nothing_of_metadata() -> None:
    files = {"layout.md.j2": PAGE, "item.md.j2": f"{{{{ item.metadata.team }}}}\n{ITEM}"}
    write({f"templates/mine/{name}": text for name, text in files.items()})
    record = "{content: a, metadata: {t: 1}}"
    write(
        {
            "tests/mine.yaml": f"cases:\n- items: [{record}]\n- items: missing.json\n  contains: [a]\n"
        }
    )
    assert keys_found() == []
