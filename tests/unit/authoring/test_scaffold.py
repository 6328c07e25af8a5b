"""`promptforge new` and `init`: what is written can be used at once, nothing is overwritten, no
name leads out.
"""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from commandline import run

import promptforge as pf
from promptforge.config.layouts import layout_schema
from promptforge.config.profiles import load_profile
from promptforge.lint.template_reader import PROMPT_VARIABLES
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS
from promptforge.templating.loader import Templates
from promptforge.yaml_reader import load_yaml

ITEMS = [
    {"kind": "code", "path": "a.py", "content": "x = 1"},
    {"kind": "man_page", "name": "ls(1)", "content": "list"},
]


pytestmark = pytest.mark.usefixtures("folder")


def files() -> set[str]:
    return {path.as_posix() for path in Path().rglob("*") if path.is_file()}


# --- what is made is what it is a copy of ---


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("layout", Templates().layouts())
def test_a_copy_of_a_layout_prints_what_the_original_prints(layout: str) -> None:
    ran = run("new", "layout", "mine", "--from", layout)
    assert ran.code == 0 and set(ran.out.splitlines()) == files()
    for form in Templates().formats(layout):
        ours = pf.render(ITEMS, templates="templates", layout="mine", format=form).text
        assert ours == pf.render(ITEMS, layout=layout, format=form).text
    assert run("check", "-q").out == ""


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("source", FORMAT_EXTENSIONS)
def test_a_copy_of_a_format_prints_what_the_original_prints(source: str) -> None:
    assert run("new", "format", "mine", "--from", source).code == 0
    for layout in Templates().layouts():
        ours = pf.render(ITEMS, templates="templates", layout=layout, format="mine").text
        assert ours == pf.render(ITEMS, layout=layout, format=source).text
    assert run("check", "-q").out == ""


def test_a_format_that_is_called_as_a_kind_of_xml_ends_so() -> None:
    assert run("new", "format", "html", "--from", "xml", "--layout", "chunks").code == 0
    assert files() == {"templates/chunks/item.html.j2", "templates/chunks/layout.html.j2"}


def test_a_format_for_one_layout_copies_what_its_base_has() -> None:
    assert run("new", "format", "memo", "--from", "plain", "--layout", "knowledge-long").code == 0
    assert "templates/knowledge-long/man_page.memo.txt.j2" in files()
    ours = pf.render(ITEMS, templates="templates", layout="knowledge-long", format="memo").text
    assert ours == pf.render(ITEMS, layout="knowledge-long", format="plain").text


def test_the_look_of_a_kind() -> None:
    ran = run(
        "new",
        "kind",
        "requirement",
        "--layout",
        "knowledge",
        "--from",
        "document",
        "--format",
        "plain",
    )
    assert (ran.code, files()) == (0, {"templates/knowledge/requirement.txt.j2"})
    original = Templates().source("knowledge/document.txt.j2")[0]
    made = Path("templates/knowledge/requirement.txt.j2").read_text(encoding="utf-8")
    assert made.startswith('{# One item of the kind "requirement". Uses: item. #}\n')
    assert made.partition("#}")[2] == original.partition("#}")[2]


def test_a_shipped_layout_is_copied_without_files_of_ones_own_beside_it() -> None:
    own = Path("templates/chunks/note.md.j2")
    own.parent.mkdir(parents=True)
    own.write_text("{{ item.text }}", encoding="utf-8")
    assert run("new", "layout", "brief", "--from", "shipped/chunks").code == 0
    assert Path("templates/brief/item.md.j2").is_file()
    assert not Path("templates/brief/note.md.j2").exists()


@pytest.mark.parametrize("source", ["default", "lisp", "shipped/lisp"])
def test_a_copy_of_a_prompt_prints_what_the_original_prints(source: str) -> None:
    ran = run("new", "prompt", "ours", "--from", source)
    assert (ran.code, set(ran.out.splitlines())) == (0, files())
    assert {Path(name).name.split(".")[0] for name in files()} == set(PROMPT_VARIABLES), (
        "whole, so that every part can be edited"
    )
    asked: dict[str, Any] = {
        "system": "Be kind.",
        "user": "Why?",
        "history": [{"role": "user", "content": "Hello"}],
    }
    ours = pf.Renderer(templates="templates", prompt="ours").prompt(ITEMS, **asked)
    assert ours.text == pf.Renderer(prompt=source).prompt(ITEMS, **asked).text
    assert run("check", "-q").out == ""


def test_a_copy_of_a_prompt_draws_on_its_own_pieces() -> None:
    for name, text in (
        ("_tag", "<q>"),
        ("question", '{% include "prompt/a/_tag.txt.j2" %}{{ question }}'),
    ):
        Path("templates/prompt/a").mkdir(parents=True, exist_ok=True)
        Path(f"templates/prompt/a/{name}.txt.j2").write_text(text)
    assert run("new", "prompt", "b", "--from", "a").code == 0
    assert "prompt/b/_tag" in Path("templates/prompt/b/question.txt.j2").read_text()
    assert "prompt/b/system.txt.j2" in " ".join(files())


def test_list_and_show_know_a_prompt_of_ones_own() -> None:
    run("new", "prompt", "ours", "--from", "lisp")
    mine = ("--templates", "templates")
    assert "[yours]" in next(
        line for line in run("list", "prompts", *mine).out.splitlines() if "ours" in line
    )
    frame = Path("templates/prompt/ours/prompt.txt.j2").read_text("utf-8")
    for name in ("ours", "prompt/ours", "prompt/ours/prompt.txt.j2"):
        assert run("show", name, *mine).out == frame
    assert run("show", "prompt/lisp").out == frame == run("show", "shipped/prompt/lisp").out
    assert run("show", "lisp").out != frame, "the profile of that name"


@pytest.mark.parametrize("name", ["claude", "lisp", "default"])
def test_a_copy_of_a_profile_says_what_the_original_says(name: str) -> None:
    assert run("new", "profile", "mine", "--from", name).code == 0
    assert files() == {"profiles/mine.yaml", "profiles/schema.json"}
    assert load_profile("mine", ["profiles"]).options == load_profile(name).options
    assert load_profile("mine", ["profiles"]).match == ()
    jsonschema.validate(
        load_yaml(Path("profiles/mine.yaml").read_text("utf-8"), ""),
        json.loads(Path("profiles/schema.json").read_text()),
    )
    assert run("check").code == 0


def test_a_copy_under_a_shipped_name_stands_in_for_it() -> None:
    assert run("new", "layout", "context").code == 0
    assert run("new", "profile", "claude").code == 0
    assert "PF823" in run("check").out
    assert (
        pf.render(ITEMS, templates="templates", layout="context").text
        == pf.render(ITEMS, layout="context").text
    )
    assert load_profile("claude", ["profiles"]).options == load_profile("claude").options


@pytest.mark.slow
def test_the_next_steps_run() -> None:
    for arguments in (
        ["layout", "brief"],
        ["format", "slides"],
        ["kind", "note", "--layout", "chunks"],
        ["prompt", "0"],
        ["profile", "p"],
    ):
        ran = json.loads(run("new", *arguments, "--json").out)
        steps = {
            word: rest.strip() for word, _, rest in (step.partition(" ") for step in ran["next"])
        }
        assert Path(steps["edit"]).is_file()
        for word in ("show", "check"):
            record, _, line = steps[word].rpartition(" | ")
            piped = shlex.split(record)[1] if record else ""
            shown = run(*shlex.split(line)[1:], stdin=piped)
            assert shown.code == 0 and shown.err in ("", shown.err if word == "check" else ""), (
                steps
            )
            assert word == "check" or "A text." in shown.out
        if use := steps.get("use"):
            Path("profiles").mkdir(exist_ok=True)
            Path("profiles/uses.yaml").write_text(use, "utf-8")
            assert load_profile("uses", ["profiles"]).options == {arguments[0]: arguments[1]}


def test_the_folder_is_that_of_the_flag_or_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("one").mkdir()
    Path("two").mkdir()
    monkeypatch.setenv("PROMPTFORGE_TEMPLATES", "one")
    run("new", "layout", "a")
    run("new", "layout", "b", "--templates", "two")
    assert {"one/a/layout.yaml", "two/b/layout.yaml", "one/layout.schema.json"} <= files()


@pytest.mark.slow
def test_a_look_for_a_layout_that_is_not_there_says_what_comes_first() -> None:
    assert (
        "; make it first: promptforge new layout triage"
        in run("new", "kind", "t", "--layout", "triage").err
    )
    assert 'did you mean "chunks"' in run("new", "kind", "t", "--layout", "chnks").err
    run("new", "layout", "triage")
    assert (
        "templates/triage is here: add --templates templates"
        in run("render", "-", "--layout", "triage", stdin="[]").err
    )


# --- what is refused ---

REFUSED = [
    ["layout", "../x"],
    ["layout", ".x"],
    ["layout", "_x"],
    ["layout", "a/b"],
    ["layout", "shipped"],
    ["layout", "a b"],
    ["layout", "é"],
    ["layout", ""],
    ["layout", "a\nb"],
    ["layout", "x" * 65],
    ["layout", "a.b"],
    ["format", "md"],
    ["format", "markdown"],
    ["format", "a.b"],
    ["format", "yaml"],
    ["kind", "Man", "--layout", "chunks"],
    ["kind", "item", "--layout", "chunks"],
    ["kind", "x"],
    ["kind", "x", "--layout", "nope"],
    ["kind", "x", "--layout", "chunks", "--format", "nope"],
    ["profile", "../x"],
    ["profile", "x", "--from", "nope"],
    ["layout", "x", "--from", "nope"],
    ["layout", "x", "--from", "../chunks"],
    ["format", "x", "--from", "nope"],
    ["format", "x", "--layout", "nope"],
    ["prompt", "shipped"],
    ["prompt", "x", "--from", "lips"],
    ["prompt", "x", "--layout", "chunks"],
    ["layout", "x", "--layout", "chunks"],
    ["profile", "x", "--format", "xml"],
    ["layout", "--headers"],
    ["thing", "x"],
]


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_a_name_that_cannot_be(arguments: list[str]) -> None:
    ran = run("new", *arguments)
    assert (
        (ran.code, ran.out) == (2, "")
        and ran.err.startswith("promptforge: ")
        and ran.err.count("\n") == 1
    )
    assert files() == set()


@pytest.mark.parametrize(
    "arguments", [["layout", "headers"], ["layout", "render"], ["layout", "0"], ["profile", "None"]]
)
def test_a_name_that_is_a_word_elsewhere(arguments: list[str]) -> None:
    assert run("new", *arguments).code == 0
    assert run("check").code == 0


def test_nothing_is_overwritten_and_all_is_written_or_none() -> None:
    assert run("new", "layout", "mine").code == 0
    Path("templates/mine/item.md.j2").write_text("ours")
    before = files()
    assert run("new", "layout", "mine").code == 2
    Path("templates/other").mkdir()
    Path("templates/other/layout.yaml").write_text("ours")
    assert run("new", "layout", "other").code == 2
    assert files() == before | {"templates/other/layout.yaml"}
    assert Path("templates/mine/item.md.j2").read_text() == "ours"


def test_a_folder_that_is_a_file_and_one_that_leads_nowhere() -> None:
    Path("templates").write_text("a file")
    assert run("new", "layout", "mine").code == 2
    Path("templates").unlink()
    Path("templates").symlink_to("nowhere")
    assert run("new", "layout", "mine").code == 4
    assert files() == set()


def test_pretending_writes_nothing() -> None:
    for arguments in (["new", "layout", "mine", "--pretend"], ["init", "--pretend"]):
        ran = run(*arguments)
        assert ran.code == 0 and ran.out and files() == set()


# --- a project ---


def test_a_project_renders_checks_and_tests_at_once() -> None:
    assert run("init", "p").code == 0
    here = Path("p")
    ran = run(
        "render",
        "items.json",
        "--templates",
        "templates",
        "--profiles",
        "profiles",
        "-p",
        "mine",
        cwd=here,
    )
    assert ran.code == 0 and ran.out.startswith("## Context") and ran.err == ""
    checked = run("check", cwd=here)
    assert checked.code == 0 and ": PF" not in checked.out
    tested = run("test", cwd=here)
    assert tested.code == 0 and tested.out.count("ok ") == 2
    for name in ("layout", "profile"):
        path = here / (
            "templates/layout.schema.json" if name == "layout" else "profiles/schema.json"
        )
        assert json.loads(path.read_text(encoding="utf-8")) == json.loads(run("schema", name).out)
    assert run("init", "p").code == 2


def test_a_project_heads_a_file_with_its_path_once() -> None:
    assert run("init", ".").code == 0
    Path("a.py").write_text("x = 1\n", encoding="utf-8")
    assert "### a.py\n" in run("render", "--file", "a.py").out


def test_the_schema_of_a_layout_takes_what_the_engine_takes() -> None:
    validator = jsonschema.Draft202012Validator(layout_schema())
    jsonschema.Draft202012Validator.check_schema(layout_schema())
    for name in Templates().names():
        if name.endswith("layout.yaml"):
            validator.validate(load_yaml(Templates().source(name)[0], name))
    assert not validator.is_valid({"bse": "chunks"})
    assert not validator.is_valid({"headers": "yes"})


def test_a_project_can_be_thrown_away_and_begun_again() -> None:
    run("init", "p")
    shutil.rmtree("p")
    assert run("init", "p").code == 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody writes to")
@pytest.mark.parametrize("place", ["/proc/p", "x" * 300])
def test_a_project_that_cannot_be_written_ends_as_an_output_does(place: str) -> None:
    Path("items.json").write_text('[{"content": "x"}]')
    made, written = run("init", place), run("render", "items.json", "-o", place)
    assert (made.code, written.code) == (4, 4) and place in made.err


@pytest.mark.parametrize("command", ["show bad", "new profile mine --from bad"])
def test_a_profile_that_is_no_utf8_is_said_and_no_traceback(command: str) -> None:
    Path("profiles").mkdir()
    Path("profiles/bad.yaml").write_bytes(b"layout: chunks\ndescription: caf\xe9\n")
    ran = run(*command.split(), "--profiles", "profiles")
    assert ran.code == 4
    assert "line 2 is not UTF-8 text; save it as UTF-8" in ran.err


def test_the_next_steps_steer_no_terminal(tmp_path: Path) -> None:
    ran = run("init", str(tmp_path / "a\x1b]0;b\x07\u202e"))
    assert ran.code == 0 and "cd " in ran.err and r"a\x1b]0;b\x07" in ran.err
    assert not {"\x1b", "\x07", "\u202e"} & set(ran.err)


def test_the_next_steps_can_be_typed() -> None:
    assert "\n  cd 'my dir'\n" in run("init", "my dir").err
