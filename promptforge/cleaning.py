"""Content on its way into a page: what a syntax cannot carry is replaced, what could pass for its frame is marked."""

from __future__ import annotations

import re
from typing import NamedTuple

from .controls import Controls
from .escaping import INVISIBLE, SURROGATE, XML_ILLEGAL
from .safe import Content

VERBATIM = "verbatim"
"""The syntax of what is printed as it is, between tags."""
FENCE_CAP = 24
"""Backticks, and tildes, of a fence at the most: a longer one would cost more than it is worth."""

_KNOWN = bytes((9, 10, 13, *range(32, 127), *"\ufffd".encode()))
"""ASCII without what could move the cursor of a terminal or send it a command."""
TURNS = (
    *(
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
        "<|eot_id|>",
        "<|start_header_id|>",
        "<|start|>",
        "<|channel|>",
    ),
    *(
        "<|message|>",
        "<|system|>",
        "<|user|>",
        "<|assistant|>",
        "[INST]",
        "[/INST]",
        "<<SYS>>",
        "<start_of_turn>",
    ),
    *(
        "<end_of_turn>",
        "<|turn>",
        "<\uff5cUser\uff5c>",
        "<\uff5cAssistant\uff5c>",
        "<tool_call>",
        "<think>",
    ),
    *("\n\nHuman:", "\n\nAssistant:", "### Instruction:"),
)
"""What begins or ends turns, thoughts and calls in the texts that well-known families of LLMs were trained on."""
_SIGNS = "|\uff5cYN#<HA"
_BY_SIGN = {
    sign: [m for m in TURNS if sign == next(s for s in _SIGNS if s in m)] for sign in _SIGNS
}
"""By a sign that most texts lack, which is found much faster."""
_UNSEEN = re.compile(INVISIBLE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b\x0c\x0e-\x1f"))
_LONE_CR = re.compile("\r(?!\n)")


def longest_run(text: str, mark: str) -> int:
    """Return the length of the longest run of the character `mark` in `text`, 0 where no run reaches three."""
    if mark not in text or mark * 3 not in text:  # one character is found much faster than three
        return 0
    return max(map(len, re.findall(re.escape(mark) + "{3,}", text)))


class Cleaned(NamedTuple):
    """Content ready for one syntax, and what had to be changed or noticed: (code, message) pairs."""

    text: Content
    notes: tuple[tuple[str, str], ...]
    apart: int = 0
    """How many control tokens were written apart."""


def _prefix(match: re.Match[str]) -> str:
    return f"| {match[0]}"


def clean(
    text: str, syntax: str, frame: re.Pattern[str] | None = None, controls: Controls | None = None
) -> Cleaned:
    """Return `text` as content of `syntax`, with a note for each change.

    `frame` matches, in plain text, a whole line that could be taken for a line of the template; such lines get the
    prefix `| `. What a syntax cannot carry becomes U+FFFD; a carriage return alone, which Markdown and XML read as a
    line end, becomes one. With `controls` their tokens are written apart.
    """
    notes: list[tuple[str, str]] = []
    apart = 0
    body, simple = text, text.isascii()
    if not simple:
        body, count = SURROGATE.subn("\ufffd", body)
        if count:
            notes.append(("PF302", f"lone surrogates replaced by U+FFFD: {count:,}"))
        if seen := len(_UNSEEN.findall(body)):
            notes.append(
                ("PF702", f"invisible or direction-changing characters in the content: {seen:,}")
            )
    if "\r" in body and syntax not in ("json", VERBATIM):
        body, count = _LONE_CR.subn("\n", body)
        if count:
            notes.append(
                ("PF303", f"carriage returns without a line feed that became line ends: {count:,}")
            )
    if syntax == "xml":
        body, count = XML_ILLEGAL.subn("\ufffd", body)
        if count:
            notes.append(
                ("PF302", f"characters that XML cannot carry, replaced by U+FFFD: {count:,}")
            )
    elif syntax == "md" and "\x00" in body:
        notes.append(("PF302", f"NUL characters replaced by U+FFFD: {body.count(chr(0)):,}"))
        body = body.replace("\x00", "\ufffd")
    if simple and body.encode().translate(None, _KNOWN):
        notes.append(("PF703", "terminal control characters are in the content"))
    if controls is not None:
        body, apart = controls.write_apart(body)
    elif found := [
        mark for sign, marks in _BY_SIGN.items() if sign in body for mark in marks if mark in body
    ]:
        found.sort(key=TURNS.index)
        shown = ", ".join(mark.strip() for mark in found[:3]) + (" …" if len(found) > 3 else "")
        notes.append(
            ("PF707", f"what some LLMs are told of turns or tools by is in the content: {shown}")
        )
    if syntax == "md":
        if longest_run(body, "`") >= FENCE_CAP and longest_run(body, "~") >= FENCE_CAP:
            notes.append(
                (
                    "PF305",
                    "each line was prefixed, since runs of both fence marks in it are too long to outdo",
                )
            )
            body = re.sub("^", "| ", body, flags=re.MULTILINE)
    elif frame is not None:  # of plain text alone
        body, count = frame.subn(_prefix, body)
        if count:
            notes.append(
                (
                    "PF304",
                    f"lines that could be taken for lines of the frame, prefixed with '| ': {count:,}",
                )
            )
    return Cleaned(Content(body), tuple(notes), apart)
