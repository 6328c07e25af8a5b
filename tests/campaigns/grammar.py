"""Hostile templates by a grammar: of Jinja, of other template languages, and of growing texts."""

from __future__ import annotations

import random
from collections.abc import Callable

from promptforge.templating.loader import Templates

NAMES = (
    *(
        "item",
        "items",
        "sections",
        "explicit",
        "sources",
        "header",
        "total",
        "query",
        "scores",
        "loop",
        "self",
        "super",
    ),
    *(
        "caller",
        "varargs",
        "kwargs",
        "namespace",
        "cycler",
        "joiner",
        "lipsum",
        "range",
        "dict",
        "config",
        "request",
    ),
    *("a", "b", "c", "m", "environment", "context", "true", "none", "__builtins__", "x" * 300),
)
FIELDS = (
    *(
        "content",
        "name",
        "path",
        "metadata",
        "text",
        "title",
        "id",
        "score",
        "nope",
        "items",
        "keys",
        "format",
        "count",
    ),
    *(
        "__class__",
        "__globals__",
        "__init__",
        "__mro__",
        "__subclasses__",
        "mro",
        "gi_frame",
        "f_globals",
        "upper",
    ),
    *(
        "_module",
        "_TemplateReference__context",
        "environment",
        "read_text",
        "index",
        "previtem",
        "changed",
        "cycle",
    ),
)
FILTERS = (
    *(
        "upper",
        "lower",
        "trim",
        "join",
        "join(a)",
        "default(a)",
        "first",
        "last",
        "length",
        "percent",
        "decimals(9)",
    ),
    *(
        "decimals(999999999)",
        "capitalize",
        "code",
        "fence",
        "fence(a)",
        "prose",
        "md.line",
        "fuel.enter",
        "fuel.rounds",
    ),
    *(
        "attr('__class__')",
        "map('upper')",
        "format(1)",
        "center(10**9)",
        "replace('a', a)",
        "list",
        "tojson",
        "safe",
    ),
    *(
        "batch(9)",
        "slice(9)",
        "indent(10**9)",
        "xmlattr",
        "urlize",
        "random",
        "sort",
        "groupby('x')",
        "pprint",
        "e",
    ),
)
TESTS = (
    "defined",
    "none",
    "number",
    "sequence",
    "odd",
    "in [a]",
    "eq a",
    "in a",
    "callable",
    "divisibleby 0",
    "mapping",
)
OPERATORS = (
    "+",
    "-",
    "~",
    "*",
    "/",
    "//",
    "%",
    "**",
    "==",
    "!=",
    "<",
    ">=",
    "in",
    "not in",
    "and",
    "or",
    "is",
    "if",
)
SCALARS = (
    *(
        "1",
        "0",
        "-1",
        "1.5",
        "1e308",
        "'x'",
        '""',
        "9" * 30,
        "9" * 5000,
        "10**9",
        "none",
        "true",
        "'\\u0000'",
        "[]",
        "{}",
    ),
    *(
        "'a' * 9",
        "'%1000000000d'",
        "'{0.__class__}'",
        "'\\ud800'",
        "'```'",
        "'</document>'",
        "'{{ 7 * 7 }}'",
        "()",
    ),
)
FILES = (
    "t/item.{}.j2",
    "t/layout.{}.j2",
    "t/_part.{}.j2",
    "shipped/chunks/item.{}.j2",
    "../x.{}.j2",
    "/etc/passwd",
    "t",
)
TEXTS = (
    "x",
    "\n",
    " ",
    "# ",
    "<a>",
    "</a>",
    '"',
    "`",
    "```\n",
    "<!--",
    "| ",
    "{# x #}",
    "- ",
    '<a b="',
    "[",
    "&",
    "\\",
)

_NESTED = (
    *(
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("not ", "1", ""),
        ("-", "1", ""),
        ("1 + ", "1", ""),
        ("a ~ ", "a", ""),
    ),
    *(
        ("a.", "b", ""),
        ("", "a", "[0]"),
        ("", "a", " | upper"),
        ("a if a else ", "a", ""),
        ("a(", "a", ")"),
    ),
)
_TAGS = (
    *(
        ("{% if a %}", "{% endif %}"),
        ("{% for a in items %}", "{% endfor %}"),
        ("{% set a %}", "{% endset %}"),
    ),
    *(("{% if a %}{% elif b %}", ""), ("{{", "}}"), ("{#", "#}"), ("{% raw %}", "{% endraw %}")),
)


class Grammar:
    """Makes templates from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        shipped = Templates()
        self._sources = [
            shipped.source(name)[0] for name in shipped.names() if name.endswith(".j2")
        ]

    def templates(self) -> tuple[str, dict[str, str]]:
        """Return the ending of a format, and templates of it: a page, an item and a part."""
        ending = self.random.choice(("md", "xml", "json", "txt"))
        made = {
            f"t/item.{ending}.j2": self._source(ending),
            f"t/_part.{ending}.j2": self._source(ending) if self.random.random() < 0.3 else "part",
            f"t/layout.{ending}.j2": "{% for item in items %}\n{{ item.text }}\n{% endfor %}",
        }
        if self.random.random() < 0.3:
            made[f"t/layout.{ending}.j2"] = self._source(ending)
        return ending, made

    def _source(self, ending: str) -> str:
        make: Callable[[str], str] = self.random.choice(
            (
                self._statements,
                self._statements,
                self._growing,
                self._growing,
                self._mutated,
                self._deep,
            )
        )
        return make(ending)

    def _some(self, most: int) -> int:
        return self.random.randint(1, most)

    def _name(self, ending: str) -> str:
        return self.random.choice(FILES).format(ending)

    def expression(self, depth: int = 3) -> str:
        """Return one expression."""
        r = self.random
        if depth <= 0 or r.random() < 0.2:
            return r.choice(NAMES) if r.random() < 0.6 else r.choice(SCALARS)

        def inner() -> str:
            return self.expression(depth - 1)

        return r.choice(
            (
                lambda: f"{inner()}.{r.choice(FIELDS)}",
                lambda: f"item.{r.choice(FIELDS)}",
                lambda: f"{inner()}[{inner()}]",
                lambda: f"{inner()}[{inner()}:{inner()}]",
                lambda: f"({inner()} {r.choice(OPERATORS)} {inner()})",
                lambda: (
                    f"({inner()} {r.choice(OPERATORS)} {inner()} {r.choice(OPERATORS)} {inner()})"
                ),
                lambda: f"({inner()} | {r.choice(FILTERS)})",
                lambda: f"({inner()} is {r.choice(TESTS)})",
                lambda: f"({inner()} if {inner()} else {inner()})",
                lambda: f"[{inner()}, {inner()}]",
                lambda: f"{{'a': {inner()}, {inner()}: {inner()}}}",
                lambda: f"{r.choice(NAMES)}({inner()}, *{inner()})",
                lambda: f"{r.choice(NAMES)}({inner()})",
                lambda: f"{inner()}.{r.choice(FIELDS)}({inner()})",
                lambda: f"{r.choice(('-', 'not ', '+', '~'))}{inner()}",
            )
        )()

    def _statements(self, ending: str, depth: int = 3) -> str:
        return "".join(self._statement(ending, depth) for _ in range(self._some(5)))

    def _statement(self, ending: str, depth: int) -> str:
        r, e = self.random, self.expression
        if depth <= 0 or r.random() < 0.3:
            return r.choice(TEXTS) if r.random() < 0.4 else f"{{{{ {e()} }}}}"

        def body() -> str:
            return self._statements(ending, depth - 1)

        name = r.choice("abcm")
        return r.choice(
            (
                lambda: f"{{% for {name} in {e()} %}}{body()}{{% else %}}{body()}{{% endfor %}}",
                lambda: f"{{% for {name} in {e()} if {e()} %}}{body()}{{% endfor %}}",
                lambda: f"{{% for {name} in item.content %}}{body()}{{% endfor %}}",
                lambda: f"{{% for {name} in {e()} recursive %}}{{{{ loop({e()}) }}}}{{% endfor %}}",
                lambda: f"{{% if {e()} %}}{body()}{{% elif {e()} %}}{body()}{{% endif %}}",
                lambda: f"{{% set {name} = {e()} %}}",
                lambda: f"{{% set {name}.{r.choice(FIELDS)} = {e()} %}}",
                lambda: f"{{% set {name} %}}{body()}{{% endset %}}",
                lambda: (
                    f"{{% macro {name}(a, b={e()}) %}}{body()}{{% endmacro %}}"
                    f"{{{{ {name}({e()}) }}}}"
                ),
                lambda: (
                    f"{{% macro {name}(a) %}}{{{{ {name}(a ~ a) }}}}{{% endmacro %}}"
                    f"{{{{ {name}(1) }}}}"
                ),
                lambda: f"{{% block {name} %}}{body()}{{{{ super() }}}}{{% endblock %}}",
                lambda: f"{{% include '{self._name(ending)}' %}}",
                lambda: f"{{% include {e()} ignore missing %}}",
                lambda: f"{{% extends '{self._name(ending)}' %}}",
                lambda: f"{{% from '{self._name(ending)}' import {name} %}}",
                lambda: f"{{% filter {r.choice(FILTERS)} %}}{body()}{{% endfilter %}}",
                lambda: f"{{% with {name} = {e()} %}}{body()}{{% endwith %}}",
                lambda: f"{{% autoescape false %}}{body()}{{% endautoescape %}}",
                lambda: f"{{% do {e()} %}}",
            )
        )()

    def _growing(self, ending: str) -> str:
        """Return what grows with each step: doublings, loops in loops, calls of calls."""
        r = self.random
        steps = self._some(40)
        change = r.choice(
            (
                "a ~ a",
                "a + a",
                "[a, a]",
                "{'a': a, 'b': a}",
                "[a, a] | join(a)",
                "(a, a)",
                "a | upper ~ a",
                "[a] + [a]",
            )
        )
        start = r.choice(
            ("'ab'", "[1]", "item.content", "item", "items", "1", "{'a': 1}", "item.metadata.tags")
        )
        end = r.choice(
            (
                "{{ a }}",
                "{{ a == a }}",
                "{{ a in a }}",
                "{% for c in a %}{{ a }}{% endfor %}",
                "{{ a | fence }}",
            )
        )
        return r.choice(
            (
                lambda: f"{{% set a = {start} %}}" + f"{{% set a = {change} %}}\n" * steps + end,
                lambda: (
                    f"{{% set a %}}{{{{ {start} }}}}{{% endset %}}"
                    + "{% set a %}{{ a }}{{ a }}{% endset %}\n" * steps
                    + end
                ),
                lambda: (
                    "".join(
                        f"{{% for x{n} in {r.choice(('[1, 2]', 'item.content', 'a'))} %}}"
                        for n in range(steps)
                    )
                    + end
                    + "{% endfor %}" * steps
                ),
                lambda: (
                    "{% macro m0(a) %}x{% endmacro %}"
                    + "".join(
                        f"{{% macro m{n}(a) %}}{{{{ m{n - 1}({change}) }}}}"
                        f"{{{{ m{n - 1}(a) }}}}{{% endmacro %}}\n"
                        for n in range(1, steps)
                    )
                    + f"{{{{ m{steps - 1}({start}) }}}}"
                ),
                lambda: "".join(
                    f"{{{{ item.content | {r.choice(('fence', 'prose', 'upper'))} }}}}\n"
                    for _ in range(steps * 50)
                ),
                lambda: "{{ " + " ~ ".join(["item.content"] * steps * 9) + " }}",
                lambda: f"{{% include 't/_part.{ending}.j2' %}}\n" * steps * 20,
            )
        )()

    def _deep(self, ending: str) -> str:
        """Return what is nested, or long, beyond all measure."""
        many = self.random.choice((30, 300, 3000, 30000))
        one = self.random.choice(_NESTED)
        tags = self.random.choice(_TAGS)
        if self.random.random() < 0.5:
            return f"{{{{ {one[0] * many}{one[1]}{one[2] * many} }}}}"
        return tags[0] * many + "x" + tags[1] * many

    def _mutated(self, ending: str) -> str:
        """Return a shipped template with parts cut, doubled, swapped, or taken from elsewhere."""
        r = self.random
        text = r.choice(self._sources)
        for _ in range(self._some(6)):
            at, to = sorted((r.randint(0, len(text)), r.randint(0, len(text))))
            piece = text[at:to]
            text = r.choice(
                (
                    lambda t=text, a=at, b=to: t[:a] + t[b:],
                    lambda t=text, a=at, p=piece: t[:a] + p[:500] * 3 + t[a:],
                    lambda t=text, a=at: t[:a] + self._statement(ending, 2) + t[a:],
                    lambda t=text, a=at: t[:a] + f"{{{{ {self.expression()} }}}}" + t[a:],
                    lambda t=text, a=at, b=to: t[:a] + r.choice(TEXTS) + t[b:],
                    lambda t=text: t.replace("item", r.choice(NAMES), 1),
                )
            )()
        return text
