"""The public renderer: contexts, and whole prompts around them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..answers.asking import Embed
from ..controls import Controls
from ..counting import Counter
from ..diagnostics import Diagnostic, Diagnostics
from ..errors import OptionError, TemplateError, nearest, quote
from ..folders import Folders, Sources
from ..items import Item
from ..options import PARTS, Options
from ..remote import RemoteTokenizer
from ..rendering import ContextRenderer, TemplateSet, load
from ..results import Result
from ..templates import Templates
from ..tokens import get_tokenizer
from ..verdict import judge, stood_in
from . import accounts, citing, recounts
from .apart import write_apart
from .composing import Composer, Context
from .conversations import read
from .frame import Frame, texts_in
from .messages import Message, join, sound
from .prompts import Prompt
from .recounts import Verify
from .shapes import SHAPES, SYSTEM
from .turns import turns_of
from .window import Window

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
        templates: Sources = None,
        profiles: Folders = None,
        embed: Embed | None = None,
        before: tuple[Diagnostic, ...] = (),
        **options: Any,
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
            raise OptionError(f"there is no shape {quote(to)}{nearest(to, SHAPES)}", option="to")
        diagnostics = Diagnostics()
        diagnostics.extend(before)
        asked = {**self._given, **options}
        current = self._current(diagnostics)
        _, chosen = self._settle(current, asked, diagnostics)
        loaded = load(items, diagnostics)
        texts = {
            "system": _text(system, "system", diagnostics),
            "instructions": _text(instructions, "instructions", diagnostics),
            "question": _text(user, "user", diagnostics),
        }
        messages = read(history, "history", diagnostics) if history is not None else []
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
            prompt = making.make(TemplateSet(shipped), (*said, stood_in(error)))
        judge(prompt, prompt.warnings, chosen.on_error == "raise")
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
    controls: Controls | None
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
        turns = turns_of(self.history)
        render = None
        if self.items:
            render = functools.partial(self._context, fitting_counter, current)
        fitting = Window(
            composer, turns, render, self._show, cap=self.cap, share=options.history_share
        )
        counted = None
        if self.verify is not None:
            count = recounts.by_verify(self.verify, lambda made: shape.make(made.messages))
            fitted, counted = recounts.fit(fitting, window, count, "verify")
        elif isinstance(counter, RemoteTokenizer):
            count = functools.partial(composer.recount, counter=counter)
            fitted, counted = recounts.fit(fitting, window, count, counter.name)
        else:
            fitted = fitting.fit(window)
        if not fitted.composed.parts:
            raise OptionError(
                "there is nothing to make a prompt of: give items, or system, instructions,"
                " history or user"
            )
        return accounts.account(
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

    def _frame(self, current: TemplateSet) -> Frame:
        made_for = self.options.prompt, self.options.format, self.controls
        frame: Frame | None = current.frames.get(made_for)
        if frame is None:
            frame = current.frames[made_for] = Frame(current.templates, *made_for)
        return frame

    def _context(self, counter: Counter, current: TemplateSet, limit: int | None) -> Result:
        asked = {**self.asked, "context_window": None, "reserve": None, "on_error": "warn"}
        if self._cites:
            asked |= _CITED
        asked |= {"max_tokens": limit, "tokenizer": counter}
        # The nonce of tagged contents must be absent from the prompt's other texts too.
        beside = [*self.texts.values(), *(t for m in self.history for t in texts_in(m))]
        return self.renderer._result(self.items, asked, current, beside)

    def _show(self, result: Result) -> Context | None:
        return citing.show(result, self._cites, self.controls)


def _text(value: object, name: str, diagnostics: Diagnostics) -> str:
    """Return a caller's text, empty if blank; raises `OptionError` if it is no text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        kind = type(value).__name__
        raise OptionError(f"{name} takes text; got a value of type {kind}", option=name)
    plain = str.__str__(value)
    text = sound(plain)
    if text != plain:
        diagnostics.add("PF302", "lone surrogates in it were replaced by U+FFFD", where=name)
    return text if text.strip() else ""


def _break_up(
    question: str, messages: list[Message], controls: Controls, diagnostics: Diagnostics
) -> tuple[str, list[Message]]:
    """Break up control tokens in the question and the history (PF704)."""
    question, in_question = controls.write_apart(question)
    messages, in_history = write_apart(messages, controls)
    for where, count in (("user", in_question), ("history", in_history)):
        if count:
            diagnostics.add("PF704", f"control tokens written apart: {count}", where=where)
    return question, messages


def _hoist(
    messages: list[Message], texts: dict[str, str], diagnostics: Diagnostics
) -> list[Message]:
    """Take leading system messages out of a history; they are the system text if none is given."""
    start = 0
    while start < len(messages) and messages[start].role in SYSTEM:
        start += 1
    text = "\n\n".join(message.text for message in messages[:start] if message.text)
    if text and not texts["system"]:
        texts["system"] = text
    elif text and text != texts["system"]:
        message = "the system message at its beginning was left out: system is given"
        diagnostics.add("PF208", message, where="history")
    return join(messages[start:])


def _say_unused(
    order: Sequence[str], given: Mapping[str, object], diagnostics: Diagnostics
) -> None:
    for name in PARTS:
        if given[name] and name not in order:
            message = f"prompt_order has no place for the {name}, so it was left out"
            diagnostics.add("PF117", message)
