"""`python -m tests.benchmarks.repository`: do N tokens of a package answer a question to it?

Each question of `tests/data/repository_questions.yaml` names the lines that answer it. Counted is,
for each budget, how often all of these lines are in the text, and how often all their paths are.
A package without more tokens than a budget is left out of it, one that is not installed altogether.

The rival is BM25 over windows of 60 lines. Two peers join where they are installed: `--aider
PYTHON`, an interpreter that has aider, draws its repository map with the question's words as
mentioned names; `--repomix COMMAND` prints signatures of all files, cut at the budget.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any, NamedTuple

import yaml

import promptforge as pf
from promptforge.errors import Diagnostics
from promptforge.model import Item
from promptforge.sources.text_files import load_files

from .simple import bm25, words

QUESTIONS = Path(__file__).parents[1] / "data" / "repository_questions.yaml"
BUDGETS = (4_000, 16_000, 64_000)
HALVES = ("tune", "report", "fresh", "unseen", "more", "last")
WINDOW_LINES = 60
RIVAL = "windows"
AIDER = """
import json, sys
from aider.io import InputOutput
from aider.repomap import RepoMap
class Model:
    def token_count(self, text):
        return len(text) // 4
root, budget, names, files = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.stdin.read().split("\\n")
words = set(json.loads(names))
found = RepoMap(root=root, main_model=Model(), io=InputOutput(yes=True, pretty=False))
print(found.get_ranked_tags_map([], files, budget, {f for f in files if f in words}, words))
"""


class Question(NamedTuple):
    """A question to a package."""

    package: str
    half: str
    """One of `HALVES`: constants were chosen by `tune`, `report` and `more`."""
    ask: str
    plain: bool
    """True where no identifier of the answer is in it."""
    lines: list[tuple[str, str]]
    """Path and line, all of them needed."""


class Outcome(NamedTuple):
    """How a text answers."""

    lines: bool
    paths: bool


Subject = Callable[[Question, int], str]
"""Returns the text for a question within a budget."""


def folder_of(package: str) -> Path | None:
    """Return the folder of an installed package, `pandas/core` for a part of one."""
    name, *rest = package.split("/")
    found = find_spec(name)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent.joinpath(*rest)


def load_questions(path: Path = QUESTIONS) -> list[Question]:
    """Return the questions whose package is installed with all the lines that answer."""
    questions = []
    for package, part in yaml.safe_load(path.read_text("utf-8")).items():
        top = folder_of(package)
        if top is None:
            continue
        for row in part["questions"]:
            pairs = [(name, text) for line in row["lines"] for name, text in line.items()]
            lines = [(name, _whole_line(top / name, text)) for name, text in pairs]
            if all(line for _, line in lines):
                found = Question(package, part["half"], row["ask"], row.get("plain", False), lines)
                questions.append(found)
    return questions


def _whole_line(path: Path, text: str) -> str:
    lines = path.read_text("utf-8").split("\n") if path.is_file() else []
    return next((line.strip() for line in lines if text in line), "")


@cache
def items_of(package: str) -> list[Item]:
    """Return the files of a package, as `render FOLDER` reads them."""
    folder = folder_of(package)
    assert folder is not None
    return load_files(".", workspace=folder, diagnostics=Diagnostics())


@cache
def tokens_of(package: str) -> int:
    """Return the tokens of all files of a package."""
    return sum(_counter().count(item.content or "") for item in items_of(package))


@cache
def _counter() -> Any:
    return pf.get_tokenizer("o200k_base")


def judge(text: str, question: Question) -> Outcome:
    """Return which of the question's lines and paths a text holds, each line in whole."""
    held = {line.strip(" \t│⋮") for line in text.split("\n")}  # aider's map has bars
    return Outcome(
        all(line in held for _, line in question.lines),
        all(re.search(rf"(?<![\w/]){re.escape(path)}", text) for path, _ in question.lines),
    )


def promptforge(**options: Any) -> Subject:
    """Return the subject that renders with these options."""

    def render(question: Question, budget: int) -> str:
        renderer = _renderer()
        return renderer.render(
            items_of(question.package), query=question.ask, max_tokens=budget, **options
        ).text

    return render


@cache
def _renderer() -> pf.Renderer:
    return pf.Renderer(tokenizer="o200k_base")


@cache
def _windows(package: str) -> tuple[list[tuple[str, str]], list[Counter[str]], Counter[str]]:
    found = []
    for item in items_of(package):
        lines = (item.content or "").split("\n")
        for start in range(0, len(lines), WINDOW_LINES):
            found.append((item.path or "", "\n".join(lines[start : start + WINDOW_LINES])))
    counts = [Counter(words(text)) for _, text in found]
    return found, counts, Counter(word for held in counts for word in held)


def windows(question: Question, budget: int) -> str:
    """Return the windows of 60 lines that score best by BM25 (k1 = 1.5, b = 0.75)."""
    texts, counts, holders = _windows(question.package)
    scores = bm25(question.ask, counts, holders)
    out, left = [], budget
    for number in sorted(range(len(texts)), key=lambda n: (-scores[n], n)):
        path, text = texts[number]
        block = f"{path}\n```\n{text}\n```\n\n"
        cost = _counter().count(block)
        if cost <= left:
            out.append(block)
            left -= cost
        if left < 40:
            break
    return "".join(out)


def aider(python: str) -> Subject:
    """Return the subject that draws aider's repository map."""
    with_folder = cache(lambda package: _copy(package))

    def draw(question: Question, budget: int) -> str:
        top = with_folder(question.package)
        names = sorted(path for path in map(str, top.rglob("*.py")))
        words = json.dumps(re.findall(r"\w+", question.ask))
        command = [python, "-c", AIDER, str(top), str(budget), words]
        ran = subprocess.run(command, input="\n".join(names), capture_output=True, text=True)
        return _first_tokens(ran.stdout, budget)

    return draw


def repomix(command: str) -> Subject:
    """Return the subject that prints signatures with repomix, up to the budget."""

    @cache
    def whole(package: str) -> str:
        output = Path(tempfile.mkdtemp()) / "out.md"
        arguments = [command, "--compress", "--quiet", "--style", "markdown", "-o", str(output)]
        subprocess.run([*arguments, str(_copy(package))], check=True, capture_output=True)
        return output.read_text("utf-8")

    return lambda question, budget: _first_tokens(whole(question.package), budget)


def _copy(package: str) -> Path:
    """Return a copy of a package's folder: both peers write beside what they read."""
    folder = folder_of(package)
    assert folder is not None
    copy = Path(tempfile.mkdtemp()) / folder.name
    return copytree(folder, copy, ignore=ignore_patterns("__pycache__", "*.so", "test", "tests"))


def _first_tokens(text: str, budget: int) -> str:
    cut: str = _counter().cut(text, budget, "line")
    return cut


def measure(
    subjects: dict[str, Subject], questions: Sequence[Question], budgets: Sequence[int] = BUDGETS
) -> dict[str, dict[int, dict[Question, Outcome]]]:
    """Return each subject's outcomes by budget and question."""
    found: dict[str, dict[int, dict[Question, Outcome]]] = {}
    for name, subject in subjects.items():
        found[name] = {budget: {} for budget in budgets}
        for question in questions:
            for budget in budgets:
                if tokens_of(question.package) > budget:
                    outcome = judge(subject(question, budget), question)
                    found[name][budget][_hashable(question)] = outcome
    return found


def _hashable(question: Question) -> Question:
    return question._replace(lines=tuple(question.lines))  # type: ignore[arg-type]


def table(found: dict[str, dict[int, dict[Question, Outcome]]]) -> str:
    """Return the shares of lines and paths, and how often each subject alone answers."""
    lines = [f"{'':24}" + "".join(f"{budget:>24,}" for budget in BUDGETS)]
    rival = found.get(RIVAL)
    for name, by_budget in found.items():
        cells = []
        for budget, outcomes in by_budget.items():
            count = max(1, len(outcomes))
            held = sum(outcome.lines for outcome in outcomes.values())
            paths = sum(outcome.paths for outcome in outcomes.values())
            cell = f"{100 * held / count:.0f} % {100 * paths / count:.0f} %"
            if rival is not None and name != RIVAL:
                other = rival[budget]
                more = sum(o.lines > other[q].lines for q, o in outcomes.items())
                less = sum(o.lines < other[q].lines for q, o in outcomes.items())
                cell += f" (+{more} -{less})"
            cells.append(f"{cell:>24}")
        lines.append(f"{name:24}" + "".join(cells))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the flags say."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.repository",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--half", choices=HALVES, action="append")
    parser.add_argument("--package", action="append", help="only questions to this package")
    parser.add_argument("--plain", action="store_true", help="only those without identifiers")
    parser.add_argument("--subject", action="append", help="only these subjects")
    parser.add_argument("--aider", metavar="PYTHON", help="an interpreter that has aider")
    parser.add_argument("--repomix", metavar="COMMAND", help="the command of repomix")
    parser.add_argument("--verbose", action="store_true", help="every question")
    given = parser.parse_args(arguments)
    subjects: dict[str, Subject] = {
        RIVAL: windows,
        "promptforge": promptforge(),
        "promptforge repository": promptforge(packing="repository"),
        "promptforge score": promptforge(packing="score"),
    }
    if given.aider:
        subjects["aider's map"] = aider(given.aider)
    if given.repomix:
        subjects["repomix --compress"] = repomix(given.repomix)
    if given.subject:
        subjects = {name: subjects[name] for name in given.subject}
    questions = [
        question
        for question in load_questions()
        if (not given.half or question.half in given.half)
        and (not given.package or question.package in given.package)
        and (question.plain or not given.plain)
    ]
    several = sum(len({path for path, _ in question.lines}) > 1 for question in questions)
    plain = sum(question.plain for question in questions)
    print(f"{len(questions)} questions, {plain} without identifiers, {several} of two files")
    print("lines and paths in the text, and answered alone / missed alone beside windows")
    found = measure(subjects, questions)
    print(table(found))
    if given.verbose:
        for question in map(_hashable, questions):
            for name, by_budget in found.items():
                marks = [
                    "-L"[outcome.lines] + "-P"[outcome.paths]
                    for outcomes in by_budget.values()
                    if (outcome := outcomes.get(question))
                ]
                print(f"{name:24} {' '.join(marks):9} {question.package}: {question.ask}")


if __name__ == "__main__":
    main(sys.argv[1:])
