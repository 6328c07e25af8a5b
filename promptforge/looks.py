"""One layout in one format: the compiled templates that print its items and its page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jinja2

from . import escaping
from .errors import TemplateError
from .framing import frame_pattern
from .safe import Safe
from .templating import fuel
from .templating.environment import Fields
from .templating.failures import explain
from .templating.places import TITLE
from .templating.welding import join, weld

if TYPE_CHECKING:
    from .templates import Templates

_KIND = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Look:
    """One layout in one format: the template of the page and, by kind, those of the items."""

    def __init__(
        self, templates: Templates, layout: str, format: str, ending: str, chain: list[str]
    ) -> None:  # noqa: A002
        self.layout = layout
        self.format = format
        self.syntax = escaping.syntax_of(ending.rpartition(".")[2])
        self.settings = templates.settings(layout)
        self._templates = templates
        self._ending = ending
        self._chain = chain
        self._items: dict[str, jinja2.Template] = {}
        page = self._find("layout")
        if page is None:
            raise TemplateError(f'the layout "{layout}" has no page "layout.{ending}.j2"')
        self.page_name = page
        """The template of the page, by its name."""
        self.page_uses = templates.reading(page).names
        self._page = templates.compile(page)
        names = self.files() if self.syntax == "txt" else ()
        self._frame: frozenset[tuple[object, ...]] = frozenset().union(
            *(templates.reading(n).frame for n in names)
        )
        self._names: frozenset[str] | None = None
        self._sources: str | None = None
        self.headed = (TITLE,) in self._frame
        """In plain text a section's title is a whole line, so no line of content may equal it."""
        self._patterns: dict[tuple[str, ...], re.Pattern[str] | None] = {}

    def files(self) -> list[str]:
        """Return the names of its templates, sorted: the page and the item templates."""
        found: dict[str, str] = {}
        for folder in self._chain:
            for name in self._templates.names():
                part = name.removeprefix(f"{folder}/")
                if name != part and part.endswith(f".{self._ending}.j2"):
                    stem = part.removesuffix(f".{self._ending}.j2")
                    if "." not in stem and not stem.startswith("_"):
                        found.setdefault(stem, name)
        return sorted(found.values())

    def _find(self, part: str) -> str | None:
        for folder in self._chain:
            name = f"{folder}/{part}.{self._ending}.j2"
            if self._templates.find(name):
                return name
        return None

    def uses(self, name: str) -> bool:
        """Tell whether any of its templates uses the variable `name`."""
        if self._names is None:
            self._names = frozenset().union(
                *(self._templates.reading(file).names for file in self.files())
            )
        return name in self._names

    def sources(self) -> str:
        """Return the text of all its templates and of those they draw on."""
        if self._sources is None:
            names = self.files()
            for name in names:  # grows meanwhile
                names += [
                    other for other in self._templates.reading(name).parents if other not in names
                ]
            self._sources = "\n".join(self._templates.source(name)[0] for name in names)
        return self._sources

    def frame(self, lines: Sequence[str]) -> re.Pattern[str] | None:
        """Return the pattern of lines that belong to the templates of plain text, else `None`.

        `lines` are more of them, from options: header, marker, titles.
        """
        if self.syntax != "txt":
            return None
        key = tuple(lines)
        if key not in self._patterns:
            # Titles come with the items: an endless supply must not fill the memory.
            if len(self._patterns) >= 1000:
                self._patterns.clear()
            own = {(line,) for text in key for line in text.split("\n")}
            self._patterns[key] = frame_pattern(self._frame | own)
        return self._patterns[key]

    def item_template(self, kind: str) -> jinja2.Template:
        """Return the template for one item of `kind`: the kind's own, else `item`."""
        template = self._items.get(kind)
        if template is None:
            name = None
            if _KIND.fullmatch(kind) and kind not in ("layout", "item"):
                name = self._find(kind)
            name = name or self._find("item")
            if name is None:
                raise TemplateError(
                    f'the layout "{self.layout}" has no "item.{self._ending}.j2" for "{kind}"'
                )
            template = self._templates.compile(name)
            if len(self._items) < 1000:  # kinds, too, come with the items
                self._items[kind] = template
        return template

    def printer(
        self,
        kind: str,
        flags: Mapping[str, Any],
        tank: fuel.Tank | None = None,
        mend: Callable[[list[str]], list[str]] | None = None,
    ) -> Callable[[Fields], Safe]:
        """Return the function that prints items of `kind`, for use in one thread.

        `flags` are the options that templates see, `tank` holds the fuel, and `mend` may change the
        pieces of an item's text before they are joined.
        """
        tank = tank or fuel.Tank()
        template = self.item_template(kind)
        variables: dict[str, Any] = {"item": None, **flags}
        context = template.new_context(variables, shared=True)

        def show(item: Fields) -> Safe:
            variables["item"] = item
            # One context serves all items; a variable set for the item before must not be seen.
            context.vars.clear()
            context.exported_vars.clear()
            fuel.use(tank, 1, fuel.chars_in(item.values()))
            try:
                return join(template.root_render_func(context), mend)
            except Exception as error:
                raise explain(error, template, variables) from error

        return show

    def render_page(self, variables: dict[str, Any], tank: fuel.Tank) -> list[str]:
        """Return the pieces of the page's text; each item's text is one of them."""
        template = self._page
        items = variables["items"]
        fuel.use(tank, len(items), sum([len(item["text"]) for item in items]))
        try:
            return weld(template.root_render_func(template.new_context(variables, shared=True)))
        except Exception as error:
            raise explain(error, template, variables) from error
