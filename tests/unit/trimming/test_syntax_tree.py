"""Programs read by a grammar: no variant breaks one, and its definitions are named."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec

import pytest
from program_pieces import PROGRAMS, divided, whole

from promptforge.trimming import syntax_tree


def errors(text: str, language: str) -> bool:
    if language == "bash":
        return (
            subprocess.run(
                ["bash", "-n"], input=text.encode(), stderr=subprocess.DEVNULL
            ).returncode
            != 0
        )
    if language == "scala":  # only a judge: on some texts it ends the process
        binding = pytest.importorskip("tree_sitter")
        grammar = binding.Language(pytest.importorskip("tree_sitter_scala").language())
        return bool(binding.Parser(grammar).parse(text.encode()).root_node.has_error)
    root = syntax_tree.parse_syntax(text, language)
    if root is None:
        pytest.importorskip("tree_sitter", reason="needs grammars: pip install '.[test-all]'")
    return root is None or root.has_error


@pytest.mark.parametrize("language", PROGRAMS)
def test_no_variant_breaks_another_language(language: str) -> None:
    text = PROGRAMS[language]
    assert not errors(text, language)
    pieces = divided(text, language)
    assert whole(pieces) == text
    assert any(part.skeleton and part.parent < 0 for part in pieces.parts)
    assert any(part.closes >= 0 for part in pieces.parts)
    for worth in ({}, {len(pieces.parts) // 2: 1.0}):
        variants = pieces.variants(worth)
        assert [n for n in range(len(variants)) if errors(variants[n].text, language)] == []


GO_OUTLINE = """\
// [cut] 5 of 21 lines left out
package main

import (
	"fmt"
)

// Add adds.
func Add(
	a, b int,
) int {
	// 5 lines left out
}

type T struct {
	X int
	Y int
}
"""


@pytest.mark.parametrize("parser", ["installed", "not installed", "0.25.2", "0.26.0", "1.0rc1"])
def test_the_outline_of_go(parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    syntax_tree._load_grammar.cache_clear()
    if parser == "not installed":  # then the depth of lines tells as much here
        monkeypatch.setattr(syntax_tree, "GRAMMARS", {"go": ("tree_sitter_no_such", "language")})
    elif parser != "installed":
        monkeypatch.setattr("importlib.metadata.version", lambda name: parser)
    used = parser in ("installed", "1.0rc1") and bool(find_spec("tree_sitter_go"))
    assert (syntax_tree.parse_syntax("package a\n", "go") is not None) == used
    variants = divided(PROGRAMS["go"], "go").variants()
    outline = next(found.text for found in variants if found.name == "outline")
    syntax_tree._load_grammar.cache_clear()
    assert outline == GO_OUTLINE


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("c", "int *pool_take(int a) { return 0; }\nstruct pool { int x; };\n", "pool_take pool"),
        ("go", "package a\nfunc (p *Pool) Take(x int) int { return 1 }\ntype Pool struct { x int }", "Take Pool"),
        ("rust", "impl Pool { pub fn take(&self) -> i32 { 1 } }\npub trait T { fn m(&self); }", "take T m"),
        ("cpp", "class Pool { int take(); };\nint Pool::give() { return 1; }", "Pool take give"),
    ],
)  # fmt: skip
def test_names_that_a_program_defines(language: str, text: str, names: str) -> None:
    pytest.importorskip(f"tree_sitter_{language}")
    assert {*names.split()} <= (syntax_tree.defined_names(text, language) or set())
    assert syntax_tree.defined_names(text, "unknown") is None


@pytest.mark.parametrize("language", PROGRAMS)
def test_no_outline_breaks_a_program(language: str) -> None:
    assert not errors(PROGRAMS[language], language)
    for outline in divided(PROGRAMS[language], language).outlines():
        assert not errors(outline.text, language), outline.text


@pytest.mark.parametrize(
    ("language", "shown", "gone"),
    [
        ("typescript", "export const run = <T>(f: () => T): T => f();", "const hidden = 1;"),
        ("typescript", "export function noop(): void {}", "noop();"),
        ("typescript", "type Call = (x: number) => void;", "let count = 0;"),
        ("c", "char *name_of(const struct item *given);", "static int count = 0;"),
        ("go", "type Directive int", "var count = 0"),
        ("rust", "pub struct Meters(f64);", "static COUNT: u8 = 0;"),
        ("rust", "pub type Lengths = Vec<f64>;", "const ZERO: f64 = 0.0;"),
    ],
)  # fmt: skip
def test_a_signature_of_one_line_is_in_the_outline(language: str, shown: str, gone: str) -> None:
    """Of a header of C no prototype was shown, and of a module no `export` of one line."""
    if syntax_tree._load_grammar(language) is None:
        pytest.skip(f"no grammar of {language}")
    head = {"typescript": "function", "c": "void", "go": "func", "rust": "fn"}[language]
    text = f"{gone}\n\n{shown}\n\n{head} f() {{\n  a();\n  b();\n}}\n"
    outline = divided(text, language).outlines()[0].text
    assert shown in outline and gone not in outline


@pytest.mark.skipif(not find_spec("tree_sitter_ruby"), reason="needs the grammar of Ruby")
def test_a_comment_below_the_header_of_a_class_is_not_a_part_of_it() -> None:
    text = (
        "class Pool\n  # How long to wait.\n  attr_reader :timeout\n\n"
        "  def initialize(timeout)\n    @timeout = timeout\n    @free = []\n  end\nend\n"
    )
    outline = divided(text, "ruby").outlines()[0].text
    assert "def initialize(timeout)" in outline
    assert "How long" not in outline
