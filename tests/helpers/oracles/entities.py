"""Search results: `ContextAssembler.assemble`, ported from TypeScript. A falsy value is `None`,
`""` or `0`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .markup import escape_attribute, escape_text

MARKER = "// ... (truncated)"

LANGUAGES = {
    "ts": "typescript",
    "tsx": "typescript",
    "js": "javascript",
    "jsx": "javascript",
    "py": "python",
    "go": "go",
    "rs": "rust",
    "java": "java",
}

TITLES = {
    "code": "Relevant Code",
    "documentation": "Related Documentation",
    "conversation": "Previous Conversations",
    "other": "Other Context",
}
"""Group titles, in the order in which groups are shown."""


def categorize(kind: str) -> str:
    if kind in ("function", "method", "class", "interface", "type", "file", "module"):
        return "code"
    if kind in ("document", "section", "requirement", "feature"):
        return "documentation"
    if kind in ("session", "message", "decision"):
        return "conversation"
    return "other"


def group_header(group: str, format: str) -> str:
    title = TITLES[group]
    return {"xml": f'<section name="{title}">', "markdown": f"## {title}"}.get(
        format, f"=== {title} ==="
    )


def detect_language(path: str | None) -> str:
    if not path:
        return ""
    return LANGUAGES.get(path.split(".")[-1].lower(), "")


def cut(content: str, limit: int | None) -> str:
    """The content, or its first `limit` characters and the marker on a line of its own."""
    # Deviation: the limit is in characters, not UTF-16 units, so that no emoji is split; and a cut
    # is always marked.
    # The origin's limit of 500 is an option here, so `None` is no cut.
    if limit is None or len(content) <= limit:
        return content
    return f"{content[:limit]}\n{MARKER}"


def place(entity: Mapping[str, Any]) -> str:
    path, line = entity.get("filePath"), entity.get("startLine")
    if not path:
        return str(entity["type"])
    return f"{path}:{line}" if line else str(path)


def markdown(entity: Mapping[str, Any], code: bool, limit: int | None) -> str:
    lines = [f"### {entity['name']}", f"*{place(entity)}*", ""]
    if entity.get("summary"):
        lines.append(entity["summary"])
    if code and entity.get("content"):
        # Deviation: a longer fence where the content holds three backticks. Inputs given to this
        # oracle hold none.
        lines += [
            "",
            "```" + detect_language(entity.get("filePath")),
            cut(entity["content"], limit),
            "```",
        ]
    return "\n".join(lines)


def xml(entity: Mapping[str, Any], code: bool, limit: int | None) -> str:
    # Deviation: values are escaped; the origin writes them raw.
    attributes = [f'type="{escape_attribute(entity["type"])}"']
    if entity.get("filePath"):
        attributes.append(f'file="{escape_attribute(entity["filePath"])}"')
    if entity.get("startLine"):
        attributes.append(f'line="{entity["startLine"]}"')
    content = entity.get("summary") or entity.get("content") or ""
    name = escape_attribute(entity["name"])
    return f'<entity name="{name}" {" ".join(attributes)}>\n{escape_text(cut(content, limit))}\n</entity>'


def plain(entity: Mapping[str, Any], code: bool, limit: int | None) -> str:
    path = entity.get("filePath")
    location = f"[{path}:{entity.get('startLine') or 0}]" if path else f"[{entity['type']}]"
    content = entity.get("summary") or entity.get("content") or ""
    # Deviation: the origin never cuts here; with the option set every format is cut alike.
    return f"{entity['name']} {location}\n{cut(content, limit)}"


def format_sources(entities: Sequence[Mapping[str, Any]], format: str) -> str:
    if not entities:
        return ""
    first_ten = entities[:10]
    if format == "markdown":
        return "\n".join(
            ["---", "**Sources:**", *(f"- {e['name']} ({place(e)})" for e in first_ten)]
        )
    if format == "xml":
        rows = [
            f'  <source name="{escape_attribute(e["name"])}" type="{escape_attribute(e["type"])}" />'
            for e in first_ten
        ]
        return "\n".join(["<sources>", *rows, "</sources>"])
    return "\n".join(["Sources:", *(f"  - {e['name']}" for e in first_ten)])


def assemble(
    results: Sequence[Mapping[str, Any]],
    *,
    format: str = "markdown",
    group_by_type: bool = True,
    sources: bool = False,
    code: bool = True,
    limit: int | None = None,
) -> str:
    """Print records `{entityId, score, entity: {…}}` with no budget at all."""
    entities = [r["entity"] for r in sorted(results, key=lambda r: -r["score"])]
    one = {"markdown": markdown, "xml": xml}.get(format, plain)
    groups = (
        {g: [e for e in entities if categorize(e["type"]) == g] for g in TITLES}
        if group_by_type
        else {"": entities}
    )
    sections, used = [], []
    for group, members in groups.items():
        if not members:
            continue
        lines = [group_header(group, format)] if group else []
        lines += [one(e, code, limit) for e in members]
        if group and format == "xml":
            lines.append("</section>")  # Deviation: the origin opens a section and never closes it.
        used += members
        sections.append("\n\n".join(lines))
    text = "\n\n---\n\n".join(sections)
    return text + "\n\n" + format_sources(used, format) if sources else text
