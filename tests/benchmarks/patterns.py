"""`python -m tests.benchmarks.patterns`: how much sooner tiktoken has done by the patterns that promptforge gives it.

A table of CPU time by the eased pattern over that by the published one: of code and of prose of the Python that runs
this, the median of the runs, which take turns.
"""

from __future__ import annotations

import statistics
import time

import tiktoken

from promptforge.tokenizers.vocabulary import SHIPPED_VOCABULARIES, load_table, speed_up_pattern

from . import corpus

RUNS = 60


def main() -> None:
    pieces = corpus.make(300, corpus.SEED)
    texts = {
        kind: "\n\n".join(p.content for p in pieces if p.kind == kind)[:30_000]
        for kind in ("code", "document")
    }
    for name, vocabulary in SHIPPED_VOCABULARIES.items():
        ranks = load_table(name).all_ranks()
        published, eased = (
            tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
            for pattern in (vocabulary.pattern, speed_up_pattern(vocabulary.pattern))
        )
        for kind, text in texts.items():
            assert eased.encode_ordinary(text) == published.encode_ordinary(text)
            pairs = [(_seconds(eased, text), _seconds(published, text)) for _ in range(RUNS)]
            print(f"{name:12} {kind:9} {statistics.median(a / b for a, b in pairs):.2f}")


def _seconds(encoding: tiktoken.Encoding, text: str) -> float:
    start = time.process_time()
    encoding.encode_ordinary(text)
    return time.process_time() - start


if __name__ == "__main__":
    main()
