"""Load man pages of this machine: found by `man -w`, typeset by mandoc, man-db or groff.

No shell is involved. Names are checked before they are passed on. Programs get a small environment
of their own, a deadline, and no terminal.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ItemError, did_you_mean, quote
from ..model import Item

PAGE_WIDTH_COLUMNS = 100
"""Width of a line, in columns."""

MAX_PROGRAM_SECONDS = 20
"""Seconds that one program may take."""

MAX_PAGE_BYTES = 64 << 20
"""Bytes of a packed page that are unpacked."""

_NAME = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9_.+:@\[-]*")

_SECTION = re.compile(r"[0-9][A-Za-z]{0,8}|[ln]")

_OVERSTRIKE = re.compile(r".\x08|\x1b\[[0-9;]*m", re.DOTALL)

# Typesetters' hyphens, minus and hard blank: an option copied with one of these would not work.
_PLAIN = str.maketrans({"\u2010": "-", "\u2011": "-", "\u2212": "-", "\u00ad": "-", "\u00a0": " "})

# `TAR(1)      GNU TAR Manual      TAR(1)`
_HEAD = re.compile(r"\S\s*\(.*\).*\s\s")

# `TAR      July 13, 2020      TAR(1)`, or with no date but blanks before the name.
_FOOT = re.compile(r"\S.*?\s{2,}\S|\s{20,}\S+\([0-9a-zA-Z]+\)$")

_OPENERS: dict[str, Callable[[Path, str], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".lzma": lzma.open,
}

_PACKED = (*_OPENERS, ".zst")


def load_man_page(spec: str) -> Item:
    """Return the man page `NAME`, `NAME.SECTION` or `NAME(SECTION)` as an item of kind `man_page`.

    The content begins at the first section's heading, without the running head and foot. Metadata:
    `section`, and `sections`, a list of `{name, start_line}` with lines of the content from 1.

    Raises `ItemError` when there is no such page, no `man`, or no program to typeset with.
    """
    where = _where(spec)
    if shutil.which("man") is None:
        message = "there is no `man` program on this machine; install man-db or mandoc"
        raise ItemError(message, where=where)
    for name, section in _readings(spec):
        if (page := _find(name, section)) is not None:
            break
    else:
        # Images of containers often leave all man pages out.
        installed = "is the package installed, and are its man pages (some systems leave them out)?"
        hint = did_you_mean(name, _near(name)) or f"; {installed}"
        raise ItemError(f"no such man page{hint}", where=where)
    content = _body(_typeset(page, name, section) or "")
    if not content:
        message = "the page was found but could not be set; install mandoc, man-db or groff"
        raise ItemError(message, where=where)
    found = {"section": section or _section_of(page), "sections": _sections(content)}
    return Item(kind="man_page", name=name, content=content, metadata=found)


def _where(spec: str) -> str:
    return f"man page {quote(spec)}"


def _readings(spec: str) -> list[tuple[str, str | None]]:
    """Return the (name, section) pairs that a spec may mean, likeliest first.

    `systemd.unit` has a dot in its name, `tar.1` a section after it.
    """
    bracketed = re.fullmatch(r"(.+)\(([^()]+)\)", spec)
    name, dot, suffix = spec.rpartition(".")
    pairs: list[tuple[str, str | None]] = [(spec, None)]
    if bracketed:
        pairs = [(bracketed[1], bracketed[2])]
    elif dot and _SECTION.fullmatch(suffix):
        pairs.insert(0, (name, suffix))
    good = [
        (n, s)
        for n, s in pairs
        if _NAME.fullmatch(n) and len(n) < 200 and (s is None or _SECTION.fullmatch(s))
    ]
    if not good:
        message = "not a name of a man page; expected NAME, NAME.SECTION or NAME(SECTION)"
        raise ItemError(message, where=_where(spec))
    return good


def _run(*command: str, folder: Path | None = None, data: bytes | None = None) -> str | None:
    """Return the output of a program; `None` if it fails, is not there or takes too long."""
    kept = ("PATH", "HOME", "MANPATH", "TMPDIR", "SYSTEMROOT")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= {
        "LC_ALL": "C.UTF-8",
        "MANWIDTH": str(PAGE_WIDTH_COLUMNS),
        "MAN_KEEP_FORMATTING": "",
        "TERM": "dumb",
    }
    try:
        done = subprocess.run(
            command,
            input=data or b"",  # never the user's terminal
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
            timeout=MAX_PROGRAM_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    return done.stdout.decode("utf-8", "replace")


def _find(name: str, section: str | None) -> Path | None:
    """Return the file of a page, or `None`. Of several, `man` would show the first."""
    for line in (_run("man", "-w", *_in_section(section), "--", name) or "").splitlines()[:1]:
        page = Path(line.strip())
        if page.is_file():
            return page
    return None


def _in_section(section: str | None) -> tuple[str, ...]:
    return ("-s", section) if section else ()


def _near(name: str) -> set[str]:
    """Return the names of pages here that begin as `name` does, and are about as long."""
    found: set[str] = set()
    for folder in (_run("man", "-w") or "").strip().split(":"):
        if not folder.startswith("/"):
            continue
        for page in Path(folder).glob(f"man*/{glob.escape(name[0])}*"):
            stem = page.name.removesuffix(page.suffix) if page.suffix in _PACKED else page.name
            found.add(stem.rpartition(".")[0])
    return {one for one in found if abs(len(one) - len(name)) <= 2}


def _typeset(page: Path, name: str, section: str | None) -> str | None:
    """Return the page as text, by the first program that is there and prints something."""
    root = page.parent.parent  # `.so man1/other.1` is relative to it
    if page.suffix not in (".bz2", ".xz", ".lzma", ".zst") and shutil.which("mandoc"):
        text = _run(
            "mandoc",
            "-T",
            "utf8",
            "-O",
            f"width={PAGE_WIDTH_COLUMNS}",
            os.fspath(page),
            folder=root,
        )
        if text and _sections(_body(text)):
            return text
    if text := _run("man", "-P", "cat", *_in_section(section), "--", name):
        return text
    if source := _unpack(page):
        return _run(
            "groff",
            "-t",
            "-mandoc",
            "-Tutf8",
            f"-rLL={PAGE_WIDTH_COLUMNS}n",
            folder=root,
            data=source,
        )
    return None


def _unpack(page: Path) -> bytes | None:
    try:
        with _OPENERS.get(page.suffix, Path.open)(page, "rb") as file:
            data: bytes = file.read(MAX_PAGE_BYTES)
            return data
    except (OSError, EOFError, lzma.LZMAError):
        return None


def _body(text: str) -> str:
    """Return the page without overstrikes, running head and foot, and blanks at line ends."""
    plain = _OVERSTRIKE.sub("", text).translate(_PLAIN)
    lines = [line.rstrip() for line in plain.splitlines()]
    while lines and not lines[0]:
        lines.pop(0)
    if lines and _HEAD.search(lines[0]):
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    if lines and _FOOT.match(lines[-1]):
        lines.pop()
    return "\n".join(lines).strip("\n")


def _sections(content: str) -> list[dict[str, str | int]]:
    """Return the headings of a page: the lines that are not indented."""
    lines = enumerate(content.split("\n"), 1)
    return [
        {"name": line, "start_line": number}
        for number, line in lines
        if line and not line[0].isspace()
    ]


def _section_of(page: Path) -> str:
    """Return the section that a file name tells: `1` for `tar.1.gz`."""
    stem = page.name
    for packed in (*_PACKED, ".Z"):
        stem = stem.removesuffix(packed)
    return stem.rpartition(".")[2]
