"""promptforge: retrieved pieces in, one exact, safe, well-laid-out context text for an LLM out."""

from __future__ import annotations

from importlib import import_module

from ._version import __version__ as __version__

TYPE_CHECKING = False  # type checkers know the name; `typing` takes longer to import than all this
if TYPE_CHECKING:
    from typing import Any

    from .errors import (
        BudgetError,
        Diagnostic,
        ItemError,
        OptionError,
        ProfileError,
        PromptForgeError,
        StrictError,
        TemplateError,
        TokenizerError,
    )
    from .model import Item, Result, ResultItem, ResultSection, Source
    from .prompts.finished import Prompt
    from .prompts.prompt import Renderer
    from .rendering.renderer import render
    from .sources.gather import load
    from .tokenizers.counters import Tokenizer
    from .tokenizers.registry import get_tokenizer
    from .tokenizers.remote import RemoteTokenizer

__all__ = [
    "BudgetError", "Diagnostic", "Item", "ItemError", "OptionError", "ProfileError", "Prompt",
    "PromptForgeError", "RemoteTokenizer", "Renderer", "Result", "ResultItem", "ResultSection",
    "Source", "StrictError", "TemplateError", "Tokenizer", "TokenizerError",
    "get_tokenizer", "load", "render",
]  # fmt: skip

_HOMES = {
    "errors": ("Diagnostic", *(name for name in __all__ if name.endswith("Error"))),
    "model": ("Item", "Result", "ResultItem", "ResultSection", "Source"),
    "prompts.finished": ("Prompt",),
    "prompts.prompt": ("Renderer",),
    "rendering.renderer": ("render",),
    "sources.gather": ("load",),
    "tokenizers.counters": ("Tokenizer",),
    "tokenizers.registry": ("get_tokenizer",),
    "tokenizers.remote": ("RemoteTokenizer",),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `promptforge --help` needs none of them."""
    for module, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f".{module}", __name__), name)
            if isinstance(value, type):
                value.__module__ = __name__  # tracebacks and help say promptforge.BudgetError
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
