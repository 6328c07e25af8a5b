"""The stages in order: candidates, page, plan, what fits, the account of it.

What is made of diagnostics in the end: all go to the log, and in a strict run the grave ones are an error.

A provider's own count, asked for finished texts only; everything on the way there is priced by an estimate.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import msgspec

from ..config.layouts import LayoutSettings
from ..config.options import Options
from ..config.profiles import Profile
from ..errors import (
    BudgetError,
    Diagnostic,
    Diagnostics,
    Severity,
    StrictError,
    TemplateError,
    quote,
)
from ..model import Item, Result, item_texts
from ..packing.pack import Packed, pack
from ..packing.types import UNLIMITED, Cost, over_budget_error
from ..selection.filter import Candidates, combine, select
from ..selection.query import Embed
from ..templating.limits import START_FUEL
from ..templating.loader import Layout, Templates
from ..text.control_tokens import ControlTokens, control_tokens_of
from ..text.delimiters import TAGGED, BrokenDelimiterError, choose_framing, pick_nonce
from ..tokenizers.base import Counter, CustomCounter, RecentCache, Tokenizer
from ..tokenizers.estimates import ScaledCounter
from ..tokenizers.registry import get_tokenizer
from .context import LanguageTags, Setting, ViewMemory
from .page import Page
from .plan import plan_packing
from .report import Report, say_of_report

_LOG = logging.getLogger("promptforge")

_LOG.addHandler(logging.NullHandler())

_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

SHIPPED_TEMPLATES_USED = "; the shipped templates were used instead"
"""How the message ends that says that a template of the user's failed."""


def shipped_templates_used(error: TemplateError) -> Diagnostic:
    """Return what there is to say where the shipped templates stand in for the user's."""
    return Diagnostic("PF401", "error", f"{error}{SHIPPED_TEMPLATES_USED}", None, error.where)


def log_diagnostics(result: object, warnings: Sequence[Diagnostic], strict: bool) -> None:
    """Hand `warnings` to the logger `promptforge`, which writes nothing until the application says where.

    In a strict run raises `StrictError`, which carries `result`, where one is more than an info.
    """
    for d in warnings:
        _LOG.log(_LEVELS[d.severity], "%s", d)
    grave = [d for d in warnings if d.severity != "info"]
    if strict and grave:
        more = f" (and {len(grave) - 1} more)" if len(grave) > 1 else ""
        raise StrictError(f"{grave[0]}{more}", diagnostics=tuple(grave), result=result)


MAX_PROVIDER_CALLS = 4
"""How often the provider is asked for one rendering, at most."""

FULL_SHARE = Fraction(98, 100)
"""Share of the budget from which on a text is not made again to fill it better."""

RATIO_MARGIN = Fraction(1, 100)
"""What is added to a ratio that was seen, once more with each try: the next text is not quite the same."""

MAX_CHARACTERS_REMEMBERED = 1 << 22
"""Characters of text whose counts are remembered."""


class RemoteTokenizer(Counter):
    """A tokenizer that only its provider has: give it as `tokenizer` to a `Renderer` or to `render`.

    `count` takes a text and returns its tokens, by asking the provider: it is called for the finished text of a
    rendering, at most `calls` times, and never for a text that it was called for lately, nor for an empty one. Items
    are priced by `estimate`, a name or object as `tokenizer` takes them. Where the provider finds the text too long, or
    much shorter than the budget, it is made again with the ratio seen. So `Result.tokens` is the provider's figure,
    and never above `max_tokens`; tokens of items and `fits_at` are estimates, and a diagnostic says so. What is learnt
    is forgotten with the rendering: the same items give the same text, whatever was rendered before. Of a whole prompt
    `count` is asked about all its texts together, at most three times.

    `exact`: whether the provider vouches for its count. Errors of `count` come out as `TokenizerError`.
    """

    def __init__(
        self,
        name: str,
        count: Callable[[str], int],
        *,
        estimate: str | Tokenizer = "o200k_base",
        calls: int = MAX_PROVIDER_CALLS,
        exact: bool = True,
    ) -> None:
        super().__init__(name, exact=exact, fingerprint="custom")
        self._ask = CustomCounter(cast(Tokenizer, SimpleNamespace(name=name, count=count)))
        self.estimate = get_tokenizer(estimate)
        """What prices all that is not finished."""
        self._calls = max(1, calls)
        self._counts: RecentCache[int] = RecentCache(MAX_CHARACTERS_REMEMBERED)

    def count(self, text: str) -> int:
        """Return the provider's count; 0 for "", which providers refuse to count."""
        if not text:
            return 0
        tokens = self._counts.get(text)
        if tokens is None:
            tokens = self._ask.count(text)
            self._counts.put(text, tokens)
        return tokens

    def settle(self, make: Callable[[Counter], Result]) -> Result:
        """Return the fullest result of `make` (tokenizer → result) whose text the provider finds within its budget.

        Raises `BudgetError` where what is required fits by no ratio that was tried.
        """
        factor, low, high = (
            Fraction(1),
            Fraction(0),
            Fraction(0),
        )  # above `low`: too long at it; `high`: fits at it
        best: tuple[Result, int] | None = None
        lacking: BudgetError | None = None
        asked: set[str] = (
            set()
        )  # what is remembered from before counts too: it must not change what comes out
        for tries in range(1, self._calls + 3):
            try:
                made = make(_Priced(self, self.estimate, factor))
            except BudgetError as error:  # perhaps only the estimate is too high
                lacking, high = error, factor
                factor = _between(low, high, factor / 2)
                continue
            if made.text and made.text not in asked and len(asked) == self._calls:
                break
            asked |= {made.text} - {""}
            true, own, budget = (
                self.count(made.text),
                self.estimate.count(made.text),
                made.max_tokens,
            )
            fits = budget is None or true <= budget
            if fits and (best is None or true > best[1]):
                best = (made, true)
            if budget is None or (fits and (not made.truncated or true >= budget * FULL_SHARE)):
                break
            low, high = (low, factor) if fits else (factor, high)
            ratio = Fraction(true, own) * (1 + RATIO_MARGIN * tries) if own else factor * 2
            wanted = _between(low, high, ratio)
            if wanted == factor:
                break
            factor = wanted
        if best is not None:
            return self._noted(*best, len(asked))
        if lacking is not None:
            raise lacking
        # Too long each time: what is sure to fit is nothing.
        made = make(_Priced(self, self.estimate, Fraction(10**9)))
        true = self.count(made.text)
        if true > (budget := made.max_tokens or 0):
            raise BudgetError(
                f"{self.name} counts {true:,} tokens in the shortest text",
                needed=true,
                largest=budget,
            )
        return self._noted(made, true, len(asked))

    def _noted(self, made: Result, tokens: int, texts: int) -> Result:
        tried = "" if texts < 2 else f", the best of {texts} tried"
        message = (
            f"the text was counted by {self.name}{tried}; tokens of items and fits_at are estimates"
        )
        return made.recounted(tokens, Diagnostic("PF503", "info", message))


def _between(low: Fraction, high: Fraction, wanted: Fraction) -> Fraction:
    """Return `wanted`, or what is in the middle where it lies outside; a `high` of 0 is none."""
    wanted = wanted.limit_denominator(10_000)
    if wanted > low and (not high or wanted < high):
        return wanted
    return (low + high) / 2 if high else low * 2


class _Priced(ScaledCounter):
    """The estimate, under the name of what it stands for."""

    def __init__(self, remote: RemoteTokenizer, estimate: Counter, factor: Fraction) -> None:
        super().__init__(remote.name, estimate, factor)
        self.exact = remote.exact


TEMPLATE_OPTIONS = ("headers", "line_numbers", "scores", "code", "sources", "header", "footer")
"""Options that only templates give an effect."""

_PLAIN = Options()


class Request(NamedTuple):
    """What is to be rendered, and how."""

    templates: Templates
    settings: LayoutSettings
    options: Options
    items: list[Item]
    started: float
    """When it began, by `time.perf_counter`."""
    beside: Sequence[str] = ()
    """Texts that will stand beside the result's."""

    def by(self, **changes: Any) -> Request:
        """Return the same by other options."""
        return self._replace(options=msgspec.structs.replace(self.options, **changes))


class Pipeline:
    """The way from items to a result, for one profile; remembers the forms that items took. Used from any thread."""

    def __init__(self, profile: Profile, embed: Embed | None) -> None:
        self._profile = profile
        self._embed = embed
        self._views: ViewMemory = {}
        self._tagger = LanguageTags(profile.language_tags)
        self._language = self._tagger.tags(_PLAIN, LayoutSettings())
        """Tells what an item's language is, whatever is printed for it."""

    def make(self, asked: Request, diagnostics: Diagnostics) -> Result:
        """Return the result of what is asked for.

        Raises `BudgetError` when a required item does not fit, `TemplateError` when a template cannot be used.
        """
        if asked.options.framing == TAGGED:
            try:
                return self._make(asked, diagnostics.copy())
            except BrokenDelimiterError as error:
                _say_unkept(error, diagnostics)
                asked = asked.by(framing="auto")
        return self._make(asked, diagnostics)

    def _make(self, asked: Request, diagnostics: Diagnostics) -> Result:
        templates, settings, options, items, _, beside = asked
        counter = get_tokenizer(options.tokenizer)
        if isinstance(counter, RemoteTokenizer):
            return counter.settle(
                lambda estimate: self.make(asked.by(tokenizer=estimate), diagnostics.copy())
            )
        look = templates.layout(options.layout, options.format)
        for name in TEMPLATE_OPTIONS:
            if getattr(options, name) != getattr(_PLAIN, name) and not look.uses(name):
                message = (
                    f"{name} changes nothing in the layout {options.layout} as {options.format}"
                )
                diagnostics.add("PF105", message, severity="info")
        framing = _framing(look, options, diagnostics)
        controls = self.controls(options, diagnostics)
        options = _ceiling(options, diagnostics)
        limit = _limit(options)
        every = select(items, options, self._language, diagnostics, self._embed)
        named = combine(every, options)
        word = (
            pick_nonce(_texts(look, settings, options, every.pool, beside))
            if framing == TAGGED
            else None
        )

        tag = self._tagger.tags(options, settings)
        setting = Setting(look, options, counter, tag, self._language, self._views, controls, word)
        untouched = list(every.pool)  # noting duplicates changes items of the pool
        trial_pages: dict[int, Page] = {}

        def refit(max_tokens: int) -> tuple[Page, Packed]:
            """Pack the same candidates into another budget; costs are remembered from one budget to the next."""
            if not trial_pages:
                for these in (every, named):
                    these = Candidates(
                        untouched, these.ranks, these.kept, these.dropped, these.asked
                    )
                    trial_pages[len(these)] = Page(these, setting)
            changed = msgspec.structs.replace(options, max_tokens=max_tokens)
            changed = _ceiling(changed, Diagnostics())
            pages = [trial_pages[n] for n in dict.fromkeys((len(named), len(every)))]
            for trial_page in pages:
                trial_page.tank.left, trial_page.tank.spent = START_FUEL, None
            return _first_fitting(pages, changed, Diagnostics())

        pages = (Page(these, setting) for these in (named, every))
        page, found = _first_fitting(pages, options, diagnostics)
        candidates = page.entries
        if found.duplicates:
            found = page.note_twins(found, limit)
        left_out = sum(reason == "combine" for reason in candidates.dropped.values())
        if left_out:
            diagnostics.add(
                "PF113",
                f"{left_out} found items were left out by combine: {options.combine}; combined shows both kinds",
                severity="info",
            )
        if not found.overhead_fits:
            if options.on_error == "raise":
                raise over_budget_error(
                    "the template's own text needs", found.cost, limit, "raise it"
                )
            message = "the budget cannot hold even the template's own text, so the text is empty"
            diagnostics.add("PF110", message)

        def rerender(changes: Mapping[str, Any]) -> Result:
            again = asked.by(**changes)._replace(started=time.perf_counter())
            return self.make(again, Diagnostics())

        parts = page.parts(found.chosen) if found.overhead_fits else []
        text = "".join(parts)
        tokens = int(found.cost[0])
        if options.max_tokens is None or not parts:
            tokens = counter.count(text)
        report = Report(page, found, items, self._profile, templates, text, tokens, rerender, refit)
        say_of_report(report, diagnostics)
        return Result(report, tuple(diagnostics), time.perf_counter() - asked.started)

    def alone(self, asked: Request, diagnostics: Diagnostics) -> str:
        """Return the text of the only item that is asked for, without a page around it, in its longest form."""
        templates, settings, options, (item,), *_ = asked
        look = templates.layout(options.layout, options.format)
        word = None
        if _framing(look, options, diagnostics) == TAGGED:
            word = pick_nonce(_texts(look, settings, options, [item]))
        alone, tag = Candidates([item], [item.score], [0], {}), self._tagger.tags(options, settings)
        counter, controls = get_tokenizer(options.tokenizer), self.controls(options, diagnostics)
        setting = Setting(look, options, counter, tag, self._language, {}, controls, word)
        page = Page(alone, setting)
        try:
            return page.alone(0)
        except BrokenDelimiterError as error:
            _say_unkept(error, diagnostics)
            return self.alone(asked.by(framing="auto"), diagnostics)

    def controls(self, options: Options, diagnostics: Diagnostics) -> ControlTokens | None:
        """Return what keeps control tokens from coming out of items; `None` where they are kept as they are."""
        if options.control_text == "keep":
            return None
        if not self._profile.control_tokens:
            message = f"control_text: escape changes nothing, since the profile {self._profile.name} names no control_tokens"
            diagnostics.add("PF106", f"{message}; choose the profile of the LLM's family")
            return None
        return control_tokens_of(self._profile.control_tokens)


def _framing(look: Layout, options: Options, diagnostics: Diagnostics) -> str:
    """Return how contents are framed; a framing that does not go with the format is said, and its own is used."""
    framing, problem = choose_framing(options.framing, look.syntax, options.format)
    if problem:  # a profile may well ask for tags wherever these can stand: any other was meant for another format
        severity: Severity = "info" if options.framing == TAGGED else "warning"
        diagnostics.add("PF107", f"{problem}; {framing} was used", severity=severity)
    return framing


def _say_unkept(error: BrokenDelimiterError, diagnostics: Diagnostics) -> None:
    held = quote(str(error), 60)
    message = (
        f"framing: tagged gave way to the format's own: the page holds {held} outside of a content"
    )
    diagnostics.add("PF306", message)


def _texts(
    look: Layout,
    settings: LayoutSettings,
    options: Options,
    items: Iterable[Item],
    beside: Sequence[str] = (),
) -> Iterator[str]:
    """Yield every text that may come to stand on the page, or beside it."""
    for item in items:
        yield from item_texts(item)
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
) -> tuple[Page, Packed]:
    """Pack the first of `pages`; with `explicit_first` the next one where nothing the user named fits."""
    previous = None
    for page in pages:
        if previous is None or len(page.entries) > len(previous[0].entries):
            previous = page, _fit(page, options, _limit(options), diagnostics)
        if previous[1].chosen or options.combine != "explicit_first":
            break
    assert previous is not None
    return previous


def _fit(page: Page, options: Options, limit: Cost, diagnostics: Diagnostics) -> Packed:
    plan = plan_packing(page, options, limit, diagnostics)
    return pack(
        plan.parts,
        page,
        limit,
        packing=options.packing,
        trim=options.trim != "none",
        stubs=options.stubs,
        section_limits=plan.section_limits,
        passages=page.extractor(),
    )
