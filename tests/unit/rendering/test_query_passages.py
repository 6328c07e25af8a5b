"""Passages that answer a query: sentences of found texts, chunks of a repository's files."""

from __future__ import annotations

import promptforge as pf

SENTENCE = "The weather on day {} was mild, and nobody wrote down more than that."
FACT = "The rotation of keys takes place each Tuesday at noon."
PROSE = " ".join([*map(SENTENCE.format, range(40)), FACT, *map(SENTENCE.format, range(40, 60))])
STEPS = "\n\n".join(f"def step_{n}(value):\n    return value + {n}\n" for n in range(60))
LOADS = "\n\n".join(f"def load_{n}(path):\n    return open(path)\n" for n in range(60))


def test_the_sentence_that_answers_is_shown_and_the_rest_is_not() -> None:
    found = pf.render([{"content": PROSE}], query="when are keys rotated?", max_tokens=60)
    assert FACT in found.text and found.tokens <= 60
    assert found.items[0].form == "trimmed"
    assert FACT not in pf.render([{"content": PROSE}], max_tokens=60).text


def test_the_chunk_of_a_file_that_answers_is_shown() -> None:
    files = {"calc/steps.py": STEPS, "calc/loads.py": LOADS}
    items = [{"kind": "code", "path": path, "content": text} for path, text in files.items()]
    found = pf.render(items, query="step_47", max_tokens=200)
    assert "return value + 47" in found.text and found.tokens <= 200
    assert "return value + 47" not in pf.render(items, max_tokens=200).text
