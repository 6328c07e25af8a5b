"""`promptforge check`: find mistakes in templates, layouts and profiles; measure their cost.

Print findings: for people, for programs, for GitHub, and as SARIF 2.1.0.

`promptforge rule`: explain a code, and the way out.

`promptforge test`: render the user's own golden cases and compare.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as percent

import click

from .._version import __version__
from ..authoring.trust import (
    PROJECT_FOLDER,
    find_project,
    forget_project,
    trust_project,
    trust_state,
)
from ..errors import ItemError, certain_correction, quote
from ..files import YAML_SUFFIXES
from ..lint.checker import LintReport
from ..lint.findings import CODES, Finding, explain_code
from ..text.escape import to_label
from .complete import complete_code
from .inputs import _WORDS, or_local_folders, profile_flags, take_folders
from .output import (
    Column,
    excerpt_lines,
    plural,
    printable,
    screen_columns,
    table_lines,
    write_json,
    write_output,
)

if TYPE_CHECKING:
    from ..authoring.golden import CaseOutcome


@click.command("rule")
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=complete_code)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def rule_command(codes: tuple[str, ...], as_json: bool) -> None:
    """Explain codes such as PF802; without any, list them all."""
    wanted = [code.upper() for code in codes]
    for code in wanted:
        if code not in CODES:
            hint = "; `promptforge rule` lists them"
            if near := certain_correction(code, CODES):
                hint = f'; did you mean "{near}"?'
            raise click.UsageError(f"there is no code {quote(code)}{hint}")
    if as_json:
        write_json({"codes": [{"code": code, **CODES[code]._asdict()} for code in wanted or CODES]})
    elif wanted:
        write_output("\n".join(explain_code(code) for code in wanted), None)
    else:
        write_output(
            "".join(f"{code}  {rule.severity:<7}  {rule.title}\n" for code, rule in CODES.items()),
            None,
        )


@click.command("trust")
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--show", is_flag=True, help="List its files only; exit 1 where it is not trusted as it is."
)
@click.option("--remove", is_flag=True, help="Trust it no longer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def trust_command(folder: str, show: bool, remove: bool, as_json: bool) -> int:
    """Allow the templates and profiles in FOLDER/.promptforge, as they are now.

    After a change they are not used until you trust them again. Prints each file with its size and
    hash. A template reaches no file, program or network; it only words the text around your items.
    """
    project = find_project(folder)
    if remove:
        place = Path(os.path.realpath(folder)) / PROJECT_FOLDER
        if project:
            place = project.folder
        outcome = "was not trusted"
        if forget_project(place):
            outcome = "trusted no longer"
        click.echo(f"promptforge: {printable(place)}: {outcome}", err=True)
        return 0
    if project is None:
        raise click.UsageError(
            f"there are no templates or profiles in {printable(Path(folder) / PROJECT_FOLDER)}"
        )
    if not show:
        trust_project(project)
    state = trust_state(project)
    if as_json:
        files = [entry._asdict() for entry in project.files]
        facts = {"folder": str(project.folder), "state": state, "sha256": project.sha256}
        write_json({**facts, "files": files})
    else:
        columns = [Column("file", cut=True), Column("chars", right=True)]
        columns += [Column("sha256"), Column("")]
        rows = []
        for entry in project.files:
            # Invisible characters can hide an instruction from the reader of the file.
            invisible = f"{entry.invisible} invisible characters" * bool(entry.invisible)
            rows.append((printable(entry.name), f"{entry.size:,}", entry.sha256[:12], invisible))
        for line in table_lines(columns, rows, total=screen_columns()):
            click.echo(line)
    click.echo(
        f"promptforge: {printable(project.folder)}: {_WORDS[state]} ({project.sha256[:12]})",
        err=True,
    )
    return int(state != "trusted")


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
def check_command(
    paths: tuple[Path, ...], shape: str, as_json: bool, prices: bool | None, fix: bool, diff: bool, quiet: bool,
    **given: Any,
) -> int:  # fmt: skip
    """Check templates, layouts and profiles before they are used.

    PATHS are files or folders; without any, the folders of --templates and --profiles (or of PROMPTFORGE_TEMPLATES and
    PROMPTFORGE_PROFILES), else ./templates and ./profiles. `promptforge rule CODE` explains a finding.

    Exit codes: 0 nothing but notes; 1 errors or warnings; 2 usage.
    """
    from ..lint import findings as fixing
    from ..lint.checker import check
    from ..lint.library import LintTargets as Targets
    from . import check as reports

    if as_json:
        shape = "json"
    folders = take_folders(given)
    wants = prices
    if diff or quiet or shape not in ("text", "json"):
        wants = bool(prices) and not diff
    wanted = _wanted(paths, folders)
    folders = or_local_folders(folders)  # a file that is checked may extend one of its neighbours

    def run() -> LintReport:
        targets = Targets()
        for path in wanted:
            targets.add(path)
        return check(
            targets, folders["templates"], folders["profiles"], given["profile"], costs=wants
        )

    report = run()
    if diff:
        changes = list(fixing.fix_files(report.findings))
        write_output("".join(line for one in changes for line in fixing.unified_diff(one)), None)
        return int(bool(changes))
    if fix:
        for one in fixing.fix_files(report.findings):
            write_output(one.after, str(one.path))
            click.echo(
                f"promptforge: {reports.printable_path(str(one.path))}: {one.edits} put right",
                err=True,
            )
        report = run()
    _print(report, shape, quiet)
    return int(any(f.severity != "note" for f in report.findings))


def _wanted(paths: tuple[Path, ...], folders: dict[str, list[Path]]) -> list[Path]:
    if paths:
        return list(paths)
    if not any(folders.values()):
        folders = or_local_folders(folders)
    found = [*folders["templates"], *folders["profiles"]]
    if not found:
        raise click.UsageError(
            "nothing to check: there is neither ./templates nor ./profiles; name a file or folder, or start with"
            " `promptforge init`"
        )
    return found


def _print(report: LintReport, shape: str, quiet: bool) -> None:
    from . import check as reports

    if shape == "json":
        write_json(reports.report_facts(report))
    elif shape == "sarif":
        write_output(json.dumps(reports.sarif_facts(report, __version__), indent=2) + "\n", None)
    elif shape == "github":
        write_output("".join(f"{line}\n" for line in reports.github_lines(report.findings)), None)
    else:
        shown = [f for f in report.findings if not quiet or f.severity != "note"]
        text = [line for finding in shown for line in reports.finding_lines(finding)]
        write_output(
            "".join(f"{line}\n" for line in (*text, *_prices(report, after=bool(text)))), None
        )
        if not quiet:
            click.echo(f"promptforge: {reports.report_summary(report)}{_hint(report)}", err=True)


def _hint(report: LintReport) -> str:
    grave = [f for f in report.findings if f.severity != "note"]
    fixable = sum(f.edit is not None for f in report.findings)
    hint = ""
    if grave:
        hint += f"; `promptforge rule {grave[0].code}` explains the first"
    if fixable:
        hint += f"; --fix puts {fixable} right"
    return hint


def _prices(report: LintReport, *, after: bool) -> Iterator[str]:
    if not report.costs:
        return
    if after:
        yield ""
    columns = [Column("layout", cut=True), Column("format", cut=True), Column("page", right=True)]
    columns += [Column("kind", cut=True), Column("an item", right=True)]
    rows = []
    for cost in report.costs:
        named = [cost.layout, cost.format, f"{cost.page:,}"]
        for kind, tokens in cost.items.items():
            rows.append([*named, kind, f"+{tokens:,}"])
            named = [""] * 3  # the row above says it
    yield from table_lines(columns, rows, total=screen_columns())
    yield f"tokens by {report.tokenizer}, without the texts of the items"


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
def test_command(
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
    from ..authoring.golden import load_cases as load
    from ..authoring.golden import run_case as judge

    if update and os.environ.get("CI"):
        raise click.UsageError(
            "--update is refused where CI is set: expected texts are changed by hand and read"
        )
    if given["profile"]:
        raise click.UsageError("a case names its profile itself: options: {profile: NAME}")
    folders = or_local_folders(take_folders(given))
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
            click.echo(f"promptforge: {printable(str(path))} updated", err=True)
    failed = [outcome for outcome in outcomes if outcome.problems]
    if as_json:
        write_json({"cases": [_facts(outcome) for outcome in outcomes], "failed": len(failed)})
    else:
        write_output(
            "".join(f"{line}\n" for outcome in outcomes for line in _lines(outcome, quiet)), None
        )
        if not quiet:
            click.echo(f"promptforge: {_summary(len(outcomes), failed)}", err=True)
    return int(bool(failed))


def _files(paths: tuple[Path, ...]) -> list[Path]:
    from ..authoring.golden import is_cases_file as is_cases

    if not paths and not Path("tests").is_dir():
        raise click.UsageError(
            "there is no folder ./tests; name a file of cases, or start with `promptforge init`"
        )
    found: list[Path] = []
    for path in paths or (Path("tests"),):
        if path.is_dir():
            listed = sorted(
                each for each in path.iterdir() if each.suffix in YAML_SUFFIXES and is_cases(each)
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


def _lines(outcome: CaseOutcome, quiet: bool) -> Iterator[str]:
    case = outcome.case
    if not outcome.problems:
        if not quiet:
            tokens = ""
            if outcome.tokens is not None:
                tokens = f" ({outcome.tokens:,} tokens)"
            yield f"ok   {printable(str(case.path))}:{case.line} {printable(case.name)}{tokens}"
        return
    yield f"FAIL {printable(str(case.path))}:{case.line} {printable(case.name)}"
    for problem in outcome.problems:
        yield from (f"    {line}" for line in problem.split("\n"))


def _facts(outcome: CaseOutcome) -> dict[str, Any]:
    case = outcome.case
    return {
        "file": str(case.path), "line": case.line, "name": case.name, "passed": not outcome.problems,
        "problems": list(outcome.problems), "tokens": outcome.tokens, "text": outcome.text,
    }  # fmt: skip


def _update(outcomes: list[CaseOutcome]) -> list[Path]:
    """Write the printed texts over the expected ones that differ; return the changed files."""
    from ..authoring.golden import read_cases_file as read
    from ..authoring.golden import update_case as updated

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
        write_output(text, str(path))
    return list(written)


def _summary(number: int, failed: list[CaseOutcome]) -> str:
    cases = f"{number} {plural(number, 'case', 'cases')}"
    if not failed:
        return f"{cases} held"
    way_out = ""
    if any(outcome.stale for outcome in failed):
        way_out = "; `promptforge test --update` takes the printed texts over"
    return f"{len(failed)} of {cases} failed{way_out}"


_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def printable_path(path: str) -> str:
    """Return a path on one line, with `/` on every system."""
    return to_label(PurePath(path).as_posix())


def place_of(finding: Finding) -> str:
    """Return `file:line:col`, without the numbers that are not known."""
    numbers = [str(n) for n in (finding.line, finding.column) if n]
    return ":".join([printable_path(finding.path), *numbers])


def finding_lines(finding: Finding) -> Iterator[str]:
    """Yield a finding as `file:line:col: CODE message`, its line of source and a caret below it."""
    note = "note: " * (finding.severity == "note")
    yield f"{place_of(finding)}: {finding.code} {note}{to_label(finding.message)}"
    if finding.line and finding.column and finding.source.strip():
        yield from excerpt_lines(finding.source, finding.line, finding.column, finding.end_column)


def report_summary(report: LintReport) -> str:
    """Return the numbers of files and of findings by severity."""
    counts = Counter(finding.severity for finding in report.findings)
    found = [
        f"{counts[severity]} {plural(counts[severity], severity, f'{severity}s')}"
        for severity in ("error", "warning", "note")
        if counts[severity]
    ]
    files = f"{report.files} {plural(report.files, 'file', 'files')}"
    return f"{files}: {', '.join(found) or 'nothing to say'}"


def report_facts(report: LintReport) -> dict[str, Any]:
    """Return a report as plain data for JSON."""
    findings = [
        {
            "path": PurePath(f.path).as_posix(), "line": f.line, "column": f.column, "end_column": f.end_column,
            "code": f.code, "severity": f.severity, "message": f.message, "source": f.source,
            "fixable": f.edit is not None,
        }
        for f in report.findings
    ]  # fmt: skip
    prices = [
        {"layout": p.layout, "format": p.format, "page": p.page, "items": p.items}
        for p in report.costs
    ]
    return {
        "findings": findings,
        "prices": prices,
        "tokenizer": report.tokenizer,
        "files": report.files,
    }


def github_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield findings as workflow commands of GitHub, shown there beside the lines."""
    words = {"error": "error", "warning": "warning", "note": "notice"}
    for f in findings:
        facts = {"file": PurePath(f.path).as_posix(), "line": f.line or 1, "col": f.column or None}
        if f.end_column:
            facts["endColumn"] = f.end_column
        facts["title"] = f.code
        pairs = ",".join(
            f"{name}={_property(str(value))}" for name, value in facts.items() if value is not None
        )
        yield f"::{words[f.severity]} {pairs}::{_data(f'{f.code} {f.message}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif_facts(report: LintReport, version: str) -> dict[str, Any]:
    """Return a report as SARIF 2.1.0."""
    used = sorted({f.code for f in report.findings})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].title},
            "fullDescription": {"text": CODES[code].why},
            "help": {"text": CODES[code].way_out},
            "defaultConfiguration": {"level": CODES[code].severity},
        }
        for code in used
    ]
    results = []
    for f in report.findings:
        location: dict[str, Any] = {
            "artifactLocation": {"uri": percent(PurePath(f.path).as_posix(), safe="/:")}
        }
        if f.line:
            region = {"startLine": f.line, "startColumn": f.column, "endColumn": f.end_column}
            location["region"] = {name: number for name, number in region.items() if number}
        results.append(
            {
                "ruleId": f.code,
                "ruleIndex": used.index(f.code),
                "level": f.severity,
                "message": {"text": f.message},
                "locations": [{"physicalLocation": location}],
            }
        )
    driver = {"name": "promptforge", "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}
