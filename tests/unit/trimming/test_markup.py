"""Variants of LaTeX and AsciiDoc: whole blocks in their places, and nothing left open."""

from __future__ import annotations

import re
import time

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import divided, every_variant, marks

from promptforge.trimming.markup import divide

MARKS = marks("[cut]")
MARK = re.compile(r"\[…[^\]]*\]|\[cut\][^\n]*")

LATEX = r"""\documentclass{article}
% The macros.
\newcommand{\R}{\mathbb{R}}

\begin{document}

\section{Kettles} \label{sec:kettles}
\label{sec:more}

A kettle \emph{boils. It} heats $x. Y$ litres. It is small.

\begin{proof}
First.

\begin{align*}
  a &= b \\
  c &= d
\end{align*}

Second, and much more text.

Third.

Fourth.
\end{proof}

\subsection{Lids}

\begin{itemize}
\item A lid.
\item Another lid.
\end{itemize}

\begin{verbatim}
""" + "".join(f"step {n} \\begin{{x}}\n" for n in range(20)) + r"""\end{verbatim}

The end.

\end{document}
"""  # fmt: skip
ASCIIDOC = """\
= Kettles
Ann Example <ann@example.org>
:toc: left
ifdef::site[]
:icons: font
endif::[]

A kettle boils water. It is small.

== Lids

* One lid.
* Another lid:
+
with a handle.

[source,sh]
.Run it
----
""" + "".join(f"step {n}\n" for n in range(20)) + """\
----

=== Handles

====
An example.

One more.

A third.

A fourth.

A fifth.

A sixth.
====

|===
| a | b
|===

== End

The end.
"""  # fmt: skip


def assert_a_part(short: str, whole: str) -> None:
    """Assert that all but the marks stands in `whole` in this order, and closes what it opens."""
    place = 0
    for stretch in MARK.split(short):
        for line in stretch.split("\n"):
            said = line.strip().removeprefix("%").removeprefix("//").strip()
            found = whole.find(said, place)
            assert found >= 0, (said, short)
            place = found + len(said)


def balance(text: str) -> list[str]:
    """Return the environments that are open at the end, and the ends without a beginning."""
    open_: list[str] = []
    for edge, name in re.findall(r"\\(begin|end)\{(proof|align\*|itemize|verbatim)\}", text):
        if edge == "begin":
            open_.append(name)
        elif not open_ or open_.pop() != name:
            return ["/" + name]
    return open_


def test_latex_in_pieces() -> None:
    pieces = divided(divide, LATEX, language="latex")
    for text in every_variant(pieces):
        assert_a_part(text, LATEX)
        assert not balance(text)
    texts = [variant.text for variant in pieces.variants()]
    assert texts[-1] == (
        "% [cut]\n\n% […]\n\n"
        "\\section{Kettles} \\label{sec:kettles}\n\\label{sec:more}\n\n"
        "A kettle \\emph{boils. It} heats $x. Y$ litres. It is small.\n\n% […]"
    )
    skeleton = [index for index, part in enumerate(pieces.parts) if part.skeleton]
    assert "\\subsection{Lids}" in pieces.outline_text(skeleton)


def test_asciidoc_in_pieces() -> None:
    pieces = divided(divide, ASCIIDOC, language="asciidoc")
    for text in every_variant(pieces):
        assert_a_part(text, ASCIIDOC)
        for delimiter in ("----", "====", "|==="):
            assert text.split("\n").count(delimiter) in (0, 2)
        assert ("[source,sh]" in text) == ("----" in text)
        assert "handle.\n" not in text or "Another lid:\n+\nwith" in text
    texts = [variant.text for variant in pieces.variants()]
    assert texts[-1] == (
        "// [cut]\n\n= Kettles\nAnn Example <ann@example.org>\n"
        "// […]\n\nA kettle boils water. It is small.\n\n// […]"
    )


@pytest.mark.parametrize("language", ["latex", "asciidoc"])
@given(
    lines=st.lists(
        st.sampled_from([
            "", "", "text. More text: it is long", "\\section{A}", "\\begin{proof}", "\\end{proof}",
            "\\begin{verbatim}", "\\end{verbatim}", "\\item a", "% note", "\\label{x}", "== A",
            "= T", "----", "====", "--", "[source]", ".Title", "* item", "+", ":a: b", "```", "a::",
            "\\[ x", "{", "text \\begin{proof} text", "////", "\\begin{document}", "\r", "\t",
        ]),
        max_size=60,
    )
)  # fmt: skip
@cases(100)
def test_any_lines_are_divided_and_shown_in_order(language: str, lines: list[str]) -> None:
    text = "\n".join(lines)
    found = divide(text, marks=MARKS, language=language)
    if found is None:
        return
    pieces = divided(divide, text, language=language)
    for variant in every_variant(pieces):
        assert_a_part(variant, text)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "unit",
    ["\\begin{a}\n", "\\begin{a}\n\\end{b}\n", "\\begin{a", "----\n", "====\n====\n", "[a]\n",
     "\\section{a}\n", "= a\n", "a. ", "{. ", "$. ", "* a\n", "+\n", "a::", "}", "\\begin{a}" * 50 + "\n"],
)  # fmt: skip
@pytest.mark.parametrize("language", ["latex", "asciidoc"])
def test_long_texts_are_divided_in_a_time_that_grows_with_them(language: str, unit: str) -> None:
    begun = time.process_time()
    divide(unit * min(15_000, 300_000 // len(unit)), marks=MARKS, language=language)
    assert time.process_time() - begun < 8
