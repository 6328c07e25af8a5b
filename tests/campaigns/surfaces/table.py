"""Which surface is tried by which function; a new surface is a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..corpus import Attack
from . import configured, records, templates, web
from .seen import Seen

SURFACES: dict[str, Callable[[Attack, dict[str, Any], Path, Any], Iterator[Seen]]] = {
    "content": records.content,
    "filename": records.filename,
    "metadata": records.metadata,
    "template": templates.template,
    "profile": configured.profile,
    "yaml": configured.yaml,
    "web": web.web,
}
