"""Tell the language of a file, as the tag of a code fence, from its name alone."""

from __future__ import annotations

from functools import lru_cache


def _table(text: str) -> dict[str, str]:
    """Read `value: key key; value: key` as a dict of the keys."""
    rows = (row.split(":") for row in text.split(";"))
    return {key: value.strip() for value, keys in rows for key in keys.split()}


# Suffixes that `identify` does not know, or knows only as text or as part of something else.
_SUFFIXES = _table("""
asm: nasm; awk: awk; basic: bas; d: d; elixir: ex; fortran: f for; glsl: frag glsl vert; haxe:
hx; ini: cfg cnf conf service; json: ipynb jsonl ndjson; just: just; latex: cls; lisp: asd cl el
lisp lsp; markdown: mkd rmd; odin: odin; org: org; postscript: ps; prolog: pro; racket: rkt;
rego: rego; smalltalk: st; sml: sml; solidity: sol; tcl: tcl; text: ld log man rules text tool
traceback; typescript: cts mts; vhdl: vhdl; wasm: wat; wgsl: wgsl; yara: yar yara; zsh: zsh
""")
# Tags of `identify` that fences write otherwise.
_FENCES = _table("""
bash: dotenv shell; bibtex: bib; coffeescript: coffee; cpp: c++ cuda; csharp: c#; fsharp: f#;
go: go-mod gotmpl templ; groovy: jenkins; haskell: literate-haskell; hcl: terraform; javascript:
jsx; latex: tex; markdown: mdx myst quarto; objectivec: objective-c objective-c++; properties:
java-properties; protobuf: proto textproto; pug: jade; python: bazel cython pyi scons tiltfile;
systemverilog: system-verilog; text: dockerignore gitattributes gitignore mailmap npmignore
plain-text pofile; typescript: ts tsx; vbnet: vb; xml: vdx xslt
""")
# Tags that are fences. Of several, the first in this list wins: `gyp` is python, not json.
_PLAIN = """
python typescript javascript rust go java kotlin c objectivec cpp csharp fsharp vbnet swift ruby
php perl lua luau scala clojure groovy haskell erlang elixir elm ocaml dart julia r zsh fish
bash csh batch powershell nushell asm awk systemverilog verilog vhdl fortran pascal nim zig
crystal d solidity scheme prolog sas vala vim gdscript coffeescript gleam purescript idris lean
sql graphql protobuf cmake makefile meson dockerfile nix hcl puppet thrift prisma hlsl metal qml
jsonnet cue m4 robot gherkin xquery css scss sass less stylus vue svelte astro html jinja erb
handlebars liquid twig mustache nunjucks ejs pug markdown rst asciidoc latex bibtex xml json
json5 yaml toml ini properties csv tsv diff plantuml pem text
"""
_RANK = {tag: rank for rank, tag in enumerate(_PLAIN.split())}
_NO_PROGRAMS = """
asciidoc bibtex csv diff html ini json json5 latex markdown org pem plantuml properties rst text
toml tsv xml yaml
"""
_DATA = frozenset(_NO_PROGRAMS.split())


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
