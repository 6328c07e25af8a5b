"""A text cut into pieces that may be left out one by one: the base of all trimming by structure.

Each trimmer cuts a text of its kind into `Pieces`. These keep what needs each other together, put
a mark at each gap, and a line above all that tells how much is gone. Prose is cut here too, into
sentences and lines.
"""

from __future__ import annotations

import copy
import math
import operator
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

from ..text.characters import freeze
from ..text.format import Marks, number_lines
from ..text.words import FULL_STOPS, SPACELESS, late_pattern, unit_ends

if TYPE_CHECKING:
    from .kinds import Trimmers

ALWAYS = math.inf
"""The `keep` of a piece that is never left out."""
_LONG_RUN = late_pattern(r"[A-Za-z0-9+/=_%\\-]{400,}")
MAX_REFILLS = 40
"""Times that pieces are tried where one long piece left room."""
CHARS_KEPT_OF_RUN, MIN_LETTERS_OF_DATA = 24, 8
"""Characters kept of such data, and different ones that it has at least."""


class TrimmedText(NamedTuple):
    """One shorter variant of a text: valid in its own syntax, with a mark for each gap."""

    text: str
    name: str = "trimmed"
    """`trimmed`, or `outline` if only the skeleton is left."""


class CompactText(NamedTuple):
    """A text in fewer characters, with all that it says."""

    text: str
    lost: bool = False
    """True if it lacks what says little: scripts and navigation, times between like lines."""


class TrimmedVariants:
    """The shorter variants of one text, from long to short; each is made when it is asked for."""

    def __init__(
        self,
        count: int,
        make: Callable[[int], TrimmedText],
        least: Sequence[int] | None = None,
        refill: Callable[[int, Callable[[str], bool]], TrimmedText] | None = None,
    ) -> None:
        """Take the characters that each has at `least`, from long to short.

        `refill` returns a variant with pieces that went before it and still fit.
        """
        self._numbers = range(count)
        self._make = make
        self._least = least
        self._refill = refill

    def under_query(
        self, match: Callable[[Sequence[str], Sequence[str]], Sequence[float]]
    ) -> TrimmedVariants:
        """Return variants that keep what answers, if this kind has a way to.

        `match` tells how well texts with their labels answer.
        """
        return self

    @property
    def answer(self) -> str | None:
        """The shortest text with what answers; None where that is not known."""
        return None

    def first_within(self, chars: float) -> int:
        """Return the number of the first that may have no more than so many characters."""
        return bisect_left(self._least or (), -chars, key=operator.neg)

    def refilled(self, number: int, fits: Callable[[str], bool]) -> TrimmedText:
        """Return a variant with what else `fits`: one long piece makes all before it go, too."""
        return self[number] if self._refill is None else self._refill(number, fits)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, number: int) -> TrimmedText:
        return self._make(self._numbers[number])

    def __iter__(self) -> Iterator[TrimmedText]:
        return map(self._make, self._numbers)


class Piece(NamedTuple):
    """A stretch of a text that stays or goes as one."""

    text: str
    keep: float = 0.0
    """The order of leaving where no query says otherwise: the lowest goes first, of equals the
    last. `ALWAYS`: the piece stays."""
    parent: int = -1
    """The earlier piece that this one needs: its heading, its signature; -1: none."""
    skeleton: bool = False
    """A heading or signature: part of an outline, but worth nothing by itself."""
    kind: str = ""
    """A word for the mark of a gap: a row of a table has another one than a paragraph, say."""
    closes: int = -1
    """The piece that this one ends (a closing brace), and stays exactly as long as; -1: none."""
    needs: tuple[int, ...] = ()
    """Earlier pieces, besides those above it, that this one says nothing without: an anchor."""


def speaks(part: str, whole: Iterable[str]) -> bool:
    """Tell whether a part of a text says something: it has a letter or digit, or the text none."""
    if any(map(str.isalnum, freeze(part))):
        return True
    return bool(part) and not any(map(str.isalnum, freeze("".join(whole))))


def introduces(text: str) -> bool:
    """Tell whether a paragraph belongs to the block below it: it ends in a colon."""
    return text.rstrip().endswith((":", "："))


def without_long_runs(text: str, marks: Marks) -> str:
    """Return a text with the middle of data in letters, such as base64, left out and counted.

    A text of nothing else stays.
    """

    def shorten(found: re.Match[str]) -> str:
        run = found[0]
        if len(set(run)) < MIN_LETTERS_OF_DATA:  # a line of dashes, say
            return run
        more = marks.more_characters
        said = marks.counted(len(run) - CHARS_KEPT_OF_RUN, more, more)
        return f"{run[:CHARS_KEPT_OF_RUN]}{marks.gap} {said}"

    shorter = _LONG_RUN.sub(shorten, text)
    if shorter != text and _LONG_RUN.fullmatch(text.strip()):
        return text
    return shorter


def one_line(text: str) -> str:
    """Return `text` as a line."""
    return " ".join(text.split()) + "\n"


def paragraph(text: str) -> str:
    """Return `text` with a blank line after it."""
    return f"{text}\n\n"


class UnderQuery(NamedTuple):
    """The ways of a kind where a query chooses among its pieces."""

    facts: float = ALWAYS
    """The least `keep` of the pieces that no query moves."""
    facts_together: bool = False
    """True if a part of the facts is worth little: they stay all or not at all."""
    label: Callable[[Piece], str] = lambda _: ""
    """Returns the words of a piece that name it: they say more than others of its subject."""
    loose: bool = False
    """True if an answer may stand without its headings where room is short."""
    opens: bool = False
    """True if what always stays comes then before lesser answers: the synopsis of a manual."""
    read: Callable[[Piece], str] = lambda piece: piece.text
    """Returns the text of a piece that counts: no tags of HTML."""


class Pieces:
    """A text cut into pieces: joined, they are the text. A piece is never reworded."""

    def __init__(
        self,
        parts: Sequence[Piece],
        gap: Callable[[Sequence[Piece], Marks], str],
        marks: Marks,
        head: Callable[[str], str] = one_line,
        *,
        cuttable: bool = False,
        under_query: UnderQuery | None = None,
    ) -> None:
        """Take `gap`, for the mark in place of a run of pieces, and `head`.

        The head of a shortened text is made of the marker; none for no marker.
        `cuttable`: a piece may be cut at a word too, because nothing has to be closed.
        """
        self.cuttable = cuttable
        self.under_query = under_query or UnderQuery()
        self._gap = gap
        self._marks = marks
        self._head = head
        self._numbers: Sequence[int] = ()
        """The numbers of the lines that the pieces begin in, where lines are numbered."""
        self._take(parts)

    def _take(self, parts: Sequence[Piece]) -> None:
        self.parts = tuple(parts)
        facts = [(part.keep, part.closes, part.needs) for part in self.parts]
        self._facts = frozenset(
            i for i, (keep, *_) in enumerate(facts) if self.under_query.facts <= keep < ALWAYS
        )
        self._always = frozenset(i for i, (keep, *_) in enumerate(facts) if keep == ALWAYS)
        self._closing = [(i, closes) for i, (_, closes, _) in enumerate(facts) if closes >= 0]
        self._needs = {i: needs for i, (*_, needs) in enumerate(facts) if needs}

    @property
    def opening(self) -> list[int]:
        """The pieces that come before lesser answers where an answer stands without headings."""
        if not self.under_query.opens:
            return []
        return sorted(i for i in self._always if not self.parts[i].skeleton)

    def closed(self, kept: Collection[int], bare: bool = False) -> set[int]:
        """Return `kept` with all pieces that they need, and all that always stay.

        With `bare` they need no headings, and nothing always stays.
        """
        found, waiting = set[int](), [*kept]
        if not bare:
            found.update(self._always)
            waiting += [need for index in found for need in self._needs.get(index, ())]
        while waiting:
            index = waiting.pop()
            while index >= 0 and index not in found:
                if not (bare and self.parts[index].skeleton) or index in kept:
                    found.add(index)
                    if index in self._needs:
                        waiting += self._needs[index]
                index = self.parts[index].parent
        # One by one, not all at once: a piece that closes one may itself be closed by the next.
        found.update(end for end, start in self._closing if start in found)
        return found

    def without_dear_gaps(self, kept: Collection[int], bare: bool = False) -> set[int]:
        """Return `kept` and what it needs, with each run that is no longer than its mark."""
        staying = sorted(self.closed(kept, bare))
        found, following = set(staying), 0
        for index in [*staying, len(self.parts)]:
            run = self.parts[following:index]
            # `…` in place of `}` would say less and cost no less.
            if run and sum(len(part.text) for part in run) <= len(self._gap(run, self._marks)):
                found.update(range(following, index))
            following = index + 1
        return found

    def text(
        self, kept: Collection[int], beginning: tuple[int, str] | None = None, *, bare: bool = False
    ) -> str:
        """Return the text of these pieces and all they need, with a mark at each gap.

        It has no mark if nothing is left out. `beginning`: the index of one more piece, and the
        part of it that stays. `bare`: see `closed`.
        """
        staying = self.closed(kept, bare)
        everything = len(staying) == len(self.parts)
        if everything and not self._numbers:
            return "".join(part.text for part in self.parts)
        shown = {index: self.parts[index].text for index in staying}
        if beginning is not None:
            shown.setdefault(*beginning)
        out: list[str] = []
        following = 0
        for index in sorted(shown):
            if following < index:
                out.append(self._gap(self.parts[following:index], self._marks))
            out.append(self._numbered(shown[index], index, out))
            # A piece with only its beginning shown is in the gap after it.
            following = index + (index in staying)
        if following < len(self.parts):
            out.append(self._gap(self.parts[following:], self._marks))
        return self.put_head(self._beginning(staying), "".join(out))

    def put_head(self, head: str, text: str) -> str:
        """Return a shortened text with the line that tells so."""
        return head + text

    def _beginning(self, staying: Collection[int]) -> str:
        if not self._marks.marker or len(staying) == len(self.parts):
            return ""
        return self._head(self._marks.marker)

    def with_first_to_go(self, start: int, end: int) -> Self:
        """Return the same pieces; those that lie in the text from `start` to `end` go first."""
        parts: list[Piece] = []
        begin = 0
        for part in self.parts:
            if start <= begin and begin + len(part.text.rstrip()) <= end:
                part = part._replace(keep=-1.0, skeleton=False)
            parts.append(part)
            begin += len(part.text)
        return self.with_parts(parts)

    def with_parts(self, parts: Sequence[Piece]) -> Self:
        """Return pieces of the same kind with other parts."""
        other = copy.copy(self)
        other._take(parts)
        return other

    def of(self, text: str) -> Pieces:
        """Return the same cut of another text that is as long as this one."""
        other = copy.copy(self)
        ends = [*accumulate((len(part.text) for part in self.parts), initial=0)]
        other.parts = tuple(
            part._replace(text=text[start:end])
            for part, (start, end) in zip(self.parts, pairwise(ends), strict=True)
        )
        return other

    def numbered(self, first_line: int) -> Pieces:
        """Return the same pieces; their texts have the number of its line before each line."""
        other = copy.copy(self)
        line_ends = (part.text.count("\n") for part in self.parts)
        other._numbers = list(accumulate(line_ends, initial=first_line))
        return other

    def _numbered(self, text: str, index: int, before: Sequence[str], skipped: int = 0) -> str:
        """Return the text of a piece with its numbers; `before` is what is printed before it.

        So many lines of it are `skipped`.
        """
        if not (self._numbers and text):
            return text
        last = next(filter(None, reversed(before)), "\n")
        begun = not last.endswith("\n")  # in the middle of a line there is no number
        line = self._numbers[index] + skipped
        return number_lines(text, line, self._marks.line_number, begun=begun)

    def variants(self, worth: Mapping[int, float] | None = None) -> TrimmedVariants:
        """Return the variants made by leaving out one piece after another.

        `worth` (of pieces, by a query) goes before `keep`, but for facts.
        """
        order = self.order(worth or {})
        count = self._most_left_out(order)

        def make(number: int) -> TrimmedText:
            return self._named(order[number + 1 :])

        def refill(number: int, fits: Callable[[str], bool]) -> TrimmedText:
            kept, waiting = order[number + 1 :], order[:number][::-1]
            start, size = 0, 1
            for _ in range(MAX_REFILLS):
                more = waiting[start : start + size]
                if more and fits(self.text([*kept, *more])):
                    kept += more
                    start, size = start + size, 2 * size
                elif size > 1:
                    size //= 2
                else:
                    start += 1
            return self._named(kept)

        # Sums from the short end: so the length of each variant, without marks, is known before any
        # is made, and a search makes few of them.
        sizes = [len(self.parts[i].text) for i in reversed(order)]
        least = [0, *accumulate(sizes)][-2::-1]  # the texts of `order[number + 1 :]`
        return TrimmedVariants(count, make, least[:count], refill=refill)

    def _named(self, kept: Sequence[int]) -> TrimmedText:
        text = self.text(kept)
        if kept and all(self.parts[i].skeleton for i in kept):
            return TrimmedText(text, "outline")
        return TrimmedText(text)

    def outlines(self) -> TrimmedVariants:
        """Return the headings and signatures alone, from all of them to few.

        The deepest go first, of equals every second one. None of a text without any.
        """
        groups: dict[float, int] = {}
        keys: dict[int, tuple[float, float]] = {}
        for index, part in enumerate(self.parts):
            if self.in_outline(part) and part.closes < 0 and part.keep < ALWAYS:
                keep = self.keep_in_outline(part)
                place = groups[keep] = groups.get(keep, -1) + 1
                keys[index] = keep, self.thin(part, place)
        if keys and self.is_title(min(keys)):
            keys[min(keys)] = ALWAYS, 0.0
        # From the end: each piece lifts the one that it needs to its own value.
        for index in sorted(keys, reverse=True):
            parent = self.parts[index].parent
            if parent in keys:
                keys[parent] = max(keys[parent], keys[index])
        order = sorted(keys, key=lambda index: (keys[index], -index))

        def make(number: int) -> TrimmedText:
            return TrimmedText(self.outline_text(order[number:]), "outline")

        return TrimmedVariants(len(order), make)

    def in_outline(self, part: Piece) -> bool:
        """Tell whether an outline may have a piece."""
        return part.skeleton

    def keep_in_outline(self, part: Piece) -> float:
        """Return the `keep` of a piece of the skeleton among the others of an outline."""
        return part.keep

    def thin(self, _part: Piece, place: int) -> float:
        """Return the order of a piece among its equals in an outline; the least goes first.

        0, 1/2, 1/4, 3/4, 1/8… (van der Corput): leaving out the greatest thins evenly.
        """
        bits = bin(place)[:1:-1]
        return -int(bits, 2) / (1 << len(bits))

    def is_title(self, index: int) -> bool:
        """Tell whether the first piece of an outline stays to its last."""
        return True

    def outline_text(self, kept: Collection[int]) -> str:
        """Return the text of an outline with these pieces."""
        return self.text(kept)

    def _most_left_out(self, order: Sequence[int]) -> int:
        """Return how many pieces may go in this order, so that a word of the text is left.

        Marks, brackets and prompts alone are no variant.
        """
        texts = [part.text for part in self.parts]
        speaking = {i for i, text in enumerate(texts) if any(map(str.isalnum, freeze(text)))}
        speaking = speaking or {i for i, text in enumerate(texts) if text}

        def is_silent(count: int) -> bool:
            return speaking.isdisjoint(self.closed(order[count:]))

        if not is_silent(len(order)):
            return len(order)
        # By halves: of 6,000 lines of signs one may have a letter.
        return max(0, bisect_left(range(len(order)), True, key=is_silent) - 1)

    def facts_within(self, fits: Callable[[str], bool]) -> set[int]:
        """Return the facts that are kept where the text without a query `fits`.

        A query then cannot move them: it has the rest of the room.
        """
        if not self._facts:
            return set()
        order = self.order()
        # A variant is shorter than the one before, give or take a mark.
        first = bisect_left(
            range(len(order)), True, key=lambda number: fits(self.text(order[number:]))
        )
        kept = self._facts.intersection(order[first:])
        if self.under_query.facts_together and kept != self._facts:
            return set()
        return set(kept)

    def order(self, worth: Mapping[int, float] = {}) -> list[int]:
        """Return the pieces that may go, the first to go first; a heading goes after its text."""
        value = [(False, worth.get(i, 0.0), part.keep) for i, part in enumerate(self.parts)]
        if worth and not self.under_query.facts_together:
            for i in self._facts:
                value[i] = True, self.parts[i].keep, 0.0
        # From the end: each piece lifts the one that it needs to its own value.
        for index in range(len(self.parts) - 1, -1, -1):
            parent = self.parts[index].parent
            for above in (parent, *self._needs.get(index, ())):
                if above >= 0:
                    value[above] = max(value[above], value[index])
        staying = self.closed(())
        going = [i for i, part in enumerate(self.parts) if i not in staying and part.closes < 0]
        return sorted(going, key=lambda i: (value[i], -i))


Structure = Pieces | TrimmedVariants | None
"""The structure of a text, by which it is shortened; None for one that is not known."""


def outline_of(text: str, kind: str, language: str | None, trimmers: Trimmers) -> str | None:
    """Return the signatures or headings of `text`, as it is outlined to fit; None: it has none."""
    marks = trimmers.marks._replace(marker="")
    structure = trimmers._replace(marks=marks).find_structure(kind, language, text)
    if not isinstance(structure, Pieces):
        return None
    skeleton = [i for i, part in enumerate(structure.parts) if structure.in_outline(part)]
    return structure.outline_text(skeleton) if skeleton else None


def split_lines(text: str) -> list[str]:
    """Return the lines of `text`, each with its line feed; no other character ends a line."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + [last] * bool(last)


def line_gap(run: Sequence[Piece], marks: Marks) -> str:
    """Return the mark of a gap on a line of its own."""
    return f"{marks.gap}{line_end(run)}"


def line_end(run: Sequence[Piece]) -> str:
    """Return the line end of a run: its mark ends the same way."""
    last = run[-1].text
    for end in ("\r\n", "\n", "\r"):
        if last.endswith(end):
            return end
    return ""


# --- prose ----------------------------------------------------------------------------------------

MIN_PIECE_CHARS = 30
"""Characters of the shortest piece."""
MIN_LINE_PIECE_CHARS = 160
"""The same where a line ends but no sentence: a line of code says little without the next."""
MAX_PROSE_PIECES = 8_000
"""Pieces of a text at the most, about: those of a longer text are longer."""
MAX_PIECE_CHARS = 4_096
"""They are no longer for that, or a gigabyte's would have room nowhere."""
_STOP = late_pattern(
    # before a capital, a digit, or a letter of a script without cases
    r"""(?<=[.!?…])[)\]"'’”»]*+\s++(?=[("'‘“«\[]?[^\W_a-zß-ÿ])"""
    rf"""|[。！？｡{FULL_STOPS}][」』”’）]*+\s*+"""
    r"""|(?P<line>\n(?:[^\S\n]*+\n)*+)"""  # blank lines too, not the indentation of the next
    r"""|\\n"""  # an escaped line end: text inside a string of JSON or of code
)
_STOP_SIGNS = frozenset(f""")]"'’”»』」）。！？｡{FULL_STOPS}\\n""")
"""Characters of a stop; white space too."""
_ABBREVIATION = late_pattern(
    r"(?:^|[\s(\[\"'“‘])(?:\w|Mr|Mrs|Ms|Dr|St|Prof|Rev|Gen|Col|Lt|Sgt|Capt|Sen|Rep|Gov|Hon|Jr|Sr"
    r"|Mt|Ft|No|Nos|Vol|Fig|Figs|Eq|Ref|Refs|Sec|Ch|pp|p|cf|vs|al|ca|approx|est|Inc|Ltd|Co|Corp"
    r"|e\.g|i\.e|U\.S|U\.K)\.\s*$"
)


def divide_prose(text: str, marks: Marks) -> Pieces | None:
    """Return `text` in sentences and lines; None if it is only one.

    A gap is ` … `, and there is no head.
    """
    ends = accumulate(map(len, split_prose(freeze(text))), initial=0)
    parts = [Piece(text[start:end]) for start, end in pairwise(ends)]
    if len(parts) < 2:
        return None
    return Pieces(parts, _prose_gap, marks._replace(marker=""), cuttable=True)


def split_prose(text: str, least_line: int = MIN_LINE_PIECE_CHARS) -> Iterator[str]:
    """Yield the sentences of `text`, each with the white space after it: joined, they are it."""
    start, fair = 0, min(len(text) // MAX_PROSE_PIECES, MAX_PIECE_CHARS)
    least, least_line = max(MIN_PIECE_CHARS, fair), max(least_line, fair)
    longest = max(MAX_SENTENCE_CHARS, 2 * fair)
    end = 0
    while True:
        # Of the stops before the least only one that lasts till there counts.
        place = max(end, min(start + least, len(text)))
        while place > end and (text[place - 1].isspace() or text[place - 1] in _STOP_SIGNS):
            place -= 1
        found = _STOP.search(text, place)
        if found is None:
            break
        end = found.end()
        wanted = least_line if found.lastgroup else least
        if end - start < wanted or len(text) - end < MIN_PIECE_CHARS:
            continue
        stop = found.start()
        if text[stop - 1] == "." and _ABBREVIATION.search(text, max(start, stop - 12), stop):
            continue
        yield from _split_long(text, start, end, longest)
        start = end
    if start < len(text):
        yield from _split_long(text, start, len(text), longest)


def _prose_gap(run: Sequence[Piece], marks: Marks) -> str:
    """Return the mark, with the white space at the end of the run folded to one character."""
    # No blank before it: the text that stays there ends with its own.
    last = run[-1].text
    end = last[len(last.rstrip()) :]
    return marks.gap + ("\n" if "\n" in end else end[:1])


# Underscores within words (`snake_case`) and `<` before a blank open nothing.
_SIGNS = late_pattern(r"\\.|[\[\]()`>]|\*+|(?<!\w)_+|_+(?!\w)|~~|<(?=[A-Za-z/!?])", re.DOTALL)
_CLOSES = {"]": "[", ")": "(", ">": "<"}
MAX_CHARS_IN_SIGNS = 400
"""Characters between two signs that belong together; two that are further apart stand alone."""
MAX_SENTENCE_CHARS = 600
"""A longer part of a text has ends that are no sentence's: notes without a full stop, a run of
numbers, a script that has no such sign."""
_LOOSE_ENDS = (
    late_pattern(rf"[.!?…{FULL_STOPS}][)\]\"'’”»]*+\s++"),
    late_pattern(r"\}[\])}]*+(?:[,;]\s*+)?|;(?=[\w$])"),  # a record, a function on one line
    late_pattern(r"[,;:،؛၊፣][)\]\"'’”»]*+\s++|[，、；：]\s*+"),
    late_pattern(r"\s++"),
    late_pattern(r"[,;:)\]}>]"),
)
"""Ends of a part that is too long, the best first; after them, any letter where a script has no
blanks. Data in letters have no end."""
_SPACELESS = late_pattern(f"[{SPACELESS}]")


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, each with the white space after it.

    None ends between two signs that belong together, such as those of a link.
    """
    held = _spans_of_signs(text)
    start = end = 0
    for part in split_prose(text, least_line=MAX_SENTENCE_CHARS):
        end += len(part)
        if end == len(text) or not _is_within(end, held):
            yield text[start:end]
            start = end


def _split_long(text: str, start: int, stop: int, most: int) -> Iterator[str]:
    """Yield `text[start:stop]`, in several parts if it has more than `most` characters."""
    while stop - start > most:
        least, last = start + most // 8, start + most // 3
        ends = ([*pattern.finditer(text, least, last)] for pattern in _LOOSE_ENDS)
        end = next((found[-1].end() for found in ends if found), None)
        if end is None and _SPACELESS.search(text, least, last):
            end = max(unit_ends(text, "character", least, last), default=None)
        if end is None:  # one word, or all of it between signs: up to the next end
            found = re.compile(r"\s").search(text, last, stop)
            end = found.end() if found else stop
        yield text[start:end]
        start = end
    yield text[start:stop]


def _spans_of_signs(text: str) -> list[tuple[int, int]]:
    """Return the stretches between two signs that belong together, in order, joined.

    A sign without another one holds nothing: `:(`, `5* 3`, `[0, 1)`.
    """
    opened: dict[str, list[int]] = {}
    spans: list[tuple[int, int]] = []
    for found in _SIGNS.finditer(text):
        sign = found[0]
        if sign[0] == "\\":
            continue
        places = opened.setdefault(_CLOSES.get(sign, sign), [])
        if sign in "[(<" or not (places or sign in _CLOSES):
            places.append(found.start())
        elif places:
            begin = places.pop()
            if found.end() - begin <= MAX_CHARS_IN_SIGNS:
                spans.append((begin, found.end()))
            elif sign not in _CLOSES:  # the one before stood alone
                places.append(found.start())
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


def _is_within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    at = bisect_left(spans, (place, 0)) - 1
    return at >= 0 and spans[at][0] < place < spans[at][1]
