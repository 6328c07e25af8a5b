"""Evidence for a query: worth of texts and passages, the second hop, names and their forms."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import pytest
from evidence_pages import PAGES, QUERY, parts_of, reading, take
from hypothesis import given, settings
from hypothesis import strategies as st
from places import HELPERS

import promptforge as pf
from promptforge.selection import evidence
from promptforge.selection.evidence import DividedText, Evidence, RankedText
from promptforge.selection.passage_choice import (
    PassageCosts,
    PassageId,
    choose_passages,
)
from promptforge.text import words
from promptforge.trimming.pieces import split_prose

# ---- worth


def test_the_second_hop_is_found_by_its_title() -> None:
    evidence = reading(QUERY, PAGES)
    best = sorted(range(len(PAGES)), key=lambda i: -evidence.worth[i])
    assert set(best[:3]) == {0, 1, 4}
    assert parts_of(evidence)[4].bridge > 0 and parts_of(evidence)[0].echo > 0
    unnamed = [page._replace(title="") for page in PAGES]
    assert reading(QUERY, unnamed).worth[4] == min(reading(QUERY, unnamed).worth)


def test_the_second_hop_is_found_by_a_name_that_both_texts_have() -> None:
    pages = [
        RankedText(
            "Zed Tower", "Zed Tower in Oslo was drawn by Ada Quill, and built in two years."
        ),
        RankedText("Oslo", "Oslo is a city by the sea. Many people were born there."),
        RankedText("A school", "Its school of art was attended by Ada Quill and by her sister."),
        RankedText("Old school", "It is a school of art in the north, and nobody is named here."),
        RankedText("Art", "Art is what is drawn, cut or built; there are schools of it, too."),
    ]
    query = "Which school did the one who drew Zed Tower attend?"
    evidence = reading(query, pages)
    assert parts_of(evidence)[2].bridge > 4 * parts_of(evidence)[3].bridge
    assert sorted(range(5), key=lambda i: -evidence.worth[i])[:2] == [0, 2]
    # Passages of one source share its names all the time: nothing is bridged between them.
    of_one = [page._replace(title="The same source") for page in pages]
    assert not any(part.bridge for part in parts_of(reading(query, of_one)))


@pytest.mark.parametrize(
    "name", ["ledger-db", "ledger_db", "db07.example.net", "OPS-41", "#41327", "ledgerTtl", "db07"]
)
def test_the_second_hop_is_found_by_an_identifier(name: str) -> None:
    pages = [
        RankedText("note 1", f"When exports turn stale in Oslo, the cause lies with {name}."),
        RankedText("note 2", f"As a remedy for {name}: restart it and tell the second shift."),
        RankedText("note 3", "As a remedy for hat-db: drain it and tell the second shift."),
        RankedText("note 4", "When exports turn slow in Rome, the cause lies with the net."),
    ]
    parts = parts_of(reading("What is the remedy when exports turn stale in Oslo?", pages))
    assert parts[1].bridge > 0.5 > 4 * parts[2].bridge


def test_worth_is_the_sum_of_its_parts_and_capped() -> None:
    query = "alpha beta gamma"
    hostile = RankedText("Alpha Beta Gamma", "alpha beta gamma Alpha Beta Gamma " * 500, 0.0)
    evidence = reading(
        query, [RankedText("A", "alpha is one of them"), hostile, RankedText("B", "beta")]
    )
    assert evidence.worth == [sum(lift) for lift in parts_of(evidence)]
    assert evidence.worth[1] < 8


@given(st.data(), st.lists(st.sampled_from(PAGES), min_size=1, max_size=7))
def test_what_no_other_document_lends_to_has_its_own_worth(
    data: st.DataObject, pages: list[RankedText]
) -> None:
    evidence = reading(QUERY, pages)
    shares = st.lists(st.floats(0, 1), min_size=len(evidence.weights))
    weights = data.draw(shares)
    worths = evidence.worths(weights)
    own = [evidence.own_worth(number, weights) for number in range(len(pages))]
    assert {i for i, worth in enumerate(own) if worth != worths[i]} <= evidence.borrowers


@given(st.lists(st.sampled_from([*PAGES, RankedText("", "naïve – “airline” café")]), min_size=1))
def test_a_document_of_one_passage_counts_as_a_passage_of_another(pages: list[RankedText]) -> None:
    whole = Evidence([QUERY], pages, lambda i: DividedText([pages[i].text]))
    # The blank makes another text of it, which is read anew.
    apart = Evidence([QUERY], pages, lambda i: DividedText([f"{pages[i].text} "]))
    for number in range(len(pages)):
        known, anew = whole.passage_scores(number), apart.passage_scores(number)
        assert (known.shares, known.given) == (anew.shares, anew.given)


def test_a_word_that_is_a_function_s_name_is_no_link() -> None:
    pages = [
        RankedText("open", "opens it"),
        RankedText("run", "We open it when we have to, and read it."),
        *PAGES,
    ]
    assert parts_of(reading("what is read", pages))[0].bridge == 0


def test_two_documents_of_one_title_hold_each_other_up_and_are_no_target() -> None:
    pages = [
        RankedText("Tulsa Times", "On the oil of Tulsa, which is a city."),
        RankedText("Tulsa Times", "On other news."),
    ]
    pages.append(RankedText("Paper", "The Tulsa Times is a paper."))
    evidence = reading("oil", pages)
    assert parts_of(evidence)[1].source > 0 and parts_of(evidence)[2].source == 0
    assert [lift.bridge for lift in parts_of(evidence)] == [0, 0, 0]


def test_what_the_caller_measured_is_added() -> None:
    pages = [
        RankedText(
            "", "First sentence of the one text here. Second sentence of the one text here.", 1.0
        )
    ]
    cut = DividedText(list(split_prose(pages[0].text)))
    evidence = Evidence(
        ["nothing"], pages, lambda _: cut, match=lambda some: [[0.0, 0.9]] * len(some)
    )
    assert evidence.passage_scores(0).match(evidence.weights) == [0, 0.9]
    assert take(evidence, 15).picks == [PassageId(0, 1)]


# ---- choice


@pytest.mark.slow
def test_the_order_of_hashes_does_not_matter() -> None:
    program = (
        "from evidence_pages import PAGES, QUERY, reading, take;"
        "from promptforge.selection.filter import diversify;"
        "e = reading(QUERY, PAGES * 3);"
        "print(e.worth, take(e, 60), diversify([1]*5, [p.text for p in PAGES]))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(HELPERS)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in "123"
    }
    assert len(runs) == 1


# ---- diversity


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from(["omni", "air", "Bo", "Dunn", "in", "x", "東京", "\n", ".", "é"])),
    st.integers(1, 30),
)
def test_a_text_read_in_blocks_tells_what_it_tells_as_a_whole(parts: list[str], size: int) -> None:
    text = " ".join(parts)
    pages = [*PAGES, RankedText("Notes", text, 1.0)]
    whole = reading(QUERY, pages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "MAX_BLOCK_CHARS", size)
        assert "".join(words.split_blocks(text)) == text
        in_blocks = reading(QUERY, pages)
    assert parts_of(in_blocks) == parts_of(whole) and in_blocks.weights == whole.weights
    last = PassageId(len(PAGES), 0).document
    assert in_blocks.passage_scores(last) == whole.passage_scores(last)


def test_a_word_for_itself_in_each_place_is_not_remembered() -> None:
    text = " ".join(f"no{number}" for number in range(evidence.MAX_WORDS_REMEMBERED + 9_000))
    found = reading("no", [RankedText("log", text, 1.0)])
    assert len(found._occurrences) == evidence.MAX_WORDS_REMEMBERED


def test_a_long_hypothetical_answer_has_no_more_say_than_a_question() -> None:
    long = "Dogs are fed at noon, need walks, sleep in the hall and love it there " * 5
    pages = [RankedText("Dogs", long), RankedText("Fish", "Where fish live there is water.")]
    evidence = Evidence([long, "where do fish live"], pages, lambda _: DividedText([]))
    assert (
        sum(evidence.weights[-2:])
        == pytest.approx(sum(evidence.weights[:-2]))
        == pytest.approx(0.5)
    )


def test_the_sentence_that_names_the_next_page_is_shown() -> None:
    pages = [
        RankedText("Mill", "The mill was built of red brick in one year. Its only owner so far was Ada Quill. It stood empty for many years.", 1.0),
        RankedText("Ada Quill", "Ada Quill was born in a village by the sea, and went to school there.", 0.5),
        RankedText("Sea", "The sea is deep and cold.", 0.2),
    ]  # fmt: skip
    evidence = reading("who was born in a village and built the mill", pages)
    first, second, third = evidence.passage_scores(0).match(evidence.weights)
    assert first > third and second > third


@pytest.mark.parametrize(
    ("passage", "labelled"),
    [
        ("tell(self): Return the position in the stream.", True),
        ("- **tell**: the position in the stream", True),
        ("`tell`: the position in the stream", True),
        ("* Seek and tell: the position in the stream", True),
        ("The position that seek and tell return in one stream: a number", False),
        ("http://tell.example is the position in the stream", False),
    ],
)
def test_a_name_before_a_colon_or_bracket_labels_its_line(passage: str, labelled: bool) -> None:
    plain = "The position in the stream, which all who tell of it return, is a number."
    pages = [RankedText("A", passage), RankedText("B", plain), RankedText("C", "It is deep.")]
    evidence = reading("tell", pages)
    own, other = (evidence.passage_scores(number).match(evidence.weights)[0] for number in (0, 1))
    assert (own > 1.5 * other) is labelled


@pytest.mark.parametrize(
    ("query", "worth"),
    [
        ("How does a Formatter write dates?", evidence.NAMED_TITLE_WORTH),
        ("which help formatter writes Dates", evidence.NAMED_COMMON_WORD_WORTH),
        ("what is a formatter", evidence.NAMED_TITLE_WORTH),
        ("What is a formatter", evidence.NAMED_TITLE_WORTH),
        ("the LOG formatter of dates", evidence.NAMED_COMMON_WORD_WORTH),
    ],
)
def test_a_word_in_small_letters_is_no_title_where_others_have_capitals(
    query: str, worth: float
) -> None:
    pages = [RankedText("Formatter", "It writes dates."), RankedText("Help", "It helps.")]
    assert parts_of(reading(query, pages))[0].echo == worth


def test_the_syntax_of_a_format_does_not_change_what_is_chosen() -> None:
    octopus = "The octopus has eight arms and three hearts. It lives in the sea and sleeps by day. "
    pages = [
        RankedText("Squid", "The squid has ten arms and ink. It swims in the sea by night.", 9.0),
        RankedText("Octopus", octopus, 8.5),
    ]
    evidence = reading("How many arms and hearts has the octopus or the squid?", pages)

    def opened(header: float, spared: float) -> list[int]:
        costs = PassageCosts(lambda _: header, lambda _, p: 10.0, spared=lambda _: spared)
        choice = choose_passages(evidence, costs, room=120, among=[0, 1], max_documents=3)
        return [document for document, _ in choice.picks]

    assert opened(3, 0)[:2] == opened(45, 42) == [1, 0]
    assert opened(45, 0) == [1, 1]


def test_passages_that_cost_nothing_are_chosen_by_their_worth() -> None:
    pages = [RankedText("Squid", "It has ink. It has ten arms.", 9.0)]
    evidence = reading("How many arms has the squid?", pages)
    # A counter of the user's own: what the format takes alone costs as much as all of the item.
    costs = PassageCosts(lambda _: 5, lambda _, p: 0, gap=0, spared=lambda _: 5)
    choice = choose_passages(evidence, costs, room=20, among=[0], max_documents=1)
    assert choice.picks


USES = """value = parse_header(raw)
if value is None:
    value = parse_header(raw.strip())
print(parse_header, value)
total = count_rows(value) + count_rows(raw)
for row in rows_of(value):
    show(row, width=80, parse_header=parse_header)
"""
DEFINES = """def parse_header(raw):
    \"\"\"Return name and content, split at the first colon.\"\"\"
    name, colon, content = raw.partition(":")
    if not colon:
        return None
    return name.strip().lower(), content.strip()
"""


def test_what_a_query_names_is_shown_where_it_is_defined() -> None:
    # The program that only uses the name says it four times, and has the higher score.
    others = [f"def other_{i}(a, b):\n    return a + b * {i}\n" for i in range(6)]
    items = [
        pf.Item(kind="code", language="python", path=f"f{i}.py", content=text, score=1 - i / 9)
        for i, text in enumerate([USES, DEFINES, *others])
    ]
    assert (
        "raw.partition"
        in pf.render(items, query="how does parse_header split a header", max_tokens=120).text
    )
    # The name alone: its definition is whole before a use of it has room.
    found = pf.render(items, query="parse_header", max_tokens=90).text
    assert "raw.partition" in found and "content.strip()" in found
    alone = [RankedText("f.py", text, 1.0) for text in (DEFINES, USES)]
    told = [alone[0]._replace(defines=["parse_header"]), alone[1]]
    without, within = (reading("parse_header", each).worth for each in (alone, told))
    assert without[0] < without[1] and within[0] > within[1]


def test_words_told_together_are_those_told_one_by_one() -> None:
    wanted, titles = ["socket", "tie", "ソケ", "ας", "y"], ["Python Sockets", "Bo Dunn", "Bo Dunn"]
    text = "openSocket OpenSocket reSocket re_socket tied ties x Sockets dunn python ſocket"
    text += " HTTPSocket ソケットを開く Straße naïve_tie K plain " + " ".join(map(str, range(50)))
    text += " SÖCKET só́ckets ties漢字 漢字Socket ΑΣ ΑΣ漢字 Ας漢 ガソケット 'ties"
    ways = product((wanted[:4], wanted[:1], wanted[1:2], wanted, []), (titles, []))
    for some, named in ways:
        names = list(map(words.title_phrase, named))
        alone, together = (evidence.Occurrences(some, named, names) for _ in range(2))
        told = {word for word in text.split() if any(alone[word])}
        assert together.tell(text.split()) == together.tell(text.split()) == told
        # What holds no term and names no title is passed over, and not remembered.
        assert together.items() <= alone.items() and told <= together.keys()
