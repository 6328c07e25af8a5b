"""Cut arrays, objects and texts of JSON and JSON Lines.

Each variant is valid JSON. The compact one has no white space, and a table for an array of like
objects. A cut one says in texts of its own how much is missing: `"… 97 more"` before the last
element of an array, ` … 1,204 characters more` at the end of a text, `"… {12 keys}"` or
`"… [12 items]"` for an object or array that lies too deep, and `"…":"… 40 more keys"` at the end
of an object. Keys keep their order, numbers their spelling.
JSON in a text of JSON is cut by the same limits, and stays JSON. A long text is cut by its own
structure: a log keeps what failed, and what answers stays. Data as Python prints them (`repr`) stay
an expression of Python; tuples and sets become lists.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from ..text.escape import SURROGATE
from ..text.format import Marks
from ..text.words import last_unit_end
from .pieces import CompactText, Pieces, TrimmedText, TrimmedVariants, divide_prose
from .python import parse_python

MAX_JSON_DEPTH = 100
"""Arrays and objects within each other."""
MAX_DIGITS = 4300
"""Digits of a number; Python reads no longer integers (`sys.int_info.default_max_str_digits`)."""
MIN_CHARS_CUT = 40
"""Characters by which a text must be too long to be cut: the note on it is nearly as long."""
VARIANTS_REMEMBERED = 8
_BLANKS = re.compile(r'("(?:[^"\\]++|\\.)*+")|[ \t\r\n]++', re.DOTALL)

# Stands for the marker or `…` until all is written: JSON itself holds no such character. In a text
# of JSON, and in a text of that one, it is the next character.
_MARK = "\0"
_MARKS = re.compile("([\0-\7])")
_BLANK = re.compile(r"\s")
MAX_EMBEDDED = 7
"""Texts of JSON within each other that are read."""
MIN_ROWS = 4
TABLE_SHARE = 0.9
"""Objects with the same keys, from this number on, are a table if it has so much less to read."""
MIN_EMBEDDED_CHARS = 100
"""Characters of a text that is read as JSON; a shorter one is hardly ever cut."""


class Limits(NamedTuple):
    """Limits for writing a value."""

    string: int
    """Characters of a text."""
    items: int
    """Elements of an array before its last."""
    keys: int
    """Keys of an object."""
    depth: int
    """Arrays and objects around one that is still written; 0: only the outermost is."""


_STAGES: tuple[tuple[str, int], ...] = (
    *(("string", 1000), ("items", 100), ("keys", 200)),
    *(("string", 300), ("items", 30), ("keys", 60)),
    *(("string", 120), ("items", 10), ("keys", 30)),
    *(("string", 60), ("items", 4), ("depth", 5)),
    *(("string", 30), ("items", 2), ("keys", 16), ("depth", 3)),
    *(("items", 1), ("depth", 1), ("keys", 8), ("string", 16), ("depth", 0), ("keys", 4)),
)
"""The limits to lower, one after the other, and the values to reach."""
BARE = Limits(string=16, items=0, keys=0, depth=0)
"""The limits of what stands around an answer that has no room beside anything else."""
_STEP = 0.97
"""Share of a limit that is left by one step."""


_flat = chain.from_iterable  # keys and values of an object, one after the other


MAX_CHARS_OF_A_RECORD = 2_000
"""Characters of a value up to which it may answer as a whole."""
MAX_CHARS_OF_TEXTS = 1 << 20
"""Characters of the longer texts that are cut by their own structure; others keep their start."""
MAX_NODES, NODES_AT_ONCE = 20_000, 500
"""Values that are looked at for an answer, without those passed over: of a text with so many at
once that together have no word of the query, none is looked at alone."""
MAX_CHARS_OF_A_PART = (500, 120)
"""The same of one that answers where a longer record has no room."""
SHARE, MAX_WANTED, MAX_ANSWERS = 0.5, 20, 3
"""Match beside the best of a value that stays by a query, and how many of these stay at most: in
the shorter variants, and where other items have to share the room."""


_Match = Callable[[Sequence[str], Sequence[str]], Sequence[float]]
"""Tells how well texts with their labels answer."""


class _Number(str):
    """A number as it was written, or another expression of Python."""

    __slots__ = ()


class _Embedded(list[Any]):
    """The value of a text that is JSON."""


class _Text(list[str]):
    """A long text: its pieces, with a mark for each gap."""

    def __init__(self, text: str, pieces: Pieces) -> None:
        super().__init__(part.text for part in pieces.parts)
        self.text, self.pieces = text, pieces

    def within(self, chars: int, wanted: Collection[int]) -> str:
        """Return the text of the pieces that stay longest, of about so many characters.

        Pieces that are `wanted` stay in any case.
        """
        room = chars - sum(len(self[number]) for number in wanted)
        kept = set(wanted)
        for number in reversed(self.order):
            room -= len(self[number])
            if room < 0:
                break
            kept.add(number)
        return self.pieces.text(kept)

    @cached_property
    def order(self) -> list[int]:
        """The pieces that may go, the first to go first."""
        return self.pieces.order()


class _Table(list[Any]):
    """Rows with the same columns, of an array of like objects."""


class _Row(dict[str, Any]):
    """A row of a table: its cells by their columns."""


class _Call(dict[Any, Any]):
    """An object as Python prints it, `Point(x=1, y=2)`: its fields under their names."""

    name = ""


def divide(
    text: str, *, marks: Marks, language: str | None = None, tables: bool = True
) -> TrimmedVariants | None:
    """Return the variants of a JSON array or object, or of lines of them; None for other text.

    None too for a text that cannot be written again as it was (a key twice in an object, a number
    of too many digits), and for one too deep. NaN and Infinity, as Python writes them, stay so.
    With `tables` an array of like objects is a table, if that is clearly shorter. The marker
    replaces the first `…`.
    """
    read = _read(text, language, tables)
    if read is None:
        return None
    _open_texts(read.values, marks)
    most = _extent(read.values)
    return _JsonVariants(read, most, marks) if most else None


def compact(text: str, *, marks: Marks, language: str | None = None) -> CompactText | None:
    """Return JSON, or lines of it, without blanks and with its tables; None where none is shorter.

    An array of like objects becomes `{"columns": […], "rows": [[…]]}`, if that is clearly shorter.
    """
    read = None if language == "repr" else _read(text, language)
    if read is None:
        return None
    most = _extent(read.values) if read.is_tabled else None
    if most:
        tidy = _Writer(most, marks).write(read.values, read.is_lines)
    else:
        tidy = _escape("\n".join(_BLANKS.sub(r"\1", piece) for piece in read.pieces))
    return CompactText(tidy) if len(tidy) < len(text) else None


class _Read(NamedTuple):
    pieces: Sequence[str]
    """The text, or its lines; none of an expression of Python."""
    values: list[Any]
    """Their values, like objects in tables."""
    is_lines: bool
    is_tabled: bool
    """True if there is a table in them."""


def _read(text: str, language: str | None, tables: bool = True) -> _Read | None:
    try:
        if language == "repr":
            pieces: list[str] = []
            tree = parse_python(text.strip())
            lines = tree.body if tree else []
            if len(lines) != 1 or not isinstance(lines[0], ast.Expr):
                return None
            values = [_plain(lines[0].value)]
        elif text.lstrip(" \t\r\n")[:1] in ("{", "[", '"'):
            pieces, values = _decode(text)
            _open_embedded(values)
        else:
            return None
    except (ValueError, RecursionError):
        return None
    if not (values and all(isinstance(value, (dict, list)) for value in values)):
        return None
    is_lines = pieces not in ([], [text])
    if tables and pieces:
        tabled = _put_in_tables(values)
        if _size(tabled) < TABLE_SHARE * _size(values):
            if isinstance(tabled, _Table):  # all lines
                return _Read(pieces, [tabled], is_lines=False, is_tabled=True)
            return _Read(pieces, tabled, is_lines, is_tabled=True)
    return _Read(pieces, values, is_lines, is_tabled=False)


class _Node(NamedTuple):
    path: tuple[tuple[int, Any], ...]
    """The containers around it by `id`, the outermost first, each with the key or index in it."""
    value: Any


class _JsonVariants(TrimmedVariants):
    def __init__(self, read: _Read, most: Limits, marks: Marks) -> None:
        """Take a text that was read, and the limits that cut nothing of it."""
        self._lines, self._values, self._most, self._marks = read.is_lines, read.values, most, marks
        self._limits = list(_descent(most._replace(items=max(most.items, len(read.values)))))
        # Nothing in it is longer than the note on it would be.
        narrowest = self._writer(self._limits[-1]) if self._limits else None
        if narrowest and not _MARKS.search(narrowest.write(read.values, self._lines)):
            self._limits = []
        self._keep()

    def _keep(self, best: Sequence[_Node] = (), parts: Sequence[Sequence[_Node]] = ()) -> None:
        """Let the best nodes stay within all limits, then fewer of them, then `parts` alone."""
        self._wanted = best
        steps = [(limit, best) for limit in self._limits]
        for limit in self._limits[-1:] if best else ():
            steps += [(limit, best[:count]) for count in range(len(best) - 1, 0, -1)]
            steps += [(BARE, nodes) for nodes in parts]
            steps.append((limit, ()))
        # A search halves its range with each step, and the next search soon asks for the same.
        remember = lru_cache(maxsize=VARIANTS_REMEMBERED)
        super().__init__(len(steps), remember(lambda number: self._write(*steps[number])))

    def _writer(self, limit: Limits, wanted: Sequence[_Node] = ()) -> _Writer:
        return _Writer(limit, self._marks, wanted, self._most)

    def _write(self, limit: Limits, wanted: Sequence[_Node]) -> TrimmedText:
        marks = self._marks
        text = self._writer(limit, wanted).write(self._values, self._lines)
        said = iter((marks.marker or marks.gap,))

        def mark(found: re.Match[str]) -> str:
            written = next(said, marks.gap)
            for _ in range(ord(found[0]) + 1):
                written = _quote(written)[1:-1]
            return written

        text = _MARKS.sub(mark, text)
        outline = max(limit.items, limit.depth) <= 1 and not wanted
        return TrimmedText(text, "outline" if outline else "trimmed")

    @property
    def answer(self) -> str | None:
        """The shortest text with the values that answer best; None without a query."""
        if not (self._limits and self._wanted):
            return None
        return self._write(self._limits[-1], self._wanted[:MAX_ANSWERS]).text

    def under_query(self, match: _Match) -> TrimmedVariants:
        """Return variants in which the values that answer stay whole.

        `match` tells how well texts with their labels answer.
        """
        # The one value of a text is no part of it, but a line is.
        within = self._values if self._lines else self._values[0]
        matched = _matched(_nodes(within), match)
        if not matched:
            return self
        best = _best(matched)
        # The record of the best answer, the answer alone, short records; where none is, its values.
        records = [each for each in matched if each[0] >= SHARE * matched[0][0]]
        inner = _matched(_nodes(best[0].value, best[0].path, longest=0), match)
        parts: list[Sequence[_Node]] = [
            [node]
            for _, node, size in matched
            if node.path == best[0].path[:-1] and size <= MAX_CHARS_OF_A_PART[0]
        ]
        parts.append(best[:1])
        for most in MAX_CHARS_OF_A_PART:
            small = [each for each in records if each[2] <= most]
            some = _best(small or [each for each in inner if each[2] <= most])
            parts += [some[:count] for count in range(len(some), 0, -1)]
        other = copy(self)
        other._keep(best, parts)
        return other


def _matched(nodes: Iterator[tuple[_Node, str]], match: _Match) -> list[tuple[float, _Node, int]]:
    found = islice(_rated(nodes, match), MAX_NODES)
    matched = [(match, node, len(text)) for match, (node, text) in found if match > 0]
    return sorted(matched, key=lambda each: -each[0])


def _best(matched: Sequence[tuple[float, _Node, int]]) -> list[_Node]:
    return _apart(node for match, node, _ in matched if match >= SHARE * matched[0][0])


def _rated(
    nodes: Iterator[tuple[_Node, str]], match: _Match
) -> Iterator[tuple[float, tuple[_Node, str]]]:
    """Yield how well nodes answer, without those that lie among others without a word."""
    while some := list(islice(nodes, NODES_AT_ONCE)):
        labels, texts = [str(node.path[-1][1]) for node, _ in some], [text for _, text in some]
        if any(match(["\n".join([*labels, *texts])], [""])):
            yield from zip(match(texts, labels), some, strict=True)


def _apart(nodes: Iterable[_Node]) -> list[_Node]:
    """Return the first nodes that are not within each other."""
    found: list[_Node] = []
    whole, around = set[int](), set[int]()
    for node in nodes:
        above = [container for container, _ in node.path]
        if id(node.value) not in around and whole.isdisjoint(above):
            found.append(node)
            whole.add(id(node.value))
            around.update(above)
        if len(found) == MAX_WANTED:
            break
    return found


def _nodes(
    value: Any, path: tuple[tuple[int, Any], ...] = (), longest: int = MAX_CHARS_OF_A_RECORD
) -> Iterator[tuple[_Node, str]]:
    """Yield what may answer, with its text: the records in a value, and the values in long ones."""
    waiting = deque([_Node(path, value)] * isinstance(value, (dict, list)))
    while waiting:
        path, container = waiting.popleft()
        is_long = _exceeds([container], longest)
        for place, inner in _pairs(container):
            node = _Node((*path, (id(container), place)), inner)
            is_record = isinstance(inner, (dict, list))
            if is_record:
                waiting.append(node)
            if (is_long or is_record) and not _exceeds([inner], MAX_CHARS_OF_A_RECORD):
                yield node, " ".join(_words([inner]))


def _words(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, (dict, list)):
            yield from _words(value if isinstance(value, list) else _flat(value.items()))
        else:
            yield value if isinstance(value, str) else _WORDS[value]


def _decode(text: str) -> tuple[list[str], list[Any]]:
    try:
        return [text], [_DECODER.decode(text)]
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
    lines = [line for line in text.split("\n") if line.strip(" \t\r")]
    return lines, [_DECODER.decode(line) for line in lines]


def _pairs(container: dict[Any, Any] | list[Any]) -> Iterable[tuple[Any, Any]]:
    return container.items() if isinstance(container, dict) else enumerate(container)


def _scalars(values: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    waiting: list[Any] = [values]
    while waiting:
        container = waiting.pop()
        for place, value in list(_pairs(container)):
            if isinstance(value, (dict, list)):
                waiting.append(value)
            else:
                yield container, place, value


def _open_embedded(values: list[Any], level: int = 0) -> None:
    """Put the values of texts that are JSON in the place of these texts."""
    for container, place, value in _scalars(values) if level < MAX_EMBEDDED else ():
        is_long = type(value) is str and len(value) >= MIN_EMBEDDED_CHARS
        if is_long and value.lstrip(" \t\r\n")[:1] in ("{", "["):
            try:
                inner = _Embedded([_DECODER.decode(value)])
            except (ValueError, RecursionError):
                continue
            container[place] = inner
            _open_embedded(inner, level + 1)


def _open_texts(values: list[Any], marks: Marks) -> None:
    from .kinds import Trimmers, language_by_content

    # The writer tells its own marks from what the texts hold.
    trimmers = Trimmers(marks._replace(marker="", gap=_MARK))
    room = MAX_CHARS_OF_TEXTS
    for container, place, value in _scalars(values):
        if type(value) is not str or len(value) <= MAX_CHARS_OF_A_RECORD:
            continue
        room -= len(value)
        # Data in letters, without a blank or line end, have no structure.
        if room < 0 or _MARKS.search(value) or not _BLANK.search(value):
            continue
        found = trimmers.find_structure("", language_by_content("", value), value)
        if not isinstance(found, Pieces):
            found = divide_prose(value, trimmers.marks)
        if found is not None:
            container[place] = _Text(value, found)


def _put_in_tables(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _put_in_tables(inner) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    rows = list(map(_flatten, value)) if len(value) >= MIN_ROWS else [None]
    columns = list(rows[0] or ())
    if len(columns) < 2 or any(row is None or list(row) != columns for row in rows):
        return type(value)(map(_put_in_tables, value))
    return _Table(
        _Row((column, _put_in_tables(cell)) for column, cell in row.items()) for row in rows if row
    )


def _flatten(row: Any) -> dict[str, Any] | None:
    """Return an object with the fields of those in it beside its own, `customer.city`."""
    if not isinstance(row, dict) or any("." in key for key in row):
        return None
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict) and value and not any("." in name for name in value):
            found |= {f"{key}.{name}": inner for name, inner in value.items()}
        else:
            found[key] = value
    return found


def _plain(node: ast.expr) -> Any:
    """Return the value of an expression as Python prints data."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.List(elts=members) | ast.Tuple(elts=members) | ast.Set(elts=members):
            return list(map(_plain, members))
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_plain_key(k): _plain(v) for k, v in zip(keys, values, strict=True)}
        case ast.Call(args=[], keywords=[_, *_] as fields):
            call = _Call({_Number(field.arg): _plain(field.value) for field in fields})
            call.name = ast.unparse(node.func)
            return call
    return _Number(ast.unparse(node))


def _plain_key(node: ast.expr | None) -> str:
    found = _plain(node) if isinstance(node, ast.Constant) else None
    return found if isinstance(found, str) else _Number(node and ast.unparse(node))


def _number(digits: str) -> _Number:
    if len(digits) > MAX_DIGITS:
        raise ValueError("a number of too many digits")
    return _Number(digits)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


_DECODER = json.JSONDecoder(
    parse_int=_number, parse_float=_number, parse_constant=_Number, object_pairs_hook=_distinct
)


def _extent(values: Iterable[Any]) -> Limits | None:
    """Return the narrowest limits that cut nothing of some values, None if they lie too deep."""
    string = items = keys = 0
    # Level by level, not by recursion: deep brackets must not exhaust the interpreter's stack.
    level, depth = list(values), -1
    while level:
        below: list[Any] = []
        for value in level:
            if isinstance(value, _Text):
                string = max(string, len(value.text))
            elif isinstance(value, dict):
                keys = max(keys, len(value))
                below.extend(value.values())
            elif isinstance(value, list):
                items = max(items, len(value))
                below.extend(value)
            elif isinstance(value, str):
                string = max(string, len(value))
        depth += any(isinstance(each, (dict, list)) and type(each) is not _Text for each in level)
        if depth >= MAX_JSON_DEPTH:
            return None
        level = below
    return Limits(string, items, keys, depth)


def _descent(most: Limits) -> Iterator[Limits]:
    """Yield limits from the widest down, each one step below the one before."""
    now = most._replace(string=most.string - MIN_CHARS_CUT, items=most.items - 1)
    for name, target in _STAGES:
        least = 4 if name == "string" else 1
        while (value := getattr(now, name)) > target:
            now = now._replace(**{name: max(target, min(value - least, int(value * _STEP)))})
            yield now


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def _quote(text: str) -> str:
    return _escape(_ENCODER.encode(text))


def _quote_around_marks(parts: list[str]) -> str:
    """Return texts, with a mark between each two, as one text of JSON."""
    parts[::2] = [_quote(part)[1:-1] for part in parts[::2]]
    return f'"{"".join(parts)}"'


def _escape(written: str) -> str:
    """Return JSON with lone surrogates as escapes: as they are they could not be encoded."""
    if written.isascii():
        return written
    return SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


_WORDS = {None: "null", True: "true", False: "false"}


class _Writer:
    def __init__(
        self, limits: Limits, marks: Marks, wanted: Sequence[_Node] = (), most: Limits | None = None
    ) -> None:
        """Take the limits, and nodes that are written within wider ones, with all around them."""
        self._limits, self._marks = limits, marks
        self._whole = {node.path[-1] for node in wanted}
        self._wide = _Writer(most, marks) if most else self
        self._places: defaultdict[int, set[Any]] = defaultdict(set)
        """Container by `id` → the keys or indices in it that lead to a wanted node."""
        for container, place in _flat(node.path for node in wanted):
            self._places[container].add(place)

    def write(self, values: list[Any], lines: bool) -> str:
        """Return the one value, or all of them on lines."""
        if lines:
            return "\n".join(part[:-1] for part in self._elements(values, -1))
        return self._value(values[0], 0)

    def _say(self, phrase: str, number: int) -> str:
        """Return the mark of a gap, as it stands inside quotes."""
        return f"{_MARK} {_quote(self._marks.counted(number, phrase, phrase))[1:-1]}"

    def _value(self, value: Any, depth: int) -> str:
        if isinstance(value, _Number):
            return str(value)
        if isinstance(value, str):
            most = self._limits.string
            if len(value) <= most + MIN_CHARS_CUT:
                return _quote(value)
            kept = last_unit_end(value, "character", most) or most
            mark = self._say(self._marks.more_characters, len(value) - kept)
            return f'{_quote(value[:kept])[:-1]} {mark}"'
        if isinstance(value, _Text):
            return self._text(value)
        if isinstance(value, (dict, list)):
            return self._container(value, depth)
        return _WORDS[value]

    def _text(self, value: _Text) -> str:
        most = self._limits.string
        if len(value.text) <= most + MIN_CHARS_CUT:
            return _quote(value.text)
        parts = _MARKS.split(value.within(most, self._places.get(id(value), ())))
        return _quote_around_marks(parts)

    def _container(self, value: dict[str, Any] | list[Any], depth: int) -> str:
        ends = ("[", "]") if isinstance(value, list) else ("{", "}")
        if isinstance(value, _Embedded):
            writer = self._wide if (id(value), 0) in self._whole else self
            parts = _MARKS.split(writer._value(value[0], depth))
            parts[1::2] = [chr(ord(mark) + 1) for mark in parts[1::2]]
            return _quote_around_marks(parts)
        if isinstance(value, _Call):
            ends = (f"{value.name}(", ")")
        if depth > self._limits.depth and id(value) not in self._places:
            is_list = isinstance(value, list)
            phrase = self._marks.all_items if is_list else self._marks.all_keys
            mark = self._say(f"{ends[0]}{phrase}{ends[1]}", len(value))
            if _exceeds([value], len(mark) + 2):
                return f'"{mark}"'
        if isinstance(value, _Table):
            value, ends = self._under_columns(value)
        if isinstance(value, list):
            members = self._elements(value, depth)
        else:
            members = self._members(value, depth)
        if isinstance(value, _Row):
            ends = ("[", "]")
        return ends[0] + "".join(members)[:-1] + ends[1]

    def _under_columns(self, table: _Table) -> tuple[_Table, tuple[str, str]]:
        """Return the rows to write of a table, with what stands before and after them."""
        columns, most = list(table[0]), self._limits.keys
        names = list(map(_quote, columns))
        if len(columns) > most + 1 and id(table) not in self._places:
            names[most:] = [f'"{self._say(self._marks.more_keys, len(columns) - most)}"']
            table = _Table(_Row(islice(row.items(), most)) for row in table)
        return table, (f'{{"columns":[{",".join(names)}],"rows":[', "]}")

    def _elements(self, value: list[Any], depth: int) -> Iterator[str]:
        """Yield the elements of an array, a comma after each, and a note in place of some."""
        count, first = len(value), self._limits.items
        shown: Iterable[int] = range(count)
        if count > first + 1:
            size = len(self._say(self._marks.more_items, count - first - 1)) + 2
            if _exceeds(islice(value, first, count - 1), size):
                shown = sorted({*range(first), *self._places.get(id(value), ()), count - 1})
        before = -1
        for place in shown:
            left = place - before - 1
            if left:
                yield f'"{self._say(self._marks.more_items, left)}",'
            writer = self._wide if (id(value), place) in self._whole else self
            yield writer._value(value[place], depth + 1) + ","
            before = place

    def _members(self, value: dict[str, Any], depth: int) -> Iterator[str]:
        """Yield the members of an object, a comma after each, and a note in place of some."""
        most, wanted = self._limits.keys, self._places.get(id(value), set())
        left = len(value) - most
        mark = ""
        if left > 0 and not isinstance(value, (_Call, _Row)):
            left -= sum(name in wanted for name in islice(value, most, None))
            mark = self._note(value, left)
        cut = left > 0 and mark and _exceeds(_flat(islice(value.items(), most, None)), len(mark))
        equals = "=" if isinstance(value, _Call) else ":"
        for place, name in enumerate(value):
            if not cut or place < most or name in wanted:
                writer = self._wide if (id(value), name) in self._whole else self
                key = name if isinstance(name, _Number) else _quote(name)
                label = "" if isinstance(value, _Row) else f"{key}{equals}"
                yield f"{label}{writer._value(value[name], depth + 1)},"
        if cut:
            yield mark + ","

    def _note(self, value: dict[str, Any], left: int) -> str:
        # One that the object has already would hide its value.
        note = self._marks.gap
        while note in value:
            note += self._marks.gap
        return f'{_quote(note)}:"{self._say(self._marks.more_keys, left)}"'


def _exceeds(values: Iterable[Any], size: int) -> bool:
    """Tell whether some values, written with commas between, have more than `size` characters."""
    return _size(values, size + 1) > size + 1


def _size(values: Iterable[Any], most: float = math.inf) -> int:
    """Return about the characters of values, and of all in them, with quotes, colons and commas.

    A size above `most` is no longer counted: of a huge value only the beginning is looked at.
    """
    size, waiting = 0, [iter(values)]
    while waiting and size <= most:
        for value in waiting[-1]:
            if isinstance(value, str):
                size += len(value) + (1 if isinstance(value, _Number) else 3)
                if size > most:
                    break
            elif isinstance(value, (dict, list)):
                size += 3
                waiting += _parts(value)
                break
            else:
                size += 5
        else:
            waiting.pop()
    return size


def _parts(value: dict[Any, Any] | list[Any]) -> list[Iterator[Any]]:
    """Return what is in a value: a table has its columns once, and a row its cells alone."""
    if isinstance(value, _Row):
        return [iter(value.values())]
    if isinstance(value, _Table):
        return [iter(value), iter(value[0])]
    return [iter(value if isinstance(value, list) else _flat(value.items()))]
