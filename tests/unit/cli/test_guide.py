"""The pages of the guide in the terminal."""

from __future__ import annotations

from commandline import run

from promptforge.cli.guide import guide_pages


def test_the_list_names_each_topic_and_a_topic_prints_its_page() -> None:
    listed = run("guide")
    assert listed.code == 0 and listed.out.startswith("# The guide")
    page = run("guide", "missing")
    assert page.code == 0
    assert page.out == guide_pages()["missing"].read_text(encoding="utf-8")


def test_a_wrong_topic_is_an_error_with_the_nearest() -> None:
    wrong = run("guide", "mising")
    assert (wrong.code, wrong.out) == (2, "")
    assert 'there is no "mising" here; did you mean "missing"?' in wrong.err
    assert 'did you mean "rag-service"?' in run("guide", "rag").err
    assert "; there are: " in run("guide", "zzzz").err
