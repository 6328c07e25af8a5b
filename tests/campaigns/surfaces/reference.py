"""The reference count: by tiktoken itself, in a process of its own, so that nothing of the library
is believed.

As a process: a line `[encoding, text]` of JSON in, a line with the number out, or `null` where
tiktoken panics.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
_running: list[subprocess.Popen[str]] = []


def count(encoding: str, text: str) -> int | None:
    """Return the tokens of a text, or `None` where tiktoken cannot count it."""
    if not _running:
        made = subprocess.Popen(
            [sys.executable, "-m", "tests.campaigns.surfaces.reference"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        _running.append(made)
        atexit.register(_end)
    process = _running[0]
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps([encoding, text]) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        _end()
        return None
    counted: int | None = json.loads(answer)
    return counted


def _end() -> None:
    for process in _running:
        process.kill()
        process.communicate()
    _running.clear()


def _serve() -> None:
    import tiktoken

    from promptforge.tokenizers.vocabulary import SHIPPED_VOCABULARIES as PUBLISHED
    from promptforge.tokenizers.vocabulary import load_table

    known: dict[str, tiktoken.Encoding] = {}
    for line in sys.stdin:
        name, text = json.loads(line)
        if name not in known:
            known[name] = tiktoken.Encoding(
                name,
                pat_str=PUBLISHED[name].pattern,
                mergeable_ranks=load_table(name).all_ranks(),
                special_tokens={},
            )
        try:
            counted: int | None = len(known[name].encode_ordinary(text))
        except BaseException:  # tiktoken's panic on a million blanks is no Exception
            counted = None
        print(json.dumps(counted), flush=True)


if __name__ == "__main__":
    _serve()
