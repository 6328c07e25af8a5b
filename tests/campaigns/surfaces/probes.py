"""Probes of a preview that runs: what has more to it than one request, chosen by the words that
speak of it.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from commandline import run as command
from preview_process import PATHS, Preview, heard

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE")
REFUSED = {400, 403, 404, 405, 408, 411, 412, 413, 415, 421, 428, 431, 501, 503, 0}
"""Statuses that give nothing away; 0 is a line that was closed."""
TOLD = (b"Traceback", b"site-packages", b"/usr/", b"root:x:", b"/home/")
"""What no answer may hold."""
Answers = Iterator[tuple[str, int, set[int]]]
"""What was asked, the status that came, and those that are due."""


def _bind(_: Preview) -> Answers:
    for host in ("0.0.0.0", "::"):
        ran = command("preview", "--host", host)
        yield f"--host {host}: exit code", ran.code, {2}


def _strangers(page: Preview) -> Answers:
    for path in PATHS:
        for method in METHODS:
            yield (
                f"{method} {path} without the cookie",
                page.request(path, method, {"Cookie": None}).status,
                {403},
            )


def _guesses(page: Preview) -> Answers:
    yield "bits of the token", 256 if len(page.token) >= 43 else 0, {256}
    for guess in ("", "x", "A" * 43, "A" * 10_000, page.token[:-1], page.token + "A"):
        yield "a guess", page.request(f"/?token={guess}", headers={"Cookie": None}).status, {403}
        cookie = f"promptforge-{page.port}={guess}"
        yield "a cookie guessed", page.request("/", headers={"Cookie": cookie}).status, {403}


def _token(page: Preview) -> Answers:
    again = page.request(f"/?token={page.token}", headers={"Cookie": None})
    yield "the link a second time", again.status, {403}
    redirect = page.request(f"/?token={page.token}")
    yield "away from the address bar", redirect.status, {303}
    yield "no referrer", redirect.headers.get("referrer-policy") == "no-referrer", {True}
    yield "the cookie's name", page.cookie.startswith(f"promptforge-{page.port}="), {True}
    command_line = Path(f"/proc/{page.process.pid}/cmdline")
    if command_line.exists():
        yield (
            "not in the list of processes",
            page.token.encode() not in command_line.read_bytes(),
            {True},
        )


def _origins(page: Preview) -> Answers:
    for origin in ("http://evil.example", "null", "http://localhost:1", f"https://{page.host}", ""):
        for method in METHODS[:-1]:
            reply = page.request("/api/start", method, {"Origin": origin})
            yield f"{method} from {origin!r}", reply.status, {403}
            yield (
                "no header of CORS",
                any(k.startswith("access-control-") for k in reply.headers),
                {False},
            )
    for site in ("cross-site", "same-site"):
        yield site, page.request("/", headers={"Sec-Fetch-Site": site}).status, {403}


def _hosts(page: Preview) -> Answers:
    for host in (
        "evil.example",
        f"127.0.0.1:{page.port}.evil.example",
        f"evil.example:{page.port}",
        "",
        "127.0.0.1:1",
    ):
        yield f"Host {host!r}", page.request("/", headers={"Host": host}).status, {400, 421}
    cookie = f"Cookie: {page.cookie}\r\n\r\n"
    two = f"GET / HTTP/1.1\r\nHost: {page.host}\r\nHost: evil.example\r\n{cookie}"
    yield "two hosts", page.send(two.encode()).status, {400, 421}
    yield "no host", page.send(f"GET / HTTP/1.1\r\n{cookie}".encode()).status, {400, 421}


def _header_of_writes(page: Preview) -> Answers:
    for value in (None, "", "0"):
        reply = page.request("/api/page", "POST", {"X-Promptforge": value}, {"view": {}})
        yield f"X-Promptforge {value!r}", reply.status, {403}


def _simple(page: Preview) -> Answers:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        reply = page.request("/api/page", "POST", {"Content-Type": kind}, {"view": {}})
        yield f"a write as {kind}", reply.status, {415}


def _traversal(page: Preview) -> Answers:
    names = (
        "../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "%252e%252e/x",
        "..\\..\\x",
        "chat.j2%00",
        "C:/x",
        ".env",
    )
    for name in names:
        for path in (f"/api/files/{name}", f"/{name}", f"//{name}", f"/vendor/{name}"):
            reply = page.request(path)
            yield f"GET {path}", reply.status, {400, 404}
            yield f"GET {path} tells nothing", b"root:x:" in reply.body, {False}


def _lengths(page: Preview) -> Answers:
    for length in ("99999999999", "-1", "abc", "1 2", "5, 6", "", None):
        reply = page.request("/api/page", "POST", {"Content-Length": length}, b"{}")
        yield f"Content-Length {length}", reply.status, {400, 411, 413}
    head = f"POST /api/page HTTP/1.1\r\nHost: {page.host}\r\nCookie: {page.cookie}\r\nX-Promptforge: {page.key}\r\n"
    head += "Content-Type: application/json\r\n"
    chunks = "\r\n2\r\n{}\r\n0\r\n\r\n"
    yield (
        "two lengths",
        page.send(f"{head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}".encode()).status,
        {400},
    )
    yield (
        "chunks",
        page.send(f"{head}Transfer-Encoding: chunked\r\n{chunks}".encode()).status,
        {400, 411},
    )
    both = f"{head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n{chunks}"
    yield "a length and chunks", page.send(both.encode()).status, {400, 411}


def _pipelined(page: Preview) -> Answers:
    yield "answers to two requests on one line", page.answers("/api/start", 2), {1}


def _slow(page: Preview) -> Answers:
    head = f"POST /api/page HTTP/1.1\r\nHost: {page.host}\r\nCookie: {page.cookie}\r\nX-Promptforge: {page.key}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    with socket.create_connection(("127.0.0.1", page.port), timeout=300) as line:
        line.sendall(head.encode())
        yield "others meanwhile", page.request("/").status, {200}
        yield "who is slow", heard(line).status, {0, 408}


def _crowd(page: Preview) -> Answers:
    lines = [socket.create_connection(("127.0.0.1", page.port), timeout=300) for _ in range(200)]
    for line in lines:
        line.close()
    until = time.monotonic() + 300
    while (status := page.request("/").status) != 200 and time.monotonic() < until:
        time.sleep(0.2)
    yield "after a crowd", status, {200}


def _locked_down(page: Preview) -> Answers:
    for path in ("/", "/app.js", "/api/start", "/nothing"):
        headers = page.request(path).headers
        policy = headers.get("content-security-policy", "")
        for rule in (
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ):
            yield f"{path}: {rule}", rule in policy, {True}
        yield f"{path}: frames", headers.get("x-frame-options") == "DENY", {True}
        yield f"{path}: sniffing", headers.get("x-content-type-options") == "nosniff", {True}
        yield f"{path}: stored", headers.get("cache-control") == "no-store", {True}
        yield f"{path}: referrer", headers.get("referrer-policy") == "no-referrer", {True}
    yield (
        "text as text",
        bool(re.search(rb"innerHTML|insertAdjacentHTML|eval\(", page.request("/app.js").body)),
        {False},
    )


def _saves(page: Preview) -> Answers:
    files = page.draw()["files"]
    path = f"/api/files/{files[0]['id']}"
    yield (
        "a save without what was seen",
        page.request(path, "PUT", {}, {"text": "x"}).status,
        {428, 412},
    )
    stale = page.request(path, "PUT", {"If-Match": '"other"'}, {"text": "x"})
    yield "a save over another's", stale.status, {412}
    large = page.request(path, "PUT", {"If-Match": '"other"'}, {"text": "x" * 2_000_000})
    yield "a save too large", large.status, {413}


def _errors(page: Preview) -> Answers:
    bodies = (
        b"",
        b"{",
        b"[]",
        b'{"view": 1}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"view": {"profile": "/etc/passwd"}}',
    )
    for body in (*bodies, b'{"view": {"layout": "../x"}}', b'{"view": {"max_tokens": -1}}'):
        reply = page.request("/api/page", "POST", body=body)
        told = [
            secret
            for secret in (*TOLD, os.fsencode(os.getcwd()), page.token.encode())
            if secret in reply.body
        ]
        yield f"an error tells {told}", len(told), {0}


def _bombs(page: Preview) -> Answers:
    files = page.files()
    bomb = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    for text in (
        bomb,
        "{{ 9**(9**9) }}",
        "{{ ''.__class__.__mro__ }}",
        "{% include '/etc/passwd' %}",
    ):
        body = json.dumps({"view": {}, "drafts": {next(iter(files.values())): text}}).encode()
        reply = page.request("/api/page", "POST", body=body)
        yield "a draft that runs away", reply.status, {200, 400}
        yield (
            "and it tells nothing",
            b"root:x:" in reply.body or b"Traceback" in reply.body,
            {False},
        )


def _methods(page: Preview) -> Answers:
    for method in ("DELETE", "PATCH", "OPTIONS", "TRACE", "FOO", "PUT"):
        yield method, page.request("/api/page", method, body={"view": {}}).status, {403, 405}


def _upgrades(page: Preview) -> Answers:
    for path in ("/", "/api/events"):
        for cookie in (page.cookie, None):
            headers = {
                "Upgrade": "websocket",
                "Connection": "Upgrade",
                "Sec-WebSocket-Key": "x" * 22 + "==",
            }
            given = {
                **headers,
                "Sec-WebSocket-Version": "13",
                "Origin": "http://evil.example",
                "Cookie": cookie,
            }
            yield f"an upgrade of {path}", page.request(path, headers=given).status, REFUSED


def _long_heads(page: Preview) -> Answers:
    yield "a long header", page.request("/", headers={"X-Long": "a" * 70_000}).status, {400, 431, 0}
    yield "a long path", page.request("/" + "a" * 70_000).status, {400, 404, 414, 431, 0}


PROBES: list[tuple[str, Callable[[Preview], Answers]]] = [
    (r"bind|0\.0\.0\.0|listen|::(?!1)", _bind),
    (
        r"no credential|without (?:a |the )?(?:cookie|token|credential)|static files|unauthenticated",
        _strangers,
    ),
    (r"wrong token|guess|brute|timing", _guesses),
    (
        r"address bar|referer|log\b|argv|process list|token in|reuse|second time|old token|replay|shoulder",
        _token,
    ),
    (
        r"origin|cors|preflight|cross-site|same-site|csrf|form|fetch|another (?:tab|site|page)",
        _origins,
    ),
    (r"\bhost\b|rebind|absolute", _hosts),
    (r"custom header", _header_of_writes),
    (r"form|simple request|text/plain|csrf|content-type", _simple),
    (r"\.\.|%2|travers|passwd|\.env|static|symlink|path|null byte|%00", _traversal),
    (r"length|chunk|body|large|huge|MB|GB|smuggl", _lengths),
    (r"pipelin|smuggl|two requests|keep-alive", _pipelined),
    (r"slow|byte a second|loris|hang|stall", _slow),
    (r"connections|crowd|flood|exhaust|thousand|many (?:clients|tabs|sockets)", _crowd),
    (
        r"fram|iframe|click|sniff|csp|script|html|xss|style|cache|stored|svg|inline|nosniff|policy",
        _locked_down,
    ),
    (r"save|edit|if-match|lost|overwrit|write", _saves),
    (r"error|traceback|exception|stack|bad json|malformed|invalid", _errors),
    (r"template that|bomb|runs? away|endless|9\*\*|\{\{|render|draft|loop", _bombs),
    (r"method|delete|trace|options|patch|verb", _methods),
    (r"websocket|upgrade|sse|events?\b|stream", _upgrades),
    (r"long|header (?:of|with)|431|oversize", _long_heads),
]
"""What has more to it than one request, by words that speak of it."""
