"""Delimiters of contents: lines that plain text marks, tags with a nonce.

`fold` sees a line as an eye does: through case, width, unseen characters and look-alikes. It is for
comparing, never for printing: `Source`, `ＳＯＵＲＣＥ` and `Ѕоurсе` fold alike. The table of
look-alikes is data of Unicode; its licence is beside it, in `LICENSE-unicode.txt`.

The framing `tagged` prints a content as it is, between tags with a nonce that no other text holds.
The nonce is no secret and not random. It is the first of a fixed sequence that no text holds, so
equal input gets an equal nonce, and a provider's prompt cache keeps working.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache
from itertools import chain, count

from . import characters, table_text
from .escape import INVISIBLE_CHARACTER
from .words import late_pattern, split_blocks

LINE_END_CHARACTERS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
"""Anything that a reader may take for a line end, as the inside of a character class."""
UNUSUAL = late_pattern("[^\t\n\r\x20-\x7e]")
"""All but the visible characters of ASCII, the usual line ends and tab."""
_LINE_END = late_pattern(f"([{LINE_END_CHARACTERS}])")
LONG_S = "ſ"
"""It looks like an f and is an s, so it folds to itself."""
MAX_CHARACTERS_REMEMBERED = 50_000
# A character of ASCII, then all that look like it: Unicode Technical Standard #39, confusables.txt
# of Unicode 15.1, without those that NFKC folds.
LOOK_ALIKES = {char: row[0] for row in table_text("look_alikes").splitlines() for char in row[2:]}
"""Characters that look like one of ASCII, each with that one."""
_MORE = {"-": "─━╌╍┄┅┈┉╴╶╸╺⎯ー㇐ㅡᅳ一", "=": "═🟰", "'": "“”„‟″‶❝❞", "|": "│┃║", ":": "︰"}
_TO_ASCII = LOOK_ALIKES | {char: shown for shown, chars in _MORE.items() for char in chars}
# Letters that the table leaves out: small capitals, those with a stroke or hook, in circles, flags.
_NAMED_LETTER = late_pattern(
    r"(?:LATIN (?:(?:CAPITAL|SMALL) )?LETTER (?:SMALL CAPITAL )?|REGIONAL INDICATOR SYMBOL LETTER "
    r"|(?:CROSSED )?(?:NEGATIVE )?(?:SQUARED|CIRCLED|PARENTHESIZED) LATIN (?:CAPITAL|SMALL) "
    r"LETTER )([A-Z])(?: WITH .*)?"
)
# Letters and digits of ASCII that are one to the eye: `FI1E` is `File`. One character becomes one
# or none, so the interpreter folds a text of ASCII in one pass.
_ASCII = str.maketrans('ABCDEFGHIJKLMNOPQRSTUVWXYZi1|0"`', "abcdefghljklmnopqrstuvwxyzlllo''")
_BLANKS = "\t\u115f\u1160\u2800\u3164\uffa0"  # fillers of Hangul and Braille show as blanks
_UNSEEN_CATEGORIES = {"Cc", "Cf", "Cn", "Co", "Cs", "Me", "Mn"}
_OVERSTRIKES = ("\b", "\x1b", "\x9b")
_STRING_STARTS = "\x90\x98\x9d-\x9f"
# Sequences that color a terminal's text or are a link's address, and letters that the next one
# overprints.
_OVERSTRUCK = late_pattern(
    rf"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[]PX^_]|[{_STRING_STARTS}])"
    rf"[^\x07\x1b\x9c{_STRING_STARTS}{LINE_END_CHARACTERS}]*+(?:\x07|\x1b\\|\x9c)"
    rf"|\x1b[^\[{LINE_END_CHARACTERS}]|[^{LINE_END_CHARACTERS}]\x08"
)
_BACKWARDS = late_pattern(f"\u202e([^\u202c{LINE_END_CHARACTERS}]*)\u202c?")
_MIRRORED = str.maketrans("()<>[]{}", ")(><][}{")
# What follows may stand at the beginning of a line: the cursor went there.
_MOVE = late_pattern(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[A-Ha`defjksu]|\x1b[78DEM]|[\x84\x8d]|\x08+")
# Tags of Unicode: the eye sees none of them, an LLM may read each as its letter.
_LETTER_TAGS = {0xE0000 + code: chr(code) for code in range(32, 127)}
_READ_OTHERWISE = late_pattern("[\u202e\x08\x1b\x84\x8d\x9b\U000e0020-\U000e007e]")
"""A line with one of these has more than one reading."""


def fold(text: str) -> str:
    """Return a text as the eye takes it, or a tokenizer that normalizes its text.

    It has no case, no unseen characters and no marks on letters. Look-alikes and wide letters are
    those of ASCII, every blank is a space, and every line end is a line feed.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if any(char in text for char in _OVERSTRIKES):
        text = _OVERSTRUCK.sub("", text)
    if text.isascii():
        return text.translate(_FOLDED_CODES)
    # Most lines of most texts are ASCII.
    return "\n".join(
        line.translate(_FOLDED_CODES) if line.isascii() else "".join(map(_fold_character, line))
        for line in text.split("\n")
    )


def readings(line: str) -> Iterator[str]:
    """Return a line, and what it is where a part runs backwards, or begins the line anew."""
    yield line
    if _READ_OTHERWISE.search(line):
        yield _BACKWARDS.sub(lambda found: found[1][::-1].translate(_MIRRORED), line)
        yield line.translate(_LETTER_TAGS)
        yield from filter(None, _MOVE.split(line)[1:])


@lru_cache(MAX_CHARACTERS_REMEMBERED)
def _fold_character(char: str) -> str:
    if char == LONG_S:
        return char
    if _LINE_END.match(char):
        return "\n"
    category = characters.category(char)
    if category == "Zs" or char in _BLANKS:
        return " "
    if category in _UNSEEN_CATEGORIES or INVISIBLE_CHARACTER.match(char):
        return ""
    if category == "Lo" and char not in _TO_ASCII and not unicodedata.decomposition(char):
        return char  # most characters of Unicode
    return _fold_visible(char, category)


def _fold_visible(char: str, category: str) -> str:
    if char.isascii():
        return char.translate(_ASCII)
    # In small letters some look like their capitals: т, н, к.
    for letter in (char, char.lower(), char.upper()):
        look = _TO_ASCII.get(letter)
        if look:
            return look.translate(_ASCII)
    if category == "Pd":
        return "-"
    named = _NAMED_LETTER.fullmatch(unicodedata.name(char, ""))
    if named:
        return named[1].translate(_ASCII)
    parts = unicodedata.normalize("NFKD", char)
    if parts == char:
        parts = char.casefold()
    # Of a wide letter, or one with a mark, the plain one may be a look-alike.
    return parts if parts == char else "".join(map(_fold_character, parts))


_FOLDED_CODES = {code: _fold_character(chr(code)) or None for code in range(128)}


# Two letters that are one to the eye, and letters that are two.
_PAIRS = {"rn": "m", "vv": "w", "cl": "d"}
_SPELLED = {
    **{"m": "(?:m|r *n)", "w": "(?:w|v *v)", "d": "(?:d|c *l)"},
    **{"s": f"[s{LONG_S}]", "f": f"[f{LONG_S}]", "'": "'+"},  # a double quote is two single ones
}
_LINE_REST = r" *(?=\n|\Z)"


def _spell(text: str) -> str:
    """Return an expression for all folded texts that look like `text`."""
    parts: list[str] = []
    plain = ""
    for char in f"{text}\0":
        # Σ and σ look like different letters, and are one in another case.
        folds = {fold(each) for each in (char, char.lower(), char.upper())}
        if len(folds) == 1 and char != "\0":
            plain += folds.pop()
            continue
        # A label with `rn` is spelt as one with `m`, and `_SPELLED` then finds both: `Source frorn`
        # reads as `Source from`.
        for pair, letter in _PAIRS.items():
            plain = plain.replace(pair, letter)
        for word in re.findall(r" +|'+|[^ ']", plain):
            parts.append("" if word[0] == " " else _SPELLED.get(word[0]) or re.escape(word))
        plain = ""
        if char != "\0":
            parts.append(f"(?:{'|'.join(sorted(map(re.escape, folds)))})")
    return " *".join(filter(None, parts))


def _spell_line(parts: list[object]) -> str:
    """Return an expression for whole folded lines of texts and values, in linear time."""
    if len(parts) == 1:
        return _spell(str(parts[0])) + _LINE_REST
    expression = ""
    value = False
    for number, part in enumerate(parts, 1):
        text = fold(part) if isinstance(part, str) else ""
        if number == len(parts):
            text = text.rstrip()
        if not text:
            value = True
            continue
        # A value takes the blanks beside it but one.
        lead = " " if value and text[0] == " " else ""
        after = " " if text[-1] == " " and text.strip() else ""
        own = str(part).strip() if text.strip() else ""
        spelled = lead + _spell(own) + after
        if not value:
            expression += spelled
        elif number == len(parts):
            return rf"{expression}[^\n]*{spelled}{_LINE_REST}"
        else:
            # The first place is as good as any, so nothing is tried again.
            expression += rf"(?>[^\n]*?{spelled})"
        value = False
    return expression if value else expression + _LINE_REST


class TemplateLines:
    """The lines of plain text that belong to templates, and what could be taken for one of them."""

    def __init__(self, lines: Iterable[tuple[object, ...]]) -> None:
        """Take the lines, each a tuple of texts and values.

        One that begins with words is recognized by these; any other by all its texts, if they have
        two visible characters. A line of values alone looks like any content, and is left out.
        """
        anywhere: set[str] = set()
        for parts in lines:
            merged = [p for p in parts if p != ""]
            visible = fold("".join(p for p in merged if isinstance(p, str))).replace(" ", "")
            head = ""
            if merged and isinstance(merged[0], str):
                head = merged[0] = merged[0].lstrip()
            if len(merged) > 1 and sum(map(str.isalnum, characters.freeze(head))) >= 2:
                anywhere.add(_spell(head))
            elif len(visible) >= 2:
                begun = "" if head else "(?=[^ \\n])"  # a value prints without leading blanks
                anywhere.add(begun + _spell_line(merged))
        # A line feed first: the interpreter finds a literal character at once. Blanks before a line
        # hide nothing from an eye.
        self._pattern = re.compile(rf"\n *+(?:{'|'.join(sorted(anywhere)) or '(?!)'})")

    def match(self, line: str) -> bool:
        """Tell whether a whole line could be taken for one of these."""
        return any(self._pattern.match(f"\n{fold(each)}") for each in readings(line))

    def first(self, text: str) -> str | None:
        """Return the first such line of a text."""
        # Most texts have none, and one search of all lines shows it.
        if not (_READ_OTHERWISE.search(text) or self._pattern.search(f"\n{fold(text)}")):
            return None
        return next((line for line in _LINE_END.split(text) if self.match(line)), None)

    def mark(self, text: str) -> tuple[str, int, list[str]]:
        """Return `text` with `| ` before each such line, their number, and unusual characters.

        These are the characters of such lines that are unseen, or look like others.
        """
        seen = "\n" + fold(text)
        starts = [found.start() for found in self._pattern.finditer(seen)]
        otherwise = _READ_OTHERWISE.search(text)
        if not (starts or otherwise):
            return text, 0, []
        rows = text.splitlines(keepends=True)
        marked: set[int] = set()
        number = last = 0
        for at in starts:
            number += seen.count("\n", last, at)
            marked.add(number)
            last = at
        if otherwise:
            marked |= {
                n for n, row in enumerate(rows) if _READ_OTHERWISE.search(row) and self.match(row)
            }
        unusual: dict[str, None] = {}
        for number in sorted(marked):
            unusual |= dict.fromkeys(UNUSUAL.findall(rows[number]))
            rows[number] = f"| {rows[number]}"
        return "".join(rows), len(marked), list(unusual)


NONCE_DIGITS = 6
"""Digits of a nonce after its letter: half the tokens of as many hexadecimal digits."""
_LETTER = "k"
# The first number, and the step to the next. The step has no factor in common with 10, so the
# sequence reaches every number.
_FIRST, _STEP = 417_082, 618_033
_BREAKS = "\n\r\t"
_UNSEEN = dict.fromkeys(code for code in (*range(32), 127) if chr(code) not in _BREAKS)


class BrokenDelimiterError(Exception):
    """A delimiter or its nonce stands in the wrong place; the message is the line."""


def pick_nonce(texts: Iterable[str]) -> str:
    """Return the first nonce of the sequence that is in none of `texts`, however leniently read."""
    rows = list(texts)
    # All held nonces are gathered first, in one pass. Trying one candidate after the other would
    # let a text that lists the sequence cost a pass for each.
    for digits in count(NONCE_DIGITS, 3):
        pattern = re.compile(rf"{_LETTER}([0-9]{{{digits}}})")
        held: set[str] = set()
        for row in chain.from_iterable(map(split_blocks, rows)):
            held.update(pattern.findall(row), pattern.findall(read_leniently(row)))
        # With one candidate more than nonces are held, one must be free.
        for number in range(min(len(held) + 1, 10**digits)):
            nonce = f"{(_FIRST + number * _STEP) % 10**digits:0{digits}}"
            if nonce not in held:
                return _LETTER + nonce
    raise AssertionError("no nonce is free")


def check_delimiters(text: str, word: str, nonce: str, printed: Iterable[Set[str]]) -> None:
    """Raise `BrokenDelimiterError` unless `nonce` stands only in delimiters around contents.

    `word` is the word of the tags.

    `printed` are the contents that were put between delimiters. Outside these, no line may look
    like a delimiter with any nonce: two labels may form one together, or a filter.
    """
    # Cut at the nonce, a good text alternates: outside, content, outside, … Every piece is then
    # known by its ends.
    opened, *pieces = text.split(nonce)
    outside = [opened]
    start, close = f"\n<{word}-", f"\n</{word}-"
    known: set[str] = set()
    if pieces:  # most pages have none; the union is long
        known = known.union(*printed)
    for number, piece in enumerate(pieces):
        if number % 2 == 0:  # from one nonce to the next: a content between its two tags
            # Which item's content it is does not matter: all were put between these tags.
            body = piece[len(">\n") : -len(close)]
            kept = f"\n{opened}".endswith(start) and piece == f">\n{body}{close}" and body in known
        else:  # from a closing tag to the next opening one
            opened = piece.removeprefix(">")
            outside.append(opened)
            kept = piece[:1] == ">" and opened[:1] in ("", "\n")
        if not kept:
            raise BrokenDelimiterError(f"{opened[-40:]}{nonce}{piece[:40]}".strip())
    if len(pieces) % 2:
        raise BrokenDelimiterError(nonce)
    name = re.escape(f"{word.casefold()}-{_LETTER}")
    pattern = re.compile(rf"(?m)^[ \t]*<\s*/?\s*{name}[0-9]+\s*/?\s*>[ \t]*$")
    for part in outside:
        alike = pattern.search(read_leniently(part))
        if alike:
            raise BrokenDelimiterError(alike[0].strip())


def read_leniently(text: str, keep: str = "") -> str:
    """Return `text` as a lenient reader takes it.

    It has no case, no width, no unseen characters except `keep`, and no escapes of XML.
    """
    # A reader may take `&lt;content-k1>` or full-width letters for a tag.
    if "&" in text:
        from html import unescape

        text = unescape(text)
    if text.isascii():
        if not text.isprintable():
            text = text.translate(_UNSEEN).replace("\r\n", "\n").replace("\r", "\n")
    else:
        text = characters.normalize("NFKC", text)
        text = INVISIBLE_CHARACTER.sub(
            lambda m: m[0] if m[0] in _BREAKS or m[0] == keep else "", text
        )
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return characters.freeze(text.casefold())
