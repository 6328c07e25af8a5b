"""Manual pages as items."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptforge.errors import ItemError
from promptforge.sources import man

HAS_MAN = shutil.which("man") is not None
PAGE = """.TH SPOON 1 "2026-01-02" "Kitchen" "Kitchen Manual"
.SH NAME
spoon \\- open a jar
.SH SYNOPSIS
.B spoon
[\\fB\\-\\-lid\\fR] \\fIjar\\fR
.SH DESCRIPTION
Opens the
.B jar
gently.
.SS A part
Of it.
.SH SEE ALSO
ladle(1)
"""


@pytest.fixture
def manual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A manual of our own, found through MANPATH."""
    if not HAS_MAN:
        pytest.skip("no man on this machine")
    (tmp_path / "man1").mkdir()
    (tmp_path / "man5").mkdir()
    (tmp_path / "man1" / "spoon.1").write_text(PAGE)
    (tmp_path / "man5" / "spoon.conf.5").write_text(PAGE.replace("SPOON 1", "SPOON.CONF 5"))
    (tmp_path / "man1" / "ladle.1").write_text(".so man1/spoon.1\n")
    monkeypatch.setenv("MANPATH", str(tmp_path))
    found = subprocess.run(["man", "-w", "spoon"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip("this man does not read MANPATH")
    return tmp_path


def test_a_page_in_another_language(manual: Path) -> None:
    folder = manual / "de" / "man1"
    folder.mkdir(parents=True)
    (folder / "spoon.1").write_text(PAGE.replace("open a jar", "ein Glas öffnen"), "utf-8")
    item = man.load_man_page("de:spoon")
    assert (item.name, item.metadata["locale"]) == ("spoon", "de")
    assert "ein Glas öffnen" in (item.content or "")
    assert "open a jar" in (man.load_man_page("spoon").content or "")
    with pytest.raises(ItemError, match="no such man page in fr; leave fr: out for the English"):
        man.load_man_page("fr:spoon")
    with pytest.raises(ItemError, match="no such man page in de;"):
        man.load_man_page("de:ladle")


@pytest.mark.parametrize("without", [(), ("mandoc",)])
def test_a_page(without: tuple[str, ...], manual: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name in without else real(name))
    try:
        item = man.load_man_page("spoon")
    except ItemError as exc:
        if "cannot be formatted" in str(exc):
            pytest.skip("nothing else sets pages here")
        raise
    assert (item.kind, item.name, item.origin) == ("man_page", "spoon", "explicit")
    lines = (item.content or "").split("\n")
    assert lines[0] == "NAME"
    assert "spoon - open a jar" in lines[1]
    assert "ladle(1)" in lines[-1]
    assert "--lid" in (item.content or "")
    assert "\x08" not in (item.content or "")
    assert all(line == line.rstrip() for line in lines)
    assert item.metadata["section"] == "1"
    assert [s["name"] for s in item.metadata["sections"]] == [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "SEE ALSO",
    ]
    assert all(lines[s["start_line"] - 1] == s["name"] for s in item.metadata["sections"])


@pytest.mark.parametrize(
    ("spec", "name", "section"),
    [
        ("spoon.1", "spoon", "1"),
        ("spoon(1)", "spoon", "1"),
        ("spoon.conf", "spoon.conf", "5"),
        ("spoon.conf.5", "spoon.conf", "5"),
        ("spoon.conf(5)", "spoon.conf", "5"),
        ("ladle", "ladle", "1"),
    ],
)
def test_names_and_sections(spec: str, name: str, section: str, manual: Path) -> None:
    item = man.load_man_page(spec)
    assert (item.name, item.metadata["section"]) == (name, section)
    assert "open a jar" in (item.content or "")


@pytest.mark.parametrize("spec", ["nosuchpage", "spoon.5", "spoon(7)"])
def test_no_such_page(spec: str, manual: Path) -> None:
    with pytest.raises(ItemError, match="no such man page"):
        man.load_man_page(spec)


def test_a_section_before_the_name(manual: Path) -> None:
    with pytest.raises(ItemError, match=r'did you mean "spoon\.5"\?'):
        man.load_man_page("5:spoon")


@pytest.mark.parametrize("spec", ["sponn", "spon", "spoon.cnof"])
def test_a_name_that_is_nearly_one_is_told(spec: str, manual: Path) -> None:
    with pytest.raises(ItemError, match=r'did you mean "spoon(\.conf)?"\?'):
        man.load_man_page(spec)


@pytest.mark.skipif(not HAS_MAN, reason="no man on this machine")
@pytest.mark.parametrize(
    "spec",
    [
        "",
        "-k",
        "--help",
        "a b",
        "a;b",
        "../x",
        "/etc/passwd",
        "a\n",
        "a(b c)",
        "$(x)",
        "é",
        "x" * 300,
        "a()",
    ],
)
def test_names_that_are_none_never_reach_a_program(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a program was started"))
    with pytest.raises(ItemError, match="not a name of a man page") as caught:
        man.load_man_page(spec)
    assert str(caught.value).isprintable()
    assert ("--doc reads a file" in str(caught.value)) == ("/" in spec)


def test_without_man(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ItemError, match="no `man` program"):
        man.load_man_page("tar")


def test_a_program_that_hangs_or_fails_is_passed_over(
    manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("man", 1)

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(ItemError, match="no such man page"):
        man.load_man_page("spoon")


def test_typeset_marks_are_taken_off() -> None:
    marked = "N\bNA\bAM\bME\bE\n   _\bt_\ba\u2010r\x1b[1m \u2212x\x1b[0m  "
    text = f"TAR(1)      GNU TAR Manual      TAR(1)\n\n{marked}\n\n\nTAR    July    TAR(1)\n\n"
    assert man._body(text) == "NAME\n   ta-r -x"


@pytest.mark.skipif(not HAS_MAN, reason="no man on this machine")
@pytest.mark.parametrize(
    "name", ["tar", "ssh_config.5", "systemd.unit", "git-log", "python3.11", "bash", "printf.3"]
)
def test_pages_of_this_machine(name: str) -> None:
    try:
        item = man.load_man_page(name)
    except ItemError:
        pytest.skip("not installed")
    names = [s["name"] for s in item.metadata["sections"]]
    assert names[0] == "NAME"
    assert len(names) > 3
    assert all("  " not in n for n in names)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_groff_alone_sets_packed_pages(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("groff") is None:
        pytest.skip("no groff on this machine")
    opener: Any = {"": open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}[suffix]
    page = tmp_path / "man1" / f"spoon.1{suffix}"
    page.parent.mkdir()
    with opener(page, "wb") as file:
        file.write(PAGE.encode())
    real = man._run

    def without_others(*command: str, **options: Any) -> str:
        return real(*command, **options) if command[0] == "groff" else ""

    monkeypatch.setattr(man, "_run", without_others)
    monkeypatch.setattr(man, "_find", lambda *_: page)
    item = man.load_man_page("spoon")
    assert "spoon - open a jar" in (item.content or "")
    assert item.metadata["section"] == "1"


def test_a_page_that_cannot_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "spoon.1.gz"
    page.write_bytes(b"not packed at all")
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(man, "_run", lambda *_, **__: "")
    monkeypatch.setattr(man, "_find", lambda *_: page)
    with pytest.raises(ItemError, match="cannot be formatted"):
        man.load_man_page("spoon")


@given(st.text(alphabet="a() \t", max_size=12))
def test_a_running_head_is_known_by_brackets_and_two_blanks(line: str) -> None:
    slow = re.search(r"\S\s*\(.*\).*\s\s", line)
    assert bool(man._HEAD.match(line)) == bool(slow)


@pytest.mark.nightly
@pytest.mark.parametrize("line", [")(" * 20_000, "a(" + ") " * 20_000 + "x"])
def test_a_long_first_line_is_read_once(line: str) -> None:
    begun = time.process_time()
    assert man._body(line) == line
    assert time.process_time() - begun < 8
