"""Programs without their comments."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path
from typing import Any

import pytest
from commandline import python
from hypothesis import given
from hypothesis import strategies as st
from places import HELPERS, TESTS

import promptforge as pf
from promptforge.errors import pip_install
from promptforge.trimming.comments import _NOT_TOLD, without_comments

PROGRAMS = [
    *(HELPERS / name for name in ("judges.py", "parsers.py", "hostile_strings.py")),
    TESTS / "generated.py",
]


def _render(text: str, path: str = "a.py", **options: Any) -> pf.Result:
    return pf.render([{"content": text, "path": path, **options.pop("item", {})}], **options)


def _tokens(text: str) -> list[str]:
    """Return the tokens of a Python program that mean something, by Python's own tokenizer."""
    skipped = {tokenize.COMMENT, tokenize.NL}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type not in skipped]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_a_program_without_comments_is_the_same_program(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    left = without_comments(text, "python")
    assert left is not None and len(left) < len(text)
    assert _tokens(left) == _tokens(text)
    tokens = tokenize.generate_tokens(io.StringIO(left).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    assert all(comment.startswith(("# type: ", "# noqa")) for comment in comments)


@pytest.mark.parametrize(
    ("language", "text", "left"),
    [
        ("python", "#!/bin/x\n# gone\nx = '# stays'  # gone\n", "#!/bin/x\nx = '# stays'\n"),
        ("c", "#include <a>\n/* a\n b */ int x; // y\nint y;\n", "#include <a>\n int x;\nint y;\n"),
        ("c", "a /* b */ c\r\n/* d */\r\ne", "a  c\r\ne"),
        ("yaml", "a: '# b' # c\n# d", "a: '# b'\n"),
        ("go", "// Licence.\n\npackage a\n\n// b\n\nvar c int\n", "package a\n\n\nvar c int\n"),
        (
            "go",
            "//go:build x\n\n// b\npackage a\nvar c = d() //nolint:e\n",
            "//go:build x\n\npackage a\nvar c = d() //nolint:e\n",
        ),
        (
            "python",
            "a = []  # type: list[int]\n# b\nimport c  # noqa: F401\n",
            "a = []  # type: list[int]\nimport c  # noqa: F401\n",
        ),
        (
            "javascript",
            "/* eslint-disable */\n// a\n// @ts-check\nb();\n",
            "/* eslint-disable */\n// @ts-check\nb();\n",
        ),
        ("sql", "SELECT /*+ INDEX(a b) */ /* c */ 1;\n", "SELECT /*+ INDEX(a b) */  1;\n"),
        ("c", "// NOLINT\n// b\nint a;\n", "// NOLINT\nint a;\n"),
        (
            "go",
            "package a\n\n//export Run\nfunc Run() {}\n",
            "package a\n\n//export Run\nfunc Run() {}\n",
        ),
        ("python", "# -*- coding: utf-8 -*-\na = 1\n", "# -*- coding: utf-8 -*-\na = 1\n"),
        ("haskell", "{-# LANGUAGE GADTs #-}\nmain = a\n", "{-# LANGUAGE GADTs #-}\nmain = a\n"),
        ("bash", "a=1\n#\nexport B=2\n", "a=1\nexport B=2\n"),
        ("python", "a = 1\n#\ntype: int = 3\n", "a = 1\ntype: int = 3\n"),
        ("python", "# type: the type of a thing\na = 1\n", "a = 1\n"),
        ("javascript", "/* export the table */\n// export const b = 1;\na();\n", "a();\n"),
        ("c", "/*++ Licence. --*/\nint a;\n", "int a;\n"),
        ("c", "\n /* a */ \r\n\r\n\tint b;", "\tint b;"),
        ("python", "\n\na = 1  # b\n", "\n\na = 1\n"),
        ("html", "<p>a<!-- b\n c --></p>\n", "<p>a\n</p>\n"),
        ("javascript", "let a = `// b`; // c\n", "let a = `// b`;\n"),
        ("python", "", ""),
        ("python", "x", "x"),
        ("c", "int/**/x = a +/**/+ b;\n", "int x = a + + b;\n"),
        ("c", "#define A /* a\n b */ 1\n", "#define A  1\n"),
        ("c", "#define A \\\n/* c */\nint b;\n", "#define A \\\n\nint b;\n"),
        ("c", "#if 0\n  old(); // c\n#endif\n", "#if 0\n  old(); // c\n#endif\n"),
        ("cpp", 'auto s = R"x(// no)x"; // c\n', 'auto s = R"x(// no)x";\n'),
        ("javascript", "a = /[/*]/; b = c / d; // e /\n", "a = /[/*]/; b = c / d;\n"),
        ("javascript", "`${ `// a ${1 // c\n}`} // b`\n", "`${ `// a ${1\n}`} // b`\n"),
        ("tsx", "a = <p>http://x {/* c */}</p>;\n", "a = <p>http://x {/* c */}</p>;\n"),
        ("jsx", "<p>{1} // text</p>\n// <p>gone</p>\n", "<p>{1} // text</p>\n"),
        ("rust", "/// doc\nfn a() {} //! x\n/* a /* b */ c */ b\n", "fn a() {}\n b\n"),
        ("php", "<?php # a\n// b\n?>// text\n<?php /** doc */\n", "<?php\n?>// text\n<?php\n"),
        ("kotlin", '/* a */ val x = "// y" // z\n', ' val x = "// y"\n'),
        ("ruby", "x <<-END, 1\n # a\nEND\n# c\n", "x <<-END, 1\n # a\nEND\n"),
        ("ruby", "a << b # c\nb\n", "a << b\nb\n"),
        ("ruby", "r %r/[@\\#$&]/ # c\n", "r %r/[@\\#$&]/\n"),
        ("bash", "a \\\n# c\nb\n", "a \\\n\nb\n"),
        ("bash", "a\\ #b\nx=`# c`\n", "a\\ #b\nx=`# c`\n"),
        ("bash", "x <<'A'\n# a\nA\n# c\n", "x <<'A'\n# a\nA\n"),
        ("bash", "echo ${a#b} $# $((16#f)) # c\n", "echo ${a#b} $# $((16#f))\n"),
        ("perl", "m#a#;\ns{#}{x}; # c\n", "m#a#;\ns{#}{x};\n"),
        (
            "scss",
            "a { b: url(//x); // c\n /* d */ e: '//f' }\n",
            "a { b: url(//x);\n  e: '//f' }\n",
        ),
        ("yaml", "a: |\n  # b\nc: d#e # f\n", "a: |\n  # b\nc: d#e\n"),
    ],
)
def test_comments_go_and_what_looks_like_one_stays(language: str, text: str, left: str) -> None:
    assert without_comments(text, language) == left


def test_a_program_whose_comments_are_not_sure_stays_and_is_said() -> None:
    text = "<p>Don't</p>\nlet a = '//x // y'; // c\n"
    assert without_comments(text, "jsx") is None
    result = _render(text, path="a.jsx", comments=False)
    assert "// c" in result.text
    assert [warning.code for warning in result.warnings] == ["PF123"]
    assert without_comments("x\necho <<x # c", "bash")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("php", "<?php # a\n// b ?>// text\n"),
        ("kotlin", '/* a /* b */ c */ val x = "// y" // z\n'),
        ("ruby", "x <<-'end;', 1\n # a\nend;\n# c\n"),
        ("bash", "x <<A <<B\n# a\nA\n# b\nB\n# c\n"),
        ("sql", "select $x$ -- a $x$; -- c\n"),
    ],
)
def test_a_program_that_a_lexer_loses_its_way_in_keeps_its_comments(
    language: str, text: str
) -> None:
    assert without_comments(text, language) is None


@pytest.mark.parametrize(("language", "sign"), [("php", "//"), ("kotlin", "/*"), ("bash", "<<'")])
def test_what_a_lexer_loses_is_looked_for_once(language: str, sign: str) -> None:
    _NOT_TOLD[language].search(sign * 400_000)  # from each sign to the end it would take minutes


@pytest.mark.slow
@pytest.mark.parametrize(("path", "text"), [("a.hcl", "__END__" * 2_000)])
def test_a_text_that_takes_far_too_long_is_left_with_its_comments(
    monkeypatch: pytest.MonkeyPatch, path: str, text: str
) -> None:
    monkeypatch.setattr("promptforge.selection.filter.MIN_SECONDS_FOR_COMMENTS", 1)
    monkeypatch.setattr("promptforge.selection.filter.CHARS_READ_PER_SECOND", 500_000)
    honest = {"content": "# c\nx = 1", "path": "b.py"}
    items = [{"content": f"# a\n{text}", "path": path}, honest]
    result = pf.render(items, comments=False, max_tokens=1_000_000)
    assert f"# a\n{text.rstrip()}" in result.text and "# c" not in result.text
    [warning] = [str(each) for each in result.warnings]
    assert "1 text with comments that take too long to find: kept [PF127]" in warning


def test_a_word_that_a_lexer_reads_for_hours_is_left() -> None:
    for language in ("ocaml", "xquery"):
        assert without_comments("(* c *)0" + "0" * 1_000_000, language) is None


@pytest.mark.slow
@pytest.mark.parametrize("language", ["c", "cpp", "objectivec", "java"])
@pytest.mark.parametrize("blank", [" ", "\n", "\n "])
def test_blanks_that_a_lexer_reads_for_hours_are_left(language: str, blank: str) -> None:
    assert without_comments("/* c */ a" + blank * 500_000 + "b", language) is None
    assert without_comments("/* c */\na" + blank * 400 + "b", language) == "a" + blank * 400 + "b"


def test_a_long_quoted_text_of_a_shell_is_no_run_of_blanks() -> None:
    text = "cat <<END\n" + "# word word\n" * 400 + "END\n# c\nls\n"
    assert without_comments(text, "bash") == text.replace("END\n# c\n", "END\n")


def test_what_a_condition_of_objective_c_encloses_is_no_comment() -> None:
    text = "#if 0\nint a;\n#endif\n"
    assert without_comments(f"// c\n{text}", "objectivec") == text


def test_what_has_no_end_in_a_style_sheet_is_passed_over_once() -> None:
    for start in ("/* ", "url(", "'", '"'):
        text = f"a {{}} // c\n{start * 100_001}x"
        assert without_comments(text, "scss") == f"a {{}}\n{start * 100_001}x"


def test_an_unknown_language_keeps_its_text_and_is_said() -> None:
    assert without_comments("# x", "klingon") is None
    result = _render("# x", path="a.unknown", comments=False)
    assert "# x" in result.text
    assert [warning.code for warning in result.warnings] == ["PF123"]


LANGUAGES = st.sampled_from(["python", "c", "html", "php", "yaml", "bash", "javascript", "sql"])


@given(st.text("ab#/*-<!>'\"\n\r \\`\u2028", max_size=60), LANGUAGES)
def test_nothing_but_a_blank_is_added(text: str, language: str) -> None:
    left = without_comments(text, language)
    assert left is not None
    rest = iter(text)
    assert all(char in rest for char in left if char != " ")
    assert left.count(" ") <= text.count(" ") + text.count("/*")


@pytest.mark.slow
def test_without_pygments_it_is_said_what_to_install() -> None:
    script = """
import sys
sys.modules["pygments.lexers"] = None
import promptforge as pf
pf.render([{"content": "x"}])
try:
    pf.render([{"content": "x", "path": "a.py"}], comments=False)
except pf.OptionError as error:
    print(error)
"""
    ran = python("-c", script)
    assert ran.out.endswith(f"{pip_install('comments')}\n"), ran.err
    assert ran.code == 0


def test_a_lexer_that_fails_takes_no_comments_away(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygments")
    from pygments.lexers import RubyLexer

    def fail(lexer: object, text: str) -> object:
        raise RecursionError("too deep")

    monkeypatch.setattr(RubyLexer, "get_tokens_unprocessed", fail)
    assert without_comments("x = 1 # one\n", "ruby") is None
