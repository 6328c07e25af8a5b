"""More independent parsers, each where it is installed: what one of them forgives, another may not.

Those of Markdown are judged by the HTML they make: a tag that an item brings along shows there,
whatever made it.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import re
import shutil
import subprocess
import threading
import weakref
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import judges
from markdown_it import MarkdownIt

HTML_TAG = re.compile(r'<([/!?]?[a-zA-Z]*\d?)(?:[^>"]*class="(?:language-|unknown-)?([^"]*)")?')
LOOKS = ("em", "strong", "br", "code", "del", "s", "sub", "sup", "mark", "ins", "u")
INLINE = frozenset((*LOOKS, *(f"/{name}" for name in LOOKS)))
AUTOLINK = re.compile(r'<a href="([^"]*)">([^<]*)</a>')
ALTERNATIVE = re.compile(r' alt="[^"]*"')
"""Some print `<` there as it is."""
MATH = re.compile(r'<span class="math[^"]*">([^<]*)</span>')
PARAGRAPHS = re.compile(r"(?:(?<= )|^)p /p (?:p /p )+")


def html_structure(html: str, *, prose: bool = False) -> list[str]:
    """Return the tags of an HTML text in order, but those that a label may bring, and strange
    languages of fences.

    A bare URL may become a link to itself, `[Name]` one to the heading of that name, and text
    between dollars a formula: those are looks. (A footnote still shows by its section.)
    """
    html = AUTOLINK.sub(_unlinked, MATH.sub(r"\1", ALTERNATIVE.sub("", html)))
    tags = [
        (tag if judges.INFO.fullmatch(language or "") else f"{tag} with a strange tag")
        for tag, language in HTML_TAG.findall(html)
        if tag not in INLINE or not judges.INFO.fullmatch(language or "")
    ]
    return PARAGRAPHS.sub("p /p ", "".join(f"{tag} " for tag in tags)).split() if prose else tags


def _unlinked(match: re.Match[str]) -> str:
    href, shown = (unquote(unescape(part)).casefold() for part in match.groups())
    alike = re.search("[:@]|^//", href) and href.endswith(shown) and len(href) - len(shown) < 10
    return match[2] if alike or href[:1] == "#" or "xn--" in href else match[0]


def _commonmark() -> Callable[[str], str]:
    return importlib.import_module("commonmark").commonmark  # type: ignore[no-any-return]


def _mistune() -> Callable[[str], str]:
    return importlib.import_module("mistune").create_markdown(escape=False)  # type: ignore[no-any-return]


def _cmarkgfm() -> Callable[[str], str]:
    cmark = importlib.import_module("cmarkgfm")
    options = importlib.import_module("cmarkgfm.cmark").Options
    return lambda text: str(cmark.markdown_to_html(text, options.CMARK_OPT_UNSAFE))


def _pyromark() -> Callable[[str], str]:
    return importlib.import_module("pyromark").html  # type: ignore[no-any-return]


# GitHub-flavoured Markdown: what GitHub, a chat page or an editor's preview reads.


def _cmarkgfm_gfm() -> Callable[[str], str]:
    cmark = importlib.import_module("cmarkgfm")
    options = importlib.import_module("cmarkgfm.cmark").Options
    chosen = options.CMARK_OPT_UNSAFE | options.CMARK_OPT_FOOTNOTES
    extensions = ["table", "autolink", "strikethrough", "tasklist"]
    return lambda text: str(cmark.markdown_to_html_with_extensions(text, chosen, extensions))


def _mistune_gfm() -> Callable[[str], str]:
    plugins = ["strikethrough", "footnotes", "table", "task_lists", "url", "def_list"]
    mistune = importlib.import_module("mistune")
    return mistune.create_markdown(escape=False, plugins=plugins)  # type: ignore[no-any-return]


def _markdown_it_gfm() -> Callable[[str], str]:
    plugin = importlib.import_module("mdit_py_plugins.gfm").gfm_plugin
    importlib.import_module("linkify_it")
    reader = MarkdownIt("gfm-like", {"html": True, "linkify": True}).use(plugin)
    return lambda text: str(reader.render(text))


def _pyromark_gfm() -> Callable[[str], str]:
    module = importlib.import_module("pyromark")
    names = ("TABLES", "FOOTNOTES", "STRIKETHROUGH", "TASKLISTS", "GFM", "DEFINITION_LIST")
    options = module.Options(0)
    for name in names:
        options |= module.Options[f"ENABLE_{name}"]
    return lambda text: str(module.html(text, options=options))


def _mistune_all() -> Callable[[str], str]:
    # All that it brings but spoilers: no template writes `>!`.
    plugins = importlib.import_module("mistune.plugins")._plugins.keys() - {"spoiler"}
    mistune = importlib.import_module("mistune")
    return mistune.create_markdown(escape=False, plugins=sorted(plugins))  # type: ignore[no-any-return]


def _pyromark_all() -> Callable[[str], str]:
    module = importlib.import_module("pyromark")
    options = module.Options(0)
    for option in module.Options:
        options |= option
    return lambda text: str(module.html(text, options=options))


MAKERS = {
    "commonmark": _commonmark,
    "mistune": _mistune,
    "cmarkgfm": _cmarkgfm,
    "pyromark": _pyromark,
    "cmarkgfm with gfm": _cmarkgfm_gfm,
    "mistune with gfm": _mistune_gfm,
    "markdown-it-py with gfm": _markdown_it_gfm,
    "pyromark with gfm": _pyromark_gfm,
    "mistune with all": _mistune_all,
    "pyromark with all": _pyromark_all,
}
GFM = (
    *(name for name in MAKERS if " with " in name),
    *("marked", "markdown-it", "micromark", "remark"),
)


def _found() -> dict[str, Callable[[str], str]]:
    found = {}
    for name, make in MAKERS.items():
        try:
            found[name] = make()
        except ImportError:
            continue
    return found


class NodeReaders:
    """Readers that npm has installed, in one process that answers line by line."""

    def __init__(self, folder: str | None) -> None:
        """Start it, if `folder` has packages and there is a Node."""
        self.names: list[str] = []
        node = shutil.which("node") if folder else None
        if node and folder:
            command = [node, str(Path(__file__).with_name("node_readers.cjs")), folder]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8")
            self.names = self._line()

    def read(self, name: str, text: str) -> Any:
        """Return what a reader makes of a text. A text that it refuses is an error."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, text]) + "\n")
        self._process.stdin.flush()
        answer = self._line()
        if isinstance(answer, dict) and answer.keys() == {"error"}:
            raise ValueError(f"{name}: {answer['error']}")
        return answer

    def _line(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


NODE = NodeReaders(os.environ.get("NODE_READERS"))
"""Readers of the folder that the variable names: `npm install --prefix FOLDER marked …`."""
NODE_MARKDOWN = ("marked", "markdown-it", "micromark", "remark", "commonmark.js", "mdx")
NODE_VALUES = {"json": ("JSON.parse", "json5"), "yaml": ("js-yaml", "yaml")}
NODE_XML = ("saxes", "fast-xml-parser")


MAX_READING_SECONDS = 120
"""Pandoc goes back and forth without end in a line of 28 brackets `[` and one with `x[^1]`."""


class ReaderGaveUpError(Exception):
    """A reader ended, or was ended, before it had read a text: it judges nothing."""


class Program:
    """A program that reads Markdown, started at its first text, which answers one after another."""

    def __init__(self, *command: str) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, format: str, text: str) -> str:
        """Return the HTML of a text in a format of the program.

        Raises `ReaderGaveUpError` where the program ends, or takes too long and is ended.
        """
        pipe = subprocess.PIPE
        if self._process is None or self._process.poll() is not None:
            quiet = subprocess.DEVNULL
            # Older pandoc takes the name of a reader in small letters: no path with capitals.
            self._process = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, stderr=quiet, cwd=HERE
            )
            weakref.finalize(self, _end, self._process)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        data = text.encode()
        stdin.write(f"{format} {len(data)}\n".encode() + data)
        stdin.flush()
        limit = threading.Timer(MAX_READING_SECONDS, self._process.kill)
        limit.start()
        size = stdout.readline()
        limit.cancel()
        # Where an audit hook is set, two threads cannot begin or end to be watched at the same time.
        limit.join()
        if not size:
            # A program closes its pipes a moment before it has ended: the next text would go to it.
            self._process.kill()
            self._process.wait()
            raise ReaderGaveUpError(f"{self._command[0]} gave up on a text of {len(data):,} bytes")
        # An escape of a lone surrogate comes back as one.
        return _plain(stdout.read(int(size)).decode(errors="replace"))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.communicate()


_WRITTEN_OTHERWISE = (
    (re.compile(r'(?s)<span class="math[^>]*>.*?</span>|</?span[^>]*>'), ""),
    (re.compile(r"</?colgroup>|<col [^>]*>"), ""),  # how wide it is depends on what is in it
    (re.compile(r'<a\s+href="([^"]*)"\s*(?:class="[^"]*")?>'), r'<a href="\1">'),
    (re.compile(r"<h(\d) [^>]*>"), r"<h\1>"),
    (re.compile(r"<input [^>]*>|</?label>"), ""),  # pandoc makes a box of an escaped `[x]` too
)


def _plain(html: str) -> str:
    """Return HTML without what pandoc and kramdown add for the looks."""
    for pattern, other in _WRITTEN_OTHERWISE:
        html = pattern.sub(other, html)
    return html


HERE = Path(__file__).parent
PANDOC = ("markdown", "commonmark_x", "markdown_mmd", "gfm")
"""Formats of pandoc that have fences of backticks."""
PROGRAMS = ("pandoc", "kramdown")


def _programs() -> dict[str, Callable[[str], str]]:
    found: dict[str, Callable[[str], str]] = {}
    if program := shutil.which("pandoc"):
        pandoc = Program(program, "-f", "readers.lua", os.devnull)
        found |= {f"pandoc {each}": functools.partial(pandoc.read, each) for each in PANDOC}
    ruby = shutil.which("ruby")
    if (
        ruby
        and not subprocess.run(
            [ruby, "-r", "kramdown-parser-gfm", "-e", ""], capture_output=True
        ).returncode
    ):
        kramdown = Program(ruby, "readers.rb")
        found["kramdown"] = functools.partial(kramdown.read, "GFM")
    return found


MARKDOWN = (
    _found()
    | _programs()
    | {name: functools.partial(NODE.read, name) for name in NODE_MARKDOWN if name in NODE.names}
)
"""Parsers of Markdown beside those of `judges`, by name; each makes HTML."""


def _orjson() -> Callable[[str], Any] | None:
    try:
        loads: Callable[[str], Any] = importlib.import_module("orjson").loads
    except ImportError:
        return None
    return loads


ORJSON = _orjson()


def _ruamel() -> Callable[[str], Any] | None:
    try:
        module = importlib.import_module("ruamel.yaml")
    except ImportError:
        return None
    load: Callable[[str], Any] = module.YAML(typ="safe", pure=True).load
    return load


RUAMEL = _ruamel()
"""A reader of YAML 1.2; PyYAML reads 1.1."""


def names() -> list[str]:
    """Return the names of all parsers at hand, those of `judges` too."""
    return [
        "markdown-it-py",
        *MARKDOWN,
        "expat",
        "libxml2",
        "json",
        *(["orjson"] if ORJSON else []),
        *(["ruamel.yaml"] if RUAMEL else []),
        *(name for name in NODE.names if name not in MARKDOWN),
    ]


@functools.cache
def judges_of_html() -> dict[str, Callable[[str], list[str]]]:
    """Return what each of `MARKDOWN` makes of a text, as `html_structure`."""
    return {name: _judge(html) for name, html in MARKDOWN.items()}


def _judge(html: Callable[[str], str]) -> Callable[[str], list[str]]:
    return lambda text: html_structure(html(text))


def _tags(text: str, parser: str, prose: bool) -> list[str]:
    return html_structure(MARKDOWN[parser](text), prose=prose)


def check_alike(text: str, tame: str, format: str, *, prose: bool = False) -> None:
    """Check that each parser sees in `text` what it sees in the harmless `tame`."""
    if format == "markdown":
        for name in MARKDOWN:
            assert _tags(text, name, prose) == judges.once(_tags, tame, name, prose), name
    elif text and format in NODE_VALUES:
        check_values(text, format)
    elif text and format == "xml":
        check_trees(text)


def check_values(text: str, format: str) -> None:
    """Check that each reader gives back what the first one gives."""
    first = judges.json_value if format == "json" else judges.yaml_value
    value, own = first(text), ORJSON if format == "json" else RUAMEL
    if own is not None:
        assert own(text) == value, own
    for name in NODE_VALUES[format]:
        if name in NODE.names:
            read = NODE.read(name, text)
            # Numbers are doubles there: their texts differ.
            assert judges.skeleton(read) == judges.skeleton(value), name
            assert [*judges.strings_of(read)] == [*judges.strings_of(value)], name


def check_trees(text: str) -> None:
    """Check that each reader of XML sees the elements and attributes that libxml2 sees."""
    tree = judges.xml_structure(text)
    for name in NODE_XML:
        if name in NODE.names:
            read = NODE.read(name, judges.ROOT[0] + text + judges.ROOT[1])
            assert _tuples(read[2][0]) == tree, name


def _tuples(node: list[Any]) -> tuple[Any, ...]:
    name, attributes, children = node
    return (name, tuple(attributes), tuple(map(_tuples, children)))
