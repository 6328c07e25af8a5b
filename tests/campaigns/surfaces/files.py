"""A payload as a file on the disk: its name, its bytes, its size, and what else a hostile folder
holds.
"""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import judges
from commandline import python

from ..corpus import NotRunError
from .seen import OUTSIDE, Seen, told

GOOD = "content number 1 content number 2"
RESIDENT = 256
"""MiB over idle that the reading of a file of any size may take."""
MANY = 20_000
"""Files of one folder at the most."""


def on_disk(data: bytes, name: str, options: dict[str, Any], folder: Path) -> Iterator[Seen]:
    """Try bytes as a file beside a good one, by its name and by a pattern."""
    root = folder / "bytes"
    root.mkdir(exist_ok=True)
    (root / "good.txt").write_text(GOOD)
    (root / name).write_bytes(data)
    for spec in (name, "*"):
        yield _said_of(f"--file {spec}", root, ["--file", spec], options, good=spec == "*")
    yield _said_of("--doc", root, ["--doc", name], options, good=False)


def big(text: str, number: int, options: dict[str, Any], folder: Path) -> Iterator[Seen]:
    """Try a text that is too large for a value as a file, read by a process whose memory is
    watched.
    """
    path = folder / "big.txt"
    try:
        with path.open("w") as file:
            piece = text * max(1, (1 << 20) // len(text))
            for _ in range(number * len(text) // len(piece)):
                file.write(piece)
    except OSError as error:
        raise NotRunError(f"a file of that size cannot be written here: {error.strerror}") from None
    code = (
        "import resource, sys\n"
        "from promptforge.cli.main import main\n"
        "import promptforge as pf\n"
        "pf.render([{'content': 'x'}])\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10\n"
        "idle = peak()\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit as done:\n    print(f'exit {done.code} MiB {peak() - idle}', file=sys.stderr)\n"
    )
    try:
        ran = python("-c", code, "render", "--file", path, "--max-tokens", "500", *_flags(options))
    finally:
        path.unlink()
    found = re.search(r"exit (\d+) MiB (\d+)", ran.err)
    if found is None:
        raise AssertionError(f"the process died: {ran.err[-200:]}")
    wrong = f"H8: {found[2]} MiB over idle" if int(found[2]) > RESIDENT else None
    said = tuple(f"!{line}" for line in ran.err.splitlines()[:-1])
    shown = ran.out if found[1] == "0" else None
    yield Seen(
        f"a file of {number * len(text) >> 20} MiB", shown, said, wrong=wrong, mib=int(found[2])
    )


def named(value: str | bytes, options: dict[str, Any], folder: Path) -> Iterator[Seen]:
    """Try a payload as the name of a file: in a list of names, and found by a pattern.

    What is typed may lie anywhere; what a list says stays in the folder.
    """
    root = folder / "named"
    root.mkdir()
    (root / "good.txt").write_text(GOOD)
    data = (
        os.fsencode(value) if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    )
    (root / "names.list").write_bytes(data + b"\0")
    yield _said_of("in a list", root, ["--files-from", "names.list", "-z"], options, good=False)
    (root / "names.list").unlink()
    if not data or len(data) > 200 or b"\0" in data or b"/" in data or data in (b".", b".."):
        return
    (root / os.fsdecode(data)).write_text("harmless")
    for format in ("xml",) if options else ("xml", "markdown"):  # noqa: A001
        seen = _said_of(
            f"in a folder, {format}", root, ["--file", "*", "--format", format], options
        )
        if seen.text is not None:
            blocks = (
                judges.xml_root(seen.text)
                if format == "xml"
                else judges.markdown_contents(seen.text)
            )
            if len(blocks) != 2:
                seen = seen._replace(wrong=f"H1: {len(blocks)} blocks of two files")
        yield seen


def setup(words: str, options: dict[str, Any], folder: Path) -> Iterator[Seen]:
    """Arrange what words describe in a folder, and read it by patterns, by name and as a document."""
    make = next(
        (make for pattern, make in SETUPS if re.search(pattern, words, re.IGNORECASE)), None
    )
    if make is None:
        raise NotRunError(f"no state of a folder is known by these words: {words[:80]!r}")
    root = folder / "root"
    root.mkdir()
    (root / "good.txt").write_text(GOOD)
    (folder / "outside.txt").write_text(OUTSIDE)
    make(root, words)
    bad = next((name for name in sorted(os.listdir(root)) if name != "good.txt"), "good.txt")
    with (
        _busy(root / bad) if re.search(r"while|during|grow|vanish|delet|chang", words) else _quiet()
    ):
        for spec in ("**",) if options else ("*", "**"):
            yield _said_of(f"--file {spec}", root, ["--file", spec], options)
        yield _said_of("by its name", root, ["--file", bad], options, good=False)
        yield _said_of("--doc", root, ["--doc", bad], options, good=False)


def _said_of(
    where: str, root: Path, flags: list[str], options: dict[str, Any], *, good: bool = True
) -> Seen:
    """Return what `render` says of files; exit codes beside 0 and 1 only where a file is named."""
    codes = (0, 1) if good else (0, 1, 2, 3, 4)
    flags = [*flags, "--max-tokens", "2000", *_flags(options)]
    seen = told(where, "render", *flags, codes=codes, cwd=root)
    wrong = None
    if seen.text is not None and good and not options and "content number 1" not in seen.text:
        wrong = "H6: the file beside it is gone"
    if seen.text is None and good and not options:
        wrong = "H3: no text"
    return seen._replace(wrong=wrong, may_refuse=not good)


def _flags(options: dict[str, Any]) -> list[str]:
    return ["--strict"] if options.get("strict") else []


# --- states of a folder ---------------------------------------------------------------------------


def _link(root: Path, words: str) -> None:
    found = re.search(r"(?:->|to)\s*(\S+)", words)
    to = found[1] if found else "nowhere"
    leads_out = to.startswith("/") and not to.startswith("/dev")
    (root / "link.txt").symlink_to(root.parent / "outside.txt" if leads_out else to)
    if leads_out:
        (root / "folder").symlink_to(root.parent, target_is_directory=True)


def _fifo(root: Path, _: str) -> None:
    os.mkfifo(root / "pipe.txt")


def _socket(root: Path, _: str) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        before = os.getcwd()
        os.chdir(root)  # such an address is short
        try:
            made.bind("socket.txt")
        finally:
            os.chdir(before)


def _undecodable(root: Path, _: str) -> None:
    with open(os.fsencode(root) + b"/\xff\xfe\x80.txt", "wb") as file:
        file.write(b"harmless")


def _unreadable(root: Path, _: str) -> None:
    (root / "secret.txt").write_text("harmless")
    (root / "secret.txt").chmod(0)


def _deep(root: Path, _: str) -> None:
    before = os.getcwd()
    os.chdir(root)
    try:
        for _level in range(600):
            os.mkdir("d")
            os.chdir("d")
        Path("deep.txt").write_text("harmless")
    finally:
        os.chdir(before)


def _large(root: Path, words: str) -> None:
    found = re.search(r"([\d.,_]+)\s*([kMGT])i?B", words)
    size = (
        int(float(found[1].replace(",", "")) * 1000 ** (" kMGT".index(found[2])))
        if found
        else 1 << 30
    )
    with (root / "large.txt").open("wb") as file:
        if "line" in words:
            file.write(b"x" * min(size, 1 << 26))
        else:
            file.truncate(size)


def _many(root: Path, words: str) -> None:
    found = re.search(r"([\d,_]+)", words)
    for number in range(min(int(re.sub(r"\D", "", found[1])) if found else 1000, MANY)):
        (root / f"f{number}.txt").touch()


SETUPS: list[tuple[str, Callable[[Path, str], object]]] = [
    (r"hard ?link", lambda root, _: os.link(root.parent / "outside.txt", root.parent / "same.txt")),
    (r"link", _link),
    (r"fifo|pipe", _fifo),
    (r"socket", _socket),
    (r"dev(?:ice|/)", lambda root, _: (root / "device.txt").symlink_to("/dev/zero")),
    (r"utf-?8|undecodable|surrogate|latin|\\x[89a-f]", _undecodable),
    (r"permission|unreadable|chmod|mode 0", _unreadable),
    (r"deep|nested", _deep),
    (r"\d\s*[kMGT]i?B|huge|large|sparse|long line", _large),
    (r"\d[\d,_]* (?:files|names|entries)|many", _many),
    (r"case|A\.md", lambda root, _: [(root / name).write_text(name) for name in ("A.md", "a.md")]),
    (
        r"characters|long name|255",
        lambda root, _: (root / ("n" * 251 + ".txt")).write_text("harmless"),
    ),
    (
        r"binary|NUL|picture|image",
        lambda root, _: (root / "a.txt").write_bytes(bytes(range(256)) * 40),
    ),
    (r"folder|directory", lambda root, _: (root / "folder.txt").mkdir()),
    (r"empty|0 bytes", lambda root, _: (root / "empty.txt").touch()),
    (
        r"while|during|grow|vanish|delet|chang",
        lambda root, _: (root / "busy.txt").write_text("harmless"),
    ),
]
"""What words arrange, the first that fits."""


@contextmanager
def _quiet() -> Iterator[None]:
    yield


@contextmanager
def _busy(path: Path) -> Iterator[None]:
    """Write, cut and remove a file while it is read."""
    stop = threading.Event()

    def edit() -> None:
        while not stop.wait(0.001):
            path.write_text("harmless " * 5000)
            stop.wait(0.001)
            path.unlink()

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        yield
    finally:
        stop.set()
        editor.join()
