"""A server on this machine that refuses what the providers refuse, by their documented rules.

It gives the answers that a test hands it, remembers all it has signed, and answers 400 with the
provider's own words to a request that breaks a rule.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Data = dict[str, Any]


class RuleServer(ThreadingHTTPServer):
    """One provider at a time: the path of a request tells which."""

    def __init__(self, answers: list[Data]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.got: list[Data] = []
        self.signed: list[Data] = []
        """Blocks that no client may change."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: RuleServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        rule = next(rule for path, rule in RULES.items() if path in self.path)
        problem = rule(body, self.server.signed)
        if problem:
            answer: Data = {"error": {"type": "invalid_request_error", "message": problem}}
        else:
            self.server.got.append(body)
            answer = self.server.answers.pop(0)
            self.server.signed += [*signed_blocks(answer), ties(answer)]
            if rule is anthropic:
                self.server.signed.append({"bound": bound_thoughts(body, answer)})
        text = json.dumps(answer).encode()
        self.send_response(400 if problem else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def serving(answers: list[Data]) -> Iterator[RuleServer]:
    """Serve the answers, one for each request that keeps the rules."""
    with RuleServer(answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:  # a test that fails must not leave a thread that the process waits for
            server.shutdown()
            thread.join()


STAND_IN = "skip_thought_signature_validator"
"""Google documents it for calls that Gemini did not make."""
SIGNED_KEYS = {"signature", "encrypted_content", "thoughtSignature", "redactedContent"}


def walk(value: Any) -> Iterator[Data]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for member in value:
            yield from walk(member)


def signed_blocks(answer: Any) -> list[Data]:
    return [block for block in walk(answer) if block.keys() & SIGNED_KEYS or is_redacted(block)]


def ties(given: Any) -> Data:
    """Return the id of an item → the id of the thought before it, as OpenAI remembers them."""
    tied: Data = {}
    for value in walk({"all": given}):
        for items in (member for member in value.values() if isinstance(member, list)):
            thought = None
            for item in (each for each in items if isinstance(each, dict)):
                if item.get("type") == "reasoning":
                    thought = item["id"]
                elif item.get("role") == "user":
                    thought = None
                elif thought and "id" in item:
                    tied[item["id"]] = thought
    return {"tied": tied}


def bound_thoughts(body: Data, answer: Data | None = None) -> Data:
    """Return the signature of each thought of Claude → all that stood before it."""
    messages = list(body["messages"])
    if answer is not None:
        messages.append({"role": "assistant", "content": answer["content"]})
    before = [[body.get("system"), body.get("tools")]]
    bound = {}
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in content:
            sign = block.get("signature", block.get("data"))
            if block["type"] in ("thinking", "redacted_thinking"):
                bound[sign] = json.dumps(before)
            before.append([message["role"], {**block, "cache_control": None}])
    return bound


def is_redacted(block: Data) -> bool:
    return block.get("type") == "redacted_thinking"


def changed(body: Data, signed: list[Data]) -> str | None:
    for block in signed_blocks(body):
        if block not in signed and STAND_IN not in block.values():
            return f"Invalid signature in block: {json.dumps(block)[:200]}"
    return None


def anthropic(body: Data, signed: list[Data]) -> str | None:
    """Messages: signatures, the place of thoughts, and tools with their results."""
    contents = [
        [{"type": "text", "text": m["content"]}] if isinstance(m["content"], str) else m["content"]
        for m in body["messages"]
    ]
    roles = [message["role"] for message in body["messages"]]
    if roles[0] != "user":
        return 'messages: first message must use the "user" role'
    for n, (role, content) in enumerate(zip(roles, contents, strict=True)):
        if role == "assistant" and content[-1]["type"] in ("thinking", "redacted_thinking"):
            return f"messages.{n}: The final block in an assistant message cannot be `thinking`."
        if any(b["type"] == "text" and not b["text"].strip() for b in content):
            return f"messages.{n}: text content blocks must contain non-whitespace text"
        calls = {b["id"] for b in content if b["type"] == "tool_use"}
        after = contents[n + 1] if n + 1 < len(contents) else []
        results = {b["tool_use_id"] for b in after if b["type"] == "tool_result"}
        if calls - results:
            return f"messages.{n}: `tool_use` ids were found without `tool_result` blocks"
        if results - calls:
            return f"messages.{n + 1}: unexpected `tool_use_id` found in `tool_result` blocks"
    if problem := server_tools(roles, contents):
        return problem
    if body.get("thinking", {}).get("type") == "adaptive":
        made = {k: v for each in signed for k, v in each.get("bound", {}).items()}
        for sign, before in bound_thoughts(body).items():
            if before != made.get(sign, before):
                return "Invalid `signature` in `thinking` block. It is bound to a different conversation."
    if (
        body.get("thinking", {}).get("type") == "enabled"
        and contents[-1][0]["type"] == "tool_result"
    ):
        last = contents[max(n for n, role in enumerate(roles) if role == "assistant")]
        if last[0]["type"] not in ("thinking", "redacted_thinking"):
            return "Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    return changed(body, signed)


def server_tools(roles: list[str], contents: list[list[Data]]) -> str | None:
    """Calls of Anthropic's own tools have results, but for a turn that Anthropic goes on with.

    A paused turn stays the last message. Where a tool of the client was called too, only its
    results may follow; the server's own come first in the next answer.
    """
    waiting: set[str] = set()
    for n, (role, content) in enumerate(zip(roles, contents, strict=True)):
        if role == "user" and waiting and any(b["type"] != "tool_result" for b in content):
            return f"messages.{n - 1}: server tools without results: {sorted(waiting)}"
        for block in content:
            if block["type"] in ("server_tool_use", "mcp_tool_use"):
                waiting.add(block["id"])
            elif block["type"].endswith("_tool_result"):  # web_search_tool_result and its like
                if block["tool_use_id"] not in waiting:
                    return f"messages.{n}: a result of a server tool without its call"
                waiting.discard(block["tool_use_id"])
    return None


def chat(body: Data, signed: list[Data]) -> str | None:
    """Chat completions: every call is answered at once, every answer has its call."""
    waiting: set[str] = set()
    for n, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"messages.[{n}].role: messages with role 'tool' must be a response"
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            return f"tool_call_ids did not have response messages: {sorted(waiting)}"
        waiting = {call["id"] for call in message.get("tool_calls") or ()}
        said = any(message.get(key) for key in ("content", "refusal", "audio"))
        if message["role"] == "assistant" and not (waiting or said):
            return f"messages.[{n}].content: expected a string, got null"
    return f"no response messages: {sorted(waiting)}" if waiting else changed(body, signed)


def responses(body: Data, signed: list[Data]) -> str | None:
    """Responses: thoughts with the items they belong to, calls with their outputs."""
    items = body["input"]
    outputs = {i["call_id"] for i in items if i.get("type", "").endswith("_call_output")}
    calls = {i["call_id"] for i in items if i.get("type", "").endswith("_call") and "call_id" in i}
    if calls - outputs:
        return f"No tool output found for function call {sorted(calls - outputs)}."
    if outputs - calls:
        return f"No tool call found for function call output {sorted(outputs - calls)}."
    tied = {id_: thought for each in signed for id_, thought in each.get("tied", {}).items()}
    seen = set()
    for n, item in enumerate(items):
        kind, id_ = item.get("type"), item.get("id", "")
        seen.add(id_)
        after = items[n + 1].get("id", "") if n + 1 < len(items) else ""
        if kind == "reasoning" and not after.startswith(
            ("msg_", "fc_", "ctc_", "ws_", "cu_", "ci_", "ig_")
        ):
            return f"Item '{id_}' of type 'reasoning' was provided without its required following item."
        # Calls of one answer share the thought before the first of them.
        if id_ in tied and tied[id_] not in seen:
            return (
                f"Item '{id_}' was provided without its required 'reasoning' item: '{tied[id_]}'."
            )
    return changed(body, signed)


def gemini(body: Data, signed: list[Data]) -> str | None:
    """Contents: signed calls in the current turn, and as many responses as calls."""
    contents = body["contents"]
    if contents[0]["role"] != "user":
        return "Please ensure that the conversation begins with a user turn"
    begin = max(
        (n for n, c in enumerate(contents) if c["role"] == "user" and "text" in c["parts"][0]),
        default=0,
    )
    for n, content in enumerate(contents):
        calls = [part for part in content["parts"] if "functionCall" in part]
        after = contents[n + 1]["parts"] if n + 1 < len(contents) else []
        results = [part for part in after if "functionResponse" in part]
        if len(calls) != len(results):
            return "the number of function response parts must equal that of function call parts"
        if calls and n > begin and not calls[0].keys() & {"thoughtSignature", "thought_signature"}:
            return "Function call is missing a thought_signature in functionCall parts."
    return changed(body, signed)


def bedrock(body: Data, signed: list[Data]) -> str | None:
    """Converse has Anthropic's rules in blocks of its own."""

    def renamed(block: Data) -> Data:
        [(kind, inner)] = block.items()
        if kind == "toolUse":
            return {"type": "tool_use", "id": inner["toolUseId"]}
        if kind == "toolResult":
            return {"type": "tool_result", "tool_use_id": inner["toolUseId"]}
        known = {"reasoningContent": "thinking", "text": "text"}
        return {"type": known.get(kind, kind), "text": inner}

    messages = [
        {**message, "content": list(map(renamed, message["content"]))}
        for message in body["messages"]
    ]
    return anthropic({**body, "messages": messages}, signed) or changed(body, signed)


RULES = {
    "/converse": bedrock,
    "/v1/messages": anthropic,
    "/chat/completions": chat,
    "/responses": responses,
    ":generateContent": gemini,
}
