"""Variants of Python: the outline is its signatures, and every variant is still Python."""

from __future__ import annotations

import ast
import random
import warnings
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from program_pieces import SHOP, STDLIB, divide, divided, whole
from python_programs import programs
from shipped_words import marks as shipped_marks

from promptforge.trimming import python

OUTLINE = '''\
# [cut]
"""A shop."""
import os
from decimal import Decimal
# …


@register(
    "shop",
)
class Shop:
    """Sells things.
    …
    """
    ...

    def sell(
        self, thing: str, *, price: Decimal = Decimal(1)
    ) -> None:
        """Sell one.
        …
        """
        ...

    def buy(self, thing): self.stock.append(thing)


def main():
    ...
'''


def parses(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except SyntaxError:
            return False
    return True


def test_the_outline_of_python_is_its_signatures() -> None:
    variants = divided(SHOP, "python").variants()
    found_variants = [variant for variant in variants]
    assert next(variant.text for variant in found_variants if variant.name == "outline") == OUTLINE
    assert all(parses(variant.text) for variant in found_variants)
    assert found_variants[-1].text == (  # never a mark alone
        '# [cut]\n# …\n\n\n@register(\n    "shop",\n)\nclass Shop:\n    ...\n'
    )


def test_the_largest_body_goes_first_from_its_end() -> None:
    variants = divided(SHOP, "python").variants()
    assert "        # money\n        self.till += price\n        ...\n" in variants[0].text
    assert "Once only" in variants[2].text
    assert 'shop.sell("hat")' in variants[2].text


def test_what_a_query_wants_stays_with_its_signature_and_class() -> None:
    pieces = divided(SHOP, "python")
    wanted = next(i for i, part in enumerate(pieces.parts) if "till" in part.text)
    variants = pieces.variants({wanted: 1.0})
    text = variants[len(variants) - 3].text  # under it: a function, a class
    assert text == (
        '# [cut]\n# …\n\n\n@register(\n    "shop",\n)\n'
        "class Shop:\n"
        "    ...\n\n    def sell(\n"
        "        self, thing: str, *, price: Decimal = Decimal(1)\n"
        "    ) -> None:\n        ...\n        # money\n"
        "        self.till += price\n"
        "        ...\n"
    )


@pytest.mark.parametrize("room", [0, 30, 200, 800])
def test_no_variant_is_passed_over_that_has_room(room: int) -> None:
    text = Path(ast.__file__).read_text(encoding="utf-8")
    pieces = python.divide(text, marks=shipped_marks("[cut]"))
    assert pieces is not None
    for variants in (pieces.variants(), pieces.numbered(1).variants()):
        first = variants.first_within(room)
        assert all(len(variants[n].text) > room for n in range(max(first - 40, 0), first))


def test_no_head_without_a_marker() -> None:
    pieces = divide(SHOP, marks=shipped_marks(""), language="python")
    assert pieces
    assert pieces.variants()[0].text.startswith('"""A shop."""\nimport os\n')


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize(
    "path", random.Random(1).sample(STDLIB, 25), ids=lambda path: str(path.name)
)
def test_every_variant_of_a_real_module_parses(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "replace")
    pieces = divided(text, "python")
    assert whole(pieces) == text
    luck = random.Random(path.name)
    worth = {luck.randrange(len(pieces.parts)): luck.random() for _ in range(9)}
    for variants in (pieces.variants(), pieces.variants(worth)):
        numbers = [luck.randrange(len(variants)) for _ in range(5)]
        assert all(parses(variants[number].text) for number in [0, *numbers, len(variants) - 1])


@pytest.mark.slow
@given(
    programs(), st.integers(0, 99), st.dictionaries(st.integers(0, 60), st.floats(0, 1), max_size=4)
)
@example("# c\na()\n\n", 0, {})
def test_every_variant_parses(text: str, step: int, worth: dict[int, float]) -> None:
    assert parses(text)
    pieces = python.divide(text, marks=shipped_marks("[cut]"))
    if pieces:
        assert whole(pieces) == text
        variants = pieces.variants(
            {i: value for i, value in worth.items() if i < len(pieces.parts)}
        )
        if len(variants):  # a comment over one statement has none
            assert parses(variants[step % len(variants)].text)


@pytest.mark.parametrize(
    "text",
    [
        "def f():\\\n  a()\n  \nb()\n",
        "try:\n  a\n  b\n  c\nexcept A:\n  d\n  e\nelse:\n  f\nfinally:\n  g\nh\n",
        "def f():\n  match a:\n    case 1:\n      b\n      c\n    case 2:\n      d\n"
        "    case 3:\n      f\n  g\n",
        "def f():\n# x\n  a\n# y\n  b\n# z\nc\n",
        "def f():\n  '''a\n  b\\'''\n  c\n  d'''\n  e\n",
        "if a:\n  b\nelif c:\n  d\nelse:\n  if e:\n    f\n    g\n    h\n  else:\n    i\nj\n",
        "class A:\n\tdef f(self):\n\t\ta\n\t\tb\n\n\tdef g(self) -> None: ...\n",
        "def f():\r\n  a\r\n  b\r\n\r\ndef g():\r\n  c",
        "def f():\r  a\r  b\rc\r",
        "x = 1  # \\\ndef f():\n  a\n  b\n",
        "def f():\n  a; b\n  c = 1 \\\n\n  d\n",
        "async def f():\n  async with a:\n    b\n    c\n    d\n    e\n    f\n    g\n    h\n"
        "  return\n",
    ],
)
def test_odd_python_stays_python(text: str) -> None:
    pieces = python.divide(text, marks=shipped_marks("x */ \n y"))
    assert pieces
    assert whole(pieces) == text
    for worth in ({}, {len(pieces.parts) - 2: 1.0}, {1: 2.0, len(pieces.parts) // 2: 1.0}):
        variants = pieces.variants(worth)
        assert [n for n in range(len(variants)) if not parses(variants[n].text)] == []


def test_a_tree_that_another_thread_has_spoilt_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole_pieces, parse, spoilt = python.divide(SHOP, marks=shipped_marks("[cut]")), ast.parse, [2]

    def flaky(text: str) -> ast.Module:
        spoilt[0] -= 1
        if spoilt[0] >= 0:
            raise SystemError("AST constructor recursion depth mismatch")
        return parse(text)

    monkeypatch.setattr(ast, "parse", flaky)
    again = python.divide(SHOP, marks=shipped_marks("[cut]"))
    assert whole_pieces is not None and again is not None and again.parts == whole_pieces.parts


def test_an_outline_says_each_signature_on_its_line_and_what_a_class_is() -> None:
    outlines = divided(
        '"""A shop\nthat sells."""\n\nimport os\n\n\nclass Till:\n    """Takes money.\n\n    All of it.\n'
        '    """\n\n    size = 1\n\n    def open(self):\n        return os\n\n\ndef sell(hat):\n    return hat\n',
        "python",
    ).outlines()
    head = '# [cut]\n"""A shop\nthat sells."""\n'
    assert outlines[0].text == (
        f'{head}import os\nclass Till:\n    """Takes money. …"""\n    size = 1\n'
        "    def open(self): ...\ndef sell(hat): ...\n"
    )
    assert outlines[3].text == (
        f'{head}class Till:\n    """Takes money. …"""\n    ...\ndef sell(hat): ...\n'
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["argparse", "dataclasses", "pickle", "typing"])
def test_outlines_of_python_are_python(name: str) -> None:
    text = next(path for path in STDLIB if path.stem == name).read_text("utf-8")
    outlines = divided(text, "python").outlines()
    for number in range(0, len(outlines), 5):
        assert parses(outlines[number].text)
