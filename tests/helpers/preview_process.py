"""A preview that really runs, and requests to it byte by byte."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from places import ROOT

PATHS = (
    "/",
    "/app.js",
    "/style.css",
    "/vendor/codemirror.js",
    "/api/start",
    "/api/events",
    "/api/files/x",
    "/api/cases",
    "/no",
)
"""Addresses of the preview, and one that is not there."""
ITEMS = [
    {
        "kind": "code",
        "path": "src/greet.py",
        "start_line": 1,
        "end_line": 2,
        "score": 0.9,
        "content": 'def greet(name):\n    return f"Hello, {name}"',
    },
    {
        "kind": "document",
        "name": "guide.md",
        "score": 0.7,
        "content": "Greetings are polite. They begin with a capital letter. "
        "They end without a full stop. "
        "They are short, since nobody reads a long greeting to its end.",
    },
    {
        "kind": "error",
        "name": "crash",
        "score": 0.6,
        "content": "<script>alert(1)</script>\n<b>bold</b> 日本語 👍🏽",
    },
    {
        "kind": "document",
        "name": "old.md",
        "score": 0.3,
        "content": "Greetings were longer once. " * 30,
    },
]


def write_items(folder: Path, text: str) -> None:
    """Write the file of items at one stroke: an empty one, seen meanwhile, has no items."""
    new = folder / "items.json.new"
    new.write_text(text, encoding="utf-8")
    new.replace(folder / "items.json")


class Reply(NamedTuple):
    """An answer as it came: nothing at all has the status 0."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Preview:
    """A running preview: its address, its output, cookie and key once `enter` was called."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        assert process.stderr is not None
        self.process = process
        self.folder = folder
        self.said: list[str] = []
        found = None
        while not found:  # warnings about the items come before the link
            self.said.append(process.stderr.readline())
            assert self.said[-1], self.said
            found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", self.said[-1])
        self.link, self.port, self.token = found[0], int(found[1]), found[2]
        self.host = f"127.0.0.1:{self.port}"
        self.cookie = self.key = ""
        self._reader = threading.Thread(
            target=lambda: self.said.extend(process.stderr or ()), daemon=True
        )
        self._reader.start()

    def send(self, data: bytes, *, wait: float = 300) -> Reply:
        """Send bytes as they are and return what comes back before the other side closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as line:
            line.sendall(data)
            return heard(line)

    def answers(self, path: str, times: int) -> int:
        """Send so many requests at once on one line; return how many were answered."""
        one = f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nCookie: {self.cookie}\r\n"
        one += f"X-Promptforge: {self.key}\r\n\r\n"
        reply = self.send(one.encode() * times)
        return bool(reply.status) + reply.body.count(b"HTTP/1.1 ")

    def request(
        self,
        path: str,
        method: str = "GET",
        headers: Mapping[str, str | None] | None = None,
        body: object = None,
    ) -> Reply:
        """Send a request as the page would; a header that is None is left out."""
        data = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        usual: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie or None}
        usual["X-Promptforge"] = self.key or None
        if method not in ("GET", "HEAD"):
            usual |= {
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
            }
        merged = {**usual, **(headers or {})}
        lines = [
            f"{method} {path} HTTP/1.1",
            *(f"{k}: {v}" for k, v in merged.items() if v is not None),
        ]
        return self.send("\r\n".join([*lines, "", ""]).encode("latin-1") + data)

    def enter(self) -> Preview:
        """Exchange the token for cookie and key."""
        reply = self.request(f"/?token={self.token}")
        assert reply.status == 303, reply
        self.cookie = reply.headers["set-cookie"].split(";")[0]
        self.key = reply.headers["location"].partition("#key=")[2]
        return self

    def draw(self, what: str = "page", **ask: Any) -> Any:
        return self.request(f"/api/{what}", "POST", body={"view": {}, **ask}).json()

    def files(self) -> dict[str, str]:
        """Return the ids of the files behind the text, by name."""
        return {file["name"]: file["id"] for file in self.draw()["files"]}


def heard(line: socket.socket) -> Reply:
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while part := line.recv(1 << 16):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    if not head:
        return Reply(0, {}, b"")
    first, *rest = head.decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    for each in rest:
        name, _, value = each.partition(": ")
        headers[name.lower()] = value
    return Reply(int(first.split()[1]), headers, body)


@contextlib.contextmanager
def preview(folder: Path, *arguments: str | Path, items: object = None) -> Iterator[Preview]:
    """Start a preview over `items` in `folder`; its messages are in `said` when it has ended."""
    source = folder / "items.json"
    if not source.exists() or items is not None:
        source.write_text(json.dumps(ITEMS if items is None else items), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "promptforge", "preview", str(source), *map(str, arguments)],
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=folder,
    )
    try:
        running = Preview(process, folder)
        yield running
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(300)
        if process.stderr is not None:
            with contextlib.suppress(NameError):
                running._reader.join(300)
            process.stderr.close()
