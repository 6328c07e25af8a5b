"""What click says of a wrong command line, in the words of the other messages: what, which, and the way out."""

from __future__ import annotations

import re

import click

from ..errors import nearest, quote


def said(error: click.ClickException) -> str:
    """Return the message of an error of click's, and where there is more to read."""
    context = getattr(error, "ctx", None)
    way_out = f" (see {context.command_path} --help)" if context is not None else ""
    return f"{_message(error, context)}{way_out}"


def _message(error: click.ClickException, context: click.Context | None) -> str:
    if (
        isinstance(error, click.MissingParameter)
        and isinstance(error.param, click.Argument)
        and context is not None
    ):
        goes = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
        return f"{_name(error.param)} is missing: {goes}"
    if isinstance(error, click.NoSuchOption):
        known = error.possibilities or []
        hint = f"; did you mean {' or '.join(map(quote, known))}?" if known else ""
        return f"there is no option {quote(error.option_name)}{hint}"
    if isinstance(error, click.BadOptionUsage) and "requires an argument" in error.message:
        return f"{error.option_name} wants a value behind it"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return _value(error, error.param)
    return error.format_message()


def _value(error: click.BadParameter, parameter: click.Parameter) -> str:
    message = error.message
    given = re.match(r"(?:Directory |File |Path )?'(.*?)' (.*)", message, re.DOTALL)
    at = _name(parameter)
    if given is None:
        return f"{at}: {message}"
    if isinstance(parameter.type, click.Choice):
        return f"there is no {quote(given[1])} here{nearest(given[1], map(str, parameter.type.choices))}"
    if "does not exist" in given[2]:
        kind = "folder" if message.startswith("Directory") else "file"
        return f"{at}: there is no {kind} {quote(given[1])}"
    if "is a file" in given[2] or "is a directory" in given[2]:
        is_file = "is a file" in given[2]
        wants, has = ("folder", "file") if is_file else ("file", "folder")
        return f"{at} takes a {wants}, and {quote(given[1])} is a {has}"
    return f"{at}: {quote(given[1])} {given[2].rstrip('.')}"


def _name(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Argument):
        if isinstance(parameter.type, click.Choice):
            return f"one of {', '.join(map(str, parameter.type.choices))}"
        return parameter.metavar or (parameter.name or "").upper()
    return max(parameter.opts, key=len)
