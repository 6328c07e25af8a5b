"""promptforge: retrieved pieces in, one exact, safe, well-laid-out context text for an LLM out."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .calibration import calibrate
    from .diagnostics import Diagnostic
    from .errors import (
        BudgetError,
        ItemError,
        OptionError,
        ProfileError,
        PromptForgeError,
        StrictError,
        TemplateError,
        TokenizerError,
    )
    from .items import Item
    from .prompting.prompts import Prompt
    from .prompting.renderer import Renderer
    from .remote import RemoteTokenizer
    from .rendering import render
    from .results import Result, ResultItem, ResultSection, Source
    from .sources.knowledge import load
    from .tokens import Tokenizer, get_tokenizer

__all__ = [
    "BudgetError",
    "Diagnostic",
    "Item",
    "ItemError",
    "OptionError",
    "ProfileError",
    "Prompt",
    "PromptForgeError",
    "RemoteTokenizer",
    "Renderer",
    "Result",
    "ResultItem",
    "ResultSection",
    "Source",
    "StrictError",
    "TemplateError",
    "Tokenizer",
    "TokenizerError",
    "calibrate",
    "get_tokenizer",
    "load",
    "render",
]

__version__ = "0.1.0"

_HOMES = {
    "calibration": ("calibrate",),
    "diagnostics": ("Diagnostic",),
    "errors": tuple(name for name in __all__ if name.endswith("Error")),
    "items": ("Item",),
    "prompting.prompts": ("Prompt",),
    "prompting.renderer": ("Renderer",),
    "remote": ("RemoteTokenizer",),
    "rendering": ("render",),
    "results": ("Result", "ResultItem", "ResultSection", "Source"),
    "sources.knowledge": ("load",),
    "tokens": ("Tokenizer", "get_tokenizer"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `promptforge --help` needs none of them."""
    from importlib import import_module

    for module, names in _HOMES.items():
        if name in names:
            home = import_module(f".{module}", __name__)
            for each in names:
                value = getattr(home, each)
                if isinstance(value, type):
                    value.__module__ = __name__  # tracebacks and help say promptforge.BudgetError
                globals()[each] = value
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
