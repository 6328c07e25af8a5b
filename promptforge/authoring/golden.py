"""Golden cases of the user: items and options in, the expected text and figures out.

Cases stand in YAML files. They are read with file and line for each error, rendered and compared.
The expected text of a case can be written anew, and a new case added; all other lines stay.
"""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from ..config.options import OPTION_VOCABULARY, yaml_value
from ..config.schema import Vocabulary, rules_of
from ..engine import ContextRenderer
from ..errors import Diagnostics, ItemError, ProfileError, PromptForgeError, quote
from ..files.access import Access, read_bytes, read_utf8
from ..model import Item, Result, ResultItem
from ..sources.item_files import load_items
from ..sources.records import load_records
from ..text.escape import to_label
from ..yaml_reader import YamlLines, find_places, load_yaml_with_lines
from .project import NAMED_FROM_HERE, holds_cases, names_in_case

_Items = Annotated[Any, Meta(extra={"takes": "a list of items, or the name of a file of items"})]
_Options = Annotated[
    dict[str, Any], Meta(extra={"takes": "a mapping of options, such as {layout: chunks}"})
]
_Statuses = Annotated[
    dict[str, Literal["included", "trimmed", "dropped"]],
    Meta(extra={"takes": "a mapping of items to included, trimmed or dropped"}),
]
_Strings = tuple[str, ...]
_Count = Annotated[int, Meta(ge=0)]


class _Keys(msgspec.Struct, frozen=True):
    name: Annotated[str, "The case's name in reports."] = ""
    items: Annotated[_Items, "The items, or their file, relative to the file of cases."] = None
    options: Annotated[_Options, "The options of the rendering; `profile` is one here."] = {}
    templates: Annotated[_Strings, "Folders of templates, relative to the file of cases."] = ()
    profiles: Annotated[_Strings, "Folders of profiles, relative to the file of cases."] = ()
    text: Annotated[str | None, "The text; line ends at its end do not count."] = None
    file: Annotated[str | None, "The file that holds the text, every byte of it."] = None
    tokens_at_most: Annotated[_Count | None, "The most tokens the text may cost."] = None
    chars_at_most: Annotated[_Count | None, "The most characters the text may have."] = None
    contains: Annotated[_Strings, "Strings that the text must hold."] = ()
    lacks: Annotated[_Strings, "Strings that the text must not hold."] = ()
    statuses: Annotated[_Statuses, "Included, trimmed or dropped, by id, name or path."] = {}
    warnings: Annotated[_Strings | None, "The codes that are said, notes aside; none: any."] = None
    fails: Annotated[str | None, "A part of the message that the rendering must fail with."] = None


CASE_KEYS = Vocabulary("key", rules_of(_Keys))
# Keys that may stand above all cases of a file, too.
_SHARED = ("items", "options", "templates", "profiles")
_TOP = Vocabulary(
    "key", {name: CASE_KEYS.rules[name] for name in _SHARED} | {"cases": CASE_KEYS.rules["items"]}
)
_CASE_OPTIONS = Vocabulary(
    "option",
    OPTION_VOCABULARY.rules | {"profile": CASE_KEYS.rules["name"]},
    OPTION_VOCABULARY.elsewhere,
    OPTION_VOCABULARY.former,
)
_EXPECTATIONS = CASE_KEYS.rules.keys() - {"name", *_SHARED}
_NEW_FILE = "# Cases to be compared by `promptforge test`.\ncases:\n"


class GoldenCase(NamedTuple):
    """One case."""

    name: str
    path: Path
    line: int
    number: int
    keys: dict[str, Any]
    problem: str | None = None
    """The reason it cannot be run; `None` if it can."""

    def near(self, name: str) -> Path:
        """Return a path relative to the file of cases."""
        return self.path.parent / name

    def access(self, allow_outside: bool = False) -> Access:
        """Return the access of names in the file, which lie in its folder or around `tests`."""
        folder = os.path.abspath(self.path.parent)
        if allow_outside:
            return Access(folder, typed=True, follow=True)
        return Access(folder, root=_outermost(folder))

    def output(self) -> Path:
        """Return the place of the file with the expected text, which lies beside the cases.

        Raises `ItemError`, with file and line, for any other place.
        """
        folder = os.path.abspath(self.path.parent)
        try:
            return Access(folder, root=folder, follow=None).locate_output(self.keys["file"])
        except ItemError as error:
            raise ItemError(f"file: {error.bare}", where=self.where) from None

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.path}:{self.line}"


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


# --- reading ---


def is_cases_file(path: Path) -> bool:
    """Tell a file of cases by a line that begins with `cases:`."""
    try:
        return holds_cases(read_cases_file(path))
    except ItemError:
        return False


def read_cases_file(path: Path) -> str:
    """Return the text of a file of cases; raises `ItemError`."""
    try:
        return read_utf8(path)
    except OSError as error:
        raise ItemError(f"cannot be read: {error.strerror}", where=str(path)) from None


def load_cases(path: Path) -> list[GoldenCase]:
    """Read a file of cases; a wrong one gets a `problem`. Raises `ItemError` for the file."""
    return parse_cases(read_cases_file(path), path, lenient=True)


def parse_cases(text: str, path: Path, *, lenient: bool = False) -> list[GoldenCase]:
    """Parse the text of a file of cases at `path`, or meant for it.

    Raises `ItemError` with file and line. If `lenient`, an error in one case becomes its `problem`.
    """
    try:
        values, lines = load_yaml_with_lines(text, str(path))
        if not isinstance(values, dict) or not isinstance(values.get("cases"), list):
            raise ItemError("a file of cases has the key `cases` with a list", where=f"{path}:1")
        shared = {
            key: _TOP.check(key, value, lambda word: f"{path}:{lines.get((word,), 1)}")
            for key, value in values.items()
        }
        found: list[GoldenCase] = []
        names: set[str] = set()
        for number, given in enumerate(values["cases"]):
            place = lines.get(("cases", number), 1)
            case = GoldenCase(f"case {number + 1}", path, place, number, {})
            try:
                case = _read_case(case, given, shared, lines)
                if case.name in names:
                    place = lines.get(("cases", number, "name"), place)
                    message = f"two cases are called {quote(case.name)}"
                    raise ItemError(message, where=f"{path}:{place}")
            except (ItemError, ProfileError) as error:
                if not lenient:
                    raise
                case = case._replace(keys={}, problem=str(error))
                if isinstance(given, dict) and isinstance(given.get("name"), str):
                    case = case._replace(name=given["name"] or case.name)
            found.append(case)
            names.add(case.name)
    except ProfileError as error:  # raised by the reader of YAML and the check of keys
        raise ItemError(error.bare, where=error.where) from None
    return found


def _read_case(
    case: GoldenCase, given: object, shared: dict[str, Any], lines: YamlLines
) -> GoldenCase:
    place = f"{case.path}:{case.line}"
    if not isinstance(given, dict):
        raise ItemError("a case has lines of the form `key: value`", where=place)

    def where(word: str) -> str:
        shared_line = lines.get((word,), case.line)
        return f"{case.path}:{lines.get(('cases', case.number, word), shared_line)}"

    own = {key: CASE_KEYS.check(key, value, where) for key, value in given.items()}
    keys = {key: rule.default for key, rule in CASE_KEYS.rules.items()} | shared | own
    keys["options"] = {**shared.get("options", {}), **own.get("options", {})}
    if keys["items"] is None:
        raise ItemError("the case has no items: a list, or the name of a file", where=place)
    for option in keys["options"]:
        if option not in _CASE_OPTIONS:
            _CASE_OPTIONS.refuse(option, lambda _: where("options"))
    if not own.keys() & _EXPECTATIONS:
        message = (
            'the case expects nothing: add `text: ""`, and `promptforge test --update` writes it'
        )
        raise ItemError(message, where=place)
    if "text" in own and "file" in own:
        raise ItemError("text and file both give the expected text; keep one", where=where("file"))
    return case._replace(name=keys["name"] or case.name, keys=keys)


# --- running ---


def run_case(
    case: GoldenCase,
    templates: Sequence[Path] = (),
    profiles: Sequence[Path] = (),
    allow_outside: bool = False,
    *,
    draft_templates: Sequence[Mapping[str, str]] = (),
    draft_profiles: Sequence[Path] = (),
) -> CaseOutcome:
    """Render a case and compare; the folders come after those that the case names.

    Drafts come before all of them: texts of templates by name, folders of profiles. Unreadable
    items or an unreadable expected text are problems of the case.
    """
    if case.problem is not None:
        return CaseOutcome(case, (case.problem,))
    keys = case.keys
    options = dict(keys["options"])
    diagnostics = Diagnostics()
    access = case.access(allow_outside)
    try:
        _confine(case, access)
        items = load_case_items(case, diagnostics, access)
        wanted = _wanted_text(case, access)
    except ItemError as error:
        return CaseOutcome(case, (str(error),))
    fails = keys["fails"]
    try:
        renderer = ContextRenderer(
            profile=options.pop("profile", None),
            templates=[*draft_templates, *map(case.near, keys["templates"]), *templates],
            profiles=[*draft_profiles, *map(case.near, keys["profiles"]), *profiles],
            allow_outside=allow_outside,
        )
        result = renderer.render(items, before=tuple(diagnostics), **options)
    except PromptForgeError as error:
        if fails is None:
            return CaseOutcome(case, (f"failed: {error}",))
        if fails in str(error):
            return CaseOutcome(case, ())
        return CaseOutcome(case, (f"failed: {error}\nexpected a message with {quote(fails)}",))
    problems = []
    if fails is not None:
        problems.append(f"did not fail; expected a message with {quote(fails)}")
    differences = _compare_text(case, wanted, result.text)
    problems += [*differences, *_broken_limits(keys, result), *_wrong_items(keys, result)]
    problems += [f"the template failed: {w.message}" for w in result.warnings if w.code == "PF401"]
    stale = bool(differences)
    return CaseOutcome(case, tuple(problems), result.text, result.tokens, stale)


def _confine(case: GoldenCase, access: Access) -> None:
    """Raise `ItemError`, with file and line, for a name that leads out of the cases' folder."""
    here = replace(access, folder=os.curdir)
    for key, name in names_in_case(case.keys):
        _locate(case, here if key in NAMED_FROM_HERE else access, key, name)


def _locate(case: GoldenCase, access: Access, key: str, name: str) -> Path:
    try:
        return access.locate(name)
    except ItemError as error:
        raise ItemError(f"{key}: {error.bare}", where=case.where) from None


def _outermost(folder: str) -> str:
    """Return the folder that the names of cases lie in: their own, or the one around `tests`."""
    above, name = os.path.split(folder)
    # A repository may be called `tests` itself, and lie in a home folder.
    is_whole = os.path.lexists(os.path.join(folder, ".git"))
    if name != "tests" or is_whole or os.path.realpath(above) == os.path.realpath(Path.home()):
        return folder
    return above


def load_case_items(
    case: GoldenCase, diagnostics: Diagnostics | None = None, access: Access | None = None
) -> list[Item]:
    """Return the items of a case; raises `ItemError` for a file that cannot be read."""
    given = case.keys["items"]
    diagnostics, access = diagnostics or Diagnostics(), access or case.access()
    if isinstance(given, str):
        return load_items(given, diagnostics=diagnostics, workspace=access)
    return load_records(given, where=case.where, diagnostics=diagnostics)


def _wanted_text(case: GoldenCase, access: Access) -> str | None:
    if case.keys["file"] is None:
        text: str | None = case.keys["text"]
        return text
    path = _locate(case, access, "file", case.keys["file"])
    if not path.exists():
        return ""
    try:
        return read_bytes(path, note=False).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ItemError("cannot be read as UTF-8 text", where=str(path)) from None


def _compare_text(case: GoldenCase, wanted: str | None, text: str) -> list[str]:
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
    return ["\n".join([said, *_visible_diff(wanted, text)])]


def _visible_diff(expected: str, printed: str) -> Iterator[str]:
    """Yield a unified diff with every character visible; blanks at a line's end are `·`."""
    old, new = (text.split("\n") for text in (expected, printed))
    for line in difflib.unified_diff(old, new, "expected", "printed", lineterm="", n=2):
        mark, text = line[:1], line[1:]
        shown = re.sub(r"(?<! ) +$", lambda blanks: "·" * len(blanks[0]), text)
        yield mark + "\t".join(to_label(part) for part in shown.split("\t"))


def _broken_limits(keys: dict[str, Any], result: Result) -> Iterator[str]:
    numbers = (
        ("tokens", result.tokens, keys["tokens_at_most"]),
        ("characters", result.chars, keys["chars_at_most"]),
    )
    for unit, number, limit in numbers:
        if limit is not None and number > limit:
            yield f"the text has {number:,} {unit}, at most {limit:,} expected"
    for part in keys["contains"]:
        if part not in result.text:
            yield f"the text lacks {quote(part)}"
    for part in keys["lacks"]:
        if part in result.text:
            yield f"the text holds {quote(part)}"


def _wrong_items(keys: dict[str, Any], result: Result) -> Iterator[str]:
    for name, status in keys["statuses"].items():
        found = {each.status for each in result.items if name in (each.id, each.name, each.path)}
        if not found:
            known = ", ".join(quote(case_name_of_item(item)) for item in result.items[:20])
            yield f"there is no item {quote(name)}; there are: {known}"
        elif found != {status}:
            yield f"{quote(name)} is {' and '.join(sorted(found))}, {status} expected"
    if keys["warnings"] is not None:
        said = sorted({w.code for w in result.warnings if w.severity != "info"})
        expected = sorted(set(keys["warnings"]))
        if said != expected:
            shown = ", ".join(said) or "none"
            yield f"warnings: {shown}; expected: {', '.join(expected) or 'none'}"


def case_name_of_item(item: ResultItem) -> str:
    """Return the name of an item in a case."""
    return item.name or item.path or item.id


# --- writing ---


_NOTE_OF_BLOCK = re.compile(r"[|>][-+\d]{0,2}[ \t]+#.*")


def update_case(source: str, case: GoldenCase, text: str) -> str:
    """Return the file `source` with `text` as the expected text of `case`.

    Raises `ItemError` if the text does not stand on lines of its own.
    """
    text = text.rstrip("\n")
    key, value = find_places(source)["cases", case.number, "text"]
    start = source.rfind("\n", 0, key.start) + 1
    where = f"{case.path}:{source.count(chr(10), 0, start) + 1}"
    if source[start : key.start].strip(" -"):
        message = "text is not on lines of its own; put it there, or use file"
        raise ItemError(message, where=where)
    # Blank lines after the text part it from the next case.
    last = len(source[: value.stop].rstrip())
    behind, end, below = source[last:].partition("\n")
    lines = _block_lines(text, key.start - start)
    note = re.search(r"#.*", behind) or _NOTE_OF_BLOCK.match(source, value.start)
    if note:
        lines[0] += f" {note[0][note[0].index('#') :].rstrip()}"
    line_end = "\r\n" if "\r\n" in source else "\n"
    result = f"{source[: key.stop]}: {line_end.join(lines)}{end and line_end}{below}"
    # Read back: YAML has more traps than a writer thinks of.
    values, _ = load_yaml_with_lines(result, str(case.path))
    if (values["cases"][case.number].get("text") or "").rstrip("\n") != text:
        raise ItemError("the text cannot be written in its place; use file", where=where)
    return result


def case_of_result(
    result: Result,
    items: Path | Sequence[Item],
    settings: Mapping[str, Any],
    folder: Path,
    *,
    only_bounds: bool,
) -> dict[str, Any]:
    """Return the keys of a case that holds a result, for a file of cases in `folder`.

    `items` are the items or their file; `settings` has `options`, `profile`, and the folders
    `templates` and `profiles`. The text is expected, or with `only_bounds` tokens and statuses.
    """

    # Relative to the folder of the file, so that both can move.
    def relative(other: str | Path) -> str:
        return Path(os.path.relpath(other, folder)).as_posix()

    keys: dict[str, Any] = {}
    if isinstance(items, Path):
        keys["items"] = relative(items)
    else:
        keys["items"] = list(map(_record, items))
    for what in ("templates", "profiles"):
        if settings[what]:
            keys[what] = list(map(relative, settings[what]))
    keys["options"] = dict(settings["options"])
    if settings["profile"]:
        keys["options"] = {"profile": settings["profile"], **settings["options"]}
    if not only_bounds:
        return keys | {"text": result.text}
    most = result.tokens if result.max_tokens is None else result.max_tokens
    names = Counter(map(case_name_of_item, result.items))
    statuses = {}
    for item in result.items:
        name = case_name_of_item(item)
        if names[name] > 1:  # two items of one name: only the id tells them apart
            name = item.id
        statuses[name] = item.status
    return keys | {"tokens_at_most": most, "statuses": statuses}


def _record(item: Item) -> dict[str, Any]:
    # As a user writes an item: without the fields that have their defaults.
    plain: dict[str, Any] = msgspec.to_builtins(item)
    default = msgspec.structs.asdict(Item())
    if "score" in plain:  # 1 is a score too
        default |= {"score": None, "named": False}
    return {name: value for name, value in plain.items() if value != default[name]}


def add_case(source: str, path: Path, keys: Mapping[str, Any]) -> str:
    """Return the file `source` (empty: a new one) at `path` with a case of these keys added.

    Raises `ItemError` if it would be read otherwise, such as under options of the whole file.
    """
    known, margin, before = [], 2, _NEW_FILE
    if source.strip():
        known = parse_cases(source, path)
        before = source.rstrip("\n") + "\n\n"
    if any(case.name == keys["name"] for case in known):
        message = f"there is a case called {quote(keys['name'])}; choose another name"
        raise ItemError(message, where=str(path))
    if known:
        row = source.split("\n")[known[-1].line - 1]
        margin = len(row) - len(row.lstrip(" "))
    rows: list[str] = []
    for name, value in keys.items():
        lines = _value_lines(name, value, margin)
        rows += [f"{' ' * margin}{'  ' if rows else '- '}{name}:{lines[0]}", *lines[1:]]
    result = before + "\n".join(rows) + "\n"
    # Read back, because options of the whole file change what a case means.
    added = parse_cases(result, path)[len(known) :]
    for name, rule in CASE_KEYS.rules.items():
        wanted, read = keys.get(name, rule.default), added[-1].keys[name]
        if name == "text" and wanted is not None:
            wanted, read = wanted.rstrip("\n"), (read or "").rstrip("\n")
        elif isinstance(rule.default, tuple):
            wanted = tuple(wanted)
        if len(added) != 1 or read != wanted:
            message = (
                f"the case cannot be written here: its {name} would be read otherwise;"
                " use another file"
            )
            raise ItemError(message, where=f"{path}:{added[-1].line}")
    return result


def _value_lines(name: str, value: Any, margin: int) -> list[str]:
    if name == "text":
        first, *more = _block_lines(value.rstrip("\n"), margin + 2)
        return [f" {first}", *more]
    if name == "items" and isinstance(value, list):
        return ["", *(f"{' ' * margin}    - {yaml_value(record)}" for record in value)]
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{yaml_value(key)}: {yaml_value(each)}" for key, each in value.items())
        return [f" {{{pairs}}}"]
    return [f" {yaml_value(value)}"]


def _block_lines(text: str, margin: int) -> list[str]:
    """Return the lines of a text as the value of a YAML key indented by `margin` blanks."""
    if not text or any(not char.isprintable() and char not in "\n\t" for char in text):
        return [yaml_value(text)]
    indent = " " * (margin + 2)
    # Without the digit, YAML would take blanks of the first line for indentation.
    head = "|2" if text[0] in " \n\t" else "|"
    return [head, *(indent + line if line else "" for line in text.split("\n"))]
