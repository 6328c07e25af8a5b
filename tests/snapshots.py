"""Hash the outputs of a fixed corpus, and compare them with those of other code.

`python -m tests.snapshots record FILE` writes two hashes a case: of its text and of its account.
The account is tokens, statuses, reasons and codes; never messages, times or versions.
`compare FILE` renders again and prints each case that differs; exit 1 where one does.
`show NAME` prints one case, to be compared with that of another checkout.
`--quick` takes every fifth case.

It knows the public API and the command line alone, so it survives every move of a module.
As a script it takes the package on PYTHONPATH:
`PYTHONPATH=$PWD python elsewhere/tests/snapshots.py compare FILE`.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # not only under pytest

from snapshot_cases import (
    Case,
    commands,
    failures,
    golden,
    mistakes,
    pieces,
    prompts,
    renderings,
    sessions,
)
from snapshot_texts import TESTS

QUICK_STEP = 5


def read_examples() -> list[list[list[str]]]:
    """Return the sessions of the README and the guides: commands, and what follows each."""
    pages = [
        TESTS.parent / "README.md",
        *sorted((TESTS.parent / "promptforge").glob("*/README.md")),
    ]
    found = []
    for page in pages:
        for _, body in re.findall(r"(?ms)^(`{3,})console\n(.*?)^\1$", page.read_text("utf-8")):
            steps = re.findall(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)", body)
            found.append([list(step) for step in steps])
    return found


def read_mistakes() -> dict[str, dict[str, str]]:
    """Return the files of each planted mistake of tests/golden/errors/check."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted((TESTS / "golden" / "errors" / "check").glob("*.txt")):
        common, *blocks = re.split(r"(?m)^=== ", path.read_text("utf-8"))
        for block in blocks:
            title, _, rest = block.partition("\n")
            files: dict[str, str] = {}
            for text in (common, rest.partition(">>>\n")[0]):
                parts = re.split(r"(?m)^--- (.*)\n", text)
                files |= dict(zip(parts[1::2], parts[2::2], strict=True))
            found[f"{path.stem}: {title}"] = files
    return found


def corpus(examples: list[list[list[str]]], planted: Mapping[str, Mapping[str, str]]) -> list[Case]:
    """Return all cases."""
    parts = (
        golden(),
        renderings(),
        prompts(),
        pieces(),
        commands(),
        failures(),
        mistakes(planted),
        sessions(examples),
    )
    return list(itertools.chain(*parts))


def hashes(case: Case) -> tuple[str, str]:
    """Return the hash of the text of a case and that of its account."""
    facts = case.run()
    account = json.dumps(facts.account, sort_keys=True, default=str)
    digests = (hashlib.sha256(t.encode("utf-8", "surrogatepass")) for t in (facts.text, account))
    text, rest = (digest.hexdigest()[:20] for digest in digests)
    return text, rest


def record(file: Path, quick: bool) -> int:
    """Write the hashes of all cases, and the examples and mistakes they are made from."""
    examples, planted = read_examples(), read_mistakes()
    cases = {case.name: hashes(case) for case in _some(corpus(examples, planted), quick)}
    data = {"examples": examples, "mistakes": planted, "cases": cases}
    file.write_text(json.dumps(data, indent=0), encoding="utf-8")
    print(f"{len(cases)} cases, {time.process_time():.0f} s of processor time")
    return 0


def compare(file: Path, quick: bool) -> int:
    """Render again; print what differs from the record."""
    data = json.loads(file.read_text("utf-8"))
    known = data["cases"]
    cases = _some(corpus(data["examples"], data["mistakes"]), quick)
    differing = {"text": 0, "account": 0}
    for case in cases:
        try:
            found = hashes(case)
        except Exception as error:
            found = ("raised", f"{type(error).__name__}: {error}")
            print(f"{case.name}: raised {found[1]}")
        for what, now, then in zip(
            differing, found, known.get(case.name, ("new", "new")), strict=True
        ):
            if now != then:
                differing[what] += 1
                print(f"{case.name}: {what} differs")
    texts, accounts = differing.values()
    print(f"{len(cases)} cases, {texts} texts differ, {accounts} accounts differ")
    return int(any(differing.values()))


def show(name: str, file: Path | None) -> int:
    """Print text and account of the cases with these words in their names."""
    examples, planted = read_examples(), read_mistakes()
    if file is not None:
        data = json.loads(file.read_text("utf-8"))
        examples, planted = data["examples"], data["mistakes"]
    for case in corpus(examples, planted):
        if name in case.name:
            facts = case.run()
            print(f"=== {case.name}\n{facts.text}".encode(errors="backslashreplace").decode())
            print(json.dumps(facts.account, indent=1, default=str))
    return 0


def _some(cases: list[Case], quick: bool) -> list[Case]:
    return cases[::QUICK_STEP] if quick else cases


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.snapshots", description=__doc__)
    parser.add_argument("action", choices=("record", "compare", "show"))
    parser.add_argument(
        "what", metavar="FILE|NAME", help="the record; for show, words of a case's name"
    )
    parser.add_argument("--quick", action="store_true", help="every fifth case")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="for show: the record to take examples from"
    )
    given = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("PROMPTFORGE_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as settings:  # `init` writes to the user's list of projects
        os.environ["XDG_CONFIG_HOME"] = settings
        return _act(given)


def _act(given: argparse.Namespace) -> int:
    if given.action == "show":
        return show(given.what, given.record)
    return {"record": record, "compare": compare}[given.action](Path(given.what), given.quick)


if __name__ == "__main__":
    sys.exit(main())
