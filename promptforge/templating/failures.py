"""An exception of a running template → a `TemplateError` with the template's line and its values."""

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
    """Return the `TemplateError` for any exception that `template` raised, given `variables`."""
    if isinstance(error, TemplateError) and error.where:
        return error
    where = template.name or "<template>"
    trace: TracebackType | None = error.__traceback__
    seen = variables
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.endswith(".j2"):
            # A compiled template keeps its name and its table of lines as globals.
            space = trace.tb_frame.f_globals
            line_number = source_line(space.get("debug_info", ""), trace.tb_lineno)
            where = f"{space.get('name', where)}:{line_number}"
            seen = excerpts.local(trace.tb_frame.f_locals, variables)
        trace = trace.tb_next
    found = _explain(error, where, variables)
    name, _, line = where.partition(":")
    loader = template.environment.loader
    if line and loader is not None:
        source = loader.get_source(template.environment, name)[0]
        found.excerpt = excerpts.excerpt(source, int(line), str(found))
        if found.excerpt and (values := excerpts.values(found.excerpt.source, seen)):
            found.args = (f"{found} ({values})",)
    return found


def _explain(error: Exception, where: str, variables: Mapping[str, Any]) -> TemplateError:
    message = str(error).rstrip(".")
    if isinstance(error, fuel.SpentError):
        return fuel.end(error, where)
    if isinstance(error, jinja2.UndefinedError):
        message = str(error.message)
        if match := re.match(r'unknown variable "(.*)"$', message):
            message += nearest(match[1], variables)
    elif isinstance(error, jinja2.TemplateNotFound):
        message = f'there is no template "{error.name}"'
        message += "; a name is LAYOUT/PART.EXT.j2, as `list templates` shows them"
    elif isinstance(error, RecursionError):
        message = "a macro calls itself, or a template extends or includes itself"
        message += "; shipped/NAME is the original"
    elif isinstance(error, MemoryError):
        message = "too much memory for one text"
    elif isinstance(error, TemplateError):
        message = str(error)
    elif not isinstance(error, jinja2.TemplateSyntaxError):
        message = excerpts.plainly(error)
    return TemplateError(message, where=where)


def source_line(debug: str, line: int) -> int:
    """Return the template's line for a line of its compiled code; `debug` is Jinja's own table."""
    found = 1
    for pair in filter(None, debug.split("&")):
        source, compiled = map(int, pair.split("="))
        if compiled > line:
            break
        found = source
    return found
