"""Pieces of a text: where it is cut, what a gap shows, and that they rejoin verbatim."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import marks

from promptforge.trimming import pieces as trimming_pieces
from promptforge.trimming.pieces import (
    MAX_PROSE_PIECES,
    MAX_SENTENCE_CHARS,
    MIN_LINE_PIECE_CHARS,
    MIN_PIECE_CHARS,
    Piece,
    Pieces,
    divide_prose,
    line_gap,
    split_prose,
    split_sentences,
)

TEXT = (
    "Dr. Smith came to St. Louis by train in May. He stayed there for 20 years and wrote. "
    'Was it worth the long way? "It was," he said to the U.S. Army.\n'
    "He died in the year after that."
)
PIECES = st.lists(
    st.sampled_from(
        [
            "A word. ",
            "no end ",
            "Mr. ",
            "one.\n",
            "\n\n",
            "what? ",
            "x" * 31,
            "好的。",
            "\\n",
            "é ",
            ")\t",
        ]
    )
)


def whole(text: str) -> Pieces:
    found = divide_prose(text, marks(""))
    assert found
    return found


def test_a_text_is_cut_after_its_sentences_and_lines_but_not_after_abbreviations() -> None:
    assert list(split_prose(TEXT)) == [
        "Dr. Smith came to St. Louis by train in May. ",
        "He stayed there for 20 years and wrote. ",
        'Was it worth the long way? "It was," he said to the U.S. Army.\n',
        "He died in the year after that.",
    ]


def test_an_escaped_line_end_and_a_full_stop_of_the_east_end_a_piece() -> None:
    assert list(
        split_prose(
            r"{'content': 'the first line of the text\nand the second one, which is longer'}"
        )
    ) == [
        r"{'content': 'the first line of the text\n",
        "and the second one, which is longer'}",
    ]
    long = "这是一个很长的句子" * 4
    assert list(split_prose(f"{long}。{long}。")) == [f"{long}。", f"{long}。"]


def test_indentation_stays_with_its_line() -> None:
    code = "def first(argument: int) -> int:\n\n    return second(argument) + 1\n" * 8
    parts = list(split_prose(code))
    assert len(parts) > 2 and {part[:6] for part in parts} <= {"def fi", "    re"}
    assert all(part.endswith("\n") and len(part) >= MIN_LINE_PIECE_CHARS for part in parts[:-1])


@given(
    st.lists(st.sampled_from(["A word. ", "no end ", "Mr. ", '.)"  ', "\n \n", "\\n", "n。」"])),
    st.sampled_from([2, MAX_PROSE_PIECES]),
)
def test_no_stop_is_jumped_over(signs: list[str], pieces: int) -> None:
    # The search jumps to where a piece may end: all before it is read again for stops.
    text = "".join(signs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trimming_pieces, "MAX_PROSE_PIECES", pieces)
        cuts = [*accumulate(map(len, split_prose(text)))]
    least = max(MIN_PIECE_CHARS, len(text) // pieces)
    start = 0
    for found in trimming_pieces._STOP.finditer(text):
        wanted = max(least, MIN_LINE_PIECE_CHARS) if found.lastgroup else least
        short = found.end() - start < wanted or len(text) - found.end() < MIN_PIECE_CHARS
        if not short and not text[: found.start()].endswith(("Mr.", " .")):
            assert found.end() in cuts
            start = found.end()


def test_an_initial_ends_no_sentence() -> None:
    assert (
        len(
            list(
                split_prose(
                    "The book was written by the late J. R. R. Tolkien and no other than him."
                )
            )
        )
        == 1
    )


def test_gaps_are_marked_and_keep_the_line_ends() -> None:
    pieces = whole(TEXT)
    assert pieces.text([1]) == "… He stayed there for 20 years and wrote. …"
    assert (
        pieces.text([0, 3])
        == "Dr. Smith came to St. Louis by train in May. …\nHe died in the year after that."
    )
    assert pieces.text([0, 1]) == TEXT[:85] + "…"
    assert pieces.text(range(4)) == TEXT


@pytest.mark.parametrize("text", ["", "One sentence only.", "Short. Too short.", "x" * 500])
def test_what_is_one_piece_is_not_divided(text: str) -> None:
    assert divide_prose(text, marks("[…]")) is None


@given(PIECES.map("".join) | st.text())
def test_pieces_rejoin_verbatim_and_are_long_enough(text: str) -> None:
    parts = list(split_prose(text))
    assert "".join(parts) == text
    assert all(len(part) >= MIN_PIECE_CHARS for part in parts) or len(parts) == 1


@given(PIECES.map("".join), st.data())
def test_what_is_left_is_verbatim(text: str, data: st.DataObject) -> None:
    pieces = divide_prose(text, marks(""))
    if pieces is None:
        return
    kept = data.draw(st.sets(st.integers(0, len(pieces.parts) - 1)))
    left = pieces.text(kept)
    place = 0
    for index in sorted(kept):
        place = left.index(pieces.parts[index].text, place) + len(pieces.parts[index].text)
    runs = sum(
        index not in kept and (index == 0 or index - 1 in kept)
        for index in range(len(pieces.parts))
    )
    assert left.count("…") == runs


SENTENCES = [f"Sentence number {n} tells about the team. " for n in range(20)]


@pytest.mark.parametrize(
    "sign", [":(", "5* 3", "[0, 1)", "a<b", "<Foo", "**", "_private", "`", "~~", "(see 2", "]"]
)
def test_a_sign_that_stands_alone_holds_no_sentences_together(sign: str) -> None:
    text = f"We were sad {sign} about all of it. " + "".join(SENTENCES)
    assert list(split_sentences(text))[1:] == SENTENCES


@pytest.mark.parametrize("signs", ["()", "[]", "``", "**", "<b>"])
def test_no_sentence_ends_between_two_signs(signs: str) -> None:
    inside = (
        f"This is a sentence {signs[0]}with two in it. And this one.{signs[-1]} of its very own. "
    )
    assert list(split_sentences(SENTENCES[0] + inside + SENTENCES[1])) == [
        SENTENCES[0],
        inside,
        SENTENCES[1],
    ]


@pytest.mark.parametrize("stop", ["।", "۔", "؟", "։", "።", "။", "។", "。"])
def test_sentences_of_other_scripts_end_with_their_own_signs(stop: str) -> None:
    sentence = "\u0905" * 30 + f"{stop} "
    assert len(list(split_sentences(5 * sentence))) == 5
    assert len(list(split_prose(5 * sentence))) == 5


@pytest.mark.parametrize(
    "text",
    [
        "so we talked about the budget. " * 60,
        "one clause, another clause and a third, " * 60,
        "and then the server went down " * 60,
        "\u0e40\u0e23\u0e32\u0e44\u0e14\u0e49" * 300,
        "`" + "a long span of code. " * 60 + "`",
    ],
    ids=["small letters", "clauses", "words", "no blanks", "between signs"],
)
def test_a_long_text_without_sentences_is_in_parts_all_the_same(text: str) -> None:
    for split in (split_sentences, split_prose):
        parts = list(split(text))
        assert "".join(parts) == text
        assert max(map(len, parts)) <= MAX_SENTENCE_CHARS
        if " " in text:
            assert all(part.endswith((" ", "`")) for part in parts)


def test_what_follows_a_long_piece_fills_the_room_that_it_leaves() -> None:
    parts = [Piece("head\n", keep=3), Piece("x" * 500 + "\n", keep=2)]
    parts += [Piece(f"line {n}\n", keep=1) for n in range(50)]
    variants = Pieces(parts, line_gap, marks("")).variants()
    shortest = len(variants) - 1
    found = variants.refilled(shortest, lambda text: len(text) <= 200).text
    assert found.startswith("head\n…\nline 0\nline 1\n")
    assert 190 < len(found) <= 200
