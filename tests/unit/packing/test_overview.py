"""The overview of a repository: what others use comes first."""

from __future__ import annotations

from typing import Any

import pytest

import promptforge as pf
from promptforge.rendering.page import Page
from promptforge.selection.group import ContainedTexts

MAX_PAGES_BUILT = 40


def overview(files: dict[str, str], tokens: int) -> str:
    """Return the text of a repository without a query."""
    items = [
        pf.Item(
            kind="file" if path.endswith((".md", ".markdown")) else "code",
            path=path,
            content=text,
            language=path.rpartition(".")[2],
        )
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


def shop(*, steps: int) -> dict[str, str]:
    """Return a program of a few files, and as many tests that say nothing but their names."""
    files = {
        f"lib/{name}.js": "".join(
            f"exports.{name}{n} = function {name}{n}(cart) {{\n"
            f"  const sum = cart.total * {n};\n  return require('./cart').cart{n % 3}(sum);\n}};\n\n"
            for n in range(12)
        )
        for name in ("cart", "price", "order")
    }
    for n in range(steps):
        files[f"test/step{n}.test.js"] = (
            f"const lib = require('../lib/cart');\ndescribe('step {n}', function () {{\n"
            f"  it('works', function () {{\n    lib.cart{n % 3}({n});\n  }});\n}});\n"
        )
    return files


def test_the_text_of_a_program_comes_before_the_names_of_tests() -> None:
    files = shop(steps=60)
    text = overview(files, 1000)
    assert text.count("### lib/") == 3
    assert "const sum = cart.total * 1;" in text
    assert text.count("### test/") <= 1
    assert overview(files, 4000).count("### test/") > 9


@pytest.mark.parametrize("tokens", [200, 300, 500])
def test_an_outline_never_becomes_the_beginning_of_its_program(tokens: int) -> None:
    """Imports and a long comment come first in many programs, and name nothing."""
    imports = "".join(f"import shop.internal.part{n}.Helper{n}\n" for n in range(60))
    says = "".join(f" * Line {n} of what a reader of the pool has to know.\n" for n in range(400))
    methods = "".join(
        f"  fun step{n}(first: Int, second: Int): Int {{\n    val sum = first + {n}\n"
        f"    return sum * second\n  }}\n\n"
        for n in range(30)
    )
    pool = f"class Pool(val size: Int) {{\n{methods}}}\n"
    files = {"shop/Pool.kotlin": f"package shop\n\n{imports}\n/**\n{says} */\n{pool}"}
    for n in range(30):
        more = "".join(
            f"  fun other{n}x{k}(a: Int): Int {{\n    val sum = a + {k}\n    return pool.size * sum\n  }}\n"
            for k in range(3)
        )
        files[f"shop/Use{n}.kotlin"] = (
            f"package shop\n\nimport shop.Pool\n\nclass Use{n}(val pool: Pool) {{\n"
            f"  fun use{n}() {{\n    pool.step{n}({n}, 2)\n  }}\n{more}}}\n"
        )
    block = overview(files, tokens).partition("### shop/Pool.kotlin")[2].partition("###")[0]
    assert "class Pool(" in block


@pytest.mark.parametrize("most", range(60, 600, 90))
@pytest.mark.parametrize("tokens", [700, 1500, 2500])
def test_outlines_that_grow_keep_the_maximum_of_their_section(tokens: int, most: int) -> None:
    items = [
        pf.Item(
            kind="code", path=f"{'ab'[n % 2]}/m{n}.py", content=program(n, 1 + n * 5 % 13),
            language="python", metadata={"team": "ab"[n % 2]},
        )
        for n in range(24)
    ]  # fmt: skip
    result = pf.render(
        items, packing="repository", max_tokens=tokens, group_by="team",
        section_budgets={"a": {"max_tokens": most}},
    )  # fmt: skip
    assert all(each.tokens <= most for each in result.sections if each.key == "a")


def test_a_long_document_leaves_room_for_the_others() -> None:
    pages = {"manual.pdf": 60, "plan.pptx": 5, "prices.xlsx": 2}
    items = [
        pf.Item(kind="document", path=path, content=f"## Page {n}\n\n{path} says {n}. " * 9)
        for path, number in pages.items()
        for n in range(number)
    ]
    text = pf.render(items, packing="repository", max_tokens=800).text
    assert text.count("### plan.pptx") >= 1
    assert text.count("### prices.xlsx") >= 1
    assert text.count("### manual.pdf") >= 2
    assert text.index("## Page 0") < text.index("## Page 1")


def test_a_file_of_data_leaves_room_for_the_others() -> None:
    rows = ", ".join(f"({n}, 'name {n}', 'mail{n}@example.com')" for n in range(2000))
    files = {"README.md": "# Shop\n", "big.sql": f"INSERT INTO users VALUES {rows};\n"}
    for n in range(3):
        files[f"docs/{n}.md"] = "".join(
            f"## Part {n}{k}\n\nSays {k} of {n}.\n\n" for k in range(99)
        )
    text = overview(files, 2000)
    assert all(f"### {path}" in text for path in files)
    assert len(text.partition("### big.sql")[2].partition("###")[0]) < len(text) / 2


def test_a_tree_takes_none_of_the_room_of_the_readme() -> None:
    files = {f"Shop/Part{n}/Mapper.Of{n}.cs": program_in_csharp(n) for n in range(120)}
    files["README.md"] = "# Shop\n\n" + "".join(f"Says {n} of a shop.\n\n" for n in range(800))
    items = [pf.Item(kind="code", path=path, content=text) for path, text in files.items()]
    for tokens in (2000, 4000, 6000):
        result = pf.render(items, packing="repository", tree=True, max_tokens=tokens)
        (readme,) = (item for item in result.items if item.path == "README.md")
        assert readme.tokens >= tokens / 20


def test_the_readme_takes_none_of_the_room_beside_a_large_file_shown_whole() -> None:
    files = {f"Shop/Part{n}/Mapper.Of{n}.cs": program_in_csharp(n) for n in range(60)}
    files["README.md"] = "# Shop\n\n" + "".join(f"Says {n} of a shop.\n\n" for n in range(800))
    items = [pf.Item(kind="code", path=path, content=text) for path, text in files.items()]
    large = "".join(f"x{n} = {n}\n" for n in range(3000))
    items.append(pf.Item(kind="code", path="large.py", content=large, required=True))
    result = pf.render(items, packing="repository", max_tokens=25_000)
    assert sum(item.tokens > 0 for item in result.items) > 30


def program_in_csharp(n: int) -> str:
    """Return a class that the next one uses."""
    methods = "".join(
        f"        public int Step{n}{k}(Mapper{n + 1} next)\n        {{\n"
        f"            return next.Step{n + 1}{k}(null) + {k};\n        }}\n"
        for k in range(9)
    )
    return f"namespace Shop\n{{\n    public class Mapper{n}\n    {{\n{methods}    }}\n}}\n"


def test_the_room_that_others_leave_goes_to_a_shortened_document() -> None:
    rows = ", ".join(f"({n}, 'name {n}')" for n in range(4000))
    pages = "".join(f"## Part {n}\n\nSays something of {n}.\n\n" for n in range(400))
    program = "import csv\n\n\ndef main():\n    print(csv)\n"
    data = f"INSERT INTO users VALUES {rows};\n"
    text = overview({"big.sql": data, "run.py": program, "top.markdown": pages}, 4000)
    assert text.count("### ") == 3
    assert len(text) > 11_000


def test_an_empty_file_takes_no_room_beside_shortened_ones() -> None:
    program = "".join(f"def step{n}(pool):\n    return pool.take({n})\n\n\n" for n in range(99))
    files = {"shop/__init__.py": "", "shop/steps.py": program, "shop/log/__init__.py": "\n"}
    assert overview(files, 900).count("### ") == 1
    assert "### shop/__init__.py" in overview(files, 9000)


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


@pytest.mark.parametrize("tokens", range(10, 60, 5))
def test_items_without_a_path_are_answered_from_beside_files(tokens: int) -> None:
    long = "Traceback: needle failed. Source: man page 'tar'. Then he came. import needle. " * 9
    items = [
        pf.Item(kind="code", content=long, name="tar"),
        pf.Item(kind="code", content="def needle(x):", path="b.md"),
        pf.Item(kind="code", content=f"a: b {long}", name="tar2"),
    ]
    result = pf.render(items, packing="repository", query="needle", max_tokens=tokens)
    assert result.tokens <= tokens


def counted_calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[str]:
    """Return a list that gets the name of a method each time it is called."""
    calls: list[str] = []
    method = getattr(owner, name)

    def count(*given: Any, **options: Any) -> Any:
        calls.append(name)
        return method(*given, **options)

    monkeypatch.setattr(owner, name, count)
    return calls


def program(number: int, functions: int) -> str:
    """Return a program whose functions call those of two others."""
    return "".join(
        f"def step_{number}_{n}(value):\n    helped = step_{number // 2}_{n}(value)\n"
        f"    return helped + step_{number // 3}_0({n})\n\n"
        for n in range(functions)
    )


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [500, 8_000, 60_000, 200_000, 350_000, 420_000])
def test_no_budget_builds_the_page_of_2000_files_more_than_40_times(
    monkeypatch: pytest.MonkeyPatch, tokens: int
) -> None:
    built = counted_calls(monkeypatch, Page, "measure")
    files = {f"part{n % 40}/step_{n}.py": program(n, 1 + n * n % 11) for n in range(2_000)}
    text = overview(files, tokens)
    assert text
    assert len(built) <= MAX_PAGES_BUILT


def test_files_without_room_are_not_compared_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    read = counted_calls(monkeypatch, ContainedTexts, "_read")
    files = {f"part{n % 40}/step_{n}.py": program(n, 60) for n in range(300)}
    for tokens in range(2_000, 2_500, 100):
        assert overview(files, tokens)
    assert len(read) < len(files)


def patch_of(number: int) -> str:
    return (
        f"Description: Close lid {number}\n The kettle boils over without it.\n---\n"
        f"--- a/src/lid{number}.c\n+++ b/src/lid{number}.c\n"
        "@@ -10,7 +10,9 @@ static int lid_open(struct lid *l)\n {\n   int a;\n   int b;\n"
        f"-  int heat{number};\n+  long heat{number};\n+  if (heat{number} > l->most)\n"
        "+    return -1;\n   int c;\n   int d;\n }\n"
    )


@pytest.mark.parametrize("tokens", [300, 450, 600, 900])
@pytest.mark.parametrize("ending", ["patch", "diff"])
def test_a_patch_among_files_says_its_purpose_or_a_change(tokens: int, ending: str) -> None:
    """Its outline has the names of the files and the numbers of the lines alone."""
    files = {"README.md": "# Demo\n\nA demo.\n", "src/main.c": "int main(void) { return 0; }\n"}
    files |= {f"debian/patches/{n:02}.{ending}": patch_of(n) for n in range(30)}
    top, program, *patches = overview(files, tokens).split("\n### ")
    assert top.startswith("### README.md")
    assert program.startswith("src/main.c")
    assert patches
    assert all(f"Close lid {int(each[15:17])}\n" in each for each in patches)
