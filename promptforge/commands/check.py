"""`promptforge check`: find mistakes in templates, layouts and profiles; measure their cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from .flags import folders_of, or_here, profile_flags
from .output import write, write_json
from .tables import Column, screen, table

if TYPE_CHECKING:
    from ..checking.check import Report

FORMATS = ("text", "json", "github", "sarif")


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATHS]...", type=click.Path(path_type=Path))
@profile_flags
@click.option(
    "--output-format",
    "shape",
    type=click.Choice(FORMATS),
    default="text",
    help="How findings are printed.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --output-format json.")
@click.option(
    "--prices/--no-prices",
    default=None,
    help="Cost of each layout in tokens [default: in text and JSON, once nothing is wrong].",
)
@click.option("--fix", is_flag=True, help="Correct mistakes that have one safe correction.")
@click.option("--diff", is_flag=True, help="Show the changes of --fix, and change nothing.")
@click.option("-q", "--quiet", is_flag=True, help="No notes, no prices and no summary.")
def command(
    paths: tuple[Path, ...], shape: str, as_json: bool, prices: bool | None, fix: bool, diff: bool, quiet: bool,
    **given: Any,
) -> int:  # fmt: skip
    """Check templates, layouts and profiles before they are used.

    PATHS are files or folders; without any, the folders of --templates and --profiles (or of PROMPTFORGE_TEMPLATES and
    PROMPTFORGE_PROFILES), else ./templates and ./profiles. `promptforge rule CODE` explains a finding.

    Exit codes: 0 nothing but notes; 1 errors or warnings; 2 usage.
    """
    from ..checking import fixing
    from ..checking.check import check
    from ..checking.targets import Targets
    from . import reports

    if as_json:
        shape = "json"
    folders = folders_of(given)
    wants = prices
    if diff or quiet or shape not in ("text", "json"):
        wants = bool(prices) and not diff
    wanted = _wanted(paths, folders)
    folders = or_here(folders)  # a file that is checked may extend one of its neighbours

    def run() -> Report:
        targets = Targets()
        for path in wanted:
            targets.add(path)
        return check(
            targets, folders["templates"], folders["profiles"], given["profile"], prices=wants
        )

    report = run()
    if diff:
        changes = list(fixing.fixed(report.findings))
        write("".join(line for one in changes for line in fixing.difference(one)), None)
        return int(bool(changes))
    if fix:
        for one in fixing.fixed(report.findings):
            write(one.after, str(one.path))
            click.echo(
                f"promptforge: {reports.shown_path(str(one.path))}: {one.edits} put right", err=True
            )
        report = run()
    _print(report, shape, quiet)
    return int(any(f.severity != "note" for f in report.findings))


def _wanted(paths: tuple[Path, ...], folders: dict[str, list[Path]]) -> list[Path]:
    if paths:
        return list(paths)
    if not any(folders.values()):
        folders = or_here(folders)
    found = [*folders["templates"], *folders["profiles"]]
    if not found:
        raise click.UsageError(
            "nothing to check: there is neither ./templates nor ./profiles; name a file or folder, or start with"
            " `promptforge init`"
        )
    return found


def _print(report: Report, shape: str, quiet: bool) -> None:
    from . import reports

    if shape == "json":
        write_json(reports.as_data(report))
    elif shape == "sarif":
        write(json.dumps(reports.sarif(report, __version__), indent=2) + "\n", None)
    elif shape == "github":
        write("".join(f"{line}\n" for line in reports.github(report.findings)), None)
    else:
        shown = [f for f in report.findings if not quiet or f.severity != "note"]
        text = [line for finding in shown for line in reports.lines(finding)]
        write("".join(f"{line}\n" for line in (*text, *_prices(report, after=bool(text)))), None)
        if not quiet:
            click.echo(f"promptforge: {reports.summary(report)}{_hint(report)}", err=True)


def _hint(report: Report) -> str:
    grave = [f for f in report.findings if f.severity != "note"]
    fixable = sum(f.edit is not None for f in report.findings)
    hint = ""
    if grave:
        hint += f"; `promptforge rule {grave[0].code}` explains the first"
    if fixable:
        hint += f"; --fix puts {fixable} right"
    return hint


def _prices(report: Report, *, after: bool) -> Iterator[str]:
    if not report.prices:
        return
    from ..checking.trial import spread

    if after:
        yield ""
    columns = [Column("layout", cut=True), Column("format", cut=True), Column("page", right=True)]
    columns += [Column("kind", cut=True), Column("an item", right=True)]
    rows = []
    last = ("", "")
    for layout, form, page, kind, tokens in spread(report.prices):
        named = [layout, form, f"{page:,}"]
        if (layout, form) == last:
            named = [""] * 3  # the row above says it
        rows.append([*named, kind, f"+{tokens:,}"])
        last = (layout, form)
    yield from table(columns, rows, total=screen())
    yield f"tokens by {report.tokenizer}, without the texts of the items"
