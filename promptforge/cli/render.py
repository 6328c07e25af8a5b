"""The commands that print or count texts: `render` prints one context, `count` counts texts.

Libraries of one command alone are imported when it runs: `render` starts without them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..config.options import OPTION_VOCABULARY
from ..engine import get_tokenizer
from ..errors import Diagnostics, ItemError, quote
from ..selection.file_tree import file_tree
from ..sources.documents import part_word
from ..sources.workspace import BinaryFileError, read_named
from ..text.format import plural
from .flags import (
    FOLDER_FILTERS,
    GroupedCommand,
    complete_path,
    complete_tokenizer,
    folder_flags,
    given_options,
    input_flags,
    json_flag,
    memory_flag,
    output_flags,
    profile_flags,
    read_option,
    verbose_flag,
)
from .inputs import (
    CommandRequest,
    JobPlace,
    exit_code,
    keep_memory,
    printed_files,
    read_request,
    refuse_second_reader,
    take_options,
)
from .output import (
    check_output,
    copy_text,
    ended_within,
    is_terminal,
    painter,
    print_diagnostics,
    print_message,
    printable,
    typed_access,
    write_all_files,
    write_json,
    write_lines,
    write_output,
)

if TYPE_CHECKING:
    from ..engine import ContextRenderer, Counter
    from ..model import Result


@click.command("render", cls=GroupedCommand)
@click.argument("items", nargs=-1, metavar="[ITEMS]...", shell_complete=complete_path)
@memory_flag
@input_flags
@output_flags
@click.option(
    "--split", metavar="N",
    help="Write everything, in parts of N tokens; -o out.md makes out.1.md, out.2.md …",
)  # fmt: skip
@click.option("--copy", is_flag=True, help="Copy the text to the clipboard, and do not print it.")
def render_command(
    items: tuple[str, ...], as_json: bool, output: str | None, split: str | None, copy: bool,
    **given: Any,
) -> int:  # fmt: skip
    """Render items and sources as one context text.

    ITEMS are files of items (JSON, JSON Lines, YAML), folders, and files of text such as app.py;
    `-` is standard input. Without any argument, what is piped is read. --json prints the whole
    result. The text ends in a line end where the budget has room for it.

    \b
      promptforge render . --max-tokens 8000 --tree
      promptforge render results.json --query "How are locks taken?" --profile claude
      git diff | promptforge render --max-tokens 8000
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace
    if split is not None and (as_json or copy or output in (None, "", "-")):
        raise click.UsageError("--split writes files: name them by -o FILE, without --json, --copy")
    if split is not None and given_options(given).get("max_tokens") not in (None, "none"):
        message = "--split N writes everything, N tokens in a part, so --max-tokens cannot hold"
        raise click.UsageError(f"{message}; leave out one of the two")
    request = read_request(items, {**given, "output": output, "split": split})
    # The renderer comes first: a wrong profile is said before the items are read.
    from ..engine import ContextRenderer

    renderer = request.renderer(ContextRenderer)
    request.remember()
    if split is not None and output is not None:
        tokens = read_option("max_tokens", split, "--split")
        if not isinstance(tokens, int) or tokens < 1:
            raise click.UsageError(f"--split takes a number of tokens, as 8k; got {quote(split)}")
        if check_output(output) is None:
            message = "is not a file; --split numbers the name of one: out.md makes out.1.md"
            raise ItemError(message, where=output)
        return _write_parts(request, renderer, tokens, Path(output))
    check_output(output)
    result = request.render(renderer, request.gather())
    if copy:
        print_message(f"copied {result.tokens:,} tokens {copy_text(result.text)}")
        if output is None and not as_json:
            return exit_code(result)
    if as_json:
        write_json(result.to_dict(), output)
    else:
        write_output(_end_within_budget(result), output or None)
    # Between a text on the screen and the prompt below it, a line would be taken for the text's.
    to_file = output not in (None, "", "-")
    if not request.quiet and (to_file or (is_terminal("stderr") and not is_terminal("stdout"))):
        # Not `result.items`: it counts the tokens of each.
        count = plural(len(result.report.packed.chosen), "item", "items")
        place = f": {printable(str(output))}" if to_file else ""
        budget = "" if result.max_tokens is None else f" of {result.max_tokens:,}"
        print_message(f"{count}, {result.tokens:,}{budget} tokens{place}")
    return exit_code(result)


def _end_within_budget(result: Result) -> str:
    text, page = result.text, result.report.page
    max_chars = page.options.max_chars
    if max_chars is not None and len(text) >= max_chars:
        return text
    return ended_within(text, result.tokens, result.max_tokens, page.counter)


MAX_PARTS_NAMED = 20
"""Parts that are all named; of more, the first two and the last."""


def _write_parts(
    request: CommandRequest, renderer: ContextRenderer, tokens: int, output: Path
) -> int:
    """Write the parts, and say their names."""
    options = {**request.options, "max_tokens": tokens}
    place = request.places.get("max_tokens")
    if isinstance(place, JobPlace):
        message = "max_tokens is not used: --split writes everything, and is the budget of a part"
        request.diagnostics.add("PF105", message, where=place, severity="info")
    parts = renderer.split(request.gather(), before=tuple(request.diagnostics), **options)
    said = dict.fromkeys(d for part in parts for d in part.warnings if d.code != "PF111")
    print_diagnostics([*request.diagnostics, *said], quiet=request.quiet)
    names = [output.with_suffix(f".{n}{output.suffix}") for n in range(1, len(parts) + 1)]
    texts = map(_end_within_budget, parts)
    write_all_files(output.parent, dict(zip([each.name for each in names], texts, strict=True)))
    total = sum(part.tokens for part in parts)
    count = plural(len(parts), "part", "parts")
    shown = [printable(name) for name in names]
    if len(shown) > MAX_PARTS_NAMED:
        shown[2:-1] = ["…"]
    print_message(f"{count}, {total:,} tokens: {' '.join(shown)}")
    beyond = output.with_suffix(f".{len(parts) + 1}{output.suffix}")
    if beyond.exists():
        print_message(f"note: {printable(beyond)} is of an earlier run")
    return exit_code(*parts)


# --- counting -------------------------------------------------------------------------------------

TREE_DEPTH = 2
TREE_BAR = 10


@click.command("count")
@click.argument("files", nargs=-1, shell_complete=complete_path)
@memory_flag
@folder_flags
@profile_flags
@click.option(
    "--tokenizer", metavar="NAME", shell_complete=complete_tokenizer,
    help="The tokenizer [default: the profile's].",
)  # fmt: skip
@click.option("--tree", is_flag=True, help="Print folders with their shares, largest first.")
@click.option(
    "--depth",
    metavar="N",
    type=click.IntRange(1),
    help=f"Levels of folders that --tree shows [default: {TREE_DEPTH}].",
)
@verbose_flag
@json_flag
def count_command(
    files: tuple[str, ...], tokenizer: str | None, tree: bool, depth: int | None, as_json: bool,
    **given: Any,
) -> None:  # fmt: skip
    """Count the tokens of FILES, of folders (the largest file first), or of standard input (`-`).

    In a folder, it counts the files that `render` would read, without headings and fences.
    """
    settings = take_options({**given, "tokenizer": tokenizer})
    given["secret_allowlist"] = settings.secret_allowlist
    tokenizer = settings.options.get("tokenizer")
    if tokenizer is None:
        from ..config.profiles import load_profile

        profile = load_profile(settings.profile or "default", settings.folders["profiles"])
        profile.check_outside("allow_outside" in settings.folders)
        tokenizer = profile.options.get("tokenizer", OPTION_VOCABULARY.rules["tokenizer"].default)
    counter = get_tokenizer(tokenizer)
    # At a terminal nobody would know what the command waits for.
    if not files and (sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError("nothing to count: name a file or a folder, or pipe a text in")
    refuse_second_reader(["FILES"] * files.count("-"))
    diagnostics = Diagnostics()
    keep_memory(files, typed_access(), secret_scan=given["secret_scan"])
    rows = _count_all(files or ("-",), given, counter, diagnostics)
    print_diagnostics(diagnostics)
    total = sum(row["tokens"] for row in rows)
    if as_json:
        facts = {"tokenizer": counter.name, "exact": counter.exact, "files": rows}
        write_json({**facts, "tokens": total})
        return
    lines = []
    if tree or depth:
        lines = list(_tree_lines(rows, depth or TREE_DEPTH))
    else:
        lines = [f"{row['tokens']:>9,}  {printable(row['file'])}" for row in rows]
    if len(rows) != 1:
        lines.append(f"{total:>9,}  total")
    write_lines(lines, paint=_PAINT)
    print_message(f"{('approximate', 'exact')[counter.exact]}, by {counter.name}")


_PAINT = painter((".* total$", "bold"), (r" *[\d,]+  (.*[█░]+.*/)$", "cyan"))


def _tree_lines(rows: Sequence[dict[str, Any]], depth: int) -> Iterator[str]:
    """Yield folders and files down to a depth, each with its tokens and a bar of its share."""
    tokens = {os.path.normpath(row["file"]): row["tokens"] for row in rows}
    entries = file_tree(tokens, largest_first=True)
    total = max(1, sum(tokens.values()))
    for entry in entries:
        if entry.depth < depth:
            full = round(TREE_BAR * entry.tokens / total)
            bar = "█" * full + "░" * (TREE_BAR - full)
            name = printable(entry.name) + "/" * entry.folder
            yield f"{entry.tokens:>9,}  {bar}  {'  ' * entry.depth}{name}"
    below = sum(entry.depth >= depth for entry in entries)
    if below:
        deepest = 1 + max(entry.depth for entry in entries)
        yield f"{'…':>9}  {plural(below, 'name', 'names')} below; --depth {deepest} shows all"


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
    """Yield path and text of a file, or of each file of a folder; of a document all its pages."""
    from ..engine import FolderFilter, SourceRequest, gather

    if not os.path.isdir(path) and part_word(path) is None:
        yield path, read_named(path, workspace=typed_access(), diagnostics=diagnostics)[0]
        return
    filters = {name: given[name] for name in (*FOLDER_FILTERS, "secret_allowlist")}
    wanted = FolderFilter(**filters, printed=printed_files())
    request = SourceRequest(files=[path], workspace=typed_access(), wanted=wanted)
    texts: dict[str, list[str]] = {}
    for item in gather(request, diagnostics):
        texts.setdefault(item.path or path, []).append(item.content or "")
    for name, pages in texts.items():
        yield name, "\n\n".join(pages)
