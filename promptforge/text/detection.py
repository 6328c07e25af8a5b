"""Detect what a text without a name is written in: data, markup, a log, a program, or prose.

Only a part of a text is looked at. A wrong guess does no harm: a trimmer that does not find its
structure leaves the text to be cut as prose.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from itertools import filterfalse
from math import exp
from struct import unpack

import msgspec

from . import table_rows, table_text
from .characters import freeze
from .languages import is_code, language_of_script
from .words import late_pattern, late_patterns

Found = Counter[str | None]
"""Kinds of lines, `None` for the others, and how many a text has of each."""
SAMPLE_CHARS = 2_000
"""Characters at the beginning of a text, and as many in its middle, by which lines are judged."""
MAX_JSON_CHARS = 1 << 22
"""A longer text is judged by its first line, whether it is JSON."""
MAX_LINE_CHARS = 300
"""Characters of a line that tell what it is, and whether it ends a sentence."""
LOG_SHARE, TRACE_SHARE, MARKUP_SHARE, REGULAR_SHARE = 0.5, 0.25, 0.03, 0.9
"""Shares of the lines of a text that only a log, a trace or markup has; share of keys among the
lines of settings that are not indented, and of rows of one width in a table."""
KEY_SHARE = 0.2
"""Share of keys and points among the lines of YAML: 0.22 at least in 508 files, 0.13 in the text
of a certificate."""
MAX_SENTENCES = 0.25
"""Share of lines that are sentences, above which a text is no program, and code within a line no
sign of Markdown: each line of such notes answers for itself."""
MIN_ALIKE, ALIKE_SHARE = 4, 0.5
"""Lines that are alike but for their numbers, and the share of such in what a program printed."""
MIN_ROWS = 3
MIN_LINES, CODE_SHARE, SIGN_SHARE = 8, 0.05, 0.15
"""Lines of a listing, at least; the share of its lines that end as a line of a program does; and
the share of digits and signs: 0.16 to 0.8 in what 50 programs printed, below 0.14 in prose."""
MAX_CHARS_SEARCHED = 1 << 16
"""Characters at the end of a text that are searched for a failure."""
_BLANKS = "\ufeff \t\r\n"
_HTML_TAGS = frozenset(dict(table_rows("words"))["html tags"].split())
_ROOT = late_pattern(
    r"(?:\s++|<\?(?s:.*?)\?>|<!--(?s:.*?)-->|<!(?i:doctype)\s[^>\[]*(?:\[(?s:.*?)\]\s*)?>)*+"
    r"<([A-Za-z_][\w:.-]*+)(?=[\s/>])"
)
_OPENINGS = late_patterns("openings")
_PATCH = late_pattern(
    r"^--- .*\n\+\+\+ .*\n@@ -\d.*+\n(?:[-+ @\\].*+\n|\n)*+(?:diff |Index: |.*\Z)", re.MULTILINE
)
_FENCED = late_pattern(r"^[ \t]*(```+|~~~+).*\n(?:.*\n)*?[ \t]*\1[ \t]*$", re.MULTILINE)
_BLOCK = late_pattern(r"^(?:#{1,6} \S|```)", re.MULTILINE)
_FRONT_MATTER = late_pattern(r"(?>---\s*\n(?s:.*?)\n---\s*\n)(?!(?:#.*\s++)*+[\w.-]++:\s)\s*+\S")
"""A page's settings; one of several documents of YAML has another one after it."""
_NO_YAML = late_pattern(r"^[\w.-]++: +[^\s|>&!\[{\"'#-][^\n]*\n[ \t]+(?![ \t#])", re.MULTILINE)
"""A value with more below it, as `ip a` prints; in YAML only a long text goes on there."""
_INDENTED = late_pattern(r"^[ \t]+\S", re.MULTILINE)
_CODE_SIGN = late_pattern(r"[=({;]")
"""A sign that a program of any length has; a list of paths or hashes may have none."""
_SIGN_OF_DATA = late_pattern(r"[\d/_=:|()\[\]<>{}@#$%*+~\\─-╿]|(?<=\S)[ \t]{2,}|\.(?=\w)")
_LETTERS = late_pattern(r"[^\W\d_]{2}")
_HEADING = late_pattern(r"^#{1,6} \S.*\n\s*\n", re.MULTILINE)
"""A heading of Markdown: a comment of YAML stands above its key."""
_COMMENT = late_pattern(r"^(?:[ \t]+#{1,6} \S|#{1,6} \S.*\n(?=[^\n]))", re.MULTILINE)
_COMMENT_LINE = late_pattern(r"^[ \t]*#++(?:[^\w!\n].*)?(?:\n|\Z)", re.MULTILINE)
_OPENING_COMMENTS = late_pattern(r"(?:\s++|(?://|--|;|%(?!\w)).*+\n|/\*(?s:.*?)\*/)*+(?=\S)")
OPENING_CHARS = 1_000
"""Characters at the end of such comments that are kept: all of a licence would be all that is seen
of a program, but its signs tell that it is one."""
_CALL = late_pattern(r"^[ \t]*\w+ ?\(", re.MULTILINE)
"""Beginning of a command of CMake, which has paths below it; no line of `grep` begins so."""
_POINT = late_pattern(r"^[ \t]*[-*] +\S", re.MULTILINE)
_TABLE_RULE = late_pattern(r"^[ \t]*\|?(?:[ \t:]*+-++[ \t:]*+\|)", re.MULTILINE)
"""The line below the head of a table of Markdown; a program's table has `+` between its columns."""
_BLOCK_SCALAR = late_pattern(
    r"^[ \t-]{0,99}[\w.\"'/-]{1,99}:[ \t]{1,9}[|>][-+\d]{0,3}[ \t\r]{0,9}$", re.MULTILINE
)
"""A key of YAML with a text of many lines, such as a script."""
_SENTENCE = late_pattern(r"(?=.*[a-z)][.!?:](?:$| [A-Z])).*?[a-z]{2,} +[a-z]{2,} ")
"""Three words and the end of a sentence, as in notes on functions: `read(n): Return all bytes.`"""
_WORD_CLASS, _SIGN_CLASS = r"[0-9A-Z_a-z\x7f]", r"[!-/:-@\[-^`{-~\x00-\x08\x0e-\x1b]"
_WORD = late_pattern(rf"[A-Z_a-z]{_WORD_CLASS}{{0,15}}")
_PAIR = late_pattern(rf"[A-Z_a-z]{_WORD_CLASS}{{0,11}}+ ?{_SIGN_CLASS}")
_START = late_pattern(rf"\n[ \t]*+(?:{_WORD_CLASS}+|{_SIGN_CLASS}{{1,4}})")
_END = late_pattern(rf"(?:{_WORD_CLASS}|{_SIGN_CLASS}{{1,2}})$", re.MULTILINE)
_OWN_LINES = {
    **{name: [name] for name in ("asciidoc", "csv", "dockerfile", "latex", "rst", "toml", "tsv")},
    "ini": ["section", "key", "toml"],
}
"""Language → kinds of lines, one of them in each text: of 60 texts that tokens alone took for a
markup, 49 were none."""
_WORD_CODES = bytes(code for code in range(128) if chr(code).isalnum() or code in b"_\x7f")
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_NO_WORDS = bytes.maketrans(_WORD_CODES, b" " * len(_WORD_CODES))
MIN_PROBABILITY = 0.3
"""Probability of a language below which a program is just a program, and a text just a text: 90 %
of 2,667 unseen files were right with it, 88 % without."""
FIRST_CODE, ZERO_CODE = 33, 80
"""Codes of the characters of the first language, and of a weight of zero."""
LEAST = 1 << 31
"""Each sum of weights begins with it, so that none is negative."""
MIN_TOKENS = 12
"""Tokens that have to be known."""


def detect_language(text: str) -> str | None:
    """Return the language that a text is written in, in the words of `language_of`; None for prose.

    A program is `code` where its tokens do not tell its language. No file's name tells `repr` (data
    as Python prints them), `man` (a manual page as `man` prints it), `traceback`, `console`, `log`,
    `listing` (other lines that a program printed).

    >>> detect_language('[{"id": 1}, {"id": 2}]'), detect_language("Two rows were found.")
    ('json', None)
    """
    text = freeze(text)
    begin = text[: 2 * SAMPLE_CHARS].lstrip(_BLANKS)
    if begin[:1] in ("{", "[", '"') and _is_json(text):
        return "json"
    is_whole = text[-SAMPLE_CHARS:].rstrip()[-1:] in (")", "]", "}")
    for name, opening in _OPENINGS.items():
        if opening.match(begin) and (is_whole or name != "repr"):
            return name
    root = _ROOT.match(begin)
    if root and root[1].lower() in _HTML_TAGS:
        # A README often begins with a picture in the middle of a line.
        if root[1].lower() not in ("html", "head", "body") and _BLOCK.search(text):
            return "markdown"
        template = _language_of_tokens(begin[:SAMPLE_CHARS])
        return template if template in ("astro", "erb", "jinja", "svelte", "vue") else "html"
    if root and ("/>" in text or f"</{root[1]}" in text):
        return "xml"
    if _PATCH.search(begin):
        return "diff"
    return _table_of(text) or _language_of_lines(text)


def _is_json(text: str) -> bool:
    first, _, rest = text.strip(_BLANKS).partition("\n")
    for candidate in (text, first) if len(text) <= MAX_JSON_CHARS else (first,):
        try:
            raw = msgspec.json.decode(candidate.lstrip("\ufeff"), type=msgspec.Raw)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            continue
        # All of it, or a line of JSON and another below it.
        if candidate is text or rest.lstrip()[:1] == first[:1]:
            return bytes(raw).startswith((b"{", b"[", b'"{', b'"['))
    return False


def _table_of(text: str) -> str | None:
    sample = text[: 2 * SAMPLE_CHARS]
    rows = sample.split("\n")[:-1][:60] or [sample]
    first = _line_pattern().match(rows[0].strip()[:MAX_LINE_CHARS])
    if first and first.lastgroup == "log":  # its times may have a comma
        return None
    for delimiter, name in (("\t", "tsv"), (",", "csv"), (";", "csv")):
        head = rows[0].rstrip("\r")
        # A line of a program ends or begins so; the last column of a table may hold JSON.
        is_program = head.endswith((";", "}")) or head.startswith(("//", "/*", "--"))
        if delimiter not in head.strip(delimiter) or head.endswith(delimiter):
            continue
        if is_program and delimiter != "\t":
            continue
        try:
            widths = [len(row) for row in csv.reader(rows, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if widths[0] > 1 and widths.count(widths[0]) >= max(MIN_ROWS, REGULAR_SHARE * len(widths)):
            # A program may print `job 7 done, 3 left` many times, and fail.
            return None if _count_failures(text) else name
    return None


@lru_cache(maxsize=1)
def _line_pattern() -> re.Pattern[str]:
    # An empty group behind a pattern costs less than one around it, which is opened for each line.
    rows = [f"(?:{row})(?P<{name}>)" for name, row in table_rows("lines") if " " not in name]
    return re.compile("|".join(rows))


@lru_cache(maxsize=1)
def _failure_patterns() -> tuple[list[str], list[str], re.Pattern[str]]:
    signs, words, lines = (value for name, value in table_rows("lines") if " " in name)
    return signs.split("|"), words.split("|"), re.compile(f"\n(?:{lines})", re.MULTILINE)


def _count_failures(text: str) -> int:
    end, (signs, _, lines) = text[-MAX_CHARS_SEARCHED:], _failure_patterns()
    is_likely = any(map(end.__contains__, signs)) and "```" not in end  # the pattern takes longer
    return len(lines.findall(f"\n{end}")) if is_likely else 0


def _may_be_printed(text: str, lines: Collection[str]) -> bool:
    """Tell whether a text has a word of failure, and half of its lines differ in numbers alone."""
    signs, more, _ = _failure_patterns()
    if not any(map(text[-MAX_CHARS_SEARCHED:].__contains__, [*signs, *more])):
        return False
    shapes = Counter(re.sub("[0-9]+", "0", "\n".join(lines)).split("\n"))
    said = {shape: n for shape, n in shapes.items() if n >= MIN_ALIKE and _LETTERS.search(shape)}
    alike = sum(said.values())  # a table of numbers is no message
    return alike >= max(MIN_ALIKE, ALIKE_SHARE * len(lines))


def _sample_of(text: str) -> str:
    """Return the beginning of a text and a part of its middle, without comments and fenced code."""
    opening = _OPENING_COMMENTS.match(text, 0, MAX_CHARS_SEARCHED)
    if opening:
        text = text[max(0, opening.end() - OPENING_CHARS) :]
    sample = text
    if len(text) > 2 * SAMPLE_CHARS:
        middle = text.find("\n", len(text) // 2) + 1 or len(text) // 2
        sample = f"{text[:SAMPLE_CHARS]}\n{text[middle : middle + SAMPLE_CHARS]}"
    if "# " in sample and len(_COMMENT.findall(sample)) > len(_HEADING.findall(sample)):
        return _sample_of(_COMMENT_LINE.sub("", text[:MAX_CHARS_SEARCHED]))
    return _FENCED.sub(r"\1", sample)


def _language_of_lines(text: str) -> str | None:
    sample = _sample_of(text)
    lines = [line for line in sample.split("\n") if line.strip()]
    outer = [line for line in lines if not line[0].isspace()]
    stripped = [line.strip() for line in lines]
    heads = [line[:MAX_LINE_CHARS] for line in stripped]
    matches = {head: _line_pattern().match(head) for head in {*heads}}
    groups = {head: match.lastgroup for head, match in matches.items() if match}
    found = Counter(map(groups.get, heads))
    opening = groups.get(heads[0]) if heads else None
    printed = _kind_printed(found, opening, len(lines), len(outer))
    if printed not in (None, "listing"):
        return printed
    comment_signs = "#/*" if "*/" in sample else "#/"
    ends = [line[-MAX_LINE_CHARS:] for line in stripped if line[0] not in comment_signs]
    may_say = [end for end in ends if end[-1] in ".!?:" or len(end) == MAX_LINE_CHARS]
    sentences = sum(_SENTENCE.match(end) is not None for end in may_say)
    is_said = sentences > MAX_SENTENCES * len(lines)
    is_marked = found["mark"] > TRACE_SHARE * len(lines)
    by_tokens = None if is_said or is_marked else _language_of_tokens(sample)
    language = language_of_script(text) or by_tokens
    is_called = printed and len(_CALL.findall(sample)) > 2
    is_program = is_code(language) and language != "code" and (is_called or not printed)
    is_keyed = found["yaml"] + found["point"] >= KEY_SHARE * len(lines)
    settings = None
    if not is_program or (is_keyed and "\n\t" not in sample):  # a script may stand in YAML
        outside = Counter(groups.get(line.strip()[:MAX_LINE_CHARS]) for line in outer)
        settings = _settings_of(outer, sample, outside, is_keyed)
    if is_program and settings != "yaml" and not _count_failures(text[-SAMPLE_CHARS:]):
        return language
    if _count_failures(text) > (sentences if is_said else 0):
        return "log"
    if printed:
        return printed
    if settings:
        return "markdown" if settings == "yaml" and _is_page(text, lines) else settings
    is_printed = not is_said and language in (None, "code", "pem", "text")
    if is_printed and (found["call"] > LOG_SHARE * len(lines) or _may_be_printed(text, {*heads})):
        return "log"
    markup = _markup_of(found, sample, len(lines), is_said)
    # A list of code is YAML by its tokens, but its lines are no keys.
    if markup and (language in (None, "json", "yaml") or (language, markup) == ("html", "rst")):
        return markup
    found_by_tokens = _judge_by_tokens(language, text, sample, found)
    is_pem = language == "pem" and "-----BEGIN " in sample
    if not is_said and not is_pem and _is_listing(found_by_tokens, sample, lines):
        return "listing"
    may_be_list = language in (None, "yaml")
    is_list = may_be_list and len(_POINT.findall(sample)) > LOG_SHARE * len(lines)
    return "markdown" if is_list else found_by_tokens


def _kind_printed(found: Found, opening: str | None, lines: int, outer: int) -> str | None:
    if found["log"] >= max(2, LOG_SHARE * outer):
        return "log"
    if found["traceback"] >= max(2, TRACE_SHARE * lines):
        return "traceback"
    if opening == "console":
        return "console"
    is_history = opening == "commit" and found["commit"] > LOG_SHARE * outer
    is_list = found["place"] > LOG_SHARE * lines and not found["rst"]
    return "listing" if is_history or is_list else None


def _markup_of(found: Found, sample: str, lines: int, is_said: bool) -> str | None:
    if found["weak"] and _TABLE_RULE.search(sample):
        found["markdown"] += found["weak"]
    found["markdown"] += 0 if is_said and not found["markdown"] else found["inline"]
    markup = max(("rst", "asciidoc", "latex", "markdown"), key=found.__getitem__)
    least = max(1 + (markup == "asciidoc"), MARKUP_SHARE * lines)
    return markup if found[markup] >= least else None


def _judge_by_tokens(language: str | None, text: str, sample: str, found: Found) -> str | None:
    if language in (None, "yaml") and _FRONT_MATTER.match(text):
        return "markdown"
    own = _OWN_LINES.get(language or "")
    if own and not any(map(found.__getitem__, own)):
        return None
    is_list = language == "code" and not _CODE_SIGN.search(sample)
    return None if is_list or language in ("pem", "text") else language


def _is_listing(language: str | None, sample: str, lines: Sequence[str]) -> bool:
    """Tell whether a text without a language of its own is what a program printed in lines."""
    if language not in (None, "code") or len(lines) < MIN_LINES:
        return False
    ended = sum(line.rstrip()[-1] in "{};:(," for line in lines)
    if language == "code" and ended > CODE_SHARE * len(lines):
        return False
    signs = len(_SIGN_OF_DATA.findall(sample))
    return signs >= SIGN_SHARE * (len(sample) - sum(map(sample.count, " \n\t")))


def _is_page(text: str, lines: Sequence[str]) -> bool:
    """Tell whether keys with values are of Markdown: its front matter, or headings with lists."""
    if all(line.lstrip()[0] in "#-*" for line in lines):
        return len(_HEADING.findall(text[: 2 * SAMPLE_CHARS])) > 1
    return _FRONT_MATTER.match(text) is not None


def tokens_of(sample: str) -> set[str]:
    """Return what tells the language of a text: words, signs, how lines begin (`^`) and end (`$`).

    >>> sorted(tokens_of("a = 12"))
    ['=', '^a', '0$', 'a', 'a =']
    """
    if not sample.isascii():
        sample = _in_ascii(sample)
    data = sample.encode().translate(_DIGITS)
    runs = {*data.translate(_NO_WORDS).decode().split()}
    found = {run[at : at + 3] for run in runs for at in range(0, len(run), 3)}
    lines = {*data.decode().split("\n")}
    sample = "\n".join(["", *lines])
    found.update(_WORD.findall(sample), _PAIR.findall(sample))
    for start in {*_START.findall(sample)}:
        margin = " " if start[1] in " \t" else ""
        found.add(f"^{margin}{start.strip()}")
    ends = "\n".join({line.rstrip(" \t")[-2:] for line in lines})
    return found | {f"{end}$" for end in _END.findall(ends)}


def _in_ascii(text: str) -> str:
    """Return a text with stand-ins of their class for letters, signs and blanks beyond ASCII."""
    foreign = {*filterfalse(str.isascii, {*text})}
    table: dict[str, str] = {each: "\f" if each.isspace() else "\x01" for each in foreign}
    table |= {each: "\x7f" for each in foreign if each.isalnum()}
    return text.translate({ord(each): stand_in for each, stand_in in table.items()})


@lru_cache(maxsize=1)
def _weights() -> tuple[float, list[str], list[int], dict[str, str]]:
    """Return the unit of weights, the languages, what each begins with, and rows by token."""
    _, unit, languages, first, *rows = table_text("tokens").splitlines()
    known = dict(row.split("\t") for row in rows)
    return float(unit), languages.split(), [int(each) for each in first.split()], known


@cache
def _lanes(row: str) -> int:
    """Return the weights of a row as one number, 32 bits a language: its sums add all at once."""
    codes = row.encode("latin-1")
    pairs = zip(codes[::2], codes[1::2], strict=True)
    return sum((weight - ZERO_CODE) << 32 * (place - FIRST_CODE) for place, weight in pairs)


def _language_of_tokens(sample: str) -> str | None:
    """Return the most probable language by the weights of tokens; `code` where several may be."""
    unit, languages, first, known = _weights()
    rows = list(filter(None, map(known.get, tokens_of(sample))))
    if len(rows) < MIN_TOKENS:
        return None
    least = int.from_bytes(LEAST.to_bytes(4, "little") * len(first), "little")
    lanes = unpack(
        f"<{len(first)}I", sum(map(_lanes, rows), least).to_bytes(4 * len(first), "little")
    )
    scale = len(rows) ** 0.5
    scores = [own * scale + lane for own, lane in zip(first, lanes, strict=True)]
    best = max(scores)
    shares = [exp((score - best) * unit / scale) for score in scores]
    language = languages[scores.index(best)]
    if MIN_PROBABILITY * sum(shares) <= 1:
        return language
    if not is_code(language):
        return None
    programs = sum(share for share, each in zip(shares, languages, strict=True) if is_code(each))
    return "code" if 2 * programs > sum(shares) else None


def _has_key_twice(outer: Sequence[str], sample: str) -> bool:
    """Tell whether a key repeats beside itself, as in records of `dpkg -s`; none of YAML does."""
    keys = [line.partition(":")[0] for line in outer if line[0] not in "-#{" and ":" in line]
    return len({*keys}) < len(keys) and "\n---" not in sample


def _settings_of(outer: Sequence[str], sample: str, found: Found, is_keyed: bool) -> str | None:
    least = max(1, REGULAR_SHARE * sum(line[0] not in "#;" for line in outer))
    values, keys = found["toml"] + found["key"], found["yaml"]
    is_nested = _INDENTED.search(sample) is not None
    if keys and is_nested + keys > 1 and keys + found["point"] >= least:
        is_yaml = 2 * len(_NO_YAML.findall(sample)) <= keys and not _has_key_twice(outer, sample)
        is_keyed = is_keyed or _BLOCK_SCALAR.search(sample) is not None
        return "yaml" if is_yaml and is_keyed else "listing"
    if values + found["section"] + found["close"] < max(2, least):
        return None
    if found["section"]:
        return "toml" if 2 * found["toml"] > values else "ini"
    return None if any(" = " in line or "(" in line for line in outer) else "properties"
