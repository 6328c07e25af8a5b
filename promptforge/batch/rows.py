"""One row: a request as JSON → its result, or a record of what is wrong with it, as one line of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from ..diagnostics import Diagnostics
from ..errors import ItemError, OptionError, PromptForgeError, nearest, quote
from ..items import Item
from ..options import VOCABULARY
from ..prompting.conversations import read as read_messages
from ..prompting.messages import Message
from ..sources import attack, itemfiles, workspace
from ..sources.decoding import decode as decode_json
from ..sources.decoding import say_twice
from ..sources.jobs import Job, job_of
from ..sources.knowledge import Wanted, gather
from ..sources.records import load_records
from . import spec as specs
from .reading import WRONG, Part
from .spec import CONTEXT, Spec

FAILED = b'{"error":'
"""How the line of a row begins that has no result."""

_KEYS = (
    "id",
    "profile",
    "items",
    "files",
    "knowledge",
    "system",
    "instructions",
    "user",
    "history",
)


class Rendered(msgspec.Struct, frozen=True):
    """What became of some rows."""

    body: bytes
    """A line of JSON for each row, in their order."""
    rows: int
    errors: int
    """Rows that have no result."""
    tokens: int
    """Tokens of all results."""
    references: list[str]
    """A hash of what was read, for each row that names files, man pages or techniques."""


class _Asked(NamedTuple):
    """What a row asks for."""

    job: Job
    profile: str | None
    options: dict[str, Any]


class _Loaded(NamedTuple):
    """What a row is made of."""

    items: list[Item]
    history: list[Message] | None
    said: Diagnostics
    failure: ItemError | None
    """Why there is nothing."""
    reference: str
    """A hash of all this where the row names any of it, since what is named may change; else empty."""


class RowRenderer:
    """Renders rows, any number, in one thread."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._renderers = {spec.profile: specs.renderer(spec)}

    def render(self, part: Part) -> Rendered:
        """Return the results of all rows of `part`."""
        lines: list[bytes] = []
        references: list[str] = []
        tokens = 0
        for number, raw in part.rows:
            line, cost, reference = self.row(number, raw)
            lines += line, b"\n"
            tokens += cost
            references += [reference] if reference else []
        errors = sum(line.startswith(FAILED) for line in lines)
        return Rendered(b"".join(lines), len(part.rows), errors, tokens, references)

    def references(self, part: Part) -> list[str]:
        """Return `Rendered.references` as they are now; nothing is rendered."""
        found = []
        for number, raw in part.rows:
            try:
                found.append(self._load(_asked(decode(raw, {}), self._spec.to), number).reference)
            except Exception:
                continue  # a row that cannot be read names nothing
        return [reference for reference in found if reference]

    def row(self, number: int, raw: bytes) -> tuple[bytes, int, str]:
        """Return the line of a row, the tokens of its result, and the hash of what was read for it. Never raises."""
        name, reference = f"row-{number}", ""
        try:
            twice: dict[str, None] = {}
            value = decode(raw, twice)
            name = _name(value, name)
            asked = _asked(value, self._spec.to)
            loaded = self._load(asked, number)
            reference = loaded.reference
            say_twice(twice, loaded.said, "row")
            if loaded.failure:
                raise loaded.failure
            facts = self._render(asked, loaded)
            return _line({"id": name, "line": number, **facts}), facts["tokens"], reference
        except Exception as error:  # whatever it is, it must not end the other rows
            return failed(name, number, type(error).__name__, str(error)), 0, reference

    def _render(self, asked: _Asked, loaded: _Loaded) -> dict[str, Any]:
        profile = asked.profile or self._spec.profile
        renderer = self._renderers.get(profile)
        if renderer is None:
            renderer = self._renderers[profile] = specs.renderer(self._spec, profile)
        before = tuple(loaded.said)
        if self._spec.to == CONTEXT:
            context = renderer.render(loaded.items, before=before, **asked.options)
            return {"text": context.text, **_account(context, context)}
        prompt = renderer.prompt(
            loaded.items,
            system=asked.job.texts.get("system"),
            instructions=asked.job.texts.get("instructions"),
            user=asked.job.texts.get("question"),
            history=loaded.history,
            to=self._spec.to,
            before=before,
            **asked.options,
        )
        made = {"text": prompt.text} if self._spec.to == "text" else {"request": prompt.request}
        return {**made, **_account(prompt, prompt.context)}

    # --- what a row names -------------------------------------------------------------------------------------------

    def _load(self, asked: _Asked, number: int) -> _Loaded:
        job, said = asked.job, Diagnostics()
        named = [entry for entry in job.items if isinstance(entry, str)]
        records = [entry for entry in job.items if not isinstance(entry, str)]
        paths = [
            *named,
            *job.files,
            *job.documents,
            *([job.history] if isinstance(job.history, str) else []),
        ]
        if not paths and not job.man_pages and not job.mitre_techniques:
            items = load_records(records, where="items", diagnostics=said)
            return _Loaded(items, _messages(job.history, "history", said), said, None, "")
        wanted = Wanted(
            items=named,
            records=records,
            files=job.files,
            documents=job.documents,
            man_pages=job.man_pages,
            techniques=job.mitre_techniques,
            attack=self._attack if job.mitre_techniques and self._spec.attack else None,
            workspace=self._spec.workspace,
        )
        items, history, failure = [], None, None
        try:
            for path in paths:
                _confine(path)
            items = gather(wanted, said)
            history = self._history(job.history, said)
        except ItemError as error:
            failure = error
        read = repr((items, history, list(said), failure))
        return _Loaded(
            items, history, said, failure, specs.digest(read.encode("utf-8", "backslashreplace"))
        )

    def _history(self, given: Any, said: Diagnostics) -> list[Message] | None:
        if not isinstance(given, str):
            return _messages(given, "history", said)
        records, locate = itemfiles.load_messages(
            given, diagnostics=said, workspace=self._spec.workspace
        )
        return _messages(records, given, said, locate)

    @cached_property
    def _attack(self) -> attack.Index:
        return attack.read(
            self._spec.attack or "", workspace=self._spec.workspace, diagnostics=Diagnostics()
        )


def _confine(path: str) -> None:
    """Refuse what a user may type and a row may not name: rows come from anywhere, and stay in the workspace."""
    if path == "-" or os.path.isabs(path):
        what = (
            "standard input" if path == "-" else "an absolute path, only what is in the workspace"
        )
        raise ItemError(f"a row cannot name {what}", where=workspace.shown(path))


def decode(raw: bytes, twice: dict[str, None]) -> dict[str, Any]:
    """Return the object that a row is, as `sources.decoding` reads it; raises `ItemError`."""
    if raw.startswith(WRONG):
        raise ItemError(raw.removeprefix(WRONG).decode())
    try:
        value = decode_json(raw, twice)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        if raw in (b"[", b"{"):
            reason += "; a row is one object in one line"
        raise ItemError(f"not valid JSON: {reason}") from None
    if not isinstance(value, dict):
        raise ItemError(
            f"expected an object, found {'null' if value is None else type(value).__name__}"
        )
    return value


def failed(name: str, number: int, kind: str, message: str) -> bytes:
    """Return the line of a row that has no result."""
    return _line({"error": kind, "id": name, "line": number, "message": message})


def name_of(raw: bytes, derived: str) -> str:
    """Return the id of a row, or `derived` where it has none or cannot be read."""
    try:
        return _name(decode(raw, {}), derived)
    except PromptForgeError:
        return derived


def lines(body: bytes) -> Iterator[tuple[bool, bytes]]:
    """Yield whether a row of `body` failed, and its line without the line end."""
    for line in body.splitlines():
        yield line.startswith(FAILED), line


def _name(value: Mapping[str, Any], derived: str) -> str:
    given = value.get("id")
    if given is None or given == "":
        return derived
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise OptionError(
            f"id: expected text or a whole number, found {type(given).__name__}", option="id"
        )
    return str(given)


def _asked(value: dict[str, Any], to: str) -> _Asked:
    """Return what a decoded row asks for; raises `OptionError` for what a row cannot say."""
    given = {key: inner for key, inner in value.items() if key not in ("id", "profile", "user")}
    if value.get("user") is not None:
        if given.get("question") is not None:
            raise OptionError(
                "user and question are two names of one text; write one", option="user"
            )
        given["question"] = value["user"]
    profile = value.get("profile")
    if profile is not None and (
        not isinstance(profile, str) or profile.endswith((".yaml", ".yml"))
    ):
        raise OptionError(
            "profile: a row takes the name of a profile, not a file", option="profile"
        )
    job = job_of(given, lambda *_: "")
    if job.search is not None or job.plugged:
        named = "from" if job.plugged else "search"
        raise OptionError(
            f"{named}: not in a row; it names items, files, documents and the like", option=named
        )
    for name, inner in job.options.items():
        if name not in VOCABULARY:
            raise OptionError(
                f"unknown key {quote(name)}{nearest(name, [*_KEYS, *VOCABULARY])}", option=name
            )
        if name == "tokenizer" and isinstance(inner, str) and inner.startswith("file:"):
            raise OptionError("tokenizer: only the whole run can take one from a file", option=name)
    if to == CONTEXT and (job.texts or job.history is not None):
        said = "user" if "question" in job.texts else next(iter(job.texts), "history")
        raise OptionError(
            f"{said}: a context alone has no place for it; --to text or openai makes a prompt"
        )
    return _Asked(job, profile, job.options)


def _messages(
    given: Any, where: str, said: Diagnostics, locate: Callable[[int], str] | None = None
) -> list[Message] | None:
    return None if given is None else read_messages(given, where, said, locate)


def _account(made: Any, context: Any) -> dict[str, Any]:
    """Return what there is to say of a result or prompt and of its context, if it has one."""
    return {
        "tokens": made.tokens,
        "exact": made.exact,
        "items_included": context.items_included if context else 0,
        "items_trimmed": context.items_trimmed if context else 0,
        "items_dropped": context.items_dropped if context else 0,
        "truncated": context.truncated if context else False,
        "warnings": msgspec.to_builtins(made.warnings),
    }


def _line(facts: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(facts)
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )
