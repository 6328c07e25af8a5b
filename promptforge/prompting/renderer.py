"""The renderer that the package gives out: contexts, and whole prompts around them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
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
from .composing import Composer
from .conversations import read
from .frame import Frame, texts_in
from .messages import Message, join, sound
from .prompts import Prompt
from .recounts import Verify
from .shapes import SHAPES
from .turns import turns_of
from .window import Window

_CITED = {
    **{"layout": "cited", "format": "plain", "framing": "auto", "separator": "\n\n"},
    **{"header": None, "footer": None, "sources": False},
}


class Renderer(ContextRenderer):
    """Configuration: a profile, templates and options. Renders contexts and prompts, any number, from any thread.

    `profile` is a name or a `.yaml` file; `templates` and `profiles` are folders of the user's that come before the
    shipped ones (templates may also be texts by name); `options` are those of the profile vocabulary. `embed` maps a
    list of texts to a vector each: with a query it adds to the words, with `rerank: mmr` it tells what is alike. Files
    are read once, when the renderer is made; with `follow_edits` template files are read again when they change, all of
    them at once, and a set that does not compile is not taken (PF402 says so).

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
        """Return the whole prompt: `system` text, `instructions`, the context made of `items`, `history` and the
        question of the `user`, in the order `prompt_order`, within `context_window` less `reserve`.

        `history` is a list of messages in the shape of OpenAI, Anthropic or Gemini, or plain `role` and `content`; its
        oldest turns go when room is short. `to` is the shape that comes out: `text roles openai openai-responses
        anthropic gemini`. `max_tokens` and `max_chars` are ceilings of the context alone, `max_tokens` only where
        somebody set it or no window is known. The question is also the `query`, unless one is given (`query=None`: no
        query). `verify` takes the finished request and returns its true tokens: where these are more than the window,
        or fewer than our own count while something was left out, the prompt is fitted again, at most twice.

        Raises `BudgetError` when what cannot be left out does not fit, `ItemError` for a history that is no list of
        messages, `OptionError` for an unknown option or shape, `TemplateError` when a template cannot be used.
        """
        given = {"profile": profile, "templates": templates, "profiles": profiles, "embed": embed}
        named = {name: value for name, value in given.items() if value is not None}
        if named:
            other = type(self)(**{**self._made_of, **named}, **self._given)
            return other.prompt(
                items, system=system, instructions=instructions, user=user, history=history, to=to, verify=verify,
                before=before, **options,
            )  # fmt: skip
        if to not in SHAPES:
            raise OptionError(f"there is no shape {quote(to)}{nearest(to, SHAPES)}", option="to")
        diagnostics = Diagnostics()
        diagnostics.extend(before)
        asked = {**self._given, **options}
        current = self._current(diagnostics)
        _, chosen = self._settle(current, asked, diagnostics)
        loaded = load(items, diagnostics)
        given = {"system": system, "instructions": instructions, "user": user}
        fixed = {name: _text(value, name, diagnostics) for name, value in given.items()}
        fixed["question"] = fixed.pop("user")
        messages = read(history, "history", diagnostics) if history is not None else []
        messages = _hoist(messages, fixed, diagnostics)
        query = fixed["question"]
        if (controls := self._stages.controls(chosen, diagnostics)) is not None:
            fixed["question"], asking = controls.write_apart(query)
            messages, told = write_apart(messages, controls)
            for where, count in (("user", asking), ("history", told)):
                if count:
                    diagnostics.add("PF704", f"control tokens written apart: {count}", where=where)
        order = chosen.prompt_order
        _say_unused(order, {**fixed, "context": loaded, "history": messages}, diagnostics)
        set_ = {**self.profile.options, **asked}
        if query and "query" not in set_:
            asked = {**asked, "query": query}
        if "history" not in order:
            messages = []
        loaded = loaded if "context" in order else []
        made = _Making(self, chosen, asked, to, fixed, loaded, messages, verify, controls)
        cap = chosen.max_tokens if "max_tokens" in set_ or chosen.context_window is None else None
        said = tuple(diagnostics)
        try:
            prompt = made.make(current, cap, said)
        except TemplateError as error:
            shipped = Templates()
            if (
                not current.templates.own
                or chosen.prompt.removeprefix("shipped/") not in shipped.prompts()
            ):
                raise
            prompt = made.make(TemplateSet(shipped), cap, (*said, stood_in(error)))
        judge(prompt, prompt.warnings, chosen.on_error == "raise")
        return prompt

    def _result(
        self,
        items: Sequence[Item],
        options: Mapping[str, Any],
        current: TemplateSet,
        beside: Sequence[str],
    ) -> Result:
        """Return a context that nobody has judged yet, to stand in a prompt with the texts `beside` it."""
        return self._render(list(items), (), options, current, beside)[0]


class _Making:
    """One prompt in the making."""

    def __init__(
        self,
        renderer: Renderer,
        options: Options,
        asked: Mapping[str, Any],
        to: str,
        fixed: Mapping[str, str],
        items: Sequence[Item],
        history: Sequence[Message],
        verify: Verify | None,
        controls: Controls | None,
    ) -> None:
        self._controls = controls
        self._renderer = renderer
        self._options = options
        self._to = to
        self._shape = SHAPES[to]
        self._fixed = fixed
        self._items = items
        self._turns = turns_of(history)
        self._beside = [
            *fixed.values(),
            *(text for message in history for text in texts_in(message)),
        ]
        self._verify = verify
        self._cites = options.cite and self._shape.cites
        own: dict[str, Any] = {"context_window": None, "reserve": None, "on_error": "warn"}
        self._asked = {**asked, **own, **(_CITED if self._cites else {})}

    def make(self, current: TemplateSet, cap: int | None, said: tuple[Diagnostic, ...]) -> Prompt:
        """Return the prompt printed by these templates, its context at most `cap` tokens."""
        options = self._options
        remote = (
            counter
            if isinstance(counter := get_tokenizer(options.tokenizer), RemoteTokenizer)
            else None
        )
        priced = counter if remote is None else remote.estimate
        made_for = options.prompt, options.format, self._controls
        frame = current.frames.get(made_for)
        if frame is None:
            frame = current.frames[made_for] = Frame(current.templates, *made_for)
        composer = Composer(
            frame,
            options,
            priced,
            self._fixed,
            whole=self._to == "text",
            blocks=self._shape.blocks,
            native=self._cites,
        )
        window = None
        if options.context_window is not None:
            window = max(0, options.context_window - (options.reserve or 0))
        fitting = Window(
            composer,
            self._turns,
            (lambda most: self._context(most, priced, current)) if self._items else None,
            self._show,
            cap=cap,
            share=options.history_share,
        )
        counted = None
        if self._verify is not None:
            verify = recounts.by_verify(
                self._verify, lambda composed: self._shape.make(composed.messages)
            )
            fitted, counted = recounts.fit(fitting, window, verify, "verify")
        elif remote is not None:
            asked = functools.partial(composer.recount, counter=remote)
            fitted, counted = recounts.fit(fitting, window, asked, remote.name)
        else:
            fitted = fitting.fit(window)
        if not fitted.composed.parts:
            raise OptionError(
                "there is nothing to make a prompt of: give items, or system, instructions, history or user"
            )
        return accounts.account(
            fitted,
            self._shape.make(fitted.composed.messages),
            to=self._to,
            options=options,
            profile=self._renderer.profile,
            composer=composer,
            templates=current.templates,
            counter=counter,
            turns=len(self._turns),
            window=window,
            counted=counted,
            verified=self._verify is not None,
            said=said,
        )

    def _context(self, most: int | None, counter: Counter, current: TemplateSet) -> Result:
        asked = {**self._asked, "max_tokens": most, "tokenizer": counter}
        return self._renderer._result(self._items, asked, current, self._beside)

    def _show(self, result: Result) -> Any:
        return citing.show(result, self._cites, self._controls)


def _text(value: object, name: str, diagnostics: Diagnostics) -> str:
    """Return a text that the caller wrote; blank is none. Raises `OptionError` for what is no text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise OptionError(
            f"{name} takes text; got a value of type {type(value).__name__}", option=name
        )
    plain = str.__str__(value)
    text = sound(plain)
    if text != plain:
        diagnostics.add("PF302", "lone surrogates in it were replaced by U+FFFD", where=name)
    return text if text.strip() else ""


def _hoist(
    messages: list[Message], fixed: dict[str, str], diagnostics: Diagnostics
) -> list[Message]:
    """Return the history without system messages at its beginning, which are the system text if there is no other."""
    start = next(
        (n for n, m in enumerate(messages) if m.role not in ("system", "developer")), len(messages)
    )
    text = "\n\n".join(message.text for message in messages[:start] if message.text)
    if text and not fixed["system"]:
        fixed["system"] = text
    elif text and text != fixed["system"]:
        diagnostics.add(
            "PF208",
            "the system message at its beginning was left out: system is given",
            where="history",
        )
    return join(messages[start:])


def _say_unused(
    order: Sequence[str], given: Mapping[str, object], diagnostics: Diagnostics
) -> None:
    for name in PARTS:
        if given[name] and name not in order:
            message = f"prompt_order has no place for the {name}, so it was left out"
            diagnostics.add("PF117", message)
