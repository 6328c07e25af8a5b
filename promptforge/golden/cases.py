"""Golden cases in YAML files: items and options in, the expected text and figures out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from ..errors import ItemError, ProfileError, quote
from ..folders import contents
from ..options import VOCABULARY as OPTIONS
from ..rules import Vocabulary, rules_of
from ..yamltext import load_with_lines

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


EXPECTED = ("text", "file", "tokens_at_most", "chars_at_most", "contains", "lacks", "statuses",
            "warnings", "fails")  # fmt: skip
"""The keys that say what is expected."""
_SHARED = ("items", "options", "templates", "profiles")
VOCABULARY = Vocabulary("key", rules_of(_Keys))
"""The keys of a case."""
_TOP = Vocabulary(
    "key", {name: VOCABULARY.rules[name] for name in _SHARED} | {"cases": VOCABULARY.rules["items"]}
)


class Case(NamedTuple):
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


def is_cases(path: Path) -> bool:
    """Tell a file of cases by a line that begins with `cases:`."""
    try:
        text = contents(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    return any(line.startswith("cases:") for line in text.splitlines())


def read(path: Path) -> str:
    """Return the text of a file of cases; raises `ItemError`."""
    try:
        return contents(path).decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise ItemError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError:
        raise ItemError("is not UTF-8 text; save it as UTF-8", where=str(path)) from None


def load(path: Path) -> list[Case]:
    """Read a file of cases; a wrong one gets a `problem`. Raises `ItemError` for the file."""
    return parse(read(path), path, lenient=True)


def parse(text: str, path: Path, *, lenient: bool = False) -> list[Case]:
    """Parse the text of a file of cases at `path`, or meant for it.

    Raises `ItemError` with file and line. If `lenient`, an error in one case becomes its `problem`.
    """
    try:
        return _parse(text, path, lenient)
    except ProfileError as error:  # raised by the reader of YAML and the check of keys
        raise ItemError(error.bare, where=error.where) from None


def _parse(text: str, path: Path, lenient: bool) -> list[Case]:
    values, lines = load_with_lines(text, str(path))
    if not isinstance(values, dict) or not isinstance(values.get("cases"), list):
        raise ItemError("a file of cases has the key `cases` with a list", where=f"{path}:1")
    shared = {
        key: _TOP.check(key, value, lambda word: f"{path}:{lines.get((word,), 1)}")
        for key, value in values.items()
    }
    found: list[Case] = []
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
            case = Case(name, path, lines.get(("cases", number), 1), number, {}, str(error))
        found.append(case)
    return found


def _case(
    given: object,
    number: int,
    shared: dict[str, Any],
    path: Path,
    lines: Mapping[tuple[str | int, ...], int],
) -> Case:
    line = lines.get(("cases", number), 1)
    if not isinstance(given, dict):
        raise ItemError("a case has lines of the form `key: value`", where=f"{path}:{line}")

    def where(word: str) -> str:
        return f"{path}:{lines.get(('cases', number, word), line)}"

    own = {key: VOCABULARY.check(key, value, where) for key, value in given.items()}
    keys = {key: rule.default for key, rule in VOCABULARY.rules.items()} | shared | own
    keys["options"] = {**shared.get("options", {}), **own.get("options", {})}
    if keys["items"] is None:
        raise ItemError(
            "the case has no items: a list, or the name of a file", where=f"{path}:{line}"
        )
    for option in keys["options"]:
        if option not in OPTIONS and option != "profile":
            OPTIONS.refuse(option, lambda _: where("options"))
    if not any(key in own for key in EXPECTED):
        message = (
            'the case expects nothing: add `text: ""`, and `promptforge test --update` writes it'
        )
        raise ItemError(message, where=f"{path}:{line}")
    if "text" in own and "file" in own:
        raise ItemError("text and file both give the expected text; keep one", where=where("file"))
    return Case(keys["name"] or f"case {number + 1}", path, line, number, keys)
