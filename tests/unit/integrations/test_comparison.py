"""The comparison with the frameworks, on two passages; only the budget is judged."""

from __future__ import annotations

import gzip
import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from benchmarks import frameworks
from documents import FACTS

ABSENT = [name for name in frameworks.WAYS if find_spec(name) is None]


@pytest.mark.skipif(bool(ABSENT), reason=f"needs {', '.join(ABSENT)}: pip install '.[test-all]'")
def test_promptforge_keeps_the_budget_in_every_framework(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passages = [{"id": f"p{n}", "title": f"f{n}", "text": text} for n, text in enumerate(FACTS)]
    ranked = [(f"p{n}", 1 - n / 100) for n in range(len(FACTS))]
    gold = [{"id": "p7", "spans": [FACTS[7][:60]]}]
    for kind, rows in (
        ("passages", passages),
        ("queries", [{"query": "number 7", "ranked": ranked, "gold": gold}]),
    ):
        with gzip.open(tmp_path / f"tiny.{kind}.jsonl.gz", "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in rows)
    frameworks.main([str(tmp_path), "--budgets", "200"])
    printed = capsys.readouterr().out
    ours = [line for line in printed.splitlines() if "+ promptforge" in line]
    assert len(ours) == 3
    for line in ours:
        kept, whole, _, over, worst, _ = line.rpartition("promptforge")[2].split()
        assert (kept, whole, over, worst) == ("1.000", "1.00", "0", "0")
    assert "Haystack, PromptBuilder of 10" in printed
