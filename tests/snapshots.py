"""Keep the outputs of a fixed corpus, and compare them with those of other code.

`python -m tests.snapshots record FILE` writes text, account and messages of each case, compressed.
The account is tokens, statuses, reasons and codes; sentences stand in the messages.
`compare FILE` renders again and prints each case that differs, and how; exit 1 where one does.
`show NAME` prints one case, to be compared with that of another checkout.
`--quick` takes every fifth case; `--jobs N` uses N processes.

It knows the public API and the command line alone, so it survives every move of a module.
As a script it takes the package on PYTHONPATH:
`PYTHONPATH=$PWD python elsewhere/tests/snapshots.py compare FILE`.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import gzip
import itertools
import json
import multiprocessing
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # not only under pytest

from snapshot_cases import (
    Case,
    budgets,
    golden,
    pieces,
    prompts,
    renderings,
)
from snapshot_commands import (
    commands,
    failures,
    folders,
    mistakes,
    rows,
    sessions,
)
from snapshot_texts import TESTS

QUICK_STEP = 5
MAX_DIFFS = 20
"""Cases whose differences are printed; the others are named."""
MAX_DIFF_LINES = 12
MAX_LINE_CHARS = 150
PARTS = ("text", "account", "messages")
KEPT_VARIABLES = re.compile(r"PATH|TMPDIR|LD_.*|DYLD_.*|PYTHON.*|COV.*|VIRTUAL_ENV")
"""Variables that change no output; the others of the developer's are taken away."""

Kept = Sequence[str]
"""Text, account and messages of one case, each as a text."""


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
        budgets(),
        prompts(),
        pieces(),
        commands(),
        rows(),
        folders(),
        failures(),
        mistakes(planted),
        sessions(examples),
    )
    return list(itertools.chain(*parts))


def outputs(cases: Sequence[Case], jobs: int) -> dict[str, Kept]:
    """Return the outputs of each case; one that raises has the error as its account."""
    if jobs == 1:
        found = map(_output, cases)
        return dict(zip((case.name for case in cases), found, strict=True))
    # A forked process has the cases already; they are closures, which cannot be sent to it.
    run = functools.partial(_output_of, cases)
    with multiprocessing.get_context("fork").Pool(jobs, _keep, (run,)) as pool:
        kept = pool.map(_run_kept, range(len(cases)), chunksize=8)
        pool.close()
        pool.join()
    return dict(zip((case.name for case in cases), kept, strict=True))


def _output(case: Case) -> Kept:
    try:
        facts = case.run()
    except Exception as error:
        return "", f"raised {type(error).__name__}: {error}", ""
    account = json.dumps(facts.account, sort_keys=True, indent=1, default=str)
    return facts.text, account, facts.messages


def _output_of(cases: Sequence[Case], number: int) -> Kept:
    return _output(cases[number])


_kept: list[Callable[[int], Kept]] = []


def _keep(run: Callable[[int], Kept]) -> None:
    _kept.append(run)


def _run_kept(number: int) -> Kept:
    return _kept[0](number)


def record(file: Path, *, quick: bool, jobs: int = 1) -> int:
    """Write the outputs of all cases, and the examples and mistakes they are made from."""
    examples, planted = read_examples(), read_mistakes()
    found = outputs(_some(corpus(examples, planted), quick), jobs)
    data = {"examples": examples, "mistakes": planted, "cases": found}
    file.write_bytes(gzip.compress(json.dumps(data).encode(), compresslevel=6, mtime=0))
    raised = [name for name, kept in found.items() if kept[1].startswith("raised ")]
    for name in raised:
        print(f"{name}: {found[name][1]}")
    print(f"{len(found)} cases, {_processor_seconds():.0f} s of processor time")
    return int(bool(raised))


def read_record(file: Path) -> dict[str, Any]:
    """Return what `record` wrote: `examples`, `mistakes`, and `cases` by name."""
    try:
        data: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    except gzip.BadGzipFile:
        sys.exit(f"{file} is no record of this version; write one by `record`")
    return data


def compare(file: Path, *, quick: bool, jobs: int = 1) -> int:
    """Render again; print what differs from the record."""
    data = read_record(file)
    cases = _some(corpus(data["examples"], data["mistakes"]), quick)
    found = outputs(cases, jobs)
    known = {name: kept for name, kept in data["cases"].items() if not quick or is_quick(name)}
    differing = dict.fromkeys(PARTS, 0)
    shown = 0
    for name in dict.fromkeys([*known, *found]):
        if name not in found or name not in known:
            print(f"{name}: {'is no case any more' if name in known else 'is not in the record'}")
            differing = {part: number + 1 for part, number in differing.items()}
            continue
        parts = [
            p for p, then, now in zip(PARTS, known[name], found[name], strict=True) if then != now
        ]
        for part in parts:
            differing[part] += 1
        if parts:
            print(f"{name}: difference in {' and '.join(parts)}")
        if parts and shown < MAX_DIFFS:
            shown += 1
            for part in parts:
                number = PARTS.index(part)
                print(*difference(part, known[name][number], found[name][number]), sep="\n")
    numbers = ", ".join(f"{number} {part}" for part, number in differing.items())
    print(
        f"{len(cases)} cases; differing: {numbers}; {_processor_seconds():.0f} s of processor time"
    )
    return int(any(differing.values()))


def difference(part: str, then: str, now: str) -> Iterator[str]:
    """Yield the first lines in which two outputs differ, in the form of `diff`."""
    lines = difflib.unified_diff(
        then.splitlines(), now.splitlines(), f"{part} then", f"{part} now", n=1, lineterm=""
    )
    printed = [ascii(line)[1:-1].replace("\\'", "'") for line in lines]
    if not printed:  # line ends alone
        printed = [f"-{then[-40:]!a}", f"+{now[-40:]!a}"]
    for line in printed[:MAX_DIFF_LINES]:
        yield f"    {line[:MAX_LINE_CHARS]}"
    if len(printed) > MAX_DIFF_LINES:
        yield f"    ... {len(printed) - MAX_DIFF_LINES} more lines"


def show(name: str, file: Path | None) -> int:
    """Print text, account and messages of the cases with these words in their names."""
    examples, planted = read_examples(), read_mistakes()
    if file is not None:
        data = read_record(file)
        examples, planted = data["examples"], data["mistakes"]
    for case in corpus(examples, planted):
        if name in case.name:
            text, account, messages = _output(case)
            print(f"=== {case.name}\n{text}".encode(errors="backslashreplace").decode())
            print(account)
            print(messages.encode(errors="backslashreplace").decode())
    return 0


def _some(cases: list[Case], quick: bool) -> list[Case]:
    return [case for case in cases if not quick or is_quick(case.name)]


def is_quick(name: str) -> bool:
    """Return true if `--quick` takes the case of this name."""
    # Every fifth in order would take the same budget of each packing, and new cases would move it.
    return zlib.crc32(name.encode()) % QUICK_STEP == 0


def _processor_seconds() -> float:
    return sum(os.times()[:4])


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.snapshots", description=__doc__)
    parser.add_argument("action", choices=("record", "compare", "show"))
    parser.add_argument(
        "what", metavar="FILE|NAME", help="the record; for show, words of a case's name"
    )
    parser.add_argument("--quick", action="store_true", help="every fifth case")
    parser.add_argument("--jobs", type=int, metavar="N", default=2, help="processes [2]")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="for show: the record to take examples from"
    )
    given = parser.parse_args()
    for name in [name for name in os.environ if not KEPT_VARIABLES.fullmatch(name)]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as home:  # `init` writes to the user's list of projects
        os.environ |= {"HOME": home, "XDG_CONFIG_HOME": home, "LANG": "C.UTF-8", "TZ": "UTC"}
        os.environ |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        return _act(given)


def _act(given: argparse.Namespace) -> int:
    if given.action == "show":
        return show(given.what, given.record)
    act = {"record": record, "compare": compare}[given.action]
    return act(Path(given.what), quick=given.quick, jobs=given.jobs)


if __name__ == "__main__":
    sys.exit(main())
