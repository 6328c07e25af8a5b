"""Passages of a repository's files: chunks, words of related meaning, the next hop, names."""

from __future__ import annotations

import random
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import marks as shipped_marks

import promptforge as pf
from promptforge.selection.repository import (
    _QueryWords,
    cut_into_chunks,
    find_shared_comments,
    rank_chunks,
)
from promptforge.text.thesaurus import related_terms
from promptforge.text.words import stem, terms_of_word
from promptforge.trimming.code import divide

POOL = """\
class Pool:
    def take_connection(self, wanted):
        while self.closed:
            self.wait_for_free(wanted)
        return self.free.pop()
"""
FILLER = "\n\n".join(
    f"def job_{number}(entry):\n"
    + "\n".join(f"    entry.step_{number}_{line}()" for line in range(12))
    for number in range(40)
)


def _repository(files: int = 20) -> list[pf.Item]:
    items = [
        _program(f"jobs/f{number}.py", FILLER.replace("job_", f"job_{number}_"))
        for number in range(files)
    ]
    return [*items, _program("net/pool.py", f"{FILLER}\n\n\n{POOL}\n\n{FILLER}")]


def _program(path: str, text: str) -> pf.Item:
    return pf.Item(kind="code", content=text, path=path, language="python")


def _render(items: list[pf.Item], query: str, **options: Any) -> pf.Result:
    return pf.render(items, **{"query": query, "max_tokens": 800, **options})


@given(
    st.text(alphabet="ab \n\t#@)(:=XY_", max_size=400), st.sampled_from(["", "def f():\n", "\n"])
)
def test_chunks_joined_are_the_text(text: str, before: str) -> None:
    text = before * 30 + text
    chunks = list(cut_into_chunks(text))
    assert "".join(text[chunk.start : chunk.end] for chunk in chunks) == text
    assert all(text[chunk.start : chunk.end].count("\n") <= 60 for chunk in chunks)


def test_a_chunk_begins_before_a_definition_and_knows_the_names_around_it() -> None:
    body = "".join(f"        self.step_{number}()\n" for number in range(12))
    text = f"class Store:\n    def read(self):\n{body}\n    def write(self):\n{body}"
    first, second = cut_into_chunks(text)
    assert text[second.start :].startswith("    def write")
    assert second.names == ("Store", "read")
    assert (first.defines, second.defines) == (("Store", "read"), ("write",))


def test_the_lines_that_answer_are_shown_and_the_rest_of_the_file_is_not() -> None:
    for packing in ("score", "repository"):
        result = _render(
            _repository(), "when is a connection taken from the pool?", packing=packing
        )
        assert result.tokens <= 800
        assert "return self.free.pop()" in result.text and "class Pool:" in result.text
        assert "net/pool.py" in result.text.split("jobs/")[0]


def test_a_short_file_without_room_for_all_of_it_shows_what_answers() -> None:
    jobs = "\n\n".join(FILLER.split("\n\n")[:3])
    text = f"{jobs}\n\n\n{POOL}\n\n{jobs}"
    other = f"{FILLER}\n\n\ndef connection(entry):\n    entry.take()\n"
    items = [_program("net/pool.py", text), _program("jobs.py", other)]
    assert len(text) < 2_400
    found = _render(items, "how does a pool take a connection", max_tokens=200)
    assert "return self.free.pop()" in found.text


def test_a_word_of_related_meaning_finds_what_the_word_itself_does_not() -> None:
    files = [("a.py", "def purge_directory(path):\n    path.unlink()\n"), ("b.py", FILLER)]
    found = rank_chunks("how is a folder deleted", files)
    assert files[found[0].file][0] == "a.py"
    assert related_terms("slow") >= {"slow", "timeout", stem("deadline")}
    assert related_terms("xyzzy") == {"xyzzy"}


def test_a_form_of_a_word_and_a_plain_word_find_the_term_of_a_program() -> None:
    assert related_terms(stem("thrown")) >= {stem("throw"), stem("evict")}
    assert related_terms(stem("neighbours")) >= {stem("neighbor")}
    assert "client" in related_terms(stem("visitor"))
    assert stem("visitor") not in related_terms("client")


def test_a_test_comes_after_the_program_unless_the_query_is_about_tests() -> None:
    said = "def test_seal():\n    seal = Seal()\n    seal.close()\n    assert seal.closed\n"
    program = "def close(entry):\n    entry.seal()\n"
    files = [("tests/test_seal.py", said), ("seal.py", program), ("jobs.py", FILLER)]
    assert [chunk.file for chunk in rank_chunks("when does a seal close", files)][:2] == [1, 0]
    assert rank_chunks("which test closes a seal", files)[0].file == 0


def test_the_chunk_that_defines_what_the_best_one_names_comes_along() -> None:
    items = _repository()
    other = "MODES = 3\n\n\ndef hidden_policy(value):\n    return value + MODES\n"
    items[-1] = _program("net/pool.py", f"{FILLER}\n\n\n{POOL}        # hidden_policy(wanted)\n")
    items.append(_program("deep/rules.py", f"{FILLER}\n\n\n{other}"))
    result = _render(items, "when is a connection taken from the pool?", max_tokens=1200)
    assert "return value + MODES" in result.text


def test_a_chunk_lends_worth_to_its_neighbours_in_the_same_file_alone() -> None:
    part = "\n".join(f"    entry.step_{line}()" for line in range(12))
    before, after = (f"def {name}(entry):\n{part}\n\n" for name in ("before", "after"))
    asked = f"def quench(entry):\n{part}\n\n"
    found = rank_chunks("quench", [("a.py", FILLER), ("b.py", before + asked + after)])
    assert [(chunk.file, chunk.start) for chunk in found] == [
        (1, len(before)),
        (1, len(before + asked)),
        (1, 0),
    ]


def test_only_a_word_itself_counts_for_its_rarity() -> None:
    often = FILLER.replace("(entry):", "(entry):\n    entry.timeout()")
    asked, other = (FILLER + f"\n\ndef {word}(entry):\n    return\n" for word in ("slow", "seal"))
    files = [("a.py", often), ("b.py", asked), *((f"c{n}.py", other) for n in range(3))]
    # That `timeout` stands everywhere makes "slow" no commoner.
    assert rank_chunks("slow seal", files)[0].file == 1
    # Nor is `timeout` as rare as "slow" for that.
    short = "\n\n".join(f"def job_{n}(entry):\n    return entry.timeout\n" for n in range(90))
    assert rank_chunks("slow seal", [("a.py", short), *files[1:]])[0].file == 1


def test_names_of_the_next_best_files_follow_the_passages() -> None:
    result = _render(
        _repository(), "which step takes the entry of a job, and the pool?", packing="repository"
    )
    stubs = [item for item in result.items if item.status == "trimmed" and item.tokens < 40]
    assert len(stubs) >= 2 and result.tokens <= 800


def test_without_a_word_of_the_query_all_is_as_without_a_query() -> None:
    items = _repository(3)
    assert _render(items, "zzzz qqqq").text == _render(items, "").text


def test_equal_items_in_any_order_give_the_same_chunks() -> None:
    files = [(item.path or "", item.content or "") for item in _repository(6)]
    shuffled = random.Random(3).sample(files, len(files))
    query = "when is a connection taken from the pool?"

    def shown(given: list[tuple[str, str]]) -> set[tuple[str, int, float]]:
        return {
            (given[chunk.file][0], chunk.start, round(chunk.worth, 9))
            for chunk in rank_chunks(query, given)
        }

    assert shown(files) == shown(shuffled)


@pytest.mark.parametrize(
    "text", ["a" * 3_000_000, "\n" * 300_000, "def f\n" * 100_000, " " * 10**6]
)
def test_chunks_of_hostile_texts_take_linear_time(text: str) -> None:
    started = time.process_time()
    rank_chunks("def f", [("x.py", text)])
    assert time.process_time() - started < 5


def test_scores_of_the_caller_and_other_kinds_keep_the_old_way() -> None:
    items = [
        pf.Item(content=f"Paris is city {n}. " * 30, path=f"{n}.md", kind="document")
        for n in range(3)
    ]
    assert _render(items, "which city is Paris", max_tokens=200).tokens <= 200


def test_a_chunk_without_room_shows_its_beginning_before_a_lesser_one_is_shown() -> None:
    def method(name: str, lines: int) -> str:
        body = "".join(
            f"        int {name}{i} = store.read({i}) + total({i});\n" for i in range(lines)
        )
        return f"    public Order {name}(Order order) {{\n{body}        return order;\n    }}\n"

    text = f"public class Orders {{\n{method('place', 3)}\n{method('refund', 40)}}}\n"
    items = [
        pf.Item(kind="code", path="src/Orders.java", content=text),
        _program("ledger.py", "def pay(customer):\n    lines.append(customer)\n"),
    ]
    for budget in (150, 250, 500):
        shown = _render(items, "refund an order", max_tokens=budget).text
        assert "Order refund(Order order)" in shown
        assert "refund0" in shown, budget
        assert "place2" not in shown or "refund20" in shown


def test_of_a_chunk_without_room_the_entries_with_the_words_are_shown() -> None:
    names = ["home", "search", "back", "privacy", "licences", "loading", "feedback", "theme"]
    entries = "".join(
        f'  <string name="settings_{name}">The words on a button</string>\n' for name in names
    )
    settings = pf.Item(
        kind="file", path="res/strings.xml", language="xml", content=f"<r>\n{entries}</r>\n"
    )
    shown = pf.Renderer().render(
        [*_repository(3), settings], query="where is the theme", max_tokens=90
    )
    assert "settings_theme" in shown.text and "settings_search" not in shown.text


def test_a_diff_among_the_files_leaves_them_a_repository() -> None:
    change = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    diff = pf.Item(kind="diff", path="x.py", content=change, language="diff")
    query = "where is the code slow?"  # only a repository is asked for words of related meaning
    late = _program("net/late.py", f"{FILLER}\n\n\ndef late():\n    raise Timeout()\n")
    for items in ([*_repository(), late], [*_repository(), late, diff]):
        assert "raise Timeout()" in _render(items, query).text


def test_a_diff_is_found_by_its_words_among_the_files() -> None:
    around = "".join(f" def job_{line}(): pass\n" for line in range(40))
    change = f"--- a/net/x.py\n+++ b/net/x.py\n@@ -1,81 +1,81 @@\n{around}-    raise Overdrawn\n+    warn_overdrawn()\n{around}"
    diff = pf.Item(kind="diff", path="net/x.py", content=change, language="diff")
    shown = _render([*_repository(), diff], "account overdrawn", max_tokens=300).text
    assert "+++ b/net/x.py" in shown
    assert "+    warn_overdrawn()" in shown


def test_at_most_asks_for_a_limit_and_again_for_a_retry() -> None:
    files = [("a.py", FILLER), ("b.py", "limit = 40\n"), ("c.py", "retry = 3\n")]
    assert rank_chunks("how much at most", files)[0].file == 1
    assert rank_chunks("what is done again", files)[0].file == 2


LICENCE = """\
#  {name}
#  Copyright (c) {year} The Authors of the Sluice
#
#  Permission is granted to open, close and refill each sluice, if the water is left as it was.
#  The sluice is given as it is, without any promise that its gate closes at flood.
"""


def _licensed(number: int, text: str) -> pf.Item:
    path = f"gates/gate_{number}.py"
    notice = LICENCE.format(name=f"gate_{number}.py", year=2010 + number)
    return _program(path, f"{notice}\n{text}")


def test_a_comment_that_many_files_begin_with_is_known_with_other_years_and_names() -> None:
    items = [
        _licensed(number, f"# Gate {'abcd'[number]}.\nopen = {number}\n") for number in range(4)
    ]
    items += [_program("plain.py", FILLER), _program("other.py", f"# Own.\n{FILLER}")]
    places = find_shared_comments(items)
    assert [bool(end) for _, end in places] == [False, True, True, True, False, False]
    for item, (start, end) in zip(items[1:4], places[1:4], strict=True):
        assert start == 0
        assert (item.content or "")[end:].startswith("# Gate ")
    assert not any(end for _, end in find_shared_comments(items[:2]))  # too few


@pytest.mark.parametrize(
    ("before", "opener", "closer", "kind"),
    [
        ("", "/*\n", "*/\n", "code"),
        ("<?php\n", "/**\n", "*/\n", "code"),
        ("", "<!--\n", "-->\n", "document"),
        ("", "", "", "document"),  # a heading, and no comment
    ],
)
def test_a_comment_of_several_lines_is_shared_as_a_whole(
    before: str, opener: str, closer: str, kind: str
) -> None:
    texts = [f"{before}{opener}{LICENCE}{closer}/* {n} */ f({n});\n" for n in range(3)]
    items = [
        pf.Item(kind=kind, content=text, path=f"{number}.x") for number, text in enumerate(texts)
    ]
    start, end = find_shared_comments(items)[2]
    expected = before + opener + LICENCE + closer if opener else ""
    assert texts[2][:end] == expected
    assert texts[2][:start] == (before if opener else "")


def test_a_licence_is_shown_once_and_its_words_are_no_answer() -> None:
    text = "import water\n\n\ndef refill(gate):\n    return water.rise(gate)\n"
    items = [_licensed(number, text.replace("gate", f"gate_{number}")) for number in range(9)]
    items += [_program("flood.py", f"{FILLER}\n\n\ndef refill_at_flood():\n    pass\n")]
    result = _render(items, "where is a sluice refilled at flood", max_tokens=700)
    assert result.text.count("Permission is granted") <= 1
    assert "def refill_at_flood" in result.text
    shown = [item for item in result.items if item.status == "trimmed"]
    assert "lines left out" in result.text
    assert len(shown) > 4


def test_the_first_to_go_of_a_text_are_pieces_of_their_own() -> None:
    text = "# One.\n# Two.\nimport os\n\n\ndef f():\n    a = 1\n    return a\n\n\ndef g():\n    1\n"
    pieces = divide(text, marks=shipped_marks("[cut]"), language="none")
    assert pieces is not None
    for end in range(text.index("def f") + 1):
        apart = pieces.with_first_to_go(0, end)
        assert "".join(part.text for part in apart.parts) == text
        first = [part.text for part in apart.parts if part.keep < 0]
        assert "".join(first) == text[:end]
        for part in apart.parts[len(first) :]:
            if part.parent >= 0:
                assert "def" in apart.parts[part.parent].text


@pytest.mark.parametrize("numbered", [False, True])
def test_without_a_query_a_shared_licence_is_left_out_with_a_mark(numbered: bool) -> None:
    body = "".join(f"    gate.step_{line}()\n" for line in range(6))
    items = [
        _licensed(number, "\n\n".join(f"def turn_{number}_{n}(gate):\n{body}" for n in range(3)))
        for number in range(40)
    ]
    options: dict[str, Any] = {"packing": "repository", "number_lines": numbered}
    tight = pf.render(items, max_tokens=7_000, **options)
    assert tight.text.count("Permission is granted") <= 4  # the last ones have room over
    whole = re.findall(r"# 6 lines left out\n(?:\s*7\S* )?def turn_\d+_0", tight.text)
    assert len(whole) > 20
    assert sum(item.status == "included" for item in tight.items) <= 4
    # Where all have room nothing is left out.
    wide = pf.render(items, max_tokens=100_000, **options)
    assert wide.text.count("Permission is granted") == 40
    assert {item.status for item in wide.items} == {"included"}


@given(st.text("abcdeinrsyY_Qz", min_size=1, max_size=12))
def test_a_word_matches_each_of_its_own_terms(word: str) -> None:
    for term in terms_of_word(word):
        assert dict(_QueryWords([term])[word])[0] == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\f"])
def test_definitions_are_found_after_each_end_of_a_line(end: str) -> None:
    (chunk,) = cut_into_chunks(
        end.join(["import os", "def refill(gate):", "    pass", "LIMIT = 3"])
    )
    assert chunk.defines == ("refill", "LIMIT")
