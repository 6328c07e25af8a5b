"""Read job files: the sources of a prompt, and its options. YAML, or a `<context>` in XML.

The XML parser takes no document type and so no entity: nothing is multiplied, and nothing fetched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import msgspec
from msgspec.structs import replace

from .. import yaml_reader
from ..errors import (
    Diagnostics,
    ItemError,
    ProfileError,
    did_you_mean,
    list_names,
    quote,
    suggest_name,
)
from ..files import YAML_SUFFIXES, is_pattern, tokenizer_file
from ..files.access import ALLOW_OUTSIDE, StrPath, leads_outside, show_path
from .intended import JOB_KEYS, PROMPT_TEXT_KEYS
from .item_files import parse_json
from .text_files import Search, split_range
from .workspace import expand_pattern, read_named

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# These two go on to the options, where flags may overrule them.
_OPTION_KEYS = ("profile", "attack")
KNOWLEDGE_LISTS = ("man_pages", "documents", "mitre_techniques")
MAX_XML_DEPTH = 50
MAX_XML_BYTES = 1 << 20
MAX_NAMES_SHOWN = 8
"""Elements and attributes around a `<context>` that a message names."""
_OPTIONS_ELSEWHERE = "give options as flags, or write the job as YAML"


class Job(msgspec.Struct, frozen=True):
    """The contents of a job file."""

    options: dict[str, Any] = {}
    """All other top-level keys, unchecked."""
    texts: dict[str, str] = {}
    """`system`, `instructions` and `question` of a whole prompt, as far as given."""
    history: str | tuple[Any, ...] | None = None
    """Messages of a whole prompt: the name of a file, or written in place."""
    lines: dict[tuple[str | int, ...], int] = {}
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


def load_job(
    path: StrPath,
    *,
    diagnostics: Diagnostics | None = None,
    workspace: StrPath | None = None,
    options: Sequence[str] = (),
) -> Job:
    """Return the job in a file, XML where it begins with `<`, else YAML.

    XML has no `options`: elements and attributes with their names are left out with a warning.

    A relative path counts from the working directory, unless a `workspace` is given. Raises
    `ItemError` for a file that cannot be read or parsed, and for what its keys cannot hold; both
    with `file:line`.
    """
    if diagnostics is None:
        diagnostics = Diagnostics()
    text, where = read_named(
        os.fspath(path), workspace=workspace, diagnostics=diagnostics, whole=True
    )
    if text.lstrip()[:1] == "<":
        return _read_xml(text, where, diagnostics, options)
    try:
        if where.endswith(".json"):
            parse_json(text, {}, where)  # its mistakes are said as JSON's
        value, lines = yaml_reader.load_yaml_with_lines(text, where)
    except ProfileError as error:  # a file that is damaged, not an option
        raise ItemError(error.bare, where=error.where) from None
    if value is None:
        return Job()
    return replace(job_of(value, lambda *path: f"{where}:{lines.get(path, 1)}"), lines=lines)


def refuse_outside(job: Job, path: StrPath, workspace: StrPath) -> None:
    """Raise `ItemError` for a name in the job file `path` that leads out of the file's folder,
    or may do so.

    Names of sources count from the workspace, those of a profile and a tokenizer's file from the
    working directory.
    """
    folder, where = os.path.dirname(path) or os.curdir, show_path(path)

    def refuse(key: tuple[str | int, ...], reason: str) -> NoReturn:
        line = job.lines.get(key) or job.lines.get(key[:-1])
        words = [part for part in key if isinstance(part, str)]
        at = f"{where}:{line}" if line else where
        message = f"{'.'.join(words)}: {reason}; {ALLOW_OUTSIDE}"
        raise ItemError(message, where=at, field=words[-1])

    # Its argument may be a path or an address: only the plug-in knows.
    if job.plugged:
        refuse(("from", 0), f"{quote(job.plugged[0])} may lead anywhere")
    for key, name, base in _file_names(job, workspace):
        for each in (name, *_matches(name, base)):
            reason = leads_outside(each, folder, base)
            if reason is None:
                continue
            if each != name:
                reason = f"{quote(name)} matches a link: {reason}"
            elif key[0] not in ("profile", "tokenizer"):
                is_there = os.path.exists(os.path.join(folder, name))
                if is_there and leads_outside(name, folder, folder) is None:
                    reason += f"; names count from the workspace, as --workspace {quote(folder)}"
            refuse(key, reason)


def line_of_name(job: Job, name: str | None, workspace: StrPath) -> int | None:
    """Return the line of a job that names a file; `None` where none does."""
    for key, each, _ in _file_names(job, workspace):
        if each == name:
            return job.lines.get(key) or job.lines.get(key[:-1])
    return None


def _file_names(
    job: Job, workspace: StrPath
) -> Iterator[tuple[tuple[str | int, ...], str, StrPath]]:
    knowledge = "context_config" if ("context_config",) in job.lines else "knowledge"
    lists: dict[tuple[str, ...], Any] = {
        ("items",): job.items,
        ("files",): [_without_range(spec, workspace) for spec in job.files],
        (knowledge, "documents"): job.documents,
        ("search", "in"): job.search.paths if job.search else (),
        ("history",): (job.history,),
        ("attack",): (job.options.get("attack"),),
    }
    for key, names in lists.items():
        for index, name in enumerate(names):
            if isinstance(name, str) and name != "-":
                yield (*key, index), name, workspace
    profile = job.options.get("profile")
    if isinstance(profile, str) and profile.endswith(YAML_SUFFIXES):
        yield ("profile", 0), profile, os.curdir
    file = tokenizer_file(job.options.get("tokenizer"))
    if file is not None:
        yield ("tokenizer", 0), file, os.curdir


def _without_range(spec: str, workspace: StrPath) -> str:
    try:
        return split_range(spec, workspace)[0]
    except ItemError:  # said where the file is read
        return spec


def _matches(name: str, base: StrPath) -> list[str]:
    # A link among the matches may lead elsewhere, inside of the workspace too.
    if not is_pattern(name) or os.path.lexists(os.path.join(base, name)):
        return []
    try:
        return expand_pattern(name, workspace=base, diagnostics=Diagnostics())
    except ItemError:
        return []


def job_of(value: object, at: Callable[..., str]) -> Job:
    """Return the job of a decoded document; `at` names the place of a path in it, for messages.

    Raises `ItemError` for a value that its key cannot hold.
    """
    if not isinstance(value, dict):
        raise ItemError("expected keys and values, such as `knowledge:`", where=at())
    document = _Document(value, at)
    for name in PROMPT_TEXT_KEYS:
        if not isinstance(value.get(name), str | None):
            raise document.refusal("expected a text", name)
    history = value.get("history")
    if isinstance(history, list):
        history = tuple(history)
    elif not isinstance(history, str | None):
        raise document.refusal("expected the name of a file, or a list of messages", "history")
    return Job(
        options={k: v for k, v in value.items() if k in _OPTION_KEYS or k not in JOB_KEYS},
        texts={name: value[name] for name in PROMPT_TEXT_KEYS if value.get(name) is not None},
        history=history,
        files=document.members("files"),
        plugged=document.members("from"),
        search=_read_search(document),
        items=_read_items(document),
        **_read_knowledge(document),  # type: ignore[arg-type]
    )


class _Document(NamedTuple):
    value: dict[str, Any]
    at: Callable[..., str]

    def get(self, *path: str) -> Any:
        found: Any = self.value
        for key in path:
            found = found.get(key)
        return found

    def members(
        self, *path: str, kinds: Any = str, expected: str = "names, as text"
    ) -> tuple[Any, ...]:
        """Return the members of a list; one alone stands for a list of one, nothing for none."""
        value = self.get(*path)
        if value is None:
            return ()
        members = value if isinstance(value, list) else [value]
        for index, member in enumerate(members):
            if not isinstance(member, kinds) or member == "":
                place = (*path, index) if isinstance(value, list) else path
                message = f"expected {expected}, found {type(member).__name__}"
                if member == "":
                    message = "an empty name"
                message = f"{'.'.join(path)}: {message}"
                raise ItemError(message, where=self.at(*place), field=path[-1])
        return tuple(members)

    def check_keys(self, known: tuple[str, ...], *path: str) -> None:
        for key in self.get(*path):
            if key not in known:
                message = f"unknown key {quote(key)}{suggest_name(key, known)}"
                raise ItemError(message, where=self.at(*path, key), field=str(key))

    def refusal(self, expected: str, name: str) -> ItemError:
        message = f"{name}: {expected}, found {type(self.get(name)).__name__}"
        return ItemError(message, where=self.at(name), field=name)


def _read_knowledge(document: _Document) -> dict[str, tuple[str, ...]]:
    blocks = [key for key in ("knowledge", "context_config") if key in document.value]
    if len(blocks) > 1:
        message = "knowledge and context_config are two names of one block; write one"
        raise ItemError(message, where=document.at(blocks[1]))
    # `knowledge:` with nothing below it is `None` in YAML.
    if not blocks or document.get(*blocks) is None:
        return {}
    inside = document.get(*blocks)
    if not isinstance(inside, dict):
        raise document.refusal(f"expected the lists {', '.join(KNOWLEDGE_LISTS)}", *blocks)
    document.check_keys(KNOWLEDGE_LISTS, *blocks)
    return {key: document.members(*blocks, key) for key in inside}


def _read_items(document: _Document) -> tuple[Any, ...]:
    """Return names of files, items, and results of searches; a list of names is none of these."""
    expected = "names of files, or items"
    found = document.members("items", kinds=str | dict | list, expected=expected)
    if any(isinstance(each, list) and any(isinstance(one, str) for one in each) for each in found):
        document.members("items", kinds=str | dict, expected=expected)
    return found


def _read_search(document: _Document) -> Search | None:
    query, paths = document.get("search"), None
    if query is None:
        return None
    if isinstance(query, dict):
        document.check_keys(("query", "in"), "search")
        paths = document.members("search", "in")
        query = query.get("query")
    if not isinstance(query, str) or not query.strip():
        message = "search: expected words, or `query` with words and `in` with paths"
        raise ItemError(message, where=document.at("search"), field="search")
    return Search(query, paths or (".",))


def _read_xml(text: str, where: str, diagnostics: Diagnostics, options: Sequence[str]) -> Job:
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_XML_BYTES:
        message = f"longer than {MAX_XML_BYTES} bytes; XML of this size is not read"
        raise ItemError(message, where=f"{where}:1")
    # A prompt's own XML may stand around the block, or several blocks in it.
    lists: dict[str, list[str]] = {}
    root = _parse_xml(data, where)
    contexts = list(_find_contexts(root))
    if not contexts:
        named = ", ".join(f"<{name}>" for name in KNOWLEDGE_LISTS)
        raise ItemError(f"no <context> element; expected one with {named}", where=f"{where}:1")

    for element in (each for context in contexts for each in (context, *context)):
        _report_block(element, where, diagnostics)
    for block in (block for context in contexts for block in context):
        if block.tag in KNOWLEDGE_LISTS:
            # One name an element, or, without elements, one a line.
            entries = [" ".join("".join(entry.itertext()).split()) for entry in block]
            if not entries:
                entries = [line.strip() for line in (block.text or "").splitlines()]
            lists.setdefault(block.tag, []).extend(filter(None, entries))
            continue
        message, place = f"unknown element {quote(block.tag)}", f"{where}:{block.get('line')}"
        hint = did_you_mean(block.tag, KNOWLEDGE_LISTS)
        if hint:
            raise ItemError(f"{message}{hint}", where=place)
        message += f"; left out: a context has {', '.join(KNOWLEDGE_LISTS)}; {_OPTIONS_ELSEWHERE}"
        diagnostics.add("PF606", message, where=place)
    _report_around(root, {*options, *JOB_KEYS}, where, diagnostics)
    return Job(**{name: tuple(entries) for name, entries in lists.items()})  # type: ignore[arg-type]


def _report_block(element: Element, where: str, diagnostics: Diagnostics) -> None:
    """Say the attributes of a context or a list, and the text beside its elements."""
    place, options, text = f"{where}:{element.get('line')}", element.get("attributes"), ""
    if options:
        message = f"attributes of <{element.tag}>, {options}; left out: {_OPTIONS_ELSEWHERE}"
        diagnostics.add("PF606", message, where=place)
    if element.tag == "context" or len(element):
        text = _text_between(element)
    if text:
        message = f"{quote(text)} stands between the elements of <{element.tag}>; left out"
        diagnostics.add("PF606", message, where=place)


def _report_around(root: Element, known: set[str], where: str, diagnostics: Diagnostics) -> None:
    """Say what stands around the contexts: options one by one, a prompt's own XML in one note."""
    others: dict[str, None] = {}
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.tag == "context":
            continue
        waiting += reversed(element)
        names = filter(None, (element.get("attributes") or "").split(", "))
        shown = {f"<{element.tag}>": element.tag, **{f'{name}="…"': name for name in names}}
        if element is root:  # its name tells nothing
            del shown[f"<{root.tag}>"]
        for each, name in shown.items():
            if name.replace("-", "_") in known:
                message = f"{each} outside of <context>; left out: {_OPTIONS_ELSEWHERE}"
                diagnostics.add("PF606", message, where=f"{where}:{element.get('line')}")
            else:
                others[each] = None
        text = _text_between(element)
        if text and element.tag.replace("-", "_") not in known:
            others[quote(text)] = None
    if others:
        named = list_names([*others], MAX_NAMES_SHOWN)
        message = f"{named}: not read; of XML only what is in <context> is"
        diagnostics.add("PF606", message, where=where, severity="info")


def _text_between(element: Element) -> str:
    parts = (element.text, *(child.tail for child in element))
    return " ".join(" ".join(filter(None, parts)).split())


def _find_contexts(element: Element) -> Iterator[Element]:
    if element.tag == "context":
        yield element
    else:
        for child in element:
            yield from _find_contexts(child)


def _parse_xml(data: bytes, where: str) -> Element:
    """Return the root element; names are without prefixes.

    Its attributes are `line` and `attributes`, the names of those that it had in the text.

    The standard library's own reader of trees would expand entities before anybody can refuse them.
    """
    # Late: every render reads a request, few a job in XML.
    from xml.etree.ElementTree import TreeBuilder
    from xml.parsers import expat

    builder, parser, depth = TreeBuilder(), expat.ParserCreate("utf-8"), 0

    def refusal(message: str) -> ItemError:
        return ItemError(message, where=f"{where}:{parser.CurrentLineNumber}")

    def refuse(*_: Any) -> None:
        raise refusal("a document type or entity; take the <!DOCTYPE …> out")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_XML_DEPTH:
            raise refusal(f"nested deeper than {MAX_XML_DEPTH}")
        given = {"line": str(parser.CurrentLineNumber), "attributes": ", ".join(attributes)}
        builder.start(name.rpartition(":")[2], given)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name.rpartition(":")[2])

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse  # type: ignore[assignment]
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)
    except expat.ExpatError as exc:
        message = f"not well-formed XML: {expat.ErrorString(exc.code)}"
        raise ItemError(message, where=f"{where}:{exc.lineno}") from None
    return builder.close()
