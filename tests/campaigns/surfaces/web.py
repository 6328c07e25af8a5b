"""Requests to a preview that runs, byte by byte: what words describe is asked, and each answer must
be one that is due.

The words are read for what a request is made of (a method and a path, header lines, lengths) and
for what has a probe of its own (`PROBES`). A number from 200 to 599 in `must_hold` is a status that
is due.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from preview_process import Preview, Reply, preview

from ..corpus import Attack, NotRunError
from .probes import METHODS, PROBES, REFUSED, TOLD
from .seen import Seen

_HEADER = re.compile(
    r"\b(Host|Origin|Cookie|Referer|Content-Type|Content-Length|Transfer-Encoding|Sec-Fetch-Site|Sec-Fetch-Mode"
    r"|Sec-Fetch-Dest|Upgrade|Authorization|Range|Expect|X-[\w-]+|Access-Control-[\w-]+): *([^;]+)"
)
_REQUEST = re.compile(rf"\b({'|'.join(METHODS)}|CONNECT)\b(?: (/\S*))?")


def web(attack: Attack, options: dict[str, Any], folder: Path, _memo: Any = None) -> Iterator[Seen]:
    """Ask what the words describe of a preview that may save; once more of one that is strict."""
    if missing := [name for name in ("starlette", "uvicorn") if not importlib.util.find_spec(name)]:
        raise NotRunError(f"needs {' and '.join(missing)}")
    words = attack.payload
    probes = [probe for pattern, probe in PROBES if re.search(pattern, words, re.IGNORECASE)]
    spelt = asks(words)
    if not probes and not spelt:
        raise NotRunError(f"no request is known by these words: {words[:80]!r}")
    due = {int(status) for status in re.findall(r"\b([2-5]\d\d)\b(?!-)", attack.must_hold)}
    (folder / "mine").mkdir()
    strict = ["--strict"] if options else []
    with preview(folder, "--templates", folder / "mine", "--edit", *strict) as running:
        running.enter()
        for ask in spelt:
            reply = ask(running)
            wrong = _wrong(reply, due or REFUSED, running)
            yield Seen(f"{words[:60]}: {reply.status}", "", wrong=wrong)
        for probe in probes:
            for what, status, own in probe(running):
                wrong = None if status in own else f"H7: {what}: {status}, due {sorted(own)}"
                yield Seen(what, "", wrong=wrong)
        after = running.request("/")
        yield Seen(
            "the next request",
            "",
            wrong=None if after.status == 200 else f"H8: {after.status} to the next",
        )


def asks(words: str) -> list[Callable[[Preview], Reply]]:
    """Return the requests that words spell out: each combination of a target and the values of a
    header.
    """
    found = _REQUEST.search(words)
    headers = {name: value.strip() for name, value in _HEADER.findall(words)}
    write = not found and (
        "cookie and" in words or "Content-" in str(headers) or "Transfer" in str(headers)
    )
    method, path = (
        (found[1], found[2] or "/api/page") if found else ("POST" if write else "GET", "/api/page")
    )
    if not found and not headers:
        return []
    if method == "GET" and path == "/api/page":
        path = "/api/start"
    rows: list[dict[str, str | None]] = [{}]
    for name, value in headers.items():
        numbers = name == "Content-Length"
        values = (
            re.split(r",\s*", value)
            if numbers
            else [re.split(r"[,\s]*\band\b|\s+\(| with ", value)[0].strip()]
        )
        rows = [
            {**row, name: each}
            for row in rows
            for each in values
            if re.fullmatch(r"[\x20-\x7e]*", each)
        ]
    rows = [row for row in rows if row.get("Content-Length") != "two values"]
    return [_ask(method, path, row) for row in rows]


def _ask(method: str, path: str, headers: dict[str, str | None]) -> Callable[[Preview], Reply]:
    def ask(page: Preview) -> Reply:
        filled = {k: v.replace("OTHERPORT", "1") if v else v for k, v in headers.items()}
        if "Transfer-Encoding" in filled:
            filled.setdefault("Content-Length", None)
        body: object = None if method in ("GET", "HEAD") else {"view": {}}
        return page.request(path, method, filled, body)

    return ask


def _wrong(reply: Reply, due: set[int], page: Preview) -> str | None:
    """Return what is broken in an answer: a status that is not due, or what it tells."""
    if reply.status not in due:
        return f"H7: {reply.status}, due {sorted(due)}"
    if any(secret in reply.body for secret in (*TOLD, page.token.encode())):
        return "H7: the answer tells of the machine"
    if any(name.startswith("access-control-") for name in reply.headers):
        return "H7: another origin may read it"
    return None
