"""Diffs: lines around a change go first; no change without its hunk, no hunk without its file."""

from __future__ import annotations

import difflib

import hostile_strings as hostile
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import marks

import promptforge as pf
from promptforge.trimming import patch
from promptforge.trimming.pieces import Pieces

GIT = """commit 1234
Author: Ada

    Message

diff --git a/a.sql b/a.sql
index 1..2 100644
--- a/a.sql
+++ b/a.sql
@@ -1,4 +1,4 @@ create
 one
--- a deleted comment
+++ an added line
 three
\\ No newline at end of file
@@ -9 +9 @@
-nine
+NINE
diff --git a/old b/new
similarity index 100%
rename from old
rename to new
diff --git a/b.md b/b.md
--- a/b.md
+++ b/b.md
@@ -1,2 +1,2 @@
 title
----
+===
"""


def divided(text: str) -> Pieces:
    pieces = patch.divide(text, marks=marks("[cut]"))
    assert pieces
    assert "".join(part.text for part in pieces.parts) == text
    return pieces


def test_lines_around_a_change_go_first_then_changes_from_the_end() -> None:
    found = [variant.text for variant in divided(GIT).variants()]
    first = found[0]
    assert " title\n" not in first and "---\n" in first and " one\n" in first
    without = next(text for text in found if " one\n" not in text)
    assert "--- a deleted comment\n+++ an added line\n" in without and "-nine\n+NINE\n" in without
    later = next(text for text in found if "+NINE" not in text)
    assert "b.md" not in later and "@@ -1,4 +1,4 @@ create\n" in later


def test_later_changes_of_a_file_go_before_those_of_another() -> None:
    many = "".join(f"-old {n}\n+new {n}\n" for n in range(400))
    text = f"--- a/lock\n+++ b/lock\n@@ -1,400 +1,400 @@\n{many}--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    found = [variant.text for variant in divided(text).variants()]
    half = next(text for text in found if "+new 200\n" not in text)
    assert half.endswith("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")


def test_no_line_stays_without_its_hunk_and_its_file() -> None:
    for variant in divided(GIT).variants():
        for changed, head, file in (
            ("+++ an added line", "@@ -1,4 +1,4 @@", "+++ b/a.sql"),
            ("+NINE", "@@ -9 +9 @@", "diff --git a/a.sql b/a.sql"),
            ("+===", "@@ -1,2 +1,2 @@", "+++ b/b.md"),
        ):
            if changed in variant.text:
                assert head in variant.text and file in variant.text


@pytest.mark.parametrize(
    "text", ["", "text\n", "--- a/x\n+++ b/x\n", "diff --git a/x b/x\nBinary files differ\n"]
)
def test_a_text_without_a_hunk_is_no_diff(text: str) -> None:
    assert patch.divide(text, marks=marks("")) is None


def test_a_hunk_of_a_merge_has_signs_in_two_columns() -> None:
    text = "diff --cc a\n--- a/a\n+++ b/a\n@@@ -1,2 -1,2 +1,2 @@@\n  one\n- two\n -2\n++zwei\nend\n"
    parts = divided(text).parts
    assert [part.text for part in parts if part.parent == 1] == [
        "  one\n",
        "- two\n",
        " -2\n",
        "++zwei\n",
    ]


LINES = st.lists(
    st.sampled_from(["a", "b", "", "-- c", "++ d", "@@ -1 +1 @@", "diff --git a b"]), max_size=12
)


@given(LINES, LINES)
def test_every_line_of_a_diff_of_the_standard_library_is_in_its_hunk(
    old: list[str], new: list[str]
) -> None:
    lines = list(difflib.unified_diff(old, new, "a/x", "b/x", lineterm="", n=1))
    if not lines:
        return
    parts = divided("".join(f"{line}\n" for line in lines)).parts
    heads = {i for i, part in enumerate(parts) if part.skeleton}
    assert parts[0].text == "--- a/x\n+++ b/x\n"
    signs = [line for line in lines[2:] if not line.startswith("@@ ")]
    body = [part for i, part in enumerate(parts) if i not in heads]
    # A line `@@ …` of a file begins with a sign in its diff.
    assert [part.text.rstrip("\n") for part in body] == signs
    assert all(parts[part.parent].text.startswith("@@ ") for part in body)


@given(hostile.TEXT)
def test_any_text_is_divided_into_itself(text: str) -> None:
    pieces = patch.divide(f"@@ -1 +1 @@\n{text}", marks=marks("[cut]"))
    assert pieces and "".join(part.text for part in pieces.parts) == f"@@ -1 +1 @@\n{text}"


def test_a_query_finds_its_hunk_behind_more_changes_than_have_room() -> None:
    hunks = "".join(
        f"--- a/f{n}\n+++ b/f{n}\n@@ -1,2 +1,2 @@\n stay\n-fill(pool, {n})\n+fill(pool, lid, {n})\n"
        for n in range(30)
    )
    text = hunks.replace("fill(pool, lid, 21)", "sleep(attempt, 21)")
    item = pf.Item(content=text, language="diff")
    shown = pf.render([item], max_tokens=120, query="how long is the sleep of an attempt").text
    assert "--- a/f21\n+++ b/f21\n" in shown and "+sleep(attempt, 21)\n" in shown


def test_the_changes_of_a_lock_file_alone_stay_before_the_lines_around() -> None:
    hunks = "".join(f"@@ -{n},3 +{n},3 @@\n a{n}\n-b{n}\n+c{n}\n d{n}\n" for n in range(1, 40, 4))
    found = [variant.text for variant in divided(f"--- a/go.sum\n+++ b/go.sum\n{hunks}").variants()]
    assert any("+c37\n" in cut and "\n a1\n" not in cut for cut in found)
    assert not any("\n a1\n" in cut and "+c37\n" not in cut for cut in found)


@pytest.mark.parametrize("path", ["go.sum", "web/package-lock.json", "app.min.js"])
@pytest.mark.parametrize(
    "head", ["diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n", "--- {0}\t9\n+++ {0}\t9\n"]
)
def test_lines_of_a_lock_file_go_before_any_of_a_program(head: str, path: str) -> None:
    rows = "@@ -0,0 +1,30 @@\n" + "".join(f"+row {number}\n" for number in range(30))
    code = "@@ -1,4 +1,4 @@\n one\n-two\n+TWO\n three\n four\n"
    text = (
        f"{head.format(path)}{rows}{head.format('src/a.go')}{code}{head.format('yarn.lock')}{rows}"
    )
    found = [variant.text for variant in divided(text).variants()]
    for cut in found:
        assert code in cut or "row" not in cut
    assert any(code in cut and path in cut and "row" not in cut for cut in found)
