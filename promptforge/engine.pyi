# The names of the door, each with the room that it is imported from when it is first asked for.
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

NAMES: dict[str, str]
