"""The flags that several commands take, made from the one list of options."""

from __future__ import annotations

import contextlib
import os
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..diagnostics import Diagnostics
from ..errors import quote
from ..options import PROMPT, VOCABULARY, Options
from ..rules import Rule
from .names import OPTIONS, profiles

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Command = Callable[..., Any]
_PATTERNS = frozenset({"paths"})
"""Options with values that may hold a comma."""
_FOLDERS = (("templates", "PROMPTFORGE_TEMPLATES"), ("profiles", "PROMPTFORGE_PROFILES"))


class _Value(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """A value of an option, checked by the same rule as in a profile."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.name = "|".join(rule.choices) or "text"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        if self.rule.choices:
            return f"[{self.name}]"
        kind = _base(self.rule.shape)
        return {int: "N", float: "X"}.get(
            kind, "NAME" if self.rule.name in OPTIONS else "TEXT"
        )

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        known: Iterable[str] = self.rule.choices
        if complete := OPTIONS.get(self.rule.name):
            known = complete(ctx, param, incomplete)
        return [CompletionItem(name) for name in known if name.startswith(incomplete)]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        kind = _base(self.rule.shape)
        if typing.get_origin(kind) is dict and value != "none":
            from ..yamltext import load  # late: only a mapping is worth its import

            return load(value, f"--{self.rule.name.replace('_', '-')}")
        if kind in (int, float) and value != "none":
            # A number that is none goes on as text: the rule refuses it in its own words.
            with contextlib.suppress(ValueError):
                return kind(value.replace("_", ""))
        return value


def _base(shape: Any) -> Any:
    if typing.get_origin(shape) is typing.Annotated:
        return typing.get_args(shape)[0]
    return shape


def option_flags(function: Command, *, whole: bool = False) -> Command:
    """Add one flag for each option: `max_tokens` → `--max-tokens`, `headers` → `--[no-]headers`.

    The options of whole prompts get flags only with `whole`.
    """
    for name in reversed([name for name in VOCABULARY if whole or name not in PROMPT]):
        rule = VOCABULARY.rules[name]
        flag = "--" + name.replace("_", "-")
        default = getattr(Options(), name)
        settings: dict[str, Any] = {"default": None}
        if _base(rule.shape) is bool:
            flag = f"{flag}/--no-{flag[2:]}"
            default = ("no", "yes")[default]
        else:
            settings |= {"type": _Value(rule), "multiple": _takes_many(rule)}
        settings["help"] = _help(rule, default)
        function = click.option(flag, name, **settings)(function)
    function = click.option(
        "--strict",
        is_flag=True,
        help="Fail (exit 1, nothing on standard output) where there is anything to warn of.",
    )(function)
    return profile_flags(function)


def _takes_many(rule: Rule) -> bool:
    return typing.get_origin(_base(rule.shape)) is tuple


def _help(rule: Rule, default: object) -> str:
    if rule.name in _PATTERNS:
        return f"{rule.doc} For several, repeat the flag; a comma is part of a pattern."
    if _takes_many(rule):
        return f"{rule.doc} For several, repeat the flag, or separate them by commas."
    if default in (None, ""):
        return rule.doc
    return f"{rule.doc} [default: {default}]"


def profile_flags(function: Command) -> Command:
    """Add `--profile`, `--templates` and `--profiles`."""
    for name, variable in reversed(_FOLDERS):
        function = click.option(
            f"--{name}",
            multiple=True,
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help=f"A folder of your own {name}, before the shipped ones; also {variable}.",
        )(function)
    return click.option(
        "--profile",
        "-p",
        metavar="NAME",
        shell_complete=profiles,
        help="A profile's name, or its .yaml file.",
    )(function)


def folders_of(
    given: dict[str, Any], workspace: str = os.curdir, diagnostics: Diagnostics | None = None
) -> dict[str, Any]:
    """Take the folders out of the flags; add those of the environment and of a trusted workspace."""
    found = {}
    project: dict[str, list[Path]] = {}
    if os.path.isdir(os.path.join(workspace, ".promptforge")):
        from .trust import trusted_folders  # late: most workspaces hold nothing to trust

        project = trusted_folders(workspace, diagnostics)
    for name, variable in _FOLDERS:
        listed = [Path(part) for part in os.environ.get(variable, "").split(os.pathsep) if part]
        for folder in listed:
            if not folder.is_dir():
                raise click.UsageError(f"{variable}: there is no folder {quote(str(folder))}")
        found[name] = [*given.pop(name, ()), *listed, *project.get(name, ())]
    return found


def or_here(folders: dict[str, Any]) -> dict[str, Any]:
    """Return the folders; where a kind has none, ./templates or ./profiles if it is there."""
    return {name: listed or [Path(name)] * Path(name).is_dir() for name, listed in folders.items()}


def options_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that the flags set, by name."""
    found = {}
    for name in VOCABULARY:
        value = given.get(name)
        if value is None or value == ():
            continue
        if isinstance(value, tuple):
            value = list(value)
            if name not in _PATTERNS:
                value = [word.strip() for each in value for word in each.split(",")]
        found[name] = value
    return found
