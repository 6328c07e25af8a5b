"""Programs read without a grammar: the depth of their lines tells bodies from signatures."""

from __future__ import annotations

import pytest
from program_pieces import divided
from shipped_words import marks as shipped_marks

from promptforge.trimming import syntax_tree
from promptforge.trimming.indentation import read_indentation
from promptforge.trimming.program import SIGNATURE, program_pieces

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
(* [cut] *)
module Pool = struct
  type t = {
    size : int;
    mutable free : int list;
  }

  let rec drain pool acc =
    (* … *)
end

let main () =
  (* … *)
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
#define MOST 3
#include "steps.h"
    return n;
#undef MOST
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
#pragma warning restore 618

        public int Half(int n)
        {
            return n / 2;
        }
#region Rest
        public int Rest(int n)
        {
            return n % 2;
        }
#endregion
    }
}
"""
CSHARP_OUTLINE = """\
namespace A
{
    public class Pool
    {
        public int Take(int n) {/*…*/}
#pragma warning restore 618

        public int Half(int n) {/*…*/}
#region Rest
        public int Rest(int n) {/*…*/}
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
private:
    int size_;
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
    assert "[cut]" in said
    assert found == outline


@pytest.mark.parametrize(
    ("language", "text", "shown", "hidden"),
    [
        (
            "c",
            "int take(int n);\nRUN(1);\nvoid f(void) {\n  take(1);\n  a();\n}\n",
            ["int take"],
            ["a()", "RUN"],
        ),
        (
            "cpp",
            "class A {\n  A(int n);\n  int size() const { return n; }\n  int b = f(1);\n"
            "  void g() {\n    h(2);\n  }\n};\n",
            ["A(int n);", "int size() const", "int b = f(1);", "void g()"],
            ["h(2)"],
        ),
        (
            "csharp",
            "class A {\n  public int Size() => n;\n  int b = F(1);\n  void G() {\n    H(2);\n  }\n}\n",
            ["public int Size() => n;", "int b = F(1);", "void G()"],
            ["H(2)"],
        ),
        (
            "javascript",
            "class A {\n  get size() { return 1; }\n  b = f(1);\n  g() {\n    if (x) { y(); }\n    h(2);\n"
            "  }\n}\nrun(1);\n",
            ["get size()", "b = f(1);", "g()"],
            ["y()", "h(2)", "run(1)"],
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
    text = f"{head}\n    a = 1;\n    b = 2;\n    c = 3;\n}}\n{definition}\nother(4);\n"
    outline = divided(text, language).outlines()[0].text
    assert definition in outline and "other" not in outline


@pytest.mark.parametrize(
    ("language", "text", "shown"),
    [
        (
            "scala",
            "object A {\n  def go() = {\n    b()\n  }\n  case class In(x: Int)\n}\n"
            "final case class Item(a: Int)\ncase object Nothing\nenum Color {\n  case Red, Green\n}\n",
            ["case class In", "final case class Item", "case object Nothing", "case Red, Green"],
        ),
        (
            "solidity",
            "error Bad(uint a);\nabstract contract Token is Base {\n    using Math for uint;\n"
            "    mapping(address => uint) public balances;\n    event Sent(address to);\n"
            "    function mint(uint a) public {\n        b();\n    }\n}\n"
            "library Math {\n    uint constant X = 1;\n}\n",
            ["error Bad", "using Math", "mapping(", "event Sent", "uint constant X"],
        ),
        (
            "hcl",
            'resource "vm" "web" {\n  ami = "a"\n  tags = {\n    b() = 1\n  }\n}\n'
            "moved {\n  from = a\n}\n",
            ['ami = "a"', "tags = {", "from = a"],
        ),
        (
            "elixir",
            "defmodule A do\n  use GenServer\n  import B\n  def go(a) do\n    b()\n  end\nend\n",
            ["use GenServer"],
        ),
        (
            "ocaml",
            "exception Empty\nmodule M = Map.Make(String)\nlet run () =\n  b()\n",
            ["exception Empty", "module M"],
        ),
        (
            "perl",
            "extends 'Base';\nhas name => (is => 'ro');\nwith qw(A B);\nsub f {\n    b();\n}\n",
            ["extends 'Base'", "has name", "with qw"],
        ),
        (
            "dart",
            "mixin Walker on Animal {\n  int legs = 4;\n  void walk() {\n    b();\n  }\n}\n"
            "base mixin class Q {\n  int z = 1;\n}\n",
            ["int legs", "int z"],
        ),
        (
            "julia",
            "module M\nexport f, g\ng(x) = x + 1\nh(x::Int)::Int where T = x\n"
            "mutable struct Q <: R\n    a\nend\nfunction f(x)\n    b()\nend\nend\n",
            ["module M", "export f, g", "g(x) = x + 1", "h(x::Int)", "    a\n"],
        ),
        (
            "php",
            "<?php\nclass User extends Model\n{\n    use HasFactory, Notifiable;\n"
            "    public function f()\n    {\n        b();\n    }\n}\n",
            ["use HasFactory"],
        ),
        (
            "javascript",
            "export default {\n  name: 'Shop',\n  components: { A },\n  data() {\n    b();\n  },\n};\n",
            ["name: 'Shop'", "components:"],
        ),
        (
            "swift",
            "actor Pool {\n    let size: Int\n    indirect enum E { case a }\n"
            "    mutating func f() {\n        b()\n    }\n}\n",
            ["let size", "indirect enum E"],
        ),
        (
            "groovy",
            "package a\nimport b\ntrait T {\n    int x\n}\n",
            ["int x"],
        ),
        (
            "graphql",
            "scalar Date\nunion U = A | B\nschema {\n  query: Q\n}\n",
            ["scalar Date", "union U", "query: Q"],
        ),
        (
            "prisma",
            "model User {\n  id Int @id\n  @@index([id])\n}\n",
            ["id Int", "@@index"],
        ),
        (
            "kotlin",
            "tailrec fun gcd(a: Int): Int = 1\nexpect class P\nfun start() {\n    b()\n}\n",
            ["tailrec fun gcd", "expect class P"],
        ),
    ],
)  # fmt: skip
def test_no_declaration_is_gone_without_a_mark(
    language: str, text: str, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `case class`, the members of a `contract` and the settings of a `resource` were."""
    monkeypatch.setattr(syntax_tree, "_load_grammar", lambda name: None)
    blocks = read_indentation(text, language)
    assert blocks is not None
    pieces = program_pieces(text, blocks.cut(), language, shipped_marks("[cut]"))
    assert pieces is not None
    declared = "".join(part.text for part in pieces.parts if pieces.in_outline(part))
    assert [part for part in shown if part not in declared] == []
    assert "b()" not in declared


PYTHON_2 = """\
class Order(object):
    size = 3

    def __init__(self, total,
                 lines=None,
                 *args):
        \"\"\"Makes one
at the margin ( [.
\"\"\"
        print "made", total

    @property
    # always
    @cached
    def gross(self, sign="("):
        x = self.total
        def inner():
            return x
        return x * 2

LIMIT = 3
"""
PYTHON_2_OUTLINE = """\
class Order(object):
    size = 3
    def __init__(self, total,
                 lines=None,
                 *args): ...
    @property
    # always
    @cached
    def gross(self, sign="("): ...
LIMIT = 3
"""
GENERIC = """\
class Store[T](Base):
    items: list[T]

    def put(
        self,
        value: T,
        *,
        strict: bool = False,
    ) -> None:
        self.items.append(value)

def broken(
    a,

def first[T](values: list[T]) -> T:
    return values[0]
"""
GENERIC_OUTLINE = """\
class Store[T](Base):
    items: list[T]
    def put(
        self,
        value: T,
        *,
        strict: bool = False,
    ) -> None: ...
def first[T](values: list[T]) -> T: ...
"""
KOTLIN = """\
const val MAX = 3

@Suppress("x") // a comment
data class Pair(
    val a: Int,
    val b: Int,
)

class Store(
    private val x: Int,
) : Base(x) {
    private val items = listOf(1)

    companion object {
        const val NAME = "x"
    }

    fun put(
        a: Int,
        b: String = "(",
    ): Boolean =
        items.add(a)

    @Throws(IOException::class)
    override fun close() {
        val s =
            when {
                a -> b
            }
    }
}
"""
KOTLIN_OUTLINE = """\
const val MAX = 3
@Suppress("x") // a comment
data class Pair(
    val a: Int,
    val b: Int,
)
class Store(
    private val x: Int,
) : Base(x) {
    private val items = listOf(1)
    companion object {
        const val NAME = "x"
    }
    fun put(
        a: Int,
        b: String = "(",
    ): Boolean =
        // …
    @Throws(IOException::class)
    override fun close() {/*…*/}
}
"""
ELIXIR = """\
defmodule Pool do
  @moduledoc \"\"\"
  Docs.
  \"\"\"
  use GenServer
  @type t :: integer
  @spec put(t, String.t()) :: t
  def put(%Pool{} = pool, key)
      when is_binary(key) do
    pool
    |> take(key)
  end
end
"""
ELIXIR_OUTLINE = """\
defmodule Pool do
  use GenServer
  @type t :: integer
  @spec put(t, String.t()) :: t
  def put(%Pool{} = pool, key)
      when is_binary(key) do
    # …
  end
end
"""
HASKELL = """\
data Pool a = Pool
  { size :: Int
  , items :: [a]
  }

take
  :: Int
  -> Pool a
take n =
  let x = n
   in drop x
"""
HASKELL_OUTLINE = """\
data Pool a = Pool
  { size :: Int
  , items :: [a]
  }
take
  :: Int
  -> Pool a
take n =
  -- …
"""
PROTOBUF = """\
message Order {
  string id = 1;
  oneof kind {
    int32 a = 3;
  }
}

service Orders {
  rpc Get(GetRequest) returns (Order);
}
"""
PROTOBUF_OUTLINE = """\
message Order {
  string id = 1;
  oneof kind {
    int32 a = 3;
  }
}
service Orders {
  rpc Get(GetRequest) returns (Order);
}
"""


@pytest.mark.parametrize(
    ("language", "text", "outline"),
    [
        ("python", PYTHON_2, PYTHON_2_OUTLINE),
        ("python", GENERIC, GENERIC_OUTLINE),
        ("kotlin", KOTLIN, KOTLIN_OUTLINE),
        ("elixir", ELIXIR, ELIXIR_OUTLINE),
        ("haskell", HASKELL, HASKELL_OUTLINE),
        ("protobuf", PROTOBUF, PROTOBUF_OUTLINE),
    ],
)
def test_a_line_of_an_outline_is_a_whole_declaration(
    language: str, text: str, outline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of parameters in part looked like all of it; fields were gone without a mark."""
    monkeypatch.setattr(syntax_tree, "_load_grammar", lambda name: None)
    blocks = read_indentation(text, language)
    assert blocks is not None
    pieces = program_pieces(text, blocks.cut(), language, shipped_marks("[cut]"))
    assert pieces is not None and "".join(part.text for part in pieces.parts) == text
    found = pieces.outlines()[0].text
    if found != text.replace("\n\n", "\n"):
        found = found.partition("\n")[2]
    assert found == outline


@pytest.mark.parametrize("language", ["python", "elixir", "kotlin"])
def test_a_string_that_nothing_closes_is_read_once(language: str) -> None:
    """Each of its quotes was tried as a beginning of its own: minutes for 80,000 characters."""
    text = 'def f(:\n  x = "' + '\\"' * 40_000 + "\n  y = 1\ndef g(a):\n  z = 1\n"
    blocks = read_indentation(text, language)
    assert blocks is not None and "".join(blocks.texts()) == text


def test_the_text_of_a_long_string_defines_nothing() -> None:
    doc = (
        '  @doc """\n  Renders.\n\n      def show(conn), do: render(conn)\n\n  module Shop\n  """\n'
    )
    text = f"defmodule Shop.Page do\n{doc}  def render(conn) do\n    conn\n  end\nend\n"
    blocks = read_indentation(text, "elixir")
    assert blocks is not None
    signatures = [
        text
        for text, block in zip(blocks.texts(), blocks.found, strict=True)
        if block.rank == SIGNATURE
    ]
    assert [text.strip() for text in signatures] == [
        "defmodule Shop.Page do",
        "def render(conn) do",
    ]


def test_a_macro_of_several_lines_ends_no_function() -> None:
    text = (
        "int take(int n)\n{\n  int x = n;\n#define ADD(p) do {  \\\n    x += p;          \\\n"
        "  } while (0)\n  ADD(1);\n  ADD(2);\n  return x;\n}\n\n"
        'DEFUN ("fill", Ffill, 1,\n       0)\n  (int n)\n{\n  fill(n);\n  fill(n);\n}\n'
    )
    blocks = read_indentation(text, "c")
    assert blocks is not None
    assert [piece for piece in blocks.texts() if "\\\n" in piece] == [
        "#define ADD(p) do {  \\\n    x += p;          \\\n  } while (0)\n"
    ]
    heads = [blocks.texts()[n] for n, block in enumerate(blocks.found) if block.parent < 0]
    assert heads == [
        "int take(int n)\n{\n",
        '\nDEFUN ("fill", Ffill, 1,\n       0)\n  (int n)\n{\n',
    ]
