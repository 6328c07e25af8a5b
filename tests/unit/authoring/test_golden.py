"""`promptforge test`: cases that hold, that fail and say how, and texts that are taken over."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from commandline import run
from hypothesis import given
from hypothesis import strategies as st

from promptforge.authoring.golden import load_cases, parse_cases, update_case

HEAD = "items:\n  - {content: 'x = 1', path: a.py, name: one}\noptions: {layout: context}\ncases:\n"
TEXT = "## Context\n\n### Text (from a.py)\n```python\nx = 1\n```"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("tests").mkdir()
    return tmp_path


def cases(text: str, head: str = HEAD) -> Path:
    path = Path("tests/a.yaml")
    path.write_text(head + text, encoding="utf-8")
    return path


def block(text: str) -> str:
    return "".join(f"      {line}\n" if line else "\n" for line in text.split("\n"))


def test_what_holds() -> None:
    cases(
        f"  - text: |\n{block(TEXT)}"
        "  - {name: bounds, tokens_at_most: 30, chars_at_most: 99, contains: [x = 1],"
        " lacks: [zzz], warnings: []}\n"
        "  - {name: statuses, options: {max_tokens: 3}, statuses: {one: dropped}}\n"
        "  - {name: fails, options: {format: nope}, fails: no format}\n"
    )
    ran = run("test")
    assert ran.code == 0, ran.out
    assert [line.split(" (")[0] for line in ran.out.splitlines()] == [
        "ok   tests/a.yaml:5 case 1",
        "ok   tests/a.yaml:12 bounds",
        "ok   tests/a.yaml:13 statuses",
        "ok   tests/a.yaml:14 fails",
    ]


FAILING = {
    "{text: other}": "-other",
    "{tokens_at_most: 3}": "tokens, at most 3 expected",
    "{chars_at_most: 3}": "characters, at most 3 expected",
    "{contains: [nothing of the kind]}": 'lacks "nothing of the kind"',
    "{lacks: [Context]}": 'holds "Context"',
    "{statuses: {one: dropped}}": '"one" is included, dropped expected',
    "{statuses: {two: dropped}}": 'no item "two"; there are: "one"',
    "{warnings: [PF101]}": "warnings: none; expected: PF101",
    "{fails: no format}": "did not fail",
    "{options: {format: nope}, lacks: [a]}": "failed: ",
}


@pytest.mark.parametrize("case", FAILING)
def test_what_fails_says_how(case: str) -> None:
    cases(f"  - {case}\n")
    ran = run("test")
    assert ran.code == 1 and ran.out.startswith("FAIL tests/a.yaml:5 case 1\n")
    assert FAILING[case] in ran.out
    facts = json.loads(run("test", "--json").out)
    assert facts["failed"] == 1 and FAILING[case] in "\n".join(facts["cases"][0]["problems"])


def test_a_blank_at_the_end_is_a_difference() -> None:
    cases(f"  - text: {json.dumps(TEXT + ' ')}\n")
    ran = run("test")
    assert ran.code == 1 and "the text differs" in ran.out


def test_a_difference_shows_what_cannot_be_seen() -> None:
    cases('  - text: "## Context  \\n\\n### Text\\u202e"\n')
    out = run("test").out
    assert "-## Context··" in out and "-### Text\\u202e" in out and "\u202e" not in out


@pytest.mark.nightly
def test_blanks_within_a_line_are_read_once() -> None:
    cases(f"  - text: {json.dumps(' ' * 300_000 + 'x')}\n")
    begun = time.process_time()
    assert "the text differs" in run("test").out
    assert time.process_time() - begun < 8


BAD = ["cases: x", "cases: ["]
WRONG = {
    "{items: [], tokns: 3}": 'unknown key "tokns"',
    "3": "a case has lines of the form",
    "{items: []}": "the case expects nothing",
    "{text: a}": "the case has no items",
    "{items: [], text: a, file: b}": "text and file both give the expected text",
    "{items: [], text: a, tokens_at_most: many}": "tokens_at_most takes a whole number",
    "{items: [], text: a, options: {max_tokns: 3}}": 'did you mean "max_tokens"',
    "{items: [], text: a, statuses: {a: gone}}": "statuses takes",
    "{items: [], contains: [], name: good}": 'two cases are called "good"',
}
"""Cases that are wrong in themselves, and what is said of them."""


@pytest.mark.parametrize("text", BAD)
def test_a_file_that_is_no_file_of_cases(text: str) -> None:
    cases(text, head="")
    ran = run("test")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith("promptforge: tests/a.yaml:1: ") and ran.err.count("\n") == 1


def test_what_is_wrong_in_one_case_stops_no_other() -> None:
    rows = ["{items: [], contains: [], name: good}", *WRONG]
    cases("cases:\n" + "".join(f"  - {row}\n" for row in rows), head="")
    ran = run("test")
    assert ran.code == 1 and ran.out.count("ok ") == 1 and ran.out.count("FAIL ") == len(WRONG)
    for line, message in enumerate(WRONG.values(), 3):
        assert any(
            row.startswith(f"    tests/a.yaml:{line}: ") and message in row
            for row in ran.out.splitlines()
        )


def test_a_file_of_the_text_that_is_not_there_is_named() -> None:
    cases("  - {file: gone.txt}")
    ran = run("test")
    assert ran.code == 1 and 'the file "gone.txt" is not there; --update writes it' in ran.out


def test_items_that_are_not_there_and_no_cases_at_all() -> None:
    assert run("test").code == 2
    assert run("test", "nowhere").code == 2
    cases(
        "  - {items: nowhere.json, text: a}\n"
        "  - {name: b, file: a.yaml, items: [{content: a}], lacks: [a]}"
    )
    ran = run("test")
    assert (
        ran.code == 1
        and "nowhere.json: cannot read it" in ran.out
        and "2 of 2 cases failed" in ran.err
    )
    assert run("test", "--only", "zzz").code == 2


def test_items_may_come_from_standard_input_and_a_misspelt_file_has_a_near_one() -> None:
    Path("tests").mkdir(exist_ok=True)
    Path("tests/items.json").write_text('[{"content": "a"}]')
    cases('  - {items: "-", contains: [a]}\n  - {items: itens.json, contains: [a]}')
    ran = run("test", stdin='[{"content": "a"}]')
    assert "1 of 2 cases failed" in ran.err
    assert 'itens.json: cannot read it: no such file or directory; did you mean "items.json"?' in (
        ran.out
    )


def test_the_printed_texts_are_taken_over_and_nothing_else_changes() -> None:
    before = (
        HEAD + "  # the first\n  - name: one\n    text: |\n      old\n\n      old   \n\n"
        "    contains: [x]  # stays\n"
        '  - text: "two"\n    name: two\n\n  - {name: three, contains: [x]}\n  - file: three.txt\n'
    )
    path = Path("tests/a.yaml")
    path.write_text(before, encoding="utf-8")
    ran = run("test", "--update")
    assert ran.code == 0, ran
    assert path.read_text(encoding="utf-8") == (
        HEAD
        + f"  # the first\n  - name: one\n    text: |\n{block(TEXT)}\n    contains: [x]  # stays\n"
        f"  - text: |\n{block(TEXT)}    name: two\n\n"
        "  - {name: three, contains: [x]}\n  - file: three.txt\n"
    )
    assert Path("tests/three.txt").read_text().rstrip("\n") == TEXT
    assert run("test").code == 0


def test_a_quoted_text_may_go_on_at_the_margin() -> None:
    path = cases('  - text: "o\\\n    ld"\n    name: one\n')
    assert run("test", "--update").code == 0
    assert path.read_text(encoding="utf-8") == (f"{HEAD}  - text: |\n{block(TEXT)}    name: one\n")


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("old # why", "| # why"), ("| # why\n      old", "| # why"), ("\"a # b\"", "|"),
        ("old\n    # why", "|{text}\n    # why"),
    ],
)  # fmt: skip
def test_comments_stay_where_a_text_is_taken_over(before: str, after: str, line_end: str) -> None:
    text = "new # text"
    case = "cases:\n  - name: a\n    items: []\n    text: {}\n    lacks: [q]\n"
    path = Path("tests/b.yaml")
    path.write_bytes(case.format(before).replace("\n", line_end).encode())
    (known,) = load_cases(path)
    source = path.read_bytes().decode()
    shown = f"\n      {text}"
    shown = after.format(text=shown) if "{text}" in after else after + shown
    wanted = case.format(shown).replace("\n", line_end)
    assert update_case(source, known, text) == wanted


def test_a_text_within_braces_is_not_touched() -> None:
    path = cases("  - {text: old}\n")
    before = path.read_bytes()
    ran = run("test", "--update")
    assert ran.code == 4 and "tests/a.yaml:5" in ran.err and path.read_bytes() == before


def test_no_update_where_ci_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    path = cases("  - text: old\n")
    monkeypatch.setenv("CI", "1")
    assert run("test", "--update").code == 2
    assert "old" in path.read_text()


@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_any_text_can_be_taken_over(text: str) -> None:
    path = Path("tests/b.yaml")
    path.write_text(
        "# c\ncases:\n  - name: a\n    items: []\n    text: old\n    lacks: [q]\n", encoding="utf-8"
    )
    (case,) = load_cases(path)
    after = update_case(path.read_text(encoding="utf-8"), case, text)
    path.write_text(after, encoding="utf-8", newline="\n")
    (again,) = load_cases(path)
    assert again.keys["text"].rstrip("\n") == text.rstrip("\n")
    assert again.keys["lacks"] == ("q",) and after.startswith("# c\ncases:")


def test_the_cases_of_a_project_are_found_from_outside(folder: Path) -> None:
    assert run("init", "desk").code == 0
    for arguments in (["desk"], ["desk/tests"], ["desk/tests/mine.yaml"]):
        ran = run("test", *arguments)
        assert ran.code == 0 and "2 cases passed" in ran.err, ran


# --- cases of somebody else -----------------------------------------------------------------------


OUTSIDE = ["../../victim.txt", "../victim.txt", "{root}/victim.txt", "link.txt", "up/victim.txt"]


@pytest.fixture
def clone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with cases, and beside it a file of the user's; it is entered."""
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(folder / "home"))
    (folder / "victim.txt").write_text("precious\n")
    (folder / "secret.json").write_text('[{"content": "sesame"}]')
    tests = folder / "clone/tests"
    tests.mkdir(parents=True)
    (tests / "link.txt").symlink_to("../../victim.txt")
    (tests / "up").symlink_to("../..")
    monkeypatch.chdir(folder / "clone")
    return folder


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("update", [[], ["--update"]])
def test_a_case_neither_shows_nor_writes_a_file_outside(
    clone: Path, name: str, update: list[str]
) -> None:
    cases(f"  - {{name: a, file: {name.replace('{root}', str(clone))}}}\n")
    ran = run("test", *update)
    assert ran.code != 0 and "precious" not in ran.out + ran.err
    # Beside the folder of tests a text may be read, and is not written.
    if update or name != "../victim.txt":
        assert "tests/a.yaml:5: file: " in ran.out + ran.err
    if update and name == "../victim.txt":  # it names no flag, since none helps
        assert 'file: "../victim.txt" is outside the folder "' in ran.err
        assert "--allow-outside" not in ran.err
    assert (clone / "victim.txt").read_text() == "precious\n"
    assert not Path("victim.txt").exists()


@pytest.mark.parametrize(
    "case",
    [
        "items: ../../secret.json, lacks: [zzz]",
        "items: {root}/secret.json, contains: [sesame]",
        "items: up/secret.json, contains: [sesame]",
        "templates: [../../other], contains: [x]",
        "profiles: [{root}], contains: [x]",
        "options: {{profile: ../other.yaml}}, contains: [x]",
        "options: {{tokenizer: 'file:../victim.txt'}}, contains: [x]",
        "options: {{tokenizer: 'file:{root}/victim.txt*1.5'}}, contains: [x]",
    ],
)
def test_a_case_names_nothing_outside(clone: Path, case: str) -> None:
    (clone / "other").mkdir()
    (clone / "other.yaml").write_text("max_tokens: 9\n")
    case = case.replace("{root}", str(clone)).replace("{{", "{").replace("}}", "}")
    cases(f"  - {{{case}}}\n")
    ran = run("test")
    assert ran.code == 1 and "tests/a.yaml:5: " in ran.out and "--allow-outside" in ran.out
    assert "sesame" not in re.sub(r"contains: .*", "", ran.out)


def test_what_is_no_text_of_ours_is_not_updated(clone: Path) -> None:
    Path("tests/conftest.py").write_text("import os\n")
    for name in ("conftest.py", "a.yaml"):
        before = Path("tests", name).read_bytes()
        cases(f"  - {{name: a, file: {name}}}\n")
        before = Path("tests", name).read_bytes()
        ran = run("test", "--update")
        assert ran.code == 4 and Path("tests", name).read_bytes() == before, ran
    cases("  - {name: a, file: new.txt}\n")
    assert run("test", "--update").code == 0
    Path("tests/a.yaml").write_text(Path("tests/a.yaml").read_text().replace("x = 1", "x = 2"))
    assert run("test", "--update").code == 0, "it is of an earlier run"
    assert "x = 2" in Path("tests/new.txt").read_text()


def test_a_repository_called_tests_reads_nothing_beside_it(clone: Path) -> None:
    Path("tests/.git").mkdir()
    cases("  - {name: a, items: ../near.json, contains: [x]}\n")
    Path("near.json").write_text('[{"content": "x"}]')
    assert "is outside" in run("test").out
    Path("tests/.git").rmdir()
    assert run("test").code == 0


def test_cases_in_a_home_folder_read_nothing_beside_them(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases("  - {name: a, items: ../near.json, contains: [x]}\n")
    Path("near.json").write_text('[{"content": "x"}]')
    monkeypatch.setenv("HOME", os.getcwd())
    monkeypatch.setenv("USERPROFILE", os.getcwd())
    assert "is outside" in run("test").out


def test_a_project_of_somebody_else_is_trusted_before_its_cases_run(clone: Path) -> None:
    Path("promptforge.toml").write_text("max_tokens = 900\n")
    path = cases("  - {contains: [x]}\n")
    for line in ("test", "test --update", "test tests/a.yaml"):
        ran = run(*line.split())
        assert ran.code == 2 and "nobody has trusted it" in ran.err
        assert "promptforge trust tests" in ran.err and "promptforge trust --own tests" in ran.err
    assert run("trust").code == run("test").code == 0
    path.write_text(path.read_text() + "  - {name: b, lacks: [zzz]}\n")
    assert "something changed after it was trusted" in run("test").err
    assert run("trust", "--own").code == run("test").code == 0


def test_a_mistake_above_all_cases_is_said_with_its_line() -> None:
    options = "options: {profle: mine}\ncases:\n- items: [{content: a}]\n  contains: [a]\n"
    (case,) = parse_cases(options, Path("tests/a.yaml"), lenient=True)
    assert case.problem == 'tests/a.yaml:1: unknown option "profle"; did you mean "profile"?'
