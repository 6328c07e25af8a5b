"""The public renderer: contexts, and whole prompts around them as a provider's call takes them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import msgspec

from ..config.options import PROMPT_PARTS, Options
from ..config.profiles import profile_or_model
from ..errors import Diagnostic, Diagnostics, OptionError, TemplateError, quote, type_name_of
from ..files import Folders, TemplateSources
from ..model import Item, Result
from ..rendering.loops import in_thread
from ..rendering.pipeline import log_diagnostics, shipped_templates_used
from ..rendering.renderer import ContextRenderer, TemplateSet
from ..rendering.report import manifest_of
from ..selection.scoring import AnyEmbed
from ..templating.loader import Templates
from ..text.control_tokens import ControlTokens
from ..text.format import plural
from ..text.words import late_property
from ..tokenizers.counters import Counter
from ..tokenizers.registry import get_tokenizer
from ..tokenizers.remote import RemoteTokenizer
from .compose import ComposedPrompt, Composer, PromptTemplates, show_context
from .events import OnPrompt, PromptEvent, make_event, report_prompt, require_functions
from .finished import Prompt, PromptHistory, PromptPart, find_late, join_repeated
from .histories import read_messages
from .ladder import HistoryFitter, say_changes
from .messages import (
    Message,
    RestoringTokens,
    TextBlock,
    ToolCall,
    break_up_controls,
    join_messages,
    keep_for,
    pair_calls,
    replace_surrogates,
)
from .parts import CONTEXT_ALONE, OwnPart, order_with, print_parts, read_parts, require_parts
from .prefix import RecentPrompts, describe_prefix, sent_blocks
from .providers import (
    FAMILIES,
    GEMINI_STAND_IN,
    OTHER_FAMILY,
    SHAPES,
    SYSTEM_ROLES,
    FamilyRules,
    ProviderShape,
    ShapeName,
    change_blocks,
    check_shape,
    stand_ins,
    with_short_id,
)
from .remembered import HistoryMemory
from .tools import ToolSet, read_tools, write_tools
from .window import FittedPrompt, Verify, WindowFitter, count_by_verify, fit_by_count

if TYPE_CHECKING:
    from ..config.keywords import OptionKeywords

# Cited items are sent one by one, so nothing may be printed around an item.
_CITED = {
    "layout": "cited",
    "format": "plain",
    "framing": "auto",
    "separator": "\n\n",
    "header": None,
    "footer": None,
    "sources": False,
}

# Window, reserve and strictness are those of the whole prompt, not of its context.
_WHOLE: dict[str, Any] = dict.fromkeys(("context_window", "reserve", "max_prompt_tokens"))
_WHOLE["strict"] = False


class Renderer(ContextRenderer):
    """Render contexts and whole prompts by one profile, one set of templates and options.

    `profile` is a name or a `.yaml` file; `model`, such as `"gpt-5-mini"`, is the id of an LLM, and
    chooses the profile for it (`Result.profile` says which). `templates` and `profiles` are folders
    that come before the shipped ones; `templates` may also be texts by name. `embed`, async or not,
    maps a list of texts to vectors: with a query it adds to the words, with `rerank: mmr` it finds
    texts that are alike. `options` are the words of a profile.

    Files are read once, when the renderer is made. With `follow_edits`, template files are read
    again when they change; a set that does not compile is not used (PF402). A profile may name a
    tokenizer's file in its own folder only, unless `allow_outside` is true. Threads may share a
    renderer; another process gets one by `pickle`, and compiles the templates anew.

    Raises `ProfileError`, `TemplateError`, `OptionError`.
    """

    def prompt(  # noqa: PLR0913  these are the parts and options of a prompt
        self,
        items: object = (),
        *,
        system: str | None = None,
        instructions: str | None = None,
        user: str | None = None,
        history: object = None,
        tools: Iterable[object] = (),
        parts: Mapping[str, object] | None = None,
        to: ShapeName = "text",
        verify: Verify | None = None,
        on_prompt: OnPrompt | None = None,
        profile: str | Path | None = None,
        model: str | None = None,
        templates: TemplateSources = None,
        profiles: Folders = None,
        embed: AnyEmbed | None = None,
        before: tuple[Diagnostic, ...] = (),
        **options: Unpack[OptionKeywords],
    ) -> Prompt:
        """Return the whole prompt in at most `context_window` less `reserve` tokens.

        Its parts are the `system` text, `instructions`, the context made of `items`, `history` and
        the question of the `user`, which is the `query` too, unless one is given (`query=None`: no
        query). `prompt_order` orders them. `max_prompt_tokens` may set less; `max_tokens` and
        `max_chars` limit the context; the default of `max_tokens` counts without a window alone.

        `history` is a list of messages of any provider or framework. When room is short, results of
        tools and pasted texts are shortened by the question of their own turn, the oldest first;
        then the oldest turns lose their steps, and go. Passages of them that answer the question
        stand before it. `to` is the shape that comes out:
        `text roles openai openai-responses anthropic gemini bedrock`.

        `parts` are texts or items by names of your own, such as `{"memory": …}`: each has a place
        in `prompt_order`, a budget in `part_budgets`, and a template of its name. `tools` are
        definitions of any provider, of MCP or of a framework: they are counted, and sent. `verify`
        takes the finished request and returns its true tokens: if these exceed the window, or fall
        short of it while something was left out, the prompt is fitted again, at most twice.
        `on_prompt` takes an event with the numbers of the prompt, which are logged too
        (`extra["promptforge"]`).

        Raises `BudgetError` if the required parts do not fit, `ItemError` for a history that is no
        list of messages, `OptionError` for an unknown option or shape, and `TemplateError` for a
        template that cannot be used.
        """
        texts: dict[str, Any] = {"system": system, "instructions": instructions, "user": user}
        profile = profile_or_model(profile, model)
        other = self._other(profile=profile, templates=templates, profiles=profiles, embed=embed)
        if other is not None:
            other._recent, other._histories = self._recent, self._histories
            given: dict[str, Any] = {"history": history, "tools": tools, "parts": parts, **texts}
            given |= {"to": to, "verify": verify, "on_prompt": on_prompt, "before": before}
            return other.prompt(items, **given, **options)
        check_shape(to)
        diagnostics = Diagnostics(before)
        asked = {**self._given, **options}
        current = self._current(diagnostics)
        chosen = self._settle(current, asked)
        own = require_parts(parts)
        require_functions(verify=verify, on_prompt=on_prompt)
        order = order_with(chosen.prompt_order, tuple(own))
        chosen = msgspec.structs.replace(chosen, prompt_order=order)
        loaded = self._load(items, diagnostics)
        read = self._read_parts(loaded, texts, own, history, chosen, SHAPES[to], diagnostics)
        set_ = {**self.profile.options, **asked}
        if read.query and "query" not in set_:
            asked["query"] = read.query
        # With a window, the default of max_tokens would be a limit that nobody asked for.
        capped = "max_tokens" in set_ or chosen.window_room is None
        rules = OTHER_FAMILY
        if to == "roles":
            rules = FAMILIES.get(self.profile.family, rules)
        maker = _PromptMaker(
            renderer=self,
            options=chosen,
            asked=asked,
            to=to,
            parts=read,
            verify=verify,
            cap=chosen.max_tokens if capped else None,
            rules=rules,
            tools=write_tools(to if rules.knows_tools else "text", read_tools(tools)),
        )
        prompt, event = maker.make_by(current, tuple(diagnostics))
        report_prompt(event, on_prompt)
        log_diagnostics(prompt, prompt.warnings, chosen.strict)
        return prompt

    @late_property
    def _recent(self) -> RecentPrompts:
        return RecentPrompts()

    @late_property
    def _histories(self) -> HistoryMemory:
        return HistoryMemory()

    @in_thread(prompt)
    def aprompt(self) -> None:
        """Return the prompt as `prompt` does, in a thread; the event loop goes on meanwhile.

        An async `embed` runs on the loop; `verify` is called in the thread.

        Example: `prompt = await renderer.aprompt(items, user="Is it safe?", to="openai")`.
        """

    def _read_parts(
        self,
        items: list[Item],
        given: Mapping[str, str | None],
        named: Mapping[str, object],
        history: object,
        options: Options,
        shape: ProviderShape,
        diagnostics: Diagnostics,
    ) -> _PromptParts:
        """Read texts and history, and break up control tokens in the history and the question."""
        texts = {name: _text(text, name, diagnostics) for name, text in given.items()}
        query = texts["question"] = texts.pop("user")
        order = options.prompt_order
        later = order[order.index("history") + 1 :] if "history" in order else ()
        controls = self._pipeline.controls(options, diagnostics)
        own = read_parts(named, self._load, controls, diagnostics)
        every: dict[str, Any] = {**texts, **own, "context": items}
        # The system text goes before all messages, wherever it stands.
        closed = any(every.get(name) for name in later if name != "system")
        memory = self._histories
        head, messages = _read_messages(history, shape, texts, diagnostics, closed, memory)
        rules = FAMILIES.get(self.profile.family, OTHER_FAMILY)
        if rules.short_ids and shape.family in ("", "openai"):
            messages = change_blocks(messages, with_short_id)
        if shape.mend is not None:
            messages = change_blocks(messages, shape.mend)
        if controls is not None:
            question = texts["question"]
            texts["question"], messages = _break_up(question, messages, controls, diagnostics)
        every |= {**texts, "history": messages}
        for name in PROMPT_PARTS:
            if every[name] and name not in order:
                message = f"prompt_order has no place for the {name}, so it was left out"
                diagnostics.add("PF117", message)
        return _PromptParts(
            texts=texts,
            query=query,
            items=items if "context" in order else [],
            history=messages if "history" in order else [],
            controls=controls,
            head=head,
            own=own,
        )


Made = tuple[Prompt, Callable[[], PromptEvent]]


class _PromptParts(NamedTuple):
    texts: Mapping[str, str]
    """System, instructions and question."""
    query: str
    """The question as it was asked: it is compared with items that keep their control tokens."""
    items: Sequence[Item]
    history: Sequence[Message]
    controls: ControlTokens | None
    head: Sequence[Message]
    """The system messages at the beginning of the history, if they are the system text."""
    own: Mapping[str, OwnPart]
    """Parts that the caller names."""


@dataclass(frozen=True, kw_only=True)
class _PromptMaker:
    renderer: Renderer
    options: Options
    asked: Mapping[str, Any]
    """The options as given, for the rendering of the context."""
    to: ShapeName
    parts: _PromptParts
    verify: Verify | None
    cap: int | None
    """Tokens of the context at most."""
    rules: FamilyRules
    tools: ToolSet

    @property
    def shape(self) -> ProviderShape:
        return SHAPES[self.to]

    @property
    def folds_system(self) -> bool:
        """True if a system message may not stand within a conversation."""
        if self.options.system_role == "user":
            return True
        # Mistral's servers refuse one behind an answer; other shapes have it before all messages.
        rules = FAMILIES.get(self.renderer.profile.family, OTHER_FAMILY)
        return rules.alternates and self.shape.family == "openai"

    @property
    def window(self) -> int | None:
        room = self.options.window_room
        return None if room is None else max(0, room)

    @property
    def cites(self) -> bool:
        """True if items go as blocks that answers can point at."""
        return self.options.cite and self.shape.cites

    def make_request(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Return the keywords of the provider's call."""
        return self.tools.add_to(self.shape.make(messages))

    def make_by(self, current: TemplateSet, said: tuple[Diagnostic, ...]) -> Made:
        """Return the prompt by a user's templates, or by the shipped ones if those fail."""
        try:
            return self.make(current, said)
        except TemplateError as error:
            shipped = Templates()
            known = self.options.prompt.removeprefix("shipped/") in shipped.prompts()
            if not current.templates.own or not known:
                raise
            return self.make(TemplateSet(shipped), (*said, shipped_templates_used(error)))

    def make(self, current: TemplateSet, said: tuple[Diagnostic, ...]) -> Made:
        """Return the prompt as these templates print it."""
        counter: Counter = get_tokenizer(self.options.tokenizer)
        # A provider's own count is asked for finished prompts alone; parts are fitted by estimate.
        estimate = counter.estimate if isinstance(counter, RemoteTokenizer) else counter
        citation = self.options.citation if self.options.cite and not self.cites else None
        render_part = functools.partial(self._render_part, estimate, current)
        own = print_parts(self.parts.own, self.options, estimate, self.window, render_part)
        composer = Composer(
            self._templates(current),
            self.options,
            estimate,
            {**self.parts.texts, **own.texts},
            self.shape,
            citation,
            self.folds_system,
            self.rules,
            self.tools.texts,
        )
        render = None
        if self.parts.items:
            render = functools.partial(self._render, estimate, current, composer.texts)
        fitter = WindowFitter(
            composer,
            HistoryFitter(self.parts.history, composer),
            render,
            functools.partial(show_context, cited=self.cites, controls=self.parts.controls),
            self.cap,
            current,
        )
        fitted, counted = self._fit(fitter, counter)
        if not fitted.composed.parts:
            reasons = [str(each) for each in said if each.code == "PF117"]  # given, but not placed
            if not reasons:
                reasons = ["give items, or system, instructions, history or user"]
                reasons += [str(each) for each in said if each.code == "PF208"][:1]
            raise OptionError(f"there is nothing to make a prompt of: {'; '.join(reasons)}")
        said = (*said, *own.warnings)
        return self._finish(fitter, fitted, counter, counted, current, own.numbers, said)

    def _templates(self, current: TemplateSet) -> PromptTemplates:
        made_for = self.options.prompt, self.options.format, self.parts.controls
        found: PromptTemplates | None = current.prompt_templates.get(made_for)
        if found is None:
            found = current.prompt_templates[made_for] = PromptTemplates(
                current.templates, *made_for
            )
        return found

    def _render_part(
        self, counter: Counter, current: TemplateSet, items: list[Item], limit: int | None
    ) -> Result:
        asked = {**self.asked, **CONTEXT_ALONE, "max_tokens": limit, "tokenizer": counter}
        beside = list(self.parts.texts.values())
        return self.renderer._render(items, (), {**asked, **_WHOLE}, current, beside)[0]

    def _render(
        self,
        counter: Counter,
        current: TemplateSet,
        texts: Mapping[str, str],
        limit: int | None,
    ) -> Result:
        asked = {**self.asked, **_WHOLE, **(_CITED if self.cites else {})}
        asked |= {"max_tokens": limit, "tokenizer": counter}
        # The nonce of tagged contents must be absent from the prompt's other texts too.
        beside = [*texts.values()]
        beside += (text for message in self.parts.history for text in message.texts)
        return self.renderer._render(self.parts.items, (), asked, current, beside, self.cites)[0]

    def _fit(self, fitter: WindowFitter, counter: Counter) -> tuple[FittedPrompt, int | None]:
        if self.verify is not None:
            count = functools.partial(count_by_verify, self.verify, self.make_request)
            return fit_by_count(fitter, self.window, count, "verify")
        if isinstance(counter, RemoteTokenizer):
            recount = functools.partial(fitter.composer.recount, counter=counter)
            return fit_by_count(fitter, self.window, recount, counter.name)
        return fitter.fit(self.window), None

    def _finish(
        self,
        fitter: WindowFitter,
        fitted: FittedPrompt,
        counter: Counter,
        counted: int | None,
        current: TemplateSet,
        numbers: Mapping[str, tuple[int, int]],
        said: Sequence[Diagnostic],
    ) -> Made:
        """Return the prompt with its warnings; parts and manifest are found when asked for."""
        composed, result = fitted.composed, fitted.result
        gone = fitted.history.turns_gone
        history = PromptHistory(kept=len(fitter.history.turns) - gone, dropped=gone)
        # The LLM sees calls, outputs and cited items in a form that only the provider knows.
        blocks = [block for message in composed.messages for block in message.blocks]
        plain = all(isinstance(block, TextBlock) and block.original is None for block in blocks)
        plain = plain and not self.tools.texts
        request = self.make_request(composed.messages)
        diagnostics = self._report(fitted, history)
        _report_stand_ins(request, diagnostics)
        if self.verify is None:
            hidden = sum(map(fitter.composer.hidden_tokens, composed.messages))
            _report_count(counter, counted, hidden, diagnostics)
        _report_unprinted(fitter.composer, composed, diagnostics)
        warnings: Sequence[Diagnostic] = ()
        if result is not None:
            warnings = result.warnings
            if result.max_tokens != fitter.cap:  # the room that the window left
                way = "a larger max_tokens has", f"{self.options.raise_window} to have"
                warnings = [
                    replace(each, message=each.message.replace(*way))
                    if each.code == "PF114"
                    else each
                    for each in warnings
                ]
        if self.cites:  # each item is a block of its own, and no text of them all is sent
            warnings = [each for each in warnings if each.code != "PF712"]
        text = composed.text
        if text is None:
            text = "\n\n".join(part.text for part in composed.parts)
        sent = sent_blocks(composed, self.shape, fitter.composer)
        prompt = Prompt(
            to=self.to,
            request=request,
            text=text,
            tokens=composed.tokens if counted is None else counted,
            window=self.window,
            exact=self.verify is not None or (counter.exact and plain),
            parts=find_late(lambda: tuple(self._parts(fitter.composer, fitted, history, numbers))),
            context=result,
            history=history,
            warnings=join_repeated((*said, *warnings, *diagnostics)),
            manifest=find_late(lambda: self._manifest(current, fitter.composer, fitted, counter)),
            prefix=self.renderer._recent.compare(tuple(sent)),
            stored=find_late(lambda: self._stored(composed)),
        )
        profile = self.renderer.profile.name
        return prompt, functools.partial(make_event, prompt, profile, fitted.history)

    def _parts(
        self,
        composer: Composer,
        fitted: FittedPrompt,
        history: PromptHistory,
        of_own: Mapping[str, tuple[int, int]],
    ) -> Iterator[PromptPart]:
        kept, dropped = len(self.tools.texts), len(self.tools.lost)
        if kept or dropped:
            tokens = composer.tools_cost
            yield PromptPart(name="tools", role="", tokens=tokens, kept=kept, dropped=dropped)
        numbers = {**of_own, "history": (history.kept, history.dropped)}
        if fitted.result is not None:
            numbers["context"] = fitted.result.items_included, fitted.result.items_dropped
        for part in fitted.composed.parts:
            kept, dropped = numbers.get(part.name, (1, 0))
            tokens = composer.count_part(part)
            yield PromptPart(
                name=part.name, role=part.role, tokens=tokens, kept=kept, dropped=dropped
            )

    def _stored(self, composed: ComposedPrompt) -> list[Message]:
        """Return the history as it was given, and what stands behind it as it is sent."""
        before = ("system",) if self.shape.system_first else ()
        parts = (part for part in composed.parts if part.later and part.name not in before)
        later = [message for part in parts for message in part.messages]
        question = self.parts.texts["question"]
        if self.to == "text" and question:
            later = [Message("user", (TextBlock(question),))]
        messages: Sequence[Message] = [*self.parts.history, *later]
        if self.parts.controls is not None:  # the next call breaks up the same tokens again
            messages, _ = break_up_controls(messages, RestoringTokens(self.parts.controls))
        return join_messages([*self.parts.head, *messages])

    def _manifest(
        self, current: TemplateSet, composer: Composer, fitted: FittedPrompt, counter: Counter
    ) -> dict[str, Any]:
        made_of = manifest_of(self.renderer.profile, current.templates, composer.files, counter)
        context = fitted.result.manifest if fitted.result is not None else {}
        options = self.options.plain(counter.name)
        # The context may have taken the question for its query.
        options["query"] = context.get("options", {}).get("query", self.options.query)
        return {
            **made_of,
            "to": self.to,
            "options": msgspec.to_builtins(options),
            "templates": {**context.get("templates", {}), **made_of["templates"]},
            "items": context.get("items", []),
            "prefix": describe_prefix(fitted.composed, self.options.cache_after or ()),
        }

    def _report(self, fitted: FittedPrompt, history: PromptHistory) -> Diagnostics:
        composed = fitted.composed
        diagnostics = Diagnostics()
        if history.dropped:
            were = "was" if history.dropped == 1 else "were"
            message = (
                f"{history.dropped} of {history.kept + history.dropped} turns of the history {were}"
                " left out, the oldest, to keep the window"
            )
            diagnostics.add("PF116", message, severity="info")
        if composed.boundary:
            message = (
                "a part holds a tag or line of the templates, so the templates' own carry"
                f" {composed.boundary}"
            )
            diagnostics.add("PF710", message, severity="warning" if composed.imitated else "info")
        for note in self._shape_notes(composed):
            diagnostics.add("PF118", note, severity="info")
        if self.options.cite and not self.shape.cites and not self.options.citation:
            message = f"cite changes nothing in the shape {self.to}: the profile"
            message += f" {self.renderer.profile.name} has no words for it; give them as"
            how = "by name, as [a.md]"
            if self.options.layout == "documents":  # the shipped layout with numbers
                how = "by number, as [1]"
            diagnostics.add("PF118", f'{message} citation: "Cite documents {how}."')
        if self.tools.lost:
            names = ", ".join(map(quote, self.tools.lost))
            message = f"the shape {self.to} cannot carry these tools: {names}"
            diagnostics.add("PF118", message)
        calls = (isinstance(b, ToolCall) for m in composed.messages for b in m.blocks)
        if self.to == "bedrock" and not self.tools.request and any(calls):
            message = (
                "Converse refuses a history with calls of tools in a request without toolConfig:"
                " give their definitions, tools=[…]"
            )
            diagnostics.add("PF118", message)
        for message in say_changes(fitted.history):
            diagnostics.add("PF116", message, severity="info")
        return diagnostics

    def _shape_notes(self, composed: ComposedPrompt) -> list[str]:
        shape, options = self.shape, self.options
        notes = []
        if options.cache_after and not shape.caches:
            notes.append(f"cache_after changes nothing in the shape {self.to}")
        systems = [message.role in SYSTEM_ROLES for message in composed.messages]
        if shape.system_first and systems != sorted(systems, reverse=True):
            notes.append(
                f"the shape {self.to} has the system text before all messages,"
                " so it was moved there"
            )
        if composed.folded:
            one, many = "system message of the history was", "system messages of the history were"
            notes.append(
                f"{plural(composed.folded, one, many)} made part of the user's: the profile"
                f" {self.renderer.profile.name} takes none within a conversation"
            )
        for role, text in dict.fromkeys((each.role, each.text) for each in composed.fillers):
            note = f"user and assistant take turns, so {quote(text)} was put between"
            note += " results of tools and a question"
            if role == "user":
                note = f"the shape {self.to} begins with the user, so a message, {quote(text)},"
                note += " was put before the assistant's"
            notes.append(note)
        if (
            shape.user_first
            and composed.messages[-1:]
            and composed.messages[-1].role == "assistant"
        ):
            notes.append("the last message is the assistant's, which newer LLMs refuse: give user=")
        return notes


def _report_stand_ins(request: dict[str, Any], diagnostics: Diagnostics) -> None:
    unsigned = stand_ins(request)
    if unsigned:
        message = (
            f"calls without a signature of Gemini, in {plural(unsigned, 'answer', 'answers')}"
            f" of the newest turn, carry {GEMINI_STAND_IN} in its place: Gemini 3 refuses them"
            " without, and may answer less well than after calls of its own"
        )
        diagnostics.add("PF208", message, where="history", severity="info")


def _report_count(
    counter: Counter, counted: int | None, hidden: int, diagnostics: Diagnostics
) -> None:
    """Report what of the count is an estimate; `hidden` tokens are those of images and the like."""
    if counted is not None:
        message = (
            f"the prompt was counted by {counter.name}; tokens of parts and items, and"
            " fits_at, are estimates"
        )
        diagnostics.add("PF503", message, severity="info")
    elif not counter.exact:
        message = f"tokens are an estimate by {counter.name}"
        diagnostics.add("PF501", message, severity="info")
    if hidden:
        message = (
            "images, files and encrypted thoughts of the history are taken as"
            f" {plural(hidden, 'token', 'tokens')}, the most they are thought to cost;"
            " verify counts them"
        )
        diagnostics.add("PF504", message, severity="info")


def _report_unprinted(
    composer: Composer, composed: ComposedPrompt, diagnostics: Diagnostics
) -> None:
    names = [p.name for p in composed.parts if composer.one_text or p.name in composer.texts]
    for part, template in composer.templates.unprinted(names, one_text=composer.one_text):
        message = f"the template does not print the {part}, which was given"
        diagnostics.add("PF119", message, where=template)


def _text(value: object, name: str, diagnostics: Diagnostics) -> str:
    """Return a caller's text, empty if blank; raises `OptionError` if it is no text."""
    if value is None:
        return ""
    if not issubclass(type(value), str):  # an object may raise where it is asked for its class
        kind = type_name_of(value)
        raise OptionError(f"{name} takes text; got a value of type {kind}", option=name)
    plain = str.__str__(value)
    text = replace_surrogates(plain)
    if text != plain:
        diagnostics.add("PF302", "lone surrogates in it were replaced by U+FFFD", where=name)
    return text if text.strip() else ""


def _break_up(
    question: str, messages: list[Message], controls: ControlTokens, diagnostics: Diagnostics
) -> tuple[str, list[Message]]:
    question, in_question = controls.break_up(question)
    messages, in_history = break_up_controls(messages, controls)
    for where, count in (("user", in_question), ("history", in_history)):
        if count:
            diagnostics.add("PF704", f"control tokens broken up: {count}", where=where)
    return question, messages


def _read_messages(
    history: object,
    shape: ProviderShape,
    texts: dict[str, str],
    diagnostics: Diagnostics,
    closed: bool,
    memory: HistoryMemory,
) -> tuple[list[Message], list[Message]]:
    """Return the system text at the beginning, and the messages that the shape can carry.

    Leading system messages are the system text if none is given. `closed`: see `pair_calls`.
    """
    if history is None:
        return [], []

    def finish(found: list[Message], diagnostics: Diagnostics, first: int) -> list[Message]:
        paired = join_messages(pair_calls(found, "history", diagnostics, closed, first))
        return keep_for(shape.family, paired, diagnostics, shape.images)

    found = read_messages(history, "history", diagnostics, read=memory.read)
    about = shape.family, shape.images, closed
    messages = memory.finish(found, about, diagnostics, finish)
    first = list(itertools.takewhile(lambda message: message.role in SYSTEM_ROLES, messages))
    text = "\n\n".join(message.text for message in first if message.text)
    if text and not texts["system"]:
        texts["system"] = text
    elif text and text != texts["system"]:
        message = "the system message at its beginning was left out: system is given"
        diagnostics.add("PF208", message, where="history")
    head = first if text == texts["system"] else []
    return head, join_messages(messages[len(first) :])
