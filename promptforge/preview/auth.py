"""Authentication: only the browser that opened the link may send requests, and only from the page.

Any web page in any browser of this machine can send requests to a local port. So every request,
even for a static file, is checked for its host name, its origin and a secret cookie. Browsers send
a cookie to all ports of a host, so a server on another port learns it from who visits it. So the
page also sends a key, which only pages of this port can read.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Headers = dict[bytes, list[bytes]]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
MAX_BODY_BYTES = 1 << 20
MAX_HEAD_BYTES = 16 * 1024
REQUEST_SECONDS = 10.0
ANSWER_SECONDS = 60.0
"""Seconds for the answer to be read; the stream of events has no such end."""
EVENTS_PATH = "/api/events"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"connection", b"close"),
)
"""Headers of every answer. One request per connection, so no second one hides behind a first."""
_READING = ("GET", "HEAD")
_PATH = re.compile(rb"/[A-Za-z0-9/._-]*")
_START = re.compile(rb"(?:^|&)token=([A-Za-z0-9_-]*)(?:&|$)")


class SessionSecrets:
    """Secrets of one run: the token in the link, good for one use; cookie and key given for it."""

    def __init__(self, port: int, renewed: Callable[[str], None]) -> None:
        """`renewed` gets a new link when a used one comes again, to print it on the terminal."""
        self.port = port
        self.cookie_name = f"promptforge-{port}"
        self._cookie = secrets.token_urlsafe(32)
        self.key = secrets.token_urlsafe(32)
        """Sent by the page with all that it asks for; the browser keeps it for this port alone."""
        self._token = secrets.token_urlsafe(32)
        self._spent: str | None = None
        self._renewed = renewed

    @property
    def link(self) -> str:
        """Address for the browser."""
        return f"http://127.0.0.1:{self.port}/?token={self._token}"

    def exchange(self, token: bytes) -> str | None:
        """Use up the token: return the `Set-Cookie` header, or None for any other token."""
        if hmac.compare_digest(token, self._token.encode()):
            self._spent, self._token = self._token, secrets.token_urlsafe(32)
            return f"{self.cookie_name}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"
        if self._spent is not None and hmac.compare_digest(token, self._spent.encode()):
            self._spent = ""  # one new link is enough
            self._renewed(self.link)
        return None

    def holds(self, cookies: list[bytes]) -> bool:
        """Tell whether the headers hold the cookie."""
        # Cookies of other ports come too: browsers do not keep ports apart. All are compared, so
        # that the time says nothing about the place of the right one.
        name, found = self.cookie_name.encode(), False
        for pair in b";".join(cookies).split(b";"):
            key, _, value = pair.strip().partition(b"=")
            if key == name:
                found |= hmac.compare_digest(value, self._cookie.encode())
        return found


class AuthMiddleware:
    """Middleware that checks every request before the application sees it."""

    def __init__(self, app: App, session_secrets: SessionSecrets) -> None:
        self._app = app
        self._secrets = session_secrets
        self._hosts = {
            f"{name}:{session_secrets.port}".encode()
            for name in ("127.0.0.1", "localhost", "[::1]")
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        begun = False

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", ()), *SECURITY_HEADERS]
            await send(message)

        try:
            self._check(scope)
            body = await _body(scope, receive)
            seconds: float | None = ANSWER_SECONDS
            if scope["path"] == EVENTS_PATH:  # a stream has no end
                seconds = None
            async with asyncio.timeout(seconds):
                await self._app(scope, _replay(body, receive), answer)
        except HTTPException as refused:
            said = PlainTextResponse(refused.detail, refused.status_code, refused.headers)
            await said(scope, receive, answer)
        except TimeoutError:
            if begun:
                raise
            await PlainTextResponse("this took too long", 503)(scope, receive, answer)
        except Exception as error:  # the answer says nothing: a traceback holds paths
            print(f"promptforge: preview: {type(error).__name__}", file=sys.stderr)
            if begun:
                raise
            said = PlainTextResponse("something went wrong; the terminal says more", 500)
            await said(scope, receive, answer)

    def _check(self, scope: Scope) -> None:
        """Raise `HTTPException` for a request from anywhere but our own page."""
        if scope["type"] != "http":
            raise HTTPException(400, "no such protocol here")
        headers: Headers = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        self._check_host(headers)
        size = len(scope["raw_path"]) + len(scope["query_string"])
        if size + sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEAD_BYTES:
            raise HTTPException(431, "more than a request needs")
        # Without a length, two programs may disagree about the end of a body.
        if b"transfer-encoding" in headers:
            raise HTTPException(411, "say the length")
        _check_length(scope["method"], headers.get(b"content-length", []))
        _check_origin(headers)
        self._enter(scope, headers)
        if not _PATH.fullmatch(scope["raw_path"]):
            raise HTTPException(404, "there is nothing here")
        if scope["method"] not in _READING:
            _check_type(headers)
        self._check_key(scope, headers)

    def _check_host(self, headers: Headers) -> None:
        # A name of a stranger's that resolves to 127.0.0.1 would make his page of our origin.
        host = headers.get(b"host", [])
        if len(host) != 1 or host[0].lower() not in self._hosts:
            raise HTTPException(421, "this server has another name")

    def _enter(self, scope: Scope, headers: Headers) -> None:
        """Give the cookie for a token, or check that the request has it."""
        query = scope["query_string"]
        found = _START.search(query)
        if found and scope["method"] == "GET" and scope["raw_path"] == b"/":
            cookie = self._secrets.exchange(found[1])
            if cookie is None and not self._secrets.holds(headers.get(b"cookie", [])):
                message = "This link has been used, or is another's. "
                raise HTTPException(403, message + "The terminal shows the one to open.")
            # Go on to the address without the token, so that it stays in no history.
            rest = b"&".join(part for part in query.split(b"&") if not part.startswith(b"token="))
            location = f"/?{rest.decode('latin-1')}" if rest else "/"
            if cookie is None:
                raise HTTPException(303, "", {"location": location})
            # A browser sends to no server what stands behind `#`.
            location += f"#key={self._secrets.key}"
            raise HTTPException(303, "", {"location": location, "set-cookie": cookie})
        if not self._secrets.holds(headers.get(b"cookie", [])):
            raise HTTPException(403, "Open the link that the terminal shows.")

    def _check_key(self, scope: Scope, headers: Headers) -> None:
        # A script elsewhere has to ask before it sends this header. An `EventSource` cannot send
        # it; its stream carries nothing but the number of changes.
        path = scope["path"]
        if scope["method"] in _READING and (path == EVENTS_PATH or not path.startswith("/api/")):
            return
        given = headers.get(b"x-promptforge", [])
        if len(given) != 1 or not hmac.compare_digest(given[0], self._secrets.key.encode()):
            raise HTTPException(403, "Open the link that the terminal shows.")


def _check_length(method: str, given: list[bytes]) -> None:
    if not given:
        if method not in _READING:
            raise HTTPException(411, "say the length")
        return
    if len(given) != 1 or not given[0].isdigit():
        raise HTTPException(400, "no such length")
    # Ten digits at most: `int` of a million of them would take minutes.
    if len(given[0]) > 10 or int(given[0]) > MAX_BODY_BYTES:
        raise HTTPException(413, f"more than {MAX_BODY_BYTES >> 10} kB")
    if method in _READING and int(given[0]):
        raise HTTPException(400, "a body where none is expected")


def _check_origin(headers: Headers) -> None:
    # Browsers set both headers, and no script can change them. `none` is the user's own typing.
    origin = headers.get(b"origin")
    if origin is not None and origin != [b"http://" + headers[b"host"][0].lower()]:
        raise HTTPException(403, "not from this page")
    if headers.get(b"sec-fetch-site", [b"none"]) not in ([b"none"], [b"same-origin"]):
        raise HTTPException(403, "not from this page")


def _check_type(headers: Headers) -> None:
    # A form cannot send this type.
    kind = headers.get(b"content-type", [b""])
    if len(kind) != 1 or kind[0].split(b";")[0].strip().lower() != b"application/json":
        raise HTTPException(415, "send application/json")


async def _body(scope: Scope, receive: Receive) -> bytes:
    if scope["method"] in _READING:
        return b""
    body, more = b"", True
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise HTTPException(400, "gone")
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > MAX_BODY_BYTES:
                    raise HTTPException(413, f"more than {MAX_BODY_BYTES >> 10} kB")
    except TimeoutError:
        raise HTTPException(408, "too slow") from None
    return body


def _replay(body: bytes, receive: Receive) -> Receive:
    # Give the application the body that was read already, then the events after it.
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        if whole:
            return whole.pop()
        return await receive()

    return again
