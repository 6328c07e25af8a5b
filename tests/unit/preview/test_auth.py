"""Every defence of the preview, with raw sockets against one that runs."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import re
import selectors
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from commandline import run
from places import ROOT
from preview_browser import until
from preview_process import PATHS, Preview, heard, preview

MISSING = [name for name in ("starlette", "uvicorn") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}")
if not MISSING:
    from starlette.applications import Starlette

    from promptforge.preview import app, auth


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    folder = tmp_path_factory.mktemp("auth")
    (folder / "mine").mkdir()
    with preview(folder, "--templates", folder / "mine", "--edit") as running:
        yield running.enter()


def test_it_listens_to_this_machine_alone(page: Preview) -> None:  # [W005]
    others = {
        str(found[4][0]) for found in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    }
    for address in others - {"127.0.0.1"}:
        with pytest.raises(OSError):
            socket.create_connection((address, page.port), timeout=5).close()
    ran = run("preview", "--host", "0.0.0.0")
    assert ran.code == 2 and "--host" in ran.err


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost",
        "0.0.0.0:{port}",
        "[::1]",
        "",
        "127.0.0.1:{port}.evil.example",
        "evil.example:{port}",
        "127.0.0.1:{port}, evil.example",
        "user@127.0.0.1:{port}",
        "127.0.0.1:0{port}",
        "127.1:{port}",
        "2130706433:{port}",
    ],
)
@pytest.mark.parametrize("path", ["/", "/app.js", "/api/start"])
def test_another_name_is_misdirected(page: Preview, host: str, path: str) -> None:  # [W001, W003]
    assert page.request(path, headers={"Host": host.format(port=page.port)}).status == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost", "[::1]"])
def test_its_own_names_are_answered(page: Preview, host: str) -> None:
    assert page.request("/", headers={"Host": f"{host}:{page.port}"}).status == 200


def test_two_hosts_or_none_are_refused(page: Preview) -> None:
    cookie = f"Cookie: {page.cookie}\r\n"
    two = f"GET / HTTP/1.1\r\nHost: {page.host}\r\nHost: {page.host}\r\n{cookie}\r\n"
    assert page.send(two.encode()).status in (400, 421)
    assert page.send(f"GET / HTTP/1.1\r\n{cookie}\r\n".encode()).status in (400, 421)
    assert page.send(f"GET / HTTP/1.0\r\n{cookie}\r\n".encode()).status in (400, 421)
    absolute = f"GET http://evil.example/ HTTP/1.1\r\nHost: {page.host}\r\n{cookie}\r\n"
    assert page.send(absolute.encode()).status == 404


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"]
)
def test_without_the_cookie_nothing_is_served(
    page: Preview, path: str, method: str
) -> None:  # [W006]
    assert page.request(path, method, {"Cookie": None}).status == 403


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "x",
        "promptforge-{port}=",
        "promptforge-{port}=x",
        "promptforge-1={value}",
        "{value}",
        "={value}",
        "promptforge-{port}={value}x",
        "promptforge-{port}={short}",
        'promptforge-{port}="{value}"',
    ],
)
def test_another_cookie_is_none(page: Preview, cookie: str) -> None:  # [W007]
    value = page.cookie.partition("=")[2]
    assert len(value) >= 43  # 256 bits in base64
    given = cookie.format(port=page.port, value=value, short=value[:-1])
    assert page.request("/", headers={"Cookie": given}).status == 403


def test_guesses_are_refused(page: Preview) -> None:  # [W007]
    for guess in ("", "x", "A" * 43, "A" * 10_000, page.token[:-1]):
        assert page.request(f"/?token={guess}", headers={"Cookie": None}).status == 403


@pytest.mark.slow
def test_the_token_works_once_and_leaves_the_address(
    page: Preview, tmp_path: Path
) -> None:  # [W008]
    known = page
    with preview(tmp_path) as page:
        assert len(page.token) >= 43 and page.token != known.token and page.port != known.port
        assert page.request("/", headers={"Cookie": known.cookie}).status == 403
        reply = page.request(f"/?profile=claude&token={page.token}&budget=50")
        address, _, page.key = reply.headers["location"].partition("#key=")
        assert (reply.status, address) == (303, "/?profile=claude&budget=50")
        assert len(page.key) >= 43 and page.key not in (page.token, known.key)
        cookie = reply.headers["set-cookie"]
        assert re.fullmatch(
            rf"promptforge-{page.port}=[\w-]{{43,}}; HttpOnly; SameSite=Strict; Path=/", cookie
        )
        assert page.token not in cookie
        assert page.request(f"/?token={page.token}").status == 403
        page.cookie = cookie.split(";")[0]
        assert page.request("/").status == 200
        again = page.request(
            f"/?token={page.token}"
        )  # a page that is open follows its own old link
        assert (again.status, again.headers["location"]) == (
            303,
            "/",
        ) and "set-cookie" not in again.headers
        assert page.request("/api/start", "POST", {"Cookie": None}).status == 403
    said = "".join(page.said)
    assert said.count(page.token) == 1
    (new,) = re.findall(r"a new one: \S+token=(\S+)", said)
    assert new != page.token


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost:1",
        "https://{host}",
        "http://{host}.evil.example",
        "{host}",
        "",
        "http://localhost:{port}",
        "http://{host}, http://{host}",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_another_origin_is_refused(
    page: Preview, origin: str, method: str
) -> None:  # [W010, W011, W012]
    given = origin.format(host=page.host, port=page.port)
    assert page.request("/api/start", method, {"Origin": given}).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "x"])
@pytest.mark.parametrize("path", PATHS)
def test_what_another_site_asks_for_is_refused(page: Preview, site: str, path: str) -> None:
    assert page.request(path, headers={"Sec-Fetch-Site": site}).status == 403


@pytest.mark.parametrize("site", ["none", "same-origin"])
def test_the_page_itself_may_ask(page: Preview, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Origin": f"http://{page.host}"}
    assert page.request("/api/start", headers=headers).status == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None]
)
@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "DELETE"])
def test_a_simple_request_writes_nothing(
    page: Preview, kind: str | None, method: str
) -> None:  # [W009]
    assert page.request("/api/page", method, {"Content-Type": kind}, {"view": {}}).status == 415


@pytest.mark.parametrize("value", [None, "", "0", "1", "A" * 43])
def test_a_write_needs_the_header_of_the_page(page: Preview, value: str | None) -> None:  # [W014]
    assert page.request("/api/page", "POST", {"X-Promptforge": value}, {"view": {}}).status == 403


@pytest.mark.parametrize("path", ["/api/start", "/api/words", "/api/cases", "/api/files/x"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_cookie_alone_reads_nothing(page: Preview, path: str, method: str) -> None:
    assert page.request(path, method, {"X-Promptforge": None}).status == 403
    assert page.request(path, method).status in (200, 404, 405, 409)


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "OPTIONS", "TRACE", "FOO", "PUT"])
def test_other_methods_do_nothing(page: Preview, method: str) -> None:
    assert page.request("/api/page", method, body={"view": {}}).status == 405


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "%252e%252e/x",
        "..\\..\\x",
        "chat.j2%00",
        "C:/x",
        ".env",
        "%2e%2e/",
        "chunks/item.md.j2",
        "chunks%2Fitem.md.j2",
        "0" * 16,
        "a" * 5000,
        "../../promptforge/cli.py",
    ],
)
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_a_file_is_known_by_its_id_alone(
    page: Preview, name: str, method: str
) -> None:  # [W016, W017]
    body = {"text": "x"} if method == "PUT" else None
    assert page.request(f"/api/files/{name}", method, {"If-Match": '"x"'}, body).status in (
        404,
        405,
    )


@pytest.mark.parametrize(
    "path",
    [
        "//etc/passwd",
        "/../session.py",
        "/%2e%2e/session.py",
        "/vendor/",
        "/static/app.js",
        "/editor/package.json",
        "/app.js/",
        "/index.html%00",
        "/./app.js",
        "/session.py",
        "/.env",
    ],
)
def test_static_files_are_a_table(page: Preview, path: str) -> None:  # [W017]
    assert page.request(path).status == 404


@pytest.mark.parametrize(
    ("length", "status"),
    [
        ("99999999999", 413),
        ("1048577", 413),
        ("9" * 400, 400),
        ("-1", 400),
        ("abc", 400),
        ("1 2", 400),
        ("+5", 400),
        ("5, 6", 400),
        ("", 400),
        (None, 411),
    ],
)
def test_a_length_is_a_number_within_the_cap(
    page: Preview, length: str | None, status: int
) -> None:  # [W018]
    assert page.request("/api/page", "POST", {"Content-Length": length}, b"{}").status == status


def test_two_lengths_and_chunks_are_refused(page: Preview) -> None:  # [W018, W019]
    head = f"POST /api/page HTTP/1.1\r\nHost: {page.host}\r\nCookie: {page.cookie}\r\n"
    head += f"Content-Type: application/json\r\nX-Promptforge: {page.key}\r\n"
    assert (
        page.send(f"{head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}".encode()).status
        == 400
    )
    assert (
        page.send(f"{head}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n".encode()).status
        == 411
    )
    both = f"{head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
    assert page.send(both.encode()).status in (400, 411)
    assert page.send(f"{head}Transfer-Encoding: gzip\r\n\r\n".encode()).status in (400, 411, 501)
    assert page.request("/", headers={"Content-Length": "5"}).status == 400


def test_a_second_request_behind_the_first_is_not_answered(page: Preview) -> None:  # [W019]
    assert page.answers("/api/start", 2) == 1


def test_the_head_is_bounded(page: Preview) -> None:
    assert page.request("/", headers={"X-Long": "a" * 70_000}).status == 431
    assert page.request("/" + "a" * 70_000).status == 431
    endless = f"GET / HTTP/1.1\r\nHost: {page.host}\r\nX: ".encode() + b"a" * 300_000
    assert page.send(endless).status in (0, 400)
    assert page.request("/").status == 200


@pytest.fixture
def small() -> Iterator[auth.SessionSecrets]:
    """Serve a small application."""
    with app.open_listener(0) as listener:
        keys = auth.SessionSecrets(listener.getsockname()[1], lambda link: None)
        server = app.make_web_server(auth.AuthMiddleware(Starlette(), keys))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield keys
        server.should_exit = True
        thread.join()


def test_who_is_slow_is_left_and_others_are_served(
    small: auth.SessionSecrets, monkeypatch: pytest.MonkeyPatch
) -> None:  # [W020]
    def line(sent: str) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", small.port), timeout=300)
        with contextlib.suppress(ConnectionError):  # closed already, on a slow machine
            made.sendall(sent.encode())
        return made

    host = f"Host: 127.0.0.1:{small.port}\r\n"
    with line(f"GET /?{small.link.partition('?')[2]} HTTP/1.1\r\n{host}\r\n") as first:
        cookie = f"Cookie: {heard(first).headers['set-cookie'].partition(';')[0]}\r\n"
    body = f"{host}{cookie}X-Promptforge: {small.key}\r\nContent-Type: application/json\r\n"
    body += "Content-Length: 100\r\n\r\n{"
    start = "POST /api/page HTTP/1.1\r\n"
    # Half a second and not ten for these alone: all others are served, be the machine ever so slow.
    monkeypatch.setattr(app, "REQUEST_SECONDS", 0.5)
    slow = [line(sent) for sent in ("", "GET / HT", start, start + host)]
    for each in slow:
        with each:
            assert heard(each).status == 0
    monkeypatch.setattr(app, "REQUEST_SECONDS", 300)
    monkeypatch.setattr(auth, "REQUEST_SECONDS", 0.5)
    with line(start + body) as late, line("GET / HT"):
        with line(f"GET / HTTP/1.1\r\n{host}{cookie}\r\n") as other:
            assert heard(other).status == 404
        assert heard(late).status == 408


def test_a_crowd_is_turned_away_and_leaves_no_harm(page: Preview) -> None:
    lines = [socket.create_connection(("127.0.0.1", page.port), timeout=300) for _ in range(200)]
    left = set(lines)
    try:
        with selectors.DefaultSelector() as watched:
            for line in lines:
                watched.register(line, selectors.EVENT_READ)  # also where the other side has closed
            while len(left) > 100:
                closed = watched.select(300)
                assert closed, len(left)
                for key, _ in closed:
                    watched.unregister(key.fileobj)
                    left.discard(key.fileobj)
    finally:
        for line in lines:
            line.close()
    until(lambda: page.request("/").status == 200)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"POST /api/page HTTP"])
def test_a_thousand_idle_connections_do_not_keep_the_owner_out(page: Preview, sent: bytes) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 2_000:
        pytest.skip("needs a thousand open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2_000), before[1]))
    lines: list[socket.socket] = []
    try:
        for _ in range(1_000):
            lines.append(socket.create_connection(("127.0.0.1", page.port), timeout=300))
            with contextlib.suppress(OSError):  # closed for a newer one already
                lines[-1].sendall(sent)
        answers = [page.request(path).status for path in ("/", "/app.js", "/api/start") * 5]
        assert answers == [200] * 15
    finally:
        for line in lines:
            line.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_only_so_many_pages_may_listen(page: Preview) -> None:
    ask = f"GET /api/events HTTP/1.1\r\nHost: {page.host}\r\nCookie: {page.cookie}\r\n\r\n".encode()
    lines = [socket.create_connection(("127.0.0.1", page.port), timeout=300) for _ in range(9)]
    try:
        answers = []
        for line in lines:
            line.sendall(ask)
            answers.append(line.recv(16).split()[1])
        assert answers == [b"200"] * 8 + [b"503"]
    finally:
        for line in lines:
            line.close()


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 200),
        ("/app.js", {}, 200),
        ("/api/start", {}, 200),
        ("/nothing", {}, 404),
        ("/", {"Cookie": None}, 403),
        ("/", {"Host": "evil.example"}, 421),
        ("/", {"Content-Length": "x"}, 400),
    ],
)
def test_every_answer_is_locked_down(
    page: Preview, path: str, headers: dict[str, str | None], status: int
) -> None:  # [W025]
    reply = page.request(path, headers=headers)
    assert reply.status == status
    if status == 400 and "content-security-policy" not in reply.headers:
        assert (
            reply.body == b"Invalid HTTP request received."
        )  # by the parser, before anything of ours ran
        return
    assert reply.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
    wanted = {
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }
    assert wanted.items() <= reply.headers.items()
    assert not [
        name
        for name in reply.headers
        if name.startswith("access-control-") or name in ("server", "date")
    ]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"view": 1}',
        b'{"view": {}, "more": 1}',
        b'{"view": {"templates": "/"}}',
        b"\xff\xfe",
        b'{"view": {"layout": "../x"}}',
        b'{"view": {"profile": "/etc/passwd"}}',
        b'{"view": {"max_tokens": -1}}',
        b'{"view": {"profile": "../../x.yaml"}}',
        b'{"view": {}, "drafts": {"../x": "y"}}',
        b"[" * 100_000,
        b'{"view": {"format": "\\ud800"}}',
        b'{"view": {"query": "\\u0000"}}',
    ],
)
def test_what_makes_no_sense_is_said_without_a_place(page: Preview, body: bytes) -> None:  # [W030]
    for what in ("page", "account", "comparison", "prompt"):
        reply = page.request(f"/api/{what}", "POST", body=body)
        assert reply.status == 200 and (reply.json().keys() == {"error"} or b"u0000" in body)
        for secret in (
            b"Traceback",
            b"site-packages",
            b"/usr",
            b"/tmp",
            str(ROOT).encode(),
            page.token.encode(),
        ):
            assert secret not in reply.body


@pytest.mark.slow
def test_an_error_names_no_folder(page: Preview, tmp_path: Path) -> None:  # [W030]
    with preview(tmp_path, "--templates", _bad(tmp_path), "--layout", "brief") as other:
        reply = other.enter().request("/api/page", "POST", body={"view": {}})
    error = reply.json()["error"]
    assert (error["name"], error["line"]) == ("brief/layout.yaml", 2)
    assert str(tmp_path).encode() not in reply.body


@pytest.mark.slow
def test_a_profile_is_chosen_by_name(page: Preview, tmp_path: Path) -> None:  # [W016]
    outside = tmp_path / "outside.yaml"
    outside.write_text("max_tokens: 7\n", encoding="utf-8")
    for name in (str(outside), "shipped/claude", "../claude", "claude.yaml"):
        assert page.draw(view={"profile": name})["error"]["kind"] == "option"
    assert page.draw(view={"profile": "claude"})["profile"] == "claude"


def _bad(folder: Path) -> Path:
    brief = folder / "secret-folder" / "brief"
    brief.mkdir(parents=True)
    (brief / "layout.yaml").write_text("base: chunks\nseparater: x\n", encoding="utf-8")
    return folder / "secret-folder"


def test_a_request_with_two_hosts_is_refused_whatever_the_server_lets_through() -> None:
    keys = auth.SessionSecrets(80, lambda link: None)
    sent: list[auth.Message] = []

    async def send(message: auth.Message) -> None:
        sent.append(message)

    async def receive() -> auth.Message:
        raise AssertionError("no body is read")

    hosts = [(b"host", b"localhost:80"), (b"host", b"evil.example")]
    scope = {
        "type": "http", "method": "GET", "path": "/", "raw_path": b"/",
        "query_string": keys.link.partition("?")[2].encode(),
    }  # fmt: skip
    for headers, status in ((hosts, 421), (hosts[:1], 303)):
        sent.clear()
        asyncio.run(
            auth.AuthMiddleware(Starlette(), keys)({**scope, "headers": headers}, receive, send)
        )
        assert sent[0]["status"] == status
