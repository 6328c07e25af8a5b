"""`promptforge prompt`: texts, history and job files in; the text, the request or the account
out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commandline import run
from places import ROOT

import promptforge as pf

GEMINI = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": ["hello"]}]
HISTORY = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
ITEM = {"content": "x = 1", "path": "a.py"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("items.json", [ITEM])
    write("history.json", HISTORY)
    return tmp_path


def write(name: str, value: Any) -> None:
    Path(name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def expected(**parts: Any) -> pf.Prompt:
    return pf.Renderer().prompt([ITEM], **parts)


def test_the_text_goes_to_standard_output() -> None:
    ran = run(
        "prompt",
        "items.json",
        "--system",
        "s",
        "--user",
        "q",
        "--instructions",
        "i",
        "--history",
        "history.json",
    )
    whole = expected(system="s", user="q", instructions="i", history=HISTORY)
    assert (ran.code, ran.out, ran.err) == (0, f"{whole.text}\n", "")


@pytest.mark.parametrize("to", ["roles", "openai", "openai-responses", "anthropic", "gemini"])
def test_a_request_is_printed_as_json(to: str) -> None:
    ran = run("prompt", "items.json", "--system", "s", "--user", "q", "--to", to)
    assert json.loads(ran.out) == expected(system="s", user="q", to=to).request


def test_the_account_is_printed_whole() -> None:
    found = json.loads(run("prompt", "items.json", "--user", "q", "--to", "openai", "--json").out)
    assert found.pop("promptforge") == 1
    same = expected(user="q", to="openai").to_dict()
    for account in (found, same):
        account["context"].pop("build_seconds")
    assert found == json.loads(json.dumps(same))


def test_texts_come_from_files_too_less_their_last_line_end() -> None:
    write("system.md", "be brief\n")
    write("question.txt", "what is\nx?\n")
    ran = run(
        "prompt",
        "items.json",
        "--system-file",
        "system.md",
        "--user-file",
        "question.txt",
        "--to",
        "roles",
    )
    assert (
        json.loads(ran.out) == expected(system="be brief", user="what is\nx?", to="roles").request
    )
    both = run("prompt", "--system", "s", "--system-file", "system.md")
    assert both.code == 2 and "--system and --system-file both give the text" in both.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("h.json", json.dumps(HISTORY)),
        ("h.json", json.dumps({"messages": HISTORY})),
        ("h.json", json.dumps({"contents": GEMINI})),
        ("h.jsonl", "\n".join(map(json.dumps, HISTORY))),
        ("h.yaml", "- {role: user, content: hi}\n- role: assistant\n  content: hello\n"),
    ],
)  # fmt: skip
def test_a_history_is_read_from_any_file_of_messages(name: str, text: str) -> None:
    write(name, text)
    ran = run("prompt", "items.json", "--user", "q", "--history", name, "--to", "roles")
    assert json.loads(ran.out) == expected(user="q", history=HISTORY, to="roles").request


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        (
            "h.jsonl",
            '{"role": "user", "content": "hi"}\n\n{"role": "usr", "content": "x"}',
            "h.jsonl:3",
        ),
        (
            "h.json",
            '[{"role": "user", "content": "hi"},\n {"role": "usr", "content": "x"}]',
            "h.json:2",
        ),
        ("h.yaml", "- {role: user, content: hi}\n- {role: usr, content: x}", "h.yaml:2"),
    ],
)
def test_a_bad_message_is_named_with_file_and_line(name: str, text: str, place: str) -> None:
    write(name, text)
    ran = run("prompt", "--user", "q", "--history", name)
    assert ran.code == 0
    assert ran.err == (
        f'promptforge: warning: {place}: message skipped: role: unknown "usr"; did '
        f'you mean "user"? [PF208]\n'
    )
    strict = run("prompt", "--user", "q", "--history", name, "--strict")
    assert (strict.code, strict.out) == (1, "")


def test_a_job_carries_all_parts_and_flags_win() -> None:
    job = (
        "system: be brief\ninstructions: |\n  one\n  two\nquestion: q\nhistory: history.json\n"
        "items: [items.json]\nprompt_order: [system, context, instructions, history, question]\n"
    )
    write("job.yaml", job)
    order = ["system", "context", "instructions", "history", "question"]
    whole = {
        "system": "be brief",
        "instructions": "one\ntwo\n",
        "history": HISTORY,
        "prompt_order": order,
        "to": "roles",
    }
    assert (
        json.loads(run("prompt", "--job", "job.yaml", "--to", "roles").out)
        == expected(**whole, user="q").request
    )
    ran = run("prompt", "--job", "job.yaml", "--to", "roles", "--user", "other")
    assert json.loads(ran.out) == expected(**whole, user="other").request
    write("job.yaml", job.replace("history: history.json", f"history: {json.dumps(HISTORY)}"))
    assert (
        json.loads(run("prompt", "--job", "job.yaml", "--to", "roles").out)
        == expected(**whole, user="q").request
    )
    assert run("render", "--job", "job.yaml").out == pf.render([ITEM]).text + "\n", (
        "a context has no use for them"
    )


def test_a_prompt_needs_no_items() -> None:
    ran = run("prompt", "--user", "q")
    assert (ran.code, ran.out) == (0, "<question>\nq\n</question>\n")
    assert (
        run("prompt", "--user", "q", stdin=json.dumps(ITEM)).out == expected(user="q").text + "\n"
    )
    nothing = run("prompt")
    assert (nothing.code, nothing.out) == (
        2,
        "",
    ) and "there is nothing to make a prompt of" in nothing.err


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["--user", "q", "--history", "history.json"], "--history"),
        (["--user", "q", "--system", "s"], "--system"),
        (["--instructions-file", "items.json"], "--instructions"),
        (["--job", "job.yaml"], "history"),
    ],
)
def test_a_pipe_beside_other_texts_is_left_alone(arguments: list[str], given: str) -> None:
    write("job.yaml", "question: q\nhistory: history.json\n")
    plain = run("prompt", *arguments)
    ran = run("prompt", *arguments, stdin=json.dumps([ITEM]))
    assert (ran.code, ran.out) == (0, plain.out)
    assert ran.err == (
        f"promptforge: note: <stdin>: not read as items, since {given} is given; the argument -"
        " reads them [PF115]\n"
    )


@pytest.mark.slow
def test_a_pipe_that_stays_open_does_not_keep_the_prompt_waiting() -> None:
    words = [sys.executable, "-m", "promptforge", "prompt", "--system", "s", "--user", "q"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    reader, writer = os.pipe()
    ran = subprocess.run(words, stdin=reader, capture_output=True, env=env, timeout=60, check=True)
    os.close(reader)
    os.close(writer)
    assert ran.stdout.decode() == pf.Renderer().prompt(system="s", user="q").text + "\n"


def test_items_beside_other_texts_are_read_where_they_are_asked_for() -> None:
    items = json.dumps([ITEM])
    ran = run("prompt", "-", "--system", "s", "--user", "q", stdin=items)
    assert ran == (0, expected(system="s", user="q").text + "\n", "")


@pytest.mark.slow
def test_a_device_holds_no_items_of_a_prompt() -> None:
    words = [sys.executable, "-m", "promptforge", "prompt", "--user", "q"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, env=env, check=True)
    assert (ran.stdout, ran.stderr) == (b"<question>\nq\n</question>\n", b"")


def test_words_of_a_list_may_stand_with_commas() -> None:
    once = run("prompt", "items.json", "--user", "q", "--prompt-order", "question,context")
    again = run(
        "prompt",
        "items.json",
        "--user",
        "q",
        "--prompt-order",
        "question",
        "--prompt-order",
        "context",
    )
    assert once.out == again.out and once.out.startswith("<question>")


def test_diff_says_which_part_came_first_that_changed() -> None:
    for name, more in (
        ("a", ["--user", "q"]),
        ("b", ["--user", "other"]),
        ("c", ["--system", "t", "--user", "q"]),
    ):
        given = ["--system", "s", *more, "--cache-after", "context", "--to", "openai", "--json"]
        ran = run("prompt", "items.json", *given, "-o", f"{name}.json")
        assert ran.code == 0
    out = run("diff", "a.json", "b.json").out
    assert (
        "The same from the beginning: system, context; the first part that differs: question\n"
        in out
    )
    assert "The prefix that is marked for caching is the same.\n" in out
    out = run("diff", "a.json", "c.json").out
    assert "The same from the beginning: nothing; the first part that differs: system\n" in out
    assert "The prefix that is marked for caching differs.\n" in out
    found = json.loads(run("diff", "a.json", "b.json", "--json").out)
    assert found["prefix"] == {"same": ["system", "context"], "first": "question", "cached": True}
    assert run("diff", "a.json", "a.json", "--exit-code").code == 0
    assert run("diff", "a.json", "b.json", "--exit-code").code == 1


def test_sets_of_templates_are_listed_and_shown() -> None:
    prompts = {row["name"] for row in json.loads(run("list", "prompts", "--json").out)["prompts"]}
    assert prompts == {"deepseek", "default", "lisp"}
    assert "<user-message{{ boundary }}>" in run("show", "prompt/lisp/prompt.txt.j2").out
    assert "prompt" not in {
        row["name"] for row in json.loads(run("list", "layouts", "--json").out)["layouts"]
    }


def test_a_failed_template_ends_with_5_and_the_shipped_one_in_its_place() -> None:
    folder = Path("own/prompt/default")
    folder.mkdir(parents=True)
    (folder / "question.txt.j2").write_text("{{ nothing }}")
    ran = run("prompt", "--user", "q", "--templates", "own")
    assert (ran.code, ran.out) == (5, "<question>\nq\n</question>\n")
    assert "PF401" in ran.err


def test_one_text_or_the_history_may_come_from_standard_input() -> None:
    assert (
        run("prompt", "items.json", "--user-file", "-", stdin="q\n").out
        == expected(user="q").text + "\n"
    )
    assert (
        run("prompt", "--system-file", "-", stdin="s").out
        == pf.Renderer().prompt(system="s").text + "\n"
    )
    whole = expected(user="q", history=HISTORY)
    assert (
        run("prompt", "items.json", "--user", "q", "--history", "-", stdin=json.dumps(HISTORY)).out
        == f"{whole.text}\n"
    )
    twice = run("prompt", "-", "--user-file", "-", "--history", "-", stdin="[]")
    assert (twice.code, twice.out) == (2, "")
    assert "ITEMS and --user-file and --history name it" in twice.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--user", "q", "--to", "opena"], 2, 'there is no "opena" here; did you mean "openai"?'),
        (["--user", "q", "--user-file", "items.json"], 2, "both give the text"),
        (["--user", "q", "-o", "folder"], 4, "folder"),
        (["--user", "q", "-o", ""], 2, "--output: the name is empty"),
        (["--nonsense"], 2, "nonsense"),
        (["--user", "q", "--context-window", "3"], 3, "the prompt needs 32 tokens"),
    ],
)
def test_errors_are_json_too_where_json_is_asked_for(
    arguments: list[str], code: int, said: str
) -> None:
    Path("folder").mkdir()
    ran = run("prompt", "items.json", *arguments, "--json")
    found = json.loads(ran.out)
    assert (
        ran.code == code
        and said in found["error"]["message"]
        and found["error"]["message"] in ran.err
    )


def test_a_prompt_without_a_question_is_said() -> None:
    said = "promptforge: note: the prompt asks nothing; --user gives the question\n"
    assert run("prompt", "items.json", "--system", "s").err == said
    assert run("prompt", "items.json", "-q").err == ""
    for words in (["--user", "q"], ["--instructions", "Sum up."], ["--history", "history.json"]):
        assert run("prompt", "items.json", *words).err == ""


@pytest.mark.parametrize(
    ("command", "flag", "way_out"),
    [
        ("prompt", "--question", 'did you mean "--user"?'),
        ("prompt", "--ask", 'did you mean "--user"?'),
        ("render", "--question", 'did you mean "--query"?'),
        ("render", "--user", "the command `prompt` takes it"),
        ("explain", "--system", "the command `prompt` takes it"),
    ],
)
def test_a_flag_of_another_name_or_command_is_told(command: str, flag: str, way_out: str) -> None:
    ran = run(command, "items.json", flag, "x")
    assert ran.code == 2 and f'there is no option "{flag}"; {way_out}' in ran.err


def test_an_order_without_the_parts_that_are_given_is_told() -> None:
    ran = run("prompt", "--prompt-order", "system", "--user", "q")
    assert ran.code == 2
    assert "nothing to make a prompt of: prompt_order has no place for the question" in ran.err
    assert "give items" not in ran.err


@pytest.mark.parametrize("flag", ["--user", "--system", "--instructions"])
def test_a_text_that_names_a_file_as_for_curl_is_said(flag: str, folder: Path) -> None:
    ran = run("prompt", "--user", "What?", flag, "@nope.txt")
    assert ran.code == 0 and "@nope.txt" in ran.out
    assert f"warning: {flag} is this text; {flag}-file nope.txt reads a file" in ran.err
    assert run("prompt", "--user", "@alice what is a.py?").err.count("-file") == 0
