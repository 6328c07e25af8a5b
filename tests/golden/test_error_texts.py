"""Error texts are outputs: a folder of `errors/` is a command, its files, and its message.

`command.txt` is the line after `promptforge`, run in a copy of the folder; `message.txt` is the
exit code and standard error. A message is read by somebody who is stuck: it names the mistake,
its place and the way out.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from commandline import run
from places import GOLDEN

CASES = sorted(path.parent for path in (GOLDEN / "errors").glob("*/command.txt"))
EXCERPT = re.compile(r"  [0-9 ]+ \| ")
SHIPPED_IN_PLACE = {"template_of_a_shipped_name_fails"}
"""Cases in which the text is there all the same."""


@pytest.mark.parametrize("case", CASES, ids=lambda path: str(path.name))
def test_message(case: Path, tmp_path: Path, update_golden: bool) -> None:
    work = shutil.copytree(
        case, tmp_path / case.name, ignore=shutil.ignore_patterns("command.txt", "message.txt")
    )
    arguments = shlex.split((case / "command.txt").read_text(encoding="utf-8"))
    ran = run(*arguments, cwd=work)
    message = f"exit {ran.code}\n{ran.err.replace(str(work), '.')}"
    if update_golden:
        (case / "message.txt").write_text(message, encoding="utf-8")
    assert message == (case / "message.txt").read_text(encoding="utf-8")
    assert ran.code in (1, 2, 3, 4, 5)
    assert bool(ran.out) is (case.name in SHIPPED_IN_PLACE)
    lines = ran.err.splitlines()
    assert all(line.isprintable() for line in lines)
    said = [line for line in lines if not EXCERPT.match(line)]
    assert len(lines) - len(said) in (0, 2), "a line of a template and a mark below it"
    assert all(line.startswith("promptforge: ") for line in said)
    assert len(said) == 1 or "--strict" in arguments
    assert str(tmp_path) not in ran.err.replace(str(work), ".")


def test_every_exit_code_is_among_the_messages() -> None:
    codes = {(case / "message.txt").read_text(encoding="utf-8").split("\n")[0] for case in CASES}
    assert codes == {f"exit {code}" for code in (1, 2, 3, 4, 5)}
    assert len(CASES) >= 40
