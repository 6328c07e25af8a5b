"""A tokenizer whose provider counts."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from example_counts import cases
from hostile_strings import TEXT
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.model import Result

CL100K = pf.get_tokenizer("cl100k_base")
ITEMS = [
    {
        "content": f"Piece {n}: "
        + "Some words that say nothing, 漢字 and {numbers: 12345}. " * (1 + n % 7),
        "score": n / 40,
    }
    for n in range(40)
]


class Provider:
    """Counts by another vocabulary, more, with a frame, and remembers what it was asked."""

    def __init__(self, times: float = 1.4, frame: int = 8) -> None:
        self.asked: list[str] = []
        self.times, self.frame = times, frame

    def true(self, text: str) -> int:
        return int(CL100K.count(text) * self.times) + self.frame if text else 0

    def __call__(self, text: str) -> int:
        self.asked.append(text)
        return self.true(text)


def check(result: Result, provider: Provider, calls: int = 4) -> None:
    assert result.tokens == provider.true(result.text)
    assert result.max_tokens is None or result.tokens <= result.max_tokens
    assert len(provider.asked) <= calls and "" not in provider.asked
    assert len(set(provider.asked)) == len(provider.asked)
    explained = result.explain()
    assert explained.tokens == result.tokens
    assert (
        explained.overhead + explained.between + sum(item.tokens for item in result.items)
        == result.tokens
    )
    assert len(provider.asked) <= calls  # neither items nor what-ifs ask


@pytest.mark.parametrize(
    "estimate", ["o200k_base", "approximate-claude", "characters", "o200k_base*0.1"]
)
@pytest.mark.parametrize("max_tokens", [0, 5, 20, 100, 500, 1500, None])
def test_the_figure_is_the_providers(estimate: str, max_tokens: int | None) -> None:
    provider = Provider()
    tokenizer = pf.RemoteTokenizer("own", provider, estimate=estimate)
    result = pf.render(ITEMS, tokenizer=tokenizer, max_tokens=max_tokens)
    check(result, provider)
    assert (result.tokenizer, result.exact) == ("own", True)
    assert result.manifest["tokenizer"]["name"] == "own"
    codes = [warning.code for warning in result.warnings]
    assert codes.count("PF503") == 1 and codes.count("PF501") == 0
    if max_tokens is not None and max_tokens >= 500:
        assert result.tokens >= 0.9 * max_tokens


@cases(60, shrink=False)
@given(
    st.lists(TEXT, min_size=1, max_size=4),
    st.integers(0, 400),
    st.sampled_from([0.1, 0.9, 1.0, 1.7, 3.0]),
    st.integers(0, 60),
    st.sampled_from(["score", "value", "even", "stop"]),
    st.booleans(),
)
def test_never_above_the_budget(
    texts: list[str], max_tokens: int, times: float, frame: int, packing: Any, required: bool
) -> None:
    provider = Provider(times, frame)
    items = [{"content": text, "required": required and n == 0} for n, text in enumerate(texts)]
    tokenizer = pf.RemoteTokenizer("own", provider)
    try:
        result = pf.render(items, tokenizer=tokenizer, max_tokens=max_tokens, packing=packing)
    except pf.BudgetError:
        assert required and len(provider.asked) <= 4
    else:
        check(result, provider)


def test_what_is_required_is_in_where_only_the_estimate_is_too_high() -> None:
    items = [{"content": "word " * 100, "required": True}]
    provider = Provider(times=1.0)
    needed = provider.true(pf.render(items, max_tokens=None).text)
    tokenizer = pf.RemoteTokenizer("own", provider, estimate="cl100k_base*2")
    result = pf.render(items, tokenizer=tokenizer, max_tokens=needed)
    assert result.tokens == needed == result.max_tokens
    with pytest.raises(pf.BudgetError):
        pf.render(items, tokenizer=tokenizer, max_tokens=needed // 4)


def test_the_same_items_ask_once_and_give_the_same_text_whatever_came_before() -> None:
    provider = Provider()
    renderer = pf.Renderer(tokenizer=pf.RemoteTokenizer("own", provider), max_tokens=300)
    one = renderer.render(ITEMS)
    asked = len(provider.asked)
    renderer.render([{"content": "漢字" * 999}])
    more = len(provider.asked)
    assert renderer.render(ITEMS).text == one.text and len(provider.asked) == more > asked
    assert renderer.render(ITEMS).warnings == one.warnings
    fresh = pf.render(ITEMS, tokenizer=pf.RemoteTokenizer("own", Provider()), max_tokens=300)
    assert fresh.text == one.text and fresh.tokens == one.tokens


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_a_provider_that_finds_everything_too_long(calls: int) -> None:
    provider = Provider(frame=5000)
    tokenizer = pf.RemoteTokenizer("own", provider, calls=calls, exact=False)
    result = pf.render(ITEMS, tokenizer=tokenizer, max_tokens=300)
    assert (result.text, result.tokens, result.exact) == ("", 0, False)
    assert len(provider.asked) <= calls
    assert {"PF503", "PF501"} <= {warning.code for warning in result.warnings}


@pytest.mark.parametrize("answer", [-1, 2.5, None, RuntimeError("no\nnetwork")])
def test_a_provider_that_does_not_count_is_named(answer: object) -> None:
    def count(text: str) -> int:
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]

    with pytest.raises(pf.TokenizerError, match=r'^tokenizer "own": count\(\)'):
        pf.render(ITEMS, tokenizer=pf.RemoteTokenizer("own", count))
    with pytest.raises(pf.TokenizerError, match="unknown tokenizer"):
        pf.RemoteTokenizer("own", len, estimate="nope")


class Endpoint(BaseHTTPRequestHandler):
    """The endpoint POST /v1/messages/count_tokens of Anthropic's API."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        [message] = body["messages"]
        assert (self.path.partition("?")[0], message["role"]) == (
            "/v1/messages/count_tokens",
            "user",
        )
        assert body["model"] and self.headers["anthropic-version"]
        assert "made-up" in (
            self.headers["x-api-key"] or self.headers["authorization"]
        )  # as its versions have it
        provider: Provider = self.server.provider  # type: ignore[attr-defined]
        data = json.dumps({"input_tokens": provider(message["content"])}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[tuple[str, Provider]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    provider = server.provider = Provider()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", provider
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_the_official_client_of_anthropic(
    endpoint: tuple[str, Provider], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anthropic = pytest.importorskip("anthropic")
    for name in [
        name
        for name in os.environ
        if name.startswith(("ANTHROPIC", "XDG")) or name.lower().endswith("proxy")
    ]:
        monkeypatch.delenv(name)
    monkeypatch.setenv(
        "HOME", str(tmp_path)
    )  # whatever is set up for its real user is none of this test's business
    url, provider = endpoint
    with anthropic.Anthropic(base_url=url, api_key="made-up", max_retries=0) as client:

        def count(text: str) -> int:
            messages = [{"role": "user", "content": text}]
            return int(
                client.messages.count_tokens(model="claude-opus-5", messages=messages).input_tokens
            )

        tokenizer = pf.RemoteTokenizer("claude-opus-5", count, estimate="approximate-claude")
        result = pf.render(ITEMS, profile="claude", tokenizer=tokenizer, max_tokens=1000)
    check(result, provider)
    assert 900 <= result.tokens <= 1000 and 1 <= len(provider.asked) <= 4


@cases(40, shrink=False)
@given(
    st.integers(0, 900),
    st.sampled_from([0.3, 0.9, 1.3, 2.2]),
    st.integers(0, 90),
    st.integers(1, 4),
)
def test_what_is_remembered_changes_nothing(
    max_tokens: int, times: float, frame: int, calls: int
) -> None:
    provider = Provider(times, frame)
    renderer = pf.Renderer(
        tokenizer=pf.RemoteTokenizer("own", provider, calls=calls), max_tokens=max_tokens
    )
    one, other = renderer.render(ITEMS), renderer.render(ITEMS)
    assert (one.text, one.tokens, one.warnings) == (other.text, other.tokens, other.warnings)
    check(one, provider, calls)
