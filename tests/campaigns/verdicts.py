"""What of H1 to H9 is broken in what was seen of a case.

A profile, a YAML file or a strict run may be *refused* in a message of one line; whatever else may
not.
"""

from __future__ import annotations

from itertools import zip_longest

import judges
import parsers
from structures import check_contents, check_known, structure_of

import promptforge as pf
from promptforge.tokenizers.vocabulary import SHIPPED_VOCABULARIES

from .corpus import Attack
from .surfaces import reference
from .surfaces.seen import OUTSIDE, Seen

SECONDS = 2.0
"""Processor time of one try, where H8 must hold."""
MIB = 256
"""Memory of one try over what there was before, where H8 must hold; a payload of megabytes is not
ours.
"""
WHOLE = 10**6
"""The budget under which nothing is cut."""


def judge(seen: Seen, attack: Attack, *, strict: bool) -> str | None:
    """Return what is broken in one try, by the property."""
    if seen.wrong:
        return seen.wrong
    for line in seen.said:
        if not line.isprintable():
            return "H5: a message carries bytes of the item"
    if "H8" in attack.properties and (seen.seconds > SECONDS or seen.mib > MIB):
        return f"H8: took {seen.seconds:.1f} s and {seen.mib} MiB"
    if seen.text is None:
        may = strict or seen.may_refuse
        return None if may and seen.said else f"H3: refused: {seen.said[:1]}"
    if OUTSIDE in seen.text or "root:x:" in seen.text:
        return "H7: shows a file outside the root"
    return _budget(seen) or _others(seen) or _structure(seen, attack) or _fidelity(seen, attack)


def _budget(seen: Seen) -> str | None:
    if seen.result is None:
        return None
    most = seen.budget if seen.budget is not None else 10**9
    name = seen.result.tokenizer
    own = pf.get_tokenizer(name).count(seen.text or "")
    counted = (
        reference.count(name, seen.text or "")
        if most < WHOLE and name in SHIPPED_VOCABULARIES
        else own
    )
    if not own == seen.result.tokens <= most or counted not in (own, None):
        return f"H4: {own} tokens, {counted} by the reference, said {seen.result.tokens}, budget {most}"
    return None


def _others(seen: Seen) -> str | None:
    """Return whether the items around the hostile one are otherwise than with a harmless one."""
    if not seen.others or seen.result is None or seen.budget != WHOLE:
        return None
    texts = tuple(item.text for item in seen.result.items if item.id in ("good-1", "good-2"))
    return None if texts == seen.others else "H6: another item is gone, or another"


def _structure(seen: Seen, attack: Attack) -> str | None:
    if seen.tame is None or seen.text is None:
        return None
    same, whole, tamer, tame = seen.tame
    try:
        if (seen.budget or 0) >= WHOLE and same is not None and "PF204" not in str(seen.said):
            try:
                expected = structure_of(same, seen.format, same, tamer, tame, seen.layout)
            except Exception:
                if attack.surface in (
                    "template",
                    "profile",
                ):  # its author wrote what is no XML or JSON, with any item
                    return None
                raise
            if structure_of(seen.text, seen.format, same, tamer, tame, seen.layout) != expected:
                return "H1: another structure"
            parsers.check_alike(seen.text, same, seen.format)
        elif whole is not None:
            check_known(seen.text, whole, seen.format)
    except Exception as error:
        return f"H1: {type(error).__name__}: {ascii(str(error))[:200]}"
    return None


def _fidelity(seen: Seen, attack: Attack) -> str | None:
    """Return whether a content is read back otherwise, and nothing was said."""
    if (
        seen.given is None
        or seen.tame is None
        or "H2" not in attack.properties
        or seen.budget != WHOLE
        or seen.format == "plain"
    ):
        return None
    same, _, tamer, _ = seen.tame
    try:
        check_contents(seen.text or "", same or "", tamer, seen.format)
    except (AssertionError, ValueError):
        if not seen.said:
            return "H2: read back otherwise, and nothing said"
    return None


def unsaid(attack: Attack, tries: list[Seen]) -> list[str]:
    """Return what should have been said: nothing was, of a value that is no text of visible
    characters.
    """
    value = None if attack.is_words else attack.value()
    quiet = attack.surface == "web" or (attack.is_words and all(s.text is not None for s in tries))
    if quiet or any(s.said for s in tries) or (isinstance(value, str) and is_visible(value)):
        return []
    return ["H5: nothing was said"]


def is_visible(text: str) -> bool:
    """Return whether each character of a text is a line end, a blank or one that is seen."""
    return (
        bool(text.strip())
        and all(c.isprintable() or c in "\n\t" for c in text)
        and not judges.SURROGATE.search(text)
    )


def unlike(lenient: list[Seen], strict: list[Seen]) -> list[str]:
    """Strict refuses exactly where lenient had a warning, with the same words."""
    found = {seen.where: seen for seen in lenient}
    for other in strict:
        one = found.get(other.where)
        if one is None or (one.result is None and one.text is not None):
            continue  # a command line, or what is tried once
        grave = [line for line in one.said if line.startswith("!")]
        if bool(grave) != (other.text is None):
            return [
                f"H5: lenient says {grave[:1]}, strict {'is silent' if other.text is not None else other.said[:1]}"
            ]
        if any(line.startswith("!PF110") for line in grave) and other.said[0].startswith(
            "!BudgetError"
        ):
            continue  # a frame that does not fit is an error of its own to a strict run
        refused = [line for line in other.said if line.startswith("!")]
        if grave and one.result is not None and grave != refused:
            differ = next(pair for pair in zip_longest(grave, refused) if pair[0] != pair[1])
            return [f"H5: lenient says {differ[0]}, strict {differ[1]} ({one.where})"]
    return []
