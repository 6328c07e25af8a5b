"""Each folder of `cases/` is one rendering: `items.json` and `options.json` in, the bytes of
`expected.txt` out.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from places import GOLDEN

import promptforge as pf

CASES = sorted(path.parent for path in (GOLDEN / "cases").glob("*/options.json"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: str(path.name))
def test_case(case: Path, update_golden: bool) -> None:
    items = json.loads((case / "items.json").read_text("utf-8"))
    options = json.loads((case / "options.json").read_text("utf-8"))
    text = pf.render(items, **options).text
    if update_golden:
        (case / "expected.txt").write_bytes(text.encode())
    assert text == (case / "expected.txt").read_bytes().decode()


def test_there_are_cases() -> None:
    assert len(CASES) > 30
