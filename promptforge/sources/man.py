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
from pathlib import Path
from typing import Any

from ..errors import ItemError, did_you_mean, quote
from ..model import Item
from ..text.words import late_pattern

PAGE_WIDTH_COLUMNS = 100
MAX_PROGRAM_SECONDS = 20
MAX_PAGE_BYTES = 64 << 20
"""Bytes of a packed page that are unpacked."""
# `[` is a program with a man page. A name never begins with `-`, so it is no option of `man`.
_NAME = late_pattern(r"[A-Za-z0-9_\[][A-Za-z0-9_.+:@\[-]*")
# `de:ls`, `pt_BR:ls`; `Getopt::Long` is a name of its own.
_LOCALIZED = late_pattern(r"([a-z]{2,3}(?:_[A-Z]{2})?):([^:].*)")
_SECTION_FIRST = late_pattern(r"([1-9][a-z]*)[: ](\S+)")  # as `man 5 passwd` has it
_SECTION = late_pattern(r"[0-9][A-Za-z]{0,8}|[ln]")
_OVERSTRIKE = late_pattern(r".\x08|\x1b\[[0-9;]*m", re.DOTALL)
# Typesetters' hyphens, minus and hard blank: an option copied with one of these would not work.
_PLAIN = str.maketrans({"\u2010": "-", "\u2011": "-", "\u2212": "-", "\u00ad": "-", "\u00a0": " "})
# `TAR(1)      GNU TAR Manual      TAR(1)`
_HEAD = late_pattern(r"(?>.*?\S\s*\()(?>.*?\)).*?\s\s")  # each part is found once
# `TAR      July 13, 2020      TAR(1)`, or with no date but blanks before the name.
_FOOT = late_pattern(r"\S.*?\s{2,}\S|\s{20,}\S+\([0-9a-zA-Z]+\)$")
_OPENERS: dict[str, Any] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".lzma": lzma.open,
}
_PACKED = (*_OPENERS, ".zst", ".Z")


def load_man_page(spec: str) -> Item:
    """Return the man page `NAME`, `NAME.SECTION` or `NAME(SECTION)` as an item of kind `man_page`.

    `LOCALE:NAME`, such as `de:ls`, is the page in another language.

    The content begins at the first section's heading, without the running head and foot. Metadata:
    `section`, and `sections`, a list of `{name, start_line}` with lines of the content from 1.

    Raises `ItemError` when there is no such page, no `man`, or no program to typeset with.
    """
    where = _where(spec)
    if shutil.which("man") is None:
        message = "there is no `man` program on this machine; install man-db or mandoc"
        raise ItemError(message, where=where)
    localized = _LOCALIZED.fullmatch(spec)
    locale = localized[1] if localized else ""
    for name, section in _readings(localized[2] if localized else spec):
        page = _find(name, section, locale)
        if page is not None:
            break
    else:
        # Images of containers often leave all man pages out.
        installed = "is the package installed, and are its man pages (some systems leave them out)?"
        hint = did_you_mean(name, _near(name)) or f"; {installed}"
        swapped = _SECTION_FIRST.fullmatch(spec)
        if swapped:
            hint = f"; did you mean {quote(f'{swapped[2]}.{swapped[1]}')}?"
        if locale:
            hint = f" in {locale}; leave {locale}: out for the English one"
        raise ItemError(f"no such man page{hint}", where=where)
    content = _body(_typeset(page, name, section, locale))
    if not content:
        message = "the page was found but cannot be formatted; install mandoc, man-db or groff"
        raise ItemError(message, where=where)
    found = {"section": section or _split_name(page)[1], "sections": _sections(content)}
    if locale:
        found["locale"] = locale
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
    pairs = [(n, s) for n, s in pairs if _NAME.fullmatch(n) and len(n) < 200]
    pairs = [(n, s) for n, s in pairs if s is None or _SECTION.fullmatch(s)]
    if not pairs:
        message = "not a name of a man page; expected NAME, NAME.SECTION or NAME(SECTION)"
        if "/" in spec:
            message += "; --doc reads a file"
        raise ItemError(message, where=_where(spec))
    return pairs


def _run(*command: str, folder: Path | None = None, data: bytes = b"") -> str:
    """Return the output of a program; "" if it fails, is not there or takes too long."""
    import subprocess  # late: few runs read a manual

    kept = ("PATH", "HOME", "MANPATH", "TMPDIR", "SYSTEMROOT")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= {"LC_ALL": "C.UTF-8", "MANWIDTH": str(PAGE_WIDTH_COLUMNS), "TERM": "dumb"}
    try:
        done = subprocess.run(
            command,
            input=data,  # never the user's terminal
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
            timeout=MAX_PROGRAM_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    if done.returncode != 0:
        return ""
    return done.stdout.decode("utf-8", "replace")


def _page_arguments(name: str, section: str | None, locale: str) -> list[str]:
    options = ["-L", f"{locale}.UTF-8"] if locale else []
    if section is not None:
        options += ["-s", section]
    return [*options, "--", name]


def _find(name: str, section: str | None, locale: str) -> Path | None:
    """Return the file of a page, or `None`. Of several, `man` would show the first."""
    for line in _run("man", "-w", *_page_arguments(name, section, locale)).splitlines():
        page = Path(line.strip())
        # Where a language has no page, `man` names the English one: `man1/ls.1`, not `de/man1/`.
        folder = page.parent.parent.name.partition(".")[0]
        if page.is_file():
            return page if not locale or folder in (locale, locale[:2]) else None
    return None


def _near(name: str) -> set[str]:
    """Return the names of pages here that begin as `name` does, and are about as long."""
    found: set[str] = set()
    for folder in _run("man", "-w").strip().split(":"):
        if folder.startswith("/"):
            pages = Path(folder).glob(f"man*/{glob.escape(name[0])}*")
            found.update(_split_name(page)[0] for page in pages)
    return {one for one in found if abs(len(one) - len(name)) <= 2}


def _split_name(page: Path) -> tuple[str, str]:
    """Return the name and the section that a file name tells: `tar`, `1` for `tar.1.gz`."""
    stem = page.name.removesuffix(page.suffix) if page.suffix in _PACKED else page.name
    name, _, section = stem.rpartition(".")
    return name, section


def _typeset(page: Path, name: str, section: str | None, locale: str) -> str:
    """Return the page as text, by the first program that is there and prints something."""
    root = page.parent.parent  # `.so man1/other.1` is relative to it
    # mandoc reads gzip, but no other packed pages; of some pages of groff's it prints nothing.
    if page.suffix in (".gz", ".Z") or page.suffix not in _PACKED:
        width = f"width={PAGE_WIDTH_COLUMNS}"
        text = _run("mandoc", "-T", "utf8", "-O", width, os.fspath(page), folder=root)
        if _sections(_body(text)):
            return text
    text = _run("man", "-P", "cat", *_page_arguments(name, section, locale))
    if text:
        return text
    source = _unpack(page)
    width = f"-rLL={PAGE_WIDTH_COLUMNS}n"
    if not source:
        return ""
    return _run("groff", "-t", "-mandoc", "-Tutf8", width, folder=root, data=source)


def _unpack(page: Path) -> bytes:
    try:
        with _OPENERS.get(page.suffix, Path.open)(page, "rb") as file:
            data: bytes = file.read(MAX_PAGE_BYTES)
            return data
    except (OSError, EOFError, lzma.LZMAError):
        return b""


def _body(text: str) -> str:
    """Return the page without overstrikes, running head and foot, and blanks at line ends."""
    plain = _OVERSTRIKE.sub("", text).translate(_PLAIN)
    lines = [line.rstrip() for line in plain.splitlines()]
    while lines and not lines[0]:
        lines.pop(0)
    if lines and _HEAD.match(lines[0]):
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    if lines and _FOOT.match(lines[-1]):
        lines.pop()
    return "\n".join(lines).strip("\n")


def _sections(content: str) -> list[dict[str, str | int]]:
    lines = enumerate(content.split("\n"), 1)
    return [{"name": line, "start_line": n} for n, line in lines if line.strip() == line != ""]
