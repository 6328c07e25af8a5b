"""The trimmers: the modules that shorten texts, by kind of item and by language.

To add one, write a module here with `divide(text, *, marks, language)`, and name it in a table.
It returns `Pieces`, or `TrimmedVariants` of its own; None for a text without the structure it
knows. A user's trimmer is a plug-in. The reductions that a reader asks for stand here too:
outlines, programs without comments, texts without empty lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple

from ..errors import OptionError, PromptForgeError, call_foreign, pip_install, quote, suggest_name
from ..plugins import Plugin, call_plugin, find_plugin
from ..text.characters import freeze
from ..text.format import Marks
from ..text.words import late_pattern
from .pieces import Pieces, TrimmedText, TrimmedVariants, append_marker

Structure = Pieces | TrimmedVariants | None
TRIMMERS_BY_KIND = {
    **dict.fromkeys(("commit", "diff"), "patch"),
    "error": "traceback",
    "log": "log",
    "man_page": "man_page",
    "mitre_attack": "attack_technique",
    **dict.fromkeys(("history", "repl-history", "repl_history", "terminal"), "history"),
}
"""Kind of item → the module that shortens its text; this goes before its language."""
TRIMMERS_BY_LANGUAGE = {
    **dict.fromkeys(("console", "pycon", "shell-session"), "history"),
    **dict.fromkeys(("diff", "patch"), "patch"),
    **dict.fromkeys(("json", "jsonl", "ndjson"), "json"),
    **dict.fromkeys(("asciidoc", "latex"), "markup"),
    "html": "html",
    "log": "log",
    "markdown": "markdown",
    "python": "python",
    "rst": "rst",
    **dict.fromkeys(
        ("csv", "dockerfile", "ini", "properties", "toml", "tsv", "xml", "yaml"), "entries"
    ),
}
PROGRAM_KINDS = frozenset({"class", "code", "function", "interface", "method", "module", "type"})
"""Kinds with programs as texts, unless their language says otherwise."""
_NO_PROGRAM_LANGUAGES = {
    *TRIMMERS_BY_LANGUAGE,
    *("none", "plain", "svg", "text", "txt"),
} - {"python"}
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
TIMES_READ, MIN_CHARS_READ = 8, 1 << 12
"""Times the room for a variant that a program is read, at least: the signatures in so much fill it.
Of 150 long files in a hundredth of their size, reading all took 6 of 9 seconds."""
MAX_CHARS_REMEMBERED = 1 << 14
"""The pieces of a text up to this length are remembered."""
MAX_PLUGIN_TEXTS = 1_000
_OUTER_STATEMENT = late_pattern(r"^(?=[\w@])", re.MULTILINE)
_INNER_STATEMENT = late_pattern(r"^(?=[\w@]|(?:    |\t)(?:def|async|@))", re.MULTILINE)
"""A text read in part may end within a class where no brace would be left open."""
_CODE_LINE = late_pattern(
    r"^(?:[ \t]{2,}\S.*|.*[{};]"
    r"|[ \t]*(?:def|class|func|function|fn|import|from|const|let|var|public|private|static)\b.*)$",
    re.MULTILINE,
)


class Trimmers(NamedTuple):
    """The ways to shorten items: by the words and the kinds of a layout's settings."""

    marks: Marks
    trim_as: Mapping[str, str] = {}
    """Kind of item → the kind or language that its text is shortened as."""

    def find_structure(
        self, kind: str, language: str | None, text: str, reach: int = 0
    ) -> Structure:
        """Return the structure of the text of an item, as `find_structure` does.

        With `reach` of a program only the first so many characters, or a few more; the rest is
        one more piece.
        """
        kind = self.trim_as.get(kind, kind)
        name = TRIMMERS_BY_LANGUAGE.get(language or "", "code")
        for statement in (_INNER_STATEMENT, _OUTER_STATEMENT) if reach else ():
            end = statement.search(text, reach)
            if end and (statement is _OUTER_STATEMENT or name == "python"):
                found = _divide_once(kind, language, text[: end.start()], self.marks, name)
                if isinstance(found, Pieces):  # else it ends within a string, say
                    return found.followed_by(text[end.start() :])
        return find_structure(kind, language, text, self.marks)

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
        return reach if reads_on else 0

    def is_program(self, kind: str, language: str | None) -> bool:
        """Tell whether texts of a kind and language are programs."""
        return is_program(self.trim_as.get(kind, kind), language)

    def looks_like_program(self, kind: str, language: str | None, text: str) -> bool:
        """Tell whether a text is a program, by its kind and language or by half of its lines."""
        if self.is_program(kind, language):
            return True
        # A man page is indented as far as a function's body.
        if self.trim_as.get(kind, kind) in TRIMMERS_BY_KIND or language in TRIMMERS_BY_LANGUAGE:
            return False
        text = freeze(text[:MAX_CHARS_DIVIDED])  # the beginning of a huge one tells
        lines = sum(1 for line in text.split("\n") if line.strip())
        return lines > 2 and 2 * len(_CODE_LINE.findall(text)) >= lines


def refuse_unknown_trimmer(name: str) -> str | None:
    """Return the message about a `trim_as` that is no kind, language or plug-in; else None."""
    known = _OWN_KINDS | TRIMMERS_BY_LANGUAGE.keys()
    if name in known or find_plugin("trimmers", name, _refusal):
        return None
    return f"trim_as: there is no way to shorten {quote(name)}{suggest_name(name, known)}"


def find_structure(kind: str, language: str | None, text: str, marks: Marks) -> Structure:
    """Return the structure of the text of an item, as far as it can be shortened by it.

    None if it has no known structure, or is too long. Raises `OptionError` if a plug-in fails.
    """
    if len(text) > MAX_CHARS_DIVIDED or max(map(text.count, "\n\r")) > MAX_LINES_DIVIDED:
        return None
    if kind not in _OWN_KINDS:
        plugin = find_plugin("trimmers", kind, _refusal)
        if plugin is not None:
            return _ask_plugin(plugin, kind, language, text, marks.marker)
    # A text at the edge of one budget is at the edge of the next budget too.
    divide = _divide_once if len(text) <= MAX_CHARS_REMEMBERED else _divide
    return divide(kind, language, text, marks)


def _divide(
    kind: str, language: str | None, text: str, marks: Marks, only: str | None = None
) -> Structure:
    by_kind = TRIMMERS_BY_KIND.get(kind) or TRIMMERS_BY_LANGUAGE.get(kind)
    modules = [only] if only else [by_kind, TRIMMERS_BY_LANGUAGE.get(language or "")]
    if is_program(kind, language) and not only:
        modules.append("code")
    for name in filter(None, modules):
        # Loaded when first needed: each has patterns or a parser of its own, and most runs need
        # one or none.
        divide: Callable[..., Structure] = import_module(f".{name}", __package__).divide
        if name == "json":  # it writes texts of its own, and looks at no letter
            found = divide(text, marks=marks, language=language)
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

    def ask() -> set[str]:
        found = set()
        # A generator may fail half-way, or never end.
        shorter = plugin.value(text, marker=marker, language=language)
        for given in islice(shorter, MAX_PLUGIN_TEXTS):
            if not isinstance(given, str):
                raise TypeError(f"expected texts, found {type(given).__name__}")
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


def is_program(kind: str, language: str | None) -> bool:
    """Tell whether a text of this kind and language is shortened as a program."""
    if language:
        return language not in _NO_PROGRAM_LANGUAGES
    return kind in PROGRAM_KINDS


_KEPT_COMMENTS = ("Hashbang", "Preproc", "PreprocFile")
"""Tokens below `Comment` that a program needs: `#!/bin/sh`, `#include`."""
_C_FAMILY = ("c", "cpp", "objectivec")
_SCRIPTS = ("javascript", "jsx", "typescript", "tsx")
_STYLES = ("less", "scss")
_SLOW_WORDS = ("ocaml", "xquery")
"""Languages with lexers that take quadratic time for one word."""
MAX_SLOW_WORD = 1_000
"""Characters of such a word, and of blanks in a row."""
_HASH_AFTER_BLANK = ("bash", "fish", "ksh", "perl", "ruby", "sh", "shell", "zsh")
"""Languages in which `#` stands for many things without a blank before it."""
_HEREDOC = late_pattern(r"""<<[-~]?([ \t]*)(?:(["'`])([^"'`\n]{1,80})\2|([A-Za-z_]\w{0,80}))""")
"""`<<-'end;'` of Ruby, two in one line of a shell: a lexer loses them."""
_DOLLAR_QUOTE = late_pattern(r"\$\w{0,63}\$")
MAX_OPEN_QUOTES = 100
"""Words for the end of a text that never comes; each costs a search to the end of the file."""
# What has no end is passed over as a whole, not looked for again from each of its characters.
_STYLE_COMMENT = late_pattern(
    r"""(?s)"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|url\([^)\n]*\)?|\w://"""
    r"""|(/\*.*?\*/|//[^\r\n]*)|/\*.*"""
)
_DIRECTIVE = late_pattern(r"(?:^[ \t]*#|\\\r?\n)[^\r\n]*\Z", re.MULTILINE)
MAX_CHARS_BEFORE = 1 << 10
_OPENING_BLANK_LINES = re.compile(r"\A(?:[ \t\f\v]*(?:\r\n|\r|\n))+")
_NESTED = late_pattern(r"/\*|\*/")
_LINE_END, _NO_LINE_END = re.compile(r"\r\n|\r|\n"), re.compile(r"[^\r\n]")
_SIGN = r"[-+*/<>=&|^!%:.~?#@$]"
"""Signs that would make another one together."""


def outline_of(text: str, kind: str, language: str | None, trimmers: Trimmers) -> str | None:
    """Return the signatures or headings of `text`, as it is outlined to fit; None: it has none."""
    marks = trimmers.marks._replace(marker="")
    structure = trimmers._replace(marks=marks).find_structure(kind, language, text)
    if not isinstance(structure, Pieces):
        return None
    skeleton = [index for index, part in enumerate(structure.parts) if part.skeleton]
    return structure.compact().outline_text(skeleton) if skeleton else None


def without_empty_lines(text: str) -> str:
    """Return `text` without lines that hold nothing but blanks."""
    return "".join(line for line in text.splitlines(keepends=True) if line.strip())


def without_comments(
    text: str, language: str | None, is_late: Callable[[], bool] = bool
) -> str | None:
    """Return a program without its comments; None where they cannot be told for sure.

    A line that held a comment alone goes as a whole. What may be a part of a string stays. Raises
    `OptionError` without Pygments, and `TimeoutError` as soon as `is_late` says so.
    """
    name = language or ""
    held = set(text)
    hole = next((char for char in map(chr, range(0xE000, 0xF8FF)) if char not in held), None)
    read = _without_quoted_texts(text, name)
    if read is None or hole is None or _is_read_slowly(text, name):
        return None
    if name in _STYLES:
        spans: list[tuple[int, int]] | None = _comments_of_styles(read)
    else:
        try:
            spans = _comments_by_lexer(freeze(read), name, is_late)
        except OptionError:
            raise
        except PromptForgeError:  # a lexer that fails cannot tell either
            spans = None
    if spans is None:
        return None
    parts, shown = [], 0
    for begin, end in spans:
        if is_late():  # `/*/**/` of Kotlin has its end looked for in all of the text
            raise TimeoutError
        if begin < shown or _is_in_doubt(text, begin, end, name):
            continue
        end = _end_of_comment(text, begin, end, name)
        before = text[max(0, begin - MAX_CHARS_BEFORE) : begin]
        # A directive of C goes on behind a comment of several lines.
        is_directive = text.startswith("/*", begin) and _DIRECTIVE.search(before)
        breaks = [] if is_directive else _LINE_END.findall(text[begin:end])
        parts += [text[shown:begin], hole, *(f"{each}{hole}" for each in breaks)]
        shown = end
    return _close_holes("".join(parts) + text[shown:], hole)


def _is_read_slowly(text: str, language: str) -> bool:
    """Tell whether a lexer would take quadratic time for a text: no clock is read within a word."""
    # Those of C and Java read blanks so: 8,000 spaces for more than 3 seconds.
    slow = [r"\s+", r"\w+"] if language in _SLOW_WORDS else [r"\s+"]
    longest = [max(map(len, re.findall(pattern, text)), default=0) for pattern in slow]
    return max(longest) > MAX_SLOW_WORD


def _comments_by_lexer(
    text: str, language: str, is_late: Callable[[], bool]
) -> list[tuple[int, int]] | None:
    """Return the places of comments as Pygments sees them; None: it cannot tell."""
    lexer = _lexer(language)
    if lexer is None:
        return None
    spans: list[tuple[int, int]] = []
    for start, token, part in _read_by(lexer, text):
        if is_late():  # at each `__END__` of HCL the lexer looks through the rest
            raise TimeoutError
        names = [str(name) for name in token]  # Comment.Single is ("Comment", "Single")
        is_quoted = names[-1:] in (["Single"], ["Double"]) and "String" in names
        if is_quoted and language in _SCRIPTS and re.search(r"(?<!\\)\r?\n", part):
            return None  # of `<p>Don't</p>` it takes all up to the next `'` for a string
        goes_on = language == "rust" and spans and spans[-1][1] == start
        is_doc = names[-1:] == ["Doc"] and (goes_on or part.startswith(("//", "/*")))
        # Of C, what `#if 0` encloses is plain `Comment`.
        is_comment = names[:1] == ["Comment"] and names[-1] not in _KEPT_COMMENTS
        if is_doc or (is_comment and not (names == ["Comment"] and language in _C_FAMILY)):
            spans.append((start, start + len(part)))
    return sorted(spans)


def _read_by(lexer: Any, text: str) -> Iterator[tuple[int, Any, str]]:
    """Yield what a lexer of Pygments finds; raises `PromptForgeError` where the lexer fails."""
    found = call_foreign(lexer.get_tokens_unprocessed, PromptForgeError, text)
    while (each := call_foreign(next, PromptForgeError, found, None)) is not None:
        yield each


def _comments_of_styles(text: str) -> list[tuple[int, int]]:
    """Return the places of comments in style sheets: Pygments sees none within a rule of SCSS."""
    return [match.span(1) for match in _STYLE_COMMENT.finditer(text) if match[1]]


def _without_quoted_texts(text: str, language: str) -> str | None:
    """Return a text with blanks between `<<END` and `END`, or from `$$` to `$$`, as it is long.

    None: too many have no end.
    """
    is_sql = "sql" in language
    if not is_sql and language not in _HASH_AFTER_BLANK:
        return text
    parts: list[str] = []
    endless: set[str] = set()
    start = shown = 0
    for match in (_DOLLAR_QUOTE if is_sql else _HEREDOC).finditer(text):
        word = match[0] if is_sql else match[3] or match[4]
        is_inside = start <= match.start() < shown
        if is_inside or word in endless or (language == "ruby" and match[1]):  # `found << word`
            continue
        # The second text of `cat <<A <<B` begins behind the end of the first.
        line_end = text.find("\n", max(shown, match.end()))
        begin = match.start() if is_sql else line_end + 1 or len(text)
        closing = re.escape(word) if is_sql else rf"(?m:^[ \t]*{re.escape(word)}[ \t]*$)"
        end = re.compile(closing).search(text, match.end() if is_sql else begin)
        if end is None:
            endless.add(word)
            if len(endless) > MAX_OPEN_QUOTES:
                return None
            continue
        parts.append(text[shown:begin])
        start, shown = begin, end.end() if is_sql else end.start()
        parts.append(_NO_LINE_END.sub(" ", text[start:shown]))
    return "".join(parts) + text[shown:]


def _is_in_doubt(text: str, begin: int, end: int, language: str) -> bool:
    """Tell whether what a lexer takes for a comment may be something else."""
    before = text[begin - 1] if begin else "\n"
    if language in _HASH_AFTER_BLANK and text[begin] == "#":
        if not before.isspace() or text[max(0, begin - 2) : begin] == "\\ ":  # s#a#b#, a\ #b
            return True
        return text.count("`", begin, end) % 2 == 1 and language not in ("perl", "ruby")
    if language in _SCRIPTS and text.startswith("//", begin):  # http://, '//', as text of a tag
        if before in "\"'`" or (before == ":" and text[max(0, begin - 2)].isalpha()):
            return True
        line = text[text.rfind("\n", 0, begin) + 1 : begin]
        return bool(line.strip()) and "</" in text[begin:end]
    return False


def _end_of_comment(text: str, begin: int, end: int, language: str) -> int:
    """Return the end of a comment: the line end behind it stays."""
    if language == "php" and not text.startswith("/*", begin):
        found = text.find("?>", begin, end)
        return found if found >= 0 else begin + len(text[begin:end].rstrip("\r\n"))
    if language in ("dart", "kotlin") and text.startswith("/*", begin):
        depth = 0
        for mark in _NESTED.finditer(text, begin):
            depth += 1 if mark[0] == "/*" else -1
            if not depth:
                return mark.end()
    return begin + len(text[begin:end].rstrip("\r\n"))


def _close_holes(text: str, hole: str) -> str:
    """Return a text without the holes where comments were, and without lines of holes alone."""
    lines: list[str] = []
    for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text):
        if hole not in line:
            lines.append(line)
            continue
        shown = line.rstrip("\r\n")
        line_end = line[len(shown) :]
        kept = shown.rstrip(f"{hole} \t\f\v")
        if hole in shown[len(kept) :]:
            shown = kept
        # int/**/x is two words, a +/**/+ b two signs.
        shown = re.sub(rf"(?<=\w){hole}+(?=\w)|(?<={_SIGN}){hole}+(?={_SIGN})", " ", shown)
        shown = shown.replace(hole, "")
        # The line after one that goes on is a part of it: an empty one ends it as a comment does.
        if shown.strip() or (lines and lines[-1].rstrip("\r\n").endswith("\\")):
            lines.append(shown + line_end)
    closed = "".join(lines)
    if text.lstrip().startswith(hole):  # the blank line below a licence goes with it
        return _OPENING_BLANK_LINES.sub("", closed)
    return closed


@lru_cache
def _lexer(language: str) -> Any:
    """Return the lexer of a language, or None."""
    try:
        from pygments.lexers import get_lexer_by_name
    except ImportError:
        raise OptionError(
            f"comments: false needs the package pygments: {pip_install('comments')}",
            option="comments",
        ) from None
    try:
        return call_foreign(get_lexer_by_name, PromptForgeError, language)
    except PromptForgeError:  # mostly Pygments' ClassNotFound
        return None
