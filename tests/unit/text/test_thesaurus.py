"""Words of related meaning: a form of a word, and a plain word, find the term of a program."""

from __future__ import annotations

from promptforge.selection.repository import (
    rank_chunks,
)
from promptforge.text.thesaurus import related_terms
from promptforge.text.words import stem

FILLER = "\n\n".join(
    f"def job_{number}(entry):\n"
    + "\n".join(f"    entry.step_{number}_{line}()" for line in range(12))
    for number in range(40)
)


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
