"""Blocks of a document: what goes first, what a query brings along, and what a mark counts."""

from __future__ import annotations

import pytest
from shipped_words import divided, marks

from promptforge.trimming.markdown import divide

MARKER = "[cut]"
DOCUMENT = """\
---
tags: x
---
# Kettle

Kettle boils water. It is small. It has one button, and a lid that opens.

<!-- for the editors -->

## Install

Fetch it, then:

```sh
make
make install
```

### From source

- Get a compiler.
- Build it.

| Part | Weight |
| --- | --- |
| lid | 12 |

## Use

Press the button. See the [manual][m].

[m]: http://kettle.example
"""


def test_deep_and_late_blocks_go_first_then_all_but_the_outline_then_that() -> None:
    variants = divided(divide, DOCUMENT).variants()
    assert variants[4].text == (
        "[cut]\n\n[…]\n\n# Kettle\n\n"
        "Kettle boils water. It is small. It has one button, and a lid that opens.\n\n"
        "[…]\n\n"
        "## Install\n\nFetch it, then:\n\n```sh\nmake\nmake install\n```\n\n### From source\n\n"
        "[…]\n\n"
        "## Use\n\nPress the button. See the [manual][m].\n\n[m]: http://kettle.example\n"
    )
    outline = next(found for found in variants if found.name == "outline")
    assert outline.text == (
        "[cut]\n\n[…]\n\n# Kettle\n\n"
        "Kettle boils water. It is small. […]\n\n[…]\n\n"
        "## Install\n\n[…]\n\n## Use\n\n[…]\n\n"
        "[m]: http://kettle.example\n"
    )
    assert variants[len(variants) - 1].text.endswith(
        "# Kettle\n\nKettle boils water. It is small. […]\n\n[…]\n\n[m]: http://kettle.example\n"
    )


def test_without_a_marker_there_is_no_head() -> None:
    assert (
        divided(divide, DOCUMENT, "").variants()[0].text.startswith("---\ntags: x\n---\n# Kettle")
    )


def test_what_is_asked_for_brings_its_headings_and_its_introduction() -> None:
    found = divided(divide, DOCUMENT)
    at = next(i for i, part in enumerate(found.parts) if part.text.startswith("```sh"))
    text = found.text({at})
    assert (
        "# Kettle\n" in text
        and "## Install\n" in text
        and "Fetch it, then:" in text
        and "From source" not in text
    )


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_line_that_keeps_its_first_sentence_is_not_gone(end: str) -> None:
    text = (
        "# T\n\nThe kettle boils water for each of the cups. It is small and has a single "
        "button on top." + end
    )
    assert divided(divide, text).variants()[0].text == (
        f"[cut]\n\n# T\n\nThe kettle boils water for each of the cups. […]{end}"
    )


def test_a_rule_goes_with_what_is_before_it() -> None:
    assert [part.text for part in divided(divide, "a b c\n\n---\n\nd e f\n").parts] == [
        "a b c\n\n---\n\n",
        "d e f\n",
    ]


@pytest.mark.parametrize(
    "text", ["", "one block", "\n\n", "- a", "```\nnever closed\n\n# no heading\n"]
)
def test_one_block_has_no_pieces(text: str) -> None:
    assert divide(text, marks=marks(MARKER)) is None
