"""The trimmers: the modules that shorten texts, by kind of item and by language.

To add one, write a module here with `divide(text, *, marks, language)`, and name it in a table.
It returns `Pieces`, or `TrimmedVariants` of its own; None for a text without the structure it
knows. A user's trimmer is a plug-in. Two reductions that a reader asks for stand here too:
outlines, and texts without empty lines; `comments` has programs without comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ..errors import OptionError, quote, suggest_name
from ..files.memory import recall
from ..plugins import Plugin, call_plugin, find_plugin
from ..text.characters import freeze
from ..text.detection import detect_language
from ..text.format import Marks, append_marker
from ..text.words import STOP_WORDS, late_pattern, split_words

if TYPE_CHECKING:
    from .pieces import CompactText, Structure, TrimmedVariants

TRIMMERS_BY_KIND = {
    **dict.fromkeys(("commit", "diff"), "patch"),
    "error": "failure",
    "log": "log",
    "man_page": "man_page",
    "mitre_attack": "attack_technique",
    **dict.fromkeys(("history", "repl-history", "repl_history", "terminal"), "history"),
}
"""Kind of item → the module that shortens its text; this goes before its language."""
TRIMMERS_BY_LANGUAGE = {
    **dict.fromkeys(("console", "pycon", "shell-session"), "history"),
    **dict.fromkeys(("diff", "patch"), "patch"),
    **dict.fromkeys(("json", "jsonl", "ndjson", "repr"), "json"),
    **dict.fromkeys(("asciidoc", "latex"), "markup"),
    **dict.fromkeys(("astro", "svelte", "vue"), "component"),
    **{name: name for name in ("html", "log", "markdown", "python", "rst")},
    "man": "man_page",
    "traceback": "failure",
    **dict.fromkeys(
        ("csv", "dockerfile", "ini", "listing", "properties", "toml", "tsv", "xml", "yaml"),
        "entries",
    ),
}
PROGRAM_KINDS = frozenset({"class", "code", "function", "interface", "method", "module", "type"})
"""Kinds with programs as texts, unless their language says otherwise."""
_NO_PROGRAM_LANGUAGES = {
    *TRIMMERS_BY_LANGUAGE,
    *("none", "plain", "svg", "text", "txt"),
} - {"astro", "python", "svelte", "vue"}
_OWN_KINDS = {
    *(*TRIMMERS_BY_KIND, *PROGRAM_KINDS),
    *("conversation", "custom", "decision", "document", "feature", "file", "message"),
    *("requirement", "section", "session", "text"),
}
"""Kinds that no plug-in may shorten."""
MAX_CHARS_DIVIDED = 1 << 20
"""A longer text is not shortened by its structure."""
MAX_LINES_DIVIDED = 20_000
"""Nor is a text of more lines or pieces: it would take seconds."""
MAX_LINES_COUNTED = 100_000
"""Lines of a log above which equal ones are not counted."""
TIMES_READ, MIN_CHARS_READ = 8, 1 << 12
"""Times the room for a variant that a program is read, at least: the signatures in so much fill it.
Of 150 long files in a hundredth of their size, reading all took 6 of 9 seconds."""
MAX_CHARS_REMEMBERED = 1 << 14
"""The pieces of a text up to this length are remembered."""
SHARE_OF_STOP_WORDS = 0.2
"""Share of stop words above which a text is prose: 0.21 to 0.5 of 95 % of 1,600 passages."""
MAX_CHARS_PARSED = 1 << 15
_MAY_BE_PYTHON = (None, "c", "code", "cpp", "csv", "listing", "markdown", "rst", "toml", "yaml")
_PYTHON_LINE = late_pattern(
    r"(?m)^(?:async def|def|class|from|import) [\w.]+(?:[(:]| import | as |\s*$)"
)
MAX_PLUGIN_TEXTS = 1_000
MAX_TEXTS_DETECTED = 4_096
"""Texts with their languages by content that are remembered: each is asked for several times."""
_OUTER_STATEMENT = late_pattern(r"^(?=[\w@])", re.MULTILINE)
_INNER_STATEMENT = late_pattern(r"^(?=[\w@]|(?:    |\t)(?:def|async|@))", re.MULTILINE)
"""A text read in part may end within a class where no brace would be left open."""
_SETS_DATA = late_pattern(
    r"(?:\w{1,30}[ \t]{1,9}){0,4}[\w.]{1,99}[ \t]*(?::[^=\n]{0,99}+)?:?="
    r"[ \t]*(?:[\w.]{0,60}\(?[\[{(]?|[rbuf]{0,2})[\"'`(\[{]"
)


class Trimmers(NamedTuple):
    """The ways to shorten items: by the words and the kinds of a layout's settings."""

    marks: Marks
    trim_as: Mapping[str, str] = {}
    """Kind of item → the kind or language that its text is shortened as."""
    compacts: bool = True
    """True if like objects of JSON are shown as a table."""

    def find_structure(
        self, kind: str, language: str | None, text: str, reach: int = 0
    ) -> Structure:
        """Return the structure of the text of an item, as far as it can be shortened by it.

        None if it has no known structure, or is too long. With `reach` of a program only the first
        so many characters, or a few more; the rest is one more piece. Raises `OptionError` if a
        plug-in fails.
        """
        from .pieces import Piece, Pieces

        kind = self.trim_as.get(kind, kind)
        name = TRIMMERS_BY_LANGUAGE.get(language or "", "code")
        for statement in (_INNER_STATEMENT, _OUTER_STATEMENT) if reach else ():
            end = statement.search(text, reach)
            if end and (statement is _OUTER_STATEMENT or name == "python"):
                found = _divide_once(kind, language, text[: end.start()], self.marks, only=name)
                if isinstance(found, Pieces):  # else it ends within a string, say
                    rest = Piece(text[end.start() :], keep=-1.0)  # the first to go
                    return found.with_parts([*found.parts, rest])
        if len(text) > MAX_CHARS_DIVIDED or max(map(text.count, "\n\r")) > MAX_LINES_DIVIDED:
            return None
        if kind not in _OWN_KINDS:
            plugin = find_plugin("trimmers", kind, _refusal)
            if plugin is not None:
                return _ask_plugin(plugin, kind, language, text, self.marks.marker)
        # A text at the edge of one budget is at the edge of the next budget too.
        divide = _divide_once if len(text) <= MAX_CHARS_REMEMBERED else _divide
        return divide(kind, language, text, self.marks, tables=self.compacts)

    def reach(self, kind: str, language: str | None, length: int, chars: float) -> int:
        """Return how much of a text is read for a variant of so many characters; 0: all.

        There are few sizes, so that a text is not read again for each variant.
        """
        reach = MIN_CHARS_READ
        while reach < TIMES_READ * chars and 2 * reach < length:
            reach *= 2
        if not 2 * reach < length <= MAX_CHARS_DIVIDED:
            return 0
        kind = self.trim_as.get(kind, kind)
        reads_on = kind in _OWN_KINDS - TRIMMERS_BY_KIND.keys() and is_program(kind, language)
        reads_on &= TRIMMERS_BY_LANGUAGE.get(language or "") != "component"
        return reach if reads_on else 0

    def compact(self, kind: str, language: str | None, text: str) -> CompactText | None:
        """Return the text of an item in fewer characters, before any of it is cut; None: as it is.

        JSON has no blanks and tables of its like objects, a page of HTML has its main part, equal
        lines of a log are counted.
        """
        kind = self.trim_as.get(kind, kind)
        module = TRIMMERS_BY_KIND.get(kind) or TRIMMERS_BY_LANGUAGE.get(language or kind)
        module = "log" if module in ("failure", "history") else module
        if module not in ("html", "json", "log") or len(text) > MAX_CHARS_DIVIDED:
            return None
        if module == "log" and text.count("\n") > MAX_LINES_COUNTED:
            return None
        make = import_module(f".{module}", __package__).compact
        found: CompactText | None = make(text, marks=self.marks, language=language)
        return found

    def is_program(self, kind: str, language: str | None) -> bool:
        """Tell whether texts of a kind and language are programs."""
        return is_program(self.trim_as.get(kind, kind), language)


def refuse_unknown_trimmer(name: str) -> str | None:
    """Return the message about a `trim_as` that is no kind, language or plug-in; else None."""
    known = _OWN_KINDS | TRIMMERS_BY_LANGUAGE.keys()
    if name in known or find_plugin("trimmers", name, _refusal):
        return None
    return f"trim_as: there is no way to shorten {quote(name)}{suggest_name(name, known)}"


def _divide(
    kind: str,
    language: str | None,
    text: str,
    marks: Marks,
    *,
    only: str | None = None,
    tables: bool = True,
) -> Structure:
    from .pieces import Pieces

    by_kind = TRIMMERS_BY_KIND.get(kind) or TRIMMERS_BY_LANGUAGE.get(kind)
    modules = [only] if only else [by_kind, TRIMMERS_BY_LANGUAGE.get(language or "")]
    if is_program(kind, language) and not only:
        modules.append("code")
    for name in filter(None, modules):
        # Loaded when first needed: each has patterns or a parser of its own, and most runs need
        # one or none.
        divide: Callable[..., Structure] = import_module(f".{name}", __package__).divide
        if name == "json":  # it writes texts of its own, and looks at no letter
            found = divide(text, marks=marks, language=language, tables=tables)
        else:
            frozen = freeze(text)
            found = divide(frozen, marks=marks, language=language)
            if isinstance(found, Pieces) and frozen is not text:
                found = found.of(text)
        if isinstance(found, Pieces) and len(found.parts) > MAX_LINES_DIVIDED:
            return None
        if found is not None:
            return found
    return None


_divide_once = lru_cache(maxsize=256)(_divide)


def _ask_plugin(
    plugin: Plugin, kind: str, language: str | None, text: str, marker: str
) -> TrimmedVariants:
    """Return the texts of a plug-in that are shorter than `text`; one without `marker` gets it."""
    from .pieces import TrimmedText, TrimmedVariants

    def ask() -> set[str]:
        found = set()
        # A generator may fail half-way, or never end.
        shorter = plugin.value(text, marker=marker, language=language)
        for given in islice(shorter, MAX_PLUGIN_TEXTS):
            if not isinstance(given, str):
                raise TypeError(f"expected a list of texts, found {type(given).__name__}")
            # Not `str(given)`: a subclass may answer with another text than its own.
            plain = str.__str__(given)
            found.add(plain if marker in plain else append_marker(plain, marker))
        return found

    found: set[str] = call_plugin(plugin._replace(value=ask), f'trimmer "{kind}"', _refusal)
    shortened = [each for each in found if len(each) < len(text)]
    shortened.sort(key=lambda each: (-len(each), each))
    return TrimmedVariants(len(shortened), lambda number: TrimmedText(shortened[number]))


def _refusal(message: str) -> OptionError:
    return OptionError(f"{message}; trim: prefix does without it", option="trim")


def language_by_content(kind: str, text: str) -> str | None:
    """Return the language of the text of an item that has none by its name; None: the kind tells.

    A text of a program's kind is a program, whatever it looks like; but not prose.
    """
    if kind in TRIMMERS_BY_KIND:
        return None
    found = _detect_once(text)
    if kind in PROGRAM_KINDS and not is_program(kind, found):
        return None
    if found is None and kind in PROGRAM_KINDS:
        words = split_words(text[:MIN_CHARS_READ].lower())
        if sum(map(STOP_WORDS.__contains__, words)) > SHARE_OF_STOP_WORDS * len(words):
            return "text"
    return found


@lru_cache(maxsize=MAX_TEXTS_DETECTED)
def _detect_once(text: str) -> str | None:
    detect: partial[str | None] = partial(_detect, text)
    return recall(text, ("language",), detect, str | None)  # type: ignore[arg-type]


def _detect(text: str) -> str | None:
    """Return the language of a text; that of short Python is told by Python itself."""
    found = detect_language(text)
    is_short = found in _MAY_BE_PYTHON and len(text) <= MAX_CHARS_PARSED
    if is_short and _PYTHON_LINE.search(text):
        from .python import parse_python

        return "python" if parse_python(text) else found
    return found


def is_cut_within_data(text: str, chars: int) -> bool:
    """Tell whether a program's first `chars` characters end in a literal as long as they are.

    Of `DATA = "…"` the beginning says nothing of the functions below it.
    """
    starts = [found.start() for found in _OUTER_STATEMENT.finditer(text, 0, chars)]
    if not starts or not _SETS_DATA.match(text, starts[-1], chars):
        return False
    return _OUTER_STATEMENT.search(text, chars, 2 * chars) is None


def is_program(kind: str, language: str | None) -> bool:
    """Tell whether a text of this kind and language is shortened as a program."""
    if language:
        return language not in _NO_PROGRAM_LANGUAGES
    return kind in PROGRAM_KINDS


def without_empty_lines(text: str) -> str:
    """Return `text` without lines that hold nothing but blanks."""
    return "".join(line for line in text.splitlines(keepends=True) if line.strip())
