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
// [cut]
package main

import (
	"fmt"
)

// Add adds.
func Add(
	a, b int,
) int {
	// …
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


@pytest.mark.skipif(not find_spec("tree_sitter_cpp"), reason="needs the grammar of C++")
def test_a_macro_on_a_line_of_its_own_breaks_no_program() -> None:
    text = (
        "// Pools.\nPOOL_BEGIN_NAMESPACE\nPOOL_EXPORT(a, b)\n\nclass POOL_API Pool {\n public:\n  int take();\n};\n\n"
        "POOL_INLINE int give(int n) {\n  return n;\n}\n\nPOOL_END_NAMESPACE\n"
    )
    root = syntax_tree.parse_syntax(text, "cpp")
    assert root is not None and not root.has_error
    outline = divided(text, "cpp").outlines()[0].text
    assert "class POOL_API Pool {" in outline and "POOL_INLINE int give(int n) {/*" in outline


@pytest.mark.parametrize("language", PROGRAMS)
def test_no_outline_breaks_a_program(language: str) -> None:
    assert not errors(PROGRAMS[language], language)
    for outline in divided(PROGRAMS[language], language).outlines():
        assert not errors(outline.text, language), outline.text


@pytest.mark.parametrize(
    ("language", "shown", "gone"),
    [
        ("typescript", "export const run = <T>(f: () => T): T => f();", "run(1);"),
        ("typescript", "export function noop(): void {}", "noop();"),
        ("typescript", "type Call = (x: number) => void;", "run(1);"),
        ("c", "char *name_of(const struct item *given);", "RUN(count);"),
        ("go", "type Directive int", "a(x)"),
        ("rust", "pub struct Meters(f64);", "a(x)"),
        ("rust", "pub type Lengths = Vec<f64>;", "a(x)"),
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
    assert "class Pool\n  # How long to wait.\n  attr_reader :timeout\n" in outline


FIELDS = {
    "java": (
        "class A {\n  private static final int MAX = 10;\n  @Autowired private Repo repo;\n"
        "  enum Kind {\n    A(1),\n    B(2);\n    int x;\n  }\n"
        "  A(\n    Repo a,\n    Repo b\n  ) {}\n  int f() {\n    int y = 1;\n    return y;\n  }\n}\n",
        ["MAX = 10;", "Repo repo;", "A(1),", "B(2);", "int x;", "Repo b\n  ) {}"],
        ["int y"],
    ),
    "go": (
        "package a\n\nconst (\n\tA = iota\n\tB\n\tC\n\tD\n\tE\n)\n\nvar ErrNo = errors.New()\n\n"
        "func F() int {\n\tx := 1\n\treturn x\n}\n",
        ["const (\n\tA = iota\n\tB\n\tC\n\tD\n\tE\n)\n", "var ErrNo"],
        ["x := 1"],
    ),
    "ruby": (
        "class Order\n  has_many :lines\n  STATES = %w[a].freeze\n  def total\n    a = 1\n    a\n  end\nend\n",
        ["has_many :lines", "STATES ="],
        ["a = 1"],
    ),
    "javascript": (
        "const MAX = 3;\nlet state = {\n  a: 1,\n  b: 2,\n};\napp.use = a;\nrun(1);\n"
        "export default {\n  props: {\n    name: String,\n  },\n  go() {\n    const y = 1;\n    z();\n  },\n};\n"
        "export default function Page() {\n  const x = 1;\n  z(x);\n}\n",
        ["MAX = 3;", "state = {/*…*/};", "app.use = a;", "name: String,", "go() {/*…*/},"],
        ["run(1)", "const y", "const x", "b: 2"],
    ),
    "swift": (
        "class A {\n    func f() {\n        // first\n        let x = 1\n        g(x)\n    }\n    var size: Int = 0\n}\n",
        ["func f() {/*…*/}", "var size"],
        ["let x"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", FIELDS)
def test_an_outline_has_fields_and_constants(language: str) -> None:
    if syntax_tree._load_grammar(language) is None:
        pytest.skip(f"no grammar of {language}")
    text, shown, gone = FIELDS[language]
    outline = divided(text, language).outlines()[0].text
    assert [part for part in shown if part not in outline] == []
    assert [part for part in gone if part in outline] == []


def test_ruby_of_backticks_and_swift_of_hash_marks_are_not_parsed() -> None:
    assert syntax_tree.parse_syntax("`a` " * 20_000, "ruby") is None
    assert syntax_tree.parse_syntax("#" * 20_000, "swift") is None


def test_lua_that_is_read_too_often_ends_no_process() -> None:
    # Its grammar ends the process where a text seems to end before its end.
    assert syntax_tree.parse_syntax("eyJ•├── import x\n" * 500, "lua") is None
