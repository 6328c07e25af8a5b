"""Words that programs have in place of those that people ask with.

`thesaurus.txt` has three tables, with an empty line between: the irregular forms of one word, words
of about one meaning, and plain words with the terms of programs for them. The last leads one way
only: who asks for a `visitor` is answered by a `client`, who asks for a `client` knows the term.
"""

from collections import defaultdict
from functools import cache

from . import table_text
from .words import stem


@cache
def _table() -> dict[str, frozenset[str]]:
    found: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    forms_table, related_table, plain_table = table_text("thesaurus").split("\n\n")
    forms = _groups(forms_table)
    for terms in (*forms, *_groups(related_table)):
        for term in terms:
            found[term] |= terms
    for entry in plain_table.split(";"):
        asked, _, written = entry.partition(":")
        found[stem(asked.strip())] |= frozenset(map(stem, written.split()))
    # `thrown` is answered by what answers `throw`.
    for terms in forms:
        together = frozenset[str]().union(*(found[term] for term in terms))
        found.update(dict.fromkeys(terms, together))
    return dict(found)


def _groups(table: str) -> list[frozenset[str]]:
    return [frozenset(map(stem, group.split())) for group in table.split(";")]


def related_terms(term: str) -> frozenset[str]:
    """Return the terms that programs may have in place of one, itself among them.

    Example: for `slow` these are `slow`, `timeout`, `deadlin` and more.
    """
    return _table().get(term, frozenset()) | {term}
