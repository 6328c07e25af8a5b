# The public names, each with the module that it is imported from when it is first asked for.
from ._version import __version__ as __version__
from .errors import BudgetError as BudgetError
from .errors import Diagnostic as Diagnostic
from .errors import ItemError as ItemError
from .errors import OptionError as OptionError
from .errors import ProfileError as ProfileError
from .errors import PromptForgeError as PromptForgeError
from .errors import StrictError as StrictError
from .errors import TemplateError as TemplateError
from .errors import TokenizerError as TokenizerError
from .model import Item as Item
from .model import Result as Result
from .model import ResultItem as ResultItem
from .model import ResultSection as ResultSection
from .model import Source as Source
from .prompts.finished import Prompt as Prompt
from .prompts.prompt import Renderer as Renderer
from .rendering.renderer import render as render
from .sources.gather import load as load
from .tokenizers.counters import Tokenizer as Tokenizer
from .tokenizers.registry import get_tokenizer as get_tokenizer
from .tokenizers.remote import RemoteTokenizer as RemoteTokenizer

__all__: list[str]
_HOMES: dict[str, str]

def names_of_stub(name: str) -> dict[str, str]: ...
