"""Whatever a template raised → a `TemplateError` that names the template's own line, and the values on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import jinja2

from ..errors import TemplateError, nearest
from . import excerpts, fuel


def explain(
    error: Exception, template: jinja2.Template, variables: Mapping[str, Any]
) -> TemplateError:
    """Turn whatever a template raised into a `TemplateError` that names the template's own line, and its values."""
    if isinstance(error, TemplateError) and error.where:
        return error
    where = template.name or "<template>"
    trace: TracebackType | None = error.__traceback__
    seen = variables
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if path.endswith(
            ".j2"
        ):  # compiled templates keep their name and their table of lines as globals
            space = trace.tb_frame.f_globals
            where = f"{space.get('name', where)}:{source_line(space.get('debug_info', ''), trace.tb_lineno)}"
            seen = excerpts.local(trace.tb_frame.f_locals, variables)
        trace = trace.tb_next
    found = _explain(error, where, variables)
    name, _, line = where.partition(":")
    loader = template.environment.loader
    if line and loader is not None:
        found.excerpt = excerpts.excerpt(
            loader.get_source(template.environment, name)[0], int(line), str(found)
        )
        values = excerpts.values(found.excerpt.source, seen) if found.excerpt else ""
        if values:
            found.args = (f"{found} ({values})",)
    return found


def _explain(error: Exception, where: str, variables: Mapping[str, Any]) -> TemplateError:
    if isinstance(error, TemplateError):
        return TemplateError(str(error), where=where)
    if isinstance(error, jinja2.UndefinedError):
        message = str(error.message)
        match = re.match(r'unknown variable "(.*)"$', message)
        if match:
            message += nearest(match[1], variables)
        return TemplateError(message, where=where)
    if isinstance(error, jinja2.TemplateNotFound):
        message = f'there is no template "{error.name}"; a name is LAYOUT/PART.EXT.j2, as `list templates` shows them'
        return TemplateError(message, where=where)
    if isinstance(error, jinja2.TemplateSyntaxError):
        return TemplateError(str(error).rstrip("."), where=where)
    if isinstance(error, fuel.SpentError):
        return fuel.end(error, where)
    if isinstance(error, RecursionError):
        message = "a macro calls itself, or a template extends or includes itself; shipped/NAME is the original"
        return TemplateError(message, where=where)
    if isinstance(error, MemoryError):
        return TemplateError("too much memory for one text", where=where)
    return TemplateError(excerpts.plainly(error), where=where)


def source_line(debug: str, line: int) -> int:
    """Return the template's line for a line of its compiled code (`debug` is Jinja's own table)."""
    found = 1
    for pair in filter(None, debug.split("&")):
        source, compiled = map(int, pair.split("="))
        if compiled > line:
            break
        found = source
    return found
