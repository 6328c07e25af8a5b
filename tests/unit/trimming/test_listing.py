"""What a program printed keeps the lines that say what an answer belongs to."""

from __future__ import annotations

import pytest
from hostile_strings import STRINGS
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import marks

import promptforge as pf
from promptforge.trimming.entries import divide
from promptforge.trimming.listing import read_lines
from promptforge.trimming.pieces import ALWAYS

PORTS = "PORT     STATE SERVICE  VERSION\n" + "".join(
    f"{n}/tcp   open  kettle{n}  Kettle {n}.0 (x86_64)\n" for n in range(7)
)
SCAN = "".join(f"Report for host-{n} (10.0.0.{n})\n{PORTS}\n" for n in range(20))
TREE = ".\n" + "".join(
    f"├── pool{n}\n" + "".join(f"│   ├── lid_{n}_{m}.py\n" for m in range(9)) for n in range(20)
)
TABLE = "   id | name     | litres\n------+----------+--------\n" + "".join(
    f"{n:5} | kettle{n} | {n * 7:6}\n" for n in range(0, 12_000, 100)
)
MATCHES = "".join(
    f"src/pool{n}.go\n" + "".join(f"{m}-\tlid{n}{m} := take({m})\n" for m in range(9)) + "--\n\n"
    for n in range(20)
)
COMMITS = "".join(
    f"commit {n:040x}\nAuthor: Ada <ada@example.org>\nDate:   Mon Mar 2 10:00:00 2026\n\n"
    f"    Fill pool {n}\n\n    It was {n} litres low.\n\n"
    for n in range(30)
)
HOSTS = "Starting Scan 7.9 at 10:00\n" + "".join(
    f"Scan report for 10.0.0.{n}\nHost is up.\nNot shown: 990 closed ports\nPORT  STATE SERVICE VERSION\n"
    + "".join(f"{m}{n}/tcp open  kettle{n}x{m} Kettle {m}.{n}\n" for m in range(9))
    + "\n"
    for n in range(3)
)
ROWS = "".join(
    f"*********** {n}. row ***********\n     Id: {n}\nCommand: pour{n}\n  State: full\n"
    for n in range(30)
)
FILES = "".join(
    f"==> kettle{n}.conf <==\n" + "".join(f"lid {m} of {n}x{m}\n" for m in range(9))
    for n in range(20)
)
SOCKETS = "".join(
    f"Active {kind} (servers and established)\nProto Queue  Local Address   Foreign Address   State\n"
    + "".join(
        f"{kind}   {n}      10.0.0.{n}:{port}{n}  0.0.0.0:*         LISTEN\n" for n in range(30)
    )
    for kind, port in (("tcp", 80), ("udp", 90))
)


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        (
            SCAN.replace("host-8", "redis-8"),
            "ports of redis-8",
            "Report for redis-8 (10.0.0.8)\nPORT",
        ),
        (TREE, "where is lid_14_7", "├── pool14\n"),
        (TABLE, "how many litres has kettle9400", "   id | name     | litres\n------+"),
        (MATCHES, "where is lid135", "src/pool13.go\n"),
        (COMMITS, "which commit said fill pool 17", f"{17:040x}\nAuthor: Ada"),
        (COMMITS, "which commit said fill pool 17", "    It was 17 litres low.\n"),
        (HOSTS, "which host runs kettle0x7", "Scan report for 10.0.0.0\n"),
        (HOSTS, "which host runs kettle2x7", "Scan report for 10.0.0.2\n"),
        (HOSTS, "which host runs kettle2x7", "PORT  STATE SERVICE VERSION\n"),
        (ROWS, "which row says pour21", "*********** 21. row ***********\n     Id: 21\nCommand"),
        (FILES, "which file has 17x3", "==> kettle17.conf <==\n"),
        (SOCKETS, "what listens on 9017", "Active udp (servers and established)\nProto"),
    ],
)
def test_an_answer_stands_below_what_it_belongs_to(text: str, query: str, shown: str) -> None:
    result = pf.render([pf.Item(content=text)], query=query, max_tokens=250)
    assert shown in result.text and result.tokens <= 250
    lines = result.text.split("\n")[3:-2]
    marks = {"[Content truncated...]", "…"}
    assert {line.strip() for line in {*lines} - {*text.split("\n")}} <= marks


@pytest.mark.parametrize("width", [1, 4])
def test_numbers_of_differing_width_tell_of_no_nesting(width: int) -> None:
    text = "".join(f"{n:{width}} kettle and more of it\n" for n in range(1, 109))
    parents = {entry.parent for entry in read_lines(text, text.splitlines(keepends=True))}
    assert len(parents) == 1


def test_only_a_first_line_unlike_the_others_always_stays() -> None:
    first = [divide(text, marks=marks("[cut]"), language="listing") for text in (COMMITS, TABLE)]
    assert [found.parts[0].keep == ALWAYS for found in first if found] == [False, True]


PODS = "NAME       READY   STATUS    RESTARTS\n" + "".join(
    f"kettle-{n}   1/1   Running   {n}\n" for n in range(60)
).replace("kettle-41   1/1   Running", "kettle-41   0/1   CrashLoopBackOff")
STATES = "".join(
    f"Name:   kettle-{n}\nNode:   node-{n}\nState:\n  Reason:  {'OOMKilled' if n == 7 else 'Done'}\n"
    f"  Exit:  0\n  At:  10:00\n  By:  Ada\n\n"
    for n in range(20)
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (PODS, ["kettle-41   0/1   CrashLoopBackOff"]),
        (STATES, ["Name:   kettle-7\n", "Reason:  OOMKilled"]),
        (COMMITS, [f"commit {0:040x}\nAuthor: Ada", "    It was 0 litres low.\n"]),
    ],
)
def test_without_a_query_failures_and_first_records_stay(text: str, shown: list[str]) -> None:
    result = pf.render([pf.Item(content=text, language="listing")], max_tokens=180).text
    assert [each for each in shown if each not in result] == []


@given(st.lists(st.sampled_from([*STRINGS, "  a", "1 | b", "│ ", "", "--"]), max_size=40))
def test_any_lines_are_joined_again(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = divide(text, marks=marks("[cut]"), language="listing")
    assert found is None or "".join(part.text for part in found.parts) == text
