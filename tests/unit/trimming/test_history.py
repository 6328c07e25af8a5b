"""Sessions at a prompt: inputs and the last outputs stay longest, no output without its input."""

from __future__ import annotations

import hostile_strings as hostile
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import assert_lines_fall, divided, marks

from promptforge.trimming import history
from promptforge.trimming.pieces import Pieces

SHELL = (
    "$ seq 30\n"
    + "".join(f"{n}\n" for n in range(1, 31))
    + "$ cat hat\ncat: hat: No such file or directory\n"
    "$ echo a \\\n> b\na b\n$ date\nMonday\n$ ls\nhat\ncoat\n"
)
PYTHON = (
    ">>> 1 + 1\n2\n>>> def f():\n...   return 1\n...\n>>> f(\n... )\n1\n"
    ">>> g()\nNameError: g\n>>> 3\n3\n>>> 4\n4\n"
)
IPYTHON = "In [1]: x = 1\n\nIn [2]: for a in b:\n   ...:     a\nOut[2]: 5\n\nIn [3]: x\nOut[3]: 1\n"
LISP = "CL-USER> (defun f (x)\n  (* x x))\nF\nCL-USER> (f 2)\n4\nCL-USER> (f 3)\n9\n"


def found_variants(pieces: Pieces) -> list[str]:
    variants = pieces.variants()
    return [variant.text for variant in variants]


def test_the_middle_of_an_old_output_goes_first() -> None:
    found = found_variants(divided(history.divide, SHELL))
    assert found[0].startswith("[cut]\n$ seq 30\n1\n")
    assert any("\n4\n5\n…\n27\n28\n" in text for text in found)
    assert "$ seq 30\n…\n$ cat hat\ncat: hat: No such" in "".join(found)


def test_errors_and_last_outputs_stay_longer() -> None:
    found = found_variants(divided(history.divide, SHELL))
    asked = "$ seq 30\n…\n$ cat hat\ncat: hat: No such file or directory\n$ echo a \\\n> b\n"
    assert any(asked + "…\n$ date\nMonday\n$ ls\nhat\ncoat\n" in text for text in found)
    assert found[-1] == "[cut]\n…\n$ ls\n…\n"
    assert found[-3] == "[cut]\n…\n$ ls\nhat\ncoat\n"


@pytest.mark.parametrize(
    ("text", "language", "inputs"),
    [
        (PYTHON, None, [">>> 1 + 1\n", ">>> def f():\n...   return 1\n...\n",
          ">>> f(\n... )\n", ">>> g()\n", ">>> 3\n", ">>> 4\n"]),
        (IPYTHON, None, ["In [1]: x = 1\n",
          "In [2]: for a in b:\n   ...:     a\n", "In [3]: x\n"]),
        (LISP, None, ["CL-USER> (defun f (x)\n  (* x x))\n",
          "CL-USER> (f 2)\n", "CL-USER> (f 3)\n"]),
        ("* (a\n b)\nC\n* d\nE\n", "lisp", ["* (a\n b)\n", "* d\n"]),
        ("# id\nuid=0\n", "console", ["# id\n"]),
        ("me@host:~/src$ ls\na\nme@host:~/src$ id\n", None, ["me@host:~/src$ ls\n",
         "me@host:~/src$ id\n"]),
        ("[me@host src]$ ls\na\n", None, ["[me@host src]$ ls\n"]),
        ("(venv) root@h:/# ls\na\n", None, ["(venv) root@h:/# ls\n"]),
        ("PS C:\\Users> dir\na\n", None, ["PS C:\\Users> dir\n"]),
        ("irb(main):001:0> 1\n=> 1\n", None, ["irb(main):001:0> 1\n"]),
        ("mysql> select\n    -> 1;\n1\n", None, ["mysql> select\n"]),
        ("> 1\n[1] 1\n", "r", ["> 1\n"]),
    ],
)  # fmt: skip
def test_prompts(text: str, language: str | None, inputs: list[str]) -> None:
    assert [
        part.text
        for part in divided(history.divide, text, language=language).parts
        if part.skeleton
    ] == inputs


@pytest.mark.parametrize(
    "text", ["", "no prompt\n", "> quoted\n", "* item\n* item\n", "# Heading\ntext\n", "a > b\n"]
)
def test_a_text_without_prompts(text: str) -> None:
    assert history.divide(text, marks=marks("[cut]"), language=None) is None


def test_bytes_stay_as_they_are() -> None:
    text = "$ a\n\x1b[1mb\x1b[0m\rc\x08d\n$ e\nf\n$ g\nh\n"
    assert "\x1b[1mb\x1b[0m\rc\x08d\n" in "".join(
        part.text for part in divided(history.divide, text).parts
    )


@given(
    st.lists(
        st.sampled_from([SHELL, PYTHON, LISP, "\n", "$ ", ">>> ", "a\n", "(", "$ x\\"])
        | st.sampled_from(hostile.STRINGS)
    ),
    st.sampled_from([None, "lisp", "bash", "console"]),
    st.floats(0, 1),
)
def test_no_output_without_its_input(
    strings: list[str], language: str | None, share: float
) -> None:
    text = "".join(strings)
    if history.divide(text, marks=marks(""), language=language) is None:
        return
    pieces = divided(history.divide, text, "", language=language)
    order = assert_lines_fall(pieces)
    kept = pieces.closed(order[int(share * len(order)) :])
    assert all(pieces.parts[i].parent in kept for i in kept if pieces.parts[i].parent >= 0)


@pytest.mark.parametrize("count", [*range(70), 1000])
def test_an_output_is_cut_to_pieces_from_both_ends(count: int) -> None:
    chunks = history._chunks(count)
    assert [n for start, end in chunks for n in range(start, end)] == list(range(count))
    assert len(chunks) < 110


def test_an_error_anywhere_in_an_output_keeps_it_longer() -> None:
    steps = ["$ make\nbuilding\nfatal: no rule\n", *(f"$ echo {n}\n{n}\n" for n in range(6))]
    found = found_variants(divided(history.divide, "".join(steps)))
    assert any("fatal: no rule" in text and "\n3\n" not in text for text in found)
