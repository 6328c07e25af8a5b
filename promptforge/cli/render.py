"""The commands that print or count texts: render, count and calibrate.

`render` prints one context, `count` counts texts; `calibrate` finds the factor of a tokenizer that
is not at hand.
Libraries of one command alone are imported when it runs: `render` starts without them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from ..config.options import OPTION_VOCABULARY
from ..errors import Diagnostics, ItemError, StrictError, quote, suggest_name
from ..selection.group import file_tree
from ..sources.workspace import BinaryFileError, read_named
from ..text.format import plural
from ..tokenizers.registry import get_tokenizer, prepare_for_one_command
from .flags import (
    FOLDER_FILTERS,
    GroupedCommand,
    complete_path,
    complete_tokenizer,
    folder_flags,
    input_flags,
    json_flag,
    output_flags,
    profile_flags,
    read_option,
)
from .inputs import CommandRequest, exit_code, read_request, take_options
from .output import (
    check_output,
    copy_text,
    is_terminal,
    print_diagnostics,
    print_message,
    printable,
    typed_access,
    write_all_files,
    write_json,
    write_lines,
    write_output,
    write_text,
)

if TYPE_CHECKING:
    from ..model import Result
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
    `-` is standard input. Without any argument, what is piped is read. --json prints the whole
    result. A file ends in a line end where the budget has room for it; on standard output one
    follows the text, and is not counted.

    \b
      promptforge render . --max-tokens 8000 --tree
      promptforge render results.json --query "How are locks taken?" --profile claude
      git diff | promptforge render --max-tokens 8000
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
        if output.endswith("/") or (os.path.exists(output) and not os.path.isfile(output)):
            message = "is no file; --split numbers the name of one: out.md makes out.1.md"
            raise ItemError(message, where=output)
        check_output(output)
        return _write_parts(request, renderer, tokens, Path(output))
    check_output(output)
    result = request.render(renderer, request.gather())
    if copy:
        print_message(f"copied {result.tokens:,} tokens {copy_text(result.text)}")
        if output is None and not as_json:
            return exit_code(result)
    if as_json:
        write_json(result.to_dict(), output)
    elif output in (None, "", "-"):
        write_text(result.text)
    else:
        write_output(_end_within_budget(result), output)
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
    """Return the text with a line end after its last line, without one where that is too much.

    The budget holds for the bytes of a file.
    """
    text, page = result.text, result.report.page
    if not text or text.endswith("\n"):
        return text
    ended = f"{text}\n"
    if result.max_tokens is not None:
        tokens = page.counter.count_with_line_end(text, result.tokens)
        if tokens > result.max_tokens:
            return text
    if page.options.max_chars is not None and len(ended) > page.options.max_chars:
        return text
    return ended


MAX_PARTS_NAMED = 20
"""Parts that are all named; of more, the first two and the last."""


def _write_parts(
    request: CommandRequest, renderer: ContextRenderer, tokens: int, output: Path
) -> int:
    """Write the parts, and say their names."""
    options = {**request.options, "max_tokens": tokens}
    parts = renderer.split(request.gather(), before=tuple(request.diagnostics), **options)
    said = dict.fromkeys(d for part in parts for d in part.warnings if d.code != "PF111")
    print_diagnostics([*request.diagnostics, *said], quiet=request.quiet)
    names = [output.with_suffix(f".{n}{output.suffix}") for n in range(1, len(parts) + 1)]
    texts = map(_end_within_budget, parts)
    write_all_files(dict(zip(map(str, names), texts, strict=True)))
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
    given["secret_allowlist"] = settings.secret_allowlist
    tokenizer = settings.options.get("tokenizer")
    if tokenizer is None:
        from ..config.profiles import load_profile

        profile = load_profile(settings.profile or "default", settings.folders["profiles"])
        profile.check_outside("allow_outside" in settings.folders)
        tokenizer = profile.options.get("tokenizer", OPTION_VOCABULARY.rules["tokenizer"].default)
    prepare_for_one_command()
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
        yield path, read_named(path, workspace=typed_access(), diagnostics=diagnostics)[0]
        return
    filters = {name: given[name] for name in (*FOLDER_FILTERS, "secret_allowlist")}
    wanted = FolderFilter(**filters)
    request = SourceRequest(files=[path], workspace=typed_access(), wanted=wanted)
    for item in gather(request, diagnostics):
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
    warnings = [d for d in diagnostics if d.severity != "info"]
    if strict and warnings:
        raise StrictError(f"{len(warnings)} to warn of, the first {warnings[0].code}")
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
    content, name = read_named(path, workspace=typed_access(), diagnostics=diagnostics)
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
