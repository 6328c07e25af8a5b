"""Read job files: the sources of a prompt, and its options. YAML, or a `<context>` in XML.

The XML parser takes no document type and so no entity: nothing is multiplied, and nothing fetched.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from xml.parsers import expat

from ..errors import Diagnostics, ItemError, ProfileError, did_you_mean, quote, suggest_name
from .search import Search
from .workspace import read_text, show_path

PROMPT_TEXT_KEYS = ("system", "instructions", "question")
"""Texts of a whole prompt."""

JOB_KEYS = (
    *("knowledge", "context_config", "files", "from", "search", "items", "history", "profile"),
    *("attack", *PROMPT_TEXT_KEYS),
)
"""Keys of a job that are no options."""

_OPTION_KEYS = ("profile", "attack")

KNOWLEDGE_LISTS = ("man_pages", "documents", "mitre_techniques")
"""The three lists of a `knowledge` block."""

MAX_XML_DEPTH = 50
"""Elements of XML that may nest."""

MAX_XML_BYTES = 1 << 20
"""Bytes of an XML job."""


@dataclass(frozen=True, slots=True)
class Job:
    """The contents of a job file."""

    options: dict[str, Any] = field(default_factory=dict)
    """All other top-level keys, unchecked."""
    texts: dict[str, str] = field(default_factory=dict)
    """`system`, `instructions` and `question` of a whole prompt, as far as given."""
    history: str | tuple[Any, ...] | None = None
    """Messages of a whole prompt: the name of a file, or written in place."""
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    """The line of each key and list member, by its path in the file."""
    man_pages: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    mitre_techniques: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """As for `--file`."""
    plugged: tuple[str, ...] = ()
    """As for `--from`."""
    search: Search | None = None
    """As for `--search` and `--in`."""
    items: tuple[str | dict[str, Any], ...] = ()
    """Names of item files, or records written in place."""


def load_job(path: str | os.PathLike[str], *, diagnostics: Diagnostics | None = None) -> Job:
    """Return the job in a file, XML where it begins with `<`, else YAML.

    A relative path counts from the working directory. Raises `ProfileError` (`file:line`) for
    mistakes in YAML, `ItemError` for XML and for a file that cannot be read.
    """
    where = show_path(path)
    if diagnostics is None:
        diagnostics = Diagnostics()
    text = read_text(path, workspace=None, diagnostics=diagnostics)
    if text.lstrip()[:1] == "<":
        return _xml(text, where)
    from .. import yaml_reader as yamltext

    value, lines = yamltext.load_yaml_with_lines(text, where)
    if value is None:
        return Job()
    return replace(job_of(value, lambda *path: f"{where}:{lines.get(path, 1)}"), lines=lines)


def job_of(value: object, at: Callable[..., str]) -> Job:
    """Return the job of a decoded document; `at` names the place of a path in it, for messages.

    Raises `ProfileError` for a value that its key cannot hold.
    """
    if not isinstance(value, dict):
        raise ProfileError("expected keys and values, such as `knowledge:`", where=at())
    for name in PROMPT_TEXT_KEYS:
        own = value.get(name)
        if own is not None and not isinstance(own, str):
            raise _refusal(name, "expected a text", own, at(name))
    history = value.get("history")
    if isinstance(history, list):
        history = tuple(history)
    elif history is not None and not isinstance(history, str):
        expected = "expected the name of a file, or a list of messages"
        raise _refusal("history", expected, history, at("history"))
    items = _entries(value.get("items"), ("items",), at, str | dict, "names of files, or items")
    return Job(
        options={k: v for k, v in value.items() if k in _OPTION_KEYS or k not in JOB_KEYS},
        texts={name: value[name] for name in PROMPT_TEXT_KEYS if value.get(name) is not None},
        history=history,
        files=_texts(value.get("files"), ("files",), at),
        plugged=_texts(value.get("from"), ("from",), at),
        search=_search(value.get("search"), at),
        items=items,
        **_knowledge(value, at),  # type: ignore[arg-type]
    )


def _knowledge(value: dict[str, Any], at: Callable[..., str]) -> dict[str, tuple[str, ...]]:
    """Return the three lists of the `knowledge` block, as far as given."""
    blocks = [key for key in ("knowledge", "context_config") if key in value]
    if not blocks:
        return {}
    if len(blocks) > 1:
        message = "knowledge and context_config are two names of one block; write one"
        raise ProfileError(message, where=at(blocks[1]))
    block = blocks[0]
    inside = {} if value[block] is None else value[block]
    if not isinstance(inside, dict):
        message = f"{block}: expected the lists {', '.join(KNOWLEDGE_LISTS)}"
        raise ProfileError(message, where=at(block), option=block)
    _check_keys(inside, KNOWLEDGE_LISTS, (block,), at)
    return {key: _texts(inside[key], (block, key), at) for key in inside}


def _check_keys(
    inside: dict[Any, Any], known: tuple[str, ...], path: tuple[str, ...], at: Callable[..., str]
) -> None:
    for key in inside:
        if key not in known:
            message = f"unknown key {quote(key)}{suggest_name(key, known)}"
            raise ProfileError(message, where=at(*path, key), option=str(key))


def _refusal(name: str, expected: str, found: object, where: str) -> ProfileError:
    message = f"{name}: {expected}, found {type(found).__name__}"
    return ProfileError(message, where=where, option=name)


def _search(value: Any, at: Callable[..., str]) -> Search | None:
    """Return a search: words, or `query` and `in`."""
    if value is None:
        return None
    if isinstance(value, str):
        value = {"query": value}
    query: Any = None
    if isinstance(value, dict):
        _check_keys(value, ("query", "in"), ("search",), at)
        query = value.get("query")
    if not isinstance(query, str) or not query.strip():
        message = "search: expected words, or `query` with words and `in` with paths"
        raise ProfileError(message, where=at("search"), option="search")
    return Search(query, _texts(value.get("in"), ("search", "in"), at) or (".",))


def _texts(value: Any, path: tuple[str, ...], at: Callable[..., str]) -> tuple[str, ...]:
    return _entries(value, path, at, str, "names, as text")


def _entries(
    value: Any, path: tuple[str, ...], at: Callable[..., str], kinds: Any, expected: str
) -> tuple[Any, ...]:
    """Return the members of a list; one alone stands for a list of one, nothing for none."""
    if value is None:
        return ()
    members = value if isinstance(value, list) else [value]
    for index, member in enumerate(members):
        if isinstance(member, kinds) and member != "":
            continue
        name, where = ".".join(path), at(*path)
        if isinstance(value, list):
            where = at(*path, index)
        message = f"{name}: expected {expected}, found {type(member).__name__}"
        if member == "":
            message = f"{name}: an empty name"
        raise ProfileError(message, where=where, option=path[-1])
    return tuple(members)


class _Context:
    """The handlers of the parser: they collect the three lists of the first-level `<context>`."""

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
        if len(self._open) > MAX_XML_DEPTH:
            raise self.refusal(f"nested deeper than {MAX_XML_DEPTH}")
        if self._context is None:
            if local == "context":
                self._context, self.found = len(self._open), True
            return
        depth = len(self._open) - self._context
        if depth == 1:
            if local not in KNOWLEDGE_LISTS and (hint := did_you_mean(local, KNOWLEDGE_LISTS)):
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
        if name in KNOWLEDGE_LISTS:
            self.lists.setdefault(name, []).extend(
                entry.strip() for entry in entries if entry.strip()
            )


def _xml(text: str, where: str) -> Job:
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_XML_BYTES:
        message = f"longer than {MAX_XML_BYTES} bytes; XML of this size is not read"
        raise ItemError(message, where=f"{where}:1")
    parser = expat.ParserCreate("utf-8")
    context = _Context(where, parser)
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = context.refuse
    parser.ExternalEntityRefHandler = context.refuse  # type: ignore[assignment]
    parser.StartElementHandler, parser.EndElementHandler = context.start, context.end
    parser.CharacterDataHandler = context.text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as exc:
        message = f"not well-formed XML: {expat.ErrorString(exc.code)}"
        raise ItemError(message, where=f"{where}:{exc.lineno}") from None
    if not context.found:
        named = ", ".join(f"<{name}>" for name in KNOWLEDGE_LISTS)
        message = f"no <context> element; expected one with {named}"
        raise ItemError(message, where=f"{where}:1")
    return Job(**{name: tuple(entries) for name, entries in context.lists.items()})  # type: ignore[arg-type]
