"""Cleaning: the long text of an item → content that one syntax can carry, with notes on changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ..text.escape import SURROGATE, Content, count_invisible
from ..text.format import plural
from .syntax import Syntax

if TYPE_CHECKING:
    from ..text.control_tokens import ControlTokens
    from ..text.delimiters import TemplateLines


_HARMLESS_BYTES = bytes((9, 10, 13, *range(32, 127), *"\ufffd".encode()))
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


class CleanedContent(NamedTuple):
    """Content ready for one syntax, with notes on changes: (code, message) pairs."""

    text: Content
    notes: tuple[tuple[str, str], ...]
    broken: int = 0
    """Number of control tokens that were broken up."""


def clean_content(
    text: str,
    syntax: Syntax,
    template_lines: TemplateLines | None = None,
    controls: ControlTokens | None = None,
    head: str = "",
) -> CleanedContent:
    """Return `text` as content of `syntax`, with a note for each change.

    Characters that the syntax cannot carry become U+FFFD. A lone carriage return becomes a line
    feed, because Markdown and XML read it as one. In plain text, a line that could be taken for one
    of `template_lines` gets the prefix `| `, but for a `head` that the text begins with: the marker
    of a text that is shortened. With `controls`, control tokens are broken up.
    """
    notes: list[tuple[str, str]] = []
    body = _carriable(text, syntax, notes)
    broken = 0
    if controls is not None:
        body, broken = controls.break_up(body)
    elif found := [
        token
        for char, tokens in _BY_CHARACTER.items()
        if char in body
        for token in tokens
        if token in body
    ]:
        found.sort(key=TURNS.index)
        listed = ", ".join([token.strip() for token in found[:3]] + ["…"] * (len(found) > 3))
        said = f"content contains chat-template tokens: {listed}. They are plain text here;"
        notes.append(("PF707", f"{said} --control-text escape breaks them up"))
    if not syntax.can_frame(body):
        notes.append(("PF305", "each line is prefixed with '| ': no fence is long enough"))
        body = re.sub("(?m)^", "| ", body)
    elif template_lines is not None:
        start = len(head) if head and body.startswith(head) else 0
        rest, count, unusual = template_lines.mark(body[start:])
        body = body[:start] + rest
        if count:
            said = plural(count, "line looks like a line", "lines look like lines")
            said += " of the template; prefixed with '| '"
            if unusual:
                codes = ", ".join(f"U+{ord(char):04X}" for char in unusual[:3])
                said += f"; disguised by {codes}{', …' * (len(unusual) > 3)}"
            notes.append(("PF304", said))
    return CleanedContent(Content(body), tuple(notes), broken)


def _carriable(body: str, syntax: Syntax, notes: list[tuple[str, str]]) -> str:
    """Replace the characters that the syntax cannot carry; note these and invisible ones."""
    counts: list[tuple[str, str, int]] = []
    was_ascii = body.isascii()
    if not was_ascii:
        body, count = SURROGATE.subn("\ufffd", body)
        counts.append(("PF302", "lone surrogates replaced by U+FFFD", count))
        invisible = count_invisible(body)
        what = "invisible or direction-changing characters in the content"
        counts.append(("PF702", what, invisible))
    if "\r" in body and not syntax.keeps_returns:
        body, count = re.subn("\r(?!\n)", "\n", body)
        counts.append(("PF303", "lone carriage returns that became line ends", count))
    if syntax.uncarried is not None:
        pattern, what = syntax.uncarried
        body, count = pattern.subn("\ufffd", body)
        counts.append(("PF302", what, count))
    if counts:
        notes += [(code, f"{what}: {count:,}") for code, what, count in counts if count]
    # Deleting the harmless bytes is the fastest search for any other; U+FFFD is from above.
    if was_ascii and body.encode().translate(None, _HARMLESS_BYTES):
        notes.append(("PF703", "terminal control characters are in the content"))
    return body
