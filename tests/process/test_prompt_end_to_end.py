"""A bot, end to end: a job in XML, its explicit knowledge, the prompt, and what an LLM's server
gets of it.

The official libraries of OpenAI and Anthropic send the prompt to a server of this test's own, which
records it.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from places import DATA

import promptforge as pf
from promptforge.errors import Diagnostics, ItemError
from promptforge.model import Item
from promptforge.prompts.providers import ShapeName
from promptforge.sources import man
from promptforge.sources.gather import SourceRequest, gather
from promptforge.sources.jobs import load_job

SYSTEM = "You are a security assistant. Answer from the knowledge below."
QUESTION = "How do I archive files with tar?"
FOUND = {
    "content": "Archives found by a search.",
    "kind": "document",
    "name": "search.md",
    "origin": "similarity",
}
ANSWERS = {
    "/v1/chat/completions": {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "use tar -cf"},
            }
        ],
    },
    "/v1/messages": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "content": [{"type": "text", "text": "use tar -cf"}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "/v1/messages/count_tokens": {"input_tokens": 4321},
}


class Server(ThreadingHTTPServer):
    """Answers every request as its path asks for, and keeps what it got."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        body = json.dumps(ANSWERS[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> list[Item]:
    try:
        man.load_man_page("tar")
    except ItemError as error:
        pytest.skip(f"this machine has no manual page of tar: {error}")
    folder = tmp_path_factory.mktemp("bot")
    (folder / "guide.md").write_text(
        "# Archives\n\nArchive with care. " + "Keep backups. " * 60, encoding="utf-8"
    )
    job = folder / "bot.xml"
    job.write_text(
        "<bot><name>helper</name><context><man_pages><man_page>tar</man_page></man_pages>"
        "<documents><document>guide.md</document></documents>"
        "<mitre_techniques><mitre_technique>T9001</mitre_technique></mitre_techniques></context></bot>",
        encoding="utf-8",
    )
    found = load_job(job)
    wanted = SourceRequest(
        man_pages=found.man_pages,
        documents=found.documents,
        techniques=found.mitre_techniques,
        attack=str(DATA / "bundle.json"),
        workspace=str(folder),
    )
    items = gather(wanted, Diagnostics())
    assert [item.kind for item in items] == ["man_page", "document", "mitre_attack"]
    return items


def prompt(items: list[Any], to: ShapeName, **options: Any) -> pf.Prompt:
    renderer = pf.Renderer(
        profile="knowledge-long", context_window=20000, reserve=1000, system_role="system"
    )
    return renderer.prompt(items, system=SYSTEM, user=QUESTION, to=to, **options)


HEADINGS = [
    "Explicit Knowledge Sources - Man Pages:",
    "Explicit Knowledge Sources - Documents:",
    "Explicit Knowledge Sources - MITRE ATT&CK Techniques:",
]


def send_to_openai(server: Server, made: pf.Prompt) -> tuple[str | None, dict[str, Any]]:
    openai = pytest.importorskip("openai", reason="the library of OpenAI is not installed")
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        answer = client.chat.completions.create(model="m", **made.request)
    return answer.choices[0].message.content, server.got[-1]


def send_to_anthropic(server: Server, made: pf.Prompt) -> tuple[str, dict[str, Any]]:
    anthropic = pytest.importorskip("anthropic", reason="the library of Anthropic is not installed")
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        answer = client.messages.create(model="m", max_tokens=100, **made.request)
    return answer.content[0].text, server.got[-1]


def user_text(messages: Any) -> str:
    """Return the texts of the user's message, the question last."""
    return "\n\n".join(part["text"] for part in messages[1]["content"])


@pytest.mark.slow
def test_openai_gets_the_prompt_with_all_that_the_job_names(
    knowledge: list[Item], server: Server
) -> None:
    made = prompt(knowledge, "openai")
    answer, got = send_to_openai(server, made)
    assert answer == "use tar -cf"
    assert got == {"model": "m", "messages": list(made)}
    system, user = got["messages"]
    assert system == {"role": "system", "content": SYSTEM}
    context, question = (part["text"] for part in user["content"])
    places = [context.index(heading) for heading in HEADINGS]
    assert places == sorted(places)
    assert "Source: man page 'tar'" in context and "Source: document 'guide.md'" in context
    assert question == QUESTION
    assert made.context is not None and made.context.has_explicit


@pytest.mark.slow
def test_anthropic_gets_the_same_in_blocks(knowledge: list[Item], server: Server) -> None:
    made = prompt(knowledge, "anthropic", cache_after=["context"])
    answer, got = send_to_anthropic(server, made)
    assert answer == "use tar -cf"
    assert got["system"] == [{"type": "text", "text": SYSTEM}]
    context, question = got["messages"][0]["content"]
    assert all(heading in context["text"] for heading in HEADINGS)
    assert context["cache_control"] == {"type": "ephemeral"} and question["text"] == QUESTION


@pytest.mark.slow
def test_the_providers_own_count_is_asked_over_the_wire(
    knowledge: list[Item], server: Server
) -> None:
    anthropic = pytest.importorskip("anthropic", reason="the library of Anthropic is not installed")
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:

        def verify(request: dict[str, Any]) -> int:
            return int(client.messages.count_tokens(model="m", **request).input_tokens)

        made = prompt(knowledge, "anthropic", verify=verify)
    assert (made.tokens, made.exact) == (4321, True)
    assert server.got[-1]["messages"] == list(made)


def test_without_knowledge_the_prompt_goes_as_it_did_before(server: Server) -> None:
    made = prompt([], "openai")
    _, got = send_to_openai(server, made)
    assert got["messages"] == [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": QUESTION},
    ]
    found = prompt([FOUND], "openai")
    assert "Archives found by a search." in user_text(found)
    assert not any(heading in user_text(found) for heading in HEADINGS)


@pytest.mark.parametrize(
    ("combine", "explicit", "similarity"),
    [
        ("explicit_only", True, False),
        ("explicit_first", True, False),
        ("combined", True, True),
        ("similarity_fallback", True, False),
    ],
)
def test_the_modes_reach_the_llm(
    knowledge: list[Item], server: Server, combine: str, explicit: bool, similarity: bool
) -> None:
    _, got = send_to_openai(server, prompt([*knowledge, FOUND], "openai", combine=combine))
    text = user_text(got["messages"])
    assert ("Source: man page 'tar'" in text, "Archives found by a search." in text) == (
        explicit,
        similarity,
    )


def test_what_is_too_long_is_cut_with_its_sources_kept_and_logged(
    knowledge: list[Item], server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="promptforge"):
        made = prompt(knowledge, "openai", max_chars=2500, packing="even", query=None)
    _, got = send_to_openai(server, made)
    text = user_text(got["messages"])
    assert made.context is not None and len(made.context.text) <= 2500
    for source in (
        "Source: man page 'tar'",
        "Source: document 'guide.md'",
        "Source: MITRE ATT&CK T9001",
    ):
        assert source in text
    assert "[Content truncated...]" in text and text.endswith(QUESTION)
    assert [r.getMessage() for r in caplog.records if "PF111" in r.getMessage()] == [
        f"{d.message} [PF111]" for d in made.warnings if d.code == "PF111"
    ]
    assert len([r for r in caplog.records if "PF111" in r.getMessage()]) == 1, (
        "logged once, not once a fitting"
    )


def test_a_context_alone_is_logged_too_and_nothing_is_printed(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG, logger="promptforge"):
        pf.render([{"content": "x"}, {"contnt": "y"}])
    assert [(r.name, r.levelname, r.getMessage().split()[0]) for r in caplog.records] == [
        *(("promptforge", "DEBUG", stage) for stage in ("selected", "packed", "printed")),
        ("promptforge", "WARNING", "items[1]:"),
    ]
    (printed,) = [r.getMessage() for r in caplog.records if "printed" in r.getMessage()]
    assert re.fullmatch(
        r"printed 1 items: \d+ tokens, 23 characters \(chunks, markdown\), \d+\.\d ms", printed
    )
    assert any("items[1]: record skipped" in r.getMessage() for r in caplog.records)
    assert any(
        isinstance(handler, logging.NullHandler)
        for handler in logging.getLogger("promptforge").handlers
    )
    assert capfd.readouterr() == ("", "")
