"""Job files: the knowledge, files and items a prompt is made of, and its options. YAML, or a `<context>` in XML.

The XML parser reads no document type and so no entity: nothing can be multiplied, and nothing fetched.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from xml.parsers import expat

from ..diagnostics import Diagnostics
from ..errors import ItemError, ProfileError, did_you_mean, nearest, quote
from . import workspace as places
from .searching import Search

TEXTS = ("system", "instructions", "question")
"""What whoever builds a whole prompt writes into it."""
KEYS = (
    "knowledge",
    "context_config",
    "files",
    "from",
    "search",
    "items",
    "history",
    "profile",
    "attack",
    *TEXTS,
)
"""What a job holds beside options."""
LISTS = ("man_pages", "documents", "mitre_techniques")
"""The three lists of a `knowledge` block."""
MAX_DEPTH = 50
MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Job:
    """What a job file says."""

    options: dict[str, Any] = field(default_factory=dict)
    """All other top-level keys, as they are: options, to be checked by whoever knows them."""
    texts: dict[str, str] = field(default_factory=dict)
    """`system`, `instructions` and `question` of a whole prompt, those that are there."""
    history: str | tuple[Any, ...] | None = None
    """Of a whole prompt: the name of a file of messages, or messages written in place."""
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    """The line of each key and list member, by its path in the file."""
    man_pages: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    mitre_techniques: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """What `--file` takes."""
    plugged: tuple[str, ...] = ()
    """What `--from` takes."""
    search: Search | None = None
    """What `--search` and `--in` take."""
    items: tuple[str | dict[str, Any], ...] = ()
    """Names of item files, or records written in place."""


def load_job(path: str | os.PathLike[str], *, diagnostics: Diagnostics | None = None) -> Job:
    """Return the job in a file, XML where it begins with `<`, else YAML.

    A relative path counts from the working directory. Raises `ProfileError` (`file:line`) for what is wrong in YAML,
    `ItemError` for XML and for a file that cannot be read.
    """
    where = places.shown(path)
    said = Diagnostics() if diagnostics is None else diagnostics
    text = places.read_text(path, workspace=None, diagnostics=said)
    return _xml(text, where) if text.lstrip()[:1] == "<" else _yaml(text, where)


def _yaml(text: str, where: str) -> Job:
    from .. import yamltext

    value, lines = yamltext.load_with_lines(text, where)
    if value is None:
        return Job()
    return replace(job_of(value, lambda *path: f"{where}:{lines.get(path, 1)}"), lines=lines)


def job_of(value: object, at: Callable[..., str]) -> Job:
    """Return the job that a decoded document stands for; `at` gives the place of a path in it, for messages.

    Raises `ProfileError` for what a job cannot hold.
    """
    if not isinstance(value, dict):
        raise ProfileError("expected keys and values, such as `knowledge:`", where=at())
    blocks = [key for key in ("knowledge", "context_config") if key in value]
    if len(blocks) > 1:
        message = "knowledge and context_config are two names of one block; write one"
        raise ProfileError(message, where=at(blocks[1]))
    lists: dict[str, tuple[str, ...]] = {}
    for block in blocks:
        inside = {} if value[block] is None else value[block]
        if not isinstance(inside, dict):
            raise ProfileError(
                f"{block}: expected the lists {', '.join(LISTS)}", where=at(block), option=block
            )
        for key in inside:
            if key not in LISTS:
                raise ProfileError(
                    f"unknown key {quote(key)}{nearest(key, LISTS)}",
                    where=at(block, key),
                    option=key,
                )
            lists[key] = tuple(_texts(inside[key], (block, key), at))
    items = value.get("items")
    texts: dict[str, Any] = {name: value[name] for name in TEXTS if value.get(name) is not None}
    for name, own in texts.items():
        if not isinstance(own, str):
            message = f"{name}: expected a text, found {type(own).__name__}"
            raise ProfileError(message, where=at(name), option=name)
    history = value.get("history")
    if history is not None and not isinstance(history, str | list):
        message = f"history: expected the name of a file, or a list of messages, found {type(history).__name__}"
        raise ProfileError(message, where=at("history"), option="history")
    return Job(
        options={
            k: v
            for k, v in value.items()
            if k not in ("files", "from", "search", "items", "history", *TEXTS, *blocks)
        },
        texts=texts,
        history=tuple(history) if isinstance(history, list) else history,
        files=tuple(_texts(value.get("files"), ("files",), at)),
        plugged=tuple(_texts(value.get("from"), ("from",), at)),
        search=_search(value.get("search"), at),
        items=tuple(_entries(items, ("items",), at, str | dict, "names of files, or items")),
        **lists,  # type: ignore[arg-type]
    )


def _search(value: Any, at: Callable[..., str]) -> Search | None:
    """Return what is looked for: a text, or `query` and `in`."""
    if value is None:
        return None
    given = {"query": value} if isinstance(value, str) else value
    for key in given if isinstance(given, dict) else ():
        if key not in ("query", "in"):
            message = f"unknown key {quote(key)}{nearest(key, ('query', 'in'))}"
            raise ProfileError(message, where=at("search", key), option=str(key))
    if (
        not isinstance(given, dict)
        or not isinstance(given.get("query"), str)
        or not given["query"].strip()
    ):
        message = "search: expected words, or `query` with words and `in` with paths"
        raise ProfileError(message, where=at("search"), option="search")
    return Search(given["query"], tuple(_texts(given.get("in"), ("search", "in"), at)) or (".",))


def _texts(value: Any, path: tuple[str | int, ...], at: Callable[..., str]) -> list[str]:
    return _entries(value, path, at, str, "names, as text")


def _entries(
    value: Any, path: tuple[str | int, ...], at: Callable[..., str], kinds: Any, expected: str
) -> list[Any]:
    """Return the members of a list; one alone stands for a list of one, nothing for none."""
    if value is None:
        return []
    members = value if isinstance(value, list) else [value]
    for index, member in enumerate(members):
        if not isinstance(member, kinds) or member == "":
            place = (*path, index) if isinstance(value, list) else path
            name = ".".join(map(str, path))
            message = f"{name}: expected {expected}, found {type(member).__name__}"
            if member == "":
                message = f"{name}: an empty name"
            raise ProfileError(message, where=at(*place), option=str(path[-1]))
    return list(members)


class _Context:
    """What the handlers of the parser have seen: the three lists, and where they are in the document."""

    def __init__(self, where: str, parser: expat.XMLParserType) -> None:
        self._where, self._parser = where, parser
        self.lists: dict[str, list[str]] = {}
        self._open: list[str] = []
        self._context: int | None = None
        self._text: list[str] = []
        self._has_children = False
        self.found = False

    def refusal(self, message: str) -> ItemError:
        return ItemError(message, where=f"{self._where}:{self._parser.CurrentLineNumber}")

    def refuse(self, *_: Any) -> None:
        raise self.refusal("a document type or entity; take the <!DOCTYPE …> out")

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        self._open.append(local)
        if len(self._open) > MAX_DEPTH:
            raise self.refusal(f"nested deeper than {MAX_DEPTH}")
        if self._context is None:
            if local == "context":
                self._context, self.found = len(self._open), True
            return
        depth = len(self._open) - self._context
        if depth == 1:
            if local not in LISTS and (hint := did_you_mean(local, LISTS)):
                raise self.refusal(f"unknown element {quote(local)}{hint}")
            self._has_children = False
            self._text.clear()
        elif depth == 2:
            self._has_children = True
            self._text.clear()

    def text(self, data: str) -> None:
        if self._context is not None and len(self._open) > self._context:
            self._text.append(data)

    def end(self, _name: str) -> None:
        local = self._open.pop()
        if self._context is None:
            return
        depth = len(self._open) + 1 - self._context
        if depth == 0:
            self._context = None
        elif depth == 1 and not self._has_children:
            self._keep(local, "".join(self._text).splitlines())
        elif depth == 2:
            self._keep(self._open[-1], [" ".join("".join(self._text).split())])
            self._text.clear()

    def _keep(self, name: str, entries: list[str]) -> None:
        if name in LISTS:
            self.lists.setdefault(name, []).extend(
                entry.strip() for entry in entries if entry.strip()
            )


def _xml(text: str, where: str) -> Job:
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_BYTES:
        raise ItemError(
            f"longer than {MAX_BYTES} bytes; XML of this size is not read", where=f"{where}:1"
        )
    parser = expat.ParserCreate("utf-8")
    context = _Context(where, parser)
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = context.refuse
    parser.ExternalEntityRefHandler = context.refuse  # type: ignore[assignment]
    parser.StartElementHandler, parser.EndElementHandler = context.start, context.end
    parser.CharacterDataHandler = context.text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as exc:
        raise ItemError(
            f"not well-formed XML: {expat.ErrorString(exc.code)}", where=f"{where}:{exc.lineno}"
        ) from None
    if not context.found:
        message = (
            f"no <context> element; expected one with {', '.join(f'<{name}>' for name in LISTS)}"
        )
        raise ItemError(message, where=f"{where}:1")
    return Job(**{name: tuple(entries) for name, entries in context.lists.items()})  # type: ignore[arg-type]
