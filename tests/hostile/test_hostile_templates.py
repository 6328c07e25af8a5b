"""Templates that run away, reach out or break the compiler: each is refused, or ends early."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaigns import templates as campaign
from example_counts import MULTIPLIER, rounds
from template_sources import render

from promptforge.errors import (
    MAX_GUESSES,
    TemplateError,
)
from promptforge.files import MAX_NAME_PARTS, MAX_TEMPLATE_BYTES, MAX_TEMPLATE_FILES
from promptforge.lint.checker import LintTargets, check
from promptforge.templating.loader import Templates


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize(
    "source",
    [
        *(
            "{{ 9**(9**9) }}",
            '{% if false %}{{ "x" * 10**10 }}{% endif %}',
            "{{ 'a' % 9 }}",
            "{{ 1 // 0 }}",
        ),
        *(
            "{{ " + "-" * 20_000 + "1 }}",
            "{{ " + "1 + " * 20_000 + "1 }}",
            "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        ),
        *(
            "{{ " + "a ~ " * 9000 + "a }}",
            "{{ a" + " | upper" * 300 + " }}",
            "{{ a" + ".a" * 300 + " }}",
        ),
        *(
            "{% for a in [1] %}" * 30 + "{% endfor %}" * 30,
            "{% if a %}" * 300 + "{% endif %}" * 300,
        ),
        *(
            "{% if a %}" + "{% elif a %}" * 5000 + "{% endif %}",
            "{{ " + "9" * 100_000 + " }}",
            "{{ a }}\n" * 10_000,
        ),
        *(
            "{{ [" + "1, " * 50_000 + "] }}",
            "{{ item.name(*items) }}",
            "{{ items | join(*items) }}",
            "{{ item(**item) }}",
        ),
        "".join(f"{{% for a{n} in [1, 2] %}}" for n in range(18)) + "{% endfor %}" * 18,
    ],
    ids=lambda source: source[:30],
)
def test_what_would_hang_the_compiler_is_refused_before(source: str) -> None:
    with pytest.raises(TemplateError) as caught:
        Templates([{"t/item.txt.j2": source}]).compile("t/item.txt.j2")
    assert str(caught.value).startswith("t/item.txt.j2")


def test_very_many_wrong_names_are_all_found(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "layout.yaml").write_text("description: x\n")
    wrong = "".join(f"{{{{ wanted_name{n} }}}}\n" for n in range(MAX_GUESSES + 9))
    (tmp_path / "t" / "item.txt.j2").write_text("{% set wanted_name = 1 %}\n" + wrong)
    targets = LintTargets()
    targets.add(tmp_path)
    found = [one for one in check(targets).findings if one.code == "PF802"]
    assert len(found) == MAX_GUESSES + 9
    assert ["did you mean" in one.message for one in found] == [True] * 100 + [False] * 9


@pytest.mark.parametrize(
    "source", ["{{ %s }}", "{{ item.%s }}", "{{ item | %s }}", "{% set %s = 1 %}"]
)
def test_a_name_without_end_is_no_name(source: str) -> None:
    # It stood in the message, and was compared with others of its length, letter by letter.
    with pytest.raises(TemplateError, match="a name of more than 200 characters") as caught:
        render(source.replace("%s", "a" * 100_000))
    assert len(str(caught.value)) < 200


def test_a_folder_is_read_with_care(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "t" / "deep" / "deeper" / "deepest").mkdir(parents=True)
    (folder / "t" / "item.txt.j2").write_text("x")
    (folder / "t" / "deep" / "x.txt.j2").write_text("x")
    (folder / "t" / "deep" / "deeper" / "x.txt.j2").write_text("deeper than names go")
    (folder / "t" / "-rf.txt.j2").write_text("no name of a template")
    (folder / "t" / "{evil}\n.txt.j2").write_text("nor this")
    (folder / "t" / "round").symlink_to("..")
    (folder / "t" / "zero.txt.j2").symlink_to("/dev/zero")
    (folder / "t" / "gone.txt.j2").symlink_to("nowhere")
    (folder / "t" / "loop.txt.j2").symlink_to("loop.txt.j2")
    (tmp_path / "secret.txt.j2").write_text("secret")
    (folder / "t" / "out.txt.j2").symlink_to(tmp_path / "secret.txt.j2")
    (folder / "t" / "big.txt.j2").write_bytes(b"x" * (MAX_TEMPLATE_BYTES + 1))
    templates = Templates([folder])
    assert sorted(templates.own[0]) == ["t/big.txt.j2", "t/deep/x.txt.j2", "t/item.txt.j2"]
    assert max(name.count("/") for name in templates.own[0]) < MAX_NAME_PARTS
    with pytest.raises(TemplateError, match="is larger than 256 kB"):
        templates.compile("t/big.txt.j2")


def test_a_pipe_in_a_folder_does_not_hang(tmp_path: Path) -> None:
    os = pytest.importorskip("os")
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes on this system")
    os.mkfifo(tmp_path / "item.txt.j2")
    assert Templates([tmp_path]).own == ({},)


def test_a_folder_of_too_many_templates_is_refused(tmp_path: Path) -> None:
    for number in range(MAX_TEMPLATE_FILES + 1):
        (tmp_path / f"{number}.txt.j2").touch()
    with pytest.raises(TemplateError, match="more than 2000 template files"):
        Templates([tmp_path])


@pytest.mark.slow
@pytest.mark.unwatched
def test_hostile_templates_by_the_grammar_break_no_promise() -> None:
    number = rounds(80) if MULTIPLIER == 1 else 250 * MULTIPLIER
    report = campaign.run(number, seed=MULTIPLIER, every_nth_sandboxed=2, seconds=campaign.STUCK)
    assert not report.broken
    assert report.figures["stopped for too much work"]
    assert report.figures["rendered"]
