"""Print findings: for people, for programs, for GitHub, and as SARIF 2.1.0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote as percent

from ..checking.check import Report
from ..checking.findings import Finding
from ..codes import CODES
from ..escaping import label
from .excerpts import excerpt
from .tables import plural

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def shown_path(path: str) -> str:
    """Return a path on one line, with `/` on every system."""
    return label(PurePath(path).as_posix())


def place(finding: Finding) -> str:
    """Return `file:line:col`, without the numbers that are not known."""
    numbers = [str(n) for n in (finding.line, finding.column) if n]
    return ":".join([shown_path(finding.path), *numbers])


def lines(finding: Finding) -> Iterator[str]:
    """Yield a finding as `file:line:col: CODE message`, its line of source and a caret below it."""
    note = "note: " * (finding.severity == "note")
    yield f"{place(finding)}: {finding.code} {note}{label(finding.message)}"
    if finding.line and finding.column and finding.source.strip():
        yield from excerpt(finding.source, finding.line, finding.column, finding.end_column)


def summary(report: Report) -> str:
    """Return the numbers of files and of findings by severity."""
    counts = Counter(finding.severity for finding in report.findings)
    found = [
        f"{counts[severity]} {plural(counts[severity], severity, f'{severity}s')}"
        for severity in ("error", "warning", "note")
        if counts[severity]
    ]
    files = f"{report.files} {plural(report.files, 'file', 'files')}"
    return f"{files}: {', '.join(found) or 'nothing to say'}"


def as_data(report: Report) -> dict[str, Any]:
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
        for p in report.prices
    ]
    return {
        "findings": findings,
        "prices": prices,
        "tokenizer": report.tokenizer,
        "files": report.files,
    }


def github(findings: Sequence[Finding]) -> Iterator[str]:
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


def sarif(report: Report, version: str) -> dict[str, Any]:
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
