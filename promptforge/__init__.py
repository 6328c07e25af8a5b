"""promptforge: retrieved pieces in, one exact, safe, well-laid-out context text for an LLM out."""

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
from .rendering import Renderer, render
from .results import Result, ResultItem, ResultSection, Source
from .tokens import Tokenizer, get_tokenizer

__all__ = [
    "BudgetError",
    "Diagnostic",
    "Item",
    "ItemError",
    "OptionError",
    "ProfileError",
    "PromptForgeError",
    "Renderer",
    "Result",
    "ResultItem",
    "ResultSection",
    "Source",
    "StrictError",
    "TemplateError",
    "Tokenizer",
    "TokenizerError",
    "get_tokenizer",
    "render",
]

for _name in __all__:  # tracebacks and help say promptforge.BudgetError, not the module it happens to live in
    if isinstance(_public := globals()[_name], type):
        _public.__module__ = __name__
del _name, _public
