"""Add a new case at the end of a file of cases; the text above it stays as it is.

Golden cases in YAML files: items and options in, the expected text and figures out.

Render a case and compare it with its expectation.

Write the rendered text into a file of cases; nothing else in it changes.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from ..config.options import OPTION_VOCABULARY as OPTIONS
from ..config.schema import Vocabulary, rules_of
from ..errors import Diagnostics, ItemError, ProfileError, PromptForgeError, quote
from ..files import read_bytes
from ..model import Item, Result, ResultItem
from ..rendering.renderer import ContextRenderer
from ..sources.item_files import load_items
from ..sources.records import load_records
from ..text.escape import to_label
from ..yaml_reader import load_yaml_with_lines

_Items = Annotated[Any, Meta(extra={"takes": "a list of items, or the name of a file of items"})]

_Options = Annotated[
    dict[str, Any], Meta(extra={"takes": "a mapping of options, such as {layout: chunks}"})
]

_Status = Literal["included", "trimmed", "dropped"]

_Statuses = Annotated[
    dict[str, _Status], Meta(extra={"takes": "a mapping of items to included, trimmed or dropped"})
]

_Count = Annotated[int, Meta(ge=0)]


class _Keys(msgspec.Struct, frozen=True):
    name: Annotated[str, "The case's name in reports."] = ""
    items: Annotated[_Items, "The items, or their file, relative to the file of cases."] = None
    options: Annotated[_Options, "The options of the rendering; `profile` is one here."] = {}
    templates: Annotated[
        tuple[str, ...], "Folders of templates, relative to the file of cases."
    ] = ()
    profiles: Annotated[tuple[str, ...], "Folders of profiles, relative to the file of cases."] = ()
    text: Annotated[str | None, "The text; line ends at its end do not count."] = None
    file: Annotated[str | None, "The file that holds the text, every byte of it."] = None
    tokens_at_most: Annotated[_Count | None, "The most tokens the text may cost."] = None
    chars_at_most: Annotated[_Count | None, "The most characters the text may have."] = None
    contains: Annotated[tuple[str, ...], "Strings that the text must hold."] = ()
    lacks: Annotated[tuple[str, ...], "Strings that the text must not hold."] = ()
    statuses: Annotated[
        _Statuses, "By id, name or path of an item: included, trimmed or dropped."
    ] = {}
    warnings: Annotated[
        tuple[str, ...] | None, "The codes that are said, notes aside; none: any."
    ] = None
    fails: Annotated[str | None, "A part of the message that the rendering must fail with."] = None


EXPECTATION_KEYS = ("text", "file", "tokens_at_most", "chars_at_most", "contains", "lacks", "statuses",
            "warnings", "fails")  # fmt: skip
"""The keys that say what is expected."""

_SHARED = ("items", "options", "templates", "profiles")

CASE_KEYS = Vocabulary("key", rules_of(_Keys))
"""The keys of a case."""

_TOP = Vocabulary(
    "key", {name: CASE_KEYS.rules[name] for name in _SHARED} | {"cases": CASE_KEYS.rules["items"]}
)


class GoldenCase(NamedTuple):
    """One case."""

    name: str
    path: Path
    """The file of cases."""
    line: int
    """Its first line in the file."""
    number: int
    """Its index in the file."""
    keys: dict[str, Any]
    """Every key of `VOCABULARY`, checked."""
    problem: str | None = None
    """The reason it cannot be run; `None` if it can."""

    def near(self, name: str) -> Path:
        """Return a path relative to the file of cases."""
        return self.path.parent / name


def is_cases_file(path: Path) -> bool:
    """Tell a file of cases by a line that begins with `cases:`."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    return any(line.startswith("cases:") for line in text.splitlines())


def read_cases_file(path: Path) -> str:
    """Return the text of a file of cases; raises `ItemError`."""
    try:
        return read_bytes(path).decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise ItemError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError:
        raise ItemError("is not UTF-8 text; save it as UTF-8", where=str(path)) from None


def load_cases(path: Path) -> list[GoldenCase]:
    """Read a file of cases; a wrong one gets a `problem`. Raises `ItemError` for the file."""
    return parse_cases(read_cases_file(path), path, lenient=True)


def parse_cases(text: str, path: Path, *, lenient: bool = False) -> list[GoldenCase]:
    """Parse the text of a file of cases at `path`, or meant for it.

    Raises `ItemError` with file and line. If `lenient`, an error in one case becomes its `problem`.
    """
    try:
        return _parse(text, path, lenient)
    except ProfileError as error:  # raised by the reader of YAML and the check of keys
        raise ItemError(error.bare, where=error.where) from None


def _parse(text: str, path: Path, lenient: bool) -> list[GoldenCase]:
    values, lines = load_yaml_with_lines(text, str(path))
    if not isinstance(values, dict) or not isinstance(values.get("cases"), list):
        raise ItemError("a file of cases has the key `cases` with a list", where=f"{path}:1")
    shared = {
        key: _TOP.check(key, value, lambda word: f"{path}:{lines.get((word,), 1)}")
        for key, value in values.items()
    }
    found: list[GoldenCase] = []
    for number, given in enumerate(values["cases"]):
        try:
            case = _case(given, number, shared, path, lines)
            if any(other.name == case.name for other in found):
                place = lines.get(("cases", number, "name"), case.line)
                raise ItemError(f"two cases are called {quote(case.name)}", where=f"{path}:{place}")
        except (ItemError, ProfileError) as error:
            if not lenient:
                raise
            name = given.get("name") if isinstance(given, dict) else None
            if not isinstance(name, str) or not name:
                name = f"case {number + 1}"
            case = GoldenCase(name, path, lines.get(("cases", number), 1), number, {}, str(error))
        found.append(case)
    return found


def _case(
    given: object,
    number: int,
    shared: dict[str, Any],
    path: Path,
    lines: Mapping[tuple[str | int, ...], int],
) -> GoldenCase:
    line = lines.get(("cases", number), 1)
    if not isinstance(given, dict):
        raise ItemError("a case has lines of the form `key: value`", where=f"{path}:{line}")

    def where(word: str) -> str:
        return f"{path}:{lines.get(('cases', number, word), line)}"

    own = {key: CASE_KEYS.check(key, value, where) for key, value in given.items()}
    keys = {key: rule.default for key, rule in CASE_KEYS.rules.items()} | shared | own
    keys["options"] = {**shared.get("options", {}), **own.get("options", {})}
    if keys["items"] is None:
        raise ItemError(
            "the case has no items: a list, or the name of a file", where=f"{path}:{line}"
        )
    for option in keys["options"]:
        if option not in OPTIONS and option != "profile":
            OPTIONS.refuse(option, lambda _: where("options"))
    if not any(key in own for key in EXPECTATION_KEYS):
        message = (
            'the case expects nothing: add `text: ""`, and `promptforge test --update` writes it'
        )
        raise ItemError(message, where=f"{path}:{line}")
    if "text" in own and "file" in own:
        raise ItemError("text and file both give the expected text; keep one", where=where("file"))
    return GoldenCase(keys["name"] or f"case {number + 1}", path, line, number, keys)


# Strings that YAML reads as themselves without quotes, but for its words.
_BARE = re.compile(r"(?:\.\./)*[A-Za-z][A-Za-z0-9_./-]*")

_WORDS = {"true", "false", "null", "none", "yes", "no", "on", "off", "y", "n"}


def update_case(source: str, case: GoldenCase, text: str) -> str:
    """Return the file `source` with `text` as the expected text of `case`.

    Raises `ItemError` if the text does not stand on lines of its own.
    """
    _, lines = load_yaml_with_lines(source, str(case.path))
    number = lines[("cases", case.number, "text")]
    rows = source.split("\n")
    key = re.match(r"((?:[ ]*-[ ]+)?[ ]*)(text|\"text\"|'text')[ ]*:", rows[number - 1])
    where = f"{case.path}:{number}"
    if key is None:
        message = "text is not on lines of its own; put it there, or use file"
        raise ItemError(message, where=where)
    margin = len(key[1])
    end = number
    while end < len(rows) and (not rows[end].strip() or _indent(rows[end]) > margin):
        end += 1
    # Blank lines after the text part it from the next case.
    while end > number and not rows[end - 1].strip():
        end -= 1
    first, *more = block_lines(text.rstrip("\n"), margin)
    result = "\n".join([*rows[: number - 1], f"{key[0]} {first}", *more, *rows[end:]])
    values, _ = load_yaml_with_lines(result, str(case.path))
    if (values["cases"][case.number].get("text") or "").rstrip("\n") != text.rstrip("\n"):
        raise ItemError("the text cannot be written in its place; use file", where=where)
    return result


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip(" "))


def block_lines(text: str, margin: int) -> list[str]:
    """Return the lines of a text as the value of a YAML key indented by `margin` blanks."""
    if not text or any(not char.isprintable() and char not in "\n\t" for char in text):
        return [inline_value(text)]
    indent = " " * (margin + 2)
    head = "|"
    if text[0] in " \n\t":
        head = "|2"  # YAML would take blanks of the first line for indentation
    return [head, *(indent + line if line else "" for line in text.split("\n"))]


def inline_value(value: object) -> str:
    """Return plain data on one line of YAML, with unprintable characters escaped."""
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    shown = json.dumps(value, ensure_ascii=False)
    if not shown.isprintable():
        shown = json.dumps(value).replace("\x7f", "\\u007f")
    return shown


_HEAD = "# Cases to be compared by `promptforge test`.\ncases:\n"


def add_case(source: str, path: Path, keys: Mapping[str, Any]) -> str:
    """Return the file `source` (empty: a new one) at `path` with a case of these keys added.

    Raises `ItemError` if it would be read otherwise, such as under options of the whole file.
    """
    known, margin, before = [], "  ", _HEAD
    if source.strip():
        known = parse_cases(source, path)
        before = source.rstrip("\n") + "\n\n"
    if any(case.name == keys["name"] for case in known):
        message = f"there is a case called {quote(keys['name'])}; choose another name"
        raise ItemError(message, where=str(path))
    if known:
        row = source.split("\n")[known[-1].line - 1]
        margin = row[: len(row) - len(row.lstrip(" "))]
    result = before + "\n".join(_rows(keys, margin)) + "\n"
    _verify(parse_cases(result, path), len(known), keys)
    return result


def _rows(keys: Mapping[str, Any], margin: str) -> list[str]:
    rows: list[str] = []
    for name, value in keys.items():
        start = f"{margin}{'  ' if rows else '- '}{name}:"
        if name == "text":
            first, *more = block_lines(value.rstrip("\n"), len(margin) + 2)
            rows += [f"{start} {first}", *more]
        elif name == "items" and isinstance(value, list):
            rows += [start, *(f"{margin}    - {inline_value(record)}" for record in value)]
        elif isinstance(value, Mapping):
            pairs = ", ".join(
                f"{inline_value(key)}: {inline_value(each)}" for key, each in value.items()
            )
            rows.append(f"{start} {{{pairs}}}")
        else:
            rows.append(f"{start} {inline_value(value)}")
    return rows


def _verify(cases: list[GoldenCase], number: int, keys: Mapping[str, Any]) -> None:
    """Raise `ItemError` unless the last case is read with the keys given."""
    found = cases[-1]
    for name, rule in CASE_KEYS.rules.items():
        wanted, read = keys.get(name, rule.default), found.keys[name]
        if name == "text" and wanted is not None:
            wanted, read = wanted.rstrip("\n"), (read or "").rstrip("\n")
        elif isinstance(rule.default, tuple):
            wanted = tuple(wanted)
        if len(cases) != number + 1 or read != wanted:
            message = (
                f"the case cannot be written here: its {name} would be read otherwise;"
                " use another file"
            )
            raise ItemError(message, where=f"{found.path}:{found.line}")


class CaseOutcome(NamedTuple):
    """The outcome of a case."""

    case: GoldenCase
    problems: tuple[str, ...]
    """Differences from the expectation, each on some lines; empty if the case holds."""
    text: str | None = None
    """The rendered text; `None` if the rendering failed."""
    tokens: int | None = None
    stale: bool = False
    """True if the rendered text is not the expected one, so `--update` has something to write."""


def run_case(
    case: GoldenCase, templates: Sequence[Path] = (), profiles: Sequence[Path] = ()
) -> CaseOutcome:
    """Render a case and compare; the folders come after those that the case names.

    Unreadable items or an unreadable expected text are problems of the case.
    """
    if case.problem is not None:
        return CaseOutcome(case, (case.problem,))
    keys = case.keys
    options = dict(keys["options"])
    diagnostics = Diagnostics()
    try:
        items = _items(case, diagnostics)
        wanted = _wanted(case)
    except ItemError as error:
        return CaseOutcome(case, (str(error),))
    try:
        renderer = ContextRenderer(
            profile=options.pop("profile", None),
            templates=[*map(case.near, keys["templates"]), *templates],
            profiles=[*map(case.near, keys["profiles"]), *profiles],
        )
        result = renderer.render(items, before=tuple(diagnostics), **options)
    except PromptForgeError as error:
        return CaseOutcome(case, tuple(_failure(str(error), keys["fails"])))
    problems = []
    if keys["fails"] is not None:
        problems.append(f"did not fail; expected a message with {quote(keys['fails'])}")
    differs = _differences(case, wanted, result.text)
    problems += [*differs, *_bounds(keys, result)]
    problems += [f"the template failed: {w.message}" for w in result.warnings if w.code == "PF401"]
    return CaseOutcome(case, tuple(problems), result.text, result.tokens, stale=bool(differs))


def _failure(message: str, wanted: str | None) -> Iterator[str]:
    if wanted is None:
        yield f"failed: {message}"
    elif wanted not in message:
        yield f"failed: {message}\nexpected a message with {quote(wanted)}"


def _differences(case: GoldenCase, wanted: str | None, text: str) -> list[str]:
    """Return a problem if the text is not the wanted one."""
    said = "the text differs"
    if wanted is None:
        return []
    if case.keys["file"] is None:
        # YAML's block of text ends with a line end or without one, by its header.
        wanted, text = wanted.rstrip("\n"), text.rstrip("\n")
    elif not case.near(case.keys["file"]).exists():
        said = f"the file {quote(case.keys['file'])} is not there; --update writes it"
    if wanted == text:
        return []
    return ["\n".join([said, *visible_diff(wanted, text)])]


def _items(case: GoldenCase, diagnostics: Diagnostics) -> list[Item]:
    given = case.keys["items"]
    if isinstance(given, str):
        path = case.near(given).absolute()
        return load_items(str(path), diagnostics=diagnostics, workspace=path.parent)
    return load_records(given, where=f"{case.path}:{case.line}", diagnostics=diagnostics)


def _wanted(case: GoldenCase) -> str | None:
    if case.keys["file"] is None:
        text: str | None = case.keys["text"]
        return text
    path = case.near(case.keys["file"])
    if not path.exists():
        return ""
    try:
        return read_bytes(path).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ItemError("cannot be read as UTF-8 text", where=str(path)) from None


def case_name_of_item(entry: ResultItem) -> str:
    """Return the name of an item in a case."""
    return entry.name or entry.path or entry.id


def _bounds(keys: dict[str, Any], result: Result) -> Iterator[str]:
    limit = keys["tokens_at_most"]
    if limit is not None and result.tokens > limit:
        yield f"the text costs {result.tokens:,} tokens, at most {limit:,} expected"
    limit = keys["chars_at_most"]
    if limit is not None and result.chars > limit:
        yield f"the text has {result.chars:,} characters, at most {limit:,} expected"
    for part in keys["contains"]:
        if part not in result.text:
            yield f"the text lacks {quote(part)}"
    for part in keys["lacks"]:
        if part in result.text:
            yield f"the text holds {quote(part)}"
    for name, status in keys["statuses"].items():
        found = {
            entry.status for entry in result.items if name in (entry.id, entry.name, entry.path)
        }
        if not found:
            known = list(map(case_name_of_item, result.items))
            yield f"there is no item {quote(name)}; there are: {', '.join(map(quote, known[:20]))}"
        elif found != {status}:
            yield f"{quote(name)} is {' and '.join(sorted(found))}, {status} expected"
    if keys["warnings"] is not None:
        said = sorted({w.code for w in result.warnings if w.severity != "info"})
        if said != sorted(set(keys["warnings"])):
            expected = ", ".join(sorted(keys["warnings"])) or "none"
            yield f"warnings: {', '.join(said) or 'none'}; expected: {expected}"


def visible_diff(expected: str, printed: str) -> Iterator[str]:
    """Yield a unified diff with every character visible; blanks at a line's end are `·`."""
    old, new = (text.split("\n") for text in (expected, printed))
    for line in difflib.unified_diff(old, new, "expected", "printed", lineterm="", n=2):
        mark, text = line[:1], line[1:]
        shown = re.sub(r" +$", lambda blanks: "·" * len(blanks[0]), text)
        yield mark + "\t".join(to_label(part) for part in shown.split("\t"))
