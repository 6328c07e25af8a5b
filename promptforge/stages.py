"""The stages in order: candidates, page, plan, what fits, the account of it."""

from __future__ import annotations

import time

import msgspec

from . import accounts, planning, selection
from .answers.asking import Embed
from .controls import Controls, controls_of
from .diagnostics import Diagnostics
from .fitting.fit import Fit, fit
from .fitting.scale import UNLIMITED, Cost
from .items import Item
from .layouts import LayoutSettings
from .options import Options
from .page import Page
from .profiles import Profile
from .remote import RemoteTokenizer
from .results import Result
from .selection import Candidates
from .tagging import Tagger
from .templates import Templates
from .tokens import get_tokenizer
from .views import Memory

SHOWN = ("headers", "line_numbers", "scores", "code", "sources", "header", "footer")
"""Options that only templates give an effect."""
_PLAIN = Options()


class Stages:
    """The way from items to a result, for one profile; remembers the forms that items took. Used from any thread."""

    def __init__(self, profile: Profile, embed: Embed | None) -> None:
        self._profile = profile
        self._embed = embed
        self._views: Memory = {}
        self._tagger = Tagger(profile.language_tags)

    def make(
        self,
        templates: Templates,
        settings: LayoutSettings,
        options: Options,
        items: list[Item],
        diagnostics: Diagnostics,
        started: float,
    ) -> Result:
        """Return the result of `items` under these options; `started` is when `time.perf_counter` began it.

        Raises `BudgetError` when a required item does not fit, `TemplateError` when a template cannot be used.
        """
        counter = get_tokenizer(options.tokenizer)
        if isinstance(counter, RemoteTokenizer):
            return counter.settle(
                lambda estimate: self.make(
                    templates,
                    settings,
                    msgspec.structs.replace(options, tokenizer=estimate),
                    items,
                    diagnostics.copy(),
                    started,
                )
            )
        look = templates.look(options.layout, options.format)
        for name in SHOWN:
            if getattr(options, name) != getattr(_PLAIN, name) and not look.uses(name):
                message = f"{name} changes nothing in the layout {options.layout} as {options.format}"
                diagnostics.add("PF105", message, severity="info")
        tag = self._tagger.tags(options, settings)
        language = self._tagger.tags(_PLAIN, LayoutSettings())
        controls = self.controls(options, diagnostics)
        options = _ceiling(options, diagnostics)
        limit = _limit(options)
        every = selection.select(items, options, language, diagnostics, self._embed)
        candidates = selection.combine(every, options)
        page = Page(look, options, settings, counter, candidates, tag, language, self._views, controls)
        found = _fit(page, options, limit, diagnostics)
        if options.combine == "explicit_first" and not found.chosen and len(candidates) < len(every):
            # Nothing that the user named is in the text: fall back to what a search found.
            candidates = every
            page = Page(look, options, settings, counter, candidates, tag, language, self._views, controls)
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
            diagnostics.add("PF110", "the budget cannot hold even the frame of the page, so the text is empty")

        def again(max_tokens: int) -> Result:
            other = msgspec.structs.replace(options, max_tokens=max_tokens)
            return self.make(templates, settings, other, items, Diagnostics(), time.perf_counter())

        return accounts.account(page, found, items, dropped, self._profile, templates, diagnostics, started, again)

    def alone(
        self, item: Item, templates: Templates, settings: LayoutSettings, options: Options, diagnostics: Diagnostics
    ) -> str:
        """Return one item's text without a page around it, in its longest form."""
        page = Page(
            templates.look(options.layout, options.format),
            options,
            settings,
            get_tokenizer(options.tokenizer),
            Candidates([item], [item.score], [0], {}),
            self._tagger.tags(options, settings),
            self._tagger.tags(_PLAIN, LayoutSettings()),
            {},
            self.controls(options, diagnostics),
        )
        return str.__str__(page.text(0, page.forms(0)[0]))

    def controls(self, options: Options, diagnostics: Diagnostics) -> Controls | None:
        """Return what keeps control tokens from coming out of items; `None` where they are kept as they are."""
        if options.control_text == "keep":
            return None
        if not self._profile.control_tokens:
            message = (
                f"control_text: escape changes nothing, since the profile {self._profile.name} names no control_tokens"
            )
            diagnostics.add("PF106", f"{message}; choose the profile of the LLM's family")
            return None
        return controls_of(self._profile.control_tokens)


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
