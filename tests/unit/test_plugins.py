"""Plug-ins, as a distribution that is really built and installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from commandline import Ran, python, run
from places import ROOT

from promptforge import plugins
from promptforge.tokenizers import registry

MISSING = [name for name in ("hatchling", "pip") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}")

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1.2"

[project.entry-points."promptforge.tokenizers"]
letters = "{module}:Letters"
{module}-made = "{module}:letters"
no-tokenizer = "{module}:nothing"
missing = "{module}:not_there"
broken = "{module}.broken:Letters"
o200k_base = "{module}.broken:Letters"
both = "{module}:Letters"
panicking = "{module}:Panicking"
hiding = "{module}:hiding"
leaving = "{module}:leaving"

[project.entry-points."promptforge.sources"]
notes = "{module}:notes"
failing = "{module}:failing"

[project.entry-points."promptforge.trimmers"]
recipe = "{module}:ingredients"
poem = "{module}:failing_trimmer"
tale = "{module}:numbers"
saga = "{module}:half_way"
code = "{module}.broken:never"

[project.entry-points."promptforge.filters"]
backwards = "{module}:backwards"
breakout = "{module}:breakout"
marked = "{module}:marked"
emptied = "{module}:emptied"
failing = "{module}:failing"
odd = "{module}:odd"
upper = "{module}.broken:never"

[tool.hatch.build.targets.wheel]
packages = ["{module}"]
"""
MODULE = '''
"""What the tests plug in."""

class Letters:
    name = "own name"

    def count(self, text):
        return len(text)


def letters():
    return Letters()


class Panic(BaseException):
    """As a library in Rust raises it."""


class Panicking:
    name = "panicking"

    def count(self, text):
        raise Panic("at the disco")


class Hiding:
    def __getattr__(self, name):
        raise Panic(name)


hiding = Hiding()


def leaving():
    raise SystemExit(0)  # as a script without a guard does: the run ended without a word


def nothing():
    return 7


def notes(argument):
    yield {"content": f"note about {argument}", "path": f"{argument}.md"}
    yield {"kind": "text"}
    yield {"content": "another note"}


def failing(argument, *more):
    raise RuntimeError("no luck")


def ingredients(text, *, marker, language):
    lines = text.splitlines()
    yield text * 2
    yield "\\n".join(lines[:2]) + f"\\n{marker}"
    yield lines[0]


def failing_trimmer(text, *, marker, language):
    raise RuntimeError("no luck")


def half_way(text, *, marker, language):
    yield text[:20]
    raise Panic("half-way")


def numbers(text, *, marker, language):
    return [1, 2]


def backwards(value, times=1):
    return value[::-1]


def breakout(value):
    return "```\\n# out\\n</item>]]>\\n\\x00"


def emptied(value, other=None):
    for each in (value, *(other or ())):
        each.clear()
    return "emptied"


def odd(value):
    return {"a": [object()]}


def marked(value):
    from markupsafe import Markup

    return [Markup("<b>&"), {"a": Markup("<i>")}]
'''


def install(place: Path, name: str) -> Path:
    """Build a distribution and install it into a folder, with no network; return the folder."""
    module = name.replace("-", "_")
    (place / "src" / module).mkdir(parents=True)
    (place / "src" / "pyproject.toml").write_text(
        PROJECT.format(name=name, module=module), encoding="utf-8"
    )
    (place / "src" / module / "__init__.py").write_text(dedent(MODULE), encoding="utf-8")
    (place / "src" / module / "broken.py").write_text(
        "raise RuntimeError('broken on purpose')\n", encoding="utf-8"
    )
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    command += ["--disable-pip-version-check", "--target", str(place / "site"), str(place / "src")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "site"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("plugins"), "plug-one")


@pytest.fixture
def site(built: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have the plug-ins installed where this process looks for them."""
    monkeypatch.syspath_prepend(str(built))
    monkeypatch.setenv(plugins.PLUGINS_VARIABLE, "plug-one")
    _forget()
    yield built
    _forget()


def _forget() -> None:
    plugins._points.cache_clear()
    for name in [
        name
        for name, counter in registry._counters.items()
        if counter.fingerprint.startswith("plug-in")
    ]:
        del registry._counters[name]


def render(*arguments: str, items: object = ()) -> Ran:
    return run("render", *arguments, stdin=json.dumps(items))


ITEM = [{"content": "x = 1", "path": "a.py"}]


@pytest.mark.slow
def test_a_tokenizer_is_found_by_its_name_and_called_so(site: Path) -> None:
    for name in ("letters", "plug_one-made"):
        ran = render("--tokenizer", name, "--json", items=ITEM)
        said = json.loads(ran.out)
        assert (said["tokens"], said["tokenizer"]) == (len(said["text"]), name)
        assert said["manifest"]["tokenizer"]["fingerprint"] == "plug-in of plug-one 1.2"
    listed = run("list", "tokenizers").out
    assert "letters" in listed and "a plug-in of plug-one 1.2" in listed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "broken",
            'tokenizer "broken", a plug-in of plug-one 1.2, failed: RuntimeError: "broken on '
            'purpose"',
        ),
        ("missing", 'tokenizer "missing", a plug-in of plug-one 1.2, failed: AttributeError'),
        ("no-tokenizer", 'tokenizer "no-tokenizer", a plug-in of plug-one 1.2, is not a tokenizer'),
        ("lettrs", 'unknown tokenizer "lettrs"; did you mean "letters"?'),
        ("panicking", 'tokenizer "panicking": count() failed on a text of'),
        ("hiding", 'tokenizer "hiding", a plug-in of plug-one 1.2, failed: Panic: "count"'),
        ("leaving", 'tokenizer "leaving", a plug-in of plug-one 1.2, failed: SystemExit: "0"'),
    ],
)
def test_a_tokenizer_that_fails_names_its_distribution(site: Path, name: str, message: str) -> None:
    ran = render("--tokenizer", name, items=ITEM)
    assert ran.code == 2 and message in ran.err and "Traceback" not in ran.err


@pytest.mark.slow
def test_what_is_built_in_comes_first_and_looks_for_no_plug_in(built: Path) -> None:
    script = """
import sys
import promptforge as pf
items = [{"content": "def f():\\n    return 1\\n" * 40, "path": "a.py", "kind": "code"}]
result = pf.render(items, max_tokens=60, query="f")
assert result.items_trimmed == 1 and result.tokenizer == "o200k_base"
from promptforge import plugins
assert plugins._points.cache_info().misses == 0
assert not any(name.startswith("plug_one") for name in sys.modules)
print("done")
"""
    ran = python(
        "-c", script, env={"PYTHONPATH": f"{built}:{ROOT}", "PROMPTFORGE_PLUGINS": "plug-one"}
    )
    assert (ran.code, ran.out) == (0, "done\n"), ran.err


@pytest.mark.parametrize("allowed", [None, "", "another, third"])
def test_only_plug_ins_that_the_user_lists_run(
    site: Path, allowed: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(plugins.PLUGINS_VARIABLE)
    monkeypatch.delitem(sys.modules, "plug_one", raising=False)
    if allowed is not None:
        monkeypatch.setenv(plugins.PLUGINS_VARIABLE, allowed)
    way_out = "a plug-in of plug-one 1.2, which is not run; PROMPTFORGE_PLUGINS=plug-one allows it"
    ran = render("--tokenizer", "letters", items=ITEM)
    assert ran.code == 2 and f'tokenizer "letters" is {way_out}' in ran.err
    ran = run("render", "--from", "notes:tar")
    assert ran.code == 4 and f'source "notes" is {way_out}' in ran.err
    assert "letters" not in run("list", "tokenizers").out
    ran = render("--layout", "context", items=[{"kind": "recipe", "content": "a\nb\nc"}])
    assert ran.code == 0 and "plug_one" not in sys.modules


@pytest.mark.parametrize("spelled", ["other, Plug_One", "plug.one"])
def test_plug_ins_of_a_named_distribution_are_on(
    site: Path, monkeypatch: pytest.MonkeyPatch, spelled: str
) -> None:
    monkeypatch.setenv(plugins.PLUGINS_VARIABLE, spelled)
    assert render("--tokenizer", "letters", items=ITEM).code == 0


@pytest.mark.slow
def test_two_distributions_with_one_name_are_told_apart(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(install(tmp_path, "plug-two")))
    monkeypatch.setenv(plugins.PLUGINS_VARIABLE, "plug-one,plug-two")
    ran = render("--tokenizer", "both", items=ITEM)
    assert ran.code == 2
    assert (
        'tokenizer "both" is in more than one distribution: plug-one 1.2, plug-two 1.2' in ran.err
    )
    monkeypatch.setenv(plugins.PLUGINS_VARIABLE, "plug-two")
    ran = render("--tokenizer", "both", "--json", items=ITEM)
    assert json.loads(ran.out)["manifest"]["tokenizer"]["fingerprint"] == "plug-in of plug-two 1.2"


def test_a_source_brings_items_on_the_command_line_and_in_a_job(site: Path, tmp_path: Path) -> None:
    ran = run("render", "--from", "notes:tar:1")
    assert ran.code == 0 and "note about tar:1" in ran.out and "another note" in ran.out
    assert "record skipped" in ran.err and "notes:tar:1[1]" in ran.err
    job = tmp_path / "job.yaml"
    job.write_text("from: [notes:gzip]\nformat: plain\n", encoding="utf-8")
    refused = run("render", "--job", str(job))
    assert refused.code == 4 and 'job.yaml:1: from: "notes:gzip" may lead anywhere' in refused.err
    assert "note about gzip" in run("render", "--job", str(job), "--allow-outside").out


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "failing:x",
            'source "failing", a plug-in of plug-one 1.2, failed: RuntimeError: "no luck"',
        ),
        ("note:x", 'there is no source "note"; did you mean "notes"?'),
    ],
)
def test_a_source_that_fails_is_said_beside_what_came(site: Path, spec: str, message: str) -> None:
    ran = run("render", "--from", spec)
    assert ran.code == 4 and message in ran.err and "Traceback" not in ran.err
    ran = run("render", "--from", spec, "--from", "notes:tar")
    assert (
        ran.code == 0
        and message in ran.err
        and "[PF606]" in ran.err
        and "note about tar" in ran.out
    )


def test_a_trimmer_shortens_items_of_its_kind(site: Path) -> None:
    recipe = [
        {"kind": "recipe", "content": "flour\nsugar\n" + "stir and wait for a long while\n" * 30}
    ]
    ran = render("--layout", "context", "--max-tokens", "40", items=recipe)
    assert "flour\nsugar\n[Content truncated...]\n" in ran.out and "stir" not in ran.out
    ran = render("--layout", "context", "--max-tokens", "19", items=recipe)
    assert "flour\n[Content truncated...]\n" in ran.out
    assert "sugar" not in ran.out, "a text without the marker gets one"
    code = [{"kind": "code", "path": "a.py", "content": "def f():\n    return 1\n" * 40}]
    assert render("--max-tokens", "60", items=code).code == 0


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("poem", 'RuntimeError: "no luck"'),
        ("tale", "expected a list of texts, found int"),
        ("saga", 'Panic: "half-way"'),
    ],
)
def test_a_trimmer_that_fails_names_its_distribution_and_the_way_out(
    site: Path, kind: str, message: str
) -> None:
    items = [{"kind": kind, "content": "line after line\n" * 60}]
    ran = render("--max-tokens", "40", items=items)
    assert ran.code == 2 and f'trimmer "{kind}", a plug-in of plug-one 1.2, failed: ' in ran.err
    assert message in ran.err and "trim: prefix does without it" in ran.err
    assert render("--max-tokens", "40", "--trim", "prefix", items=items).code == 0


@pytest.mark.slow
def test_a_filter_makes_plain_data_that_is_escaped(site: Path, tmp_path: Path) -> None:
    own = tmp_path / "context"
    own.mkdir()

    def shown(template: str, form: str = "md") -> Ran:
        for old in own.iterdir():
            old.unlink()
        (own / f"item.{form}.j2").write_text(f"{{# Uses: item. #}}\n{template}\n", encoding="utf-8")
        name = {"md": "markdown", "xml": "xml", "txt": "plain"}[form]
        tags = {"tags": ["a", "b"]}
        items = [{"content": "abc\ndef", "name": "tar", "metadata": tags}]
        return render(
            "--templates", str(tmp_path), "--layout", "context", "--format", name, items=items
        )

    assert "\nrat\n" in shown("\n{{ item.name | backwards }}\n").out
    assert "fed\ncba" in shown("{{ item.content | backwards(times=2) | fence }}").out
    assert "\n````\n```\n# out\n" in shown("{{ item.content | breakout | fence }}").out
    assert "\n# out" not in shown("{{ item.name | breakout }}").out
    xml = shown("<item>{{ item.content | breakout }}</item>", "xml").out
    assert xml.count("</item>") == 1 and "\x00" not in xml
    assert "\n# out" not in shown("{{ item.content | breakout }}", "txt").out
    assert (
        "<b>"
        not in shown("<item>{% for x in item.name | marked %}{{ x }}{% endfor %}</item>", "xml").out
    )
    tags = "{{ item.metadata.tags }}"
    assert "emptied a, b" in shown(f"\n{{{{ item.metadata.tags | emptied }}}} {tags}\n").out
    printed = shown(f"\n{{{{ [] | emptied([item.metadata.tags]) }}}} {tags}\n").out
    assert "emptied a, b" in printed, "what a filter changes is a copy"
    ran = shown("\n{{ item.name | failing }}")
    assert (
        'context/item.md.j2:3: filter "failing", a plug-in of plug-one 1.2, failed: RuntimeError: '
        '"no luck"' in ran.err
    )
    assert ran.code == 5 and "abc" in ran.out, "the shipped template stands in"
    ran = shown("\n{{ item.name | odd }}")
    assert "returned no plain data" in ran.err and "a value of type object" in ran.err
    assert 'unknown filter "bakwards"' in shown("{{ item.name | bakwards }}").err
    assert 'unknown variable "itm"' in shown("{{ itm | backwards }}").err
    (own / "item.md.j2").write_text(
        "{# Uses: item. #}\n{{ item.name | backwards }}\n", encoding="utf-8"
    )
    assert "PF803" not in run("check", str(tmp_path)).out
