"""The door of the engine: what its clients take, be they commands, the page, batches or servers.

A name comes here when a second package asks for it. Each is imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `promptforge` itself
if TYPE_CHECKING:
    from typing import Any

    from .reasons import REASONS as REASONS
    from .rendering.pipeline import log_diagnostics as log_diagnostics
    from .rendering.renderer import ContextRenderer as ContextRenderer
    from .sources.folders import FolderFilter as FolderFilter
    from .sources.gather import SourceRequest as SourceRequest
    from .sources.gather import gather as gather
    from .sources.item_files import load_messages as load_messages
    from .sources.jobs import Job as Job
    from .sources.objects import table_rows as table_rows
    from .sources.text_files import Search as Search
    from .sources.text_files import split_range as split_range
    from .syntax.syntax import Syntax as Syntax
    from .syntax.syntaxes import FORMAT_EXTENSIONS as FORMAT_EXTENSIONS
    from .syntax.syntaxes import format_of as format_of
    from .syntax.syntaxes import known_syntax as known_syntax
    from .templating.language import Fields as Fields
    from .templating.loader import PROMPTS_FOLDER as PROMPTS_FOLDER
    from .templating.loader import TemplateName as TemplateName
    from .templating.loader import Templates as Templates
    from .tokenizers.counters import Counter as Counter
    from .tokenizers.registry import get_tokenizer as get_tokenizer
    from .tokenizers.registry import list_tokenizers as list_tokenizers

_HOMES = {
    "reasons": "REASONS",
    "rendering.pipeline": "log_diagnostics",
    "rendering.renderer": "ContextRenderer",
    "sources.folders": "FolderFilter",
    "sources.gather": "SourceRequest gather",
    "sources.item_files": "load_messages",
    "sources.jobs": "Job",
    "sources.objects": "table_rows",
    "sources.text_files": "Search split_range",
    "syntax.syntax": "Syntax",
    "syntax.syntaxes": "FORMAT_EXTENSIONS format_of known_syntax",
    "templating.language": "Fields",
    "templating.loader": "PROMPTS_FOLDER TemplateName Templates",
    "tokenizers.counters": "Counter",
    "tokenizers.registry": "get_tokenizer list_tokenizers",
}
"""Module → the names of it."""
NAMES = {name: module for module, names in _HOMES.items() for name in names.split()}
"""Name → its module."""

if not TYPE_CHECKING:  # else type checkers would take any name

    def __getattr__(name: str) -> Any:
        """Import a name when it is first asked for: each client loads the rooms that it enters."""
        if name not in NAMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{NAMES[name]}", __package__), name)
        globals()[name] = value
        return value
