"""Models by their ids, as providers and servers write them, and what their input costs."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any

from .schema import read_count

if TYPE_CHECKING:
    from .profiles import Profile

_PROVIDER = re.compile(
    r"(((openai|azure|google|vertex(ai)?|bedrock)([_-][a-z]+)*|anthropic|mistral(ai)?|cohere|groq"
    r"|deepseek|ollama|openrouter|huggingface|together|fireworks|cerebras):)?"
    r"((us|us-gov|eu|jp|au|in|apac|global)\.)?((anthropic|openai|google|meta|mistral|cohere|deepseek"
    r"|qwen|amazon|xai|zai|moonshot(ai)?)\.)?"
)
"""A provider before the id, `openai:gpt-5`, and a region of Bedrock, `us.anthropic.`."""
_SMALLER = re.compile(
    r"(github[_-]copilot|snowflake|hyperbolic|novita|cloudflare|sambanova|watsonx|replicate|zerogpu"
    r"|tensormesh|(text-completion-)?codestral)/"
)
"""A service before the id that sets smaller windows for many models than their makers do."""
_RELEASE = re.compile(r"(@[\w-]+|-v\d+(:\d+)?|:[\w.-]+)$", re.ASCII)
"""A date, a version or a tag that a provider puts behind the id: `@20250929`, `-v1:0`, `:free`."""


def first_match(model: str, known: Sequence[tuple[str, Sequence[str]]]) -> str | None:
    """Return the first name in `known` with a glob that matches the id of a model, or None.

    Providers' prefixes, regions, versions and tags do not count, but for services that set smaller
    windows, nor do capitals: `first_match("azure/GPT-5-mini", [("a", ["gpt-5-*"])]) == "a"`.
    """
    for called in spellings(model)[: 1 if _SMALLER.match(model.lower()) else None]:
        for name, globs in known:
            if any(fnmatch.fnmatchcase(called, glob.lower()) for glob in globs):
                return name
    return None


def spellings(model: str) -> list[str]:
    """Return the id as it is given, then without provider, version and tag, as vendors write it."""
    whole = model.lower()
    last = _PROVIDER.sub("", whole.rpartition("/")[2], count=1)
    plain = _RELEASE.sub("", last)
    # OpenRouter writes claude-sonnet-4.5, Ollama and others qwen3:32b.
    dashed = re.sub(r"(?<=\d)\.(?=\d)", "-", plain)
    return list(dict.fromkeys((whole, last, plain, dashed)))


def price_of(profile: Profile, tokens: int, *, exact: bool) -> dict[str, Any] | None:
    """Return what an input of so many tokens costs, `exact` or about, in US dollars.

    It is the price of the model that chose the profile, or of the profile's own name; else `low`
    and `high` are those of the cheapest and the dearest model in `prices`. `says` has them in
    words, `about` the models and the source. None: there is no price, or no token.
    """
    prices, asked = profile.prices, profile.model or profile.name
    named = first_match(asked, [(glob, [glob]) for glob in prices])
    if not prices or not tokens or (profile.model is not None and named is None):
        return None
    rates = [_rate(prices[glob], tokens) for glob in ([named] if named else prices)]
    low, high = (tokens * rate / 1_000_000 for rate in (min(rates), max(rates)))
    says = " to ".join(dict.fromkeys(map(_dollars, (low, high))))
    about = f"{_dollars(rates[0])} for a million tokens of {asked}"
    if named is None:
        about = f"the cheapest to the dearest of {asked}; --profile takes a model's name"
    source = f"prices: those of the profile {profile.name}"
    if profile.chain[-1].name.startswith("shipped/"):  # another one may have prices of its own
        source = next((said for said in profile.references if said.startswith("prices: ")), source)
    says = says if exact else f"about {says}"
    return {"says": says, "low": low, "high": high, "about": f"{about}; {source}"}


def _rate(price: float | dict[str, float], tokens: int) -> float:
    given = price if isinstance(price, dict) else {"0": price}
    steps = {read_count(step) or 0: dollars for step, dollars in given.items()}
    return steps[max(step for step in steps if step < tokens)]


def _dollars(amount: float) -> str:
    """Return an amount with two digits that tell, and cents at least: `$0.012`, `$1.50`."""
    places = max(2, 1 - floor(log10(amount))) if amount else 2
    whole, _, decimals = f"{amount:,.{places}f}".partition(".")
    return f"${whole}.{decimals.rstrip('0'):0<2}"
