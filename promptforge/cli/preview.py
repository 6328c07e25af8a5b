"""The commands prompt, preview and mcp.

`prompt` prints a whole prompt, `preview` shows contexts and prompts on a local page, and `mcp`
serves contexts.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import promptforge

from ..engine import get_tokenizer
from ..errors import Diagnostics, ProfileError, TemplateError, pip_install
from ..prompts.providers import SHAPES
from .flags import (
    GroupedCommand,
    complete_path,
    input_flags,
    option_flags,
    output_flags,
    text_flags,
)
from .inputs import CommandRequest, exit_code, read_prompt_request, require_trust, take_options
from .output import (
    ended_within,
    print_diagnostics,
    print_message,
    typed_access,
    write_json,
    write_output,
)

if TYPE_CHECKING:
    from ..model import Item


@click.command("prompt", cls=GroupedCommand)
@click.argument("items", nargs=-1, metavar="[ITEMS]...", shell_complete=complete_path)
@text_flags
@click.option(
    "--to", type=click.Choice(SHAPES), default="text", show_default=True,
    help="The receiver: one text, or the keywords of a provider's call.",
)  # fmt: skip
@functools.partial(input_flags, whole=True)
@output_flags
def prompt_command(
    items: tuple[str, ...], to: Any, as_json: bool, output: str | None, **given: Any
) -> int:
    """Make a whole prompt: system text, instructions, context, history and question.

    All share the window of the profile, less its reserve. With --to text the prompt is printed,
    else the keywords of the provider's call as JSON. --json prints the whole account. The text ends
    in a line end where the window has room for it. Items are read from a pipe where --user is all
    that is given; beside other texts the argument `-` reads them.
    """
    from ..prompts.finished import format_prompt
    from ..prompts.prompt import Renderer

    given["output"] = output  # no folder gives the text of an earlier run
    request, around = read_prompt_request(items, given, may_be_empty=True)
    loaded = request.gather()
    around_it = {**around.texts, "history": around.messages, **request.options}
    before = tuple(request.diagnostics)
    prompt = request.renderer(Renderer).prompt(loaded, to=to, before=before, **around_it)
    print_diagnostics(prompt.warnings, quiet=request.quiet)
    asks = around.texts["user"] or around.texts["instructions"] or around.history
    if not (asks or request.quiet):
        print_message("the prompt asks nothing; --user gives the question", "note")
    if as_json:
        write_json(prompt.to_dict(), output)
    else:
        text, tokens, most = format_prompt(prompt), 0, prompt.window
        counter = get_tokenizer(prompt.manifest["tokenizer"]["name"])
        if most is not None:
            tokens = counter.count(text)
            most -= max(0, prompt.tokens - tokens)  # what the LLM adds to the text
        write_output(ended_within(text, tokens, most, counter), output)
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
    "--tests", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the golden cases it saves [default: tests, beside your own folder].",
)  # fmt: skip
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
    if edit:
        for folder in (*request.folders["templates"], *request.folders["profiles"]):
            typed_access().locate_output(folder)
            require_trust(folder, "--edit changes files of")
    # A wrong option ends the command; a wrong template or profile is shown on the page instead.
    with contextlib.suppress(TemplateError):
        request.renderer(Renderer)
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
        loaded, request.profile, request.options, **request.folders, edit=edit, tests=tests,
        texts=PromptTexts(**around.texts, history=around.history), notes=list(request.diagnostics),
        items_file=_only_item_file(request), loading=_call_of_load(items, given),
        words=_words_of_text(sys.argv[2:], command.params, whole=whole),
    )  # fmt: skip
    run_preview(session, port=port or 0, watched=watched, gather=gather, tell=print_message)


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


def _call_of_load(items: Sequence[str], given: Mapping[str, Any]) -> str | None:
    """Return the call of `pf.load` that reads the same; `None` where a flag of it has no keyword.

    `preview src --exclude '*.md'` gives `pf.load('src', exclude=['*.md'])`.
    """
    others = ("job", "files_from", "stream_name", "follow", "null")
    if any(given.get(name) for name in others) or any(word[:1] in ("-", "@") for word in items):
        return None
    context = click.get_current_context()
    words = [repr(word) for word in items]
    for name in filter(given.__contains__, inspect.signature(promptforge.load).parameters):
        value = given[name]
        if context.get_parameter_source(name) != ParameterSource.DEFAULT:
            words.append(f"{name}={[*value] if isinstance(value, tuple) else value!r}")
    return f"pf.load({', '.join(words)})"


def _named_files(request: CommandRequest) -> list[Path]:
    """Return the files of items that are named one by one; none where items were piped in."""
    wanted = request.wanted
    # Standard input cannot be read twice, so no change of a file could be followed.
    if "-" in wanted.items:
        return []
    names = (*wanted.items, *wanted.documents, *wanted.files)
    return list(filter(Path.is_file, (Path(wanted.workspace, name) for name in names)))


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


def _read_address(
    _: click.Context, __: click.Parameter, value: str | None
) -> tuple[str, int] | None:
    if value is None:
        return None
    host, _colon, port = value.rpartition(":")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise click.BadParameter("takes a port from 1 to 65535, or HOST:PORT")
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


@click.command("mcp", cls=GroupedCommand, context_settings={"allow_interspersed_args": False})
@option_flags
@click.option(
    "--http", callback=_read_address, metavar="[HOST:]PORT", help="Serve over HTTP, at /mcp."
)
@click.option(
    "roots", "--root", multiple=True, type=click.Path(exists=True, file_okay=False),
    metavar="FOLDER", help="Open a folder to pack_folder and search_files. Repeatable. Without it,"
    " the roots of the client are open, over standard input alone.",
)  # fmt: skip
@click.option(
    "--wrap", is_flag=True, help="Proxy the MCP server that COMMAND starts, or that is at a URL:"
    " shorten long results to --max-tokens; the tool read_more has the rest.",
)  # fmt: skip
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def mcp_command(
    http: tuple[str, int] | None, roots: tuple[str, ...], wrap: bool,
    command: tuple[str, ...], **given: Any,
) -> None:  # fmt: skip
    """Serve the Model Context Protocol: tools that render contexts.

    render_context and explain take items; pack_folder and search_files read the open folders, but
    no file that git ignores, and mask credentials; list_layouts says what there is. No other file
    is opened for a client. The options are the defaults of each request.

    With --wrap it stands before another server: `promptforge mcp --max-tokens 4000 --wrap npx -y
    @modelcontextprotocol/server-filesystem /srv/docs`. All passes as it came, but long results.

    The server speaks to the program that started it; with --http, streamable HTTP to any, by
    default of this machine alone. Needs the extra `mcp`.
    """
    profile, options, folders, *_ = take_options(given)
    if wrap != bool(command):
        raise click.UsageError("--wrap takes a command or a URL, and nothing else takes one")
    made_of: dict[str, Any] = {"profile": profile, **folders, **options}
    serve: Callable[[tuple[str, int] | None], None]
    # Before the server is made: the library sets its own handler where there is none.
    logging.basicConfig(level=logging.WARNING, handlers=[_LogLines()])
    try:
        if wrap:
            from ..integrations.mcp_proxy import wrap_server

            serve = partial(wrap_server, command, **made_of)
        else:
            from ..integrations.mcp import make_mcp_server

            serve = make_mcp_server(roots=roots, **made_of).serve
    except ImportError as error:  # its message names the extra
        raise click.UsageError(str(error)) from None
    if http is not None:
        _say_address(*http)
    serve(http)


def _say_address(host: str, port: int) -> None:
    """Print where the server is reached; raises a usage error where it cannot be."""
    import socket

    try:  # the server itself would end with a code that says something else here
        socket.create_server((host, port)).close()
    except OSError as error:
        raise click.UsageError(f"--http: {host}:{port} cannot be used: {error.strerror}") from None
    # `main` puts garbage off, as for a command that ends soon: here 400 requests held 30 MiB.
    gc.freeze()
    gc.set_threshold(700, 10, 10)
    print_message(f"MCP at http://{host}:{port}/mcp (Ctrl-C stops)")
    if host not in ("127.0.0.1", "localhost", "[::1]"):
        said = "any program that reaches this address may call it: there is no password"
        print_message(f"{said}. Pages of other sites are refused")
