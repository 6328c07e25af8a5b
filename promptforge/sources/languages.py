"""Tell the language of a file, as the tag of a code fence, from its name alone."""

from __future__ import annotations

from functools import lru_cache

# What `identify` does not know, or knows only as text or as part of something else.
_SUFFIXES = {
    "asd": "lisp", "bas": "basic", "cfg": "ini", "cl": "lisp", "cls": "latex", "cnf": "ini", "conf": "ini",
    "el": "lisp", "ipynb": "json", "jsonl": "json", "lisp": "lisp", "log": "text", "lsp": "lisp", "mts": "typescript",
    "cts": "typescript", "ndjson": "json", "org": "org", "rego": "rego", "rkt": "racket", "rmd": "markdown",
    "rules": "text", "service": "ini", "sol": "solidity", "tcl": "tcl", "text": "text", "traceback": "text",
    "tool": "text", "wat": "wasm", "wgsl": "wgsl", "yar": "yara", "yara": "yara", "zsh": "zsh", "awk": "awk",
    "d": "d", "ex": "elixir", "f": "fortran", "for": "fortran", "glsl": "glsl", "frag": "glsl", "vert": "glsl",
    "hx": "haxe", "nasm": "asm", "pro": "prolog", "ps": "postscript", "sml": "sml", "st": "smalltalk",
    "vhdl": "vhdl", "odin": "odin", "just": "just", "ld": "text", "man": "text", "mkd": "markdown",
}  # fmt: skip
# `identify`'s tags → the tags that fences use.
_FENCES = {
    "c++": "cpp", "c#": "csharp", "f#": "fsharp", "objective-c": "objectivec", "objective-c++": "objectivec",
    "coffee": "coffeescript", "proto": "protobuf", "textproto": "protobuf", "ts": "typescript", "tsx": "typescript",
    "jsx": "javascript", "pyi": "python", "shell": "bash", "tex": "latex", "plain-text": "text", "batch": "batch",
    "csh": "csh", "system-verilog": "systemverilog", "terraform": "hcl", "vb": "vbnet", "java-properties": "properties",
    "cython": "python", "jade": "pug", "handlebars": "handlebars", "gdscript": "gdscript", "cuda": "cpp",
    "literate-haskell": "haskell", "go-mod": "go", "scons": "python", "bazel": "python", "tiltfile": "python",
    "gitignore": "text", "gitattributes": "text", "dockerignore": "text", "npmignore": "text", "mailmap": "text",
    "dotenv": "bash", "jenkins": "groovy", "gotmpl": "go", "templ": "go", "pofile": "text", "myst": "markdown",
    "mdx": "markdown", "quarto": "markdown", "xslt": "xml", "vdx": "xml", "erb": "erb", "bib": "bibtex",
}  # fmt: skip
# Tags that are fences themselves. Of several, the one first in this list wins: `csproj` is xml, `gyp` is python.
_PLAIN = (
    "python", "typescript", "javascript", "rust", "go", "java", "kotlin", "c", "objectivec", "cpp", "csharp",
    "fsharp", "vbnet", "swift", "ruby", "php", "perl", "lua", "luau", "scala", "clojure", "groovy", "haskell",
    "erlang", "elixir", "elm", "ocaml", "dart", "julia", "r", "zsh", "fish", "bash", "csh", "batch", "powershell",
    "nushell", "asm", "awk", "systemverilog", "verilog", "vhdl", "fortran", "pascal", "nim", "zig", "crystal", "d",
    "solidity", "scheme", "prolog", "sas", "vala", "vim", "gdscript", "coffeescript", "gleam", "purescript",
    "idris", "lean", "sql", "graphql", "protobuf", "cmake", "makefile", "meson", "dockerfile", "nix", "hcl",
    "puppet", "thrift", "prisma", "hlsl", "metal", "qml", "jsonnet", "cue", "m4", "robot", "gherkin", "xquery",
    "css", "scss", "sass", "less", "stylus", "vue", "svelte", "astro", "html", "jinja", "erb", "handlebars",
    "liquid", "twig", "mustache", "nunjucks", "ejs", "pug", "markdown", "rst", "asciidoc", "latex", "bibtex", "xml",
    "json", "json5", "yaml", "toml", "ini", "properties", "csv", "tsv", "diff", "plantuml", "pem", "text",
)  # fmt: skip
_RANK = {tag: rank for rank, tag in enumerate(_PLAIN)}
_DATA = frozenset((
    "asciidoc", "bibtex", "csv", "diff", "html", "ini", "json", "json5", "latex", "markdown", "org", "pem",
    "plantuml", "properties", "rst", "text", "toml", "tsv", "xml", "yaml",
))  # fmt: skip


def language_of(path: str) -> str | None:
    """Return the fence tag of a file name (`src/app.py` → `python`), or `None` for unknown ones.

    It comes from fixed tables, so no name can put anything harmful into a tag.
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    if 0 < len(name) <= 255:
        return _of_name(name)
    return None


def is_code(language: str | None) -> bool:
    """Tell whether a tag names a programming language, and not prose, data or markup."""
    return language is not None and language not in _DATA


@lru_cache(maxsize=4096)
def _of_name(name: str) -> str | None:
    from identify.identify import tags_from_filename

    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    tags: set[str] = tags_from_filename(name) - {"text"}  # which only says that it is not binary
    if suffix == "md":  # LICENSE.md: identify adds the tags of LICENSE
        return "markdown"
    fences = {_FENCES.get(tag, tag) for tag in tags}
    return min(fences & _RANK.keys(), key=_RANK.__getitem__, default=_SUFFIXES.get(suffix))
