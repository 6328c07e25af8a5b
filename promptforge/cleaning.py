"""Cleaning: content of an item → content that one syntax can carry and nobody takes for its own."""

from __future__ import annotations

import re
from typing import NamedTuple

from .controls import Controls
from .escaping import INVISIBLE, SURROGATE, XML_ILLEGAL
from .safe import Content
from .wording import plural

VERBATIM = "verbatim"
"""The syntax of content between delimiters: it is printed as it is."""
FENCE_CAP = 24
"""Longest fence, in backticks or tildes: a longer one costs more than it is worth."""

_HARMLESS_BYTES = bytes((9, 10, 13, *range(32, 127)))
"""ASCII without the characters that move the cursor of a terminal or send it a command."""
TURNS = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|start|>",
    "<|channel|>", "<|message|>", "<|system|>", "<|user|>", "<|assistant|>", "[INST]", "[/INST]",
    "<<SYS>>", "<start_of_turn>", "<end_of_turn>", "<|turn>", "<\uff5cUser\uff5c>",
    "<\uff5cAssistant\uff5c>", "<tool_call>", "<think>", "\n\nHuman:", "\n\nAssistant:",
    "### Instruction:",
)  # fmt: skip
"""Chat-template tokens of well-known families of LLMs: they begin or end turns, thoughts, calls."""
# Searching 24 tokens in each content is slow. A single character is found much faster, so each
# token is filed under a character that most texts lack, and is searched only where that stands.
_RARE_CHARACTERS = "|\uff5cYN#<HA"
_BY_CHARACTER: dict[str, list[str]] = {}
for _token in TURNS:
    _rare = next(char for char in _RARE_CHARACTERS if char in _token)
    _BY_CHARACTER.setdefault(_rare, []).append(_token)
# Tab, line feed and carriage return are invisible in labels, but not in contents.
_UNSEEN = re.compile(INVISIBLE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b\x0c\x0e-\x1f"))
_LONE_CR = re.compile("\r(?!\n)")
_LINE_START = re.compile("^", re.MULTILINE)


def longest_run(text: str, mark: str) -> int:
    """Return the length of the longest run of the character `mark`; 0 if none reaches three."""
    if mark not in text or mark * 3 not in text:  # one character is found much faster than three
        return 0
    return max(map(len, re.findall(re.escape(mark) + "{3,}", text)))


class Cleaned(NamedTuple):
    """Content ready for one syntax, with notes on changes: (code, message) pairs."""

    text: Content
    notes: tuple[tuple[str, str], ...]
    apart: int = 0
    """Number of control tokens that were broken up."""


def clean(
    text: str, syntax: str, frame: re.Pattern[str] | None = None, controls: Controls | None = None
) -> Cleaned:
    """Return `text` as content of `syntax`, with a note for each change.

    Characters that the syntax cannot carry become U+FFFD; a lone carriage return becomes a line
    feed, because Markdown and XML read it as one. In plain text, each line that matches `frame`
    could be taken for a line of the template, and gets the prefix `| `. With `controls`, control
    tokens are broken up.
    """
    notes: list[tuple[str, str]] = []
    body = _carriable(text, syntax, notes)
    broken = 0
    if controls is not None:
        body, broken = controls.write_apart(body)
    elif found := _chat_tokens(body):
        notes.append(("PF707", _chat_tokens_message(found)))
    if syntax == "md":
        if longest_run(body, "`") >= FENCE_CAP and longest_run(body, "~") >= FENCE_CAP:
            notes.append(("PF305", "each line is prefixed with '| ': no fence is long enough"))
            body = _LINE_START.sub("| ", body)
    elif frame is not None:
        body, count = frame.subn(lambda match: f"| {match[0]}", body)
        if count:
            said = plural(count, "line looks like a line", "lines look like lines")
            notes.append(("PF304", f"{said} of the template; prefixed with '| '"))
    return Cleaned(Content(body), tuple(notes), broken)


def _carriable(body: str, syntax: str, notes: list[tuple[str, str]]) -> str:
    """Replace the characters that the syntax cannot carry; note these and invisible ones."""

    def replace(unwanted: re.Pattern[str], by: str, code: str, what: str) -> None:
        nonlocal body
        body, count = unwanted.subn(by, body)
        if count:
            notes.append((code, f"{what}: {count:,}"))

    was_ascii = body.isascii()
    if not was_ascii:
        replace(SURROGATE, "\ufffd", "PF302", "lone surrogates replaced by U+FFFD")
        if seen := len(_UNSEEN.findall(body)):
            what = "invisible or direction-changing characters in the content"
            notes.append(("PF702", f"{what}: {seen:,}"))
    if "\r" in body and syntax not in ("json", VERBATIM):
        what = "carriage returns without a line feed that became line ends"
        replace(_LONE_CR, "\n", "PF303", what)
    if syntax == "xml":
        what = "characters that XML cannot carry, replaced by U+FFFD"
        replace(XML_ILLEGAL, "\ufffd", "PF302", what)
    elif syntax == "md" and "\x00" in body:
        replace(_NUL, "\ufffd", "PF302", "NUL characters replaced by U+FFFD")
    # Deleting the harmless bytes is the fastest search for any other. U+FFFD from above is ignored.
    if was_ascii and body.encode("ascii", "ignore").translate(None, _HARMLESS_BYTES):
        notes.append(("PF703", "terminal control characters are in the content"))
    return body


_NUL = re.compile("\x00")


def _chat_tokens(text: str) -> list[str]:
    found = [
        token
        for char, tokens in _BY_CHARACTER.items()
        if char in text
        for token in tokens
        if token in text
    ]
    return sorted(found, key=TURNS.index)


def _chat_tokens_message(found: list[str]) -> str:
    shown = [token.strip() for token in found[:3]] + ["…"] * (len(found) > 3)
    return (
        f"content contains chat-template tokens: {', '.join(shown)}. They are plain text here;"
        " --control-text escape breaks them up"
    )
