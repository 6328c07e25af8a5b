"""From a fitted prompt to the finished one: parts, warnings, manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import msgspec

from ..counting import Counter
from ..diagnostics import Diagnostic, Diagnostics
from ..ledger import made_with
from ..options import Options
from ..profiles import Profile
from ..templates import Templates
from .composing import Composed, Composer, Printed
from .messages import Text
from .prompts import Prompt, PromptHistory, PromptPart
from .shapes import SHAPES, SYSTEM
from .window import Fitted


def account(
    fitted: Fitted,
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
    plain = all(isinstance(block, Text) for m in composed.messages for block in m.blocks)
    own = made_with(profile, templates, composer.files, counter)
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
    composed: Composed, history: PromptHistory, to: str, options: Options, profile: Profile
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
    roles = [message.role in SYSTEM for message in composed.messages]
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


def _part(part: Printed, fitted: Fitted, history: PromptHistory, composer: Composer) -> PromptPart:
    kept, dropped = 1, 0
    if part.name == "history":
        kept, dropped = history.kept, history.dropped
    elif part.name == "context" and fitted.result is not None:
        kept, dropped = fitted.result.items_included, fitted.result.items_dropped
    tokens = composer.count(part.text)
    return PromptPart(name=part.name, role=part.role, tokens=tokens, kept=kept, dropped=dropped)


def _prefix(composed: Composed, stable: Sequence[str]) -> dict[str, Any]:
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


def _shown(part: Printed, boundary: str) -> str:
    """Return all of a part that the LLM is shown: roles, calls and results, and the nonce in
    tags.
    """
    messages = [
        [message.role, *map(msgspec.structs.astuple, message.blocks)] for message in part.messages
    ]
    return json.dumps([boundary, part.role, messages or part.text])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
