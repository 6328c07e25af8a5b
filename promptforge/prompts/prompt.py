"""The finished prompt: the keywords of a provider's call, and a report of the parts.

From a fitted prompt to the finished one: parts, warnings, manifest.

The public renderer: contexts, and whole prompts around them.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack, overload

import msgspec

from ..config.option_types import OptionKeywords
from ..config.options import PROMPT_PARTS, Options
from ..config.profiles import Profile
from ..errors import Diagnostic, Diagnostics, OptionError, TemplateError, quote, suggest_name
from ..files import Folders, TemplateSources
from ..model import Item, Result
from ..rendering.pipeline import RemoteTokenizer, log_diagnostics, shipped_templates_used
from ..rendering.renderer import ContextRenderer, TemplateSet, load_items
from ..rendering.report import manifest_of
from ..selection.query import Embed
from ..templating.loader import Templates
from ..text.control_tokens import ControlTokens
from ..tokenizers.base import Counter
from ..tokenizers.registry import get_tokenizer
from .compose import (
    ComposedPrompt,
    Composer,
    PrintedPart,
    PromptContext,
    PromptTemplates,
    break_up_controls,
    message_texts,
    show_context,
)
from .history import read_history
from .messages import Message, TextBlock, join_messages, replace_surrogates, split_turns
from .providers import SHAPES, SYSTEM_ROLES
from .window import FittedPrompt, Verify, WindowFitter, by_verify, fit_by_count


class PromptPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a prompt."""

    name: str
    """`system`, `instructions`, `context`, `history` or `question`."""
    role: str
    """The role of its message; empty for the history, since its messages have their own."""
    tokens: int
    """Tokens of its text alone."""
    kept: int
    """Items of the context or turns of the history in the prompt; 1 for any other part."""
    dropped: int
    """Items or turns left out."""


class PromptHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of turns of the history."""

    kept: int
    """Turns in the prompt, the newest."""
    dropped: int
    """Turns left out, the oldest."""


@dataclass(kw_only=True, eq=False, repr=False)
class Prompt(Sequence[dict[str, Any]]):
    """A whole prompt: a sequence of its messages, in the shape asked for.

    Send it with `client.messages.create(model=…, max_tokens=…, **prompt.request)`, or with the call
    of any other provider; `list(prompt)` are its messages alone.
    """

    to: str
    """The shape: `text roles openai openai-responses anthropic gemini`."""
    request: dict[str, Any]
    """The keywords of the provider's call that hold the prompt."""
    text: str
    """The whole as one text; in other shapes than `text`, the parts' texts with blank lines
    between.
    """
    tokens: int
    """Tokens of the window: texts and the LLM's own overhead, or the count of `verify`."""
    window: int | None
    """Tokens of room: `context_window` less `reserve`; `None` if not known."""
    exact: bool
    """False if the tokenizer is an estimate, or the provider adds text that is not seen here."""
    parts: tuple[PromptPart, ...]
    """The parts in the prompt's order."""
    context: Result | None
    """The result of the context; `None` if there is none."""
    history: PromptHistory
    warnings: tuple[Diagnostic, ...]
    """Diagnostics of the prompt and of its context."""
    manifest: dict[str, Any]
    """Versions and hashes of all inputs; `prefix` tells how far two prompts begin alike."""
    _messages: list[dict[str, Any]]

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """Return one message, or a slice of them."""
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._messages)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Prompt {self.tokens} tokens, {len(self)} messages, {self.to}>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "to": self.to,
            "request": self.request,
            "text": self.text,
            "tokens": self.tokens,
            "window": self.window,
            "exact": self.exact,
            "parts": msgspec.to_builtins(self.parts),
            "history": msgspec.to_builtins(self.history),
            "warnings": msgspec.to_builtins(self.warnings),
            "manifest": self.manifest,
            "context": self.context.to_dict() if self.context is not None else None,
        }


def format_prompt(prompt: Prompt) -> str:
    """Return the output of the command: the text of `to="text"`, else the request as JSON."""
    if prompt.to == "text":
        return prompt.text
    return json.dumps(prompt.request, ensure_ascii=False, indent=2) + "\n"


def finish_prompt(
    fitted: FittedPrompt,
    request: dict[str, Any],
    *,
    to: str,
    options: Options,
    profile: Profile,
    composer: Composer,
    templates: Templates,
    counter: Counter,
    turns: int,
    window: int | None,
    counted: int | None,
    verified: bool,
    said: Sequence[Diagnostic],
) -> Prompt:
    """Return the prompt. `turns` is the number of turns given, `said` earlier diagnostics.

    `counted` is the provider's count: of the whole request if `verified`, else of its texts.
    """
    composed, result = fitted.composed, fitted.result
    history = PromptHistory(kept=fitted.turns, dropped=turns - fitted.turns)
    diagnostics = _told(composed, history, to, options, profile)
    if counted is not None and not verified:
        message = (
            f"the prompt was counted by {counter.name}; tokens of parts and items, and fits_at,"
            " are estimates"
        )
        diagnostics.add("PF503", message, severity="info")
    elif not counter.exact and not verified:
        diagnostics.add("PF501", f"tokens are an estimate by {counter.name}", severity="info")
    for part, template in composer.lost(composed):
        message = f"the template does not print the {part}, which was given"
        diagnostics.add("PF119", message, where=template)
    warnings: Sequence[Diagnostic] = ()
    context: dict[str, Any] = {}
    if result is not None:
        warnings, context = result.warnings, result.manifest
    if composed.text is not None:
        text = composed.text
        messages = [{"role": "user", "content": text}]
    else:
        text = "\n\n".join(part.text for part in composed.parts)
        messages = request[SHAPES[to].messages]
    # Calls, outputs and citable blocks are shown to the LLM in a form that only the provider knows.
    plain = all(isinstance(block, TextBlock) for m in composed.messages for block in m.blocks)
    own = manifest_of(profile, templates, composer.files, counter)
    settings = msgspec.structs.asdict(options) | {"tokenizer": counter.name}
    settings["query"] = context.get("options", {}).get("query", options.query)
    return Prompt(
        to=to,
        request=request,
        _messages=messages,
        text=text,
        tokens=composed.tokens if counted is None else counted,
        window=window,
        exact=verified or (counter.exact and plain),
        parts=tuple(_part(part, fitted, history, composer) for part in composed.parts),
        context=result,
        history=history,
        warnings=tuple(dict.fromkeys((*said, *warnings, *diagnostics))),
        manifest={
            **own,
            "to": to,
            "options": msgspec.to_builtins(settings),
            "templates": {**context.get("templates", {}), **own["templates"]},
            "items": context.get("items", []),
            "prefix": _prefix(composed, options.cache_after or ()),
        },
    )


def _told(
    composed: ComposedPrompt, history: PromptHistory, to: str, options: Options, profile: Profile
) -> Diagnostics:
    """Report lost turns, imitated tags, and options that the shape cannot carry."""
    shape, diagnostics = SHAPES[to], Diagnostics()
    if history.dropped:
        turns = history.kept + history.dropped
        message = (
            f"{history.dropped} of {turns} turns of the history were left out, the oldest,"
            " to keep the window"
        )
        diagnostics.add("PF116", message, severity="info")
    if composed.boundary:
        message = (
            "a part holds a tag or line of the templates, so the templates' own carry"
            f" {composed.boundary}"
        )
        diagnostics.add("PF710", message)
    if options.cache_after and not shape.caches:
        diagnostics.add("PF118", f"cache_after changes nothing in the shape {to}", severity="info")
    roles = [message.role in SYSTEM_ROLES for message in composed.messages]
    if shape.apart and any(roles[roles.index(False) :] if False in roles else ()):
        message = f"the shape {to} has the system text before all messages, so it was moved there"
        diagnostics.add("PF118", message, severity="info")
    if options.cite and not shape.cites and not options.citation:
        message = (
            f"cite changes nothing in the shape {to}: the profile {profile.name} has no words"
            " for citation"
        )
        diagnostics.add("PF118", message, severity="info")
    return diagnostics


def _part(
    part: PrintedPart, fitted: FittedPrompt, history: PromptHistory, composer: Composer
) -> PromptPart:
    kept, dropped = 1, 0
    if part.name == "history":
        kept, dropped = history.kept, history.dropped
    elif part.name == "context" and fitted.result is not None:
        kept, dropped = fitted.result.items_included, fitted.result.items_dropped
    tokens = composer.count(part.text)
    return PromptPart(name=part.name, role=part.role, tokens=tokens, kept=kept, dropped=dropped)


def _prefix(composed: ComposedPrompt, stable: Sequence[str]) -> dict[str, Any]:
    """Hash each part as the request has it, and all parts up to the last stable one."""
    parts = composed.parts
    hashes = [_digest(_shown(part, composed.boundary)) for part in parts]
    # A part may come twice; the prefix ends at its first place.
    first = {part.name: n for n, part in reversed(list(enumerate(parts, 1)))}
    end = max((first[name] for name in stable if name in first), default=0)
    prefix: dict[str, Any] = {"after": None, "sha256": None}
    if end:
        prefix = {"after": parts[end - 1].name, "sha256": _digest("\n".join(hashes[:end]))}
    named = zip(parts, hashes, strict=True)
    prefix["parts"] = [{"name": part.name, "sha256": sha256} for part, sha256 in named]
    return prefix


def _shown(part: PrintedPart, boundary: str) -> str:
    """Return all of a part that the LLM is shown: roles, calls and results, and the nonce in
    tags.
    """
    messages = [
        [message.role, *map(msgspec.structs.astuple, message.blocks)] for message in part.messages
    ]
    return json.dumps([boundary, part.role, messages or part.text])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# Citable blocks are sent item by item, so nothing may be printed around an item.
_CITED = {
    "layout": "cited",
    "format": "plain",
    "framing": "auto",
    "separator": "\n\n",
    "header": None,
    "footer": None,
    "sources": False,
}


class Renderer(ContextRenderer):
    """Render contexts and whole prompts by one profile, one set of templates and options.

    `profile` is a name or a `.yaml` file. `templates` and `profiles` are folders that come before
    the shipped ones; `templates` may also be texts by name. `embed` maps a list of texts to
    vectors: with a query it adds to the words, with `rerank: mmr` it finds texts that are alike.
    `options` are the words of a profile.

    Files are read once, when the renderer is made. With `follow_edits`, template files are read
    again when they change; a set that does not compile is not used (PF402). Threads may share a
    renderer.

    Raises `ProfileError`, `TemplateError`, `OptionError`.
    """

    def prompt(
        self,
        items: object = (),
        *,
        system: str | None = None,
        instructions: str | None = None,
        user: str | None = None,
        history: object = None,
        to: str = "text",
        verify: Verify | None = None,
        profile: str | Path | None = None,
        templates: TemplateSources = None,
        profiles: Folders = None,
        embed: Embed | None = None,
        before: tuple[Diagnostic, ...] = (),
        **options: Unpack[OptionKeywords],
    ) -> Prompt:
        """Return the whole prompt in at most `context_window` less `reserve` tokens.

        Its parts are the `system` text, `instructions`, the context made of `items`, `history` and
        the question of the `user`; `prompt_order` orders them. `history` is a list of messages as
        OpenAI, Anthropic or Gemini have them, or with `role` and `content`; its oldest turns go
        when room is short. `to` is the shape that comes out: `text roles openai openai-responses
        anthropic gemini`.

        `max_tokens` and `max_chars` limit the context alone; the default of `max_tokens` counts
        only if no window is known. The question is also the `query`, unless one is given
        (`query=None`: no query). `verify` takes the finished request and returns its true tokens.
        If these exceed the window, or fall short of it while something was left out, the prompt is
        fitted again, at most twice.

        Raises `BudgetError` if the required parts do not fit, `ItemError` for a history that is no
        list of messages, `OptionError` for an unknown option or shape, and `TemplateError` for a
        template that cannot be used.
        """
        given = {"profile": profile, "templates": templates, "profiles": profiles, "embed": embed}
        named = {name: value for name, value in given.items() if value is not None}
        if named:
            other = type(self)(**{**self._made_of, **named}, **self._given)
            parts: dict[str, Any] = {"system": system, "instructions": instructions, "user": user}
            return other.prompt(
                items, **parts, history=history, to=to, verify=verify, before=before, **options
            )
        if to not in SHAPES:
            raise OptionError(
                f"there is no shape {quote(to)}{suggest_name(to, SHAPES)}", option="to"
            )
        diagnostics = Diagnostics()
        diagnostics.extend(before)
        asked = {**self._given, **options}
        current = self._current(diagnostics)
        _, chosen = self._settle(current, asked, diagnostics)
        loaded = load_items(items, diagnostics)
        texts = {
            "system": _text(system, "system", diagnostics),
            "instructions": _text(instructions, "instructions", diagnostics),
            "question": _text(user, "user", diagnostics),
        }
        messages = read_history(history, "history", diagnostics) if history is not None else []
        messages = _hoist(messages, texts, diagnostics)
        # The words of the query are compared with the items' own, so it keeps its control tokens.
        query = texts["question"]
        controls = self._stages.controls(chosen, diagnostics)
        if controls is not None:
            texts["question"], messages = _break_up(query, messages, controls, diagnostics)
        order = chosen.prompt_order
        _say_unused(order, {**texts, "context": loaded, "history": messages}, diagnostics)
        set_ = {**self.profile.options, **asked}
        if query and "query" not in set_:
            asked["query"] = query
        cap = None
        if "max_tokens" in set_ or chosen.context_window is None:
            cap = chosen.max_tokens
        making = _Making(
            renderer=self,
            options=chosen,
            asked=asked,
            to=to,
            texts=texts,
            items=loaded if "context" in order else [],
            history=messages if "history" in order else [],
            verify=verify,
            controls=controls,
            cap=cap,
        )
        said = tuple(diagnostics)
        try:
            prompt = making.make(current, said)
        except TemplateError as error:
            shipped = Templates()
            known = chosen.prompt.removeprefix("shipped/") in shipped.prompts()
            if not current.templates.own or not known:
                raise
            prompt = making.make(TemplateSet(shipped), (*said, shipped_templates_used(error)))
        log_diagnostics(prompt, prompt.warnings, chosen.on_error == "raise")
        return prompt

    def _result(
        self,
        items: Sequence[Item],
        options: Mapping[str, Any],
        current: TemplateSet,
        beside: Sequence[str],
    ) -> Result:
        """Render a context to stand beside other texts; a strict run judges the whole prompt."""
        return self._render(list(items), (), options, current, beside)[0]


@dataclass(frozen=True, kw_only=True)
class _Making:
    """One prompt in the making."""

    renderer: Renderer
    options: Options
    asked: Mapping[str, Any]
    """The options as given, for the rendering of the context."""
    to: str
    texts: Mapping[str, str]
    """System, instructions and question."""
    items: Sequence[Item]
    history: Sequence[Message]
    verify: Verify | None
    controls: ControlTokens | None
    cap: int | None
    """Tokens of the context at most."""

    def make(self, current: TemplateSet, said: tuple[Diagnostic, ...]) -> Prompt:
        """Return the prompt as these templates print it."""
        options, shape = self.options, SHAPES[self.to]
        counter: Counter = get_tokenizer(options.tokenizer)
        # A provider's own count is asked for finished prompts alone; parts are fitted by estimate.
        fitting_counter = counter
        if isinstance(counter, RemoteTokenizer):
            fitting_counter = counter.estimate
        composer = Composer(
            self._frame(current),
            options,
            fitting_counter,
            self.texts,
            whole=self.to == "text",
            blocks=shape.blocks,
            native=self._cites,
        )
        window = None
        if options.context_window is not None:
            window = max(0, options.context_window - (options.reserve or 0))
        turns = split_turns(self.history)
        render = None
        if self.items:
            render = functools.partial(self._context, fitting_counter, current)
        fitting = WindowFitter(
            composer, turns, render, self._show, cap=self.cap, share=options.history_share
        )
        counted = None
        if self.verify is not None:
            count = by_verify(self.verify, lambda made: shape.make(made.messages))
            fitted, counted = fit_by_count(fitting, window, count, "verify")
        elif isinstance(counter, RemoteTokenizer):
            count = functools.partial(composer.recount, counter=counter)
            fitted, counted = fit_by_count(fitting, window, count, counter.name)
        else:
            fitted = fitting.fit(window)
        if not fitted.composed.parts:
            raise OptionError(
                "there is nothing to make a prompt of: give items, or system, instructions,"
                " history or user"
            )
        return finish_prompt(
            fitted,
            shape.make(fitted.composed.messages),
            to=self.to,
            options=options,
            profile=self.renderer.profile,
            composer=composer,
            templates=current.templates,
            counter=counter,
            turns=len(turns),
            window=window,
            counted=counted,
            verified=self.verify is not None,
            said=said,
        )

    @property
    def _cites(self) -> bool:
        """True if items go as blocks that answers can point at."""
        return self.options.cite and SHAPES[self.to].cites

    def _frame(self, current: TemplateSet) -> PromptTemplates:
        made_for = self.options.prompt, self.options.format, self.controls
        frame: PromptTemplates | None = current.frames.get(made_for)
        if frame is None:
            frame = current.frames[made_for] = PromptTemplates(current.templates, *made_for)
        return frame

    def _context(self, counter: Counter, current: TemplateSet, limit: int | None) -> Result:
        asked = {**self.asked, "context_window": None, "reserve": None, "on_error": "warn"}
        if self._cites:
            asked |= _CITED
        asked |= {"max_tokens": limit, "tokenizer": counter}
        # The nonce of tagged contents must be absent from the prompt's other texts too.
        beside = [*self.texts.values(), *(t for m in self.history for t in message_texts(m))]
        return self.renderer._result(self.items, asked, current, beside)

    def _show(self, result: Result) -> PromptContext | None:
        return show_context(result, self._cites, self.controls)


def _text(value: object, name: str, diagnostics: Diagnostics) -> str:
    """Return a caller's text, empty if blank; raises `OptionError` if it is no text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        kind = type(value).__name__
        raise OptionError(f"{name} takes text; got a value of type {kind}", option=name)
    plain = str.__str__(value)
    text = replace_surrogates(plain)
    if text != plain:
        diagnostics.add("PF302", "lone surrogates in it were replaced by U+FFFD", where=name)
    return text if text.strip() else ""


def _break_up(
    question: str, messages: list[Message], controls: ControlTokens, diagnostics: Diagnostics
) -> tuple[str, list[Message]]:
    """Break up control tokens in the question and the history (PF704)."""
    question, in_question = controls.break_up(question)
    messages, in_history = break_up_controls(messages, controls)
    for where, count in (("user", in_question), ("history", in_history)):
        if count:
            diagnostics.add("PF704", f"control tokens written apart: {count}", where=where)
    return question, messages


def _hoist(
    messages: list[Message], texts: dict[str, str], diagnostics: Diagnostics
) -> list[Message]:
    """Take leading system messages out of a history; they are the system text if none is given."""
    start = 0
    while start < len(messages) and messages[start].role in SYSTEM_ROLES:
        start += 1
    text = "\n\n".join(message.text for message in messages[:start] if message.text)
    if text and not texts["system"]:
        texts["system"] = text
    elif text and text != texts["system"]:
        message = "the system message at its beginning was left out: system is given"
        diagnostics.add("PF208", message, where="history")
    return join_messages(messages[start:])


def _say_unused(
    order: Sequence[str], given: Mapping[str, object], diagnostics: Diagnostics
) -> None:
    for name in PROMPT_PARTS:
        if given[name] and name not in order:
            message = f"prompt_order has no place for the {name}, so it was left out"
            diagnostics.add("PF117", message)
