"""Knowledge chunks: `ContextAssembler.AssembleAsync` and its four formats, ported from C#, on a
Unix machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from .markup import escape_attribute, escape_text

NET_WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""`char.IsWhiteSpace`. Python's own idea of white space also has U+001C to U+001F, which `TrimEnd` leaves."""


def percent(score: float) -> str:
    """`{score:P0}` in en-US: no decimals, no blank before the sign, groups of three."""
    # Deviation: 64-bit scores, rounded half to even of the decimal value that was written.
    return f"{(Decimal(repr(score)) * 100).quantize(Decimal(1), ROUND_HALF_EVEN):,}%"


def two_decimals(score: float) -> str:
    """`{score:F2}`."""
    # Deviation: as above.
    return str(Decimal(repr(score)).quantize(Decimal("0.01"), ROUND_HALF_EVEN))


def field(chunk: Mapping[str, Any], name: str) -> Any:
    """Read a property written as `filePath` or as `FilePath`; `None` when it is absent."""
    pascal = name[0].upper() + name[1:]
    return chunk[name] if name in chunk else chunk.get(pascal)


def shown(chunk: Mapping[str, Any]) -> str:
    """`chunk.ExpandedContext ?? chunk.Content`: an empty expansion is still an expansion."""
    expanded = field(chunk, "expandedContext")
    return str(field(chunk, "content") if expanded is None else expanded)


def group_and_order(chunks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Files by their best chunk, descending; chunks within a file by start line. Both sorts are
    stable in .NET.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for chunk in chunks:
        groups.setdefault(field(chunk, "filePath"), []).append(chunk)
    best_first = sorted(groups.values(), key=lambda g: -max(field(c, "relevance") for c in g))
    return [
        chunk
        for group in best_first
        for chunk in sorted(group, key=lambda c: field(c, "startLine"))
    ]


def markdown(chunk: Mapping[str, Any], *, headers: bool, line_numbers: bool, scores: bool) -> str:
    out = []
    if headers:
        out.append(f"### {field(chunk, 'filePath')}\n")
        if line_numbers:
            out.append(f"Lines {field(chunk, 'startLine')}-{field(chunk, 'endLine')}\n")
        if scores:
            out.append(f"Relevance: {percent(field(chunk, 'relevance'))}\n")
        out.append("\n")
    language = field(chunk, "language")
    # Deviations: a longer fence where the content holds three backticks (inputs given to this oracle
    # hold none); a tag that every reader of Markdown takes.
    tag = {"c#": "csharp"}.get(language, "text" if language is None else language)
    out.append(f"```{tag}\n{shown(chunk)}\n```\n")
    return "".join(out)


def xml(chunk: Mapping[str, Any], *, headers: bool, line_numbers: bool, scores: bool) -> str:
    attributes = [f'file="{escape_attribute(field(chunk, "filePath"))}"']
    if line_numbers:
        attributes.append(f'lines="{field(chunk, "startLine")}-{field(chunk, "endLine")}"')
    if field(chunk, "language"):
        # Deviation: the language is escaped like any other value.
        attributes.append(f'language="{escape_attribute(field(chunk, "language"))}"')
    if scores:
        attributes.append(f'relevance="{two_decimals(field(chunk, "relevance"))}"')
    return f"<code-context {' '.join(attributes)}>\n{escape_text(shown(chunk))}\n</code-context>"


def json_object(
    chunk: Mapping[str, Any], *, headers: bool, line_numbers: bool, scores: bool
) -> dict[str, Any]:
    obj: dict[str, Any] = {"file": field(chunk, "filePath"), "content": shown(chunk)}
    if line_numbers:
        obj |= {"startLine": field(chunk, "startLine"), "endLine": field(chunk, "endLine")}
    if field(chunk, "language"):
        obj["language"] = field(chunk, "language")
    if scores:
        # Deviation: a Python float, so 1.0 where the origin's 32-bit number prints 1.
        obj["relevance"] = float(field(chunk, "relevance"))
    return obj


def plain(chunk: Mapping[str, Any], *, headers: bool, line_numbers: bool, scores: bool) -> str:
    out = []
    if headers:
        out.append(f"File: {field(chunk, 'filePath')}")
        if line_numbers:
            out.append(f" (lines {field(chunk, 'startLine')}-{field(chunk, 'endLine')})")
        out.append("\n" + "-" * 40 + "\n")
    out.append(f"{shown(chunk)}\n")
    return "".join(out)


def assemble(
    chunks: Sequence[Mapping[str, Any]],
    *,
    format: str = "markdown",
    group_by_file: bool = True,
    headers: bool = True,
    line_numbers: bool = True,
    scores: bool = False,
    separator: str = "\n\n",
    header: str | None = None,
    footer: str | None = None,
) -> str:
    """Print the chunks with no budget at all."""
    if not chunks:
        return ""
    ordered = group_and_order(chunks) if group_by_file else list(chunks)
    if format == "json":
        # Deviation: one array in place of objects joined by the separator, and UTF-8 as it is in
        # place of \uXXXX.
        objects = [
            json_object(c, headers=headers, line_numbers=line_numbers, scores=scores)
            for c in ordered
        ]
        return json.dumps(objects, indent=2, ensure_ascii=False)
    one = {"markdown": markdown, "xml": xml, "plain": plain}[format]
    text = f"{header}\n\n" if header else ""
    text += separator.join(
        one(c, headers=headers, line_numbers=line_numbers, scores=scores) for c in ordered
    )
    if footer:
        text += f"\n{footer}\n"
    return text.rstrip(NET_WHITE_SPACE)
