"""The event of a prompt on a span, as the SDK of OpenTelemetry exports it."""

from __future__ import annotations

import pytest

import promptforge as pf

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from promptforge.integrations.otel import record_prompt

CHAT = [
    {"role": role, "content": f"{role} {n} " + "word " * 100}
    for n in range(20)
    for role in ("user", "assistant")
]


def test_a_prompt_is_an_event_of_the_span_that_is_open() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("tests")
    renderer = pf.Renderer(context_window=1000, reserve=0)
    with tracer.start_as_current_span("chat"):
        made = renderer.prompt(user="q", history=CHAT, to="anthropic", on_prompt=record_prompt)
    with tracer.start_as_current_span("short"):
        renderer.prompt(user="q", on_prompt=record_prompt)
    long, short = exporter.get_finished_spans()
    assert long.attributes is not None and short.attributes is not None
    assert long.attributes["gen_ai.conversation.compacted"] is True
    assert short.attributes["gen_ai.conversation.compacted"] is False
    (event,) = long.events
    assert event.attributes is not None
    assert event.name == "promptforge.prompt"
    assert event.attributes["promptforge.tokens"] == made.tokens
    assert event.attributes["promptforge.dropped.turns"] == made.history.dropped > 0
    assert event.attributes["gen_ai.provider.name"] == "anthropic"


def test_without_a_span_nothing_happens() -> None:
    assert pf.Renderer().prompt(user="q", on_prompt=record_prompt).text
