"""A project finds itself; what came with it is used only where the user trusts it, as it was then."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from commandline import Ran, run
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

from promptforge.authoring import project as project_module
from promptforge.authoring.project import (
    PROJECT_VOCABULARY,
    is_own_folder,
    locate_project,
    read_project,
    trust_list_path,
)
from promptforge.cli.flags import OPTION_VARIABLES, given_options
from promptforge.cli.inputs import take_settings
from promptforge.cli.preview import prompt_command
from promptforge.config.options import OPTION_VOCABULARY
from promptforge.errors import PromptForgeError
from promptforge.files import read_template_file

PAGE = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"
ARGUMENTS = ["render", "items.json", "--layout", "own", "--format", "plain"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    folder = tmp_path / "project"
    write(folder, "templates/own/layout.txt.j2", PAGE)
    write(folder, "templates/own/item.txt.j2", "theirs: {{ item.content }}")
    write(folder, "profiles/theirs.yaml", "layout: own\nformat: plain\n")
    (folder / "items.json").write_text('[{"content": "x"}]')
    monkeypatch.chdir(folder)
    return folder


def write(project: Path, name: str, text: str) -> None:
    path = project / ".promptforge" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_it_is_found_and_not_used_until_it_is_trusted(project: Path) -> None:
    ran = run(*ARGUMENTS)
    assert (ran.code, ran.out) == (2, "")
    assert 'there is no layout "own"' in ran.err
    ran = run("render", "items.json", "--layout", "context")
    assert ran.code == 0
    assert "PF706" in ran.err
    assert "`promptforge trust .` lists and trusts them" in ran.err
    assert run("render", "items.json", "--strict").code == 1
    assert run("trust").code == 0
    assert run(*ARGUMENTS) == (0, "theirs: x\n", "")
    assert run("render", "items.json", "--profile", "theirs") == (0, "theirs: x\n", "")
    assert "own" in run("list", "layouts").out
    assert "theirs: {{" in run("show", "own/item.txt.j2").out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("templates/own/item.txt.j2", "theirs, otherwise"),
        ("templates/chunks/item.txt.j2", "a new one"),
        ("profiles/theirs.yaml", "layout: own\nformat: plain\nmax_tokens: 9\n"),
        ("profiles/more.yaml", "max_tokens: 9\n"),
        ("profiles/more.yml", "max_tokens: 9\n"),
    ],
)
def test_any_change_takes_the_trust_away(project: Path, name: str, text: str) -> None:
    run("trust")
    before = (
        (project / ".promptforge" / name).read_text()
        if (project / ".promptforge" / name).exists()
        else None
    )
    write(project, name, text)
    assert run(*ARGUMENTS).code == 2
    shown = run("trust", "--show")
    assert (shown.code, "something changed after it was trusted" in shown.err) == (1, True)
    if before is None:
        (project / ".promptforge" / name).unlink()
    else:
        write(project, name, before)
    assert run(*ARGUMENTS) == (0, "theirs: x\n", "")


def test_it_shows_what_it_trusts(project: Path) -> None:
    write(project, "templates/own/_part.txt.j2", "{# a\u200bb #}")
    shown = run("trust", "--show", "--json")
    facts = json.loads(shown.out)
    assert (shown.code, facts["state"]) == (1, "unknown")
    assert [(f["name"], f["size"], f["invisible"]) for f in facts["files"]] == [
        (".promptforge/profiles/theirs.yaml", 26, 0),
        (".promptforge/templates/own/_part.txt.j2", 9, 1),
        (".promptforge/templates/own/item.txt.j2", 26, 0),
        (".promptforge/templates/own/layout.txt.j2", len(PAGE), 0),
    ]
    ran = run("trust")
    assert "1 invisible characters" in ran.out
    assert all(f["sha256"][:12] in ran.out for f in facts["files"])
    assert facts["sha256"][:12] in ran.err
    assert run("trust", "--show").code == 0


def test_trust_is_taken_back(project: Path) -> None:
    run("trust", str(project))
    assert "trusted no longer" in run("trust", "--remove", "--", str(project)).err
    assert run(*ARGUMENTS).code == 2
    assert "was not trusted" in run("trust", "--remove").err


def test_the_workspace_is_where_it_is_looked_for(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    run("trust")
    items = str(project / "items.json")
    arguments = ["render", items, "--layout", "own", "--format", "plain"]
    assert run(*arguments, cwd=tmp_path / "elsewhere").code == 2
    assert (
        run(*arguments, "--workspace", str(project), cwd=tmp_path / "elsewhere").out
        == "theirs: x\n"
    )


def test_ones_own_folder_comes_first_and_needs_no_trust(project: Path, tmp_path: Path) -> None:
    run("trust")
    mine = tmp_path / "mine" / "own" / "item.txt.j2"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine: {{ item.content }}")
    assert run(*ARGUMENTS, "--templates", str(tmp_path / "mine")).out == "mine: x\n"


def test_a_copy_of_a_trusted_folder_is_not_trusted(project: Path, tmp_path: Path) -> None:
    run("trust")
    project.rename(tmp_path / "copy")
    assert run(*ARGUMENTS, cwd=tmp_path / "copy").code == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_what_is_no_file_neither_hangs_nor_counts(project: Path) -> None:
    os.mkfifo(project / ".promptforge" / "templates" / "own" / "code.txt.j2")
    os.mkfifo(project / ".promptforge" / "profiles" / "pipe.yaml")
    (project / ".promptforge" / "templates" / "out.txt.j2").symlink_to("/etc/hostname")
    (project / ".promptforge" / "templates" / "zero.txt.j2").symlink_to("/dev/zero")
    assert len(json.loads(run("trust", "--json").out)["files"]) == 3
    assert run(*ARGUMENTS) == (0, "theirs: x\n", "")


def test_a_profile_that_is_a_link_is_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("max_tokens: 1")
    (project / ".promptforge" / "profiles" / "more.yaml").symlink_to(tmp_path / "secret.yaml")
    ran = run("trust")
    assert (ran.code, "a link; a project's profiles must be files of its own" in ran.err) == (
        2,
        True,
    )
    ran = run("render", "items.json")
    assert (ran.code, "PF706" in ran.err) == (0, True)


def test_a_folder_with_nothing_in_it_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("trust").code == 2
    (tmp_path / ".promptforge").mkdir()
    assert run("trust").code == 2
    (tmp_path / "items.json").write_text('[{"content": "x"}]')
    assert run("render", "items.json").err == ""


def test_a_list_that_cannot_be_read_trusts_nothing(project: Path) -> None:
    run("trust")
    trust_list_path().write_text("{")
    assert run(*ARGUMENTS).code == 2
    ran = run("render", "items.json")
    assert (ran.code, "the list of trusted folders cannot be read" in ran.err) == (0, True)
    assert "trusted.json" in run("trust").err


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files")
def test_the_list_is_its_owners_alone(project: Path) -> None:
    run("trust")
    assert trust_list_path().stat().st_mode & 0o077 == 0
    folder = trust_list_path().parent
    assert sorted(path.name for path in folder.iterdir()) == ["trusted", "trusted.json"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
def test_a_folder_without_a_name_in_utf_8_is_written_and_not_trusted(project: Path) -> None:
    ran = run("init", os.fsdecode(b"d\xb0"))
    assert ran.code == 0 and "d\\udcb0: the name of a trusted folder must be UTF-8" in ran.err
    assert "give the folder another name" in ran.err and "--own" not in ran.err
    assert (project / os.fsdecode(b"d\xb0") / "promptforge.toml").is_file()


# --- the project's file ---------------------------------------------------------------------------


@pytest.fixture
def desk(project: Path) -> Path:
    """A project of the user's own, with a layout, a profile and `promptforge.toml`."""
    assert run("init").code == 2, "items.json is there"
    (project / "items.json").unlink()
    shutil.rmtree(project / ".promptforge")
    assert run("init").code == 0
    (project / "sub").mkdir()
    (project / "sub" / "items.json").write_text('[{"content": "x = 1", "path": "a.py"}]')
    return project


def settings_file(text: str, name: str = "promptforge.toml") -> None:
    Path(name).write_text(text, encoding="utf-8")


def facts(ran: Ran) -> Any:
    assert ran.code == 0, ran
    return json.loads(ran.out)


def test_in_a_project_no_flag_is_needed(desk: Path) -> None:
    for folder in (desk, desk / "sub"):
        found = facts(run("render", "items.json", "--json", cwd=folder))
        assert (found["layout"], found["profile"], found["max_tokens"]) == ("mine", "mine", 2000)
        assert found["warnings"] == []
        assert "mine" in run("list", "layouts", cwd=folder).out
        assert "Each piece" in run("show", "mine", cwd=folder).out
        assert run("check", "-q", cwd=folder) == (0, "", "")
    assert run("test").code == 0
    assert "promptforge render items.json\n" in run("init", "other", "--pretend").err
    assert run("new", "layout", "brief", cwd=desk / "sub").code == 0
    assert (desk / "templates" / "brief").is_dir() and not (desk / "sub" / "templates").exists()
    settings_file("tokenizer = 'o200k_base*2'\n")
    assert facts(run("count", "items.json", "--json"))["tokenizer"] == "o200k_base*2"
    assert run("render", "sub/items.json", "--layout", "context").out.startswith("## Context")


def test_a_project_of_ones_own_may_change_until_it_is_taken_off_the_list(desk: Path) -> None:
    item = desk / "templates" / "mine" / "item.md.j2"
    item.write_text("changed: {{ item.content }}")
    assert run("render", "sub/items.json").out == "## Context\n\nchanged: x = 1\n\n"
    assert "your own: used, whatever changes" in run("trust", "--show").err
    assert run("trust").code == 0, "it stays one's own"
    item.write_text("again: {{ item.content }}")
    assert run("render", "sub/items.json").out == "## Context\n\nagain: x = 1\n\n"
    assert "trusted no longer" in run("trust", "--remove", "sub").err
    ran = run("render", "sub/items.json")
    assert "promptforge.toml: the project's 4 files are not used: nobody has trusted it" in ran.err
    assert (ran.code, ran.out.startswith("### a.py")) == (0, True)
    assert run("trust", "--own", "sub").code == 0
    assert run("render", "sub/items.json").out == "## Context\n\nagain: x = 1\n\n"


def test_a_project_that_nobody_wrote_here_waits_for_trust(project: Path) -> None:
    settings_file("layout = 'own'\nformat = 'plain'\n")
    assert "yours" not in run("list", "layouts").out
    ran = run("render", "items.json")
    assert (ran.out[:5], "PF706" in ran.err) == ("File:", True)
    assert "format is used anyway, as a plain value" in ran.err
    assert run("trust").code == 0
    assert run("render", "items.json") == (0, "theirs: x\n", "")
    settings_file("layout = 'own'\nformat = 'plain'\nheader = 'Obey.'\n")
    ran = run("render", "items.json")
    assert "something changed after it was trusted" in ran.err and "Obey" not in ran.out


def test_the_table_of_pyproject_is_as_good_and_the_rest_of_that_file_may_change(
    project: Path,
) -> None:
    table = "[tool.promptforge]\nlayout = 'own'\nformat = 'plain'\n"
    settings_file(f"[project]\nname = 'a'\n{table}", "pyproject.toml")
    assert run("trust").code == 0
    settings_file(f"[project]\nname = 'b'\n\n{table}[tool.other]\nlayout = 1\n", "pyproject.toml")
    assert run("render", "items.json") == (0, "theirs: x\n", "")
    found = facts(run("explain", "items.json", "--json"))["set_by"]
    assert found == {"layout": "pyproject.toml:5", "format": "pyproject.toml:6"}
    settings_file("")
    ran = run("render", "items.json")
    assert "[tool.promptforge] stands in pyproject.toml beside it; keep one of the two" in ran.err


def test_the_file_in_the_guide_is_one(desk: Path) -> None:
    guide = ROOT / "profiles" / "README.md"
    (text,) = re.findall(r"(?s)```toml\n(.*?)```", guide.read_text(encoding="utf-8"))
    settings_file(text)
    found = facts(run("render", "sub/items.json", "--json"))
    assert (found["layout"], found["profile"], found["max_tokens"]) == ("mine", "mine", 12_000)


def test_others_mistakes_in_pyproject_are_not_ours(project: Path) -> None:
    for text in ("[project]\nname = promptforge", "promptforge = 1", "tool = 'promptforge'"):
        settings_file(text, "pyproject.toml")
        (project / ".promptforge").rename(project / "elsewhere")
        assert run("render", "items.json").err == ""
        (project / "elsewhere").rename(project / ".promptforge")


def test_the_nearest_project_is_used(desk: Path) -> None:
    assert run("init", "sub/inner").code == 0
    (desk / "sub" / "inner" / "promptforge.toml").write_text("max_tokens = 77")
    assert (
        facts(run("render", "items.json", "--json", cwd=desk / "sub" / "inner"))["max_tokens"] == 77
    )
    found = facts(run("render", "sub/inner/items.json", "--json"))
    assert (found["layout"], found["max_tokens"]) == ("mine", 2000)


MISTAKES = {
    "max_tokns = 3": 'promptforge.toml:2: unknown key "max_tokns"; did you mean "max_tokens"?',
    "max_tokens = 'x'": "promptforge.toml:2: max_tokens takes a whole number",
    "templates = 'nowhere'": "promptforge.toml:2: templates: there is no folder",
    "templates = 3": "promptforge.toml:2: templates takes a list of folders",
    "templates = '../..'": 'promptforge.toml:2: templates: "../.." is outside',
    "profiles = ['/etc']": 'promptforge.toml:2: profiles: "/etc" is an absolute path',
    "profile = '../a.yaml'": 'promptforge.toml:2: profile: "../a.yaml" is outside',
    "tokenizer = 'file:/etc/x'": 'promptforge.toml:2: tokenizer: "/etc/x" is an absolute path',
    "layout = 'mnie'": 'promptforge.toml:2: there is no layout "mnie"; did you mean "mine"?',
    "format = 'pdf'": 'promptforge.toml:2: the layout "mine" has no format "pdf"',
    "profile = 'mnie'": 'promptforge.toml:2: there is no profile "mnie"; did you mean "mine"?',
    "tokenizer = 'o20k'": "promptforge.toml:2: ",
    "extends = 'claude'": "here `profile` names one",
    "exclude = ['tests/']": 'unknown key "exclude": files are named by paths, as in .gitignore',
    "[tool.promptforge]": "in promptforge.toml the keys stand at the top",
    "x = ": "promptforge.toml: is not valid TOML: Invalid value (at line 2, column",
    "x = \x00": "promptforge.toml: is not valid TOML",
}
"""Second line of a project's file → its message."""


def test_a_file_that_is_not_toml_is_named_once(project: Path) -> None:
    settings_file("x = [")
    said = run("render", "items.json").err
    assert said.startswith("promptforge: warning: promptforge.toml: is not valid TOML: ")
    settings_file("secret_allowlist = ['x']")
    said = "secret_allowlist takes a list of 6-letter or longer values"
    assert said in run("render", "items.json").err


def test_a_job_that_excludes_files_is_told_of_paths(desk: Path) -> None:
    (desk / "job.yaml").write_text('files: [.]\nexclude: ["a/"]\n')
    ran = run("render", "--job", "job.yaml")
    assert 'job.yaml:2: unknown option "exclude": files are named by paths' in ran.err
    (desk / "job.yaml").write_text('files: [.]\npaths: ["*", "!templates/**"]\n')
    assert "mine/layout.yaml" not in run("render", "--job", "job.yaml").out


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_in_ones_own_project_is_named_with_its_line(desk: Path, line: str) -> None:
    more = "templates = 'templates'\nprofiles = 'profiles'\nlayout = 'mine'\n"
    kept = [each for each in more.splitlines() if each.split()[0] != line.split()[0]]
    settings_file("# settings\n" + "\n".join([line, *([] if "[" in line[:1] else kept)]))
    ran = run("render", "sub/items.json")
    assert (ran.code, ran.out) == (2, "")
    assert MISTAKES[line] in ran.err and ran.err.count("\n") == 1
    # What a stranger's file says cannot stop a run.
    run("trust", "--remove")
    ran = run("render", "sub/items.json")
    assert (ran.code, ran.out[:8], "PF706" in ran.err) == (0, "### a.py", True)


def test_outside_of_the_project_only_where_it_is_allowed(desk: Path, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    assert run("new", "layout", "far", "--templates", str(tmp_path / "shared")).code == 0
    settings_file("templates = '../shared'\nlayout = 'far'\n")
    assert "--allow-outside lets it name others" in run("render", "sub/items.json").err
    assert run("render", "sub/items.json", "--allow-outside").code == 0
    link = desk / "link"
    link.symlink_to(tmp_path / "shared")
    settings_file("templates = 'link'\nlayout = 'far'\n")
    assert "is outside" in run("render", "sub/items.json").err


def test_files_that_were_there_before_init_do_not_become_ones_own(project: Path) -> None:
    Path("items.json").unlink()
    ran = run("init")
    assert ran.code == 0
    assert "not used yet: .promptforge/profiles/theirs.yaml, .promptforge/temp" in ran.err
    assert "`promptforge trust --own .` lets it be used" in ran.err
    assert "PF706" in run("render", "items.json").err


def test_another_folder_in_the_place_of_ones_own_is_not_ones_own(desk: Path) -> None:
    desk.rename(desk.with_name("kept"))
    ignored = shutil.ignore_patterns("local")
    shutil.copytree(desk.with_name("kept"), desk, ignore=ignored)  # as git would
    os.chdir(desk)
    assert "PF706" in run("render", "sub/items.json").err
    assert run("trust").code == 0
    assert run("render", "sub/items.json").err == ""


def test_a_project_that_cannot_be_put_on_the_list_is_written_all_the_same(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "file").write_text("")
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(project / "file"))
    ran = run("init", "new")
    assert ran.code == 0 and (project / "new" / "promptforge.toml").is_file()
    assert "`promptforge trust --own new` lets it be used" in ran.err


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_law_no_file_of_settings_breaks_anything(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("project")
    (folder / "promptforge.toml").write_bytes(data)
    (folder / "pyproject.toml").write_bytes(b"[tool.promptforge]\n" + data)
    for name in ("promptforge.toml", "pyproject.toml"):
        try:
            place = locate_project(folder)
            assert place is not None and place.file == folder / name
            found = read_project(place)
            assert set(found.settings) <= set(PROJECT_VOCABULARY)
        except PromptForgeError as error:
            assert str(error).isprintable()
        (folder / name).unlink()


# --- variables of the environment, and the order of all -------------------------------------------

SAMPLES = {
    "tokenizer": "cl100k_base", "max_tokens": "20k", "paths": "src/**", "languages": "python,c++",
    "query": "why, and when", "header": "4_000", "section_budgets": "{code: {share: 0.5}}",
    "images": "{auto: {patch: 32}}", "part_budgets": "{memory: {share: 0.1}}", "overrides": "{a: pin}",
    "prompt_order": "question, context", "cache_after": "system,context", "fence_language": "c++",
    "min_score": "0.25",
    "min_worth": "0.25",
}  # fmt: skip
"""Option → a text of a value, where no text of the types below will do."""


def sample(name: str) -> str:
    rule = OPTION_VOCABULARY.rules[name]
    return SAMPLES.get(name) or (
        rule.choices[-1] if rule.choices else {bool: "no", int: "7", float: "0.25"}.get(
            type(rule.default), "7" if "number" in rule.takes else "abc"
        )
    )  # fmt: skip


@pytest.mark.parametrize("name", list(OPTION_VOCABULARY))
def test_each_option_has_a_variable_that_says_the_same_as_its_flag(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    text, flag = sample(name), "--" + name.replace("_", "-")
    arguments = [flag.replace("--", "--no-")] if text == "no" else [flag, text]
    given = given_options(prompt_command.make_context("prompt", arguments).params)
    expected = OPTION_VOCABULARY.check(name, given[name])
    monkeypatch.setenv(OPTION_VARIABLES[name], text)
    settings = take_settings({})
    assert settings.options == {name: expected}
    assert settings.places == {name: f"PROMPTFORGE_{name.upper()}"}


@pytest.mark.slow
def test_the_order_of_all_that_can_set_an_option(project: Path) -> None:
    (project / "job.yaml").write_text("items: [{content: x}]\nmax_tokens: 104\n")
    (project / "plain.yaml").write_text("items: [{content: x}]\n")
    (project / "p.yaml").write_text("max_tokens: 101\n")
    (project / "q.yaml").write_text("format: markdown\n")
    run("trust", "--own")
    places = (
        "profile p",
        "promptforge.toml:1",
        "PROMPTFORGE_MAX_TOKENS",
        "job.yaml:2",
        "--max-tokens",
    )
    for chosen in itertools.product((False, True), repeat=5):
        by_profile, by_project, by_variable, by_job, by_flag = chosen
        settings_file("max_tokens = 102" if by_project else "")
        os.environ["PROMPTFORGE_MAX_TOKENS"] = "103" if by_variable else ""
        line = ["--job", "job.yaml" if by_job else "plain.yaml"]
        line += ["--profile", "p.yaml" if by_profile else "q.yaml"]
        line += ["--max-tokens", "105"] if by_flag else []
        found = facts(run("explain", "--json", *line))
        last = max((n for n in range(5) if chosen[n]), default=-1)
        assert found["max_tokens"] == (101 + last if last >= 0 else 4000)
        if last > 0:
            assert found["set_by"]["max_tokens"] == places[last]
    del os.environ["PROMPTFORGE_MAX_TOKENS"]


@pytest.mark.slow
def test_the_profile_too_comes_from_any_of_them(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk / "job.yaml").write_text("items: [{content: x}]\nprofile: gpt\n")
    monkeypatch.setenv("PROMPTFORGE_PROFILE", "claude")
    assert facts(run("render", "items.json", "--json"))["profile"] == "claude"
    assert facts(run("render", "--job", "job.yaml", "--json"))["profile"] == "gpt"
    assert facts(run("render", "items.json", "--json", "-p", "qwen"))["profile"] == "qwen"
    assert facts(run("count", "items.json", "--json"))["tokenizer"] == "approximate-claude"
    assert run("test").code == 0, "a case names its profile itself"
    Path("rows.jsonl").write_text('{"id": "a", "items": [{"content": "x"}]}\n')
    assert run("batch", "rows.jsonl", "-o", "out.jsonl", "--workers", "1", "-q").code == 0
    assert "<document index" in json.loads(Path("out.jsonl").read_text())["text"]


def test_a_message_names_the_variable_and_not_where_a_flag_wins(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTFORGE_LAYOUT", "chunk")
    ran = run("render", "items.json")
    assert (ran.code, ran.err.splitlines()[-1]) == (
        2, 'promptforge: PROMPTFORGE_LAYOUT: there is no layout "chunk"; did you mean "chunks"?'
    )  # fmt: skip
    assert (
        'promptforge: there is no layout "cunks"'
        in run("render", "items.json", "--layout", "cunks").err
    )
    monkeypatch.setenv("PROMPTFORGE_LAYOUT", "chunks")
    monkeypatch.setenv("PROMPTFORGE_HEADERS", "maybe")
    ran = run("render", "items.json")
    assert (ran.code, "PROMPTFORGE_HEADERS: headers takes true or false" in ran.err) == (2, True)
    assert run("render", "items.json", "--headers").code == 2, "what is wrong is said"


def test_a_slip_of_the_pen_in_a_variable_is_said(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("trust")
    monkeypatch.setenv("PROMPTFORGE_API_KEY", "of another program")
    assert run("render", "items.json").err == ""
    monkeypatch.setenv("PROMPTFORGE_MAX_TOKNES", "3")
    assert run("render", "items.json").err == (
        "promptforge: warning: PROMPTFORGE_MAX_TOKNES: sets nothing;"
        ' did you mean "PROMPTFORGE_MAX_TOKENS"? [PF124]\n'
    )


def test_explain_says_what_a_project_and_a_variable_set(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTFORGE_MAX_TOKENS", "1.5k")
    lines = run("explain", "sub/items.json", "--format", "xml").out.splitlines()
    assert lines[-3:] == [
        "promptforge.toml sets profile mine",
        "profile mine sets layout mine",
        "PROMPTFORGE_MAX_TOKENS sets max_tokens 1500",
    ]


# --- trust is content -----------------------------------------------------------------------------


def test_ones_own_is_known_by_a_mark_that_git_ignores(desk: Path) -> None:
    mark = desk / ".promptforge/local/own"
    assert (desk / ".promptforge/local/.gitignore").read_text() == "*\n"
    shutil.rmtree(desk)
    desk.mkdir()
    os.chdir(desk)
    settings_file("header = 'INJECTED'\n")
    (desk / "items.json").write_text('[{"content": "x"}]')
    guesses = ["", "0" * 32, json.loads(trust_list_path().read_text())["folders"][str(desk)]]
    for guess in guesses:  # the last is not the mark: the list says `own` before it
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(guess)
        ran = run("render", "items.json")
        assert "INJECTED" not in ran.out and "PF706" in ran.err
        assert "`promptforge trust --own .` says that they are yours" in ran.err
    assert run("trust", "--show").code == 1


def test_the_mark_is_not_taken_from_behind_a_link(desk: Path) -> None:
    desk.rename(desk.with_name("kept"))
    (desk / ".promptforge").mkdir(parents=True)
    (desk / ".promptforge/local").symlink_to(desk.with_name("kept") / ".promptforge/local")
    os.chdir(desk)
    settings_file("header = 'INJECTED'\n")
    assert "INJECTED" not in run("render", "-", stdin='[{"content": "x"}]').out
    assert run("trust", "--own").code == 4, "nothing is written through the link"


def vocabulary(path: Path, *, last: bytes) -> None:
    import base64

    tokens = [*(bytes([n]) for n in range(256)), last]
    lines = (f"{base64.b64encode(token).decode()} {n}" for n, token in enumerate(tokens))
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("named", ["settings", "profile"])
def test_trust_covers_the_file_of_the_tokenizer(project: Path, named: str) -> None:
    tokens, folder = "tokenizer = 'file:tok.tiktoken'\n", project
    settings_file(tokens)
    if named == "profile":
        folder = project / ".promptforge/profiles"
        write(project, "profiles/theirs.yaml", "tokenizer: file:tok.tiktoken\n")
        settings_file("profile = 'theirs'\n")
    vocabulary(folder / "tok.tiktoken", last=b"ab")
    assert run("trust").code == 0
    assert "PF706" not in run("render", "items.json").err
    vocabulary(folder / "tok.tiktoken", last=b"ac")
    ran = run("render", "items.json")
    assert "PF706" in ran.err and "something changed after it was trusted" in ran.err


def test_trust_covers_cases_and_what_they_name(project: Path) -> None:
    (project / "tests").mkdir()
    cases = project / "tests/a.yaml"
    cases.write_text("items: data.json\ncases:\n  - {name: a, file: a.txt}\n")
    for name in ("tests/data.json", "tests/a.txt"):
        (project / name).write_text('[{"content": "x"}]')
    assert run("trust").code == 0
    for path in (cases, project / "tests/data.json", project / "tests/a.txt"):
        before = path.read_text()
        path.write_text(before + "\n")
        assert run("trust", "--show").code == 1, path
        path.write_text(before)
    assert run("trust", "--show").code == 0


def test_what_changed_is_shown_before_it_is_trusted(project: Path) -> None:
    assert run("trust").code == 0
    write(project, "templates/own/item.txt.j2", "theirs: {{ item.content }}\n\x1b[2Jevil \u202e")
    for arguments, code in ((["--show"], 1), ([], 0)):
        ran = run("trust", *arguments)
        assert ran.code == code
        assert "+++ now/.promptforge/templates/own/item.txt.j2" in ran.out
        assert "+\\x1b[2Jevil \\u202e" in ran.out and "\x1b" not in ran.out
    assert "+++" not in run("trust").out
    write(project, "profiles/more.yaml", "max_tokens: 9\n")
    assert "+max_tokens: 9" in "".join(json.loads(run("trust", "--show", "--json").out)["diff"])


PLAIN = ["max_tokens = 77", "headers = false", "layout = 'knowledge'", "profile = 'claude'"]
ASKED = [
    "header = 'x'", "layout = 'own'", "profile = 'theirs'", "tokenizer = 'file:x'", "query = 'x'",
    "templates = 'templates'", "profile = '.promptforge/profiles/theirs.yaml'", "marker = 'x'",
    "layout = '../own'", "layout = 'prompt'",
]  # fmt: skip


@pytest.mark.parametrize("line", PLAIN)
def test_plain_values_need_no_trust(project: Path, line: str) -> None:
    shutil.rmtree(project / ".promptforge")
    settings_file(f"{line}\n")
    name, value = line.split(" = ")
    ran = run("render", "items.json", "--json")
    assert (ran.code, "PF706" in ran.err) == (0, False), ran
    found = facts(run("explain", "items.json", "--json"))
    assert found["set_by"].get(name, "promptforge.toml:1") == "promptforge.toml:1"
    if name in ("layout", "profile", "max_tokens"):
        assert str(found[name]) == value.strip("'")


@pytest.mark.parametrize("line", ASKED)
def test_everything_else_asks(project: Path, line: str) -> None:
    (project / "templates").mkdir()
    settings_file(f"max_chars = 5000\n{line}\n")
    ran = run("render", "items.json")
    assert (ran.code, ran.out) == (0, "### text\n\n```text\nx\n```\n"), ran
    assert "PF706" in ran.err and ("promptforge trust" in ran.err or "takes a name" in ran.err)


def test_an_unknown_layout_of_an_untrusted_project_says_so(project: Path) -> None:
    ran = run("render", "items.json", "--layout", "own")
    assert "nobody has trusted it" in ran.err and "`promptforge trust --own .`" in ran.err
    ran = run("render", "items.json", "--profile", "theirs")
    assert "nobody has trusted it" in ran.err
    assert "did you mean" in run("render", "items.json", "--layout", "chunk").err


def test_files_of_an_untrusted_project_are_not_changed(project: Path) -> None:
    folder = project / ".promptforge/templates"
    write(project, "templates/own/item.txt.j2", "{{ item.contnt }}")
    ran = run("check", str(folder), "--fix")
    assert ran.code == 2 and "--fix changes files of a project that is not used" in ran.err
    assert (folder / "own/item.txt.j2").read_text() == "{{ item.contnt }}"
    ran = run("preview", "items.json", "--templates", str(folder), "--edit")
    assert ran.code == 2 and "--edit changes files of a project" in ran.err
    assert run("trust", "--own").code == 0
    run("check", str(folder), "--fix")
    assert (folder / "own/item.txt.j2").read_text() == "{{ item.content }}"


def test_a_folder_of_the_environment_wins_over_that_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("trust", "--own").code == 0
    monkeypatch.setenv("PROMPTFORGE_TEMPLATES", str(project))
    folders = take_settings({}).folders["templates"]
    assert folders == [project, Path(".promptforge/templates")]


def test_trust_covers_the_profiles_beside_one(project: Path) -> None:
    settings_file("profile = 'own/p.yaml'\n")
    (project / "own").mkdir()
    (project / "own/p.yaml").write_text("extends: base\n")
    for name in ("base.yaml", "default.yml"):
        (project / "own" / name).write_text("header: ONE\n")
    assert run("trust").code == 0
    assert run("render", "items.json").out.startswith("ONE")
    for name in ("base.yaml", "default.yml"):
        (project / "own" / name).write_text("header: EVIL\n")
        ran = run("render", "items.json")
        assert "EVIL" not in ran.out and "something changed after it was trusted" in ran.err
        (project / "own" / name).write_text("header: ONE\n")


@pytest.mark.parametrize("line_end", ["\n", "\r", "\x0c", "\u2028"])
def test_trust_covers_each_file_that_test_runs(project: Path, line_end: str) -> None:
    (project / "tests").mkdir()
    cases = "cases: [{name: a, text: x, options: {profile: p.yaml}}]\n"
    path = project / "tests/a.yaml"
    path.write_bytes(f"items: [{{content: x}}]{line_end}{cases}".encode())
    assert run("trust").code == 0
    path.write_bytes(path.read_bytes() + b"\n")
    assert "something changed" in run("render", "items.json").err
    assert run("trust").code == 0
    (project / "p.yaml").write_text("header: x\n")
    if line_end in "\n\r":  # the others end no line of YAML
        assert run("test").code == 2, "what only a case names is asked for by `test` alone"
    assert "PF706" not in run("render", "items.json").err


def test_a_repository_in_ones_own_project_is_not_ones_own(desk: Path) -> None:
    tests = desk / "vendor/theirs/tests"
    tests.mkdir(parents=True)
    assert is_own_folder(tests)
    (tests.parent / ".git").write_text("gitdir: elsewhere")
    assert not is_own_folder(tests) and is_own_folder(desk)


def test_nobody_parses_the_cases_of_a_project_that_is_not_trusted(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "tests").mkdir()
    (project / "tests/a.yaml").write_text("cases: []\n")
    opened: list[str] = []
    reading = read_template_file

    def note(path: Path, most: int) -> Any:
        opened.append(path.name)
        return reading(path, most)

    monkeypatch.setattr(project_module, "read_template_file", note)
    settings_file("header = 'x'\n")
    assert "PF706" in run("render", "items.json").err
    assert "a.yaml" not in opened
    run("trust")
    assert "a.yaml" in opened
