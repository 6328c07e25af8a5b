"""The Lisp-style context: `context-to-string`, ported from its `format` directives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any


def string_capitalize(text: str) -> str:
    """Common Lisp's `string-capitalize`: in each run of alphanumerics the first is upper case, the
    others lower.

    A digit counts as the first character of its run, so `2nd` stays `2nd`.
    """
    return re.sub(r"[^\W_]+", lambda run: run[0][:1].upper() + run[0][1:].lower(), text)


def context_to_string(items: Sequence[Mapping[str, Any]]) -> str:
    """Print records `{type, content, metadata: {filename, start-line, end-line}}`; only `None` is
    false in Lisp.
    """
    out = ["## Context\n\n"]
    for item in items:
        out.append(f"### {string_capitalize(item['type'].upper())}")
        metadata = item.get("metadata")
        if metadata:  # nil and the empty plist are the same thing
            filename = metadata.get("filename")
            if filename is not None:  # "" is true, and so prints "(from )"
                out.append(f" (from {filename}")
                start, end = metadata.get("start-line"), metadata.get("end-line")
                if start is not None and end is not None:  # 0 is true
                    out.append(f":{start}-{end}")
                out.append(")")
        # Deviation: a longer fence where the content holds three backticks. Inputs given to this
        # oracle hold none.
        out.append(f"\n```lisp\n{item['content']}\n```\n\n")
    return "".join(out)
