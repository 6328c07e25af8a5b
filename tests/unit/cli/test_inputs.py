"""Command lines that cannot be run: one line that says why, and the exit code."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import pytest
from commandline import ITEM, run, said, write

import promptforge as pf


@pytest.fixture(autouse=True)
def _items(folder: Path) -> None:
    write("items.json", [ITEM])


def test_2_an_option_that_takes_another_value() -> None:
    said(run("render", "items.json", "--max-tokens", "few"), 2, "max_tokens", '"few"')
    said(run("render", "items.json", "--min-score", "2"), 2, "min_score", "0 to 1")
    said(run("render", "items.json", "--trim", "strcture"), 2, 'did you mean "structure"')
    said(run("render", "items.json", "-p", "claud"), 2, 'did you mean "claude"')
    said(run("render", "items.json", "--tokenizer", "o200k"), 2, 'did you mean "o200k_base"')


def test_2_a_command_or_option_that_does_not_exist_and_the_nearest_that_does() -> None:
    said(run("rendr"), 2, '"rendr"', 'did you mean "render"')
    said(run("render", "items.json", "--max-token", "3"), 2, "--max-token", "--max-tokens")
    said(run("--versio"), 2, "--versio")
    said(run("list", "layout"), 2, "layouts")
    said(run("schema", "layouts"), 2, 'did you mean "layout"?')
    said(run("show"), 2, "NAME")


def test_2_nothing_to_do() -> None:
    said(run("render"), 2, "nothing to render")
    said(run("count"), 2, "nothing to count")


def test_2_no_command_at_all_is_answered_with_the_help() -> None:
    ran = run()
    assert (ran.code, ran.out) == (2, "")
    assert "render" in ran.err and "Exit codes" in ran.err


def test_3_what_is_required_does_not_fit_and_json_says_by_how_much() -> None:
    write("req.json", [{"content": "word " * 50, "required": True}])
    said(run("render", "req.json", "--max-tokens", "3"), 3, "budget is 3")
    ran = run("render", "req.json", "--max-tokens", "3", "--json")
    error = json.loads(ran.out)["error"]
    assert ran.code == 3
    assert (error["code"], error["largest"]) == ("budget", 3)
    assert run("render", "req.json", "--max-tokens", error["needed"]).code == 0
    assert run("render", "req.json", "--max-tokens", error["needed"] - 1).code == 3


BAD = {
    "nope.json": None,
    "broken.json": "[{",
    "broken.jsonl": "nothing\nof it\n",
    "broken.yaml": "a: [",
    "number.json": "[" + "9" * 5000 + "]",
    "deep.json": "[" * 100_000,
    "nul.json": "\x00\x01",
    "items_is_no_list.json": '{"items": 5}',
}


@pytest.mark.parametrize("name", BAD)
def test_4_items_that_cannot_be_read(name: str) -> None:
    content = BAD[name]
    if content is not None:
        write(name, content)
    said(run("render", name), 4, name)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--file", "nope.py"], "nope.py"),
        (["--file", "items.json:5-2"], "items.json:5-2"),
        (["--file", "../../nowhere/at-all"], "no folder nowhere either"),
        (["--doc", "."], "folder"),
        (["--doc", "nope.md"], "nope.md"),
        (["--man", "no-such-page-at-all"], "no-such-page-at-all"),
        (["--man", "-w"], "-w"),
        (["--technique", "T9001"], "--attack"),
        (["--technique", "T1", "--attack", "nope.json"], "nope.json"),
        (["--job", "nope.yaml"], "nope.yaml"),
        (["/dev/zero"], "not a file"),
    ],
)
def test_4_a_source_that_cannot_be_had(arguments: list[str], word: str) -> None:
    said(run("render", *arguments), 4, word)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["nope.txt"], "nope.txt"), (["/dev/zero"], "not a file")],
)
def test_4_a_file_that_cannot_be_counted(arguments: list[str], word: str) -> None:
    said(run("count", *arguments), 4, word)


SAID: dict[str, tuple[int, str]] = {
    # a command line → its exit code, and what the one line on standard error says
    "render": (2, "nothing to render: name a file of items or a folder, pipe items in, or use"),
    "explain": (2, "nothing to render: name a file of items"),
    "prompt": (2, "nothing to make a prompt of: give items, or system"),
    "count": (2, "nothing to count: name a file or a folder, or pipe a text in"),
    "check": (2, "nothing to check: there is neither ./templates nor ./profiles"),
    "test": (2, "there is no folder ./tests; name a file of cases"),
    "diff": (2, "A is missing: promptforge diff [OPTIONS] A B [ITEMS]..."),
    "diff a": (2, "B is missing"),
    "diff a b": (2, '"a" is neither a file nor options such as profile=claude'),
    "show": (2, "NAME is missing: promptforge show [OPTIONS] NAME"),
    "show nothing": (2, "`promptforge list` and `promptforge list templates` print all names"),
    "show claud": (2, 'did you mean "claude"?'),
    "show dir": (2, "it is a file or folder, and show takes names"),
    "new": (2, "one of layout, format, kind, prompt, profile is missing: promptforge new"),
    "new thing x": (
        2,
        'there is no "thing" here; there are: format, kind, layout, profile, prompt',
    ),
    "new layout": (2, "NAME is missing: promptforge new"),
    "new layout x --from contxt": (2, 'did you mean "context"?'),
    "new kind x --layout knowledge --from documnt": (2, 'did you mean "document"?'),
    "list layouts formats": (2, "unexpected arguments: formats (see promptforge list --help)"),
    "render items.json --split many -o x": (2, '--split takes a number of tokens, as 8k; got "ma'),
    "render items.json --split 5 -o x": (3, 'no room for any of "a.py"; raise max_tokens (--split'),
    "render items.json --git-log -1": (2, "--git-log takes a whole number from 0 up; got -1"),
    "preview --port 80": (2, "--port takes a whole number from 1,024 to 65,535; got 80"),
    "batch x.jsonl -o y -j many": (2, '--workers takes a whole number from 1 up; got "many"'),
    "list layuts": (2, 'did you mean "layouts"?'),
    "rule PFXXX": (2, "`promptforge rule` lists them"),
    "completion csh": (2, 'there is no "csh" here'),
    "batch": (2, "INPUT is missing: promptforge batch"),
    "rendr": (2, 'there is no command "rendr"; did you mean "render"?'),
    "render --layot x": (2, 'there is no option "--layot"; did you mean "--layout"?'),
    "render a.py -outline": (2, 'there is no option "-outline"; did you mean "--outline"?'),
    "render a.py -format=xml": (2, 'no option "-format"; did you mean "--format"?'),
    "render a.py -formt xml": (2, 'no option "-formt"; did you mean "--format"?'),
    "render a.py -profile claude": (2, 'no option "-profile"; did you mean "--profile"?'),
    "render a.py -model gpt": (2, 'no option "-model"; did you mean "--profile"?'),
    "render a.py -user x": (2, 'no option "-user"; the command `prompt` takes it'),
    "render a.py -qz": (2, 'there is no option "-z"'),
    "render a.py -help": (2, 'no option "-help"; did you mean "--help"?'),
    "render -oops.py a.py": (2, 'there is no option "-oops.py"; write ./-oops.py for the file'),
    "render -- -outline": (4, "-outline: cannot read it"),
    "render a.py --max-t 5": (2, 'did you mean "--max-tokens"?'),
    "explain a.py --max 5": (2, "these begin so: --max-tokens, --max-chars, --max-items"),
    "-version": (2, 'did you mean "--version"?'),
    "--model gpt a.py": (2, "a command comes first: promptforge render --model"),
    "help rendr": (2, 'there is no command "rendr"; did you mean "render"?'),
    "render . --compress": (2, 'there is no option "--compress"; did you mean "--outline"?'),
    "render . --output-style xml": (2, 'did you mean "--format"?'),
    "render . --encoding cl100k": (2, 'did you mean "--tokenizer"?'),
    "render . --glob *.py": (2, 'did you mean "--include"?'),
    "render . -type py": (2, 'did you mean "--include"?'),
    "render . --include-diffs": (2, 'did you mean "--git-diff"?'),
    "render . --remove-comments": (2, 'did you mean "--no-comments"?'),
    "render . --no-security-check": (2, 'did you mean "--no-secret-scan"?'),
    "render . --no-files": (2, 'did you mean "--no-code"?'),
    "render . -n": (2, 'did you mean "--lines"?'),
    "render . -i *.py": (2, 'there is no option "-i"; did you mean "--include"?'),
    "count . --token-count-tree": (2, 'did you mean "--tree"?'),
    "items.json": (2, 'there is no command "items.json"; did you mean "render items.json"?'),
    "render --layout": (2, "--layout needs a value"),
    "render items.json --templates items.json": (
        2,
        '--templates takes a folder, and "items.json" is a file',
    ),
    "render items.json --templates nowhere": (2, '--templates: there is no folder "nowhere"'),
    "render items.jsn": (4, 'no such file or directory; did you mean "items.json"?'),
    "render dir": (4, "dir: a folder without files to read\n"),
    "render all": (4, "all: a folder without files to read; --ignored reads what git ignores"),
    "render *.none": (4, "*.none: no file matches this pattern"),
    "render --technique T1 --technique T2": (4, "T1, T2: techniques need --attack PATH"),
    "render items.json --attack nope.json": (2, "--technique T1003 takes one of it"),
    "render --attack nope.json": (2, "--attack names the collection"),
    "render items.json --name a.py": (2, "--name names standard input, which is not read"),
    "render items.json --workspace nope": (2, '--workspace: there is no folder "nope"'),
    "render items.json --workspace items.json": (2, "--workspace takes a folder"),
    "render @": (4, "@: cannot read it: no such file"),
    "render -a.py": (2, 'there is no option "-a.py"; write ./-a.py for the file'),
    "render a.py -o a.py/b.md": (4, 'a.py/b.md: "a.py" is a file, not a folder'),
    "render a.py --profile ./items.json": (2, "neither a profile's name nor a .yaml file"),
    "render items.json --layout chnks": (2, 'did you mean "chunks"?'),
    "prompt items.json --user x --history dir": (4, "dir: not a file but a folder"),
    "prompt items.json --user x --to openi": (2, 'did you mean "openai"?'),
    "explain locked.json": (4, "locked.json: cannot read it: permission denied"),
    "count nope.txt": (4, "nope.txt: cannot read it: no such file or directory"),
    "check nope": (2, 'there is no file or folder "nope"'),
    "check items.json": (
        2,
        "neither a template (.j2), a layout.yaml nor a profile (.yaml); files of items are for",
    ),
    "check items.yaml": (2, "it holds items, which `promptforge render` takes"),
    "check cases.yaml": (2, "it holds cases, which `promptforge test` takes"),
    "check job.yaml": (2, "it is a job: `promptforge render --job`"),
    "check dir": (2, "or profiles; a template is dir/LAYOUT/item.md.j2"),
    "test nope": (2, 'there is no file or folder "nope"'),
    "test dir": (2, "holds no file of cases (`cases:` in a .yaml file)"),
    "test items.yaml": (4, "a file of cases has the key `cases` with a list"),
}


@pytest.mark.parametrize("line", SAID)
def test_what_is_said_of_a_command_line_that_cannot_be_run(line: str) -> None:
    code, words = SAID[line]
    for name, text in (
        ("items.yaml", "- {content: x}"),
        ("cases.yaml", "cases: []"),
        ("job.yaml", "knowledge: {}"),
        ("a.py", "x = 1"),
        ("-a.py", "x = 1"),
        ("-oops.py", "x = 1"),
        ("all/.gitignore", "*"),
        ("all/a.py", "x = 1"),
        ("locked.json", "[]"),
    ):
        write(name, text)
    Path("dir").mkdir()
    Path("locked.json").chmod(0)
    if "locked" in line and os.access("locked.json", os.R_OK):
        pytest.skip("whoever runs the tests may read everything")
    ran = run(*line.split())
    said(ran, code, words)
    assert ran.err.count("\n") == 1 and "Error" not in ran.err


def test_2_a_layout_or_format_that_is_not_there() -> None:
    said(run("render", "items.json", "--layout", "chnks"), 2, 'did you mean "chunks"')
    said(run("render", "items.json", "--format", "markdwn"), 2, 'did you mean "markdown"')


def test_2_a_name_that_show_does_not_know() -> None:
    said(run("show", "chunks/item.md.j"), 2, 'did you mean "chunks/item.md.j2"')
    said(run("show", "items.json"), 2, "it is a file")


def test_5_a_template_of_the_users_that_does_not_compile() -> None:
    write("own/mine/layout.md.j2", "fine\n{% if %}\n")
    said(
        run("render", "items.json", "--templates", "own", "--layout", "mine"),
        5,
        "mine/layout.md.j2:2",
    )


def test_5_a_template_of_the_users_that_fails_is_replaced_by_the_shipped_one() -> None:
    write("own/chunks/item.md.j2", "{{ itm.content }}")
    ran = run("render", "items.json", "--templates", "own")
    assert (ran.code, ran.out) == (5, pf.render([ITEM]).text + "\n")
    assert "chunks/item.md.j2:1" in ran.err and "itm" in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ("max_tokns: 3\nitems: [items.json]\n", 4, ("job.yaml:1", 'did you mean "max_tokens"')),
        ("knowledge:\n  documnts: [a]\n", 4, ("job.yaml:2", 'did you mean "documents"')),
        ("profile: 5\nitems: [items.json]\n", 4, ("job.yaml:1", "profile")),
        ("items: [items.json\n", 4, ("job.yaml:", "YAML")),
        ("- a\n", 4, ("job.yaml:1", "keys")),
        ("<context><documnts/></context>", 4, ("job.yaml:1", 'did you mean "documents"')),
        ("<context>\n<documents>", 4, ("job.yaml:2", "XML")),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><context/>", 4, ("job.yaml:1", "DOCTYPE")),
    ],
)
def test_a_job_that_is_wrong(content: str, code: int, words: tuple[str, ...]) -> None:
    write("job.yaml", content)
    said(run("render", "--job", "job.yaml"), code, *words)


def test_a_bad_value_in_a_job_is_left_out_and_said() -> None:
    write("job.yaml", "items: [items.json]\nformat: 5\n")
    ran = run("render", "--job", "job.yaml")
    assert ran.code == 0
    assert ran.out
    assert ran.err.startswith("promptforge: warning: job.yaml:2: format takes ")
    assert ran.err.endswith("; left out [PF101]\n")
    assert run("render", "--job", "job.yaml", "--strict").code == 1


@pytest.mark.parametrize("command", ["render", "prompt"])
def test_the_question_of_a_job_chooses_as_a_query_does(command: str) -> None:
    items = [{"path": "a.md", "content": "Orders are refunded within 30 days."}]
    items += [{"path": "b.md", "content": "The shop opens at nine."}]
    job = {"question": "when does the shop open", "items": items, "max_tokens": 20}
    write("job.json", json.dumps(job))
    ran = run(command, "--job", "job.json")
    assert ran.code == 0 and "opens at nine" in ran.out and "30 days" not in ran.out


def test_records_without_a_text_are_bad_input() -> None:
    write("hits.json", '[{"id": 1, "score": 0.5, "payload": {"year": 1999}}]')
    said(
        run("render", "hits.json"), 4, "hits.json:1", "Qdrant point with id, score, payload (year)"
    )


def test_an_error_as_json_is_one_object() -> None:
    ran = run("render", "nope.json", "--json")
    error = json.loads(ran.out)
    assert (ran.code, error["promptforge"], error["error"]["code"]) == (4, 1, "item")
    assert ran.err == f"promptforge: {error['error']['message']}\n"
    assert error["error"]["where"] == "nope.json"


@pytest.mark.parametrize(
    "arguments",
    [["render", "\x1b[31m\nforged: line"], ["show", "\x1b[31m\nforged: line"], ["\x1b[2J"]],
)
def test_no_message_moves_the_terminal_or_forges_a_line(arguments: list[str]) -> None:
    ran = run(*arguments)
    assert ran.code in (2, 4, 5)
    assert ran.err.count("\n") == 1 and "\x1b" not in ran.err


@pytest.mark.parametrize(
    "line",
    [
        ["render", ""], ["render", "--file", ""], ["render", "items.json", "-p", ""],
        ["render", "items.json", "-o", ""], ["init", ""], ["check", ""], ["test", ""],
        ["count", ""], ["batch", "", "-o", "x"], ["preview", ""],
        ["mcp", "-p", ""], ["new", "layout", "mine", "--from", ""], ["trust", ""], ["show", ""],
    ],
    ids=" ".join,
)  # fmt: skip
def test_2_an_empty_name_which_would_be_the_folder_here(line: list[str]) -> None:
    said(run(*line), 2, "the name is empty; is a shell variable unset?")
    assert sorted(os.listdir()) == ["items.json"]


def test_2_a_flag_where_a_name_belongs() -> None:
    for line in (
        ["explain", "items.json", "--html", "-o", "page.html"],
        ["render", "items.json", "-o", "-q"],
    ):
        said(run(*line), 2, f"{line[3]} is a flag; write ./{line[3]} for a file of this name")
    assert sorted(os.listdir()) == ["items.json"]
    assert run("render", "items.json", "-o", "./-o").code == 0 and Path("-o").exists()


def test_2_an_address_that_mcp_cannot_use() -> None:
    pytest.importorskip("mcp")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said(run("mcp", "--http", port), 2, "--http", port, "cannot be used", "in use")
    said(run("mcp", "--http", "256.1.1.1:9000"), 2, "256.1.1.1:9000 cannot be used")


def test_2_a_name_that_is_too_long() -> None:
    said(run("new", "layout", "x" * 300), 2, "it has 300 characters; at most 64 are allowed")
    assert sorted(os.listdir()) == ["items.json"]


def test_a_profile_on_the_command_line_wins_over_that_of_a_job() -> None:
    Path("job.yaml").write_text("items: items.json\nprofile: claude\n")
    for flags, name in (([], "claude"), (["-p", "gpt"], "gpt")):
        assert (
            json.loads(run("render", "--job", "job.yaml", "--json", *flags).out)["profile"] == name
        )


def test_a_list_among_the_temporary_files_names_files_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top, work = tmp_path / "temporary", tmp_path / "work"
    for folder in (top / "clone", work):
        folder.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(top))
    monkeypatch.chdir(work)
    (work / "a.py").write_text("x = 1\n")
    (tmp_path / "victim.txt").write_text("precious")
    for folder in (top, top / "clone"):  # a clone's author wrote the second
        (folder / "list").write_text("a.py\n")
    assert "x = 1" in run("render", "--files-from", str(top / "list")).out
    assert "x = 1" in run("render", f"@{top / 'list'}").out
    assert run("render", "--files-from", str(top / "clone/list")).code == 4
    (top / "list").write_text("../victim.txt\n")
    ran = run("render", "--files-from", str(top / "list"))
    assert ran.code == 4 and "precious" not in ran.out


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="its names are Unicode")
@pytest.mark.parametrize("end", ["\n", "\0"])
def test_a_list_names_files_of_any_bytes(end: str) -> None:
    for name, text in {b"lat\xe9.py": "x = 1\n", "größe.py".encode(): "y = 2\n"}.items():
        Path(os.fsdecode(name)).write_text(text)
    names = b"lat\xe9.py" + end.encode() + "größe.py".encode() + end.encode()
    ran = run("render", "--files-from", "-", stdin=names)
    assert "x = 1" in ran.out and "y = 2" in ran.out and "PF606" not in ran.err
    Path("list").write_bytes(names)
    assert run("render", "@list").out == ran.out


@pytest.mark.skipif(sys.platform == "win32", reason="no such names there")
def test_a_list_of_git_names_files_that_it_quotes() -> None:
    for name, text in {"größe.py": "x = 1\n", 'a"b\\c.py': "y = 2\n", '"d.py"': "z = 3\n"}.items():
        Path(name).write_text(text)
    names = '"gr\\303\\266\\303\\237e.py"\n"a\\"b\\\\c.py"\n"d.py"\n"no\\000ne.py"\n'
    ran = run("render", "--files-from", "-", stdin=names)
    assert "x = 1" in ran.out and "y = 2" in ran.out and "z = 3" in ran.out
    assert ran.err.count("left out") == 1
    Path("x").mkdir()
    Path("b.py").write_text("not named")
    for end in ("\\n", "\\013", "\\342\\200\\250"):  # each would make two names of one
        ran = run("render", "--files-from", "-", stdin=f'"x{end}b.py"\n')
        assert "not named" not in ran.out and "cannot read it" in ran.err
    Path("list").write_text('"..\\057victim.txt"\n')
    assert run("render", "@list").code == 4


@pytest.mark.parametrize("command", ["count", "render", "explain", "prompt"])
def test_standard_input_is_no_two_sources(command: str) -> None:
    ran = run(command, "-", "-", stdin="[]")
    assert (ran.code, ran.out) == (2, "")
    assert "only one input can be standard input, and " in ran.err and " names it twice" in ran.err


def test_an_option_around_the_context_of_an_xml_job_is_said() -> None:
    Path("a.md").write_text("words\n")
    documents = "<context><documents>a.md</documents></context>"
    Path("job.xml").write_text(f"<bot><max_tokens>100</max_tokens>{documents}</bot>")
    ran = run("render", "--job", "job.xml")
    assert ran.code == 0 and "warning: job.xml:1: <max_tokens> outside of <context>" in ran.err


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_job_may_come_through_a_pipe(name: str) -> None:
    write("a.py", "x = 1\n")
    ran = run("render", "--job", name, stdin="files: [a.py]\n")
    assert ran.code == 0 and "x = 1" in ran.out
    ran = run("render", "--job", name, stdin="files: [../a.py]\n")
    assert ran.code == 4 and ran.err.startswith("promptforge: <stdin>:1: files: ")
    assert run("render", "-", "--job", "-", stdin="files: [a.py]\n").code == 2


TEXTS = {
    "tsconfig.json": "// settings\n{}\n",
    "compose.yaml": "x: &x 1\ny: *x\n",
    "k8s.yml": "kind: A\n---\nkind: B\n",
    "stack.yaml": "x: !Ref y\n",
    "values.json": "[1, 2]\n",
    "rows.jsonl": '{"a": 1}\n{"a": 2}\n',
    "package.json": '{"name": "x"}\n',
    "items.yaml": "- content: a\n",
    "hits.csv": "content,score\nIt is closed.,0.5\n",
}
ITEM_FILES = {
    "cut.json": '[{"content": "a"}, {"con',
    "list.yaml": "- content: a\n  name: &n b\n",
    "records.jsonl": '{"id": 1, "text": 5, "score": }\n',
    "vectors.json": '[{"embedding": [' + "0.25, " * 3000 + '1], "content": "a"}, {"emb',
}


@pytest.mark.parametrize("name", [*TEXTS, *ITEM_FILES])
def test_a_file_of_data_among_texts_is_one(name: str) -> None:
    text = {**TEXTS, **ITEM_FILES}[name]
    texts = [f"{letter}.py" for letter in "abcd"]
    for each in texts:
        write(each, f"x = '{each}'\n")
    write(name, text)
    way_out = f"`--file {name}` takes it as a text"
    ran = run("render", "a.py", name)  # beside one text a slip in the keys of items is no text
    assert (way_out in ran.err) == (name not in ("items.yaml", "hits.csv"))
    write("list", "\n".join([*texts, name]))
    expected = run("render", "@list", "--max-tokens", "none")
    assert text.strip() in expected.out
    ran = run("render", *texts, name, "--max-tokens", "none")  # as of `git ls-files | xargs`
    assert (ran.code, ran.out) == (0, expected.out)
    assert ran.err == (
        f"promptforge: note: read as text among 5 files: {name};"
        " with --file before each text they are read as items [PF201]\n"
    )
    ran = run("render", *(f"--file={each}" for each in texts), name)
    assert "among" not in ran.err


def test_standard_input_among_texts_is_items() -> None:
    texts = [f"{letter}.py" for letter in "abcd"]
    for each in texts:
        write(each, "x = 1\n")
    ran = run("render", *texts, "-", stdin='[{"content": "one", "name": "hit"}]')
    assert "### hit" in ran.out and "among" not in ran.err


@pytest.mark.parametrize("name", ["a.py", "package.json", "hits.csv", "a.pdf.txt"])
def test_a_line_of_a_file_is_named_as_compilers_and_addresses_name_it(name: str) -> None:
    write(name, "".join(f'{{"content": {n}}},\n' for n in range(1, 8)))
    ranges = {
        "2": (":2", ":2:7", ":2:7:", ":2:", ":2:7-9", "#L2", "#L2C4"),
        "2-4": (":2-4", "#L2-L4", "#L2-4", "#L2C1-L4C9"),
    }
    for lines, ways in ranges.items():
        expected = run("render", f"{name}:{lines}")
        assert expected.code == 0 and '"content": 2' in expected.out
        assert '"content": 5' not in expected.out
        for way in ways:
            ran = run("render", name + way)
            assert (way, ran.out, ran.err) == (way, expected.out, expected.err)
    write(f"{name}#L2", "whole")
    assert "whole" in run("render", "--file", f"{name}#L2").out
