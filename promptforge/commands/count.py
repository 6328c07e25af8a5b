"""`promptforge count`: tokens of texts, exact or approximate said."""

from __future__ import annotations

import sys
from typing import Any

import click

from ..diagnostics import Diagnostics
from ..options import VOCABULARY
from ..profiles import load_profile
from ..sources import workspace
from ..tokens import get_tokenizer
from .flags import folders_of, profile_flags
from .names import tokenizers
from .output import say, write_json


@click.command("count")
@click.argument("files", nargs=-1)
@profile_flags
@click.option(
    "--tokenizer",
    metavar="NAME",
    shell_complete=tokenizers,
    help="What counts; else the profile's.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(files: tuple[str, ...], tokenizer: str | None, as_json: bool, **given: Any) -> None:
    """Count the tokens of FILES, or of standard input (`-`)."""
    folders = folders_of(given)
    if tokenizer is None:
        profile = load_profile(given["profile"] or "default", folders["profiles"])
        tokenizer = profile.options.get("tokenizer", VOCABULARY.rules["tokenizer"].default)
    counter = get_tokenizer(tokenizer)
    if not files and (sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError("nothing to count: name a file, or pipe a text in")
    diagnostics = Diagnostics()
    rows = []
    for path in files or ("-",):
        text, _ = workspace.read_named(path, workspace=None, diagnostics=diagnostics)
        rows.append({"file": path, "tokens": counter.count(text), "chars": len(text)})
    say(diagnostics)
    total = sum(row["tokens"] for row in rows)  # type: ignore[misc]
    if as_json:
        write_json(
            {"tokenizer": counter.name, "exact": counter.exact, "files": rows, "tokens": total}
        )
        return
    for row in rows:
        click.echo(f"{row['tokens']:>9,}  {row['file']}")
    if len(rows) > 1:
        click.echo(f"{total:>9,}  total")
    click.echo(
        f"promptforge: {'exact' if counter.exact else 'approximate'}, by {counter.name}", err=True
    )
