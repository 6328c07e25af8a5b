"""The MCP server, called by the SDK's own client."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import promptforge as pf

pytest.importorskip("mcp", reason="needs mcp: pip install '.[test-all]'")

from mcp import Client, StdioServerParameters

from promptforge.integrations import mcp as bridge

ITEMS = [
    {
        "content": "def digest(data):\n    return sha256(data)",
        "path": "src/hash.py",
        "kind": "code",
        "score": 0.9,
    },
    {"content": "```\n# out of the fence\n```", "name": "crash", "kind": "error", "score": 0.8},
    {"content": "word " * 400, "name": "long.md", "kind": "document", "score": 0.7},
]
Talk = Callable[[Any], Awaitable[Any]]


plain = functools.cache(bridge.make_mcp_server)


def talk(work: Talk, server: Any = None) -> Any:
    """Return what `work` makes of a client of a server."""

    async def run() -> Any:
        async with Client(plain() if server is None else server) as client:
            return await work(client)

    return asyncio.run(run())


def call(tool: str, server: Any = None, **arguments: Any) -> tuple[bool, Any]:
    """Return whether a tool failed, and what it said."""

    async def work(client: Any) -> tuple[bool, Any]:
        answer = await client.call_tool(tool, arguments)
        (block,) = answer.content
        if answer.is_error:
            return True, block.text
        account = answer.structured_content
        # The text of the answer is the context; the account beside it does not repeat it.
        return False, {**account, "text": block.text} if tool == "render_context" else account

    found: tuple[bool, Any] = talk(work, server)
    return found


def test_a_context_is_the_library_s_own() -> None:
    failed, said = call(
        "render_context", items=ITEMS, max_tokens=120, layout="context", query="digest"
    )
    result = pf.render(ITEMS, max_tokens=120, layout="context", query="digest")
    assert not failed
    assert (said["text"], said["tokens"], said["max_tokens"]) == (result.text, result.tokens, 120)
    assert (said["items_included"], said["items_trimmed"], said["items_dropped"]) == (3, 1, 0)
    assert "````\n```\n# out of the fence\n```\n````" in said["text"]


def test_every_option_is_taken_by_its_name() -> None:
    options = {
        "kinds": ["code"],
        "headers": False,
        "separator": "\n",
        "section_budgets": {"code": {"share": 0.5}},
    }
    failed, said = call(
        "render_context", items=ITEMS, options=options, profile="claude", format="plain"
    )
    assert not failed and said["items_included"] == 1 and "digest" in said["text"]


def test_explain_says_why_and_at_which_budget() -> None:
    failed, said = call("explain", items=ITEMS, max_tokens=60)
    assert not failed
    assert [item["reason"] for item in said["items"]] == ["fits", "fits", "budget"]
    assert all("text" not in item for item in said["items"]) and said["items"][2]["fits_at"] > 60
    assert said["explanation"]["tokens"] == said["tokens"] <= 60


def test_layouts_are_listed() -> None:
    failed, said = call("list_layouts")
    names = {layout["name"] for layout in said["layouts"]}
    assert not failed and {"chunks", "context", "knowledge"} <= names
    assert {option["name"] for option in said["options"]} >= {"max_tokens", "packing", "trim"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": {"max_tokns": 9}}, 'unknown option "max_tokns"; did you mean "max_tokens"?'),
        ({"layout": "nope"}, 'there is no layout "nope"'),
        ({"format": "pdf"}, 'has no format "pdf"'),
        (
            {"items": [{"content": "word " * 99, "required": True}], "max_tokens": 9},
            "the budget is 9",
        ),
        ({"options": {"strict": True}, "items": [{"contnt": 1}]}, 'did you mean "content"'),
        (
            {"max_tokens": 9, "options": {"max_tokens": 99}},
            "max_tokens is both an argument and an option",
        ),
        ({"max_token": 9}, 'there is no argument "max_token"; did you mean "max_tokens"?'),
        ({"packing": "value"}, 'there is no argument "packing"; it is one of the options'),
        ({"max_tokens": -1}, "greater than or equal to 0"),
        ({"max_tokens": True}, "max_tokens: Value error, Input should be a whole number"),
        ({"items": "text"}, "items: Input should be a valid list"),
        ({"items": [1]}, "items.0: Input should be a valid dictionary"),
    ],
)
def test_what_is_wrong_is_said_to_the_client(arguments: dict[str, Any], message: str) -> None:
    failed, said = call("render_context", **{"items": ITEMS, **arguments})
    assert failed and message in said and "Traceback" not in said
    assert "pydantic" not in said


def test_no_file_is_opened_for_a_client(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"model": {"vocab": {"hush": 0}}}', encoding="utf-8")
    own = tmp_path / "own.yaml"
    own.write_text("max_tokens: 7\n", encoding="utf-8")
    (tmp_path / "context").mkdir()
    (tmp_path / "context" / "layout.md.j2").write_text("mine", encoding="utf-8")
    opened: list[str] = []
    watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "open" and str(arguments[0]).startswith(str(tmp_path)):
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)
    attempts: list[dict[str, Any]] = [
        {"options": {"tokenizer": f"file:{secret}"}},
        {"profile": str(own)},
        {"profile": "own.yaml"},
        {"options": {"profile": str(own)}},
        {"options": {"profiles": [str(tmp_path)]}},
        {"options": {"templates": str(tmp_path)}},
        {"layout": str(tmp_path / "context")},
        {"layout": "../context"},
    ]
    for attempt in attempts:
        failed, said = call("render_context", items=ITEMS, **attempt)
        assert failed and "hush" not in said, attempt
    failed, said = call("render_context", items=[{"path": str(secret), "content": "x = 1"}])
    assert not failed and "hush" not in said["text"]
    watching = False
    assert opened == []


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "MAX_REQUEST_CHARS", 2000)
    failed, said = call(
        "render_context", items=[{"content": "a" * 1500, "metadata": {"more": ["b" * 600]}}]
    )
    assert failed and "more than 2,000 characters" in said
    for many in ([{"a" * 2001: 1, "content": "x"}], [{"content": "x", "metadata": [0] * 2001}]):
        failed, said = call("render_context", items=many)
        assert failed and "more than 2,000 characters" in said


def test_the_operator_says_where_requests_begin(tmp_path: Path) -> None:
    (tmp_path / "context").mkdir()
    (tmp_path / "context" / "layout.md.j2").write_text(
        "{# Uses: total. #}\nmine of {{ total }}", encoding="utf-8"
    )
    own = bridge.make_mcp_server(templates=tmp_path, layout="context", max_tokens=50)
    assert call("render_context", own, items=ITEMS)[1]["text"] == "mine of 3"
    with pytest.raises(pf.OptionError, match="max_tokens takes"):
        bridge.make_mcp_server(max_tokens="many")
    given: Any = {"a/item.md.j2": ""}
    with pytest.raises(pf.OptionError, match="templates takes"):
        bridge.make_mcp_server(templates=given)


def test_the_definitions_are_short_and_say_what_a_tool_does() -> None:
    async def work(client: Any) -> Any:
        return (await client.list_tools()).tools, client.server_info

    tools, info = talk(work)
    written = [tool.model_dump(mode="json", exclude_none=True, by_alias=True) for tool in tools]
    assert pf.get_tokenizer("o200k_base").count(json.dumps(written)) <= 1200
    assert [tool.title for tool in tools] == [
        "Render a context",
        "Explain a context",
        "Pack a folder",
        "Search files",
        "List layouts and options",
    ]
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert info.version == pf.__version__


def test_the_answer_costs_what_the_budget_says() -> None:
    async def work(client: Any) -> Any:
        return await client.call_tool("render_context", {"items": ITEMS, "max_tokens": 120})

    answer = talk(work)
    (block,) = answer.content
    tokens = pf.get_tokenizer("o200k_base").count(block.text)
    assert tokens == answer.structured_content["tokens"] <= 120
    assert "text" not in answer.structured_content


@pytest.mark.slow
@pytest.mark.parametrize("host", ["", "0.0.0.0:"])
def test_the_command_serves_over_http_too(host: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "promptforge",
        "mcp",
        "--max-tokens",
        "99",
        "--http",
        f"{host}{port}",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            shown = host or "127.0.0.1:"
            assert f"http://{shown}{port}/mcp" in process.stderr.readline()
            if host:
                assert "any program that reaches this address" in process.stderr.readline()
            for _ in range(1200):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.05)
            failed, said = call("render_context", f"http://127.0.0.1:{port}/mcp", items=ITEMS)
            assert not failed and said["text"] == pf.render(ITEMS, max_tokens=99).text
            # More than the library takes by itself.
            many = [{"content": "word " * 900_000}]
            failed, said = call("render_context", f"http://127.0.0.1:{port}/mcp", items=many)
            assert not failed and said["items_trimmed"] == 1
            # A page of another site that has made its own name lead here, and the inspector.
            assert _status(port, f"http://evil.example:{port}") in (403, 421)
            assert _status(port, "http://localhost:6274") == 200
            assert _answer_to(port, b"Host: 127.0.0.1:%d" % port) == 200
            for hosts in (b"Host: 127.0.0.1:%d@evil.example", b"Host: a\r\nHost: 127.0.0.1:%d"):
                assert _answer_to(port, hosts % port) == 400
            for _ in range(40):  # each hangs up amid its request: the log has a line of it
                with socket.create_connection(("127.0.0.1", port)) as client:
                    client.sendall(_HALF_A_REQUEST % port)
            assert not call("render_context", f"http://127.0.0.1:{port}/mcp", items=ITEMS)[0]
        finally:
            process.terminate()
        assert process.stderr is not None
        log = process.stderr.readlines()
    assert sum("ClientDisconnect" in line for line in log) == 40
    assert not [line for line in log if "Traceback" in line]


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server in this process, with room for two bodies of 1 MiB."""
    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as listening:
        app = bridge.make_mcp_server().streamable_http_app()
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join(300)


@pytest.mark.slow
def test_all_requests_together_are_bounded_and_none_is_slow(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptforge.integrations.mcp.MAX_BYTES_HELD", 2 << 20)
    half = _HALF_A_REQUEST.replace(b"100", b"%d" % (2 << 20)) % port + b" " * (1 << 20)
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=300))
            for _ in range(3)
        ]
        for client in clients:
            client.sendall(half)
        answered = select.select(clients, [], [], 300)[0]
        assert answered[0].recv(99).startswith(b"HTTP/1.1 503 ")
    assert _answer_to(port, b"Host: 127.0.0.1:%d" % port) == 200  # they have gone
    monkeypatch.setattr("promptforge.integrations.mcp.MAX_SECONDS_OF_REQUEST", 0.1)
    with socket.create_connection(("127.0.0.1", port), timeout=300) as client:
        client.sendall(_HALF_A_REQUEST % port)
        assert client.recv(99).startswith(b"HTTP/1.1 408 ")


_HALF_A_REQUEST = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
    b"Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{"
)
_HELLO: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "page", "version": "1"},
}


def _frame(id_: int, method: str, params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


def _answer_to(port: int, hosts: bytes) -> int:
    """Return the status of the answer to a greeting with these lines for its hosts."""
    body = _frame(1, "initialize", _HELLO).encode()
    head = b"POST /mcp HTTP/1.1\r\n%b\r\nContent-Type: application/json\r\nConnection: close\r\n"
    head += b"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=300) as client:
        client.sendall(head % (hosts, len(body)) + body)
        return int(client.makefile("rb").readline().split()[1])


def _status(port: int, origin: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    body = _frame(1, "initialize", _HELLO)
    headers = {"Origin": origin, "Content-Type": "application/json"}
    headers["Accept"] = "application/json, text/event-stream"
    if origin.startswith("http://evil"):
        headers["Host"] = origin.removeprefix("http://")
    with contextlib.closing(connection):
        connection.request("POST", "/mcp", body, headers)
        return connection.getresponse().status


@pytest.mark.parametrize("address", ["0", "99999", "here", "127.0.0.1:", "1:2:x"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    from click.testing import CliRunner

    from promptforge.cli.preview import mcp_command

    result = CliRunner().invoke(mcp_command, ["--http", address])
    assert result.exit_code == 2 and "a port from 1 to 65535, or HOST:PORT" in result.output


@pytest.mark.slow
def test_the_command_speaks_to_whoever_started_it() -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "promptforge", "mcp", "--max-tokens", "99"]
    )
    failed, said = call("render_context", command, items=ITEMS)
    assert not failed and said["text"] == pf.render(ITEMS, max_tokens=99).text


_CALL = _frame(
    7, "tools/call", {"name": "render_context", "arguments": {"items": [{"content": ""}]}}
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "answered", "code"),
    [
        # Half of a pair of UTF-16: a cut in the middle of an emoji leaves one.
        (_CALL.replace('""', r'"\ud83d"'), 7, -32700),
        (_CALL.replace("7", r'"\ud83d"'), None, -32700),
        (_CALL[:-1], None, -32700),
        (_CALL.replace("[", "[" * 99_999).replace("]", "]" * 99_999), None, -32700),
        (_CALL.replace("2.0", "1.0"), 7, -32600),
        (f"[{_CALL}]", None, -32600),
        ("7", None, -32600),
    ],
)
def test_a_line_that_is_no_message_is_answered_and_the_next_one_too(
    line: str, answered: int | None, code: int
) -> None:
    command = [sys.executable, "-m", "promptforge", "mcp"]
    lines = [_frame(1, "initialize", _HELLO), line, "", _frame(2, "nothing", {})]
    ran = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, check=True
    )
    answers = [json.loads(each) for each in ran.stdout.splitlines()]
    said = {each["id"]: each.get("error", {}).get("code") for each in answers}
    assert said == {1: None, answered: code, 2: -32601}


WRONG_IDS = ["1e400", "-1e400", "1.5", "1.0", "null", "true", "[1]", "{}", "NaN"]


def _ping(id_: str) -> str:
    return f'{{"jsonrpc": "2.0", "id" : {id_}, "method": "ping"}}'


@pytest.mark.slow
def test_a_request_with_a_wrong_id_is_answered() -> None:
    command = [sys.executable, "-m", "promptforge", "mcp"]
    items = [{"content": "x", "metadata": {"id": None}}]
    asked = _CALL.replace('[{"content": ""}]', json.dumps(items))
    notified = '{"jsonrpc": "2.0", "method": "ping"}'  # without an id nobody wants an answer
    answered = '{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "id"}}'
    lines = [_frame(1, "initialize", _HELLO), *map(_ping, WRONG_IDS), notified, answered, asked]
    ran = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, check=True
    )
    answers = [json.loads(each) for each in ran.stdout.splitlines()]
    said = [(each["id"], each.get("error", {}).get("code")) for each in answers]
    # A refusal may overtake the answer to a request before it.
    assert Counter(said) == {(1, None): 1, (None, -32600): len(WRONG_IDS), (7, None): 1}


def _post(port: int, body: str, method: str = "POST") -> tuple[int, str]:
    """Return the status of an answer over HTTP, and its body."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    with contextlib.closing(connection):
        connection.request(method, "/mcp", body or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.mark.parametrize("id_", WRONG_IDS)
def test_over_http_too(port: int, id_: str) -> None:
    status, said = _post(port, _ping(id_))
    assert (status, json.loads(said)["id"]) == (400, None)
    assert json.loads(said)["error"]["code"] == -32600


def test_over_http_nothing_is_kept_between_requests(port: int) -> None:
    status, said = _post(port, _frame(1, "initialize", _HELLO))
    assert status == 200 and "promptforge" in said
    assert _post(port, "", "GET")[0] == 405  # a stream that would stay open
    status, said = _post(port, _ping("2"))
    assert status == 200 and '"id":2' in said.replace(" ", "")


@pytest.mark.nightly
@pytest.mark.parametrize(("greetings", "letters"), [(400, 100_000), (40, 3_000_000)])
def test_many_greetings_leave_no_memory_behind(greetings: int, letters: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "promptforge", "mcp", "--http", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None and "/mcp" in process.stderr.readline()
            for _ in range(1200):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.05)
            name = {**_HELLO, "clientInfo": {"name": "x" * letters, "version": "1"}}
            before = 0
            for number in range(greetings):
                assert _post(port, _frame(number, "initialize", name))[0] == 200
                if number == greetings // 8:  # buffers for one greeting are there now, and stay
                    before = _resident_bytes(process.pid)
            assert _resident_bytes(process.pid) - before < greetings * letters // 3
        finally:
            process.terminate()


def _resident_bytes(process: int) -> int:
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        pytest.skip("the memory of a process is read from /proc")
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) << 10


PATIENT_SERVER = """
from promptforge.cli.main import main
from promptforge.integrations import mcp

mcp.MAX_SECONDS_AT_END = 3600
main(["mcp"])
"""
"""It waits for an hour, not for a minute, where it takes an empty id for none."""


@pytest.mark.nightly
@pytest.mark.parametrize("given", [{"requestId": [1]}, {"requestId": {}}, {}, None])
def test_what_is_cancelled_may_have_any_id(given: object) -> None:
    command = [sys.executable, "-c", PATIENT_SERVER]
    cancelled = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": given})
    lines = [_frame(1, "initialize", _HELLO), cancelled, _CALL.replace("7", '""', 1)]
    ran = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, check=True, timeout=300
    )
    assert [json.loads(each)["id"] for each in ran.stdout.splitlines()] == [1, ""]


@pytest.mark.slow
def test_a_client_that_goes_ends_the_server_without_noise() -> None:
    command = [sys.executable, "-m", "promptforge", "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.close()
        _, said = process.communicate(_frame(1, "initialize", _HELLO) + "\n")
    assert (process.returncode, said) == (0, "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_ctrl_c_ends_a_server_whose_client_holds_its_pipe() -> None:
    command = [sys.executable, "-m", "promptforge", "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(_frame(1, "initialize", _HELLO).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=300) == 130


WRAPPED = [(), ("--wrap", "sh", "-c", "cat >/dev/null")]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no shell of Unix")
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_a_closed_standard_input_ends_the_server(wrapped: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "promptforge", "mcp", *wrapped]
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    ran = subprocess.run(closed, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes")
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_a_pipe_that_does_not_wait_is_waited_for(wrapped: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.set_blocking(read, False)
    command = [sys.executable, "-m", "promptforge", "mcp", *wrapped]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=read, stdout=pipe, stderr=pipe, text=True) as process:
        os.close(read)
        assert process.stdout is not None
        with open(write, "w") as client:
            if not wrapped:
                print(_frame(1, "initialize", _HELLO), file=client, flush=True)
                assert json.loads(process.stdout.readline())["id"] == 1
            time.sleep(1)  # the server is at its reading by then
            assert process.poll() is None
        _, said = process.communicate(timeout=300)
    assert (process.returncode, said) == (0, "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no socket as standard input")
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_a_client_that_resets_its_socket_ends_the_server(wrapped: tuple[str, ...]) -> None:
    ours, theirs = socket.socketpair()
    theirs.send(b"x")  # closed with this unread, our end resets theirs
    ours.close()
    command = [sys.executable, "-m", "promptforge", "mcp", *wrapped]
    ran = subprocess.run(
        command, stdin=theirs.fileno(), capture_output=True, text=True, timeout=300
    )
    theirs.close()
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("wrapped", [(), ("--wrap", "sh", "-c", "cat")])
def test_a_full_disk_is_said_in_a_line(wrapped: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "promptforge", "mcp", *wrapped]
    with Path("/dev/full").open("wb") as full:
        given = _frame(1, "initialize", _HELLO) + "\n"
        ran = subprocess.run(
            command, input=given, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300
        )
    assert ran.stderr == "promptforge: standard output: no space left on device\n"
    assert ran.returncode == 4
