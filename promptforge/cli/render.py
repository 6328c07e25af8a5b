"""The commands that render or count texts: render, prompt, preview, mcp, count and calibrate.

`render` prints one context, `prompt` a whole prompt, `preview` shows both on a local page and `mcp`
serves them. `count` counts texts; `calibrate` finds the factor of a tokenizer that is not at hand.
Libraries of one command alone are imported when it runs: `render` starts without them.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from ..config.options import OPTION_VOCABULARY
from ..errors import (
    Diagnostics,
    ItemError,
    OptionError,
    ProfileError,
    StrictError,
    TemplateError,
    pip_install,
    quote,
    suggest_name,
)
from ..selection.group import file_tree
from ..sources.workspace import BinaryFileError, read_named
from ..text.format import plural
from ..tokenizers.registry import expect_small_texts, get_tokenizer
from .flags import (
    FOLDER_FILTERS,
    GroupedCommand,
    complete_path,
    complete_tokenizer,
    folder_flags,
    input_flags,
    json_flag,
    option_flags,
    output_flags,
    profile_flags,
    read_option,
    text_flags,
)
from .inputs import CommandRequest, exit_code, read_prompt_request, read_request, take_options
from .output import (
    copy_text,
    is_terminal,
    print_diagnostics,
    print_message,
    printable,
    write_json,
    write_lines,
    write_text,
)

if TYPE_CHECKING:
    from ..model import Item
    from ..rendering.renderer import ContextRenderer
    from ..tokenizers.counters import Counter
    from ..tokenizers.remote import Calibration


@click.command("render", cls=GroupedCommand)
@click.argument("items", nargs=-1, metavar="[ITEMS]...", shell_complete=complete_path)
@input_flags
@output_flags
@click.option(
    "--split",
    metavar="N",
    help="Write everything, in parts of N tokens: -o out.md makes out.1.md, out.2.md …",
)
@click.option("--copy", is_flag=True, help="Copy the text to the clipboard, and do not print it.")
def render_command(
    items: tuple[str, ...],
    as_json: bool,
    output: str | None,
    split: str | None,
    copy: bool,
    **given: Any,
) -> int:
    """Render items and sources as one context text.

    ITEMS are files of items (JSON, JSON Lines, YAML), folders, and files of text such as app.py;
    `-` is standard input. Without any argument, piped items are read. --json prints the whole
    result. The line end after the last line is no part of the text, and is not counted.

    \b
      promptforge render . --max-tokens 8000 --tree
      promptforge render results.json --query "How are locks taken?" --profile claude
      git diff | promptforge render --file - --name changes.diff
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace
    if split is not None and (as_json or copy or output in (None, "", "-")):
        raise click.UsageError("--split writes files: name them by -o FILE, without --json, --copy")
    request = read_request(items, {**given, "output": output, "split": split})
    # The renderer comes first: a wrong profile is said before the items are read.
    from ..rendering.renderer import ContextRenderer

    renderer = request.renderer_of(ContextRenderer)
    if split is not None and output is not None:
        tokens = read_option("max_tokens", split, "--split")
        if not isinstance(tokens, int) or tokens < 1:
            raise click.UsageError(f"--split takes a number of tokens, as 8k; got {quote(split)}")
        return _write_parts(request, renderer, tokens, Path(output))
    result = request.render(renderer, request.gather())
    if copy:
        print_message(f"copied {result.tokens:,} tokens {copy_text(result.text)}")
        if output is None and not as_json:
            return exit_code(result)
    if as_json:
        write_json(result.to_dict(), output)
    else:
        write_text(result.text, output)
    # Between a text on the screen and the prompt below it, a line would be taken for the text's.
    to_file = output not in (None, "", "-")
    if not request.quiet and (to_file or (is_terminal("stderr") and not is_terminal("stdout"))):
        # Not `result.items`: it counts the tokens of each.
        count = plural(len(result.report.packed.chosen), "item", "items")
        place = f": {printable(str(output))}" if to_file else ""
        print_message(f"{count}, {result.tokens:,} tokens{place}")
    return exit_code(result)


def _write_parts(
    request: CommandRequest, renderer: ContextRenderer, tokens: int, output: Path
) -> int:
    """Write the parts, and say their names."""
    options = {**request.options, "max_tokens": tokens}
    parts = renderer.split(request.gather(), before=tuple(request.diagnostics), **options)
    said = dict.fromkeys(d for part in parts for d in part.warnings if d.code != "PF111")
    print_diagnostics([*request.diagnostics, *said], quiet=request.quiet)
    names = [output.with_suffix(f".{n}{output.suffix}") for n in range(1, len(parts) + 1)]
    for name, part in zip(names, parts, strict=True):
        write_text(part.text, str(name))
    total = sum(part.tokens for part in parts)
    count = plural(len(parts), "part", "parts")
    print_message(f"{count}, {total:,} tokens: {' '.join(printable(name) for name in names)}")
    beyond = output.with_suffix(f".{len(parts) + 1}{output.suffix}")
    if beyond.exists():
        print_message(f"note: {printable(beyond)} is of an earlier run")
    return exit_code(*parts)


class _Shape(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """A value of `to`; `render` starts without the shapes of providers."""

    name = "shape"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return all of them."""
        from ..prompts.providers import SHAPES

        return f"[{'|'.join(SHAPES)}]"


@click.command("prompt", cls=GroupedCommand)
@click.argument("items", nargs=-1, metavar="[ITEMS]...", shell_complete=complete_path)
@text_flags
@click.option(
    "--to",
    type=_Shape(),
    default="text",
    show_default=True,
    help="The receiver: one text, or the keywords of a provider's call.",
)
@functools.partial(input_flags, whole=True)
@output_flags
def prompt_command(
    items: tuple[str, ...], to: str, as_json: bool, output: str | None, **given: Any
) -> int:
    """Make a whole prompt: system text, instructions, context, history and question.

    All share the window of the profile, less its reserve. With --to text the prompt is printed,
    else the keywords of the provider's call as JSON. --json prints the whole account. The line end
    after the last line is no part of the prompt, and is not counted.
    """
    from ..prompts.prompt import format_prompt
    from ..prompts.providers import SHAPES

    # A typo is found before minutes are spent on reading sources.
    if to not in SHAPES:
        raise OptionError(f"there is no shape {quote(to)}{suggest_name(to, SHAPES)}", option="to")
    given["output"] = output  # no folder gives the text of an earlier run
    request, around = read_prompt_request(items, given, may_be_empty=True)
    loaded = request.gather()
    prompt = request.renderer().prompt(
        loaded,
        **around.texts,
        history=around.messages,
        to=to,
        before=tuple(request.diagnostics),
        **request.options,
    )
    print_diagnostics(prompt.warnings, quiet=request.quiet)
    if as_json:
        write_json(prompt.to_dict(), output)
    else:
        write_text(format_prompt(prompt), output)
    return exit_code(prompt)


# --- preview --------------------------------------------------------------------------------------


@click.command("preview", cls=GroupedCommand)
@click.argument("items", nargs=-1, metavar="[ITEMS]...", shell_complete=complete_path)
@text_flags
@functools.partial(input_flags, whole=True)
@click.option(
    "--port", metavar="N", type=click.IntRange(1024, 65535), help="The port [default: a free one]."
)
@click.option("--edit", is_flag=True, help="Let the page save into your own folders.")
@click.option(
    "--tests",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the golden cases it saves [default: tests, beside your own folder].",
)
def preview_command(
    items: tuple[str, ...], port: int | None, edit: bool, tests: Path | None, **given: Any
) -> None:
    """Open a local page that shows the text of `render` or `prompt` while you edit.

    It takes their arguments. The page listens to 127.0.0.1, and its link works once. With --edit,
    it saves into the first folder of --templates and --profiles. Ctrl-C ends it. Needs the extra
    `preview`.
    """
    try:
        from ..preview.app import run_preview
        from ..preview.session import PromptTexts, Session, file_stamp
    except ImportError as error:
        raise click.UsageError(
            f"the preview needs more packages ({error.name}): {pip_install('preview')}"
        ) from None
    from ..prompts.prompt import Renderer

    command = click.get_current_context().command
    request, around = read_prompt_request(items, given)
    if edit and not (request.folders["templates"] or request.folders["profiles"]):
        raise click.UsageError(
            "--edit needs a folder of your own to save in: --templates DIR, --profiles DIR"
        )
    # A wrong option ends the command; a wrong template or profile is shown on the page instead.
    with contextlib.suppress(TemplateError):
        request.renderer()
    with contextlib.suppress(ProfileError, TemplateError):
        Renderer(profile=request.profile, **request.folders, **request.options)
    watched = {path: file_stamp(path) for path in _named_files(request)}
    before = request.diagnostics.copy()
    loaded = request.gather()
    print_diagnostics(request.diagnostics, quiet=request.quiet)

    def gather() -> tuple[list[Item], Diagnostics]:
        found = before.copy()
        return request._replace(diagnostics=found).gather(), found

    whole = any((*around.texts.values(), around.history))
    session = Session(
        loaded,
        request.profile,
        request.options,
        **request.folders,
        edit=edit,
        texts=PromptTexts(**around.texts, history=around.history),
        tests=tests,
        items_file=_only_item_file(request),
        words=_words_of_text(sys.argv[2:], command.params, whole=whole),
        notes=list(request.diagnostics),
    )
    run_preview(
        session,
        port=port or 0,
        watched=watched,
        gather=gather,
        tell=print_message,
    )


def _words_of_text(
    typed: Sequence[str], parameters: Iterable[click.Parameter], *, whole: bool
) -> list[tuple[str, ...]]:
    """Return the command that prints the same text: what `preview` was given but its own flags.

    Each part is the name of an option, `--` for all behind that word, or nothing, and its words.
    """
    flags = {word: each for each in parameters for word in (*each.opts, *each.secondary_opts)}
    parts: list[tuple[str, ...]] = [("", "promptforge", "prompt" if whole else "render")]
    words = iter(typed)
    for word in words:
        if word == "--":
            return [*parts, ("--", word, *words)]
        # `--query=x` and `-ox` hold their value.
        flag = flags.get(word.partition("=")[0]) or flags.get(word[:2])
        is_alone = word in flags and isinstance(flag, click.Option) and not flag.is_flag
        value = [next(words, "")] if is_alone else []
        name = (flag and flag.name) or ""
        if name not in ("port", "tests", "edit"):
            parts.append((name, word, *value))
    return parts


def _named_files(request: CommandRequest) -> list[Path]:
    """Return the files of items that are named one by one; none where items were piped in."""
    wanted = request.wanted
    # Standard input cannot be read twice, so no change of a file could be followed.
    if "-" in wanted.items:
        return []
    names = (*wanted.items, *wanted.documents, *wanted.files)
    return [path for name in names if (path := Path(wanted.workspace, name)).is_file()]


def _only_item_file(request: CommandRequest) -> Path | None:
    """Return the one file that all items come from, if there is one."""
    wanted = request.wanted
    others = (wanted.records, wanted.files, wanted.documents, wanted.man_pages, wanted.techniques)
    # Only then can a saved golden case name the file in place of its contents.
    if any(others) or wanted.plugged or wanted.search:
        return None
    if len(wanted.items) != 1 or wanted.items[0] == "-":
        return None
    return Path(wanted.workspace, wanted.items[0]).absolute()


class _HostAndPort(click.ParamType):  # type: ignore[type-arg]  # as _Shape
    """`PORT` of this machine, or `HOST:PORT`."""

    name = "address"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, int]:
        host, _, port = str(value).rpartition(":")
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            self.fail("takes a port from 1 to 65535, or HOST:PORT", param, ctx)
        return host or "127.0.0.1", int(port)


class _LogLines(logging.Handler):
    """Prints what the library logs, a line for each record.

    The library's own handler draws a picture of the stack for each client that hangs up amid a
    request: a thousand of them kept the server busy for a minute.
    """

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            said += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        print_message(said, "error" if record.levelno >= logging.ERROR else "warning")


@click.command("mcp", cls=GroupedCommand)
@option_flags
@click.option(
    "--http", type=_HostAndPort(), metavar="[HOST:]PORT", help="Serve over HTTP, at /mcp."
)
def mcp_command(http: tuple[str, int] | None, **given: Any) -> None:
    """Serve the Model Context Protocol: render_context, explain, list_layouts, and prompts.

    The options are the defaults of each request. No file is opened for a client. It speaks to the
    program that started it; with --http, streamable HTTP to any, by default of this machine
    alone. Needs the extra `mcp`.
    """
    profile, options, folders, _ = take_options(given)
    try:
        from ..integrations.mcp import make_mcp_server
    except ImportError as error:  # its message names the extra
        raise click.UsageError(str(error)) from None
    logging.basicConfig(level=logging.WARNING, handlers=[_LogLines()])
    server = make_mcp_server(profile=profile, **folders, **options)
    if http is None:
        server.run()
    else:
        host, port = http
        import socket

        try:  # the server itself would end with a code that says something else here
            socket.create_server((host, port)).close()
        except OSError as error:
            raise click.UsageError(
                f"--http: {host}:{port} cannot be used: {error.strerror}"
            ) from None
        print_message(f"MCP at http://{host}:{port}/mcp (Ctrl-C stops)")
        if host not in ("127.0.0.1", "localhost", "[::1]"):
            said = "any program that reaches this address may call it: there is no password"
            print_message(f"{said}. Pages of other sites are refused")
        server.run("streamable-http", host=host.strip("[]"), port=port)


# --- counting -------------------------------------------------------------------------------------


@click.command("count")
@click.argument("files", nargs=-1, shell_complete=complete_path)
@folder_flags
@profile_flags
@click.option(
    "--tokenizer",
    metavar="NAME",
    shell_complete=complete_tokenizer,
    help="The tokenizer [default: the profile's].",
)
@click.option("--tree", is_flag=True, help="Print folders with all that they hold, largest first.")
@json_flag
def count_command(
    files: tuple[str, ...], tokenizer: str | None, tree: bool, as_json: bool, **given: Any
) -> None:
    """Count the tokens of FILES, of folders (the largest file first), or of standard input (`-`).

    Of a folder the files that `render` would read are counted, without headings and fences.
    """
    settings = take_options({**given, "tokenizer": tokenizer})
    tokenizer = settings.options.get("tokenizer")
    if tokenizer is None:
        from ..config.profiles import load_profile

        profile = load_profile(settings.profile or "default", settings.folders["profiles"])
        profile.check_outside("allow_outside" in settings.folders)
        tokenizer = profile.options.get("tokenizer", OPTION_VOCABULARY.rules["tokenizer"].default)
    expect_small_texts()
    counter = get_tokenizer(tokenizer)
    # At a terminal nobody would know what the command waits for.
    if not files and (sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError("nothing to count: name a file or a folder, or pipe a text in")
    diagnostics = Diagnostics()
    rows = _count_all(files or ("-",), given, counter, diagnostics)
    print_diagnostics(diagnostics)
    total = sum(row["tokens"] for row in rows)
    if as_json:
        facts = {"tokenizer": counter.name, "exact": counter.exact, "files": rows}
        write_json({**facts, "tokens": total})
        return
    lines = []
    if tree:
        tokens = {os.path.normpath(row["file"]): row["tokens"] for row in rows}
        for entry in file_tree(tokens, largest_first=True):
            end = "/" if entry.folder else ""
            name = f"{'  ' * entry.depth}{printable(entry.name)}{end}"
            lines.append(f"{entry.tokens:>9,}  {name}")
    else:
        lines = [f"{row['tokens']:>9,}  {printable(row['file'])}" for row in rows]
    if len(rows) != 1:
        lines.append(f"{total:>9,}  total")
    write_lines(lines)
    print_message(f"{('approximate', 'exact')[counter.exact]}, by {counter.name}")


def _count_all(
    paths: Sequence[str], given: dict[str, Any], counter: Counter, diagnostics: Diagnostics
) -> list[dict[str, Any]]:
    """Return one row for each file; of several files, a binary one is skipped, and said."""
    rows: list[dict[str, Any]] = []
    first_skipped: BinaryFileError | None = None
    for path in paths:
        try:
            counted = [
                {"file": name, "tokens": counter.count(text), "chars": len(text)}
                for name, text in _read_texts(path, given, diagnostics)
            ]
            rows += sorted(counted, key=lambda row: (-row["tokens"], row["file"]))
        except BinaryFileError as error:
            first_skipped = first_skipped or error
            diagnostics.add("PF604", f"skipped: {error.bare}", where=error.where)
    if first_skipped and not rows:
        raise first_skipped
    return rows


def _read_texts(
    path: str, given: dict[str, Any], diagnostics: Diagnostics
) -> Iterator[tuple[str, str]]:
    """Yield path and text of a file, or of each file of a folder."""
    from ..sources.folders import FolderFilter
    from ..sources.gather import SourceRequest, gather

    if not os.path.isdir(path):
        yield path, read_named(path, workspace=None, diagnostics=diagnostics)[0]
        return
    wanted = FolderFilter(**{name: given[name] for name in FOLDER_FILTERS})
    if os.path.normpath(path).startswith(os.pardir):  # a relative name stays in the workspace
        path = os.path.abspath(path)
    for item in gather(SourceRequest(files=[path], workspace=".", wanted=wanted), diagnostics):
        yield item.path or path, item.content or ""


@click.command("calibrate")
@click.argument("pairs", metavar="PAIRS")
@click.option(
    "--base", metavar="NAME", default="o200k_base", show_default=True, help="The tokenizer to use."
)
@click.option("--strict", is_flag=True, help="Fail (exit 1) on bad lines or too few pairs.")
@json_flag
def calibrate_command(pairs: str, base: str, strict: bool, as_json: bool) -> None:
    """Find the factor of a tokenizer that is not at hand, from texts with known counts.

    PAIRS is a file of lines such as {"text": "...", "tokens": 7}; `-` is standard input. The counts
    come from a provider's counting endpoint, or from the usage in its answers.
    """
    from ..tokenizers.remote import ENOUGH_PAIRS, calibrate

    diagnostics, where = Diagnostics(), {"-": "<stdin>"}.get(pairs) or printable(pairs)
    texts = _load_counted_texts(pairs, diagnostics)
    if not texts:
        print_diagnostics(diagnostics)
        message = 'no pair in it: expected lines such as {"text": "…", "tokens": 7}'
        raise ItemError(message, where=where)
    result = calibrate(((pair.text, pair.tokens) for pair in texts), base=base)
    if not result.enough:
        few = f"{plural(result.pairs, 'pair is', 'pairs are')} few"
        sure = "to be 95 % sure that 95 % of texts like them take no more"
        diagnostics.add("PF502", f"{few}: it takes {ENOUGH_PAIRS} {sure}", where=where)
    print_diagnostics(diagnostics)
    warnings = tuple(d for d in diagnostics if d.severity != "info")
    if strict and warnings:
        message = f"{len(warnings)} to warn of, the first {warnings[0].code}"
        raise StrictError(message)
    worst = texts[result.worst]
    if as_json:
        facts: dict[str, Any] = msgspec.to_builtins(result)
        write_json({**facts, "worst": worst.where, "tokenizer": result.tokenizer})
    else:
        write_lines(_calibration_lines(result, worst))


class _CountedText(NamedTuple):
    """A text and its true tokens."""

    text: str
    tokens: int
    where: str
    """File and line."""


def _load_counted_texts(path: str, diagnostics: Diagnostics) -> list[_CountedText]:
    """Read JSON Lines of `{"text": …, "tokens": N}` from a file or standard input (`-`).

    Other fields are ignored, and a bad line costs only itself (PF204). Raises `ItemError` if the
    file cannot be read.
    """
    content, name = read_named(path, workspace=os.curdir, diagnostics=diagnostics)
    found = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            text, tokens = _read_pair(json.loads(line))
            found.append(_CountedText(text, tokens, where))
            continue
        except json.JSONDecodeError as error:
            problem = f"not valid JSON: {error.msg} (column {error.colno})"
        # A wrong field, a number of too many digits, or too much nesting.
        except (ValueError, RecursionError) as error:
            problem = str(error) or "it nests too deeply"
        diagnostics.add("PF204", f"{problem}; the line is left out", where=where)
    return found


def _read_pair(record: object) -> tuple[str, int]:
    if not isinstance(record, dict):
        raise ValueError('expected an object such as {"text": "…", "tokens": 7}')
    for field in ("text", "tokens"):
        if field not in record:
            raise ValueError(f"no field {quote(field)}{suggest_name(field, map(str, record))}")
    text, tokens = record["text"], record["tokens"]
    if not isinstance(text, str):
        raise ValueError(f"text: expected a text, not {type(text).__name__}")
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        shown = type(tokens).__name__
        if isinstance(tokens, int | float):
            shown = json.dumps(tokens)[:40]
        raise ValueError(f"tokens: expected a whole number from 0 up, not {shown}")
    return text, tokens


def _calibration_lines(found: Calibration, worst: _CountedText) -> list[str]:
    ratios = f"mean {found.mean:.3f}, spread {found.spread:.3f}"
    sign = "+-"[found.intercept < 0]
    fitted = f"{found.slope:.3f} * {found.base} {sign} {abs(found.intercept):.1f}"
    lines = [
        f"pairs   {found.pairs:,}",
        f"ratio   {ratios}, from {found.least:.3f} to {found.largest:.3f}",
        f"line    true = {fitted}",
        f"worst   {printable(worst.where)}: {worst.tokens:,} tokens,"
        f" {len(worst.text):,} characters",
    ]
    if found.constant:
        # Counts of an endpoint hold the tokens around a message, which no factor describes.
        lines += [
            f"around  {found.constant} tokens of each text are counted for the message around it;",
            "        take them off max_tokens, or put them into reserve",
        ]
    lines.append(
        f"more    one such text in about {found.pairs + 1:,} takes more than the factor says"
    )
    return [*lines, "", f"tokenizer: {found.tokenizer}"]
