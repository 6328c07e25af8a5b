"""Any request to the preview: only those of the page come through; every answer has its headers."""

from __future__ import annotations

import asyncio
import contextlib
import io
from typing import Any

from promptforge.preview.auth import SECURITY_HEADERS, AuthMiddleware, SessionSecrets

from .drawing import Draw

PORT = 8765
OWN = f"127.0.0.1:{PORT}".encode()
METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get", "")
PATHS = (
    b"/",
    b"/api/page",
    b"/api/events",
    b"/../x",
    b"//evil",
    b"/a%2e%2e",
    b"*",
    b"http://evil/",
)
NAMES = (
    *(
        b"host",
        b"cookie",
        b"origin",
        b"sec-fetch-site",
        b"content-type",
        b"content-length",
        b"x-promptforge",
    ),
    *(b"transfer-encoding", b"x", b""),
)
VALUES = (
    *(
        OWN,
        b"localhost:8765",
        b"evil.example",
        b"http://" + OWN,
        b"null",
        b"same-origin",
        b"cross-site",
        b"none",
    ),
    *(
        b"application/json",
        b"text/plain",
        b"application/json; x",
        b"0",
        b"2",
        b"-1",
        b"1" * 12,
        b"chunked",
        b"1",
    ),
)


def one(data: bytes) -> None:
    """Send a request made of the bytes."""
    draw = Draw(data)
    keys = SessionSecrets(PORT, lambda link: None)
    given = keys.exchange(keys.link.rpartition("=")[2].encode())
    assert given is not None
    cookie = given.partition(";")[0].encode()
    proper = {
        b"host": OWN,
        b"cookie": cookie,
        b"content-type": b"application/json",
        b"content-length": b"2",
        b"x-promptforge": keys.key.encode(),
    }
    method, path = (
        draw.of(METHODS),
        draw.of(PATHS) if draw.true() else b"/" + draw.take(draw.number(30)),
    )
    headers = [pair for pair in proper.items() if draw.number(9)]
    for _ in range(draw.number(4)):
        headers.append(
            (
                draw.of(NAMES),
                draw.of((*VALUES, cookie)) if draw.true() else draw.take(draw.number(40)),
            )
        )
    scope: dict[str, Any] = {
        "type": "http", "method": method, "path": path.decode("latin-1"), "raw_path": path,
        "query_string": draw.take(draw.number(30)) if draw.true() else b"", "headers": headers,
    }  # fmt: skip
    through, sent = asyncio.run(_send(keys, scope, draw.take(draw.number(40))))
    held = [
        [value for name, value in headers if name == wanted]
        for wanted in (b"host", b"cookie", b"origin")
    ]
    if through:
        assert len(held[0]) == 1 and held[0][0].lower() in (
            OWN,
            b"localhost:8765",
            b"[::1]:8765",
        ), scope
        assert any(cookie in each for each in held[1]), scope
        assert all(origin == b"http://" + held[0][0].lower() for origin in held[2]), scope
        assert b"%" not in path and b"?" not in path, scope
        if method not in ("GET", "HEAD"):
            assert (b"x-promptforge", keys.key.encode()) in headers and any(
                n == b"content-length" for n, _ in headers
            ), scope
    (start,) = [message for message in sent if message["type"] == "http.response.start"]
    assert set(SECURITY_HEADERS) <= set(start["headers"]) and 200 <= start["status"] < 500, (
        scope,
        start,
    )


async def _send(keys: SessionSecrets, scope: dict[str, Any], body: bytes) -> tuple[bool, list[Any]]:
    through, sent = False, []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal through
        through = True
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    with contextlib.redirect_stderr(io.StringIO()):
        await AuthMiddleware(app, keys)(scope, receive, send)
    return through, sent
