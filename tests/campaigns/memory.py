"""Edits of a folder, each followed by a run with the memory on disk and by one without.

The promise: both print the same bytes, the same messages, and end with the same code, whatever was
done to the folder or to the file of the memory; and the file holds no credential of the folder.
Most runs are in this process, which forgets between them what it remembers itself. One in
`CASES_OF_A_TRIAL` is of processes: two at once, one of them perhaps killed. The control is a memory
that knows a text by its length.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest import mock

from promptforge.cli.main import main
from promptforge.files import memory
from promptforge.rendering import pipeline
from promptforge.tokenizers.bpe import BytePairCounter
from promptforge.tokenizers.counters import MAX_CHARS_CACHED, RecentCache
from promptforge.tokenizers.registry import get_tokenizer
from promptforge.trimming import kinds

from .report import Report

FILES = 8
CASES_OF_A_FOLDER = 100
"""Edits of one folder; then comes a new one."""
CASES_OF_A_TRIAL = 200
CONTROLLED = 150
SECRET = "AKIAQ7ZJ4MN3X6RT2WPV"
NAMES = ("pool", "lock", "store", "retry", "parse", "Engine", "Shard", "walk_tree", "read_all")
ENDINGS = ("py", "py", "py", "js", "go", "md", "yaml", "txt", "json", "vue", "ipynb")
OPTIONS: tuple[tuple[str, ...], ...] = (
    ("--max-tokens", "300"),
    ("--max-tokens", "700"),
    ("--max-tokens", "2500"),
    ("--max-tokens", "none"),
    ("--max-tokens", "600", "--query", "how does the pool retry a lock"),
    ("--max-tokens", "600", "--packing", "even"),
    ("--max-tokens", "500", "--profile", "claude"),
    ("--max-tokens", "500", "--outline"),
    ("--max-chars", "1500", "--tree"),
    ("--max-tokens", "400", "--include", "*.py"),
    ("--max-tokens", "400", "--number-lines"),
    ("--max-tokens", "400", "--no-secret-scan"),
)


def run(cases: int, seed: int = 1) -> Report:
    """Make so many edits; equal seeds make equal ones."""
    report = Report("memory", cases, seed)
    chance = random.Random(seed)
    left, trials = cases, 0
    while left > 0:
        number = min(left, CASES_OF_A_FOLDER)
        with _space(chance) as space:
            for _ in range(number):
                space.edit()
                space.compare(report)
            if left // CASES_OF_A_TRIAL > (left - number) // CASES_OF_A_TRIAL:
                trials += 1
                space.compare_processes(report)
        left -= number
    report.figures["runs of processes"] = trials
    if not _breaks(seed):
        report.broken.append({"promise": "control", "case": "a memory by length broke nothing"})
    return report


def _breaks(seed: int) -> bool:
    """Tell whether a memory that knows a text by its length is found out."""
    report, chance = Report("control", CONTROLLED, seed), random.Random(seed)
    by_length = mock.patch.object(memory, "digest_of", lambda text: len(text).to_bytes(16, "big"))
    with by_length, _space(chance) as space:
        for _ in range(CONTROLLED):
            space.edit()
            space.compare(report)
            if report.broken:
                return True
    return False


@contextlib.contextmanager
def _space(chance: random.Random) -> Iterator[_Space]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(os.path.realpath(name))
        known = {"XDG_CACHE_HOME": str(place / "cache"), memory.NO_CACHE_VARIABLE: ""}
        with mock.patch.dict(os.environ, known):
            yield _Space(place, chance)


class _Space:
    """A folder that is edited, and its memory."""

    def __init__(self, place: Path, chance: random.Random) -> None:
        self.folder = place / "work"
        self.cache = place / "cache" / "promptforge"
        self.chance = chance
        self.done: list[str] = []
        """What was done last."""
        (self.folder / "src").mkdir(parents=True)
        for _ in range(FILES):
            self._add()
        self.has_git = chance.random() < 0.2
        if self.has_git:
            self._git("init", "-q")
            self._commit()

    def _git(self, *arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        command = ["git", *who, "-C", str(self.folder), *arguments]
        subprocess.run(command, check=False, capture_output=True)

    def _commit(self) -> None:
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", "one")

    def edit(self) -> None:
        """Do something to the folder, or to the memory."""
        ways: list[Callable[[], None]] = [
            *(self._rewrite, self._rewrite, self._rewrite_unseen, self._add, self._rename),
            *(self._copy, self._swap, self._remove, self._add_secret, self._close),
            *(self._garble, self._cut_short, self._forget, self._replace_memory),
        ]
        if self.has_git:
            ways += [self._commit, self._check_out]
        way = self.chance.choice(ways)
        self.done = [*self.done[-4:], way.__name__]
        with contextlib.suppress(OSError):
            way()
        while len(self._files()) < FILES // 2:
            self._add()

    def _files(self) -> list[Path]:
        return sorted(p for p in self.folder.rglob("*") if p.is_file() and ".git" not in p.parts)

    def _one(self) -> Path:
        return self.chance.choice(self._files())

    def _text(self, ending: str) -> bytes:
        chance, lines = self.chance, list[str]()
        for number in range(chance.randrange(1, 14)):
            name, other = chance.choice(NAMES), chance.choice(NAMES)
            lines += {
                "py": [f"from src.{other} import {name}", f"def {name}_{number}({other}):"]
                + [f"    {other}.{name}({n})" for n in range(chance.randrange(1, 6))],
                "js": [f"import {name} from './{other}.js'", f"function {name}() {{", "  x()", "}"],
                "go": [f"func {name}() {{", f"\t{other}()", "}"],
                "md": [f"# {name}", "", f"Says of {other}: {number}.", "", "- a", "- b"],
                "json": [f'{{"{name}": {number}}}'],
                "vue": ["<script>", f"const {name} = {number}", "</script>", "<p>a</p>"],
                "ipynb": [f'{{"cells": [], "{name}": {number}}}'],
            }.get(ending, [f"{name}: {other} {number}"])
        text = chance.choice(("\n", "\n", "\n", "\r\n")).join(lines) + chance.choice(
            ("\n", "", "\n\n")
        )
        return text.encode() + chance.choice(
            (b"", b"", b"", b"\xff\xfe caf\xe9\n", "é \u2028 ꟑ".encode())
        )

    def _add(self) -> None:
        ending = self.chance.choice(ENDINGS)
        name = f"{self.chance.choice(('', 'src/'))}{self.chance.choice(NAMES)}.{ending}"
        (self.folder / name).write_bytes(self._text(ending))

    def _rewrite(self) -> None:
        path = self._one()
        lines = path.read_bytes().split(b"\n")
        lines[self.chance.randrange(len(lines))] = self.chance.choice(NAMES).encode() + b"(1)"
        path.write_bytes(b"\n".join(lines))

    def _rewrite_unseen(self) -> None:
        """Change letters and put the times back: by size and times it is the same file."""
        path = self._one()
        state, data = path.stat(), bytearray(path.read_bytes())
        places = [n for n, byte in enumerate(data) if 97 <= byte < 122]
        for place in self.chance.sample(places, min(3, len(places))):
            data[place] += 1
        path.write_bytes(data)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    def _rename(self) -> None:
        path = self._one()
        path.rename(
            path.with_name(self.chance.choice(NAMES) + self.chance.choice(("", "2")) + path.suffix)
        )

    def _copy(self) -> None:
        path = self._one()
        shutil.copy2(path, path.with_name(f"copy_of_{path.name[-20:]}"))

    def _swap(self) -> None:
        one, two = self._one(), self._one()
        first, second = one.read_bytes(), two.read_bytes()
        one.write_bytes(second)
        two.write_bytes(first)

    def _remove(self) -> None:
        self._one().unlink()

    def _add_secret(self) -> None:
        path = self.chance.choice([self._one(), self.folder / ".env", self.folder / "app.tfvars"])
        with path.open("ab") as file:
            file.write(f"\nkey = '{SECRET}'\npassword = hunter{SECRET[-6:]}\n".encode())

    def _close(self) -> None:
        path = self._one()
        path.chmod(self.chance.choice((0o000, 0o755, 0o644)))

    def _check_out(self) -> None:
        self._git(
            "checkout", "-q", "-f", self.chance.choice(("HEAD~1", "HEAD~2", "master", "main"))
        )

    def _memory(self) -> Path:
        found = sorted(self.cache.glob("*")) or [self.cache / "none"]
        return self.chance.choice(found)

    def _garble(self) -> None:
        path = self._memory()
        data = bytearray(path.read_bytes())
        for _ in range(self.chance.randrange(1, 4)):
            data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
        path.write_bytes(data)

    def _cut_short(self) -> None:
        path = self._memory()
        path.write_bytes(path.read_bytes()[: self.chance.randrange(0, 200)])

    def _forget(self) -> None:
        shutil.rmtree(self.cache)

    def _replace_memory(self) -> None:
        path = self._memory()
        path.unlink()
        if self.chance.random() < 0.5:
            path.symlink_to(self._one())
        elif self.chance.random() < 0.5:
            path.mkdir()

    def compare(self, report: Report) -> None:
        """Run with the memory and without; the secret may stand in no file of it."""
        options = self.chance.choice(OPTIONS)
        before = {path: path.stat().st_size for path in self._files()}
        with_memory = _command(["render", str(self.folder), *options])
        without = _command(["render", str(self.folder), *options, "--no-cache"])
        if with_memory != without:
            self._break(report, "equal", options, with_memory, without)
        if before != {path: path.stat().st_size for path in self._files()}:
            self._break(report, "the folder stays as it is", options)
        for path in filter(Path.is_file, self.cache.glob("*")):
            if not path.is_symlink() and SECRET.encode() in path.read_bytes():
                self._break(report, "no credential", options)

    def compare_processes(self, report: Report) -> None:
        """Run two at once, and kill one."""
        command = [sys.executable, "-m", "promptforge", "render", str(self.folder)]
        command += ["--max-tokens", "700"]
        killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        others = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        time.sleep(self.chance.random() * 0.8)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        said = [(*process.communicate(), process.returncode) for process in others]
        said.append(_finished(command))
        without = _finished([*command, "--no-cache"])
        if {*said} != {without}:
            self._break(report, "equal beside a killed process", (), *said, without)

    def _break(self, report: Report, promise: str, options: Sequence[str], *said: object) -> None:
        facts = {"promise": promise, "options": list(options), "done": self.done}
        report.broken.append({**facts, "said": [repr(each)[:600] for each in said]})


def _finished(command: Sequence[str]) -> tuple[bytes, bytes, int]:
    ran = subprocess.run(command, check=False, capture_output=True)
    return ran.stdout, ran.stderr, ran.returncode


def _command(arguments: list[str]) -> tuple[str, str, object]:
    """Return what a command prints, and its code, as of a process of its own."""
    _forget_all()
    out, said = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    code: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
        except Exception as error:
            code = repr(error)
    for stream in (out, said):
        stream.flush()
        stream.seek(0)
    return out.read(), said.read(), code


def _forget_all() -> None:
    """Forget what this process remembers of texts: only the disk may know them."""
    pipeline._LAST.made = None
    kinds._divide_once.cache_clear()
    kinds._detect_once.cache_clear()
    for name in ("o200k_base", "claude", "default"):
        with contextlib.suppress(Exception):
            counter = get_tokenizer(name)
            if isinstance(counter, BytePairCounter):
                counter._counts = RecentCache(MAX_CHARS_CACHED)
                counter._parts = RecentCache(
                    MAX_CHARS_CACHED, lambda part: len(part.head or "") + len(part.tail)
                )
