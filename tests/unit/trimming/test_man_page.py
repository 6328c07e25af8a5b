"""Variants of man pages: sections of the page in their order, with a mark at each gap."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType

import pytest
from example_counts import cases
from hostile_strings import STRINGS, TEXT, outside
from hypothesis import given
from hypothesis import strategies as st
from places import SHARED_DATA
from shipped_words import divided, marks

import promptforge as pf
from promptforge.trimming.man_page import MAX_LINES_ALWAYS_KEPT, divide

MARKER = "[cut]"
MARK = re.compile(r" +\[…\]")

PAGE = """\
NAME
       kettle - boil water

SYNOPSIS
       kettle [-hq] [--time SECONDS] [CUP]...

DESCRIPTION
       Boils water for each CUP.

       Longer explanation.

   Of cups
       Any cup will do.

OPTIONS
       -h, --help
              Say how it is used.

       -q     Be quiet.
       -v, --verbose
              Say more.

              And more.

       --time SECONDS
              Stop then.

EXIT STATUS
       0 if it boils.

EXAMPLES
       Two cups:

           $ kettle a b

NOTES
       It is hot.

AUTHOR
       A person.

COPYRIGHT
       None."""


def assert_laws(text: str) -> None:
    if divide(text, marks=marks(MARKER)) is None:
        return
    variants = divided(divide, text).variants()
    before = len(text.split("\n"))
    for number in sorted(
        {*range(0, len(variants), max(1, len(variants) // 9)), len(variants) - 1} - {-1}
    ):
        head, body = variants[number].text.split("\n\n", 1)
        assert head == MARKER
        kept = [line for line in body.split("\n") if line.strip() and not MARK.fullmatch(line)]
        assert len(kept) <= before
        before = len(kept)
        left = iter(text.split("\n"))
        assert all(line in left for line in kept), "lines of the page, in its order"


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_least_is_name_and_synopsis(end: str) -> None:
    variants = divided(divide, PAGE + end).variants()
    assert variants[len(variants) - 1].text.rstrip("\n") == (
        "[cut]\n\nNAME\n       kettle - boil water\n\n"
        "SYNOPSIS\n       kettle [-hq] [--time SECONDS] [CUP]...\n\n       […]"
    )


def test_boilerplate_goes_first_then_notes_details_status_options_and_examples() -> None:
    found = divided(divide, PAGE)
    variants = found.variants()
    gone: list[str] = []
    for number in range(len(variants)):
        text = variants[number].text
        gone += [part.text.split("\n")[0].strip() for part in found.parts if part.text not in text]
    assert list(dict.fromkeys(gone)) == [
        *("None.", "COPYRIGHT", "A person.", "AUTHOR", "It is hot.", "NOTES"),
        *("And more.", "Any cup will do.", "Of cups", "Longer explanation."),
        *(
            "0 if it boils.",
            "EXIT STATUS",
            "--time SECONDS",
            "-v, --verbose",
            "-q     Be quiet.",
            "-h, --help",
            "OPTIONS",
        ),
        *("$ kettle a b", "Two cups:", "EXAMPLES", "Boils water for each CUP.", "DESCRIPTION"),
    ]


def test_an_option_that_is_asked_for_stays_with_its_text_and_its_heading() -> None:
    found = divided(divide, PAGE)
    at = next(i for i, part in enumerate(found.parts) if "--verbose" in part.text)
    assert found.text({at}) == (
        "[cut]\n\nNAME\n       kettle - boil water\n\n"
        "SYNOPSIS\n       kettle [-hq] [--time SECONDS] [CUP]...\n\n       […]\n\n"
        "OPTIONS\n       […]\n       -v, --verbose\n              Say more.\n\n"
        "              […]"
    )


def test_the_lines_of_a_synopsis_stay_under_their_heading_beside_an_answer() -> None:
    options = "".join(
        f"       --opt{n}\n              Do a thing of number {n} with the members.\n\n"
        for n in range(10)
    )
    page = (
        "NAME\n       tar - an archiving utility\n\n"
        "SYNOPSIS\n   Traditional usage\n       tar {A|c|d|r|t|u|x} [ARG...]\n\n"
        "   UNIX-style usage\n       tar -A [OPTIONS] ARCHIVE\n\n"
        f"DESCRIPTION\n       Stores files.\n\nOPTIONS\n{options}"
    )
    item = pf.Item(kind="man_page", name="tar", content=page)
    text = pf.render([item], query="number 2", max_tokens=200, format="plain").text
    assert "SYNOPSIS\n   Traditional usage\n       tar {A|c" in text


def test_head_and_foot_of_a_page_go_first() -> None:
    head = "KETTLE(1)            Manual            KETTLE(1)\n\n"
    text = f"{head}{PAGE}\n\nKitchen          May 2020          KETTLE(1)\n"
    variants = divided(divide, text).variants()
    assert "May 2020" not in variants[0].text and "A person" in variants[1].text
    assert "Manual" not in variants[1].text


def test_of_an_enormous_synopsis_the_beginning_stays() -> None:
    synopsis = "".join(f"       use {n}\n\n" for n in range(200))
    variants = divided(
        divide, PAGE.replace("       kettle [-hq] [--time SECONDS] [CUP]...\n", synopsis)
    ).variants()
    last = variants[len(variants) - 1].text
    assert "use 0\n" in last and len(last.split("\n")) < MAX_LINES_ALWAYS_KEPT + 20


def test_a_long_listing_loses_lines_from_its_end() -> None:
    listing = "".join(f"           line {n}\n" for n in range(100))
    found = divided(divide, PAGE.replace("           $ kettle a b\n", listing))
    at = next(i for i, part in enumerate(found.parts) if "line 20\n" in part.text)
    text = found.text({at})
    assert "line 3\n           […]\n           line 20\n" in text and "line 24\n" not in text


def test_a_page_in_another_language_keeps_its_first_two_sections() -> None:
    text = (
        PAGE.replace("NAME", "BEZEICHNUNG")
        .replace("SYNOPSIS", "ÜBERSICHT")
        .replace("DESCRIPTION", "BESCHREIBUNG")
    )
    variants = divided(divide, text).variants()
    last = variants[len(variants) - 1].text
    assert "ÜBERSICHT\n       kettle [-hq]" in last and "BESCHREIBUNG" not in last


@pytest.mark.parametrize("text", ["", "NAME", "Text that\nis not\nindented.\n", "NAME\n    x\n"])
def test_what_is_no_page_has_no_pieces(text: str) -> None:
    assert divide(text, marks=marks(MARKER)) is None


def test_without_a_marker_there_is_no_head() -> None:
    found = divide(PAGE, marks=marks(""))
    assert found is not None and found.variants()[3].text.startswith("NAME\n")


LINES = st.builds(
    lambda indent, line: " " * indent + line,
    st.sampled_from([0, 0, 2, 3, 5, 7, 7, 7, 14, 14]),
    st.one_of(
        st.sampled_from(
            [
                "NAME",
                "OPTIONS",
                "SEE ALSO",
                "-a  x",
                "-b, --bb",
                "x y",
                "",
                "",
                "a(1)     b     a(1)",
            ]
        ),
        TEXT,
    ),
)


@pytest.mark.slow
@given(st.lists(LINES, max_size=40).map("\n".join))
@cases(400)
def test_every_variant_is_made_of_lines_of_the_page(text: str) -> None:
    assert_laws(text)


@pytest.mark.slow
def test_hostile_texts() -> None:
    for text in (*STRINGS, *outside()):
        assert_laws(text)
        assert_laws(f"NAME\n       {text}\n\nOPTIONS\n       -x {text}\n{text}\n       y\n")


@pytest.mark.parametrize("path", sorted(SHARED_DATA.glob("man/*.txt")), ids=lambda path: path.name)
def test_real_pages(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(divided(divide, text).variants()) > 20
    assert_laws(text)


def test_a_page_of_many_sections_is_not_looked_through_for_each() -> None:
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    page = "SECTION\n       text\n\n" * 2_000
    sys.setprofile(count)
    try:
        divide(page, marks=marks(MARKER))
    finally:
        sys.setprofile(None)
    assert calls < 100 * 2_000  # 4,036,037 where each section looked through all before it
