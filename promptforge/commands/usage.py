"""Say click's errors in the words of all other messages: the mistake, and the way out."""

from __future__ import annotations

import re

import click

from ..errors import nearest, quote


def said(error: click.ClickException) -> str:
    """Return the message of a click error, with a pointer to the help."""
    context = getattr(error, "ctx", None)
    message = _message(error, context)
    if context is None:
        return message
    return f"{message} (see {context.command_path} --help)"


def _message(error: click.ClickException, context: click.Context | None) -> str:
    if (
        isinstance(error, click.MissingParameter)
        and isinstance(error.param, click.Argument)
        and context is not None
    ):
        goes = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
        return f"{_name(error.param)} is missing: {goes}"
    if isinstance(error, click.NoSuchOption):
        hint = ""
        if error.possibilities:
            hint = f"; did you mean {' or '.join(map(quote, error.possibilities))}?"
        return f"there is no option {quote(error.option_name)}{hint}"
    if isinstance(error, click.BadOptionUsage) and "requires an argument" in error.message:
        return f"{error.option_name} needs a value"
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
        kind = {"Directory": "folder"}.get(message.partition(" ")[0], "file")
        return f"{at}: there is no {kind} {quote(given[1])}"
    if "is a file" in given[2]:
        return f"{at} takes a folder, and {quote(given[1])} is a file"
    if "is a directory" in given[2]:
        return f"{at} takes a file, and {quote(given[1])} is a folder"
    return f"{at}: {quote(given[1])} {given[2].rstrip('.')}"


def _name(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Argument):
        if isinstance(parameter.type, click.Choice):
            return f"one of {', '.join(map(str, parameter.type.choices))}"
        return parameter.metavar or (parameter.name or "").upper()
    return max(parameter.opts, key=len)
