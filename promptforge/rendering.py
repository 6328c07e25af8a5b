"""The renderer: the stages in order, and the account of what they did."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from . import accounts, planning, selection
from .answers.asking import Embed
from .diagnostics import Diagnostic, Diagnostics
from .errors import StrictError, TemplateError
from .fitting.fit import Fit, fit
from .fitting.scale import UNLIMITED, Cost, excess
from .following import Followed
from .items import Item
from .layouts import LayoutSettings
from .options import Options, apply, apply_lenient
from .page import Page
from .profiles import Profile, load_profile
from .results import Result
from .selection import Candidates
from .sources.records import load_records, to_item
from .tagging import Tagger
from .templates import Source, Templates
from .tokens import get_tokenizer
from .views import Memory

Folders = str | Path | Sequence[str | Path] | None
"""One folder of the user's, or several, the first wins."""
Sources = str | Path | Mapping[str, str] | Sequence[str | Path | Mapping[str, str]] | None
"""The same for templates, which may also be texts by their names, such as `chunks/item.md.j2`."""


SHOWN = ("headers", "line_numbers", "scores", "code", "sources", "header", "footer")
"""Options that only templates give an effect."""
_PLAIN = Options()


def _paths(folders: Folders) -> tuple[Path, ...]:
    if folders is None:
        return ()
    if isinstance(folders, str | Path):
        return (Path(folders),)
    return tuple(Path(folder) for folder in folders)


def _sources(given: Sources) -> tuple[Source, ...]:
    if given is None:
        return ()
    listed = (given,) if isinstance(given, str | Path | Mapping) else tuple(given)
    return tuple(each if isinstance(each, Mapping) else Path(each) for each in listed)


class _Set(NamedTuple):
    """Templates, and what follows from them and the profile."""

    templates: Templates
    bases: dict[str, tuple[LayoutSettings, Options]]
    """Settings and options by the name of the layout."""


class Renderer:
    """Configuration: a profile, templates and options. Renders any number of times, from any thread.

    `profile` is a name or a `.yaml` file; `templates` and `profiles` are folders of the user's that come before the
    shipped ones (templates may also be texts by name); `options` are those of the profile vocabulary. `embed` maps a
    list of texts to a vector each: with a query it adds to the words, with `rerank: mmr` it tells what is alike. Files
    are read once, when the renderer is made; with `follow_edits` template files are read again when they change, all of
    them at once, and a set that does not compile is not taken (PF402 says so).

    Raises `ProfileError`, `TemplateError`, `OptionError`.
    """

    def __init__(
        self,
        *,
        profile: str | Path | None = None,
        templates: Sources = None,
        profiles: Folders = None,
        embed: Embed | None = None,
        follow_edits: bool = False,
        **options: Any,
    ) -> None:
        self._made_of: dict[str, Any] = {
            "profile": profile,
            "templates": templates,
            "profiles": profiles,
            "embed": embed,
        }
        self._folders = _paths(profiles)
        self.profile: Profile = load_profile(profile or "default", self._folders)
        self._followed = Followed(_sources(templates)) if follow_edits else None
        read = self._followed.newest()[0] if self._followed else Templates(_sources(templates))
        self._set = _Set(read, {})
        self._given = options
        self._embed = embed
        self._views: Memory = {}
        self._tagger = Tagger(self.profile.language_tags)
        self._settle(self._set, options, Diagnostics())

    def _current(self, diagnostics: Diagnostics) -> _Set:
        """Return the templates of a rendering, from its beginning to its end."""
        current = self._set
        if self._followed is not None:
            templates, problem = self._followed.newest()
            if problem is not None:
                diagnostics.add("PF402", f"{problem}; the templates as they were before this edit were used")
            if templates is not current.templates:
                current = self._set = _Set(templates, {})
        return current

    # --- options ----------------------------------------------------------------------------------------------------

    def _settle(
        self, current: _Set, changes: Mapping[str, Any], diagnostics: Diagnostics
    ) -> tuple[LayoutSettings, Options]:
        """Return the layout's settings and the options in force: default < layout < profile < `changes`."""
        own = self.profile.options
        strictness = changes.get("on_error", own.get("on_error"))
        strict = type(strictness) is str and strictness == "raise"
        change = apply if strict else _lenient(diagnostics)
        layout = str(changes.get("layout") or own.get("layout", Options().layout))
        base = current.bases.get(layout)
        if base is None:
            settings = current.templates.settings(layout)
            base = current.bases[layout] = (settings, apply(apply(Options(), settings.options), own))
        settings, ground = base
        return settings, change(ground, changes)

    # --- rendering --------------------------------------------------------------------------------------------------

    def render(
        self,
        items: object,
        *,
        profile: str | Path | None = None,
        templates: Sources = None,
        profiles: Folders = None,
        embed: Embed | None = None,
        before: tuple[Diagnostic, ...] = (),
        **options: Any,
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
            return Renderer(**made_of, **self._given).render(items, before=before, **options)
        started = time.perf_counter()
        diagnostics = Diagnostics()
        diagnostics.extend(before)
        current = self._current(diagnostics)
        settings, chosen = self._settle(current, {**self._given, **options}, diagnostics)
        loaded = load_records(items, where="items", diagnostics=diagnostics)
        said = tuple(diagnostics)
        try:
            result = self._make(current.templates, settings, chosen, loaded, diagnostics, started)
        except TemplateError as error:  # what the failed attempt said, the next will say again
            diagnostics = Diagnostics()
            diagnostics.extend(said)
            result = self._fall_back(error, current.templates, chosen, loaded, diagnostics, started)
        return _judge(result, chosen)

    def _fall_back(
        self,
        error: TemplateError,
        failed: Templates,
        options: Options,
        items: list[Item],
        diagnostics: Diagnostics,
        started: float,
    ) -> Result:
        """Render with the shipped templates after a template of the user's failed."""
        shipped = Templates()
        if not failed.own or options.layout not in shipped.layouts():
            raise error
        if options.format not in shipped.formats(options.layout):
            raise error
        diagnostics.add(
            "PF401", f"{error}; the shipped templates were used instead", where=error.where, severity="error"
        )
        settings = shipped.settings(options.layout)
        return self._make(shipped, settings, options, items, diagnostics, started)

    def _make(
        self,
        templates: Templates,
        settings: LayoutSettings,
        options: Options,
        items: list[Item],
        diagnostics: Diagnostics,
        started: float,
    ) -> Result:
        look = templates.look(options.layout, options.format)
        for name in SHOWN:
            if getattr(options, name) != getattr(_PLAIN, name) and not look.uses(name):
                message = f"{name} changes nothing in the layout {options.layout} as {options.format}"
                diagnostics.add("PF105", message, severity="info")
        counter = get_tokenizer(options.tokenizer)
        tag = self._tagger.tags(options, settings)
        language = self._tagger.tags(_PLAIN, LayoutSettings())
        options = _ceiling(options, diagnostics)
        limit = _limit(options)
        every = selection.select(items, options, language, diagnostics, self._embed)
        candidates = selection.combine(every, options)
        page = Page(look, options, settings, counter, candidates, tag, language, self._views)
        found = _fit(page, options, limit, diagnostics)
        if options.combine == "explicit_first" and not found.chosen and len(candidates) < len(every):
            # Nothing that the user named is in the text: fall back to what a search found.
            candidates = every
            page = Page(look, options, settings, counter, candidates, tag, language, self._views)
            found = _fit(page, options, limit, diagnostics)
        if found.twins:
            found = page.note_twins(found, limit)
        dropped = candidates.dropped
        left_out = sum(reason == "combine" for reason in dropped.values())
        if left_out:
            diagnostics.add(
                "PF113",
                f"{left_out} found items were left out by combine: {options.combine}; combined shows both kinds",
                severity="info",
            )
        if not found.frame_fits:
            if options.on_error == "raise":
                raise excess("the frame of the page alone needs", found.cost, limit, "raise it")
            diagnostics.add("PF110", "the budget cannot hold even the frame of the page, so the text is empty")

        def again(max_tokens: int) -> Result:
            other = msgspec.structs.replace(options, max_tokens=max_tokens)
            return self._make(templates, settings, other, items, Diagnostics(), time.perf_counter())

        return accounts.account(page, found, items, dropped, self.profile, templates, diagnostics, started, again)

    def render_item(self, item: object, **options: Any) -> str:
        """Return one item's text alone, without a page around it; `options` win over the renderer's own."""
        diagnostics = Diagnostics()
        current = self._current(diagnostics)
        settings, chosen = self._settle(current, {**self._given, **options}, diagnostics)
        one = to_item(item)
        look = current.templates.look(chosen.layout, chosen.format)
        counter = get_tokenizer(chosen.tokenizer)
        page = Page(
            look,
            chosen,
            settings,
            counter,
            Candidates([one], [one.score], [0], {}),
            self._tagger.tags(chosen, settings),
            self._tagger.tags(_PLAIN, LayoutSettings()),
            {},
        )
        return str.__str__(page.text(0, page.forms(0)[0]))


def _lenient(diagnostics: Diagnostics) -> Any:
    return lambda base, changes: apply_lenient(base, changes, diagnostics)


def _ceiling(options: Options, diagnostics: Diagnostics) -> Options:
    """Return the options with `max_tokens` no more than what the window leaves after the reserve."""
    if options.context_window is None:
        return options
    window = max(0, options.context_window - (options.reserve or 0))
    if options.max_tokens is not None and options.max_tokens <= window:
        return options
    asked = "none" if options.max_tokens is None else f"{options.max_tokens:,}"
    message = f"max_tokens was lowered from {asked} to what the window leaves after the reserve, {window:,}"
    diagnostics.add("PF102", message, severity="info")
    return msgspec.structs.replace(options, max_tokens=window)


def _limit(options: Options) -> Cost:
    return (
        UNLIMITED if options.max_tokens is None else options.max_tokens,
        UNLIMITED if options.max_chars is None else options.max_chars,
    )


def _fit(page: Page, options: Options, limit: Cost, diagnostics: Diagnostics) -> Fit:
    plan = planning.plan(page, options, limit, diagnostics)
    return fit(
        plan.parts,
        page,
        limit,
        packing=options.packing,
        trim=options.trim != "none",
        stubs=options.stubs,
        quotas=plan.quotas,
        extracts=page.extractor(),
    )


def _judge(result: Result, options: Options) -> Result:
    if options.on_error == "raise":
        grave = [d for d in result.warnings if d.severity != "info"]
        if grave:
            more = f" (and {len(grave) - 1} more)" if len(grave) > 1 else ""
            known = grave[0].where
            place = f"{known}: " if known and known not in grave[0].message else ""
            raise StrictError(
                f"{place}{grave[0].code} {grave[0].message}{more}", diagnostics=tuple(grave), result=result
            )
    return result


@lru_cache(maxsize=64)
def _shared(profile: str | None) -> Renderer:
    return Renderer(profile=profile)


def render(
    items: object,
    *,
    profile: str | Path | None = None,
    templates: Sources = None,
    profiles: Folders = None,
    embed: Embed | None = None,
    **options: Any,
) -> Result:
    """Return the context text made of `items`: `Renderer(...).render(items, ...)` in one call."""
    if (
        templates is None
        and profiles is None
        and embed is None
        and (profile is None or (isinstance(profile, str) and "." not in profile))
    ):
        return _shared(profile).render(items, **options)
    return Renderer(profile=profile, templates=templates, profiles=profiles, embed=embed).render(items, **options)
