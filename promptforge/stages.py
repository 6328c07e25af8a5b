"""The stages in order: candidates, page, plan, what fits, the account of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from . import accounts, planning, selection
from .answers.asking import Embed
from .controls import Controls, controls_of
from .diagnostics import Diagnostics, Severity
from .enclosing import UnkeptError, free_word, texts_of
from .errors import quote
from .fitting.fit import Fit, fit
from .fitting.scale import UNLIMITED, Cost, excess
from .framing import TAGGED, framing_of
from .items import Item
from .layouts import LayoutSettings
from .looks import Look
from .options import Options
from .page import Page
from .profiles import Profile
from .remote import RemoteTokenizer
from .results import Result
from .selection import Candidates
from .tagging import Tagger
from .templates import Templates
from .templating import fuel
from .tokens import get_tokenizer
from .views import Memory

SHOWN = ("headers", "line_numbers", "scores", "code", "sources", "header", "footer")
"""Options that only templates give an effect."""
_PLAIN = Options()


class Asked(NamedTuple):
    """What is to be rendered, and how."""

    templates: Templates
    settings: LayoutSettings
    options: Options
    items: list[Item]
    started: float
    """When it began, by `time.perf_counter`."""
    beside: Sequence[str] = ()
    """Texts that will stand beside the result's."""

    def by(self, **changes: Any) -> Asked:
        """Return the same by other options."""
        return self._replace(options=msgspec.structs.replace(self.options, **changes))


class Stages:
    """The way from items to a result, for one profile; remembers the forms that items took. Used from any thread."""

    def __init__(self, profile: Profile, embed: Embed | None) -> None:
        self._profile = profile
        self._embed = embed
        self._views: Memory = {}
        self._tagger = Tagger(profile.language_tags)
        self._language = self._tagger.tags(_PLAIN, LayoutSettings())
        """Tells what an item's language is, whatever is printed for it."""

    def make(self, asked: Asked, diagnostics: Diagnostics) -> Result:
        """Return the result of what is asked for.

        Raises `BudgetError` when a required item does not fit, `TemplateError` when a template cannot be used.
        """
        if asked.options.framing == TAGGED:
            try:
                return self._make(asked, diagnostics.copy())
            except UnkeptError as error:
                _say_unkept(error, diagnostics)
                asked = asked.by(framing="auto")
        return self._make(asked, diagnostics)

    def _make(self, asked: Asked, diagnostics: Diagnostics) -> Result:
        templates, settings, options, items, _, beside = asked
        counter = get_tokenizer(options.tokenizer)
        if isinstance(counter, RemoteTokenizer):
            return counter.settle(
                lambda estimate: self.make(asked.by(tokenizer=estimate), diagnostics.copy())
            )
        look = templates.look(options.layout, options.format)
        for name in SHOWN:
            if getattr(options, name) != getattr(_PLAIN, name) and not look.uses(name):
                message = (
                    f"{name} changes nothing in the layout {options.layout} as {options.format}"
                )
                diagnostics.add("PF105", message, severity="info")
        framing = _framing(look, options, diagnostics)
        controls = self.controls(options, diagnostics)
        options = _ceiling(options, diagnostics)
        limit = _limit(options)
        every = selection.select(items, options, self._language, diagnostics, self._embed)
        named = selection.combine(every, options)
        word = (
            free_word(_texts(look, settings, options, every.pool, beside))
            if framing == TAGGED
            else None
        )

        def page_of(candidates: Candidates) -> Page:
            tag = self._tagger.tags(options, settings)
            return Page(
                look,
                options,
                settings,
                counter,
                candidates,
                tag,
                self._language,
                self._views,
                controls,
                word,
            )

        untouched = list(every.pool)  # noting duplicates changes items of the pool
        trial_pages: dict[int, Page] = {}

        def refit(max_tokens: int) -> tuple[Page, Fit]:
            """Pack the same candidates into another budget; costs are remembered from one budget to the next."""
            if not trial_pages:
                for these in (every, named):
                    these = Candidates(
                        untouched, these.ranks, these.kept, these.dropped, these.asked
                    )
                    trial_pages[len(these)] = page_of(these)
            changed = msgspec.structs.replace(options, max_tokens=max_tokens)
            changed = _ceiling(changed, Diagnostics())
            pages = [trial_pages[n] for n in dict.fromkeys((len(named), len(every)))]
            for trial_page in pages:
                trial_page.tank.left, trial_page.tank.spent = fuel.START, None
            return _first_fitting(pages, changed, Diagnostics())

        pages = (page_of(these) for these in (named, every))
        page, found = _first_fitting(pages, options, diagnostics)
        candidates = page.entries
        if found.twins:
            found = page.note_twins(found, limit)
        left_out = sum(reason == "combine" for reason in candidates.dropped.values())
        if left_out:
            diagnostics.add(
                "PF113",
                f"{left_out} found items were left out by combine: {options.combine}; combined shows both kinds",
                severity="info",
            )
        if not found.frame_fits:
            if options.on_error == "raise":
                raise excess("the frame of the page alone needs", found.cost, limit, "raise it")
            diagnostics.add(
                "PF110", "the budget cannot hold even the frame of the page, so the text is empty"
            )

        def again(changes: Mapping[str, Any]) -> Result:
            return self.make(
                asked.by(**changes)._replace(started=time.perf_counter()), Diagnostics()
            )

        return accounts.account(
            page, found, items, self._profile, templates, diagnostics, asked.started, again, refit
        )

    def alone(self, asked: Asked, diagnostics: Diagnostics) -> str:
        """Return the text of the only item that is asked for, without a page around it, in its longest form."""
        templates, settings, options, (item,), *_ = asked
        look = templates.look(options.layout, options.format)
        word = None
        if _framing(look, options, diagnostics) == TAGGED:
            word = free_word(_texts(look, settings, options, [item]))
        alone, tag = Candidates([item], [item.score], [0], {}), self._tagger.tags(options, settings)
        counter, controls = get_tokenizer(options.tokenizer), self.controls(options, diagnostics)
        page = Page(
            look, options, settings, counter, alone, tag, self._language, {}, controls, word
        )
        try:
            return page.alone(0)
        except UnkeptError as error:
            _say_unkept(error, diagnostics)
            return self.alone(asked.by(framing="auto"), diagnostics)

    def controls(self, options: Options, diagnostics: Diagnostics) -> Controls | None:
        """Return what keeps control tokens from coming out of items; `None` where they are kept as they are."""
        if options.control_text == "keep":
            return None
        if not self._profile.control_tokens:
            message = f"control_text: escape changes nothing, since the profile {self._profile.name} names no control_tokens"
            diagnostics.add("PF106", f"{message}; choose the profile of the LLM's family")
            return None
        return controls_of(self._profile.control_tokens)


def _framing(look: Look, options: Options, diagnostics: Diagnostics) -> str:
    """Return how contents are framed; a framing that does not go with the format is said, and its own is used."""
    framing, problem = framing_of(options.framing, look.syntax, options.format)
    if problem:  # a profile may well ask for tags wherever these can stand: any other was meant for another format
        severity: Severity = "info" if options.framing == TAGGED else "warning"
        diagnostics.add("PF107", f"{problem}; {framing} was used", severity=severity)
    return framing


def _say_unkept(error: UnkeptError, diagnostics: Diagnostics) -> None:
    held = quote(str(error), 60)
    message = (
        f"framing: tagged gave way to the format's own: the page holds {held} outside of a content"
    )
    diagnostics.add("PF306", message)


def _texts(
    look: Look,
    settings: LayoutSettings,
    options: Options,
    items: Iterable[Item],
    beside: Sequence[str] = (),
) -> Iterator[str]:
    """Yield every text that may come to stand on the page, or beside it."""
    for item in items:
        yield from texts_of(item)
    own = (
        options.query,
        options.header,
        options.footer,
        options.separator,
        options.marker,
        options.fence_language,
    )
    yield from filter(None, own)
    yield from (look.sources(), settings.separator or "", *settings.titles.values(), *beside)


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


def _first_fitting(
    pages: Iterable[Page], options: Options, diagnostics: Diagnostics
) -> tuple[Page, Fit]:
    """Pack the first of `pages`; with `explicit_first` the next one where nothing the user named fits."""
    previous = None
    for page in pages:
        if previous is None or len(page.entries) > len(previous[0].entries):
            previous = page, _fit(page, options, _limit(options), diagnostics)
        if previous[1].chosen or options.combine != "explicit_first":
            break
    assert previous is not None
    return previous


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
