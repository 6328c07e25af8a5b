"""Print and write everything that the command line says.

Products go to standard output or a file (`write_output`, `write_json`). Diagnostics, notes and
errors go to standard error, a line each. Tables and excerpts are plain text without boxes, and hold
no character of an item that could move the terminal's cursor; a `painter` colors some of them.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import re
import shutil
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..errors import Diagnostic, ItemError, did_you_mean, list_names, quote, suggest_name
from ..files import is_template_name, is_url
from ..files.access import (
    SYSTEM_FOLDERS,
    Access,
    HeldFolder,
    discard_output,
    naming_path,
    read_bytes,
    read_utf8,
    remove_file,
    remove_unfinished,
    sync_folder,
    write_stream,
    write_whole,
)
from ..files.marks import is_written_by_us, mark_written, refuse_input
from ..text.escape import show_invisible, to_label
from .flags import FOLLOW_FLAG, VERBOSE_FLAG

if TYPE_CHECKING:
    from ..engine import Counter as TokenCounter

JSON_VERSION = 1


def write_output(text: str, path: str | None = None) -> None:
    """Write the product to a file, whole or not at all, or to standard output.

    A terminal gets unseen characters as escapes; a pipe or a file gets the text as it is. Raises
    `ItemError` as `check_output` does.
    """
    if path is None or path == "-":
        with naming_path(Path("standard output")):
            if sys.stdout is None:
                raise OSError(errno.EBADF, "it is closed")
            stream = sys.stdout.buffer
            if stream.isatty():
                # No item may steer the reader's screen, or show him another order of its letters.
                text = show_invisible(text)
                text = f"{text.removesuffix(chr(10))}\n"  # the shell's prompt begins a line
            stream.write(text.encode("utf-8", "replace"))
            stream.flush()
        return
    data = text.encode("utf-8", "replace")
    target = check_output(path)
    if target is None:
        write_stream(path, data)
        return
    mark_written([(target, data)])
    _write(target, data)


def _write(target: Path, data: bytes) -> None:
    with contextlib.suppress(OSError):  # a folder may be written to and not listed
        remove_unfinished(target.parent, target.name)
    with write_whole(target) as file:
        file.write(data)


def write_in_place(text: str, path: str) -> None:
    """Write a file that was read to be changed. Raises `ItemError` for a link."""
    _write(typed_access().locate_output(path), text.encode("utf-8", "replace"))


def typed_access(folder: str = os.curdir) -> Access:
    """Return the access of names that the user types; `--follow` lets links lead elsewhere."""
    context = click.get_current_context(silent=True)
    follow = None if context is None else context.meta.get(FOLLOW_FLAG)
    return Access(folder, typed=True, follow=follow)


def check_output(path: str | None) -> Path | None:
    """Return the place of an output; None for standard output, a device or a pipe.

    Raises `ItemError` where it is a folder or a URL, lies in no folder, is a link that nobody
    follows, or a file that this run has read. A command asks before its work, and once more after
    it has read its inputs.
    """
    if not path or path == "-":
        return None
    if is_url(path):
        raise ItemError("is a URL; name a file of this machine, or pipe the text", where=path)
    target = typed_access().locate_output(path)
    if path.endswith("/") or target.is_dir():
        raise ItemError("is a folder; name a file in it", where=path)
    if not target.parent.is_dir():
        shown = Path(path).parent
        if target.name != Path(path).name:  # behind a link
            shown = target.parent
        if shown.exists():
            raise ItemError(f"{quote(str(shown))} is a file, not a folder", where=path)
        raise ItemError(f"there is no folder {quote(str(shown))}; make it first", where=path)
    refuse_input(target, path)
    is_stream = target.exists() and not target.is_file()
    # `/dev/stdout` is what the shell has opened, be it a file.
    return None if is_stream or path.startswith(SYSTEM_FOLDERS) else target


def check_new_or_ours(path: Path, text: str) -> Path:
    """Return the place of a new file, or of one of ours, which the user did not name himself.

    Ours is a file that holds what an earlier run wrote there. Raises `ItemError` for any other.
    """
    target = typed_access().locate_output(path)
    refuse_input(target, str(path))
    if target.is_dir():
        raise ItemError("is a folder; name a file in it", where=str(path))
    if not os.path.lexists(target) or is_written_by_us(target):
        return target
    with contextlib.suppress(OSError):
        if read_bytes(target, note=False) == text.encode("utf-8", "replace"):
            return target
    message = "exists, and is not the output of an earlier run"
    raise ItemError(f"{message}; remove it, or choose another output", where=str(path))


def write_all_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts by name into a folder. Raises `ItemError` before anything is written.

    Where one cannot be written, as on a full disk, the new files before it are removed. What took
    the place of an earlier file stays. Both are named.
    """
    targets = [check_new_or_ours(folder / name, text) for name, text in texts.items()]
    contents = [text.encode("utf-8", "replace") for text in texts.values()]
    mark_written([*zip(targets, contents, strict=True)])
    with contextlib.suppress(OSError):  # a folder may be written to and not listed
        remove_unfinished(folder, *texts)
    new: list[Path] = []
    replaced: list[Path] = []
    try:
        with HeldFolder() as held:
            for name, target, data in zip(texts, targets, contents, strict=True):
                kept = replaced if os.path.lexists(target) else new
                with write_whole(target, held=held) as file:
                    file.write(data)
                kept.append(folder / name)
        sync_folder(folder)
    except BaseException:
        for path in new:
            remove_file(path)
        for said, paths in (("removed", new), ("replaced", replaced)):
            if paths:
                names = " ".join(map(printable, paths))
                print_message(f"{said} before the error: {names}")
        raise


def ended_within(text: str, tokens: int, max_tokens: int | None, counter: TokenCounter) -> str:
    """Return a text of so many tokens with a line end, without one where that is too much.

    The budget holds for the bytes that leave the program, in a file or through a pipe. An empty
    text stays empty.
    """
    if not text or text.endswith("\n"):
        return text
    if max_tokens is not None and counter.count_ended(text, tokens, "\n") > max_tokens:
        return text
    return f"{text}\n"


def copy_text(text: str) -> str:
    """Copy a text to the clipboard by the program of a desktop or by tmux, else by OSC 52.

    That is a command of terminals, and works over ssh too. Returns where the text is now; raises a
    usage error without any of these.
    """
    data = text.encode("utf-8", "replace")
    for variable, place, *program in _CLIPBOARD_PROGRAMS:
        if os.environ.get(variable) and _feed(program, data):
            return f"to {place}"
    encoded = base64.b64encode(data).decode()
    surer = "xclip, wl-copy or tmux are surer"
    try:
        write_stream("/dev/tty", f"\x1b]52;c;{encoded}\x07".encode())
    except OSError:
        message = f"--copy finds neither a terminal nor a clipboard; {surer}"
        raise click.UsageError(message) from None
    return f"by the terminal, if it takes OSC 52 and a text of this length; {surer}"


_CLIPBOARD_PROGRAMS = (
    ("WAYLAND_DISPLAY", "the clipboard", "wl-copy"),
    ("DISPLAY", "the clipboard", "xclip", "-selection", "clipboard"),
    ("DISPLAY", "the clipboard", "xsel", "--clipboard", "--input"),
    ("TERM_PROGRAM", "the clipboard", "pbcopy"),
    # By default tmux passes OSC 52 of a program on to nobody.
    ("TMUX", "tmux, and by it to the terminal", "tmux", "load-buffer", "-w", "-"),
    ("TMUX", "tmux", "tmux", "load-buffer", "-"),  # before 3.2
)
"""A variable that a desktop sets and ssh does not, and a program that reads a text to copy."""


def _feed(program: Sequence[str], data: bytes) -> bool:
    import subprocess  # late: few runs copy

    # xclip stays in the background: with a pipe of ours open, `2>&1 | cat` would wait for its end.
    try:
        out = subprocess.DEVNULL
        done = subprocess.run(program, input=data, stdout=out, stderr=out, check=False, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def write_json(facts: dict[str, Any], path: str | None = None) -> None:
    """Write facts as the JSON of `--json`, with its version."""
    data = {"promptforge": JSON_VERSION, **facts}
    write_output(json.dumps(data, ensure_ascii=False, indent=2) + "\n", path)


Paint = Callable[[str], str]


def painter(*rules: tuple[str, str]) -> Paint:
    """Return a `Paint` of patterns and colors; `bold` and `dim` are colors too.

    The first pattern that matches at the beginning of a line colors its group, or all it matched.
    """
    compiled = [(re.compile(pattern), color) for pattern, color in rules]

    def paint(line: str) -> str:
        for pattern, color in compiled:
            match = pattern.match(line)
            if match:
                start, end = match.span(match.lastindex or 0)
                style = {color: True} if color in ("bold", "dim") else {"fg": color}
                shown = click.style(line[start:end], **style)
                return f"{line[:start]}{shown}{line[end:]}"
        return line

    return paint


def write_lines(lines: Iterable[str], path: str | None = None, paint: Paint | None = None) -> None:
    """Write lines, a line end after each; on a terminal, `paint` colors each."""
    text = "".join(f"{line}\n" for line in lines)
    if paint is None or path not in (None, "-") or not wants_color():
        write_output(text, path)
        return
    # Colors come after the escapes, so no item brings its own.
    shown = show_invisible(text)
    painted = "".join(f"{paint(line)}\n" for line in shown.splitlines())
    sys.stdout.buffer.write(painted.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def wants_color() -> bool:
    """Tell whether standard output takes colors; a flag or variable that says so comes first."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color and sys.stdout is not None
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return sys.stdout is not None
    return takes_escapes("stdout")


def is_terminal(name: str) -> bool:
    """Tell whether a stream of this process, such as `stderr`, is a terminal."""
    stream = getattr(sys, name)
    return stream is not None and bool(stream.isatty())


def takes_escapes(name: str) -> bool:
    """Tell whether a stream is a terminal that knows escapes: a dumb one, as of Emacs, has none."""
    return is_terminal(name) and os.environ.get("TERM") != "dumb"


@contextlib.contextmanager
def progress_line(*, after: float, speaks: bool = True) -> Iterator[Callable[[str], None]]:
    """Give a function that shows on a terminal what a long command does; it leaves no trace.

    It is silent in the first `after` seconds, and shows at most ten lines a second from then on.
    """
    speaks = speaks and takes_escapes("stderr")
    following, shown = time.monotonic() + after, False

    def say(stage: str) -> None:
        nonlocal following, shown
        now = time.monotonic()
        if speaks and now >= following:
            following, shown = now + 0.1, True
            _wipe_line()
            click.echo(f"{stage}\r", err=True, nl=False)  # what is said meanwhile begins there

    try:
        yield say
    finally:
        if shown:
            _wipe_line()


def _wipe_line() -> None:
    if takes_escapes("stderr"):
        click.echo("\x1b[K", err=True, nl=False, color=True)  # no color, so NO_COLOR is no matter


def print_diagnostics(
    diagnostics: Iterable[Diagnostic], *, quiet: bool = False, lead: str = ""
) -> None:
    """Print diagnostics to standard error, a line each after `lead`; `quiet` leaves out notes.

    More than `MAX_NOTES` notes become one line with the first clause of each, and the note on the
    budget; `-v` prints them whole.
    """
    notes = []
    for d in diagnostics:
        if d.severity == "info":
            notes.append(d)
        else:
            print_message(f"{lead}{d}", d.severity)
    if quiet:
        return
    context = click.get_current_context(silent=True)
    if len(notes) > MAX_NOTES and not (context and context.meta.get(VERBOSE_FLAG)):
        of_budget = [d for d in notes if d.code == "PF111"]
        firsts = {d.code: _CLAUSE_END.split(d.message)[0] for d in reversed(notes)}
        said = []
        for code, number in Counter(d.code for d in notes if d not in of_budget).items():
            times = ""
            if number > 1:
                times = f", and {number - 1:,} more"
            said.append(f"{firsts[code]}{times} [{code}]")
        print_message(f"{lead}{'; '.join(said)}; -v prints these notes whole", "note")
        notes = of_budget
    for d in notes:
        print_message(f"{lead}{d}", "note")


MAX_NOTES = 2
_CLAUSE_END = re.compile("[:;]? \\(|[:;] ")


_FLAGS_OF_PROMPT = frozenset({"--user", "--system", "--instructions", "--history", "--to"})
"""Flags of whole prompts, which a context alone has no place for."""


def flags_of_others(there: Collection[str]) -> Mapping[str, str]:
    """Return which of the flags `there` stands for each flag of another program, or of a job."""
    from ..yaml_reader import load_shipped_yaml

    path = Path(__file__).with_name("flags_of_others.yaml")
    named: dict[str, list[str]] = load_shipped_yaml(read_utf8(path), path.name)[0]
    return {other: ours for ours, others in named.items() if ours in there for other in others}


_COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}


def print_message(message: str, severity: str = "") -> None:
    """Print one line to standard error, with the name of the program and perhaps a severity.

    Colors are left out where standard error is no terminal or a dumb one, or `NO_COLOR` is set,
    unless `--color` asks for them.
    """
    context = click.get_current_context(silent=True)
    color = context.color if context else None
    if color is None and (os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"):
        color = False
    begun = click.style(f"{severity}:", fg=_COLORS[severity]) + " " if severity else ""
    print_line(f"promptforge: {begun}{show_invisible(message)}", color)


def print_line(line: str, color: bool | None = None) -> None:
    """Print one line to standard error."""

    def write() -> None:
        _wipe_line()
        click.echo(line, err=True, color=color)

    write_or_discard(sys.stderr, write)


def write_or_discard(stream: Any, write: Callable[[], None]) -> None:
    """Write to a stream; if that fails, it goes nowhere, and all that follows.

    A message that cannot be said ends no run. Python would write the rest at exit, complain about a
    full disk or a reader that has gone, and end with code 120.
    """
    try:
        write()
    except OSError:
        with contextlib.suppress(OSError):
            discard_output(stream.fileno())


DEFAULT_COLUMNS = 80
"""Columns of a table that goes to a pipe or a file."""

MAX_COLUMNS = 120


class Column(NamedTuple):
    """One column: its heading, and how it is set."""

    heading: str
    right: bool = False
    cut: bool = False
    """Shorten its longest cells where the table is too wide."""
    paths: bool = False
    """Keep the end of a path that is shortened: it names the file and its lines."""
    spare: int = 0
    """Leave the column out where room is short; the largest number goes first, 0 never goes."""
    least: int = 8


def screen_columns() -> int:
    """Return the terminal's columns, or those of a table in a pipe; `COLUMNS` says them first."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and 0 < len(given) < 5:
        return max(40, int(given))
    if not is_terminal("stdout"):
        return DEFAULT_COLUMNS
    return max(40, min(MAX_COLUMNS, shutil.get_terminal_size((DEFAULT_COLUMNS, 24)).columns))


def printable(value: object, limit: int = 200) -> str:
    """Return an outside text on one line; controls and invisible characters become escapes."""
    # A name of a megabyte would be escaped character by character.
    text = str(value)
    if len(text) > limit:
        text = f"{text[: limit // 2]}…{text[-limit // 2 :]}"
    return to_label(text)


def text_columns(text: str) -> int:
    """Return the terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    # Combining marks and format characters take no column of their own, wide East Asian ones two.
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 1 + (unicodedata.east_asian_width(char) in "WF")


def shorten(text: str, room: int, *, path: bool = False) -> str:
    """Return `text` in at most `room` columns: `…` replaces its middle, or a path's beginning."""
    if text_columns(text) <= room:
        return text
    ends = room - 1  # the rest is for `…`
    head = "" if path and "/" in text else _upto(text, ends - ends // 2)
    return f"{head}…{_upto(text[::-1], ends - text_columns(head))[::-1]}"


def _upto(text: str, room: int) -> str:
    for end, char in enumerate(text):
        room -= _columns(char)
        if room < 0:
            return text[:end]
    return text


def table_lines(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], total: int | None = None
) -> Iterator[str]:
    """Yield the lines of a table, at most `total` columns wide where cutting can make it so.

    Without `total` the screen limits it. Pass outside texts through `printable` first.
    """
    total = total or screen_columns()
    cells = [[column.heading for column in columns], *rows]
    wide = [max(text_columns(row[n]) for row in cells) for n in range(len(columns))]
    gap = 1 + (sum(wide) + 2 * (len(wide) - 1) <= total)
    over = sum(wide) + gap * (len(wide) - 1) - total
    while over > 0:
        able = [n for n, column in enumerate(columns) if column.cut and wide[n] > column.least]
        if not able:
            break
        # The widest column gives one place at a time, so that all end about equally short.
        n = max(able, key=wide.__getitem__)
        wide[n] -= 1
        over -= 1
    spare = max(range(len(columns)), key=lambda n: columns[n].spare, default=0)
    if over > 0 and columns and columns[spare].spare:
        left = [n for n in range(len(columns)) if n != spare]
        fewer = [[row[n] for n in left] for row in rows]
        yield from table_lines([columns[n] for n in left], fewer, total)
        return
    for row in cells:
        line = []
        for column, cell, room in zip(columns, row, wide, strict=True):
            text = shorten(cell, room, path=column.paths) if column.cut else cell
            pad = " " * (room - text_columns(text))
            line.append(pad + text if column.right else text + pad)
        yield (" " * gap).join(line).rstrip()


MAX_EXCERPT_CHARACTERS = 100


def excerpt_lines(source: str, line: int, column: int, end: int) -> Iterator[str]:
    """Yield a numbered line of source, and a mark below its columns `column` to `end` - 1."""
    # A long line is cut around the column, so that the mistake stands in the middle.
    start = max(0, min(column - MAX_EXCERPT_CHARACTERS // 2, len(source) - MAX_EXCERPT_CHARACTERS))
    visible = source[start : start + MAX_EXCERPT_CHARACTERS]
    # Each part is escaped alone: an escape is longer than its character, and the mark must fit.
    before = _escape_tabs(visible[: column - 1 - start])
    marked = _escape_tabs(visible[column - 1 - start : max(end, column + 1) - 1 - start])
    after = _escape_tabs(visible[max(end, column + 1) - 1 - start :])
    cut = "…" if start else ""
    more = "…" if start + MAX_EXCERPT_CHARACTERS < len(source) else ""
    margin = " " * len(str(line))
    yield f"  {line} | {cut}{before}{marked}{after}{more}".rstrip()
    yield f"  {margin} | {' ' * text_columns(cut + before)}{'^' * max(1, text_columns(marked))}"


def _escape_tabs(text: str) -> str:
    return to_label(text.replace("\t", "    "))


def usage_message(error: click.ClickException, arguments: Sequence[str] = ()) -> str:
    """Return the message of a click error, with a pointer to the help."""
    context = getattr(error, "ctx", None)
    message = _describe(error, context)
    if isinstance(error, click.NoSuchOption):  # as of `git ls-files | xargs`
        words = (word for word in arguments if word.startswith(error.option_name))
        name = next(filter(os.path.lexists, words), None)
        if name is not None:
            message = f"there is no option {quote(name)}; write ./{printable(name)} for the file"
    return message if context is None else f"{message} (see {context.command_path} --help)"


def _describe(error: click.ClickException, context: click.Context | None) -> str:
    parameter = getattr(error, "param", None)
    is_missing = isinstance(error, click.MissingParameter)
    if is_missing and isinstance(parameter, click.Argument) and context is not None:
        usage = [context.command_path, *context.command.collect_usage_pieces(context)]
        return f"{_describe_parameter(parameter)} is missing: {' '.join(usage)}"
    if is_missing and isinstance(parameter, click.Option):
        about = (parameter.help or "").rstrip(".")
        return f"{' or '.join(parameter.opts)} is missing; give it a value: {about}"
    if isinstance(error, click.NoSuchOption):
        hint = guess_flag(error.option_name, context) if context is not None else ""
        return f"there is no option {quote(error.option_name)}{hint}"
    if isinstance(error, click.BadOptionUsage) and "requires an argument" in error.message:
        return f"{error.option_name} needs a value"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return _describe_value(error, error.param)
    # Click's own words for a second NAME where one is taken.
    words = error.format_message()
    return re.sub(r"Got unexpected extra arguments? \((.*)\)", r"unexpected arguments: \1", words)


def guess_flag(name: str, context: click.Context) -> str:
    """Return a hint on an unknown flag: the other program's flag is ours, or nearly spelt so."""
    known = long_flags(context)
    meant = named_flag(name, known)
    if meant is not None:
        return f"; did you mean {quote(meant)}?"
    if len(name) > 2 and not name.startswith("--"):  # -formt
        name = f"-{name}"
    if name in _FLAGS_OF_PROMPT:
        return "; the command `prompt` takes it"
    begun = [flag for flag in known if flag.startswith(name) and len(name) > 3]
    if len(begun) > 1:
        return f"; these begin so: {list_names(begun, 5)}"
    hint = did_you_mean(name, begun or known)
    if not hint and isinstance(context.command, click.Group):
        return f"; a command comes first: {context.command_path} render {name}"
    return hint


def named_flag(name: str, known: Collection[str]) -> str | None:
    """Return which of the flags `known` is meant by `-outline`, or by a flag of other programs."""
    meant = {**flags_of_others(known), **{flag: flag for flag in known}}
    return meant.get(name) or meant.get(f"-{name}")


def long_flags(context: click.Context) -> list[str]:
    """Return the flags of a command that begin with two dashes."""
    given = context.command.get_params(context)
    flags = (flag for each in given for flag in (*each.opts, *each.secondary_opts))
    return [flag for flag in flags if flag.startswith("--")]


def _describe_value(error: click.BadParameter, parameter: click.Parameter) -> str:
    # Click says "File 'x' does not exist." in words of its own; the value is between the quotes.
    message = error.message
    given = re.match(r"(?:Directory |File |Path )?'(.*?)' (.*)", message, re.DOTALL)
    at = _describe_parameter(parameter)
    if isinstance(parameter.type, click.IntRange):
        most = "" if parameter.type.max is None else f" to {parameter.type.max:,}"
        value = quote(given[1]) if given else message.partition(" ")[0]
        least = f"{parameter.type.min:,}{most or ' up'}"
        return f"{at} takes a whole number from {least}; got {value}"
    if given is None:
        return f"{at}: {message}"
    if isinstance(parameter.type, click.Choice):
        hint = suggest_name(given[1], map(str, parameter.type.choices))
        return f"there is no {quote(given[1])} here{hint}"
    if "does not exist" in given[2]:
        return f"{at}: there is no folder {quote(given[1])}"
    if "is a file" in given[2]:
        return f"{at} takes a folder, and {quote(given[1])} is a file"
    return f"{at}: {quote(given[1])} {given[2].rstrip('.')}"


def _describe_parameter(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Argument):
        if isinstance(parameter.type, click.Choice):
            return f"one of {', '.join(map(str, parameter.type.choices))}"
        return parameter.metavar or (parameter.name or "").upper()
    return max(parameter.opts, key=len)


def unused_folder_hint(name: str, arguments: Sequence[str]) -> str:
    """Return the flag that finds a missing name in ./templates or ./profiles, else ""."""
    if name.startswith("shipped/") or not is_template_name(name):
        return ""
    hint = ""
    for folder, places in (
        ("templates", (name, f"prompt/{name}")),
        ("profiles", (f"{name}.yaml", f"{name}.yml")),
    ):
        named = any(word.partition("=")[0] == f"--{folder}" for word in arguments)
        there = [path for path in (f"{folder}/{place}" for place in places) if os.path.exists(path)]
        if there and not (named or os.environ.get(f"PROMPTFORGE_{folder.upper()}")):
            hint += f"; {printable(there[0])} is here: add --{folder} {folder}"
    return hint
