"""Strategies of Python programs: all parse, and hold what is hard to take apart."""

from __future__ import annotations

from hypothesis import strategies as st

SIMPLE = st.sampled_from(
    [
        "pass",
        "x = 1; y = 2",
        "x = '''a\nb'''",
        "x = (\n1,\n)",
        "import a",
        "z = 1  # d \\",
        "w = \\\n 1",
        "a()\n",
        "# c",
        "# d\n\n\n# e\n\n# f",
        "\f",
        "def g(): ...",
        "class C: x = 1",
        "if a: b = 1",
        '"s"',
        "x = [\n# \n]",
        "case = 3",
        "match = 4",
        "@d\ndef h(\n): return 1",
    ]
)
HEADS = st.sampled_from(
    [
        "def f(a=1,\n  b=2\n) -> None:",
        "class B:  # x",
        "@d\n# e\n@f(\n1)\nasync def g(x):",
        "with a:",
        "for a in b:",
        "while a:",
        "if (a and\nb):",
        "def f():\n# odd\n",
        "try:",
        "try:+",
        "match a:",
        "if x:+",
        "for q in r:+",
        "def t():+",
    ]
)
SAYS = st.sampled_from(
    ["", '"""One."""', '"""One.\n\n  Two\n  three\n  """', "'''\n  One\\\n  Two\n  Three\n  '''"],
)
REST = {
    "try:": ["except E:"],
    "try:+": ["except E as f:", "except (A,\nB):", "else:", "finally:"],
    "if x:+": ["elif y:", "# why\nelif z:", "else:"],
    "for q in r:+": ["else:"],
}


def shift(text: str) -> str:
    """Return lines one step deeper; those in strings and brackets too, which does no harm."""
    return "".join(f"  {line}" if line.strip() else line for line in text.splitlines(keepends=True))


@st.composite
def programs(draw: st.DrawFn, depth: int = 0) -> str:
    """Draw statements that parse."""
    out = ""
    for _ in range(draw(st.integers(1, 4))):
        if depth > 3 or draw(st.booleans()):
            out += draw(SIMPLE) + "\n"
            continue
        head = draw(HEADS)
        body = shift(draw(SAYS) + "\n" + draw(programs(depth + 1)) + "pass\n")
        if head == "match a:":
            out += (
                head
                + "\n"
                + shift("".join(f"case {n}:\n{body}" for n in range(draw(st.integers(1, 3)))))
            )
            continue
        out += head.removesuffix("+") + "\n" + body
        for clause in REST.get(head, []):
            out += clause + "\n" + shift(draw(programs(depth + 2)) + "pass\n")
    return out
