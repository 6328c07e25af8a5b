"""From a prompt that keeps its window to the account of it: parts, warnings, manifest."""

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
    """Return the prompt; `turns` is how many there were, `said` what was said before.

    `counted` is what the provider found: of the whole request if `verified`, else of its texts.
    """
    composed, result = fitted.composed, fitted.result
    plain = all(
        isinstance(block, Text) for message in composed.messages for block in message.blocks
    )
    history = PromptHistory(kept=fitted.turns, dropped=turns - fitted.turns)
    diagnostics = _told(composed, history, to, options, profile)
    if counted is not None and not verified:
        message = f"the prompt was counted by {counter.name}; tokens of parts and items, and fits_at, are estimates"
        diagnostics.add("PF503", message, severity="info")
    elif not counter.exact and not verified:
        diagnostics.add("PF501", f"tokens are an estimate by {counter.name}", severity="info")
    for part, template in composer.lost(composed):
        diagnostics.add(
            "PF119", f"the template does not print the {part}, which was given", where=template
        )
    texts = result.warnings if result is not None else ()
    context = result.manifest if result is not None else {}
    own = made_with(profile, templates, composer.files, counter)
    return Prompt(
        to=to,
        request=request,
        messages=request[SHAPES[to].messages]
        if to != "text"
        else [{"role": "user", "content": composed.text}],
        text=composed.text
        if composed.text is not None
        else "\n\n".join(part.text for part in composed.parts),
        tokens=composed.tokens if counted is None else counted,
        window=window,
        exact=verified or (counter.exact and plain),
        parts=tuple(_part(part, fitted, history, composer) for part in composed.parts),
        context=result,
        history=history,
        warnings=tuple(dict.fromkeys((*said, *texts, *diagnostics))),
        manifest={
            **own,
            "to": to,
            "options": _options(options, counter, context.get("options", {})),
            "templates": {**context.get("templates", {}), **own["templates"]},
            "items": context.get("items", []),
            "prefix": _prefix(composed, options.cache_after or ()),
        },
    )


def _told(
    composed: Composed, history: PromptHistory, to: str, options: Options, profile: Profile
) -> Diagnostics:
    """Return what there is to say of the parts and of what their shape cannot carry."""
    shape, diagnostics = SHAPES[to], Diagnostics()
    if history.dropped:
        turns = history.kept + history.dropped
        message = f"{history.dropped} of {turns} turns of the history were left out, the oldest, to keep the window"
        diagnostics.add("PF116", message, severity="info")
    if composed.boundary:
        message = (
            f"a part holds a mark of the frame, so the frame's own marks carry {composed.boundary}"
        )
        diagnostics.add("PF710", message)
    if options.cache_after and not shape.caches:
        diagnostics.add("PF118", f"cache_after changes nothing in the shape {to}", severity="info")
    roles = [message.role in SYSTEM for message in composed.messages]
    if shape.apart and any(roles[roles.index(False) :] if False in roles else ()):
        message = (
            f"the shape {to} has what the system says before all messages, so it was moved there"
        )
        diagnostics.add("PF118", message, severity="info")
    if options.cite and not shape.cites and not options.citation:
        message = f"cite changes nothing in the shape {to}: the profile {profile.name} has no words for citation"
        diagnostics.add("PF118", message, severity="info")
    return diagnostics


def _part(part: Printed, fitted: Fitted, history: PromptHistory, composer: Composer) -> PromptPart:
    kept, dropped, text = 1, 0, part.text
    if part.name == "history":
        kept, dropped = history.kept, history.dropped
    elif part.name == "context" and fitted.result is not None:
        kept, dropped = fitted.result.items_included, fitted.result.items_dropped
    return PromptPart(
        name=part.name, role=part.role, tokens=composer.count(text), kept=kept, dropped=dropped
    )


def _options(options: Options, counter: Counter, context: dict[str, Any]) -> dict[str, Any]:
    own = msgspec.structs.asdict(options) | {"tokenizer": counter.name}
    return msgspec.to_builtins(own | {"query": context.get("query", options.query)})  # type: ignore[no-any-return]


def _prefix(composed: Composed, stable: Sequence[str]) -> dict[str, Any]:
    """Return a hash of each part as it is in the request, and one of all up to the end of the last that is stable."""
    parts = composed.parts
    first = {part.name: n for n, part in reversed(list(enumerate(parts, 1)))}
    end = max((first[name] for name in stable if name in first), default=0)
    hashed = [
        {"name": part.name, "sha256": _digest(_exactly(part, composed.boundary))} for part in parts
    ]
    whole = _digest("\n".join(each["sha256"] for each in hashed[:end])) if end else None
    return {"after": parts[end - 1].name if end else None, "sha256": whole, "parts": hashed}


def _exactly(part: Printed, boundary: str) -> str:
    """Return all of a part that the LLM is shown: who says what, calls and results, and what its tags carry."""
    messages = [
        [message.role, *map(msgspec.structs.astuple, message.blocks)] for message in part.messages
    ]
    return json.dumps([boundary, part.role, messages or part.text])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
