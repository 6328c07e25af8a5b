"""What users wait for, each beside a floor and a peer: `python -m tests.benchmarks felt`.

Processor time, the least of several runs that take turns, of the process and its children. A peer
that is not installed is left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import promptforge as pf

from . import batch, reference
from .pack_folder import COUNT
from .startup import cpu_of_children

ROOT = Path(__file__).parents[2]
CONTENTS = 1_000
"""Items of the row of queries."""
ROWS = 2_000
"""Rows of the batch."""
PACKERS = {
    "files-to-prompt": ("files-to-prompt", "{folder}", "-o", "{output}"),
    "gitingest": ("gitingest", "{folder}", "-o", "{output}"),
    "repomix": ("repomix", "--quiet", "{folder}", "-o", "{output}"),
}
READ = """
import sys
from pathlib import Path
for file in Path(sys.argv[1]).rglob("*"):
    if file.is_file():
        file.read_bytes()
"""
WORDS = ("retry", "cache", "server", "token", "limit", "page", "file", "path", "line", "user")


class Felt(NamedTuple):
    """What one thing takes."""

    does: str
    """What a user does."""
    seconds: float
    others: Mapping[str, float]
    """The floor and peers: name → seconds."""


def least(
    subjects: Mapping[str, Callable[[int], object]],
    runs: int,
    clock: Callable[[], float] = cpu_of_children,
) -> dict[str, float]:
    """Return the least seconds of each subject; they take turns, and get the number of the run."""
    spent: dict[str, list[float]] = {name: [] for name in subjects}
    for turn in range(runs):
        for name, run in subjects.items():
            before = clock()
            run(turn)
            spent[name].append(clock() - before)
    return {name: min(found) for name, found in spent.items()}


def _command(*words: str, cache: str = "", output: str = os.devnull) -> Callable[[int], object]:
    """Return a function that runs a command to its end; `cache` is its own cache folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if cache:
        environment["XDG_CACHE_HOME"] = cache

    def run(turn: int) -> None:
        with Path(output).open("wb") as said:
            subprocess.run(
                words, check=True, env=environment, stdout=said, stderr=subprocess.DEVNULL
            )

    return run


def folders(folder: str, runs: int) -> Iterator[Felt]:
    """Measure the commands on a folder, without and with what an earlier run remembers."""
    files = sum(len(names) for _, _, names in os.walk(folder))
    with tempfile.TemporaryDirectory() as place:
        output = str(Path(place, "output.txt"))
        forge = [sys.executable, "-m", "promptforge"]
        render = [*forge, "render", folder]
        every = [*render, "--max-tokens", "1000000000", "--no-cache"]
        subjects = {
            "first": _command(*render, "--no-cache"),
            "second": _command(*render, cache=place),
            "explain": _command(*forge, "explain", folder, cache=place),
            "read": _command(sys.executable, "-c", READ, folder),
            "whole": _command(*every, output=output),
            "count": _command(sys.executable, "-c", COUNT, output),
        }
        for name, words in PACKERS.items():
            if shutil.which(words[0]):
                peer = [word.format(folder=folder, output=f"{output}.{name}") for word in words]
                subjects[name] = _command(*peer)
        subjects["second"](0)
        took = least(subjects, runs)
        tokens = reference.count(Path(output).read_text("utf-8"))
    about, floor = f"{files:,} files", {"read them": took["read"]}
    yield Felt(f"render, first: {about}", took["first"], floor)
    yield Felt(f"render, again: {about}", took["second"], floor)
    yield Felt(f"explain, again: {about}", took["explain"], {"render, again": took["second"]})
    peers = {name: took[name] for name in PACKERS if name in took}
    count = {"count once": took["count"]}
    yield Felt(f"render all of it: {tokens:,} tokens", took["whole"], count | peers)


def start(runs: int) -> Felt:
    """Measure a program that imports the library and renders two items."""
    program = "import promptforge as pf; pf.render([{'content': 'a hat'}, {'content': 'a peg'}])"
    subjects = {
        "ours": _command(sys.executable, "-c", program),
        "python -c pass": _command(sys.executable, "-c", "pass"),
    }
    took = least(subjects, max(5, runs))
    return Felt("import, and a first rendering", took.pop("ours"), took)


def queries(runs: int) -> Iterator[Felt]:
    """Measure another question over the same items, and a service's calls with new items."""
    rng = random.Random(1)
    texts = [
        path.read_text("utf-8", "replace")
        for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    ]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]

    def items(count: int, seed: int) -> list[dict[str, Any]]:
        own = random.Random(seed)
        begins = [own.randrange(len(lines) - 20) for _ in range(count)]
        return [
            {
                "content": "\n".join(lines[at : at + 12]),
                "score": own.random(),
                "origin": "similarity",
            }
            for at in begins
        ]

    renderer = pf.Renderer(max_tokens=8_000)
    same = items(CONTENTS, 0)

    def question() -> str:
        return " ".join(rng.sample(WORDS, 4))

    text = renderer.render(same, query=question()).text
    subjects: dict[str, Callable[[int], object]] = {
        "ours": lambda _: renderer.render(same, query=question()),
        "count the text": lambda n: reference.count(f"{n} {text}"),
    }
    took = least(subjects, 3 * runs, time.process_time)
    yield Felt(f"another question: {CONTENTS:,} items", took.pop("ours"), took)
    service = pf.Renderer(max_tokens=1_000)
    news = [items(20, 1 + n) for n in range(10 * runs)]
    text = service.render(items(20, 0), query=question()).text
    subjects = {
        "ours": lambda n: service.render(news[n], query=question()),
        "count the text": lambda n: reference.count(f"{n} {text}"),
    }
    took = least(subjects, 10 * runs, time.process_time)
    yield Felt("a service's call: 20 new items", took.pop("ours"), took)


def history(messages: int) -> list[dict[str, Any]]:
    """Return a conversation of calls and their results, of one to four kilobytes each."""
    rng = random.Random(2)
    made: list[dict[str, Any]] = [{"role": "user", "content": "Find why the server retries."}]
    while len(made) < messages:
        name, place = f"c{len(made)}", f'{{"path": "src/f{len(made)}.py"}}'
        call = {"id": name, "type": "function", "function": {"name": "read", "arguments": place}}
        made.append({"role": "assistant", "content": "I look.", "tool_calls": [call]})
        result = "\n".join(" ".join(rng.choices(WORDS, k=9)) for _ in range(rng.choice((20, 70))))
        made.append({"role": "tool", "tool_call_id": name, "content": result})
    return made


def steps(messages: int, runs: int) -> Felt:
    """Measure an agent's next step: the history as before, with one call and its result more."""
    every = history(messages + 4 * runs)
    renderer = pf.Renderer(profile="gpt")
    renderer.prompt(history=every[: messages + 1], to="openai")
    counts = reference.count("\n".join(str(one["content"]) for one in every[:messages]))
    subjects: dict[str, Callable[[int], object]] = {
        "ours": lambda n: renderer.prompt(history=every[: messages + 3 + 2 * n], to="openai")
    }
    if importlib.util.find_spec("langchain_core"):
        from langchain_core.messages import BaseMessage, convert_to_messages, trim_messages

        theirs = convert_to_messages(every)

        def count(found: Sequence[BaseMessage]) -> int:
            return sum(reference.count(str(one.content)) for one in found)

        def trim(turn: int) -> object:
            shown = theirs[: messages + 3 + 2 * turn]
            return trim_messages(shown, max_tokens=counts // 2, token_counter=count)

        subjects["trim_messages"] = trim
    took = least(subjects, runs, time.process_time)
    return Felt(f"an agent's step: {messages:,} messages", took.pop("ours"), took)


def rows(runs: int) -> Felt:
    """Measure a batch of small rows by one worker, beside a bare loop of the engine."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "rows.jsonl")
        batch.write_rows(source, ROWS)
        perform = [sys.executable, "-m", "tests.benchmarks.batch", "--perform"]

        def run(name: str, turn: int) -> None:
            _command(*perform, name, str(source), f"{place}/{name}{turn}")(turn)

        took = least({name: partial(run, name) for name in ("local-1", "bare")}, runs)
    return Felt(f"a batch: {ROWS:,} rows", took["local-1"], {"bare loop": took["bare"]})


def measure(folder: str, runs: int) -> Iterator[Felt]:
    """Measure each row, with compiled modules as an installed package has them."""
    with tempfile.TemporaryDirectory() as compiled:
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
        # Where it is set, each process compiled a hundred modules anew.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        yield start(runs)
        yield from folders(folder, runs)
        yield from queries(runs)
        yield steps(200, 3 * runs)
        yield steps(1_000, 3 * runs)
        yield rows(runs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the flags say."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks felt", description=__doc__)
    parser.add_argument(
        "--folder", default=sysconfig.get_paths()["stdlib"], help="Python's library, if not given"
    )
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args(arguments)
    for felt in measure(given.folder, given.runs):
        beside = (
            f"{felt.seconds / took:.2f} of {name} ({_show(took)})"
            for name, took in felt.others.items()
            if took
        )
        print(f"{felt.does:38} {_show(felt.seconds):>8}   {', '.join(beside)}", flush=True)


def _show(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


if __name__ == "__main__":
    main()
