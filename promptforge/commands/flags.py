"""The flags that several commands take, made from the vocabulary of the options."""

from __future__ import annotations

import os
import typing
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..diagnostics import Diagnostics
from ..errors import quote
from ..options import PROMPT, VOCABULARY, Options
from ..rules import Rule
from . import names

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Command = Callable[..., Any]
_PATTERNS = frozenset({"paths"})
"""Options whose values may hold a comma."""
_FOLDERS = (("templates", "PROMPTFORGE_TEMPLATES"), ("profiles", "PROMPTFORGE_PROFILES"))


class _Value(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """A value of an option, checked by the same rule as in a profile."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.name = "text" if not rule.choices else "|".join(rule.choices)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        if self.rule.choices:
            return f"[{self.name}]"
        kind = _base(self.rule.shape)
        return {int: "N", float: "X"}.get(
            kind, "NAME" if self.rule.name in names.OPTIONS else "TEXT"
        )

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        complete = names.OPTIONS.get(self.rule.name)
        known = complete(ctx, param, incomplete) if complete else self.rule.choices
        return [CompletionItem(name) for name in known if name.startswith(incomplete)]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        kind = _base(self.rule.shape)
        if typing.get_origin(kind) is dict and value != "none":
            from ..yamltext import load  # only a mapping is worth its import

            return load(value, f"--{self.rule.name.replace('_', '-')}")
        number: Any = value
        if kind in (int, float) and value != "none":
            try:
                number = kind(value.replace("_", ""))
            except ValueError:
                number = value
        return number


def _base(shape: Any) -> Any:
    return typing.get_args(shape)[0] if typing.get_origin(shape) is typing.Annotated else shape


def option_flags(function: Command, *, whole: bool = False) -> Command:
    """Add one flag for each option: `max_tokens` → `--max-tokens`, a yes-or-no `headers` → `--headers/--no-headers`.

    Those of a `whole` prompt only where one is made.
    """
    for name in reversed([name for name in VOCABULARY if whole or name not in PROMPT]):
        rule = VOCABULARY.rules[name]
        flag = "--" + name.replace("_", "-")
        default = getattr(Options(), name)
        if _base(rule.shape) is bool:
            decorate = click.option(
                f"{flag}/--no-{flag[2:]}",
                name,
                default=None,
                help=_help(rule, "yes" if default else "no"),
            )
        else:
            many = typing.get_origin(_base(rule.shape)) is tuple
            decorate = click.option(
                flag,
                name,
                type=_Value(rule),
                multiple=many,
                default=None,
                help=_help(rule, None if many else default),
            )
        function = decorate(function)
    function = click.option(
        "--strict",
        is_flag=True,
        help="Fail (exit 1, nothing on standard output) where there is anything to warn of.",
    )(function)
    return profile_flags(function)


def _help(rule: Rule, default: object) -> str:
    shown = "" if default in (None, "") else f" [default: {default}]"
    several = ""
    if typing.get_origin(_base(rule.shape)) is tuple:
        commas = (
            "a comma is part of a pattern" if rule.name in _PATTERNS else "or put commas between"
        )
        several = f" For several, repeat the flag; {commas}."
    return f"{rule.doc}{several}{shown}"


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
        shell_complete=names.profiles,
        help="A profile's name, or its .yaml file.",
    )(function)


def folders_of(
    given: dict[str, Any], workspace: str = os.curdir, diagnostics: Diagnostics | None = None
) -> dict[str, Any]:
    """Take the folders out of the flags, then those of the environment, then those of the workspace if trusted."""
    found = {}
    project: dict[str, list[Path]] = {}
    if os.path.isdir(os.path.join(workspace, ".promptforge")):
        from .trust import trusted_folders  # only where there is something to trust

        project = trusted_folders(workspace, diagnostics)
    for name, variable in _FOLDERS:
        listed = [Path(part) for part in os.environ.get(variable, "").split(os.pathsep) if part]
        for folder in listed:
            if not folder.is_dir():
                raise click.UsageError(f"{variable}: there is no folder {quote(str(folder))}")
        found[name] = [*given.pop(name, ()), *listed, *project.get(name, ())]
    return found


def or_here(folders: dict[str, Any]) -> dict[str, Any]:
    """Return the folders; where none is named of a kind, that of its name in the working directory, if there is one."""
    return {name: listed or [Path(name)] * Path(name).is_dir() for name, listed in folders.items()}


def options_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options among the flags that were really given."""
    return {
        name: _listed(name, value) if isinstance(value, tuple) else value
        for name in VOCABULARY
        if (value := given.get(name)) is not None and value != ()
    }


def _listed(name: str, values: tuple[Any, ...]) -> list[Any]:
    """Return the values of a flag that may be given several times; but for patterns also with commas between."""
    if name in _PATTERNS:
        return list(values)
    return [part.strip() for value in values for part in value.split(",")]
