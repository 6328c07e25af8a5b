"""What templates (PF4xx), tokenizers (PF5xx) and sources (PF6xx) make a rendering say."""

from __future__ import annotations

from .code import Code

CODES = {
    "PF401": Code(
        "error",
        "a template failed and the shipped one was used",
        "A template of yours does not compile or cannot print an item.",
        "{{ item.pth }}",
        "`promptforge check` names the place; exit code 5 says that it happened.",
    ),
    "PF402": Code(
        "warning",
        "an edit of a template was not taken",
        "The new files do not compile, or keep changing, so those of before are used.",
        "a tag left open while a server follows edits",
        "Correct the file that is named; `promptforge check` says what is wrong.",
    ),
    "PF501": Code(
        "note",
        "tokens are an estimate",
        "The vendor keeps the tokenizer private or it is not shipped; the estimate is on the safe side.",
        "tokenizer: approximate-claude",
        "Nothing, or give the tokenizer's own file with `file:PATH`.",
    ),
    "PF502": Code(
        "warning",
        "few pairs to calibrate by",
        "The largest ratio of few texts says little about the next one.",
        "promptforge calibrate with 12 lines",
        "Bring more texts like those you will send.",
    ),
    "PF503": Code(
        "note",
        "a provider counted the finished text",
        "What single items cost, and fits_at, are estimates.",
        "tokenizer=RemoteTokenizer(…)",
        "Nothing is to be done.",
    ),
    "PF601": Code(
        "warning",
        "a match of a pattern was skipped",
        "It cannot be read: a link that leads nowhere, a pipe, no permission.",
        "--file 'src/**/*.py' with a broken link",
        "Name the files that are meant.",
    ),
    "PF602": Code(
        "warning",
        "too many files, or too large a file",
        "Only the first of them, or the beginning, was read.",
        "--file '**/*' in a home folder",
        "Narrow the pattern.",
    ),
    "PF603": Code(
        "warning",
        "a file changed while it was read",
        "The text may be half old, half new.",
        "a log that is being written",
        "Run again, or copy the file first.",
    ),
    "PF604": Code(
        "warning",
        "a match is no text",
        "It holds binary data and was skipped.",
        "--file 'docs/*' with images",
        "Narrow the pattern.",
    ),
    "PF605": Code(
        "warning",
        "a range reaches past the end of a file",
        "What is there of it is shown.",
        "--file app.py:10-400",
        "Correct the lines.",
    ),
    "PF606": Code(
        "warning",
        "a source cannot be had",
        "It was left out.",
        "--man nosuchpage",
        "Correct the name; the message says what was looked for.",
    ),
    "PF607": Code(
        "warning",
        "a technique was revoked or deprecated",
        "ATT&CK has withdrawn it; its successor is shown if there is one.",
        "--technique T1208",
        "Name the successor.",
    ),
    "PF608": Code(
        "note",
        "files were not searched",
        "Of what a folder or a pattern holds, files without text and very large ones are passed over.",
        "--search 'exit status' --in docs, with images in it",
        "Name a file that is meant: --in docs/large.txt.",
    ),
}
