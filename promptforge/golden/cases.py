"""Cases as they stand in a YAML file: what is rendered, and what is expected of it."""

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
    name: Annotated[str, "What the case is called in reports."] = ""
    items: Annotated[
        _Items, "The items, or the file they are in, as seen from the case's own file."
    ] = None
    options: Annotated[_Options, "The options of the rendering; `profile` is one here."] = {}
    templates: Annotated[
        tuple[str, ...], "Folders of templates, as seen from the case's own file."
    ] = ()
    profiles: Annotated[
        tuple[str, ...], "Folders of profiles, as seen from the case's own file."
    ] = ()
    text: Annotated[str | None, "The text; line ends at its end do not count."] = None
    file: Annotated[str | None, "The file that holds the text, every byte of it."] = None
    tokens_at_most: Annotated[_Count | None, "The most tokens the text may cost."] = None
    chars_at_most: Annotated[_Count | None, "The most characters the text may have."] = None
    contains: Annotated[tuple[str, ...], "What the text must hold."] = ()
    lacks: Annotated[tuple[str, ...], "What the text must not hold."] = ()
    statuses: Annotated[
        _Statuses, "By id, name or path of an item: included, trimmed or dropped."
    ] = {}
    warnings: Annotated[
        tuple[str, ...] | None, "The codes that are said, notes aside; none: any."
    ] = None
    fails: Annotated[str | None, "What the message holds with which the rendering must fail."] = (
        None
    )


EXPECTED = (
    "text",
    "file",
    "tokens_at_most",
    "chars_at_most",
    "contains",
    "lacks",
    "statuses",
    "warnings",
    "fails",
)
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
    """Its file."""
    line: int
    """The line of the file at which it begins."""
    number: int
    """Its place in the file, from 0."""
    keys: dict[str, Any]
    """Every key of `VOCABULARY`, checked."""
    problem: str | None = None
    """Why the case cannot be run."""

    def near(self, name: str) -> Path:
        """Return a path as it is seen from the case's own file."""
        return self.path.parent / name


def is_cases(path: Path) -> bool:
    """Whether a YAML file holds cases: it says `cases:` at the margin."""
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
    """Return the cases of a file, with its `problem` one that is wrong; raises `ItemError` for the file as a whole."""
    return parse(read(path), path, lenient=True)


def parse(text: str, path: Path, *, lenient: bool = False) -> list[Case]:
    """Return the cases in the text of a file that is, or is to be, at `path`. Raises `ItemError` with file and line.

    `lenient`: not for what is wrong in one case alone, which becomes its `problem`.
    """
    try:
        return _parse(text, path, lenient)
    except ProfileError as error:  # that of YAML and of keys
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
            name = name if isinstance(name, str) and name else f"case {number + 1}"
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
        message = 'the case expects nothing: add `text: ""` and `promptforge test --update` writes what is printed'
        raise ItemError(message, where=f"{path}:{line}")
    if "text" in own and "file" in own:
        raise ItemError("text and file are two words for one thing; keep one", where=where("file"))
    return Case(keys["name"] or f"case {number + 1}", path, line, number, keys)
