"""Explanations: the figures add up, and tables say it without harm."""

from __future__ import annotations

import copy
import html
import itertools
import json
import pickle
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from commandline import Ran, run
from sample_records import RECORDS

import promptforge as pf
from promptforge.cli import output
from promptforge.cli.output import Column, printable, shorten, table_lines, text_columns
from promptforge.config.profiles import find_profiles
from promptforge.model import budget_words


def explained(*arguments: str, records: Any = RECORDS) -> Ran:
    ran = run("explain", *arguments, stdin=json.dumps(records))
    assert ran.code == 0, ran
    return ran


@pytest.mark.slow
@pytest.mark.parametrize("profile", [name for name, *_ in find_profiles([])])
def test_every_profile_is_explained(profile: str) -> None:
    assert "of 300 " in explained("-p", profile, "--max-tokens", "300").out


# --- on the command line --------------------------------------------------------------------------


def test_a_table_says_what_is_in_and_what_brings_the_rest_back() -> None:
    ran = explained("--layout", "context", "--max-tokens", "230", "--packing", "whole")
    lines = ran.out.splitlines()
    result = pf.render(RECORDS, layout="context", max_tokens=230, packing="whole")
    back = {item.id: item.fits_at for item in result.items}
    assert [line.split()[:3] for line in lines[3:7]] == [
        ["in", "1", "src/a.py:3-9"],
        ["in", "2", "guide"],
        ["out", "3", "notes"],
        ["in", "4", "tar"],
    ]
    assert lines[5].split()[-2:] == ["budget", f"{back['c']}"]
    verdict = f"{result.tokens} of 230 tokens · 3 in, 0 cut, 1 out · next: notes at {back['c']}"
    assert lines[0] == verdict
    assert any(line.startswith("budget") and "--max-tokens" in line for line in lines)
    assert any(
        line.startswith("tokens ") and f"{result.tokens} of 230 (exact, o200k_base)" in line
        for line in lines
    )


def test_a_large_need_says_what_the_item_itself_takes() -> None:
    records = [{"name": f"n{n}", "content": f"Sentence {n} stands here. " * 9} for n in range(4)]
    said = " ".join(explained("--max-tokens", "100", "--trim", "none", records=records).out.split())
    facts = json.loads(
        explained("--max-tokens", "100", "--trim", "none", "--json", records=records).out
    )
    decision = facts["items"][3]["decision"]
    own = decision["refused"]["content"]
    assert decision["needs"] > 2 * own
    assert f"of {decision['needs']} needed ({own} its own); before it came" in said


def test_table_and_json_know_the_same_budgets() -> None:
    records = [{"name": f"n{n}", "content": f"budget {n} " * (3 + n % 9)} for n in range(40)]
    given = ("--max-tokens", "300", "--query", "budget", "--combine", "combined")
    lines = explained(*given, "--all", records=records).out.splitlines()
    rows = [line.split() for line in lines if line.startswith(("out ", "cut "))]
    table = {row[2]: row[-1] for row in rows if row[-1] != "budget"}
    items = json.loads(explained(*given, "--json", records=records).out)["items"]
    known = {item["name"]: budget_words(item["fits_at"], item["too_small"]) for item in items}
    assert table == {name: words for name, words in known.items() if words} != {}


def test_the_price_is_the_same_in_the_verdict_the_costs_the_json_and_the_page(
    tmp_path: Path,
) -> None:
    page = tmp_path / "page.html"
    asked = ("-p", "claude-haiku-5-5", "--html", page)
    lines = explained(*map(str, asked)).out.splitlines()
    facts = json.loads(explained("-p", "claude-haiku-5-5", "--json").out)
    price = facts["price"]
    assert price["low"] == price["high"] == facts["tokens"] * 0.1 / 1_000_000
    assert price["says"].startswith("about $0.0000")
    assert lines[0].startswith(f"{facts['tokens']} of 4,000 tokens · {price['says']} · 4 in, ")
    costs = " ".join(" ".join(lines).split())
    assert f"price {price['says']}: {price['about']}" in costs
    assert "$0.10 for a million tokens of claude-haiku-5-5; prices: model list" in price["about"]
    title = f'<span title="{price["about"]}">{price["says"]}</span>'
    assert title in html.unescape(page.read_text("utf-8"))


def test_a_family_has_the_range_of_its_prices_and_other_profiles_none() -> None:
    price = json.loads(explained("-p", "gpt", "--json").out)["price"]
    assert price["high"] == 300 * price["low"] and " to $" in price["says"]
    plain = explained()
    assert "$" not in plain.out and json.loads(explained("--json").out)["price"] is None


def test_a_table_shows_the_score_that_ranked_and_says_of_another_order_in_the_text() -> None:
    records = [
        {"content": "Requests are tried again.", "name": "again", "score": 0.9, "kind": "note"},
        {"content": "Extract files with tar.", "name": "tar", "score": 0.5, "kind": "note"},
        {"content": "Extract a zip with tar.", "name": "zip", "score": 0.4, "kind": "a"},
    ]
    found = [{**record, "origin": "similarity"} for record in records]
    given = explained("--min-score", "0.1", records=found).out.splitlines()
    assert given[0].endswith("tokens · 3 in, 0 cut, 0 out") and not given[1] and not given[6]
    assert given[2].split()[3] == "score" and given[3].split()[4] == "0.90"
    asked = explained(
        "--query", "extract", "--min-score", "0.1", "--group-by", "kind", records=found
    )
    lines = asked.out.splitlines()
    assert lines[2].split()[3] == "ranking"
    ranking = [float(line.split()[4]) for line in lines[3:6]]
    assert ranking == sorted(ranking, reverse=True)
    assert (
        lines[6] == "listed in the order of packing; the text has them by kind, in the order score"
    )


def test_every_reason_that_occurs_is_explained() -> None:
    found = [{"content": f"found {n}", "origin": "similarity", "score": n / 10} for n in range(10)]
    ran = explained(
        "--combine",
        "combined",
        "--max-items",
        "2",
        "--min-score",
        "0.5",
        "--kinds",
        "text",
        "--kinds",
        "code",
        records=[*RECORDS, *found],
    )
    for reason in ("kinds", "max_items", "min_score"):
        assert any(
            line.startswith(f"{reason} ") and len(line) > 30 for line in ran.out.splitlines()
        ), reason


HOSTILE = [
    "a\nb\r\x1b[2J\x1b]0;x\x07",
    "\u202eevil\u2066",
    "\ud800",
    "日本語" * 40,
    "e\u0301" * 90,
    "x" * 5000,
    "\t|\x85",
    "👩‍👩‍👧" * 30,
]


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_label_breaks_neither_table_nor_terminal(label: str) -> None:
    records = [
        {"content": "x", "name": label, "kind": label},
        {"content": "y " * 99, "path": label, "kind": label},
    ]
    ran = explained("--max-tokens", "60", "--group-by", "kind", "--map", records=records)
    for line in ran.out.splitlines():
        assert text_columns(line) <= 80, line
        assert printable(line, len(line)) == line
    assert ran.out.count("\n") == len(ran.out.splitlines())


def test_a_table_is_cut_in_the_middle_of_labels() -> None:
    assert shorten("abcdefgh", 5) == "ab…gh"
    assert [shorten("日本語日本語", n) for n in (12, 7, 6)] == ["日本語日本語", "日…本語", "日…語"]
    rows = [["a/very/long/path/to/some/file.py", "1"], ["b", "1,000"]]
    assert list(
        table_lines([Column("item", cut=True), Column("n", right=True)], rows, total=20)
    ) == [
        "item               n",
        "a/very/…ile.py     1",
        "b              1,000",
    ]


def test_long_lists_are_counted_unless_all_is_wanted() -> None:
    records = [{"content": f"text {n} " * 9, "name": f"n{n}"} for n in range(100)]
    short, full = (
        explained("--max-tokens", "300", *more, records=records).out for more in ([], ["--all"])
    )
    assert "more (budget" in short and len(short.splitlines()) < 90
    assert "more (budget" not in full and all(f" n{n} " in full for n in range(100))


def test_as_json_all_is_said_and_the_map_when_it_is_asked_for() -> None:
    plain, mapped = (
        json.loads(explained("--max-tokens", "150", "--json", *more).out)
        for more in ([], ["--map"])
    )
    result = pf.render(RECORDS, max_tokens=150)
    assert plain["promptforge"] == 1
    assert plain["explanation"] == json.loads(msgspec.json.encode(result.explain()))
    assert [item["fits_at"] for item in plain["items"]] == [item.fits_at for item in result.items]
    assert "map" not in plain
    assert (
        "".join(mapped["text"][span["start"] : span["end"]] for span in mapped["map"])
        == result.text
    )


def test_no_items_and_a_frame_that_does_not_fit() -> None:
    assert "0 in, 0 cut, 0 out" in explained(records=[]).out
    ran = explained("--layout", "context", "--max-tokens", "1")
    assert "The text of the templates alone takes 3 tokens, so the output is empty." in ran.out


def test_it_takes_the_flags_of_render_and_fails_as_render_does(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n", encoding="utf-8")
    assert "a.py" in run("explain", "--file", "a.py", cwd=tmp_path).out
    for arguments in (
        ["--max-tokens", "x"],
        ["nowhere.json"],
        ["--layout", "contxt", "--file", "a.py"],
        [],
    ):
        ran, other = (run(name, *arguments, cwd=tmp_path) for name in ("explain", "render"))
        assert (ran.code, ran.err) == (
            other.code,
            other.err.replace("promptforge render", "promptforge explain"),
        )
        assert ran.code in (2, 4) and not ran.out
    ran = run("explain", "-o", "out.txt", "--file", "a.py", cwd=tmp_path)
    assert not ran.out and (tmp_path / "out.txt").read_text(encoding="utf-8").endswith("\n")


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_tables_fit_the_screen(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    names = [f"src/package_of_many_words/module_number_{n}/__init__.py" for n in range(5)]
    items = [{"path": name, "content": f"x{n} = {n}\n" * 30} for n, name in enumerate(names)]
    out = explained("--max-tokens", "200", records=items).out
    assert max(map(text_columns, out.splitlines())) <= columns
    assert ", " in out.splitlines()[0] and "fits at" in out


# --- colors and columns --------------------------------------------------------------------------


def test_a_terminal_gets_colours_of_ours_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [{"content": "x " * 40, "name": f"\x1b[31mred {n}"} for n in range(3)]
    plain = explained("--max-tokens", "60", records=records).out
    assert "\x1b" not in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    painted = explained("--max-tokens", "60", records=records).out
    assert "\x1b[32min\x1b[0m" in painted and "\x1b[31m" not in painted
    assert re.sub("\x1b\\[[0-9;]*m", "", painted) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert explained("--max-tokens", "60", records=records).out == plain
    assert "\x1b" not in explained("--json", records=records).out


def test_columns_are_those_that_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [{"content": "x", "name": "a long name " * 12}]
    widths = []
    for columns in ("60", "140"):
        monkeypatch.setenv("COLUMNS", columns)
        table = explained(records=records).out.splitlines()[:4]
        widths.append(max(map(text_columns, table)))
    assert widths[0] <= 60 < widths[1] <= 140


def test_a_terminal_hears_what_is_done_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [{"content": f"word {n}"} for n in range(50)]
    quiet = explained("--max-tokens", "60", records=records)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(output, "is_terminal", lambda name: name == "stderr")
    with monkeypatch.context() as slow:
        seconds = itertools.count()
        slow.setattr("promptforge.cli.output.time.monotonic", lambda: next(seconds))
        ran = explained("--max-tokens", "60", records=records)
    assert ran.out == quiet.out
    lines = [line.rpartition("\x1b[K")[2] for line in ran.err.split("\n")]
    assert "\x1b[Krendering 50 items\r" in ran.err
    assert "\x1b[Ktrying options that bring items back\r" in ran.err
    assert (
        "\n".join(lines).strip("\r") == quiet.err
    )  # notes stand on lines of their own, and no stage stays
    assert "\r" not in explained("--max-tokens", "60").err  # few are quick


def test_items_of_a_result_can_be_copied_and_pickled() -> None:
    result = pf.render([{"content": "one"}, {"content": "two " * 50}], max_tokens=20)
    for item in result.items:
        again = pickle.loads(pickle.dumps(item))
        assert again == item == copy.deepcopy(item)
        assert (again.fits_at, again.tokens_full) == (item.fits_at, item.tokens_full)
