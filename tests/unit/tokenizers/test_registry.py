"""The names of tokenizers, counters of the user's own, and what is loaded when."""

from __future__ import annotations

import base64
import json
import math
import os
import subprocess
import sys
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
from reference_encodings import (
    BUILT_IN,
)

import promptforge as pf
from promptforge.errors import TokenizerError
from promptforge.model import Result
from promptforge.tokenizers.registry import describe_tokenizer, get_tokenizer, list_tokenizers


@pytest.mark.slow
def test_nothing_is_loaded_before_a_text_is_counted_and_nothing_comes_from_outside() -> None:
    script = f"""
import sys
opened = []
def audit(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".bin"):
        opened.append(arguments[0])
    if event.startswith("socket."):
        raise SystemExit("network: " + event)
sys.addaudithook(audit)
from promptforge.tokenizers.registry import get_tokenizer
counters = [get_tokenizer(name) for name in {BUILT_IN!r}]
assert [counter.fingerprint for counter in counters]
assert "tiktoken" not in sys.modules and not opened
assert counters[0].count("hello world") == 2
assert "tiktoken" in sys.modules and len(opened) == 1
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_name_gives_one_counter_and_names_are_told_apart() -> None:
    assert all(get_tokenizer(name) is get_tokenizer(name) for name in BUILT_IN)
    assert len({get_tokenizer(name).fingerprint for name in BUILT_IN}) == len(BUILT_IN)
    assert {get_tokenizer(name).name for name in BUILT_IN} == set(BUILT_IN)
    assert {name for name in BUILT_IN if get_tokenizer(name).exact} == {
        "o200k_base",
        "cl100k_base",
        "characters",
    }
    assert get_tokenizer(get_tokenizer("characters")) is get_tokenizer("characters")


def test_descriptions_say_what_is_a_guess() -> None:
    for name, line in list_tokenizers():
        guess = name.startswith("approximate-") or name == "NAME*FACTOR"
        assert line.startswith("estimate: " if guess else "exact: ")
        assert describe_tokenizer(name)["exact"] is not guess


@pytest.mark.parametrize("name", ["o200k_bas", "gpx", "", "file", "O200K_BASE", "\x1b[2J\nforged"])
def test_an_unknown_name_says_what_there_is(name: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        get_tokenizer(name)
    message = str(caught.value)
    assert all(known in message for known, _ in list_tokenizers())
    assert "\n" not in message and "\x1b" not in message
    assert ('did you mean "o200k_base"?' in message) == (name == "o200k_bas")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-4o-mini", "o200k_base"), ("gpt-5.4", "o200k_base"), ("gpt-4-turbo", "cl100k_base"),
        ("cl1000k", "cl100k_base"), ("o20k", "o200k_base"),
        ("tiktoken", "o200k_base"), ("claude", "approximate-claude"), ("Qwen3", "approximate-qwen"),
    ],
)  # fmt: skip
def test_the_name_of_an_llm_says_whose_tokenizer_that_is(name: str, meant: str) -> None:
    with pytest.raises(TokenizerError, match=f'did you mean "{meant}"'):
        get_tokenizer(name)


def test_a_factor_is_part_of_the_name_and_of_the_fingerprint(tmp_path: Path) -> None:
    one, other = get_tokenizer("o200k_base*1.35"), get_tokenizer("o200k_base*1.36")
    assert one is get_tokenizer("o200k_base*1.350")
    assert (one.name, get_tokenizer("o200k_base*2.0").name) == ("o200k_base*1.35", "o200k_base*2")
    assert len({one.fingerprint, other.fingerprint, get_tokenizer("o200k_base").fingerprint}) == 3
    path = tmp_path / "own"
    path.write_bytes(
        b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    )
    assert get_tokenizer(f"file:{path}*1.5").count("abc") == 5
    result = pf.render([{"content": "one two three"}], tokenizer="o200k_base*1.5", max_tokens=50)
    assert result.tokens == math.ceil(1.5 * get_tokenizer("o200k_base").count(result.text)) <= 50
    assert result.manifest["tokenizer"]["name"] == result.tokenizer == "o200k_base*1.5"
    assert not result.exact and "PF501" in {warning.code for warning in result.warnings}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("o200k_base*0", "its factor is 0; write it as o200k_base*1.35"),
        ("o200k_base*1.2*1.2", "one factor is enough"),
        ("*1.2", 'unknown tokenizer "*1.2"'),
        ("o200k_bse*1.2", 'unknown tokenizer "o200k_bse"; did you mean "o200k_base"'),
        ("o200k_base*", 'unknown tokenizer "o200k_base*": "" is no factor'),
        (
            "o200k_base*x",
            '"x" is no factor, a number up to 9999 such as the 1.35 of o200k_base*1.35',
        ),
        ("o200k_base*-1", "unknown tokenizer"),
        ("o200k_base*1e9", "unknown tokenizer"),
        ("o200k_base*99999", "unknown tokenizer"),
        ("*1" * 5000, "one factor is enough"),
    ],
)
def test_a_factor_that_is_none_is_refused(name: str, reason: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        get_tokenizer(name)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 1000


# --- a provider's own count -----------------------------------------------------------------------

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
    st.sampled_from(["score", "value", "proportional", "stop"]),
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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a b!!",
        "end.\n\n",
        "x = 1\n    ",
        "!" * 3000,
        "word\r",
        "one\n" * 90_000 + "last }",
        "a" * 300_000,
    ],
)
def test_a_line_end_behind_a_text_is_counted_as_in_the_whole(text: str) -> None:
    for counter in (pf.get_tokenizer("o200k_base"), pf.get_tokenizer("o200k_base*1.35")):
        counted = counter.count_with_line_end(text, counter.count(text))
        assert counted == counter.count(f"{text}\n")


def test_the_guides_factor_covers_each_count_it_was_found_by() -> None:
    guide = Path(pf.__file__).with_name("cli").joinpath("README.md").read_text("utf-8")
    code = guide.partition("```python\nimport math\n")[2].partition("```")[0]
    assert "def find_factor" in code
    names: dict[str, Any] = {"math": math}
    exec(code, names)
    true = pf.get_tokenizer("cl100k_base")
    texts = [f"Text {n}: " + f"words that say {n} and no more. " * (n % 23) for n in range(60)]
    found = names["find_factor"]([(text, true.count(text) + 7) for text in texts], around=7)
    assert all(true.count(text) <= pf.get_tokenizer(found).count(text) for text in texts)
    result = pf.render([{"content": text} for text in texts], tokenizer=found, max_tokens=500)
    assert true.count(result.text) <= result.tokens <= 500
