"""Variants of programs: the pieces are the text, and every variant is still a program."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest
from program_pieces import STDLIB, divided, whole
from shipped_words import marks as shipped_marks

from promptforge.trimming import syntax_tree
from promptforge.trimming.kinds import Trimmers
from promptforge.trimming.pieces import Piece, Pieces
from promptforge.trimming.program import Blocks


@pytest.mark.slow
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
        "# [cut]\ndef f(): ...\n# Of g.\ndef g(): ...\n"
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
    assert shown.split("\n", 1)[1] == outline


def test_a_program_that_is_read_in_part_keeps_its_marks_on_the_line_of_the_signature() -> None:
    text = "function f() {\n  a();\n  b();\n  c();\n}\n"
    whole = divided(f"{text}{text.replace('f()', 'g()')}", "javascript")
    signatures = [index for index, part in enumerate(whole.parts) if part.skeleton]
    for pieces in (whole, whole.with_parts([*whole.parts, Piece("h();\n", keep=-1.0)])):
        outline = pieces.outline_text(signatures)
        assert outline.endswith("\nfunction f() {/*…*/}\nfunction g() {/*…*/}\n")


@pytest.mark.parametrize(
    ("language", "text", "shown", "hidden"),
    [
        (
            "typescript",
            "interface Options {\n  name: string;\n  // how long\n  timeout?: number;\n}\n"
            "class Store {\n  private size = 1;\n  get(key: string) {\n    a();\n    b();\n  }\n}\n",
            ["name: string;", "timeout?: number;", "private size = 1;", "get(key: string) {"],
            ["a();"],
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


def test_an_outline_marks_each_gap_of_declarations() -> None:
    table = "TABLE = [\n" + "".join(f"    {number},\n" for number in range(9)) + "]\n"
    text = f"{table}class A:\n    x = 1\n    def f(self):\n        return 1\n\n\ndef g():\n    return 2\n"
    outlines = [each.text.partition("\n")[2] for each in divided(text, "python").outlines()]
    assert outlines[0] == "# …\nclass A:\n    x = 1\n    def f(self): ...\ndef g(): ...\n"
    assert outlines[1] == "# …\nclass A:\n    ...\n    def f(self): ...\ndef g(): ...\n"


_LICENCE = [f"line {n} of the licence" for n in range(5)]


@pytest.mark.parametrize(
    ("language", "first", "sign", "last", "mark"),
    [
        ("kotlin", "/*\n", " * ", " */\n", " …\n"),
        ("kotlin", "", "// ", "", "// …\n"),
        ("python", "", "# ", "", "# …\n"),
    ],
)
def test_a_long_comment_is_cut_by_its_paragraphs(
    language: str, first: str, sign: str, last: str, mark: str
) -> None:
    """A licence larger than the room never was shown, though it alone had the query's words."""
    said = [*_LICENCE, "", "sold as it is", "", *_LICENCE]
    comment = "".join(f"{sign}{line}".rstrip() + "\n" for line in said)
    code = "def f():\n    return 1\n" if language == "python" else "fun f() {\n    run()\n}\n"
    text = f"{first}{comment}{last}\n{code}"
    pieces = divided(text, language)
    assert whole(pieces) == text
    (asked,) = (n for n, part in enumerate(pieces.parts) if "as it is" in part.text)
    shown = pieces.text([asked])
    assert f"{first}{mark}{sign}sold as it is\n{sign.rstrip()}\n{mark}{last}" in shown
    assert all(line not in shown for line in _LICENCE)


@pytest.mark.parametrize(
    "comment",
    [
        "/*\n * a\n *\n * b\n */\n",  # too short
        "/*\n a /* b\n\n c\n\n d */\n\n e\n */\n",  # one within another
        "/*\n" + " a\n\n" * 9,  # without an end
        "--[[\n-- a\n\n-- b\n\n-- c\n]]\n",
        "// a \\\n b\n\n// c \\\n d\n",
    ],
)
def test_a_comment_that_may_go_on_without_a_sign_stays_one_piece(comment: str) -> None:
    blocks = Blocks([*comment.splitlines(keepends=True), "run();\n"])
    blocks.add(len(blocks.lines) - 1, len(blocks.lines))
    assert blocks.texts() == [comment, "run();\n"]


def test_comments_in_a_row_are_read_once() -> None:
    lines = ["/* a */\n", "// b\n", "\n"] * 8_000 + ["run();\n"]
    blocks = Blocks(lines)
    started = time.process_time()
    blocks.add(len(lines) - 1, len(lines))
    assert time.process_time() - started < 5
    assert "".join(blocks.texts()) == "".join(lines)


def test_a_method_of_ruby_is_one_line_of_an_outline() -> None:
    """Three lines a method, two of them a mark and `end`, were half of an overview."""
    pytest.importorskip("tree_sitter_ruby", reason="needs grammars: pip install '.[test-all]'")
    body = "      run\n      stop\n"
    text = (
        f"module Pool\n  class Queue\n    def put(item, at: nil)\n{body}    end\n"
        f"    def take # :nodoc:\n{body}    end\n    def size=(n)\n{body}    end\n  end\nend\n"
    )
    outline = divided(text, "ruby").outlines()[0].text
    assert "    def put(item, at: nil); … end\n" in outline
    assert "    def take # :nodoc:\n      # …\n    end\n    def size=(n); … end\n" in outline
    root = syntax_tree.parse_syntax(outline, "ruby")
    assert root is not None and not root.has_error


def test_an_outline_has_no_lines_for_a_checker_or_a_compiler_alone() -> None:
    pytest.importorskip("tree_sitter_rust", reason="needs grammars: pip install '.[test-all]'")
    text = (
        "#[derive(Clone, Debug)]\npub struct Pool {\n    size: u8,\n}\n\n#[derive(Debug, Parser)]\n"
        "#[inline]\npub fn take(\n    // eslint-disable-next-line no-any\n    n: u8,\n) {\n    run();\n}\n"
    )
    outline = divided(text, "rust").outlines()[0].text.partition("\n")[2]
    assert outline.startswith(
        "pub struct Pool {\n    size: u8,\n}\n#[derive(Debug, Parser)]\npub fn take(\n    n: u8,\n)"
    )
