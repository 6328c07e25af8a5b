"""The overview of a repository: what others use comes first."""

from __future__ import annotations

import pytest

import promptforge as pf


def overview(files: dict[str, str], tokens: int) -> str:
    """Return the text of a repository without a query."""
    items = [
        pf.Item(kind="code", path=path, content=text, language=path.rpartition(".")[2])
        for path, text in files.items()
    ]
    return pf.render(items, packing="repository", max_tokens=tokens).text


@pytest.mark.slow
def test_names_that_others_use_stand_in_the_outline_of_a_large_file() -> None:
    helpers = "".join(
        f"// helper{n} helps.\nfunc (e *Engine) helper{n}(a int, b string) (int, error) {{\n"
        f"\tif a > {n} {{\n\t\treturn a, nil\n\t}}\n\treturn {n}, nil\n}}\n\n"
        for n in range(60)
    )
    engine = (
        "package shop\n\n// Engine is the shop.\ntype Engine struct {\n\tstore Store\n}\n\n"
        f"{helpers}// New makes one.\nfunc New(store Store) *Engine {{\n\treturn &Engine{{}}\n}}\n\n"
        "func (e *Engine) Refund(id int64, reason string) error {\n\tprint(id)\n\treturn nil\n}\n"
    )
    files = {"engine.go": engine}
    for n in range(40):
        files[f"small{n}.go"] = (
            f"package shop\n\n// Step{n} runs.\nfunc Step{n}(e *Engine) {{\n\te.Refund({n}, "
            f'"x")\n\tr := New(nil)\n\tprint(r, {n})\n\tprint("a step of its own, {n}")\n}}\n'
        )
    text = overview(files, 2000)
    block = text.partition("### engine.go")[2].partition("###")[0]
    assert "func New(" in block
    assert ") Refund(" in block
    assert "type Engine struct" in block
    assert block.count(") helper") < 60


def test_tiny_files_come_before_the_tail_of_a_big_one() -> None:
    files = {"big.py": "".join(f"v = {n}\n" for n in range(3000)), "b.py": "b = 1", "c.py": "c = 1"}
    text = overview(files, 9000)
    assert text.count("### ") == 3


def test_a_query_that_no_file_has_a_word_of_ranks_files_as_without_one() -> None:
    used = "def total(prices):\n    return sum(prices)\n" + "# a step of the total\n" * 40
    files = {f"a{n}.py": f"def step{n}():\n    return total([{n}])\n" * 20 for n in range(9)}
    files["z.py"] = used
    items = [
        pf.Item(kind="code", path=path, content=text, language="python")
        for path, text in files.items()
    ]
    plain, asked = (
        pf.render(items, packing="repository", max_tokens=300, query=query)
        for query in (None, "xylophone")
    )
    assert asked.text == plain.text
    assert "z.py" in plain.text
    assert "PF128" in [each.code for each in asked.warnings]
