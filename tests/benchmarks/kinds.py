"""`python -m tests.benchmarks.kinds FOLDER … [--fit]`: how often the language of a file is known without its name.

Each FOLDER is the checkout of one repository. With `--fit`, one half of the folders tells the weights of tokens, and the
other half, which they have not seen, is judged; then all folders tell those of `promptforge/text/tokens.txt`. numpy
fits them: a softmax over languages, with the tokens of a text as features, each there or not.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from promptforge import text as tables
from promptforge.text import detection, table_text
from promptforge.text.languages import language_of_text
from promptforge.trimming.kinds import language_by_content

TABLE = Path(tables.__file__).with_name("tokens.txt")
MAX_FILES, MIN_FILES = 60, 20
"""Files of a language in one folder, and in all; those of a rarer language are left out."""
MAX_EXAMPLES, WINDOWS = 260, (150, 300, 600, 1_200, 3_000)
"""Files of a language that tell weights, and the characters of the parts of each that do."""
CANDIDATES, TOKENS, LANGUAGES_OF_TOKEN, LARGEST = 7_000, 3_000, 12, 46
"""Tokens that are fitted; tokens, and languages of each, that the table keeps; its largest weight."""
MIN_FOLDERS, MIN_TEXTS = 4, 8
"""Folders and texts that have a token: a project's own names are not fitted."""
KEPT = 0.65
"""Share of the tokens of a text that each step sees."""
EPOCHS, BATCH, RATE, PENALTY = 10, 256, 0.01, 0.05
SAME = {
    "zsh": "bash",
    "csh": "bash",
    "svg": "xml",
    "json5": "json",
    "handlebars": "jinja",
    "org": "text",
    "listing": "text",
}


class File(NamedTuple):
    folder: str
    language: str
    text: str


class Weights(NamedTuple):
    languages: list[str]
    tokens: list[str]
    own: Any
    of_tokens: Any


def read_files(folder: Path) -> Iterator[File]:
    """Yield the files of a repository with a language by their names."""
    count: Counter[str] = Counter()
    paths = sorted(
        path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts
    )
    random.Random(folder.name).shuffle(paths)
    for path in paths:
        data = path.read_bytes() if 200 < path.stat().st_size < 200_000 else b"\0"
        try:
            text = data.decode().replace("\r\n", "\n")
        except UnicodeDecodeError:
            continue
        language = language_of_text(path.name, text)
        if language == "ini" and not re.search(r"^\[[^\]\n]+\]\s*$", text, re.MULTILINE):
            continue  # any program's own settings
        if language and "\0" not in text and count[language] < MAX_FILES:
            count[language] += 1
            yield File(folder.name, SAME.get(language, language), text)


def split(files: Sequence[File]) -> tuple[list[File], list[File]]:
    """Return two halves of the folders, each with as many of those that have a language."""
    folders: dict[str, set[str]] = defaultdict(set)
    for file in files:
        folders[file.folder].add(file.language)
    shares = Counter(language for languages in folders.values() for language in languages)
    have: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    half = {}
    for folder in sorted(
        folders, key=lambda each: (min(shares[name] for name in folders[each]), each)
    ):
        more = sum((have[1][name] - have[0][name]) / shares[name] for name in folders[folder])
        half[folder] = int(more < 0)
        have[half[folder]].update(folders[folder])
    return [file for file in files if not half[file.folder]], [
        file for file in files if half[file.folder]
    ]


def examples_of(files: Sequence[File]) -> Iterator[File]:
    """Yield the samples of some files of each language, and two parts of each."""
    by_language = defaultdict(list)
    chance = random.Random(4)
    for file in files:
        by_language[file.language].append(file)
    for _, own in sorted(by_language.items()):
        chance.shuffle(own)
        for file in own[:MAX_EXAMPLES]:
            yield file._replace(text=file.text[: 2 * detection.SAMPLE_CHARS])
            for size in chance.choices(WINDOWS, k=2):
                if len(file.text) > 1.3 * size:
                    start = file.text.find("\n", chance.randrange(len(file.text) - size)) + 1
                    yield file._replace(text=file.text[start : start + size])


def choose_tokens(examples: Sequence[File], found: Sequence[set[str]]) -> list[str]:
    """Return the tokens that languages differ by most."""
    folders, count = defaultdict(set), Counter(file.language for file in examples)
    texts: dict[str, Counter[str]] = defaultdict(Counter)
    for file, tokens in zip(examples, found, strict=True):
        for token in tokens:
            folders[token].add(file.folder)
            texts[token][file.language] += 1

    def gain(token: str) -> float:
        shares = [number / count[language] for language, number in texts[token].items()]
        return max(shares) * float(np.log(max(shares) * len(count) / sum(shares)))

    known = [token for token in texts if token.isascii() and token.isprintable()]
    known = [
        each
        for each in known
        if len(folders[each]) >= MIN_FOLDERS and texts[each].total() >= MIN_TEXTS
    ]
    return sorted(known, key=gain, reverse=True)[:CANDIDATES]


def fit(examples: Sequence[File]) -> Weights:
    """Return the weights by which the languages of texts are most probable (Adam, and shrinking)."""
    found = [detection.tokens_of(file.text) for file in examples]
    tokens, languages = choose_tokens(examples, found), sorted({file.language for file in examples})
    place = {token: number for number, token in enumerate(tokens)}
    rows = [np.array([place[token] for token in each if token in place], int) for each in found]
    targets = np.array([languages.index(file.language) for file in examples])
    count = np.bincount(targets)
    heed = 1 / np.maximum(count[targets], 60) ** 0.7
    heed /= heed.mean()
    chance = np.random.default_rng(1)
    values = np.zeros(
        (len(tokens) + 1, len(languages)), np.float32
    )  # the last row: what each begins with
    mean, square = np.zeros_like(values), np.zeros_like(values)
    step = 0
    for epoch in range(EPOCHS):
        order, rate = chance.permutation(len(examples)), RATE * (1 - epoch / EPOCHS) + 1e-4
        for start in range(0, len(order), BATCH):
            batch, step = order[start : start + BATCH], step + 1
            inputs = np.zeros((len(batch), len(values)), np.float32)
            inputs[:, -1] = 1
            for row, number in zip(inputs, batch, strict=True):
                seen = rows[number][chance.random(len(rows[number])) < KEPT]
                row[seen] = max(1, len(seen)) ** -0.5
            scores = inputs @ values
            error = np.exp(scores - scores.max(1, keepdims=True))
            error /= error.sum(1, keepdims=True)
            error[np.arange(len(batch)), targets[batch]] -= 1
            slope = inputs.T @ (error * (heed[batch] / len(batch))[:, None])
            mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
            values -= rate * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-6)
            values[:-1] = np.sign(values[:-1]) * np.maximum(np.abs(values[:-1]) - PENALTY * rate, 0)
    return Weights(languages, tokens, values[-1], values[:-1])


def table_of(weights: Weights, files: int) -> str:
    """Return the table of the largest weights: a row for each token, two characters for each of its languages."""
    values = weights.of_tokens - np.median(weights.of_tokens, axis=1, keepdims=True)
    kept = np.argsort(-np.abs(values).max(1))[:TOKENS]
    values = values[kept]
    least = np.sort(np.abs(values), axis=1)[
        :, -min(LANGUAGES_OF_TOKEN, len(weights.languages)), None
    ]
    values[np.abs(values) < least] = 0
    unit = np.abs(values).max() / LARGEST
    head = f"What tokens say of a language, by {files:,} files of public repositories: python -m tests.benchmarks.kinds"
    lines = [
        head,
        f"{unit:.5f}",
        " ".join(weights.languages),
        " ".join(f"{each / unit:.0f}" for each in weights.own),
    ]
    for token, row in sorted(
        (weights.tokens[number], values[row]) for row, number in enumerate(kept)
    ):
        pairs = (
            (detection.FIRST_CODE + place, round(value / unit)) for place, value in enumerate(row)
        )
        shown = "".join(
            chr(code) + chr(detection.ZERO_CODE + weight) for code, weight in pairs if weight
        )
        lines += [f"{token}\t{shown}"] * bool(shown)
    return "\n".join(lines) + "\n"


def judge(files: Sequence[File], table: str | None = None) -> None:
    """Print how many files are known, and what the others are taken for."""
    right, count, wrong = 0, 0, Counter[str]()
    detection._weights.cache_clear()
    with patch.object(
        detection,
        "table_text",
        lambda name: table if table and name == "tokens" else table_text(name),
    ):
        for file in files:
            found = language_by_content("", file.text) or "text"
            found = SAME.get(found, found)
            count, right = count + 1, right + (found == file.language)
            wrong.update([f"{file.language} → {found}"] * (found != file.language))
    print(
        f"{right:,} of {count:,} files ({right / max(1, count):.1%}) have the language of their names"
    )
    print("\n".join(f"{number:6} {pair}" for pair, number in wrong.most_common(40)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    files = [file for folder in options.folders for file in read_files(folder)]
    common = Counter(file.language for file in files)
    files = [file for file in files if common[file.language] >= MIN_FILES]
    if not options.fit:
        return judge(files)
    seen, unseen = split(files)
    judge(unseen, table_of(fit(list(examples_of(seen))), len(seen)))
    TABLE.write_text(table_of(fit(list(examples_of(files))), len(files)))


if __name__ == "__main__":
    main()
