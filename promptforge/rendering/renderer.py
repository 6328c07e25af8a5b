"""The renderer: templates and options in force, and shipped templates in place of a failed one."""

from __future__ import annotations

import reprlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from ..config.layouts import LayoutSettings
from ..config.options import OPTION_VOCABULARY, Options, apply_options
from ..config.profiles import Profile, load_profile, profile_or_model
from ..errors import Diagnostic, Diagnostics, ItemError, TemplateError
from ..files import Folders, TemplateSources, folder_paths, template_sources
from ..model import Item, Result
from ..reasons import MERGED
from ..sources.native import read_flawless
from ..templating.loader import Templates
from ..tokenizers.registry import get_tokenizer
from .loops import in_thread
from .pipeline import Pipeline, log_diagnostics, shipped_templates_used
from .planning import Request

if TYPE_CHECKING:
    from ..config.keywords import OptionKeywords
    from ..selection.scoring import AnyEmbed

MAX_OTHERS = 16
"""Renderers remembered that calls with a profile or with texts of templates asked for."""


@dataclass(frozen=True, slots=True)
class TemplateSet:
    """Templates, and what is worked out once for them and the profile."""

    templates: Templates
    bases: dict[str, tuple[LayoutSettings, Options]] = field(default_factory=dict)
    prompt_templates: dict[tuple[object, ...], Any] = field(default_factory=dict)
    """Templates of whole prompts, by set, format and control tokens."""


class ContextRenderer:
    """Renders contexts. The public `Renderer` adds whole prompts and documents both."""

    def __init__(
        self,
        *,
        profile: str | Path | None = None,
        model: str | None = None,
        templates: TemplateSources = None,
        profiles: Folders = None,
        embed: AnyEmbed | None = None,
        follow_edits: bool = False,
        allow_outside: bool = False,
        **options: Unpack[OptionKeywords],
    ) -> None:
        profile = profile_or_model(profile, model)
        self._made_of: dict[str, Any] = {
            "profile": profile,
            "templates": templates,
            "profiles": profiles,
            "embed": embed,
            "allow_outside": allow_outside,
        }
        self.profile: Profile = load_profile(profile, folder_paths(profiles))
        self.profile.check_outside(allow_outside or "tokenizer" in options)
        sources = template_sources(templates)
        self._followed = None
        if follow_edits:
            from ..templating.following import FollowedTemplates

            self._followed = FollowedTemplates(sources)
            self._set = TemplateSet(self._followed.newest()[0])
        else:
            self._set = TemplateSet(Templates(sources))
        self._given = options
        self._others: dict[object, Self] = {}
        self._pipeline = Pipeline(self.profile, embed)
        chosen = self._settle(self._set, options)
        # Now, not at the first text; what a profile says may still be changed by a call.
        if "tokenizer" in options:
            get_tokenizer(chosen.tokenizer)
        if "format" in options:
            self._set.templates.check_format(chosen.format)
        if "prompt" in options:
            self._set.templates.check_prompt(chosen.prompt)

    # Compiled templates cannot be pickled, so a copy in another process compiles them there.
    def __reduce__(self) -> tuple[object, ...]:
        made_of = {**self._made_of, "follow_edits": self._followed is not None}
        return partial(type(self), **made_of, **self._given), ()

    def __repr__(self) -> str:
        made_of = {**self._made_of, **self._given}
        # `templates` may hold whole texts.
        shown = [f"{name}={reprlib.repr(value)}" for name, value in made_of.items() if value]
        return f"Renderer({', '.join(shown)})"

    def _other(self, **made_of: Any) -> Self | None:
        """Return a renderer made of something else, for one call; None if nothing else is given."""
        named = {name: value for name, value in made_of.items() if value is not None}
        if not named:
            return None
        made_of = {**self._made_of, **named}
        key = _unchanging(made_of)
        other = self._others.get(key)
        if other is None:
            other = type(self)(**made_of, **self._given)
            if key is not None:
                if len(self._others) == MAX_OTHERS:
                    self._others.clear()
                self._others[key] = other
        return other

    def _current(self, diagnostics: Diagnostics) -> TemplateSet:
        current = self._set
        if self._followed is not None:
            templates, problem = self._followed.newest()
            if problem is not None:
                message = f"{problem}; the templates as they were before this edit were used"
                diagnostics.add("PF402", message)
            if templates is not current.templates:
                current = self._set = TemplateSet(templates)
        return current

    def _settle(self, current: TemplateSet, changes: Mapping[str, Any]) -> Options:
        """Return the options in force: default < layout < profile < `changes`.

        Raises `OptionError` for an option that no rendering can use.
        """
        own = self.profile.options
        layout = own.get("layout", Options().layout)
        if "layout" in changes:
            layout = OPTION_VOCABULARY.check("layout", changes["layout"])
        if layout not in current.bases:
            settings = current.templates.settings(layout)
            ground = apply_options(apply_options(Options(), settings.options), own)
            current.bases[layout] = settings, ground
        return apply_options(current.bases[layout][1], changes)

    def check(self, **options: Unpack[OptionKeywords]) -> Options:
        """Return the options in force.

        Raises `OptionError` for a value, layout or format that no rendering can use,
        `TemplateError` for a template.
        """
        changes = {**self._given, **options}
        diagnostics = Diagnostics()
        current = self._current(diagnostics)
        chosen = self._settle(current, changes)
        current.templates.layout(chosen.layout, chosen.format)
        return chosen

    def render(
        self,
        items: object,
        *,
        profile: str | Path | None = None,
        model: str | None = None,
        templates: TemplateSources = None,
        profiles: Folders = None,
        embed: AnyEmbed | None = None,
        before: tuple[Diagnostic, ...] = (),
        **options: Unpack[OptionKeywords],
    ) -> Result:
        """Return the context made of `items`, with a report on every item.

        `items` are `Item`s, mappings of any known shape, or documents of LangChain, LlamaIndex
        and Haystack. `options` win over the renderer's own. Rendering is lenient by default: bad
        data is left out and noted in `Result.warnings`. With `strict=True` any warning is a
        `StrictError` that carries the result. `before` are diagnostics from loading the items.

        Raises `BudgetError` when a required item does not fit, `OptionError` for an unknown
        option, layout or format, `TemplateError` when a template cannot be used.
        """
        profile = profile_or_model(profile, model)
        other = self._other(profile=profile, templates=templates, profiles=profiles, embed=embed)
        if other is not None:
            return other.render(items, before=before, **options)
        result, chosen = self._render(items, before, options)
        log_diagnostics(result, result.warnings, chosen.strict)
        return result

    @in_thread(render)
    def arender(self) -> None:
        """Render as `render` does in a thread; the event loop goes on, and runs an async `embed`.

        Example: `result = await renderer.arender(items, query="exit status", max_tokens=2_000)`.
        """

    def _render(
        self,
        items: object,
        before: tuple[Diagnostic, ...],
        options: Mapping[str, Any],
        current: TemplateSet | None = None,
        beside: Sequence[str] = (),
        apart: bool = False,
    ) -> tuple[Result, Options]:
        """Return the result and the options in force; the caller logs the diagnostics.

        `beside` are texts that will stand beside the result's.
        """
        started = time.perf_counter()
        diagnostics = Diagnostics(before)
        current = current or self._current(diagnostics)
        chosen = self._settle(current, {**self._given, **options})
        loaded = self._load(items, diagnostics)
        listed: Sequence[str] = getattr(loaded, "listed", ()) if chosen.tree else ()
        request = Request(current.templates, chosen, loaded, started, beside, apart, listed=listed)
        try:
            # A copy, since the second attempt says again what the failed one said.
            return self._pipeline.render(request, diagnostics.copy()), chosen
        except TemplateError as error:
            shipped = Templates()
            if not request.templates.own or chosen.layout not in shipped.layouts():
                raise
            if chosen.format not in shipped.formats(chosen.layout):
                raise
            diagnostics.extend((shipped_templates_used(error),))
        return self._pipeline.render(request._replace(templates=shipped), diagnostics), chosen

    @staticmethod
    def _load(items: object, diagnostics: Diagnostics) -> list[Item]:
        """Return the items given; say that none of a list is usable, and return none.

        Raises `ItemError` for what is no list of records at all: None, a number, the name of a
        file, the error that a store answered with.
        """
        if type(items) is list:
            native = read_flawless(items)
            if native is not None:
                return native
        from ..sources.records import load_records

        try:
            return load_records(items, where="items", diagnostics=diagnostics)
        except ItemError as error:
            if not issubclass(type(items), list | tuple):
                raise
            diagnostics.add("PF204", f"no items: {error.bare}", where="items", severity="error")
            return []

    def split(
        self,
        items: object,
        *,
        before: tuple[Diagnostic, ...] = (),
        **options: Unpack[OptionKeywords],
    ) -> list[Result]:
        """Return all items in as many texts as they need, each at most `max_tokens` long.

        Filters, ranks, duplicates and merged ranges count for all parts together. An item stands
        whole in one part; one too long for a part goes on in the next. Raises as `render` does,
        and `BudgetError` where a part has no room for a character of an item.

        Example: `for part in renderer.split(items, max_tokens=8_000): print(part.text)`.
        """
        from .split import AS_GIVEN, spread

        unlimited: dict[str, Any] = {"max_tokens": None, "max_chars": None, "context_window": None}
        whole, chosen = self._render(items, before, {**options, **unlimited})
        log_diagnostics(whole, whole.warnings, chosen.strict)
        page = whole.report.page
        reasons = whole.report.packed.reasons
        left = [i for i in page.candidates.kept if reasons.get(i) != MERGED.name]
        candidates = [page.candidates.pool[index] for index in page.walk(left)]
        given: dict[str, Any] = {**options, **AS_GIVEN}

        def render(these: Sequence[Item]) -> Result:
            return self._render(list(these), (), given)[0]

        parts = list(spread(candidates, render))
        return parts or [self._render(items, before, options)[0]]

    def render_item(self, item: object, **options: Unpack[OptionKeywords]) -> str:
        """Return one item's text alone, without a page; `options` win over the renderer's own."""
        diagnostics = Diagnostics()
        current = self._current(diagnostics)
        from ..sources.records import to_item

        chosen = self._settle(current, {**self._given, **options})
        request = Request(current.templates, chosen, [to_item(item)], time.perf_counter())
        return self._pipeline.alone(request, diagnostics)


def _unchanging(made_of: Mapping[str, Any]) -> tuple[object, ...] | None:
    """Return a key of what a renderer is made of; `None` where it may change from call to call."""
    profile, templates = made_of["profile"], made_of["templates"]
    # A shipped profile never changes; a file may, and so may a folder of templates.
    named = profile is None or (type(profile) is str and "." not in profile)
    if not named or made_of["profiles"] is not None or made_of["embed"] is not None:
        return None
    texts: tuple[object, ...] = ()
    if templates is not None:
        if type(templates) is not dict or not all(type(text) is str for text in templates.values()):
            return None
        texts = tuple(templates.items())
    return profile, texts


@cache
def _shared(allow_outside: bool) -> ContextRenderer:
    return ContextRenderer(allow_outside=allow_outside)


def render(
    items: object,
    *,
    profile: str | Path | None = None,
    model: str | None = None,
    templates: TemplateSources = None,
    profiles: Folders = None,
    embed: AnyEmbed | None = None,
    allow_outside: bool = False,
    **options: Unpack[OptionKeywords],
) -> Result:
    """Return the context text made of `items`: `Renderer(...).render(items, ...)` in one call."""
    made_of: dict[str, Any] = {"profile": profile, "model": model, "templates": templates}
    made_of |= {"profiles": profiles, "embed": embed}
    return _shared(allow_outside).render(items, **made_of, **options)
