"""Variants of programs: the pieces are the text, and every variant is still a program."""

from __future__ import annotations

import ast
import random
import subprocess
import sysconfig
import warnings
from importlib.util import find_spec
from pathlib import Path

import hostile_strings as hostile
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from places import DATA
from python_programs import programs
from shipped_words import marks as shipped_marks

from promptforge.text.format import Marks
from promptforge.trimming import code, python, syntax_tree
from promptforge.trimming.kinds import Trimmers
from promptforge.trimming.pieces import Pieces

STDLIB = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
PROGRAM_FILES = DATA / "programs"
SHOP = (PROGRAM_FILES / "shop.python").read_text(encoding="utf-8")
OUTLINE = '''\
# [cut] 14 of 36 lines left out
"""A shop."""
import os
from decimal import Decimal
# 2 lines left out


@register(
    "shop",
)
class Shop:
    """Sells things.
    … 2 lines left out
    """
    ...  # 2 lines left out

    def sell(
        self, thing: str, *, price: Decimal = Decimal(1)
    ) -> None:
        """Sell one.
        … 2 lines left out
        """
        ...  # 4 lines left out

    def buy(self, thing): self.stock.append(thing)


def main():
    ...  # 2 lines left out
'''
PROGRAMS = {
    path.stem: path.read_text(encoding="utf-8") for path in sorted(PROGRAM_FILES.glob("*.txt"))
}
LANGUAGES = [None, "python", "zig", "sql", "css", *PROGRAMS]


def whole(pieces: Pieces) -> str:
    return "".join(part.text for part in pieces.parts)


def kept(pieces: Pieces) -> list[int]:
    """Return how many lines of the text itself each variant keeps."""
    order = pieces._order({})
    found = []
    for number in range(len(order)):
        staying = pieces.closed(order[number + 1 :])
        found.append(sum(pieces.parts[i].text.count("\n") for i in staying))
    return found


def parses(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except SyntaxError:
            return False
    return True


def divide(text: str, *, marks: Marks, language: str | None) -> Pieces | None:
    """Divide a program as the tables of `kinds` have it done."""
    found = python.divide(text, marks=marks) if language == "python" else None
    return found or code.divide(text, marks=marks, language=language)


def divided(text: str, language: str | None) -> Pieces:
    pieces = divide(text, marks=shipped_marks("[cut]"), language=language)
    assert pieces
    return pieces


def test_the_outline_of_python_is_its_signatures() -> None:
    variants = divided(SHOP, "python").variants()
    found_variants = [variant for variant in variants]
    assert next(variant.text for variant in found_variants if variant.name == "outline") == OUTLINE
    assert all(parses(variant.text) for variant in found_variants)
    assert found_variants[-1].text == (  # never a mark alone
        '# [cut] 30 of 36 lines left out\n# 5 lines left out\n\n\n@register(\n    "shop",\n)\n'
        "class Shop:\n"
        "    ...  # 25 lines left out\n"
    )


def test_the_largest_body_goes_first_from_its_end() -> None:
    variants = divided(SHOP, "python").variants()
    assert (
        "        # money\n        self.till += price\n        ...  # 1 line left out\n"
        in variants[0].text
    )
    assert "Once only" in variants[2].text
    assert 'shop.sell("hat")' in variants[2].text


def test_what_a_query_wants_stays_with_its_signature_and_class() -> None:
    pieces = divided(SHOP, "python")
    wanted = next(i for i, part in enumerate(pieces.parts) if "till" in part.text)
    variants = pieces.variants({wanted: 1.0})
    text = variants[len(variants) - 3].text  # under it: a function, a class
    assert text == (
        '# [cut] 24 of 36 lines left out\n# 5 lines left out\n\n\n@register(\n    "shop",\n)\n'
        "class Shop:\n"
        "    ...  # 6 lines left out\n\n    def sell(\n"
        "        self, thing: str, *, price: Decimal = Decimal(1)\n"
        "    ) -> None:\n        ...  # 5 lines left out\n        # money\n"
        "        self.till += price\n"
        "        ...  # 8 lines left out\n"
    )


@pytest.mark.parametrize("room", [0, 30, 200, 800])
def test_no_variant_is_passed_over_that_has_room(room: int) -> None:
    text = Path(ast.__file__).read_text(encoding="utf-8")
    pieces = python.divide(text, marks=shipped_marks("[cut]"))
    assert pieces is not None
    for variants in (pieces.variants(), pieces.numbered(1).variants()):
        first = variants.first_within(room)
        assert all(len(variants[n].text) > room for n in range(max(first - 40, 0), first))


def test_no_head_without_a_marker() -> None:
    pieces = divide(SHOP, marks=shipped_marks(""), language="python")
    assert pieces
    assert pieces.variants()[0].text.startswith('"""A shop."""\nimport os\n')


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize(
    "path", random.Random(1).sample(STDLIB, 25), ids=lambda path: str(path.name)
)
def test_every_variant_of_a_real_module_parses(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "replace")
    pieces = divided(text, "python")
    assert whole(pieces) == text
    luck = random.Random(path.name)
    worth = {luck.randrange(len(pieces.parts)): luck.random() for _ in range(9)}
    for variants in (pieces.variants(), pieces.variants(worth)):
        numbers = [luck.randrange(len(variants)) for _ in range(5)]
        assert all(parses(variants[number].text) for number in [0, *numbers, len(variants) - 1])


@pytest.mark.slow
@given(
    programs(), st.integers(0, 99), st.dictionaries(st.integers(0, 60), st.floats(0, 1), max_size=4)
)
@example("# c\na()\n\n", 0, {})
def test_every_variant_parses(text: str, step: int, worth: dict[int, float]) -> None:
    assert parses(text)
    pieces = python.divide(text, marks=shipped_marks("[cut]"))
    if pieces:
        assert whole(pieces) == text
        variants = pieces.variants(
            {i: value for i, value in worth.items() if i < len(pieces.parts)}
        )
        if len(variants):  # a comment over one statement has none
            assert parses(variants[step % len(variants)].text)


@pytest.mark.parametrize(
    "text",
    [
        "def f():\\\n  a()\n  \nb()\n",
        "try:\n  a\n  b\n  c\nexcept A:\n  d\n  e\nelse:\n  f\nfinally:\n  g\nh\n",
        "def f():\n  match a:\n    case 1:\n      b\n      c\n    case 2:\n      d\n"
        "    case 3:\n      f\n  g\n",
        "def f():\n# x\n  a\n# y\n  b\n# z\nc\n",
        "def f():\n  '''a\n  b\\'''\n  c\n  d'''\n  e\n",
        "if a:\n  b\nelif c:\n  d\nelse:\n  if e:\n    f\n    g\n    h\n  else:\n    i\nj\n",
        "class A:\n\tdef f(self):\n\t\ta\n\t\tb\n\n\tdef g(self) -> None: ...\n",
        "def f():\r\n  a\r\n  b\r\n\r\ndef g():\r\n  c",
        "def f():\r  a\r  b\rc\r",
        "x = 1  # \\\ndef f():\n  a\n  b\n",
        "def f():\n  a; b\n  c = 1 \\\n\n  d\n",
        "async def f():\n  async with a:\n    b\n    c\n    d\n    e\n    f\n    g\n    h\n"
        "  return\n",
    ],
)
def test_odd_python_stays_python(text: str) -> None:
    pieces = python.divide(text, marks=shipped_marks("x */ \n y"))
    assert pieces
    assert whole(pieces) == text
    for worth in ({}, {len(pieces.parts) - 2: 1.0}, {1: 2.0, len(pieces.parts) // 2: 1.0}):
        variants = pieces.variants(worth)
        assert [n for n in range(len(variants)) if not parses(variants[n].text)] == []


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


OCAML = """\
module Pool = struct
  type t = {
    size : int;
    mutable free : int list;
  }

  let rec drain pool acc =
    match take pool with
    | None -> acc
    | Some x ->
      drain pool (x :: acc)
end

let main () =
  let pool =
    Pool.create 10
  in
  Pool.drain pool []
"""
OCAML_OUTLINE = """\
(* [cut] 8 of 18 lines left out *)
module Pool = struct
  type t = {
    size : int;
    mutable free : int list;
  }

  let rec drain pool acc =
    (* 4 lines left out *)
end

let main () =
  (* 4 lines left out *)
"""


COMMENTED = """\
(* A pool
   of connections.
*)
let take pool =
  pop pool
  (* never empty *)

(* Not closed here *)
let give pool =
  push pool
"""


def test_comments_of_several_lines_and_at_the_end_of_a_body_by_depth() -> None:
    parts = [part.text for part in divided(COMMENTED, "ocaml").parts]
    assert parts == [
        "(* A pool\n   of connections.\n*)\nlet take pool =\n",
        "  pop pool\n",
        "  (* never empty *)\n",
        "\n(* Not closed here *)\nlet give pool =\n",
        "  push pool\n",
    ]
    unclosed = COMMENTED.replace("closed here *)", "closed here")
    assert [part.text for part in divided(unclosed, "ocaml").parts][3:] == [
        "\n(* Not closed here\n",
        "let give pool =\n",
        "  push pool\n",
    ]


C = """\
#include <stdio.h>

/* Takes one. */
static int
take(struct pool *p,
     int n)
{
#ifdef DEBUG
    say(n);
#else
    hush(n);
#endif
    return n;
}

static void nothing(void)
{
}
"""
C_OUTLINE = """\
#include <stdio.h>
/* Takes one. */
static int
take(struct pool *p,
     int n) {/*…*/}
static void nothing(void)
{
}
"""
JAVA = """\
public class Pool extends Base
        implements Closeable {
    @Override
    public int take(
            int first) throws IOException {
        int x = first;
        return x;
    }
}
"""
JAVA_OUTLINE = """\
public class Pool extends Base
        implements Closeable {
    @Override
    public int take(
            int first) throws IOException {/*…*/}
}
"""
CSHARP = """\
namespace A
{
    public class Pool
    {
        public int Take(int n)
        {
#pragma warning disable 618
            return n;
        }
    }
}
"""
CSHARP_OUTLINE = """\
namespace A
{
    public class Pool
    {
        public int Take(int n) {/*…*/}
    }
}
"""
CPP = """\
template <typename T>
class Pool : public Base
{
public:
    explicit Pool(int n)
        : size_(n)
    {
        init();
    }

private:
    int size_;
};
"""
CPP_OUTLINE = """\
template <typename T>
class Pool : public Base
{
public:
    explicit Pool(int n)
        : size_(n) {/*…*/}
};
"""
SHELL = """\
# Take one.
take ()
{
    cat <<EOF
text
EOF
    echo done
}
set -e
"""
SHELL_OUTLINE = """\
# Take one.
take ()
{
    :
}
"""


@pytest.mark.parametrize(
    ("language", "text", "outline"),
    [
        ("c", C, C_OUTLINE),
        ("java", JAVA, JAVA_OUTLINE),
        ("csharp", CSHARP, CSHARP_OUTLINE),
        ("cpp", CPP, CPP_OUTLINE),
        ("bash", SHELL, SHELL_OUTLINE),
    ],
)
def test_without_a_grammar_a_signature_has_all_its_lines(
    language: str, text: str, outline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its `{` may be in the next line, as its type and its arguments may."""
    monkeypatch.setattr(syntax_tree, "_load_grammar", lambda name: None)
    said, found = divided(text, language).outlines()[0].text.split("\n", 1)
    assert "lines left out" in said or "line left out" in said
    assert found == outline


@pytest.mark.parametrize(
    ("language", "text", "shown", "hidden"),
    [
        (
            "c",
            "int take(int n);\nAPI(char *) give(void);\nRUN(1);\nvoid f(void) {\n  take(1);\n  a();\n}\n",
            ["int take", "give"],
            ["a()", "RUN"],
        ),
        (
            "cpp",
            "class A {\n  A(int n);\n  int size() const { return n; }\n  int b = f(1);\n"
            "  void g() {\n    h(2);\n  }\n};\n",
            ["A(int n);", "int size() const", "void g()"],
            ["b = f", "h(2)"],
        ),
        (
            "csharp",
            "class A {\n  public int Size() => n;\n  int b = F(1);\n  void G() {\n    H(2);\n  }\n}\n",
            ["public int Size() => n;", "void G()"],
            ["b = F", "H(2)"],
        ),
        (
            "javascript",
            "class A {\n  get size() { return 1; }\n  b = f(1);\n  g() {\n    if (x) { y(); }\n    h(2);\n"
            "  }\n}\nrun(1);\n",
            ["get size()", "g()"],
            ["b = f", "y()", "h(2)", "run(1)"],
        ),
        (
            "ruby",
            "module A\n  module B\n    class C\n      def take(n)\n        a = 1\n        b\n      end\n"
            "    end\n  end\nend\n",
            ["module B", "class C", "def take(n)"],
            ["a = 1"],
        ),
    ],
)  # fmt: skip
def test_without_a_grammar_short_functions_and_those_in_nested_types_are_signatures(
    language: str,
    text: str,
    shown: list[str],
    hidden: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(syntax_tree, "_load_grammar", lambda name: None)
    outline = divided(text, language).outlines()[0].text
    assert [part for part in shown if part not in outline] == []
    assert [part for part in hidden if part in outline] == []


def test_the_outline_of_ocaml() -> None:
    variants = divided(OCAML, "ocaml").variants()
    assert OCAML_OUTLINE in [variant.text for variant in variants]
    elsewhere = "fn main() {\n    let pool =\n        create(10);\n    drain(pool);\n}\n"
    outlines = [
        each.text for each in divided(elsewhere, "zig").variants() if each.name == "outline"
    ]
    assert outlines and not any("let pool" in text for text in outlines)


@pytest.mark.parametrize(
    ("language", "head", "definition"),
    [
        ("kotlin", "fun start() {", "private inline fun <T> twice(x: T) = x to x"),
        ("kotlin", "fun start() {", "data class Pair(val a: Int, val b: Int)"),
        ("elixir", "def start do", "defp twice(x), do: {x, x}"),
        ("protobuf", "message Start {", "message Pair { int32 a = 1; }"),
        ("hcl", 'variable "start" {', 'output "pair" { value = 1 }'),
        ("sql", "CREATE TABLE start (", "create or replace view pair AS SELECT 1;"),
        ("csharp", "class Start\n{", "public record Pair(int A, int B) { }"),
        ("csharp", "class Start\n{", "public enum Pair { A, B }"),
        ("typescript", "function start() {", "export class Pair extends Error {}"),
        ("rust", "fn start() {", "pub enum Pair { A, B }"),
    ],
)
def test_a_definition_in_one_line_is_in_the_outline(
    language: str, head: str, definition: str
) -> None:
    text = f"{head}\n    a = 1;\n    b = 2;\n    c = 3;\n}}\n{definition}\nother = 4;\n"
    outline = divided(text, language).outlines()[0].text
    assert definition in outline and "other" not in outline


@pytest.mark.parametrize(
    ("language", "mark"),
    [
        ("sql", "-- 2 lines"),
        ("css", "/* 2 lines left out */"),
        ("lisp", "; 2 lines"),
        ("html", "<!-- 2 lines left out -->"),
        (None, "… 2 lines"),
        ("klingon", "… 2 lines"),
        ("yaml", "# 2 lines"),
    ],
)
def test_marks_are_comments(language: str | None, mark: str) -> None:
    pieces = code.divide(
        "a {\n  b\n  c\n}\nd {\n  e\n}\n", marks=shipped_marks("-->*/"), language=language
    )
    assert pieces
    assert f"a {{\n  {mark}" in pieces.variants()[1].text


@given(
    st.lists(st.sampled_from([*hostile.STRINGS, *PROGRAMS.values(), SHOP, "\n", "  ", "{\n"])),
    st.sampled_from(LANGUAGES),
)
def test_the_pieces_are_the_text_whatever_it_is(strings: list[str], language: str | None) -> None:
    text = "".join(strings)
    pieces = divide(text, marks=shipped_marks("[cut]"), language=language)
    if pieces is None:
        return
    assert whole(pieces) == text
    assert all(part.parent < i and part.closes < i for i, part in enumerate(pieces.parts))
    lines = kept(pieces)
    assert lines == sorted(lines, reverse=True)
    variants = pieces.variants()
    assert variants[0].text and variants[len(variants) - 1].text


@pytest.mark.unwatched
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        "\ud800",
        "(" * 9999,
        "-" * 99999 + "1",
        "{\n" * 9999,
        "if a:\n" * 999,
        "/* ' \n`" * 9999,
        "\ufeff",
    ],
)
def test_nothing_is_raised(text: str, language: str | None) -> None:
    for cut in (text, "def f():\n  a\n  b\n" + text):
        pieces = divide(cut, marks=shipped_marks("[cut]"), language=language)
        assert pieces is None or whole(pieces) == cut


@pytest.mark.parametrize("deep", [1, 50, 70, 900])
def test_what_lies_too_deep_is_one_piece(deep: int) -> None:
    text = "".join("  " * n + "{\n" for n in range(deep)) + "".join(
        "  " * n + "}\n" for n in reversed(range(deep))
    )
    for language in (None, "javascript", "c"):
        pieces = divide(text, marks=shipped_marks("[cut]"), language=language)
        assert pieces is None or whole(pieces) == text


def test_a_tree_that_another_thread_has_spoilt_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole_pieces, parse, spoilt = python.divide(SHOP, marks=shipped_marks("[cut]")), ast.parse, [2]

    def flaky(text: str) -> ast.Module:
        spoilt[0] -= 1
        if spoilt[0] >= 0:
            raise SystemError("AST constructor recursion depth mismatch")
        return parse(text)

    monkeypatch.setattr(ast, "parse", flaky)
    again = python.divide(SHOP, marks=shipped_marks("[cut]"))
    assert whole_pieces is not None and again is not None and again.parts == whole_pieces.parts


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


@pytest.mark.parametrize("path", STDLIB[:40:8], ids=lambda path: path.name)
@pytest.mark.parametrize("room", [600, 2_000])
def test_a_long_program_is_read_in_part_and_stays_a_program(path: Path, room: int) -> None:
    source = path.read_text(encoding="utf-8")
    text = source * (1 + 80_000 // len(source))
    trimmers = Trimmers(shipped_marks("[cut]"))
    reach = trimmers.reach("code", "python", len(text), room)
    assert 8 * room <= reach < len(text) // 2
    pieces = trimmers.find_structure("code", "python", text, reach)
    assert isinstance(pieces, Pieces) and whole(pieces) == text
    variants = pieces.variants()
    for number in range(variants.first_within(room), len(variants), 40):
        shown = variants[number].text
        ast.parse(shown)
        assert f"{text.count(chr(10)) - kept(pieces)[number]:,} of " in shown.split("\n")[0]


def test_only_a_program_that_is_cut_to_a_small_part_is_read_in_part() -> None:
    trimmers = Trimmers(shipped_marks("[cut]"))
    assert not trimmers.reach("document", "markdown", 100_000, 500)
    assert not trimmers.reach("code", "python", 100_000, 10_000)
    assert not trimmers.reach("error", "python", 100_000, 500)  # it has a way of its own
    found = trimmers.find_structure("code", "python", "def f():\n    pass\n\n\n" * 1_000, 4_096)
    assert isinstance(found, Pieces) and len(found.parts[-1].text) > 10_000
    broken = 'x = """' + "def f():\n    pass\n\n\n" * 1_000 + '"""\ny = 2\n' * 2
    found = trimmers.find_structure("code", "python", broken, 4_096)
    assert isinstance(found, Pieces) and whole(found) == broken
    assert len(found.parts[-1].text) < 4_096  # it was read to its end


def test_an_outline_says_each_signature_on_its_line_and_what_a_class_is() -> None:
    outlines = divided(
        '"""A shop\nthat sells."""\n\nimport os\n\n\nclass Till:\n    """Takes money.\n\n    All of it.\n'
        '    """\n\n    size = 1\n\n    def open(self):\n        return os\n\n\ndef sell(hat):\n    return hat\n',
        "python",
    ).outlines()
    head = '# [cut] {} of 20 lines left out\n"""A shop\nthat sells."""\n'
    assert outlines[0].text == (
        f'{head.format(12)}import os\nclass Till:\n    """Takes money. …"""\n'
        "    def open(self): ...\ndef sell(hat): ...\n"
    )
    assert outlines[2].text == (
        f'{head.format(14)}class Till:\n    """Takes money. …"""\ndef sell(hat): ...\n'
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["argparse", "dataclasses", "pickle", "typing"])
def test_outlines_of_python_are_python(name: str) -> None:
    text = next(path for path in STDLIB if path.stem == name).read_text("utf-8")
    outlines = divided(text, "python").outlines()
    for number in range(0, len(outlines), 5):
        assert parses(outlines[number].text)


def test_an_outline_is_thinned_evenly() -> None:
    names = [f"part_{number:02}" for number in range(60)]
    functions = [f"def {name}(value):\n    first = value\n    return first" for name in names]
    text = "\n\n\n".join(['"""All parts."""', *functions, "def _private(x):\n    return x\n"])
    outlines = divided(text, "python").outlines()
    full, thin = outlines[0], outlines[len(outlines) * 3 // 4]
    assert all(name in full.text for name in [*names, "_private"]) and "first" not in full.text
    kept = [number for number, name in enumerate(names) if name in thin.text]
    assert len(kept) > 8 and "_private" not in thin.text and '"""All parts."""' in thin.text
    assert max(b - a for a, b in zip([0, *kept], [*kept, 59], strict=True)) <= 8


def test_an_outline_leaves_out_comments_that_stand_apart() -> None:
    """The end of a body, far below it, was shown over the next function."""
    text = "def f():\n    return 1\n    # No more of it.\n\n\n# Of g.\ndef g():\n    return 2\n"
    assert divided(text, "python").outlines()[0].text == (
        "# [cut] 5 of 8 lines left out\ndef f(): ...\n# Of g.\ndef g(): ...\n"
    )


@pytest.mark.parametrize(
    ("language", "text", "outline"),
    [
        ("typescript", "export class A {\n  go(\n    x: T,\n  ): T {\n    run();\n    return x;\n  }\n}\n",
         "export class A {\n  go(\n    x: T,\n  ): T {/*…*/}\n}\n"),
        ("csharp", "class A\n{\n    int Go()\n    {\n        Run();\n        return 1;\n    }\n}\n",
         "class A\n{\n    int Go() {/*…*/}\n}\n"),
        ("go", "func Go() int { // {\n\trun()\n\treturn 1\n}\n", "func Go() int { // {\n\t// …\n}\n"),
        ("kotlin", "fun go() {\n  run()\n  jump()\n}\n", "fun go() {/*…*/}\n"),
        ("zig", "fn go() void {\n  run();\n  jump();\n}\n", "fn go() void {\n  // …\n}\n"),
    ],
)  # fmt: skip
def test_an_emptied_body_is_a_mark_between_its_braces(
    language: str, text: str, outline: str
) -> None:
    """A line for the mark and one for the brace cost more than the names of more functions."""
    shown = divided(text, language).outlines()[0].text
    assert shown.partition("left out\n")[2] == outline


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


def test_a_program_that_is_read_in_part_keeps_its_marks_on_the_line_of_the_signature() -> None:
    text = "function f() {\n  a();\n  b();\n  c();\n}\n"
    whole = divided(f"{text}{text.replace('f()', 'g()')}", "javascript").compact()
    signatures = [index for index, part in enumerate(whole.parts) if part.skeleton]
    for pieces in (whole, whole.followed_by("h();\n")):
        outline = pieces.outline_text(signatures)
        assert outline.endswith("\nfunction f() {/*…*/}\nfunction g() {/*…*/}\n")


@pytest.mark.parametrize(
    ("language", "text", "shown", "hidden"),
    [
        (
            "typescript",
            "interface Options {\n  name: string;\n  // how long\n  timeout?: number;\n}\n"
            "class Store {\n  private size = 1;\n  get(key: string) {\n    a();\n    b();\n  }\n}\n",
            ["name: string;", "timeout?: number;", "get(key: string) {"],
            ["private size", "a();"],
        ),
        (
            "c",
            "struct pool {\n  int size;\n  char *name;\n};\n"
            "int take(struct pool *p) {\n  int a = 1;\n  return a;\n}\n",
            ["int size;", "char *name;", "int take(struct pool *p) {"],
            ["int a = 1;"],
        ),
    ],
)
@pytest.mark.parametrize("parsed", [True, False])
def test_the_members_of_a_struct_or_an_interface_are_signatures(
    language: str,
    text: str,
    shown: list[str],
    hidden: list[str],
    parsed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not parsed:
        monkeypatch.setattr(syntax_tree, "_load_grammar", lambda name: None)
    outline = divided(text, language).outlines()[0].text
    assert [line for line in shown if line not in outline] == []
    assert [line for line in hidden if line in outline] == []


@pytest.mark.skipif(not find_spec("tree_sitter_ruby"), reason="needs the grammar of Ruby")
def test_a_comment_below_the_header_of_a_class_is_not_a_part_of_it() -> None:
    text = (
        "class Pool\n  # How long to wait.\n  attr_reader :timeout\n\n"
        "  def initialize(timeout)\n    @timeout = timeout\n    @free = []\n  end\nend\n"
    )
    outline = divided(text, "ruby").outlines()[0].text
    assert "def initialize(timeout)" in outline
    assert "How long" not in outline


@pytest.mark.parametrize(("word", "first"), [("private", "open"), ("public", "shut")])
def test_a_private_method_leaves_an_outline_before_others(word: str, first: str) -> None:
    body = "    a();\n    b();\n    c();\n  }\n"
    text = f"class Pool {{\n  {word} int shut() {{\n{body}\n  public int open() {{\n{body}}}\n"
    outlines = divided(text, "java").outlines()
    held = [{name for name in ("shut", "open") if name in found.text} for found in outlines]
    assert {first} in held


def test_many_blank_lines_before_a_definition_take_no_time() -> None:
    text = "import os\n" + "\n" * 2_000 + "def f():\n    a = 1\n    return a\n\n\ndef g():\n    1\n"
    assert "def f():" in divided(text, "python").outlines()[0].text
