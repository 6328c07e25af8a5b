"""Independent readers of the finished text: what do a Markdown parser, an XML parser, a JSON
parser, a YAML parser, a line reader see?

A structure holds no value that came from an item, so a text made of hostile items must have the
structure of the text made of the same items with harmless placeholders in them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from xml.etree import ElementTree

import toon_format
import yaml
from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token

COMMONMARK = MarkdownIt("commonmark")
GFM = MarkdownIt("commonmark").enable(["table", "strikethrough"])
PARSERS = (COMMONMARK, GFM)

T = TypeVar("T")

LABEL_INLINES = frozenset(
    {"text", "text_special", "code_inline", "em_open", "em_close", "strong_open", "strong_close"}
)
"""What may stand in a line that shows a label: no link, image or HTML. Line ends are judged by
`markdown_breaks`.
"""

INFO = re.compile(r"[A-Za-z0-9_+#.-]{0,40}")
ROOT = ("<promptforge-judge>", "</promptforge-judge>")
XML_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SURROGATE = re.compile("[\ud800-\udfff]")
LINE_END = re.compile(r"\r\n?")
SCREENED = "| "
"""What stands before a line that could be taken for a line of the frame."""


@functools.lru_cache(maxsize=2048)
def once(ask: Callable[..., T], text: str, *more: Any, **named: Any) -> T:
    """Return `ask(text, …)`, for a harmless text that comes again and again. What is returned is
    only read.
    """
    return ask(text, *more, **named)


def asked(ask: Callable[..., T], text: str, *more: Any, **named: Any) -> T:
    """Return `ask(text, …)`, for a text that comes once."""
    return ask(text, *more, **named)


# Normal forms: what reading back must give.


def normal_markdown(content: str) -> str:
    """Line ends are line feeds; what is no character is U+FFFD."""
    return SURROGATE.sub("\ufffd", LINE_END.sub("\n", content)).replace("\0", "\ufffd")


def normal_xml(content: str) -> str:
    """As XML reads it: line ends are line feeds; what XML cannot carry is U+FFFD."""
    return XML_ILLEGAL.sub("\ufffd", LINE_END.sub("\n", content))


def normal_json(value: str) -> str:
    """JSON and YAML carry everything but lone surrogates."""
    return SURROGATE.sub("\ufffd", value)


# Markdown


@functools.lru_cache(maxsize=4)
def _tokens(parser: MarkdownIt, text: str) -> list[Token]:
    """Parse a text once for all that is asked about it in a row."""
    return parser.parse(text)


def _blocks(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            strange = (
                {c.type for c in token.children or ()} - LABEL_INLINES - {"softbreak", "hardbreak"}
            )
            yield "text" + "".join(sorted(f" with {s}" for s in strange))
        elif token.type in ("fence", "code_block"):
            yield "fence" if INFO.fullmatch(token.info) else "fence with a strange tag"
        else:
            yield token.type + token.tag


def markdown_structure(text: str, *, prose: bool = False) -> list[list[str]]:
    """The blocks that each parser sees, in order, and whether a line holds more than labels may.

    With `prose`, paragraphs that follow each other count as one: a summary may have paragraphs of
    its own.
    """
    structures = [list(_blocks(_tokens(parser, text))) for parser in PARSERS]
    return [_joined(s) for s in structures] if prose else structures


def _joined(blocks: list[str]) -> list[str]:
    paragraph = ["paragraph_openp", "text", "paragraph_closep"]
    kept: list[str] = []
    for block in blocks:
        kept.append(block)
        if kept[-6:] == paragraph * 2:
            del kept[-3:]
    return kept


def markdown_breaks(text: str) -> list[int]:
    """How many line ends each heading and each paragraph has in it."""
    inlines = [t for t in _tokens(COMMONMARK, text) if t.type == "inline"]
    return [sum(c.type in ("softbreak", "hardbreak") for c in t.children or ()) for t in inlines]


def markdown_contents(text: str) -> list[str]:
    """What each fenced block holds, in order, without the line feed before its closing fence."""
    return [t.content.removesuffix("\n") for t in _tokens(COMMONMARK, text) if t.type == "fence"]


def unscreened(content: str) -> str:
    """The content with the mark taken off each line, where each line carries it."""
    lines = content.split("\n")
    if all(line.startswith(SCREENED) or line == SCREENED.rstrip() for line in lines):
        return "\n".join(line[len(SCREENED) :] for line in lines)
    return content


# XML


def xml_root(text: str) -> etree._Element:
    """Parse `text` as the content of one element; what libxml2 or expat finds not well-formed is an
    error.
    """
    ElementTree.fromstring(f"{ROOT[0]}{text}{ROOT[1]}")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=True, load_dtd=False
    )
    return etree.fromstring(f"{ROOT[0]}{text}{ROOT[1]}".encode(), parser)


def _element(element: etree._Element) -> tuple[Any, ...]:
    name = (
        element.tag if isinstance(element.tag, str) else f"not an element: {type(element).__name__}"
    )
    return (
        name,
        tuple(sorted(map(str, element.attrib))),
        tuple(_element(child) for child in element),
    )


def xml_structure(text: str) -> tuple[Any, ...]:
    """The tree of element names and attribute names."""
    return _element(xml_root(text))


def xml_values(text: str) -> list[str]:
    """Every attribute value and every text in the document, in order."""
    values: list[str] = []
    for element in xml_root(text).iter():
        values += [str(v) for v in element.attrib.values()]
        values += [t for t in (element.text, element.tail) if t]
    return values


# JSON


def skeleton(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: skeleton(v) for k, v in value.items()}
    if isinstance(value, list):
        return [skeleton(v) for v in value]
    return "number" if type(value) in (int, float) else type(value).__name__


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key twice in {keys}")
    return dict(pairs)


def json_value(text: str) -> Any:
    """Parse strictly: no NaN, no key twice."""
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_pairs)


def json_structure(text: str) -> Any:
    """The document with each value replaced by its type."""
    return skeleton(json_value(text)) if text else None


def json_strings(text: str) -> list[str]:
    """Every string value in the document, in order."""

    return list(strings_of(json_value(text)))


def strings_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for child in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from strings_of(child)


# YAML


class StrictLoader(yaml.CSafeLoader):
    """The safe loader of libyaml that refuses a key given twice."""


def _mapping(loader: StrictLoader, node: yaml.MappingNode) -> dict[str, Any]:
    pairs = []
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise ValueError(f"a key that is no scalar: {key.tag}")
        made = loader.construct_object(value, deep=True)
        pairs.append((key.value, made))
    return _pairs(pairs)


StrictLoader.add_constructor("tag:yaml.org,2002:map", _mapping)


def yaml_value(text: str) -> Any:
    """Parse strictly: one document, no key twice, no tag of its own."""
    return yaml.load(text, StrictLoader)


def yaml_structure(text: str) -> Any:
    """The document with each value replaced by its type."""
    return skeleton(yaml_value(text)) if text else None


def yaml_strings(text: str) -> list[str]:
    """Every string value in the document, in order."""
    return list(strings_of(yaml_value(text)))


# TOON


def toon_value(text: str) -> Any:
    """Parse strictly: lengths, indentation, no key twice."""
    return toon_format.loads(text)


def toon_structure(text: str) -> Any:
    """The document with each value replaced by its type."""
    return skeleton(toon_value(text)) if text else None


def toon_strings(text: str) -> list[str]:
    """Every string value in the document, in order."""
    return list(strings_of(toon_value(text)))


# Plain


def split_lines(text: str) -> list[str]:
    """Lines as the most suspicious reader ends them: also at U+2028, U+0085, a form feed and their
    like.
    """
    return text.splitlines()


KNOWN_FRAMES: dict[str, tuple[str, ...]] = {
    "chunks": (r"File: .*", r"-{40}"),
    "chunks-compact": (r"--- .* ---",),
    "knowledge": (
        r"Explicit Knowledge Sources:",
        r"Similarity Search Results:",
        r"---",
        r"--- .* ---",
        r"Source: (man page|document) '.*'",
        r"Source: MITRE ATT&CK .*",
    ),
    "entities": (r"=== .* ===", r"---"),
}
"""Lines of the plain frames whose bytes are promised, whether or not a given text happens to have
them.
"""


def frame_patterns(
    text: str, contents: list[str], placeholders: list[str], layout: str = ""
) -> list[re.Pattern[str]]:
    """Learn the frame from a text made of placeholders: each line that is no content, as a pattern.

    A line that only shows a placeholder tells nothing and is left out.
    """
    held = {line for content in contents for line in split_lines(content)}
    stand_in = re.compile("|".join(map(re.escape, placeholders)) or r"(?!)", re.IGNORECASE)
    patterns: list[re.Pattern[str]] = []
    for line in dict.fromkeys(split_lines(text)):
        fixed = stand_in.split(line)
        if line in held or not "".join(fixed).strip():
            continue
        # The escape of one character, \x20, is no number: \x06 is another's.
        source = ".*".join(re.sub(r"(?<!\\x)\d+", r"\\d+", re.escape(part)) for part in fixed)
        # A list is cut where it is too long, be it before a last value that is empty.
        source = (
            source.replace(r".*,\ " * 2, r".*,\ ").replace(r".*,\ .*", ".*").removesuffix(r",\ ")
        )
        source = re.sub(
            r"(?:\\ ){99,}…?", ".*", source
        )  # nor is how long a value of blanks alone is
        source = (
            source if fixed[0] else rf"(?!\s){source}"
        )  # no value begins a line with white space
        if source not in [p.pattern for p in patterns]:
            patterns.append(re.compile(source))
    return patterns + [re.compile(source) for source in KNOWN_FRAMES.get(layout, ())]


def plain_structure(text: str, patterns: list[re.Pattern[str]]) -> list[str]:
    """Which frame lines there are, in order. No line of the frame begins with `| `, the prefix of
    guarded content.
    """
    seen = []
    for line in split_lines(text):
        if line.startswith("| "):
            continue
        matched = next((p.pattern for p in patterns if p.fullmatch(line)), None)
        if matched is not None:
            seen.append(
                matched.removesuffix(".*")
            )  # a content may be empty, or only its first line
    return seen


# Tags


OPENING = re.compile("<content-(k[0-9]+)>")


def tagged(text: str) -> tuple[list[str], list[str]]:
    """The contents between tags and the lines beside them, to a reader who knows the word of the
    first opening line.

    A tag is a whole line with that word. An error: the word anywhere else, or a tag that is not
    closed.
    """
    contents: list[str] = []
    beside: list[str] = []
    inside: list[str] | None = None
    word = None
    for line in text.split("\n"):
        if inside is None:
            word = word or ((found := OPENING.fullmatch(line)) and found[1])
            if line == f"<content-{word}>":
                inside = []
            elif word and word in line:
                raise ValueError(f"the word in {line[:100]!a}")
            beside.append(line.replace(word or "\n", "WORD"))
        elif line == f"</content-{word}>":
            contents.append("\n".join(inside))
            inside = None
        elif word and word in line:
            raise ValueError(f"the word in {line[:100]!a}")
        else:
            inside.append(line)
    if inside is not None:
        raise ValueError("a tag that is not closed")
    return contents, beside


def untagged(text: str, block: str) -> str:
    """The text with a harmless block in the place of each content and its tags."""
    return "\n".join(block if line == "<content-WORD>" else line for line in tagged(text)[1])


def tagged_structure(text: str) -> list[str]:
    """The lines beside contents, each opening tag in its place."""
    return tagged(text)[1]


STRUCTURES: dict[str, Callable[[str], Any]] = {
    "markdown": markdown_structure,
    "xml": xml_structure,
    "json": json_structure,
    "yaml": yaml_structure,
    "toon": toon_structure,
}
"""The judge of each format that has a parser. Plain text has `plain_structure`, tags have
`tagged_structure`.
"""
