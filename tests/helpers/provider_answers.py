"""Answers of providers' libraries as they come back, and the prompt that goes on from them."""

from __future__ import annotations

from typing import Any

from provider_rules import Data

import promptforge as pf
from promptforge.prompts.providers import ShapeName

RENDERER = pf.Renderer(max_tokens=None)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def prompt(history: Any, to: ShapeName, **given: Any) -> pf.Prompt:
    return RENDERER.prompt(history=history, to=to, **given)


THOUGHT = {"type": "thinking", "thinking": "I search, then look.", "signature": "c2lnbmVk" * 20}
CITED = {
    "type": "text",
    "text": "tar saves files.",
    "citations": [
        {
            "type": "web_search_result_location",
            "url": "https://a.example",
            "title": "tar",
            "encrypted_index": "RW5j",
            "cited_text": "saves",
        }
    ],
}
FIRST: list[Data] = [
    THOUGHT,
    {"type": "redacted_thinking", "data": "aGlkZGVu" * 9},
    {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "tar"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srv1",
        "content": [
            {
                "type": "web_search_result",
                "title": "tar",
                "url": "https://a.example",
                "encrypted_content": "Y29udGVudA==",
                "page_age": None,
            }
        ],
    },
    CITED,
    {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"path": "a", "n": None}},
]
OUTPUT: list[Data] = [
    {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "Z0FBQUFB" * 9},
    {
        "id": "fc_1", "type": "function_call", "status": "completed", "call_id": "c1",
        "name": "look", "arguments": '{"path":"a"}',
    },
    {"id": "rs_2", "type": "reasoning", "summary": [], "encrypted_content": "b3RoZXI=" * 9},
    {
        "id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "c2",
        "name": "run", "input": "ls -l",
    },
]  # fmt: skip
LAST: list[Data] = [
    {"id": "rs_3", "type": "reasoning", "summary": [], "encrypted_content": "bGFzdA==" * 9},
    {
        "id": "msg_3", "type": "message", "status": "completed", "role": "assistant",
        "content": [
            {"type": "output_text", "text": "x is 1", "annotations": [], "logprobs": []},
            {"type": "output_text", "text": "and y is 2", "annotations": [], "logprobs": []},
        ],
    },
]  # fmt: skip
PARTS: list[Data] = [
    {"text": "I look.", "thought": True},
    {
        "functionCall": {"name": "look", "args": {"path": "a", "n": None}},
        "thoughtSignature": "AbC/+w==",
    },
    {"functionCall": {"name": "look", "args": {"path": "b"}}},
]
