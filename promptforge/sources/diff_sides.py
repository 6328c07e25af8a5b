"""Put the lines of a diff back into the texts that they come from: a file before, and after.

A hunk that shows three lines of a private key has neither its first line nor its last one, and one
of a Secret of Kubernetes lacks `kind: Secret`; the file around them has both.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile

import msgspec

from ..text.languages import language_of
from ..text.words import late_pattern
from .credentials import KEY_FILE, may_hold_credentials

LINES_AROUND = 2_048
"""Lines around a change that tell what it is a part of: more than those of the longest key."""
MIN_KEY_LINE, MIN_ONLY_LINE = 24, 60
"""Characters of a line in a private key, but for the last one; and where only the lines tell."""
# Each line of a diff in a mail or a comment may begin with the same: `> `, `// `, `rem `.
_HUNK = late_pattern(r"(([^@\r]{0,99}+)@@+((?: [-+]\d{1,9}(?:,\d{1,9})?){2,64}) @@+ ?)(.*)")
_RANGE = late_pattern(r"[-+](\d+)(?:,(\d+))?")
_FILE_NAME = late_pattern(r'(?:---|\+\+\+) ("?)([^\t\r]+?)\1(?:[\t\r].*)?')
_KEY_LINE = late_pattern(
    r"(?:[ \t#>*|\"'`]|\+[ \t]*(?=[\"'`])|//[ \t]|--[ \t]){0,99}+([A-Za-z0-9+/]{4,999}={0,2})"
    r"(?:\\[rn]){0,4}[\"'`]?[ \t\r,;+\\)]{0,9}"
)
_MARKER = late_pattern(r"----[- ](?:BEGIN|END) [A-Z0-9]")
_END_OF_KEY = late_pattern(r"----[- ]END (?:[A-Z0-9]+ )*PRIVATE KEY")
_FIRST_LINE, _LAST_LINE = (f"-----{word} PRIVATE KEY-----" for word in ("BEGIN", "END"))
_MANIFEST = ("apiVersion: v1", "kind: Secret")
_DATA = late_pattern(r"[ \t]*data:[ \t\r]*")
_SECRET = late_pattern(r"(?m)^[ \t]*kind:[ \t]*[\"']?Secret[\"']?[ \t\r]*$")
_STRING_DATA = late_pattern(r"(?m)^[ \t]*stringData:[ \t\r]*$")
_BASE64 = late_pattern(r"(?:[A-Za-z0-9+/]{4}){1,9999}+(?:[A-Za-z0-9+/]{2}[\w+/=]=)?")
_MIXED = late_pattern(r"(?s)(?=.*[A-Z])(?=.*[a-z]).*\d")
Row = tuple[int, str]
"""A line of a hunk: its line in the diff, and its text."""


class Side(msgspec.Struct):
    """A file before its change or after it, as much of it as is known."""

    place: str
    lines: list[str] = []
    shown: list[tuple[int, int, int]] = []
    """Line here, the same in the diff, and how many signs stand before it there."""
    headings: list[tuple[int, int, str]] = []
    """Line of the diff, signs before the line of the file that git repeats there, and that."""
    in_hunks: Callable[[], Side] | None = None
    """Makes the same without the lines that the diff does not show."""

    def put(self, masked: Sequence[str], given: Sequence[str], into: list[str], mask: str) -> None:
        """Change the lines `into` a diff that are masked here; `given` are its own."""
        for row, line, signs in self.shown:
            if masked[row] != self.lines[row]:
                sign = given[line][:signs]
                is_alone = into[line] in (given[line], sign + masked[row])
                into[line] = sign + (masked[row] if is_alone else mask)
        pairs = zip(self.lines, masked, strict=True)
        changed = "\n".join(line for line, shown in pairs if line != shown)
        # Git cuts a heading, perhaps within a character.
        secret = {each for _, _, each in self.headings if each.rstrip("\ufffd") in changed}
        for line, signs, heading in self.headings:
            if heading in secret:
                into[line] = given[line][:signs] + mask


class _Hunk(msgspec.Struct):
    line: int
    stop: int
    signs: int
    before_heading: int
    heading: str
    firsts: list[int]
    """The number that the first line of each side has in its file."""
    sides: list[list[Row]]
    """The lines of each file before the change, then those of the one after it."""


def sides_of(text: str, place: str = "", whole: str = "") -> Iterator[Side]:
    """Yield the sides of each file in a text with a diff, if it is one.

    `whole` is the diff of the same one file with `LINES_AROUND` lines as context. Without it a side
    is what the hunks show, with the lines of a key and of a Secret that they only lack.
    """
    known = [hunk for _, hunks in _read_files(whole.split("\n")) for hunk in hunks]
    for names, hunks in _read_files(text.split("\n")):
        count = min(len(hunk.sides) for hunk in hunks)
        names = names or [place]
        # A file renamed from `.env` holds what that held.
        names = [*filter(may_hold_credentials, names)] or names
        for number in range(count):
            named = names[-1 if number == count - 1 else 0]
            side = None
            if known and {len(hunk.sides) for hunk in known} == {count}:
                side = _side_in_whole(named, hunks, number, known)
            yield side or _side_of_hunks(named, hunks, number)


def _read_files(lines: Sequence[str]) -> Iterator[tuple[list[str], list[_Hunk]]]:
    names: list[str] = []
    hunks: list[_Hunk] = []
    place = above = 0
    while place < len(lines):
        head = _HUNK.fullmatch(lines[place])
        if not head:
            place += 1
            continue
        quote = head[2]
        own = [line[len(quote) :] for line in lines[above:place] if line.startswith(quote)]
        found = [name[2] for name in map(_FILE_NAME.fullmatch, own) if name]
        if hunks and (found or any(line.startswith(("diff ", "Index: ")) for line in own)):
            yield names[-2:], hunks
            names, hunks = [], []
        names += found
        hunks.append(_read_hunk(lines, place, head))
        place = above = hunks[-1].stop
    if hunks:
        yield names[-2:], hunks


def _read_hunk(lines: Sequence[str], place: int, head: re.Match[str]) -> _Hunk:
    ranges = [(int(first), int(count or 1)) for first, count in _RANGE.findall(head[3])]
    quote = head[2]
    signs = len(ranges) - 1
    sides: list[list[Row]] = [[] for _ in ranges]
    left = sum(count for _, count in ranges)
    holders: dict[str, list[list[Row]]] = {}
    stop = place
    while stop + 1 < len(lines):
        stop += 1
        line = lines[stop].removeprefix(quote)
        if quote and line == lines[stop]:
            if line.strip() != quote.strip():
                break
            line = ""  # a program for mail takes blanks off the end of a line
        sign = line[:signs]
        # Counts are wrong where somebody edited the patch by hand.
        # `-- ` begins the signature of a mail by `git format-patch`.
        if left <= 0 and (not sign or line.startswith("--- ") or line.rstrip() == "--"):
            break
        if sign not in holders:
            if line.startswith("\\"):  # No newline at end of file
                continue
            if sign.strip("-+ \r") or (stop + 1 == len(lines) and not lines[stop]):
                break
            holders[sign] = [sides[number] for number in _sides_with(sign, signs)]
        row = (stop, line[signs:])
        for side in holders[sign]:
            side.append(row)
            left -= 1
    else:
        stop = len(lines)
    firsts, heading = [first for first, _ in ranges], head[4].strip()
    return _Hunk(place, stop, len(quote) + signs, len(head[1]), heading, firsts, sides)


def _sides_with(sign: str, signs: int) -> Iterator[int]:
    is_removed = "-" in sign
    for number in range(signs + 1):
        # Of several files before a merge, one that lacks a removed line has a blank there.
        mark = sign[number : number + 1]
        if mark == "-" if is_removed else mark != "+":
            yield number


def _side_in_whole(
    place: str, hunks: Sequence[_Hunk], number: int, known: Sequence[_Hunk]
) -> Side | None:
    """Return a side with the lines around its hunks; `None` if the file has changed meanwhile."""
    side = Side(place)
    firsts = [part.firsts[number] for part in known]
    starts: list[int] = []
    for part in known:
        starts.append(len(side.lines))
        side.lines += [text for _, text in part.sides[number]]
    side.in_hunks = partial(_side_of_hunks, place, hunks, number)
    text = "\n".join(side.lines)
    for hunk in hunks:
        shown = hunk.sides[number]
        first = hunk.firsts[number]
        within = max(bisect_right(firsts, first) - 1, 0)
        start = starts[within] + first - firsts[within]
        if [line for _, line in shown] != side.lines[start : start + len(shown)]:
            return None
        rows = enumerate(shown, start)
        side.shown += [(row, line, hunk.signs) for row, (line, _) in rows]
        if hunk.heading and number < len(hunk.sides) - 1:
            side.headings.append((hunk.line, hunk.before_heading, hunk.heading))
            is_far = hunk.heading.rstrip("\ufffd") not in text
            if is_far and any(_keys_in_part([hunk.heading], is_of_keys=True)):
                side.lines += (_FIRST_LINE, hunk.heading, _LAST_LINE)
    return side


def _side_of_hunks(place: str, hunks: Sequence[_Hunk], number: int) -> Side:
    """Return a side of what the hunks show, with the lines around it that tell a secret."""
    side = Side(place)
    texts: list[list[str]] = []
    for hunk in hunks:
        texts.append([hunk.heading, *(text for _, text in hunk.sides[number])])
    if _is_secret_of_kubernetes(place, "\n".join(line for text in texts for line in text)):
        side.lines += _MANIFEST
    for hunk, text in zip(hunks, texts, strict=True):
        runs = [*_keys_in_part(text, KEY_FILE.fullmatch(f"/{place}") is not None)]
        starts, stops = {start for start, _ in runs}, {stop for _, stop in runs}
        places = [(hunk.line, hunk.before_heading)]
        places += [(line, hunk.signs) for line, _ in hunk.sides[number]]
        for row, (line, signs) in enumerate(places):
            if row in starts:
                side.lines.append(_FIRST_LINE)
            side.shown.append((len(side.lines), line, signs))
            side.lines.append(text[row])
            if row + 1 in stops:
                side.lines.append(_LAST_LINE)
    return side


def _is_secret_of_kubernetes(place: str, text: str) -> bool:
    """Tell whether parts of a manifest are of a Secret: all values there are in Base64."""
    if language_of(place) != "yaml":
        return False
    if _SECRET.search(text) or _STRING_DATA.search(text):
        return True
    lines = text.split("\n")
    heads = [row for row, line in enumerate(lines) if _DATA.fullmatch(line)]
    return "kind: " not in text and any(_holds_base64_alone(lines[row:]) for row in heads[:99])


def _holds_base64_alone(lines: Sequence[str]) -> bool:
    """Tell whether the values below `data:` are all in Base64, as few words of settings are."""
    margin = len(lines[0]) - len(lines[0].lstrip())
    below = takewhile(lambda line: not line[: margin + 1].strip(), lines[1:])
    values = [line.partition(":")[2].strip(" \t\r\"'") for line in below if ":" in line]
    in_base64 = all(map(_BASE64.fullmatch, values))
    return in_base64 and any(value[-1:] == "=" or _MIXED.match(value) for value in values)


def _keys_in_part(lines: Sequence[str], is_of_keys: bool) -> Iterator[tuple[int, int]]:
    """Yield start and stop of each run of lines that is a private key without its first line.

    The last line of the key stands below it, or the run is all that a hunk shows.
    """
    found = [_KEY_LINE.fullmatch(line) for line in lines]
    widths = [len(match[1]) if match else 0 for match in found]
    first = 0 if widths[0] >= MIN_KEY_LINE else 1  # behind the heading
    markers = [row for row, line in enumerate(lines) if _MARKER.search(line)]
    start = 0
    for row, width in enumerate([*widths, 0]):
        if width >= MIN_KEY_LINE:
            continue
        stop = row + (width > 0)  # the last line of a key is short
        is_key = False
        if start < row and not markers:
            alike = {*widths[max(start, 1) : row]}  # git may have cut the heading
            is_all = (start, stop) == (first, len(lines)) and len(alike) == 1
            is_key = is_of_keys or (is_all and widths[row - 1] >= MIN_ONLY_LINE)
            is_key = is_key and _MIXED.match("\n".join(lines[start:row])) is not None
        elif start < row and stop == markers[0]:
            is_key = _END_OF_KEY.search(lines[stop]) is not None
        if is_key:
            yield start, stop
        start = row + 1
