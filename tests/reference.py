"""Pages of the guide that are made from the program: `python -m tests.generated` writes them.

Options come from the vocabulary, commands and flags from click, codes from `codes.yaml`, Python from
docstrings. Each has a heading of its own, and so an anchor.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import promptforge as pf
from promptforge.cli.flags import OPTION_VARIABLES
from promptforge.cli.main import COMMANDS, command_group
from promptforge.config.options import OPTION_GROUPS, OPTION_VOCABULARY, PROMPT_OPTIONS
from promptforge.lint.findings import load_codes

GUIDE = Path(pf.__file__).parent / "guide"
MADE = "<!-- Made by `python -m tests.generated`: change the source, not this page. -->"


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    made = {"options": options(), "flags": flags(), "codes": codes(), "python": python()}
    return {f"{name}.md": "\n".join(lines).rstrip() + "\n" for name, lines in made.items()}


def options() -> Iterator[str]:
    """Yield each option of the vocabulary under the heading of its group."""
    yield from ("# Options", "", MADE, "")
    yield "One word everywhere: a key of a profile, a job or `promptforge.toml`, a keyword in Python, a flag, a variable of the environment. Later wins: default, layout, profile, project, environment, job, flag or keyword."
    yield ""
    grouped = {name for names in OPTION_GROUPS.values() for name in names.split()}
    others = " ".join(name for name in OPTION_VOCABULARY if name not in grouped)
    for group, names in [*OPTION_GROUPS.items(), ("Others", others)]:
        if names:
            yield from (f"## {group}", "")
        for name in names.split():
            rule = OPTION_VOCABULARY.rules[name]
            flag = f"`--{name.replace('_', '-')}`"
            if name in PROMPT_OPTIONS:
                flag += " (whole prompts)"
            yield from (f"### {name}", "", rule.doc, "")
            yield f"- takes: {rule.takes}"
            yield f"- default: `{shown(rule.default)}`"
            yield f"- {flag}, `{OPTION_VARIABLES[name]}`"
            yield ""


def shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or value == ():
        return "none"
    return f"{value}" if value != "" else "none"


def flags() -> Iterator[str]:
    """Yield each command with its help, and the flags that are no options."""
    yield from ("# Commands and their flags", "", MADE, "")
    yield "Every command that renders also takes each [option](options.md) as a flag."
    yield ""
    context = click.Context(command_group, info_name="promptforge")
    for name in COMMANDS:
        command = command_group.get_command(context, name)
        assert command is not None
        own = click.Context(command, info_name=name, parent=context)
        usage = " ".join([own.command_path, *command.collect_usage_pieces(own)])
        yield from (f"## {name}", "", "```text", usage, "```", "")
        for part in inspect.cleandoc(command.help or "").split("\n\n"):
            if part.startswith("\b"):
                yield from ("```sh", *textwrap.dedent(part[2:]).split("\n"), "```", "")
            else:
                yield from (" ".join(part.split()), "")
        records = [
            parameter.get_help_record(own)
            for parameter in command.params
            if isinstance(parameter, click.Option) and parameter.name not in OPTION_VOCABULARY
        ]
        if records:
            yield from ("| flag | does |", "| --- | --- |")
            for flag, about in filter(None, records):
                cells = (f"`{flag}`", " ".join(about.split()))
                yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
            yield ""


def codes() -> Iterator[str]:
    """Yield each code of a message with its reason and its way out."""
    yield from ("# Codes of messages", "", MADE, "")
    yield "A message ends in its code. `promptforge rule CODE` prints what stands here."
    yield ""
    for code, rule in load_codes().items():
        yield from (f"## {code}", "", f"**{rule.title}** ({rule.severity})", "")
        yield from (" ".join(rule.why.split()), "")
        example = "\n".join(line.rstrip() for line in rule.example.strip().split("\n"))
        yield from (
            "````text",
            example,
            "````",
            "",
            f"Way out: {' '.join(rule.way_out.split())}",
            "",
        )


def python() -> Iterator[str]:
    """Yield each public name with its signature, its fields and its methods."""
    yield from ("# Python", "", MADE, "")
    yield "`import promptforge as pf`. Names that are not on this page may change at any time."
    yield ""
    # All first: a class that nobody has asked for yet says the module it lies in.
    things = {name: getattr(pf, name) for name in sorted(pf.__all__, key=str.lower)}
    for name, thing in things.items():
        yield from (f"## {name}", "")
        yield from signature(f"pf.{name}", thing)
        yield from prose(thing)
        if inspect.isclass(thing):
            yield from members(name, thing)


def signature(name: str, thing: Any) -> Iterator[str]:
    if inspect.isclass(thing) and (
        issubclass(thing, Exception) or getattr(thing, "_is_protocol", False)
    ):
        return
    given = inspect.signature(thing)
    words = [
        re.sub(r": '([^']*)'", r": \1", str(each))
        for each in given.parameters.values()
        if each.name not in ("self", "late")
    ]
    if "options" in given.parameters:
        words[-1] = "**options"
    back = ""
    if isinstance(given.return_annotation, str) and given.return_annotation != "None":
        back = f" -> {given.return_annotation}"
    yield from ("```text", f"{name}({', '.join(words)}){back}", "```", "")


def prose(thing: Any) -> Iterator[str]:
    yield from (*inspect.cleandoc(thing.__doc__ or "").split("\n"), "")


def members(name: str, thing: type) -> Iterator[str]:
    """Yield the fields with their sentences, then methods and properties."""
    fields = dict(field_lines(thing))
    if fields:
        yield from ("| field | is |", "| --- | --- |")
        for field, about in fields.items():
            yield f"| `{field}` | {about.replace('|', chr(92) + '|')} |"
        yield ""
    for member, value in vars(thing).items():
        inner = getattr(value, "fget", getattr(value, "_make", value))
        if member.startswith("_") or member in fields or not callable(inner) or not inner.__doc__:
            continue
        yield from (f"### {name}.{member}", "")
        if inspect.isfunction(value):
            yield from signature(f"{name.lower()}.{member}", value)
        yield from prose(inner)


def field_lines(thing: type) -> Iterator[tuple[str, str]]:
    """Yield the fields of a class that have a sentence below them."""
    [home] = [module for module, names in pf._HOMES.items() if thing.__name__ in names]
    module = ast.parse((GUIDE.parent / f"{home.replace('.', '/')}.py").read_text(encoding="utf-8"))
    found = (node for node in module.body if isinstance(node, ast.ClassDef))
    tree = next(node for node in found if node.name == thing.__name__)
    for node, below in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if not isinstance(below, ast.Expr) or not isinstance(below.value, ast.Constant):
                continue
            if node.target.id[0] != "_" and node.target.id != "late":
                text = str(below.value.value)
                yield node.target.id, re.sub(r"\s+", " ", text).strip()
