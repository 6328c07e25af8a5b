from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import promptforge as pf
from promptforge.selection import evidence
from promptforge.selection.evidence import DividedText, Evidence, RankedText
from promptforge.selection.filter import RELEVANCE_SHARE, _by_words, _to_unit_range, diversify
from promptforge.selection.passage_choice import (
    PassageChoice,
    PassageCosts,
    PassageId,
    choose_passages,
)
from promptforge.text import words
from promptforge.text.words import STOP_WORDS, stem, terms_of_text, title_phrase, to_phrase
from promptforge.trimming.pieces import split_prose

QUERY = "In which year was the founder of Omni Air born?"
PAGES = [
    RankedText(
        "Omni Air",
        "Omni Air is an airline of Tulsa, Oklahoma. It was founded in 1983 by Bo Dunn. It flies.",
        9.0,
    ),
    RankedText(
        "Tulsa (city)",
        "Tulsa is a city in Oklahoma. Many people were born there in the year of the oil.",
        8.0,
    ),
    RankedText(
        "Air",
        "Air is what people breathe. It is made of nitrogen and oxygen, and of water"
        " in small part.",
        7.0,
    ),
    RankedText(
        "Oil",
        "Oil is found in the ground. It was first found long ago by people who were after salt.",
        6.0,
    ),
    RankedText(
        "Bo Dunn",
        "He is an aviator. He came into the world in 1941 in Ohio, a state of the north.",
        1.0,
    ),
]


def reading(query: str, documents: Sequence[RankedText]) -> Evidence:
    return Evidence([query], documents, lambda i: DividedText(list(split_prose(documents[i].text))))


def take(evidence: Evidence, room: float, *, among: Sequence[int] | None = None) -> PassageChoice:
    def cost(document: int, passage: int) -> float:
        return len(evidence.passage_scores(document).passages.texts[passage].split())

    return choose_passages(
        evidence,
        PassageCosts(lambda _: 3, cost),
        room=room,
        among=range(len(evidence)) if among is None else among,
        max_documents=max(3, int(room / 50)),
    )


# ---- words


def test_forms_of_a_word_meet() -> None:
    for forms in (
        "policy policies",
        "class classes",
        "stop stopped stopping stops",
        "cite cites cited",
        "quick quickly",
    ):
        assert len({stem(form) for form in forms.split()}) == 1, forms
    assert {stem(word) for word in ("this", "bus", "gas", "ring", "1990s")} == {
        "this",
        "bus",
        "gas",
        "ring",
        "1990",
    }


def test_identifiers_yield_their_parts_and_accents_do_not_matter() -> None:
    assert terms_of_text("getUserName") == [stem("getusername"), "get", stem("user"), stem("name")]
    assert set(terms_of_text("max_len")) == {"max_len", "max", "len"}
    assert terms_of_text("Málaga") == terms_of_text("malaga")


def test_scripts_without_blanks_are_read_in_pairs() -> None:
    assert terms_of_text("東京の天気") == ["東京", "京の", "の天", "天気"]
    assert set(terms_of_text("กรุงเทพ")) <= {a + b for a, b in zip("กรุงเทพ", "รุงเทพ", strict=False)}
    assert len(terms_of_text("हिन्दी")) == 1


def test_stop_words_alone_are_all_there_is() -> None:
    assert terms_of_text("Who was it?") == ["who", "was", "it"]
    assert "the" in STOP_WORDS and not terms_of_text("") and terms_of_text("the cat") == ["cat"]


def test_a_title_is_a_phrase_without_its_brackets() -> None:
    assert (
        title_phrase("Tulsa (city)") == " tulsa "
        and title_phrase("Air") == ""
        and title_phrase("東京") == " 東 京 "
    )
    assert title_phrase("Omni Air") in to_phrase("the Omni-Air of old") and title_phrase(
        "Omni Air"
    ) not in to_phrase("Omni Airline")


# ---- worth


def test_the_second_hop_is_found_by_its_title() -> None:
    evidence = reading(QUERY, PAGES)
    best = sorted(range(len(PAGES)), key=lambda i: -evidence.worth[i])
    assert set(best[:3]) == {0, 1, 4}
    assert evidence.parts[4].bridge > 0 and evidence.parts[0].echo > 0
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
    assert evidence.parts[2].bridge > 4 * evidence.parts[3].bridge
    assert sorted(range(5), key=lambda i: -evidence.worth[i])[:2] == [0, 2]
    # Passages of one source share its names all the time: nothing is bridged between them.
    of_one = [page._replace(title="The same source") for page in pages]
    assert not any(part.bridge for part in reading(query, of_one).parts)


def test_worth_is_the_sum_of_its_parts_and_capped() -> None:
    query = "alpha beta gamma"
    hostile = RankedText("Alpha Beta Gamma", "alpha beta gamma Alpha Beta Gamma " * 500, 0.0)
    evidence = reading(
        query, [RankedText("A", "alpha is one of them"), hostile, RankedText("B", "beta")]
    )
    assert evidence.worth == [sum(lift) for lift in evidence.parts]
    assert evidence.worth[1] < 8


def test_a_word_that_is_a_function_s_name_is_no_link() -> None:
    pages = [
        RankedText("open", "opens it"),
        RankedText("run", "We open it when we have to, and read it."),
        *PAGES,
    ]
    assert reading("what is read", pages).parts[0].bridge == 0


def test_two_documents_of_one_title_hold_each_other_up_and_are_no_target() -> None:
    pages = [
        RankedText("Tulsa Times", "On the oil of Tulsa, which is a city."),
        RankedText("Tulsa Times", "On other news."),
    ]
    pages.append(RankedText("Paper", "The Tulsa Times is a paper."))
    evidence = reading("oil", pages)
    assert evidence.parts[1].source > 0 and evidence.parts[2].source == 0
    assert [lift.bridge for lift in evidence.parts] == [0, 0, 0]


@pytest.mark.parametrize(
    "scores", [[-1.0, -2.0, -3.0], [0.0, 0.0, 0.0], [5.0, 5.0, 5.0], [math.inf, 1.0, 0.0]]
)
def test_scores_of_any_scale_leave_the_order_of_equals(scores: list[float]) -> None:
    pages = [RankedText("", "the same text for each", score) for score in scores]
    worth = reading("text", pages).worth
    assert worth == sorted(worth, reverse=True) and all(map(math.isfinite, worth))


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


def test_the_likeliest_passages_come_first() -> None:
    evidence = reading(QUERY, PAGES)
    picks = take(evidence, 60).picks
    assert {i for i, _ in picks} <= {0, 1, 4}
    assert [i for i, _ in picks][:2] == sorted([0, 1], key=lambda i: -evidence.worth[i])


def test_passages_bring_the_headings_above_and_pay_for_them() -> None:
    pages = [RankedText("Manual", "# Options\n-a all of it\n-b brief\n", 1.0)]
    cut = DividedText(["# Options\n", "-a all of it\n", "-b brief\n"], [-1, 0, 0])
    evidence = Evidence(["brief"], pages, lambda _: cut)
    costs = {0: 5.0, 1: 4.0, 2: 3.0}

    def take(room: float) -> list[PassageId]:
        return choose_passages(
            evidence,
            PassageCosts(lambda _: 10.0, lambda _, p: costs[p], gap=0.0),
            room=room,
            among=[0],
            max_documents=1,
        ).picks

    assert take(18) == [PassageId(0, 2)]
    assert take(17) == [PassageId(0, 0)]
    assert take(22) == [PassageId(0, 2), PassageId(0, 1)]


def test_only_what_may_be_chosen_is_divided_and_counted() -> None:
    pages = [
        RankedText("", f"Page {i} speaks of oil. It has no more to say on it than that.", 100.0 - i)
        for i in range(99)
    ]
    divided: list[int] = []

    def divide(index: int) -> DividedText:
        divided.append(index)
        return DividedText(list(split_prose(pages[index].text)))

    take(Evidence(["oil"], pages, divide), 100)
    assert len(divided) == len(set(divided)) == 3


def test_nothing_comes_of_nothing() -> None:
    assert take(reading("a", []), 100) == ([], [])
    assert take(reading("", PAGES), 100).picks
    assert take(reading(QUERY, PAGES), 0).picks == []
    assert choose_passages(
        reading(QUERY, PAGES),
        PassageCosts(lambda _: 1, lambda *_: 1),
        room=99,
        among=range(len(PAGES)),
        max_documents=0,
    ) == ([], [])


WORDS = st.sampled_from(
    [
        "oil",
        "Tulsa",
        "air. ",
        "Omni Air",
        "born",
        "in",
        "the",
        "x" * 30,
        "\n",
        "東京は",
        "getUser",
        "Oils.",
    ]
)
TEXTS = st.lists(WORDS).map(" ".join)
DOCUMENTS = st.lists(st.builds(RankedText, TEXTS, TEXTS, st.floats(-1, 10)), max_size=8)


@pytest.mark.slow
@given(TEXTS, DOCUMENTS, st.integers(0, 60), st.sets(st.integers(0, 7)))
def test_a_choice_keeps_within_the_room_and_names_each_passage_once(
    query: str, documents: list[RankedText], room: int, some: set[int]
) -> None:
    among = sorted(i for i in some if i < len(documents))
    evidence = reading(query, documents)
    picks, aside = take(evidence, room, among=among)
    assert {i for i, _ in (*picks, *aside)} <= set(among)
    spent = sum(len(evidence.passage_scores(i).passages.texts[p].split()) + 2 for i, p in picks)
    spent += 5 * len({i for i, _ in picks})
    assert spent <= room
    assert len({*picks, *aside}) == len(picks) + len(aside)
    assert take(reading(query, documents), room, among=among) == (picks, aside)


@pytest.mark.slow
def test_the_order_of_hashes_does_not_matter() -> None:
    program = (
        "from tests.test_evidence import *;"
        "e = reading(QUERY, PAGES * 3);"
        "print(e.worth, take(e, 60), diversify([1]*5, [p.text for p in PAGES]))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in "123"
    }
    assert len(runs) == 1


# ---- diversity


def test_what_says_the_same_comes_later() -> None:
    texts = ["oil of Tulsa in May", "the oil of Tulsa in May", "air of the north", "nothing else"]
    assert diversify([1.0, 0.95, 0.6, 0.0], texts) == [0, 2, 1, 3]
    assert diversify([], []) == []
    assert diversify([1.0, 1.0, 1.0], ["", "", ""]) == [0, 1, 2]


def test_the_caller_s_vectors_go_before_words() -> None:
    texts = ["one", "one", "two"]
    assert diversify([3, 2, 1], texts, vectors=[(1, 0), (0, 1), (1, 0)]) == [0, 1, 2]
    assert diversify([3, 2.9, 1], texts, vectors=[(1, 0), (1, 0), (-1, 0)]) == [0, 1, 2]
    assert diversify([3, 2, 2], texts, vectors=[(1, 0), (1, 0), (0, 0)]) == [0, 2, 1]


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="2 scores for 1 texts"):
        diversify([1, 2], ["a"])
    with pytest.raises(ValueError, match="1 vectors of sizes"):
        diversify([1, 2], ["a", "b"], vectors=[(1.0,)])


@given(st.lists(st.tuples(st.floats(allow_nan=True), TEXTS), max_size=12))
def test_each_candidate_comes_once_and_the_lazy_way_is_the_greedy_one(
    pairs: list[tuple[float, str]],
) -> None:
    scores, texts = [score for score, _ in pairs], [text for _, text in pairs]
    likeness, relevance, share = (
        _by_words(texts),
        _to_unit_range(scores),
        RELEVANCE_SHARE,
    )
    chosen: list[int] = []
    while left := [index for index in range(len(pairs)) if index not in chosen]:
        likes = {
            index: max((likeness(index, other) for other in chosen), default=0.0) for index in left
        }
        chosen.append(
            max(left, key=lambda i: (share * relevance[i] - (1 - share) * max(likes[i], 0.0), -i))
        )
    assert diversify(scores, texts) == chosen


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
    assert (in_blocks.parts, in_blocks.weights) == (whole.parts, whole.weights)
    last = PassageId(len(PAGES), 0).document
    assert in_blocks.passage_scores(last) == whole.passage_scores(last)


def test_a_word_for_itself_in_each_place_is_not_remembered() -> None:
    text = " ".join(map(str, range(evidence.MAX_WORDS_REMEMBERED + 9_000)))
    found = reading(QUERY, [RankedText("log", text, 1.0)])
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


def test_an_opened_text_does_not_fill_the_room_with_what_says_nothing_of_the_query() -> None:
    silent = "It lives in the wide open sea and sleeps by day. " * 6
    pages = [
        RankedText("Squid", f"The squid has ten arms and ink. {silent}", 9.0),
        RankedText("Octopus", f"The octopus has eight arms and three hearts. {silent}", 8.5),
    ]
    evidence = reading("How many arms and hearts has the octopus or the squid?", pages)
    assert take(evidence, 40).picks == [PassageId(1, 0), PassageId(0, 0)]


def test_a_line_of_a_list_answers_for_itself_and_the_sentences_of_a_line_together() -> None:
    lines = [f"The tool number {n} cuts wood and costs little.\n" for n in range(8)]
    lines[3] = "The heron grinder polishes marble, and no other tool does.\n"
    other = "A polisher of marble in Heron stands at the kiln. It is old and large and loud."
    query = "which heron grinder polishes marble, and where"
    for end, first in (("\n", 1), (" ", 0)):
        text = "".join(line.strip() + end for line in lines)
        found = take(reading(query, [RankedText("Tools", text), RankedText("Kiln", other)]), 200)
        assert found.picks[0].document == 0
        assert found.picks[1].document == first


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
    assert reading(query, pages).parts[0].echo == worth


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

    assert opened(3, 0) == opened(22, 19) == [1, 0, 1]
    assert opened(22, 0) == [1, 1, 0]


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


def test_the_parts_of_one_program_do_not_wear_out_its_name() -> None:
    part = "impl MergeScheduler {{ fn {0}(&self) -> u32 {{ self.{0}_of(MergeScheduler::all) }} }}"
    other = "fn log(all: &mut State) {{ for one in all {{ write(one, {}) }} drop(all) }}"
    texts = [part.format(name) for name in ("next", "last", "push", "peek", "size")]
    texts += [other.format(name) for name in ("purpose", "colour", "cursor", "level")]
    documents = [RankedText("", text, 10 - i) for i, text in enumerate(texts)]
    evidence = Evidence(
        ["What is the purpose of MergeScheduler?"], documents, lambda i: DividedText((texts[i],))
    )
    costs = PassageCosts(lambda _: 3, lambda _, p: 10)
    choice = choose_passages(evidence, costs, room=85, among=range(9), max_documents=9)
    assert sorted(document for document, _ in choice.picks) == [0, 1, 2, 3, 4]


def test_words_told_together_are_those_told_one_by_one() -> None:
    wanted, titles = ["socket", "tie", "ソケット", "y"], ["Python Sockets", "Bo Dunn", "Bo Dunn"]
    text = "openSocket OpenSocket reSocket re_socket tied ties x Sockets dunn python ſocket"
    text += " ソケットを開く Straße naïve_tie K plain " + " ".join(map(str, range(50)))
    for some in (wanted, wanted[:1], wanted[1:2], []):
        names = list(map(words.title_phrase, titles))
        alone, together = (evidence.Occurrences(some, titles, names) for _ in range(2))
        told = {word for word in text.split() if any(alone[word])}
        assert together.tell(text.split()) == together.tell(text.split()) == told
        assert dict(together) == dict(alone)


def test_a_late_pattern_is_compiled_once_for_all_its_methods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late, compiled, compile_pattern = words.late_pattern("a+"), list[str](), re.compile

    def counting(pattern: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(pattern)
        return compile_pattern(pattern, flags)

    monkeypatch.setattr(re, "compile", counting)
    for _ in range(2):
        assert late.subn("b", "xaay") == ("xby", 1)
        assert late.sub("b", "aa") == "b" and late.search("ba") and late.groups == 0
    assert len(compiled) == 1
