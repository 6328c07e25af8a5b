"""The language tag of an item: forced, its own, told from its path, or told from its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from .items import Item
from .layouts import LayoutSettings
from .options import Options
from .sources.languages import language_of


class Tagger:
    """Tells languages by the tags of a profile; remembers what paths and kinds gave."""

    def __init__(self, tags: Mapping[str, str]) -> None:
        """`tags`: a kind (`man_page`), an extension (`.el`) or a language (`common-lisp`) → the tag to print."""
        self._by = tags
        self._find = lru_cache(maxsize=10_000)(self._find_tag)

    def tags(self, options: Options, settings: LayoutSettings) -> Callable[[Item], str | None]:
        """Return the function that gives an item's tag, or `None` for none, under these options and in this layout."""
        only = tuple(sorted(settings.languages.items())) if settings.languages is not None else None
        forced = options.fence_language

        def tag(item: Item) -> str | None:
            if forced:
                return forced
            own = item.language
            if own is not None:
                return None if own == "none" else self._by.get(own, own)
            return self._find(item.kind, item.path or "", only)

        return tag

    def _find_tag(
        self, kind: str, path: str, only: tuple[tuple[str, str], ...] | None
    ) -> str | None:
        extension = path.rpartition(".")[2].lower()
        if only is not None:
            return dict(only).get(extension)
        found = (self._by.get(f".{extension}") or language_of(path)) if path else None
        return self._by.get(found or "", found) or self._by.get(kind)
