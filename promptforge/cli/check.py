"""The commands that judge templates and profiles: check, rule, test and trust.

`check` lints and measures, `rule` explains the codes of its findings, `test` compares golden cases,
`trust` allows the templates that came with a project. Findings are printed for people, as JSON, as
commands of GitHub's workflows and as SARIF 2.1.0.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as percent

import click

from .._version import __version__
from ..errors import ItemError, did_you_mean, quote
from ..files import YAML_SUFFIXES
from ..files.marks import mark_written, refuse_input
from ..text.escape import to_label
from ..text.format import plural
from .flags import complete_code, json_flag, profile_flags
from .inputs import TRUST_STATES, TRUSTED_STATES, or_local_folders, require_trust, take_settings
from .output import (
    Column,
    check_new_or_ours,
    excerpt_lines,
    painter,
    print_message,
    printable,
    table_lines,
    typed_access,
    write_in_place,
    write_json,
    write_lines,
    write_output,
)

if TYPE_CHECKING:
    from ..authoring.golden import CaseOutcome
    from ..authoring.project import Project
    from ..lint.checker import LintReport
    from ..lint.findings import Finding

CHECK_FORMATS = ("text", "json", "github", "sarif")
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_GITHUB_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATHS]...", type=click.Path(path_type=Path))
@profile_flags
@click.option(
    "--output-format", "shape", type=click.Choice(CHECK_FORMATS), default="text",
    help="The shape of the findings.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --output-format json.")
@click.option(
    "--costs/--no-costs", "costs", default=None,
    help="Cost of each layout in tokens [default: in text and JSON, once nothing is wrong].",
)  # fmt: skip
@click.option("--fix", is_flag=True, help="Correct mistakes that have one safe correction.")
@click.option("--diff", is_flag=True, help="Show the changes of --fix, and change nothing.")
@click.option("-q", "--quiet", is_flag=True, help="No notes, no costs and no summary.")
def check_command(
    paths: tuple[Path, ...], shape: str, as_json: bool, fix: bool, diff: bool, **given: Any
) -> int:
    """Check templates, layouts and profiles before they are used.

    PATHS are files or folders; without any, the folders of --templates and --profiles (or of
    PROMPTFORGE_TEMPLATES and PROMPTFORGE_PROFILES), else ./templates and ./profiles.
    `promptforge rule CODE` explains a finding.

    Exit codes: 0 nothing but notes; 1 errors or warnings; 2 usage.
    """
    from ..lint.checker import LintTargets, check
    from ..lint.findings import fix_files, unified_diff

    if as_json:
        shape = "json"
    settings = take_settings(given)
    folders = settings.folders
    # None: measure only where nothing is wrong. A machine reads findings, so it gets no table.
    costs, quiet = given["costs"], given["quiet"]
    if diff or quiet or shape not in ("text", "json"):
        costs = bool(costs) and not diff
    wanted = _paths_to_check(paths, folders)
    folders = or_local_folders(folders)  # a file that is checked may extend one of its neighbours

    def run() -> LintReport:
        targets = LintTargets()
        for path in wanted:
            targets.add(path)
        places = folders["templates"], folders["profiles"]
        outside = "allow_outside" in folders
        return check(targets, *places, settings.profile, costs=costs, allow_outside=outside)

    report = run()
    # --diff exits with 1 where --fix would change a file, as formatters do.
    if diff:
        changes = list(fix_files(report.findings))
        lines = (line for change in changes for line in unified_diff(change))
        write_lines((line.removesuffix("\n") for line in lines), paint=_PAINT)
        return int(bool(changes))
    if fix:
        changes = list(fix_files(report.findings))
        for change in changes:
            require_trust(change.path.parent, "--fix changes files of")
        for change in changes:
            write_in_place(change.after, str(change.path))
            print_message(f"{_printable_path(str(change.path))}: {change.edits} corrected")
        report = run()  # a correction may uncover, or solve, other findings
    _write_report(report, shape, quiet)
    return int(any(finding.severity != "note" for finding in report.findings))


def _paths_to_check(paths: tuple[Path, ...], folders: dict[str, list[Path]]) -> list[Path]:
    if paths:
        return list(paths)
    if not (folders["templates"] or folders["profiles"]):
        folders = or_local_folders(folders)
    found = [*folders["templates"], *folders["profiles"]]
    if not found:
        raise click.UsageError(
            "nothing to check: there is neither ./templates nor ./profiles;"
            " name a file or folder, or start with `promptforge init`"
        )
    return found


_PAINT = painter(
    (r"ok  ", "green"), (r"FAIL .*", "red"), (r"\S+: PF\d+ (note: )", "cyan"),
    (r"\S+: (PF\d+) ", "red"), (r" +\|[ …]*(\^+)$", "red"), (r"layout .*", "bold"),
    (r"(?:\+\+\+|---) .*", "bold"), (r" *\+.*", "green"), (r" *-.*", "red"), (r" *@@.*", "cyan"),
    (r"PF\d+  (error) ", "red"), (r"PF\d+  (warning) ", "yellow"), (r"PF\d+  (info) ", "cyan"),
)  # fmt: skip


def _write_report(report: LintReport, shape: str, quiet: bool) -> None:
    if shape == "json":
        write_json(_report_facts(report))
    elif shape == "sarif":
        write_output(json.dumps(_sarif(report), indent=2) + "\n")
    elif shape == "github":
        write_lines(map(_github_line, report.findings))
    else:
        # The file says where; the caret says what. Notes are hints, so --quiet leaves them out.
        shown = [finding for finding in report.findings if not (quiet and _is_note(finding))]
        lines = [line for finding in shown for line in _finding_lines(finding)]
        if lines and report.costs:
            lines.append("")
        write_lines([*lines, *_cost_lines(report)], paint=_PAINT)
        if not quiet:
            print_message(_summary(report))


def _is_note(finding: Finding) -> bool:
    return finding.severity == "note"


def _printable_path(path: str) -> str:
    """Return a path on one line, with `/` on every system."""
    return to_label(PurePath(path).as_posix())


def _finding_lines(finding: Finding) -> Iterator[str]:
    """Yield `file:line:col: CODE message`, and where the line is known, it and a mark below it."""
    numbers = [str(number) for number in (finding.line, finding.column) if number]
    place = ":".join([_printable_path(finding.path), *numbers])
    message = to_label(finding.message)
    if _is_note(finding):
        message = f"note: {message}"
    yield f"{place}: {finding.code} {message}"
    if finding.line and finding.column and finding.source.strip():
        yield from excerpt_lines(finding.source, finding.line, finding.column, finding.end_column)


def _cost_lines(report: LintReport) -> Iterator[str]:
    if not report.costs:
        return
    columns = [Column("layout", cut=True), Column("format", cut=True), Column("page", right=True)]
    columns += [Column("kind", cut=True), Column("an item", right=True)]
    rows = []
    for cost in report.costs:
        named = [cost.layout, cost.format, f"{cost.page:,}"]
        for kind, tokens in cost.items.items():
            rows.append([*named, kind, f"+{tokens:,}"])
            named = [""] * 3  # the row above says it
    yield from table_lines(columns, rows)
    yield f"tokens by {report.tokenizer}, without the texts of the items"


def _summary(report: LintReport) -> str:
    """Return the numbers of files and of findings by severity, and the next step."""
    counts = Counter(finding.severity for finding in report.findings)
    severities = [each for each in ("error", "warning", "note") if counts[each]]
    found = [plural(counts[each], each, f"{each}s") for each in severities]
    files = plural(report.files, "file", "files")
    summary = f"{files}: {', '.join(found) or 'nothing to say'}"
    grave = [finding for finding in report.findings if not _is_note(finding)]
    if grave:
        summary += f"; `promptforge rule {grave[0].code}` explains the first"
    fixable = sum(finding.edit is not None for finding in report.findings)
    if fixable:
        summary += f"; --fix corrects {fixable}"
    return summary


def _report_facts(report: LintReport) -> dict[str, Any]:
    names = ("line", "column", "end_column", "code", "severity", "message", "source")
    findings = []
    for finding in report.findings:
        facts = {name: getattr(finding, name) for name in names}
        # One form on all systems: reports are compared, and shown on other machines.
        path = PurePath(finding.path).as_posix()
        findings.append({"path": path, **facts, "fixable": finding.edit is not None})
    facts = {"findings": findings, "costs": [cost._asdict() for cost in report.costs]}
    return {**facts, "tokenizer": report.tokenizer, "files": report.files}


def _github_line(finding: Finding) -> str:
    """Return a finding as a workflow command of GitHub, shown there beside the line."""

    def escape(text: str, characters: str) -> str:
        return re.sub(f"[{characters}]", lambda match: f"%{ord(match[0]):02X}", text)

    facts = {
        "file": PurePath(finding.path).as_posix(),
        "line": finding.line or 1,
        "col": finding.column,
        "endColumn": finding.end_column,
        "title": finding.code,
    }
    # A line end would end the command; a comma or a colon would end a property.
    ends = "%\r\n"
    pairs = [f"{name}={escape(str(value), ends + ':,')}" for name, value in facts.items() if value]
    message = escape(f"{finding.code} {finding.message}", ends)
    return f"::{_GITHUB_COMMANDS[finding.severity]} {','.join(pairs)}::{message}"


def _sarif(report: LintReport) -> dict[str, Any]:
    """Return a report as SARIF 2.1.0."""
    from ..lint.findings import load_codes

    used = sorted({finding.code for finding in report.findings})
    codes = load_codes()
    rules = [
        {
            "id": code,
            "shortDescription": {"text": codes[code].title},
            "fullDescription": {"text": codes[code].why},
            "help": {"text": codes[code].way_out},
            "defaultConfiguration": {"level": codes[code].severity},
        }
        for code in used
    ]
    results = []
    for finding in report.findings:
        # SARIF wants a URI: a blank or a `#` in a file name would end it.
        uri = percent(PurePath(finding.path).as_posix(), safe="/:")
        location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
        # A region without a line is not valid SARIF, nor is a column 0.
        if finding.line:
            columns = {"startColumn": finding.column, "endColumn": finding.end_column}
            known = {name: column for name, column in columns.items() if column}
            location["region"] = {"startLine": finding.line, **known}
        result = {"ruleId": finding.code, "ruleIndex": used.index(finding.code)}
        result |= {"level": finding.severity, "message": {"text": finding.message}}
        results.append({**result, "locations": [{"physicalLocation": location}]})
    driver = {"name": "promptforge", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


@click.command("rule")
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=complete_code)
@json_flag
def rule_command(codes: tuple[str, ...], as_json: bool) -> None:
    """Explain codes such as PF802; without any, list them all."""
    from ..lint.findings import explain_code, load_codes

    known = load_codes()
    wanted = [code.upper() for code in codes]
    for code in wanted:
        if code not in known:
            hint = did_you_mean(code, known) or "; `promptforge rule` lists them"
            raise click.UsageError(f"there is no code {quote(code)}{hint}")
    if as_json:
        write_json({"codes": [{"code": code, **known[code]._asdict()} for code in wanted or known]})
    elif wanted:
        write_output("\n".join(explain_code(code) for code in wanted))
    else:
        lines = (f"{code}  {rule.severity:<7}  {rule.title}" for code, rule in known.items())
        write_lines(lines, paint=_PAINT)


# --- golden cases ---------------------------------------------------------------------------------


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATHS]...", type=click.Path(path_type=Path))
@profile_flags
@click.option("--update", is_flag=True, help="Write the texts printed now; refused in CI.")
@click.option(
    "--only", metavar="WORDS", default="", help="Only cases with these words in the name."
)
@json_flag
@click.option("-q", "--quiet", is_flag=True, help="Print only cases that fail.")
def test_command(
    paths: tuple[Path, ...], update: bool, only: str, as_json: bool, quiet: bool, **given: Any
) -> int:
    """Render cases and compare them with their expected texts.

    PATHS are YAML files of cases, folders of them, or projects; without any, ./tests. The guide to
    templates describes a case. Templates and profiles come from --templates and --profiles (or the
    environment), else from ./templates and ./profiles.

    Exit codes: 0 all pass; 1 some fail; 2 usage; 4 a file that cannot be read. A case with a
    mistake in itself fails; the others run.
    """
    from ..authoring.golden import load_cases, run_case

    # A test that rewrites its own expectation would pass for ever.
    if update and os.environ.get("CI"):
        message = "--update is refused where CI is set: expected texts are changed by hand and read"
        raise click.UsageError(message)
    if given["profile"]:
        raise click.UsageError("a case names its profile itself: options: {profile: NAME}")
    folders = or_local_folders(take_settings(given).folders)

    for folder in {path.parent for path in _case_files(paths)}:
        require_trust(folder, "test opens what is named by")

    def run() -> list[CaseOutcome]:
        cases = [case for path in _case_files(paths) for case in load_cases(path)]
        chosen = [case for case in cases if only in case.name]
        return [run_case(case, **folders) for case in chosen]

    outcomes = run()
    if not outcomes:
        named = f" with {quote(only)} in their names" if only else ""
        raise click.UsageError(f"there are no cases{named}")
    if update:
        for path in _update(outcomes):
            print_message(f"{printable(path)} updated")
        outcomes = run()
    failed = [outcome for outcome in outcomes if outcome.problems]
    if as_json:
        write_json({"cases": [_case_facts(outcome) for outcome in outcomes], "failed": len(failed)})
    else:
        lines = (line for outcome in outcomes for line in _case_lines(outcome, quiet))
        write_lines(lines, paint=_PAINT)
        if not quiet:
            print_message(_case_summary(len(outcomes), failed))
    return int(bool(failed))


def _case_files(paths: tuple[Path, ...]) -> list[Path]:
    from ..authoring.golden import is_cases_file

    if not paths and not Path("tests").is_dir():
        raise click.UsageError(
            "there is no folder ./tests; name a file of cases, or start with `promptforge init`"
        )
    found: list[Path] = []
    for path in paths or (Path("tests"),):
        if not path.exists():
            raise click.UsageError(f"there is no file or folder {quote(str(path))}")
        if not path.is_dir():
            found.append(path)
            continue
        # A folder of tests may hold other YAML: a file of cases has the key `cases`.
        # The folder of a project has them in its `tests`.
        for folder in filter(Path.is_dir, (path, path / "tests")):
            files = sorted(each for each in folder.iterdir() if each.suffix in YAML_SUFFIXES)
            cases = [each for each in files if is_cases_file(each)]
            if cases:
                break
        else:
            name = quote(str(path))
            message = f"the folder {name} holds no file of cases (`cases:` in a .yaml file)"
            raise click.UsageError(message)
        found += cases
    for path in found:
        typed_access().locate(path)  # not behind a link that leads out
    return list(dict.fromkeys(found))


def _case_lines(outcome: CaseOutcome, quiet: bool) -> Iterator[str]:
    case = outcome.case
    title = f"{printable(case.path)}:{case.line} {printable(case.name)}"
    if outcome.problems:
        yield f"FAIL {title}"
        for problem in outcome.problems:
            yield from (f"    {line}" for line in problem.split("\n"))
    elif not quiet:
        if outcome.tokens is not None:
            title += f" ({outcome.tokens:,} tokens)"
        yield f"ok   {title}"


def _case_facts(outcome: CaseOutcome) -> dict[str, Any]:
    case = outcome.case
    facts = {"file": str(case.path), "line": case.line, "name": case.name}
    facts |= {"passed": not outcome.problems, "problems": list(outcome.problems)}
    return {**facts, "tokens": outcome.tokens, "text": outcome.text}


def _update(outcomes: Sequence[CaseOutcome]) -> list[Path]:
    """Write the printed texts over the expected ones that differ; return the changed files."""
    from ..authoring.golden import read_cases_file, update_case
    from ..authoring.project import is_own_folder

    written: dict[Path, str] = {}
    for outcome in outcomes:
        case = outcome.case
        if not outcome.stale or outcome.text is None:
            continue
        if case.keys["file"] is not None:
            path = case.output()
            if not is_own_folder(path.parent):
                check_new_or_ours(path, outcome.text)
            refuse_input(path, str(path))
            written[path] = outcome.text
        else:
            # Several cases of one file: each update goes into the text that the last one made.
            before = written.get(case.path) or read_cases_file(case.path)
            written[case.path] = update_case(before, case, outcome.text)
    # All texts are made before the first is written: a mistake in the last changes no file.
    for path in written:
        if not path.parent.is_dir():
            raise ItemError("the folder is not there", where=str(path))
    mark_written([(path, text.encode("utf-8", "replace")) for path, text in written.items()])
    for path, text in written.items():
        write_in_place(text, str(path))
    return [Path(os.path.relpath(path)) for path in written]


def _case_summary(number: int, failed: Sequence[CaseOutcome]) -> str:
    cases = plural(number, "case", "cases")
    if not failed:
        return f"{cases} passed"
    hint = ""
    if any(outcome.stale for outcome in failed):
        hint = "; `promptforge test --update` writes the printed texts over the expected ones"
    return f"{len(failed)} of {cases} failed{hint}"


# --- trust ----------------------------------------------------------------------------------------


@click.command("trust")
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False))
@click.option("--show", is_flag=True, help="Only list its files; exit 1 where it is not trusted.")
@click.option("--own", is_flag=True, help="It is your own: trust later changes of it too.")
@click.option("--remove", is_flag=True, help="Trust it no longer.")
@json_flag
def trust_command(folder: str, show: bool, own: bool, remove: bool, as_json: bool) -> int:
    """Allow what came with the project in FOLDER, as it is now: settings, templates, profiles.

    A project has promptforge.toml, [tool.promptforge] in pyproject.toml, or a folder .promptforge;
    it may lie above FOLDER. Vocabularies and golden cases count too. After a change, which is
    printed as a diff, its files are not used until you trust them again, but those of a project
    that you made by `init` are. Prints each file with its size and hash. A template reaches no
    file, program or network; it only words the text around your items.
    """
    from ..authoring import project as projects

    place = projects.locate_project(folder)
    if remove:
        # The project may be gone by now; its entry in the list of trust must go all the same.
        path = Path(os.path.realpath(folder)) if place is None else place.folder
        outcome = "trusted no longer" if projects.forget_project(path) else "was not trusted"
        print_message(f"{printable(path)}: {outcome}")
        return 0
    if place is None:
        files = "promptforge.toml, no [tool.promptforge] in pyproject.toml and no .promptforge"
        raise click.UsageError(f"there is no {files} in {printable(folder)} or above it")
    project = projects.read_project(place, allow_outside=True)
    changed: list[str] = []
    if projects.trust_state(project) == "changed":
        changed = projects.changes_since(project)
    if own:
        projects.own_project(place.folder)
    elif not show and not projects.is_own(place):
        projects.trust_project(project)
    state = projects.trust_state(project)
    if as_json:
        facts = {"folder": str(place.folder), "state": state, "sha256": project.sha256}
        diff = {"diff": changed} if changed else {}
        write_json({**facts, **diff, "files": [file._asdict() for file in project.files]})
    else:
        shown = ["\t".join(printable(part, 1000) for part in line.split("\t")) for line in changed]
        write_lines([*_project_lines(project), *([""] if shown else []), *shown], paint=_PAINT)
    print_message(f"{printable(place.folder)}: {TRUST_STATES[state]} ({project.sha256[:12]})")
    return int(state not in TRUSTED_STATES)


def _project_lines(project: Project) -> Iterator[str]:
    columns = [Column("file", cut=True), Column("chars", right=True), Column("sha256"), Column("")]
    rows = []
    for file in project.files:
        # Invisible characters can hide an instruction from the reader of the file.
        hidden = f"{file.invisible} invisible characters" if file.invisible else ""
        rows.append([printable(file.name), f"{file.size:,}", file.sha256[:12], hidden])
    return table_lines(columns, rows)
