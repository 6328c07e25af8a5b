"""The messages of `check` about common mistakes, word by word, in `errors/check/*.txt`.

A file begins with the text that every case has. A case is `=== its title`, then its files, each
after `--- its path`, then `>>>` and the printed findings. A message names the mistake, its place
and the way out, and the mark stands below the mistake.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from commandline import run

FOLDER = Path(__file__).parent / "errors" / "check"
SILENT = {"an empty profile"}


class Case(NamedTuple):
    """One mistake."""

    title: str
    text: str
    """All of the case, as it stands in its file."""
    files: dict[str, str]
    said: str


def cases(path: Path) -> list[Case]:
    """Return the cases of a file of cases."""
    everywhere, *blocks = re.split(r"(?m)^=== ", path.read_text(encoding="utf-8"))
    common = _files(everywhere)
    found = []
    for block in blocks:
        title, _, rest = block.partition("\n")
        given, _, said = rest.partition(">>>\n")
        found.append(Case(title, rest, common | _files(given), said))
    return found


def _files(text: str) -> dict[str, str]:
    parts = re.split(r"(?m)^--- (.*)\n", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


CASES = {path: cases(path) for path in sorted(FOLDER.glob("*.txt"))}


@pytest.mark.parametrize("path", CASES, ids=lambda path: str(path.stem))
def test_what_is_said_of_a_mistake(path: Path, tmp_path: Path, update_golden: bool) -> None:
    for number, case in enumerate(CASES[path]):
        work = tmp_path / str(number)
        for name, text in case.files.items():
            file = work / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        ran = run("check", "--quiet", cwd=work)
        if update_golden:
            whole = path.read_text(encoding="utf-8")
            new = case.text.removesuffix(case.said) + ran.out
            path.write_text(
                whole.replace(f"=== {case.title}\n{case.text}", f"=== {case.title}\n{new}", 1),
                "utf-8",
            )
            continue
        assert ran.out == case.said, case.title
        assert ran.err == ""
        assert ran.code == int(bool(ran.out)) and bool(ran.out) is (case.title not in SILENT), (
            case.title
        )
        assert "Jinja" not in ran.out, case.title


def test_there_are_many() -> None:
    titles = [case.title for each in CASES.values() for case in each]
    assert len(titles) == len(set(titles)) >= 90
