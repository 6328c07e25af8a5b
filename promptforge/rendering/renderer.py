"""The renderer: which templates and options are in force, and what stands in for a template that failed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Unpack

from ..config.layouts import LayoutSettings
from ..config.option_types import OptionKeywords
from ..config.options import Options, apply_options, apply_options_leniently
from ..config.profiles import Profile, load_profile
from ..errors import Diagnostic, Diagnostics, ItemError, TemplateError
from ..files import Folders, TemplateSources, folder_paths, template_sources
from ..model import Item, Result
from ..selection.query import Embed
from ..sources.records import load_records, to_item
from ..templating.loader import FollowedTemplates, Templates
from .pipeline import Pipeline, Request, log_diagnostics, shipped_templates_used


@dataclass(frozen=True, slots=True)
class TemplateSet:
    """Templates, and what follows from them and the profile."""

    templates: Templates
    bases: dict[str, tuple[LayoutSettings, Options]] = field(default_factory=dict)
    """Settings and options by the name of the layout."""
    frames: dict[tuple[object, ...], Any] = field(default_factory=dict)
    """The frames of whole prompts that were made of them, by what each is made for."""


class ContextRenderer:
    """What renders contexts; the public `Renderer` adds whole prompts, and says what both take."""

    def __init__(
        self,
        *,
        profile: str | Path | None = None,
        templates: TemplateSources = None,
        profiles: Folders = None,
        embed: Embed | None = None,
        follow_edits: bool = False,
        **options: Unpack[OptionKeywords],
    ) -> None:
        self._made_of: dict[str, Any] = {
            "profile": profile,
            "templates": templates,
            "profiles": profiles,
            "embed": embed,
        }
        self._folders = folder_paths(profiles)
        self.profile: Profile = load_profile(profile or "default", self._folders)
        self._followed = FollowedTemplates(template_sources(templates)) if follow_edits else None
        read = (
            self._followed.newest()[0] if self._followed else Templates(template_sources(templates))
        )
        self._set = TemplateSet(read)
        self._given = options
        self._stages = Pipeline(self.profile, embed)
        self._settle(self._set, options, Diagnostics())

    def _current(self, diagnostics: Diagnostics) -> TemplateSet:
        """Return the templates of a rendering, from its beginning to its end."""
        current = self._set
        if self._followed is not None:
            templates, problem = self._followed.newest()
            if problem is not None:
                diagnostics.add(
                    "PF402", f"{problem}; the templates as they were before this edit were used"
                )
            if templates is not current.templates:
                current = self._set = TemplateSet(templates)
        return current

    # --- options ----------------------------------------------------------------------------------------------------

    def _settle(
        self, current: TemplateSet, changes: Mapping[str, Any], diagnostics: Diagnostics
    ) -> tuple[LayoutSettings, Options]:
        """Return the layout's settings and the options in force: default < layout < profile < `changes`."""
        own = self.profile.options
        strictness = changes.get("on_error", own.get("on_error"))
        strict = type(strictness) is str and strictness == "raise"
        change = apply_options if strict else _lenient(diagnostics)
        layout = str(changes.get("layout") or own.get("layout", Options().layout))
        base = current.bases.get(layout)
        if base is None:
            settings = current.templates.settings(layout)
            base = current.bases[layout] = (
                settings,
                apply_options(apply_options(Options(), settings.options), own),
            )
        settings, ground = base
        return settings, change(ground, changes)

    def check(self, **options: Unpack[OptionKeywords]) -> Options:
        """Return the options in force, each value of the renderer's and of `options` checked, lenient or not.

        Raises `OptionError` for a value, layout or format that no rendering can use, `TemplateError` for a template.
        """
        changes = {**self._given, **options}
        diagnostics = Diagnostics()
        current = self._current(diagnostics)
        chosen = apply_options(self._settle(current, changes, diagnostics)[1], changes)
        current.templates.layout(chosen.layout, chosen.format)
        return chosen

    # --- rendering --------------------------------------------------------------------------------------------------

    def render(
        self,
        items: object,
        *,
        profile: str | Path | None = None,
        templates: TemplateSources = None,
        profiles: Folders = None,
        embed: Embed | None = None,
        before: tuple[Diagnostic, ...] = (),
        **options: Unpack[OptionKeywords],
    ) -> Result:
        """Return the context text made of `items`, and the account of it.

        `items`: `Item`s, mappings of any known shape, or documents of LangChain, LlamaIndex and Haystack. `options` win
        over the renderer's own. Lenient by default: bad data is left out and said in `Result.warnings`; with
        `on_error="raise"` any warning is a `StrictError` that carries the result.

        Raises `BudgetError` when a required item does not fit, `OptionError` for an unknown option, layout or format,
        `TemplateError` when a template cannot be used. `before` is what was said while the items were loaded.
        """
        given = {"profile": profile, "templates": templates, "profiles": profiles, "embed": embed}
        named = {name: value for name, value in given.items() if value is not None}
        if named:
            made_of = {**self._made_of, **named}
            return type(self)(**made_of, **self._given).render(items, before=before, **options)
        result, chosen = self._render(items, before, options)
        log_diagnostics(result, result.warnings, chosen.on_error == "raise")
        return result

    def _render(
        self,
        items: object,
        before: tuple[Diagnostic, ...],
        options: Mapping[str, Any],
        current: TemplateSet | None = None,
        beside: Sequence[str] = (),
    ) -> tuple[Result, Options]:
        """Return the result and the options in force; whoever calls judges what there was to say.

        `beside` are texts that will stand beside the result's.
        """
        started = time.perf_counter()
        diagnostics = Diagnostics()
        diagnostics.extend(before)
        current = current or self._current(diagnostics)
        settings, chosen = self._settle(current, {**self._given, **options}, diagnostics)
        asked = Request(
            current.templates, settings, chosen, load_items(items, diagnostics), started, beside
        )
        try:
            return self._stages.make(asked, diagnostics.copy()), chosen
        except TemplateError as error:  # what the failed attempt said, the next will say again
            return self._fall_back(error, asked, diagnostics), chosen

    def _fall_back(self, error: TemplateError, asked: Request, diagnostics: Diagnostics) -> Result:
        """Render with the shipped templates after a template of the user's failed."""
        shipped = Templates()
        options = asked.options
        if not asked.templates.own or options.layout not in shipped.layouts():
            raise error
        if options.format not in shipped.formats(options.layout):
            raise error
        diagnostics.extend((shipped_templates_used(error),))
        asked = asked._replace(templates=shipped, settings=shipped.settings(options.layout))
        return self._stages.make(asked, diagnostics)

    def render_item(self, item: object, **options: Unpack[OptionKeywords]) -> str:
        """Return one item's text alone, without a page around it; `options` win over the renderer's own."""
        diagnostics = Diagnostics()
        current = self._current(diagnostics)
        settings, chosen = self._settle(current, {**self._given, **options}, diagnostics)
        asked = Request(current.templates, settings, chosen, [to_item(item)], time.perf_counter())
        return self._stages.alone(asked, diagnostics)


def load_items(items: object, diagnostics: Diagnostics) -> list[Item]:
    """Return the items of what was given; where that is no list of records at all, none, and it is said (PF204)."""
    try:
        return load_records(items, where="items", diagnostics=diagnostics)
    except ItemError as error:
        diagnostics.add("PF204", f"no items: {error.bare}", where="items", severity="error")
        return []


def _lenient(diagnostics: Diagnostics) -> Any:
    return lambda base, changes: apply_options_leniently(base, changes, diagnostics)


@lru_cache(maxsize=64)
def _shared(profile: str | None) -> ContextRenderer:
    return ContextRenderer(profile=profile)


def render(
    items: object,
    *,
    profile: str | Path | None = None,
    templates: TemplateSources = None,
    profiles: Folders = None,
    embed: Embed | None = None,
    **options: Unpack[OptionKeywords],
) -> Result:
    """Return the context text made of `items`: `Renderer(...).render(items, ...)` in one call."""
    if (
        templates is None
        and profiles is None
        and embed is None
        and (profile is None or (isinstance(profile, str) and "." not in profile))
    ):
        return _shared(profile).render(items, **options)
    renderer = ContextRenderer(profile=profile, templates=templates, profiles=profiles, embed=embed)
    return renderer.render(items, **options)
