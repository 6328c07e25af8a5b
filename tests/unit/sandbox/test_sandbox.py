"""The sandbox gives the same answers; nothing in it can stay, grow or reach anything."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from commandline import python
from example_counts import rounds
from places import ROOT

import promptforge as pf
from promptforge.errors import ItemError, OptionError, PromptForgeError, StrictError, TemplateError
from promptforge.sandbox import Sandbox

ITEMS = [
    {
        "content": "x = 1",
        "path": "a.py",
        "kind": "code",
        "start_line": 1,
        "end_line": 1,
        "score": 0.9,
    },
    {
        "content": "Words, and a lone surrogate: \ud800. " * 40,
        "name": "guide",
        "kind": "document",
        "score": 0.5,
    },
]
LIAR = """
import json, struct, sys

def send(text):
    data = text.encode("utf-8", "surrogatepass")
    sys.stdout.buffer.write(struct.pack("!I", len(data)) + data)
    sys.stdout.buffer.flush()

send('{"memory": true}')
while head := sys.stdin.buffer.read(4):
    request = json.loads(sys.stdin.buffer.read(*struct.unpack("!I", head)))
    if request["task"] == "echo":
        send(json.dumps({"value": request["argument"]}))
        continue
    for text in ['{"begin": true}', *request["argument"]]:
        send(text)
    break
"""
"""A worker that answers what it is told to: it imports nothing of ours, and so starts at once."""
PAGE = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(seconds=60) as one:
        yield one


def call_is_under_way(sandbox: Sandbox) -> None:
    """Wait until a template runs."""
    until = time.monotonic() + 60
    while sandbox._worker is None or not sandbox._worker._begun:
        assert time.monotonic() < until
        time.sleep(0.01)


def plain(result: pf.Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps({**result.to_dict(), "build_seconds": 0}))
    return found


# --- what it is for ---


@pytest.mark.parametrize(
    "options", [{}, {"layout": "knowledge", "format": "xml", "max_tokens": 60}, {"format": "json"}]
)
def test_a_rendering_is_the_same_on_either_side(sandbox: Sandbox, options: dict[str, Any]) -> None:
    ours = pf.render(ITEMS, **options)
    theirs = sandbox.render(ITEMS, **options)
    assert {**theirs, "build_seconds": 0} == plain(ours)


def test_templates_come_as_texts_or_as_folders(sandbox: Sandbox, tmp_path: Path) -> None:
    texts = {"own/layout.txt.j2": PAGE, "own/item.txt.j2": "one: {{ item.title }}"}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    wanted = "one: a.py\none: guide\n"
    places: list[Any] = [
        texts,
        tmp_path,
        str(tmp_path),
        [tmp_path],
        [{"own/item.txt.j2": texts["own/item.txt.j2"]}, tmp_path],
    ]
    for templates in places:
        assert (
            sandbox.render(ITEMS, templates=templates, layout="own", format="plain")["text"]
            == wanted
        )
        assert pf.render(ITEMS, templates=templates, layout="own", format="plain").text == wanted
    (tmp_path / "own/item.txt.j2").write_text("two: {{ item.title }}")
    assert (
        "two: a.py"
        in sandbox.render(ITEMS, templates=tmp_path, layout="own", format="plain")["text"]
    )


def test_a_profile_of_a_folder_is_used(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("max_tokens: 20\n")
    for count in (20, 10):
        (tmp_path / "mine.yaml").write_text(f"max_tokens: {count}\n")
        assert sandbox.render(ITEMS, profile="mine", profiles=tmp_path)["max_tokens"] == count


def test_errors_come_back_as_they_were_raised(sandbox: Sandbox) -> None:
    with pytest.raises(
        OptionError, match='there is no layout "chunk"; did you mean "chunks"'
    ) as wrong:
        sandbox.render(ITEMS, layout="chunk")
    assert wrong.value.option == "layout"
    with pytest.raises(pf.BudgetError) as over:
        sandbox.render([{"content": "many words " * 50, "required": True}], max_tokens=5)
    assert over.value.needed > over.value.largest == 5
    with pytest.raises(StrictError) as strict:
        sandbox.render([7], strict=True)  # type: ignore[list-item]
    assert [type(d) for d in strict.value.diagnostics] == [pf.Diagnostic] * len(
        strict.value.diagnostics
    )
    with pytest.raises(TemplateError) as failed:
        sandbox.render(
            ITEMS,
            templates={"own/layout.txt.j2": "x\n{{ itms }}", "own/item.txt.j2": "x"},
            layout="own",
            format="plain",
        )
    assert failed.value.where == "own/layout.txt.j2:2"


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"../x.j2": "x"}, "is no name of a template"),
        ({"a/\n.j2": "x"}, "is no name of a template"),
        ({"a/item.txt.j2": "x" * 300_000}, "is larger than 256 kB"),
        ({"a/item.txt.j2": "\ud800"}, "half of a surrogate pair"),
        ({f"a/{n}.txt.j2": "x" for n in range(2001)}, "more than 2000"),
    ],
)
def test_texts_that_no_folder_could_hold_are_refused(
    sandbox: Sandbox, texts: dict[str, str], words: str
) -> None:
    with pytest.raises(TemplateError, match=words):
        sandbox.render(ITEMS, templates=texts)
    with pytest.raises(TemplateError, match=words):
        pf.render(ITEMS, templates=texts)


# --- what it holds ---


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "argument", "words"),
    [
        ("forever", None, "ran for more than 0.3 s and were stopped"),
        ("hoard", 2 << 30, "took more than 512 MiB and were stopped"),
        pytest.param(
            "shout", 5 << 20, "made more than 4 MiB and were stopped", marks=pytest.mark.slow
        ),
        ("end", 3, r"ended the process that they ran in \(exit code 3\)"),
        pytest.param(
            "fail",
            None,
            "the templates failed: BaseException: not even an Exception",
            marks=pytest.mark.slow,
        ),
        pytest.param("nest", 50_000, "the templates", marks=pytest.mark.slow),
        pytest.param(
            "drip", None, "gave no answer within 0.6 s and were stopped", marks=pytest.mark.slow
        ),
        pytest.param("nowhere", None, "AttributeError", marks=pytest.mark.slow),
    ],
)
def test_whatever_happens_behind_it_the_next_call_is_right(
    task: str, argument: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 0.3 if task in ("forever", "drip") else 60
    with Sandbox(seconds=seconds, answer=4 << 20) as sandbox:
        assert sandbox.call("misbehaving_tasks:echo", [1, "two", None, 3.5]) == [
            1,
            "two",
            None,
            3.5,
        ]
        if task == "hoard" and not sandbox.limits_memory:
            pytest.skip("this system does not limit the memory of a process")
        for _ in range(2):
            with pytest.raises(TemplateError, match=words), monkeypatch.context() as patched:
                if task == "drip":  # it takes no processor time
                    patched.setattr("promptforge.sandbox.MAX_IDLE_SECONDS", 0.3)
                sandbox.call(f"misbehaving_tasks:{task}", argument)
            assert sandbox.call("misbehaving_tasks:echo", "still there") == "still there"


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        *(
            "[]",
            "1",
            "null",
            '"begin"',
            "{}",
            "\ud800",
            "[" * 50_000,
            '{"value": 1',
            '{"begin": 1}',
        ),
        *('{"begin": true}', '{"error": 1}', '{"error": "X", "message": []}', '{"retire": 0}'),
        *(
            f'{{"error": "{error}", "message": "x", "facts": {facts}}}'
            for error in ("TemplateError", "BudgetError", "StrictError", "ItemError")
            for facts in (
                "[]",
                "1",
                "null",
                '{"where": 1}',
                '{"needed": "1"}',
                '{"diagnostics": 1}',
            )
        ),
    ],
)
def test_a_worker_that_lies_makes_no_other_error(
    answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptforge.sandbox._PROGRAM", LIAR)
    with Sandbox() as sandbox:
        for said in ([answer], [answer, answer], ["{}", '{"value": "a lie"}']):
            with pytest.raises(TemplateError, match="the templates "):
                sandbox.call("lie", said)
            assert sandbox.call("echo", "still there") == "still there"


@pytest.mark.slow
@pytest.mark.parametrize("member", ["[]", '{"":0}', '""'])
def test_an_answer_does_not_grow_in_the_caller(member: str) -> None:
    answer = f'{{"value": [{",".join([member] * 4_100_000)}]}}'
    with Sandbox(seconds=20) as sandbox:
        sandbox.call("misbehaving_tasks:echo", 1)
        with pytest.raises(TemplateError, match="more than 2,000,000 values"):
            sandbox.call("misbehaving_tasks:lie", [answer])
        assert sandbox.call("misbehaving_tasks:echo", "still there") == "still there"
        text = "a\\" * 500_000 + '[{,"' * 500_000
        assert sandbox.call("misbehaving_tasks:echo", text) == text


@pytest.mark.slow
def test_a_lie_steers_no_terminal_and_names_its_facts(sandbox: Sandbox) -> None:
    said = {"error": "ItemError", "message": "a\x1b[2J\nb", "facts": {"where": "\x07", "hm": 1}}
    with pytest.raises(ItemError) as caught:
        sandbox.call("misbehaving_tasks:lie", [json.dumps(said)])
    assert (str(caught.value), vars(caught.value)) == ("a\\x1b[2J\\nb", {"where": "\\x07"})


@pytest.mark.slow
def test_a_worker_that_ended_after_its_answer_costs_no_call(sandbox: Sandbox) -> None:
    assert sandbox.call("misbehaving_tasks:lie", ['{"value": 1}']) == 1
    for _ in range(3):
        assert sandbox.call("misbehaving_tasks:echo", "still there") == "still there"


@pytest.mark.slow
def test_loading_has_a_deadline_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with Sandbox(seconds=0.1) as sandbox:
        sandbox.call("misbehaving_tasks:echo", None)
        monkeypatch.setattr("promptforge.sandbox.MAX_IDLE_SECONDS", 0.2)
        monkeypatch.setattr("promptforge.sandbox.MAX_START_SECONDS", 0.1)
        with pytest.raises(TemplateError, match=r"no answer within 0\.3 s"):
            sandbox.call("misbehaving_tasks:late", None)


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of processor time")
@pytest.mark.parametrize("masked", [False, True])
def test_waiting_is_no_time_of_the_templates(masked: bool) -> None:
    """A busy machine lets them wait; a caller may have blocked the signal that ends them."""
    if masked:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPROF])
    try:
        with Sandbox(seconds=0.1) as sandbox:
            assert sandbox.call("misbehaving_tasks:wait", 0.3) == "waited"
            with pytest.raises(TemplateError, match=r"ran for more than 0\.1 s"):
                sandbox.call("misbehaving_tasks:forever", None)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limit of processor time")
def test_loading_is_no_time_of_the_templates() -> None:
    with Sandbox(seconds=0.1) as sandbox:
        assert sandbox.call("misbehaving_tasks:load", 0.3) == "loaded"


def test_what_is_printed_is_no_answer(sandbox: Sandbox) -> None:
    assert sandbox.call("misbehaving_tasks:babble", None) == "said"


@pytest.mark.slow
@pytest.mark.parametrize("task", ["write", "run", "system"])
def test_nothing_is_written_and_no_program_is_started(
    sandbox: Sandbox, task: str, tmp_path: Path
) -> None:
    with pytest.raises(TemplateError, match="PermissionError"):
        sandbox.call(f"misbehaving_tasks:{task}", str(tmp_path / "canary"))
    assert not (tmp_path / "canary").exists()


@pytest.mark.slow
def test_nothing_is_removed(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "canary").write_text("alive")
    with pytest.raises(TemplateError, match="PermissionError"):
        sandbox.call("misbehaving_tasks:remove", str(tmp_path / "canary"))
    assert (tmp_path / "canary").read_text() == "alive"


@pytest.mark.slow
def test_there_is_no_network(sandbox: Sandbox) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(TemplateError, match="PermissionError"),
    ):
        sandbox.call("misbehaving_tasks:connect", server.getsockname()[1])


@pytest.mark.slow
def test_the_environment_is_not_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "a secret")
    with Sandbox() as sandbox:
        assert "a secret" not in sandbox.call("misbehaving_tasks:environment", None).values()


# --- how it lives ---


@pytest.mark.slow
def test_many_threads_each_get_their_own_answer() -> None:
    def one(number: int) -> None:
        if number % 9 == 4:
            with pytest.raises(TemplateError, match="ended the process"):
                shared.call("misbehaving_tasks:end", 1)
        else:
            assert shared.call("misbehaving_tasks:echo", [number] * number) == [number] * number

    with Sandbox(seconds=60) as shared, ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(rounds(40))))


@pytest.mark.slow
def test_a_call_that_is_under_way_fails_when_the_wall_is_closed() -> None:
    sandbox = Sandbox(seconds=60)
    sandbox.call("misbehaving_tasks:echo", None)

    def close() -> None:
        call_is_under_way(sandbox)
        sandbox.close()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(TemplateError, match="was ended"):
        sandbox.call("misbehaving_tasks:forever", None)
    closing.join()
    with pytest.raises(PromptForgeError, match="has been closed"):
        sandbox.call("misbehaving_tasks:echo", None)
    sandbox.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal on this system")
def test_a_worker_that_was_killed_while_it_waited_costs_nothing() -> None:
    """As a system does that runs out of memory, before a call and before the first one."""
    with Sandbox() as sandbox:
        for _ in range(2):
            os.kill(sandbox.call("misbehaving_tasks:pid", None), signal.SIGKILL)
            assert sandbox.call("misbehaving_tasks:echo", "there") == "there"
        with pytest.raises(TemplateError, match="ended the process"):
            sandbox.call("misbehaving_tasks:end", 1)  # its successor is started at once
        assert sandbox._worker is not None
        os.kill(sandbox._worker._process.pid, signal.SIGKILL)
        assert sandbox.call("misbehaving_tasks:echo", "there") == "there"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal on this system")
def test_templates_are_not_blamed_for_what_killed_them() -> None:
    with Sandbox(seconds=60) as sandbox:
        pid = sandbox.call("misbehaving_tasks:pid", None)

        def kill() -> None:
            call_is_under_way(sandbox)
            os.kill(pid, signal.SIGKILL)

        killing = threading.Thread(target=kill)
        killing.start()
        with pytest.raises(TemplateError, match="process of the templates was ended"):
            sandbox.call("misbehaving_tasks:forever", None)
        killing.join()


@pytest.mark.nightly
def test_no_process_is_left_behind_and_memory_stays_where_it_was() -> None:
    program = """
import os, resource, sys
sys.path.insert(0, "tests/helpers")
from promptforge.errors import TemplateError
from promptforge.sandbox import Sandbox
walls = [Sandbox(seconds=0.3), Sandbox(seconds=0.3), Sandbox(seconds=0.3)]
for sandbox in walls:
    sandbox.call("misbehaving_tasks:echo", None)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tasks = {"hoard": 2 << 30, "shout": 100 << 20, "forever": None, "end": 1, "nest": 100_000}
for task, argument in tasks.items():
    try:
        walls[0].call(f"misbehaving_tasks:{task}", argument)
    except TemplateError:
        pass
    else:
        sys.exit(task)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
walls[0].close()
walls[1].__exit__()
del sandbox, walls
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("none")
"""
    pytest.importorskip("resource")
    ran = python("-W", "error", "-c", program, cwd=ROOT)
    assert (ran.code, ran.err) == (0, "")
    grown, left = ran.out.split()
    assert int(grown) < 32 * 1024  # KiB
    assert left == "none"


@pytest.mark.slow
def test_it_works_from_a_script_without_a_main_guard_and_from_standard_input() -> None:
    program = (
        "from promptforge.sandbox import Sandbox\nsandbox = Sandbox()\n"
        "print(sandbox.render([{'content': 'x'}])['items_included'])\n"
    )
    ran = python("-W", "error", "-", stdin=program.encode())
    assert (ran.code, ran.out, ran.err) == (0, "1\n", "")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_worker_without_a_caller_ends_by_itself() -> None:
    pytest.importorskip("resource")
    program = """
import os, signal, sys, threading, time
sys.path.insert(0, "tests/helpers")
from promptforge.sandbox import Sandbox
sandbox = Sandbox(seconds=0.2)
print(sandbox.call("misbehaving_tasks:pid", None), flush=True)
sandbox.seconds = 60
threading.Thread(target=sandbox.call, args=("misbehaving_tasks:forever", None), daemon=True).start()
while not sandbox._worker._begun:
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ran = python("-c", program, cwd=ROOT)
    worker = int(ran.out)
    until = time.monotonic() + 60
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < until:
            os.kill(worker, 0)
            time.sleep(0.05)


def test_templates_that_end_their_process_run_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    noted = f"    open({str(ran)!r}, 'a').write('once ')\n    for text in"
    monkeypatch.setattr("promptforge.sandbox._PROGRAM", LIAR.replace("    for text in", noted))
    with Sandbox() as sandbox, pytest.raises(TemplateError, match="ended the process"):
        sandbox.call("lie", [])
    assert ran.read_text() == "once "
