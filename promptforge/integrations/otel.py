"""OpenTelemetry: the event of each prompt on the span that is open while it is made."""

from __future__ import annotations

from ..prompts.events import PromptEvent
from .bridge import missing_extra

try:
    from opentelemetry import trace
except ImportError as error:
    raise missing_extra("otel", error) from error

__all__ = ["record_prompt"]
_PROVIDERS = {
    "openai": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gcp.gemini",
    "bedrock": "aws.bedrock",
}
"""Shape → the provider's name in the conventions."""


def record_prompt(event: PromptEvent) -> None:
    """Write an event on the current span: `Renderer().prompt(…, on_prompt=record_prompt)`.

    The span gets `gen_ai.conversation.compacted` and an event `promptforge.prompt` with the
    numbers, each under `promptforge.`; a span that is not recorded gets nothing.
    """
    span = trace.get_current_span()
    if not span.is_recording():
        return
    span.set_attribute("gen_ai.conversation.compacted", event.compacted)
    numbers = {f"promptforge.{name}": value for name, value in event.fields().items()}
    if event.to in _PROVIDERS:
        numbers["gen_ai.provider.name"] = _PROVIDERS[event.to]
    span.add_event("promptforge.prompt", numbers)
