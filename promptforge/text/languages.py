"""Languages of files, by name or by the first line of a script, in the words that fences use.

The tables add to the tags of the package `identify`, which are names of languages.
"""

from __future__ import annotations

from functools import lru_cache

from .characters import freeze
from .words import late_pattern

_LANGUAGE_SUFFIXES = {
    "asciidoc": "asc", "asm": "nasm", "awk": "awk", "basic": "bas", "d": "d", "elixir": "ex",
    "fortran": "f for", "glsl": "frag glsl vert", "haxe": "hx", "ini": "cfg cnf conf service",
    "json": "ipynb jsonl ndjson", "just": "just", "latex": "cls", "lisp": "asd cl el lisp lsp",
    "markdown": "mkd rmd", "odin": "odin", "org": "org", "postscript": "ps", "prolog": "pro",
    "racket": "rkt", "rego": "rego", "smalltalk": "st", "sml": "sml", "solidity": "sol",
    "tcl": "tcl", "text": "ld log man rules text tool traceback", "typescript": "cts mts",
    "vhdl": "vhdl", "wasm": "wat", "wgsl": "wgsl", "yara": "yar yara", "zsh": "zsh",
}  # fmt: skip
"""Language → suffixes that `identify` does not know, or knows only as text or a part of another."""
_LANGUAGE_TAGS = {
    "bash": "dotenv shell", "bibtex": "bib", "coffeescript": "coffee", "cpp": "c++ cuda",
    "csharp": "c#", "fsharp": "f#", "go": "go-mod gotmpl templ", "groovy": "jenkins",
    "haskell": "literate-haskell", "hcl": "terraform", "javascript": "jsx", "latex": "tex",
    "markdown": "mdx myst quarto", "objectivec": "objective-c objective-c++",
    "properties": "java-properties", "protobuf": "proto textproto", "pug": "jade",
    "python": "bazel cython pyi scons tiltfile", "systemverilog": "system-verilog",
    "text": "dockerignore gitattributes gitignore mailmap npmignore plain-text pofile",
    "typescript": "ts tsx", "vbnet": "vb", "xml": "vdx xslt",
}  # fmt: skip
"""Language → tags of `identify` that fences write otherwise."""
_FENCE_TAGS = """
    python typescript javascript rust go java kotlin c objectivec cpp csharp fsharp vbnet swift
    ruby php perl lua luau scala clojure groovy haskell erlang elixir elm ocaml dart julia r zsh
    fish bash csh batch powershell nushell asm awk systemverilog verilog vhdl fortran pascal nim
    zig crystal d solidity scheme prolog sas vala vim gdscript coffeescript gleam purescript idris
    lean sql graphql protobuf cmake makefile meson dockerfile nix hcl puppet thrift prisma hlsl
    metal qml jsonnet cue m4 robot gherkin xquery css scss sass less stylus vue svelte astro html
    jinja erb handlebars liquid twig mustache nunjucks ejs pug markdown rst asciidoc latex bibtex
    xml json json5 yaml toml ini properties csv tsv diff plantuml pem text
"""
"""All tags. The first one wins where a name has several: `gyp` is python, not json."""
_NO_PROGRAM_TAGS = """
    asciidoc bibtex csv diff html ini json json5 latex markdown org pem plantuml properties rst
    text toml tsv xml yaml
"""
_NO_PROGRAMS = frozenset(_NO_PROGRAM_TAGS.split())
_SUFFIXES, _FENCES = (
    {key: tag for tag, keys in table.items() for key in keys.split()}
    for table in (_LANGUAGE_SUFFIXES, _LANGUAGE_TAGS)
)
_RANK = {tag: rank for rank, tag in enumerate(_FENCE_TAGS.split())}
_CPP = late_pattern(r"\n(?:class|namespace|template)[ \t<]|\n[ \t]*(?:public|private):")
_HASHBANG = late_pattern(
    r"#![ \t]*/[^\s]{0,99}/(?:env[ \t]+(?:-S[ \t]+)?)?([a-z]+[0-9]?)(?:[.0-9]{0,9})(?=\s|\Z)"
)
DATA_LANGUAGES = frozenset({None, "json", "yaml", "text"})
"""Languages of files that may hold items."""


def language_of(path: str) -> str | None:
    """Return the fence tag of a file name (`src/app.py` → `python`), or `None` for unknown ones.

    It comes from fixed tables, so no name can put anything harmful into a tag.
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    return _of_name(name) if 0 < len(name) <= 255 else None


def is_code(language: str | None) -> bool:
    """Tell whether a tag names a programming language, and not prose, data or markup."""
    return language is not None and language not in _NO_PROGRAMS


@lru_cache(maxsize=4096)
def _of_name(name: str) -> str | None:
    from identify.identify import tags_from_filename

    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    # "text" only tells that it is not binary.
    tags: set[str] = tags_from_filename(name) - {"text"}
    # `identify` adds the tags of LICENSE to those of LICENSE.md.
    if suffix == "md":
        return "markdown"
    fence = _fence_of(tags)
    # Of README.asc it knows README alone.
    return _SUFFIXES.get(suffix, fence) if fence in (None, "text") else fence


def _fence_of(tags: set[str]) -> str | None:
    # Only tags of the fixed list pass, whatever `identify` says.
    fences = {_FENCES.get(tag, tag) for tag in tags}
    return min(fences & _RANK.keys(), key=_RANK.__getitem__, default=None)


def language_of_text(path: str, text: str) -> str | None:
    """Return the language of a file by its name; else by its text, as of a header or a script."""
    language = language_of(path)
    if language == "c" and path.endswith(".h") and _CPP.search(freeze(f"\n{text}")):
        return "cpp"
    return language or language_of_script(text)


def language_of_script(text: str) -> str | None:
    """Return the language of a script by its first line, `#!/usr/bin/env python3`, or `None`."""
    found = _HASHBANG.match(text)
    if found is None:
        return None
    from identify.interpreters import INTERPRETERS

    return _fence_of(INTERPRETERS.get(found[1], set()))
