"""Texts and lists of a size and shape that break careless counting, framing or fitting."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import promptforge as pf
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS

pytestmark = pytest.mark.unwatched

TEXTS = {
    "backticks": "`" * 1_000_000,
    "blanks": " " * 1_200_000 + "x",
    "nul": "\x00" * 300_000,
    "one_word": "a" * 2_000_000,
    "combining": "\u0301" * 300_000,
    "line_ends": "\n" * 1_000_000,
    "frame_lines": "\n".join(f"File: x{i} (lines 1-2)" for i in range(50_000)),
    "every_run_of_both_marks": "".join("`" * n + "\n" + "~" * n + "\n" for n in range(3, 400)),
    "ligatures": "\ufdfa" * 100_000,
}


LONG = ("backticks", "blanks", "line_ends", "nul")
"""Texts that take more than .2 s of processor time."""


@pytest.mark.parametrize("format", FORMAT_EXTENSIONS)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (name in LONG)) for name in TEXTS]
)
def test_a_huge_text_is_cut_to_the_budget(
    name: str, format: str, capfd: pytest.CaptureFixture[str]
) -> None:
    records = [{"content": TEXTS[name], "path": "a.py"}, {"content": "fine", "path": "b.py"}]
    result = pf.render(records, format=format, max_tokens=500)
    assert result.tokens == pf.get_tokenizer("o200k_base").count(result.text) <= 500
    assert "fine" in result.text  # a small item of equal score stands beside it
    assert capfd.readouterr().err == ""  # tiktoken would report its own panics there


UNBROKEN = {
    "base64": base64.b64encode(bytes(range(256)) * 300).decode(),
    "one_letter": "a" * 60_000,
    "accents": "e\u0301" * 20_000,
    "families": "👩\u200d👩\u200d👧" * 5_000,
    "marks_of_another_script": "क्षि" * 10_000,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"max_tokens": 300}, {"max_tokens": None, "max_chars": 900}, {"query": "tar"}]
)
@pytest.mark.parametrize("trim", ["structure", "prefix"])
@pytest.mark.parametrize("name", UNBROKEN)
def test_a_text_without_an_end_to_cut_at_is_cut_at_a_character(
    name: str, trim: Any, options: dict[str, Any]
) -> None:
    text = UNBROKEN[name]
    for path, kind in (
        ("a.txt", "text"),
        ("a.py", "code"),
        ("a.json", "code"),
        ("a.md", "document"),
    ):
        records = [{"content": text, "path": path, "kind": kind}]
        result = pf.render(records, trim=trim, **{"max_tokens": 300, **options})
        [entry] = result.items
        assert entry.status == "trimmed"
        kept = max(
            re.findall(f"[{''.join(map(re.escape, sorted(set(text))))}]{{50,}}", result.text),
            key=len,
        )
        assert text.startswith(kept)
        assert not kept.endswith("\u200d")
        assert unicodedata.category(text[len(kept)])[0] != "M" and text[len(kept)] != "\u200d"
        if options.get("max_chars") is None:
            assert result.tokens > 280


def test_what_is_no_more_than_one_word_is_not_left_out_for_a_blank() -> None:
    result = pf.render([{"content": "data: " + "x" * 60_000}], max_tokens=100)
    assert result.items[0].status == "trimmed" and "data:" in result.text


def test_a_shell_script_of_junk_does_not_end_the_process() -> None:
    result = pf.render(
        [{"content": "> \u202e](" * 5_600, "language": "bash", "kind": "code"}], max_tokens=200
    )
    assert result.items[0].status == "trimmed"


@pytest.mark.parametrize("strict", [False, True])
def test_objects_that_raise_when_they_are_looked_at_are_refused_by_name(strict: bool) -> None:
    class Bad:
        def __getattr__(self, name: str) -> object:
            raise ValueError(name)

        def __eq__(self, other: object) -> bool:
            raise ValueError

        __hash__ = None  # type: ignore[assignment]

    bad: Any = Bad()
    strictness: Any = strict
    with pytest.raises(pf.OptionError, match="tokenizer"):
        pf.render([{"content": "x"}], tokenizer=bad, strict=strictness)
    with pytest.raises(pf.OptionError, match="strict"):
        pf.render([{"content": "x"}], strict=bad)


def test_what_a_failed_template_made_the_engine_say_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "chunks").mkdir()
    (tmp_path / "chunks" / "item.md.j2").write_text("{{ itm }}")
    records = [{"content": "x", "score": 7, "origin": "similarity"}]
    codes = [d.code for d in pf.render(records, templates=tmp_path, min_score=0.5).warnings]
    assert sorted(codes) == ["PF103", "PF401"]


FORKS = """
import itertools, os, signal, sys, threading
import promptforge as pf

items = [{"content": f"def f():\\n    return {n}\\n" * 20, "score": n / 10} for n in range(20)]
renderer = pf.Renderer()
stopped = threading.Event()

def new_items(start):  # each file is parsed once
    return [item | {"path": f"{start}.py", "content": f"{item['content']}# {start}"} for item in items]

def keep_rendering():
    for number in itertools.count():
        for query in (None, "return 3"):
            renderer.render(new_items(number), max_tokens=200, query=query)
        if stopped.is_set():
            return

for query in (None, "return 3"):  # so that Python's own locks of imports are out of it
    renderer.render(new_items("first"), max_tokens=200, query=query)
pf.get_tokenizer("o200k_base").count("word " * 400_000)  # tiktoken is loaded for long texts
threads = [threading.Thread(target=keep_rendering) for _ in range(3)]
for thread in threads:
    thread.start()
worst = 0
for turn in range(60):
    child = os.fork()
    if not child:
        signal.alarm(600)
        text = renderer.render(new_items(-turn), max_tokens=300, query="return 3").text
        os._exit(not text)
    worst = max(worst, os.waitpid(child, 0)[1])
stopped.set()
for thread in threads:
    thread.join()
sys.exit(worst and 1)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no process")
def test_a_process_forked_while_other_threads_render_renders() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=3600
    )
    assert (ran.returncode, ran.stderr) == (0, "")
