"""`promptforge test`: render the user's own golden cases and compare."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ItemError, quote
from ..folders import YAML
from .flags import folders_of, or_here, profile_flags
from .output import write, write_json
from .tables import plural, shown

if TYPE_CHECKING:
    from ..golden.judging import Outcome


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATHS]...", type=click.Path(path_type=Path))
@profile_flags
@click.option(
    "--update",
    is_flag=True,
    help="Write the texts as they are printed now; refused where CI is set.",
)
@click.option("--only", metavar="WORDS", help="Only cases whose names hold these words.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print only cases that fail.")
def command(
    paths: tuple[Path, ...],
    update: bool,
    only: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Render cases and compare them with their expected texts.

    PATHS are YAML files of cases, or folders of them; without any, ./tests. The guide to templates
    describes a case. Templates and profiles come from --templates and --profiles (or the
    environment), else from ./templates and ./profiles.

    Exit codes: 0 all pass; 1 some fail; 2 usage; 4 a file that cannot be read. A case with a
    mistake in itself fails; the others run.
    """
    from ..golden.cases import load
    from ..golden.judging import judge

    if update and os.environ.get("CI"):
        raise click.UsageError(
            "--update is refused where CI is set: expected texts are changed by hand and read"
        )
    if given["profile"]:
        raise click.UsageError("a case names its profile itself: options: {profile: NAME}")
    folders = or_here(folders_of(given))
    cases = [case for path in _files(paths) for case in load(path)]
    if only is not None:
        cases = [case for case in cases if only in case.name]
    if not cases:
        named = ""
        if only:
            named = f" with {quote(only)} in their names"
        raise click.UsageError(f"there are no cases{named}")
    outcomes = [judge(case, folders["templates"], folders["profiles"]) for case in cases]
    if update:
        changed = _update(outcomes)
        outcomes = [
            judge(case, folders["templates"], folders["profiles"])
            for path in _files(paths)
            for case in load(path)
        ]
        for path in changed:
            click.echo(f"promptforge: {shown(str(path))} updated", err=True)
    failed = [outcome for outcome in outcomes if outcome.problems]
    if as_json:
        write_json({"cases": [_facts(outcome) for outcome in outcomes], "failed": len(failed)})
    else:
        write("".join(f"{line}\n" for outcome in outcomes for line in _lines(outcome, quiet)), None)
        if not quiet:
            click.echo(f"promptforge: {_summary(len(outcomes), failed)}", err=True)
    return int(bool(failed))


def _files(paths: tuple[Path, ...]) -> list[Path]:
    from ..golden.cases import is_cases

    if not paths and not Path("tests").is_dir():
        raise click.UsageError(
            "there is no folder ./tests; name a file of cases, or start with `promptforge init`"
        )
    found: list[Path] = []
    for path in paths or (Path("tests"),):
        if path.is_dir():
            listed = sorted(
                each for each in path.iterdir() if each.suffix in YAML and is_cases(each)
            )
            if not listed:
                raise click.UsageError(
                    f"the folder {quote(str(path))} holds no file of cases (`cases:` in a .yaml file)"
                )
            found += listed
        elif path.exists():
            found.append(path)
        else:
            raise click.UsageError(f"there is no file or folder {quote(str(path))}")
    return list(dict.fromkeys(found))


def _lines(outcome: Outcome, quiet: bool) -> Iterator[str]:
    case = outcome.case
    if not outcome.problems:
        if not quiet:
            tokens = ""
            if outcome.tokens is not None:
                tokens = f" ({outcome.tokens:,} tokens)"
            yield f"ok   {shown(str(case.path))}:{case.line} {shown(case.name)}{tokens}"
        return
    yield f"FAIL {shown(str(case.path))}:{case.line} {shown(case.name)}"
    for problem in outcome.problems:
        yield from (f"    {line}" for line in problem.split("\n"))


def _facts(outcome: Outcome) -> dict[str, Any]:
    case = outcome.case
    return {
        "file": str(case.path), "line": case.line, "name": case.name, "passed": not outcome.problems,
        "problems": list(outcome.problems), "tokens": outcome.tokens, "text": outcome.text,
    }  # fmt: skip


def _update(outcomes: list[Outcome]) -> list[Path]:
    """Write the printed texts over the expected ones that differ; return the changed files."""
    from ..golden.cases import read
    from ..golden.updating import updated

    written: dict[Path, str] = {}
    for outcome in outcomes:
        case = outcome.case
        if not outcome.stale or outcome.text is None:
            continue
        if case.keys["file"] is not None:
            written[case.near(case.keys["file"])] = outcome.text
        else:
            written[case.path] = updated(
                written.get(case.path, read(case.path)), case, outcome.text
            )
    for path, text in written.items():
        if not path.parent.is_dir():
            raise ItemError("the folder is not there", where=str(path))
        write(text, str(path))
    return list(written)


def _summary(number: int, failed: list[Outcome]) -> str:
    cases = f"{number} {plural(number, 'case', 'cases')}"
    if not failed:
        return f"{cases} held"
    way_out = ""
    if any(outcome.stale for outcome in failed):
        way_out = "; `promptforge test --update` takes the printed texts over"
    return f"{len(failed)} of {cases} failed{way_out}"
