"""Any arguments of the command line: an exit code of the known ones, and never a traceback."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from unittest import mock

from promptforge.cli.main import COMMANDS, main
from promptforge.config.options import OPTION_VOCABULARY

from .drawing import Draw

TRIED = sorted(set(COMMANDS) - {"batch", "mcp", "preview"})
"""The others start processes or serve until they are stopped."""
FLAGS = (
    *(f"--{name.replace('_', '-')}" for name in OPTION_VOCABULARY.rules),
    *(
        "--file",
        "--doc",
        "--man",
        "--technique",
        "--attack",
        "--job",
        "--workspace",
        "--json",
        "--strict",
        "-q",
        "-o",
    ),
    *(
        "--templates",
        "--profiles",
        "--profile",
        "--system",
        "--user",
        "--history",
        "--to",
        "--from",
        "--layout",
        "--",
        "-",
    ),
    *(
        "--map",
        "--html",
        "--diff",
        "--fix",
        "--pretend",
        "--help",
        "--tokenizer",
        "--context-lines",
        "--exit-code",
    ),
)
VALUES = (
    *(
        "items.json",
        "a.py",
        "a.py:1-2",
        "guide.md",
        "profile.yaml",
        "none",
        "0",
        "1",
        "75",
        "markdown",
        "xml",
        "claude",
    ),
    *(
        "layout",
        "kind",
        "chunks",
        "context",
        "max_tokens=5",
        "{a: {share: 0.5}}",
        "PF802",
        "*.py",
        "",
        ".",
        "bash",
        "T1",
    ),
)
FILES = {
    "items.json": '[{"content": "x", "path": "a.py", "score": 0.5}, {"content": "Some words. And more of them."}]',
    "a.py": "x = 1\ny = 2\n",
    "guide.md": "# A\n\nwords\n",
    "profile.yaml": "max_tokens: 9\n",
}


def one(data: bytes) -> None:
    """Run a command line made of the bytes, in a folder of its own."""
    draw = Draw(data)
    arguments = [draw.of(TRIED)]
    for _ in range(draw.number(8)):
        word = (
            draw.of(FLAGS) if draw.true() else draw.of(VALUES) if draw.number(3) else draw.text(20)
        )
        # Arguments come as bytes, and nothing outside the folder is named.
        word = os.fsdecode(word.encode("utf-8", "surrogatepass"))
        arguments.append(re.sub(r"[/\\~\0]|\.\.", "_", word))
    out, said = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        for name, text in FILES.items():
            (Path(place) / name).write_text(text)
        home = mock.patch.dict(os.environ, {"HOME": place, "XDG_CONFIG_HOME": f"{place}/config"})
        stdin = mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(draw.rest()), "utf-8"))
        os.chdir(place)
        try:
            with home, stdin, contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
                main(arguments)
        except SystemExit as end:
            assert end.code in (0, 1, 2, 3, 4, 5), (arguments, end.code)
        finally:
            os.chdir(before)
    assert "Traceback" not in said.getvalue(), (arguments, said.getvalue())
