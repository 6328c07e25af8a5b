"""Errors and diagnostics of promptforge, and helpers for their messages.

PromptForgeError            exit code of the command line
├── OptionError             2   an option, its name or its value
│   ├── ProfileError        2   the same, in a profile file (has a line)
│   └── TokenizerError      2   an unknown or unusable tokenizer
├── BudgetError             3   required items do not fit
├── ItemError               4   an item or a source: a record, a file, a man page, a technique
├── TemplateError           5   a template that cannot be found, compiled or rendered
└── StrictError             1   `strict`, and there was a warning

Diagnostics are warnings as values: everything defaulted, replaced, cut or skipped. Their codes:
PF1xx profile and budget, PF2xx metadata, PF3xx content, PF4xx template, PF5xx tokenizer, PF6xx
sources, PF7xx security. Every message is one line: it names the thing, its place and the way out.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar

Result = TypeVar("Result")
Severity = Literal["info", "warning", "error"]
MAX_PLACE_CHARACTERS = 300
MAX_DIAGNOSTICS_PER_CODE = 100
"""Diagnostics of one code that are kept one by one; of the rest, only the number."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that a reader of the result should know."""

    code: str
    """`PF` and three digits; stable."""
    severity: Severity
    """`info` never fails a strict run; `warning` and `error` do."""
    message: str
    item: str | None = None
    """The id of the item concerned."""
    where: str | None = None
    """File, line and field, or template and line."""

    def __str__(self) -> str:
        """Return place, message and code on one line."""
        line = f"{self.message} [{self.code}]"
        place = self.where or self.item
        # An id may hold anything: line ends, escape sequences, a megabyte.
        if place and not (place.isprintable() and len(place) <= MAX_PLACE_CHARACTERS):
            place = f'"{ascii(place[:80])[1:-1]}"'
        # Said already, or not: a file may be called `pipe`, and a folder `.`.
        is_said = place and (f'"{place}"' in line or line.startswith((f"{place} ", f"{place}:")))
        return f"{place}: {line}" if place and not is_said else line


class Diagnostics:
    """An ordered, capped collection of diagnostics: one a run, never shared between threads."""

    def __init__(self, others: Iterable[Diagnostic] = ()) -> None:
        self._kept: list[Diagnostic] = []
        self._count: dict[str, int] = {}
        self.extend(others)

    def add(
        self,
        code: str,
        message: str,
        *,
        item: str | None = None,
        where: str | None = None,
        severity: Severity = "warning",
    ) -> None:
        """Record one diagnostic; beyond 100 of a code, count it only."""
        self._count[code] = self._count.get(code, 0) + 1
        if self._count[code] <= MAX_DIAGNOSTICS_PER_CODE:
            self._kept.append(Diagnostic(code, severity, message, item, where))

    def extend(self, others: Iterable[Diagnostic]) -> None:
        """Record diagnostics made elsewhere."""
        for d in others:
            self.add(d.code, d.message, item=d.item, where=d.where, severity=d.severity)

    def copy(self) -> "Diagnostics":
        """Return an independent collection with the same diagnostics."""
        other = Diagnostics()
        other._kept, other._count = [*self._kept], self._count.copy()
        return other

    def go_back(self, earlier: "Diagnostics") -> None:
        """Forget what was recorded since `earlier` was copied."""
        self._kept, self._count = earlier._kept, earlier._count

    def __iter__(self) -> Iterator[Diagnostic]:
        yield from self._kept
        for code, count in self._count.items():
            more = count - MAX_DIAGNOSTICS_PER_CODE
            if more > 0:
                severity = next(d.severity for d in self._kept if d.code == code)
                yield Diagnostic(code, severity, f"{more} more like this")

    def __len__(self) -> int:
        return sum(1 for _ in self)


# Not `kind.__name__`: a metaclass may define a property of that name and answer anything.
TYPE_NAME = type.__dict__["__name__"].__get__
"""The name of a type, whatever its metaclass says."""


def type_name_of(value: object) -> str:
    """Return the name of a value's type for a message: `text`, `object`, `list`, `int`, `Foo` …"""
    kind = type(value)
    words = {str: "text", dict: "object", type(None): "null"}
    return words.get(kind) or ascii(TYPE_NAME(kind))[1:-1][:60]


MAX_NAMES_LISTED = 80
"""Names in one message; of more, only the number is given."""
MAX_NAMES_COMPARED = 200
"""Names that a wrong one is compared with, in 0.1 ms each; a template may set 1,000 variables."""
MAX_GUESSES = 100
"""Wrong names of one template that are compared with others: 700 of them would take a minute."""
_MAX_COMPARED_CHARS = 200  # of a name: two of 100,000 letters would be compared for ever
_LONG_WORD_LETTERS = 8  # from this length on, two letters may be wrong instead of one
DISTRIBUTION = "promptforge-engine"


def pip_install(extra: str) -> str:
    """Return the command that adds an extra to this installation, from where it came.

    pip writes that into `direct_url.json` (PEP 610): a folder, a repository or an archive. Without
    the file, the package came from an index.

    Example: `pip install -e '/home/me/promptforge[preview]'`.
    """
    import json  # these here: most runs lack nothing
    from importlib import metadata

    try:
        text = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # a source tree on PYTHONPATH
        text = None
    return _command_for(extra, json.loads(text or "{}"))


def _command_for(extra: str, origin: Mapping[str, Any]) -> str:
    import shlex
    from urllib.parse import unquote

    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        flag = "-e " * bool(origin["dir_info"].get("editable"))
        target = f"{unquote(url.removeprefix('file://'))}[{extra}]"
        return f"pip install {flag}{shlex.quote(target)}"
    target = f"{DISTRIBUTION}[{extra}]"
    if "vcs_info" in origin:
        revision = origin["vcs_info"].get("requested_revision")
        target += f" @ {origin['vcs_info'].get('vcs', 'git')}+{url}"
        if revision:
            target += f"@{revision}"
    elif "archive_info" in origin:
        target += f" @ {url}"
    return f"pip install {shlex.quote(target)}"


def suggest_name(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean "x"?`` for the closest known name, else a list of all of them."""
    names = sorted(set(known))
    guess = did_you_mean(word, names)
    if guess or not names:
        return guess
    return f"; there are: {list_names(names)}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean "x"?`` for the closest known name, or the empty string."""
    from difflib import get_close_matches  # here and below: most runs have no wrong name

    names = sorted(set(known))
    if len(names) > MAX_NAMES_COMPARED:
        names = sorted(names, key=lambda name: abs(len(name) - len(word)))[:MAX_NAMES_COMPARED]
    # In small letters: `CLAUDE` and `claude` have none in common.
    spelt = {n.lower(): n for n in names if max(len(n), len(word)) <= _MAX_COMPARED_CHARS}
    begun = [name for name in spelt if name.startswith(word.lower())]  # rag: rag-service
    for near in get_close_matches(word.lower(), spelt, n=3) + begun * (len(begun) == 1):
        if _is_alike(word.lower(), near):
            return f'; did you mean "{spelt[near]}"?'
    return ""


def _is_alike(word: str, name: str) -> bool:
    if word.endswith(".j2") and name.endswith(".j2"):
        # Endings and folders are equal in most templates' names, so they prove nothing.
        word, name = (text.split(".")[0].rpartition("/")[2] for text in (word, name))
    longest = max(len(word), len(name))
    return word in name or _common_letters(word, name) >= longest - max(1, longest // 3)


def list_names(names: Sequence[str], most: int = MAX_NAMES_LISTED) -> str:
    """Return names with commas between them: the first, at `most`, and the number of the others."""
    listed = ", ".join(names[:most])
    if len(names) > most:
        listed += f" and {len(names) - most:,} more"
    return listed


def certain_correction(word: str, known: Iterable[str]) -> str | None:
    """Return the one known name that `word` must be a misspelling of, or `None`.

    One letter may be wrong, missing, added or misplaced; in a long word two.
    """
    # `check --fix` writes this into files, so it must be the only name in reach.
    known = set(known)
    wrong = 1 + (len(word) >= _LONG_WORD_LETTERS)
    near = [name for name in known if abs(len(word) - len(name)) <= wrong]
    if len(near) > MAX_NAMES_COMPARED or len(word) > _MAX_COMPARED_CHARS:
        return None
    near = [
        name for name in near if _common_letters(word, name) >= max(len(word), len(name)) - wrong
    ]
    return near[0] if len(near) == 1 and word not in known else None


def _common_letters(word: str, name: str) -> int:
    from difflib import SequenceMatcher

    blocks = SequenceMatcher(None, name, word, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks)


def quote(value: object, limit: int = 80) -> str:
    """Return `value` quoted, at most `limit` characters; what cannot be seen is escaped.

    The result can neither forge a line of a log nor control a terminal.
    """
    text = value if type(value) is str else TYPE_NAME(type(value))
    shown = repr(text[:limit])[1:-1].replace("\\'", "'")
    if len(text) > limit:
        shown += "…"
    return f'"{shown}"'


def cut_long_words(message: str) -> str:
    """Return a message with words of at most 1,000 characters: a name may have a million.

    The end of a path has its file and line.
    """
    return re.sub(r"(?<!\S)(\S{500})\S{2,}(\S{499})", r"\1…\2", message)


class PromptForgeError(Exception):
    """The root of all errors of this library."""

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None) -> None:
        super().__init__(cut_long_words(f"{where}: {message}" if where else message))
        self.where = where
        """The place that the message begins with, if it has one."""

    # Python would call `BudgetError(message)`, without `needed`, and a pool of processes waits
    # forever for an answer that cannot be unpickled.
    def __reduce__(self) -> tuple[object, ...]:
        return _remake_error, (type(self), self.args, self.__dict__)

    @property
    def bare(self) -> str:
        """The message without its place."""
        return str(self).removeprefix(cut_long_words(f"{self.where}: "))


def _remake_error(
    kind: type[PromptForgeError], args: tuple[str, ...], state: dict[str, object]
) -> PromptForgeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class OptionError(PromptForgeError):
    """An unknown option, or a value that an option does not take."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        option: str | None = None,
        absent: str | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message + hint, where=where)
        self.option = option
        self.absent = absent
        """Name of a layout, prompt, template or profile that does not exist."""
        self.hint = hint
        """The end of the message; the command line replaces it when it knows more."""


class ProfileError(OptionError):
    """A profile, job or layout file that cannot be read. `where` is `file:line`."""

    def __init__(
        self, message: str, *, where: str | None = None, option: str | None = None,
        column: int | None = None, inside: tuple[str, ...] = (), absent: str | None = None,
        hint: str = "",
    ) -> None:  # fmt: skip
        super().__init__(message, where=where, option=option, absent=absent, hint=hint)
        self.column = column
        """Character of the line, from 1, if known."""
        self.inside = inside
        """Keys inside the value of `option` that lead to the mistake."""


class BudgetError(PromptForgeError):
    """The budget is too small for the required items."""

    exit_code = 3

    def __init__(self, message: str, *, needed: int, largest: int) -> None:
        super().__init__(message)
        self.needed = needed
        """The smallest budget that would do, in the unit of `largest`."""
        self.largest = largest
        """The given ceiling, in tokens or characters."""


class ItemError(PromptForgeError):
    """A record or a source that cannot become an item. `where` names file, line and field."""

    exit_code = 4

    def __init__(self, message: str, *, where: str | None = None, field: str | None = None) -> None:
        super().__init__(message, where=where)
        self.field = field


class TokenizerError(OptionError):
    """A tokenizer that is unknown or cannot be loaded."""


def call_foreign(
    call: Callable[..., Result], refusal: Callable[[str], PromptForgeError], *given: Any
) -> Result:
    """Call code of another package; turn what it raises into an error that `refusal` makes.

    A panic of a library in Rust is a `BaseException`, which no `except Exception` catches. Ctrl-C
    and `sys.exit()` are the user's and pass through.

        call_foreign(tokenizer.encode, TokenizerError, text)
    """
    try:
        return call(*given)
    except (PromptForgeError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        said = f"{TYPE_NAME(type(error))}: {quote(str(error), 200)}"
        raise refusal(said) from error


class Excerpt(NamedTuple):
    """A line of a template with a range of columns: `column` from 1, `end` not included."""

    line: int
    source: str
    column: int
    end: int

    @classmethod
    def at(cls, text: str, start: int, length: int) -> "Excerpt":
        """Return the line at an offset of `text`, with the columns of `length` characters."""
        begin = text.rfind("\n", 0, start) + 1
        line = text[begin:].partition("\n")[0]
        column = start - begin + 1
        end = min(column + max(length, 1), len(line) + 2)
        return cls(text.count("\n", 0, start) + 1, line, column, end)


class TemplateError(PromptForgeError):
    """A template that is missing, does not compile or fails. `where` is `name:line`."""

    exit_code = 5

    def __init__(
        self, message: str, *, where: str | None = None, excerpt: Excerpt | None = None
    ) -> None:
        super().__init__(message, where=where)
        self.excerpt = excerpt
        """The line at fault, if known."""


class StrictError(PromptForgeError):
    """A warning or error in strict mode (`strict: true`). It carries the lenient result."""

    def __init__(
        self, message: str, *, diagnostics: tuple[Diagnostic, ...] = (), result: object = None
    ) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics
        self.result = result


def show_value(value: Any) -> str:
    """Return a value for a message: words and numbers plain, texts quoted, others by type."""
    if value is None or value is True or value is False:
        return {None: "none", True: "true", False: "false"}[value]
    kind = type(value)  # the methods of a subclass may raise anything
    if issubclass(kind, int):
        long = int.bit_length(value) > 64  # repr(10**5000) raises
        return "a number past 64 bits" if long else int.__repr__(value)
    if issubclass(kind, float):
        return float.__repr__(value)
    if type(value) in (list, tuple):
        return f"[{_join(map(_show_member, value[:5]), len(value))}]"
    if type(value) is dict:
        pairs = (f"{_show_member(key)}: {_show_member(value[key])}" for key in islice(value, 3))
        return f"{{{_join(pairs, len(value))}}}"
    return quote(value) if type(value) is str else f"a value of type {TYPE_NAME(kind)}"


def _join(members: Iterable[str], size: int) -> str:
    shown = list(members)
    return ", ".join([*shown, "…"] if size > len(shown) else shown)


def _show_member(value: object) -> str:
    return "…" if type(value) in (list, tuple, dict) else show_value(value)
