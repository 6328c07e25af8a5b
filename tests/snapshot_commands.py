"""The cases of the snapshots that run the command line."""

from __future__ import annotations

import functools
import io
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from snapshot_cases import Case, Facts, uses_of, write_files
from snapshot_texts import (
    BATCH_COMMANDS,
    CHANGES,
    COMMANDS,
    COMMITS,
    FAILING,
    FILES,
    FORTY_COMMANDS,
    LOOKING_COMMANDS,
    MADE_FILES,
    MISTAKEN,
    MIXED_ROWS,
    PROMPT_COMMANDS,
    REPOSITORY_COMMANDS,
    SHAPES,
    SHOWN,
    TESTS,
)

import promptforge as pf
from promptforge.batch import RenderBatch
from promptforge.cli import start
from promptforge.cli.main import COMMANDS as COMMAND_NAMES

UNSAID = {
    "build_seconds",
    "citation",
    "description",
    "doc",
    "example",
    "explanation_text",
    "fix",
    "hint",
    "manifest",
    "message",
    "next",
    "promptforge",
    "references",
    "said",
    "seconds",
    "unknown",
    "way_out",
    "whose",
    "why",
}
"""Keys of JSON whose values are sentences, versions or times."""
CHANGING = {"build_seconds", "manifest", "promptforge", "seconds"}
"""Those of them that differ from run to run, or with each version."""
SPEED = re.compile(r"[\d.,]+ (?:s|min|h), [\d.,]+ a second$", re.MULTILINE)
"""The speed of a batch, at the end of its summary."""
UNCOMPARED_FILES = re.compile(r"(^|/)(\.git/|manifest\.json$|parts/|\.promptforge/local/own$)")
"""Files of git, a random id, and the state of a batch, which has a hash of the code."""
FORMS_OF_FINDINGS = ("text", "github", "sarif", "text --fix --diff")
QUARTER = 4
"""One planted mistake in so many is also printed in other forms than JSON."""


class Ran(NamedTuple):
    """What a run of the command line leaves behind."""

    code: int
    out: str
    err: str


def plain(value: Any) -> Any:
    """Return JSON without what is reworded: sentences, versions and times."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key not in UNSAID}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, str) and value.startswith("/"):
        return Path(value).name  # a shipped file lies in the checkout, wherever that is
    return value


def command(*arguments: str, cwd: Path, stdin: bytes | None = None) -> Ran:
    """Run the command inside this process, as `python -m promptforge` does."""
    source = io.TextIOWrapper(_Terminal(stdin is None, stdin or b""))
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8")
    argv = ["promptforge", *arguments]
    code: object = 0
    before = Path.cwd()
    os.chdir(cwd)
    try:
        with mock.patch.multiple(sys, stdin=source, stdout=out, stderr=err, argv=argv):
            try:
                start()
            except SystemExit as done:
                code = done.code
            out.flush()
            err.flush()
    finally:
        os.chdir(before)
    assert isinstance(code, int)
    return Ran(code, *(_without_places(s.buffer.getvalue().decode(), cwd) for s in (out, err)))


def _without_places(text: str, folder: Path) -> str:
    """Return `text` without the names of this checkout and of the folder of the run."""
    shipped = Path(pf.__file__).parent
    for path, name in ((folder, "."), (shipped, "promptforge"), (shipped.parent, "checkout")):
        for written in dict.fromkeys((os.path.realpath(path), str(path))):
            text = text.replace(written, name)
    return text


class _Terminal(io.BytesIO):
    def __init__(self, tty: bool, data: bytes) -> None:
        super().__init__(data)
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


def _commanded(
    files: Mapping[str, str],
    *arguments: str,
    prepare: Callable[[Path], None] = lambda folder: None,
) -> Facts:
    """Run one command in a folder with `files`; JSON is compared without its sentences.

    The files that it writes are part of the text.
    """
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above) / "work"  # a name that does not change: a tree prints it
        folder.mkdir()
        write_files(folder, files)
        prepare(folder)
        before = _texts(folder)
        ran = command(*arguments, cwd=folder)
        now = _texts(folder)
    facts = Facts(ran.out, ran.code)
    if "--json" in arguments:
        facts = _of_json(ran.code, ran.out)
    written = [f"\n--- {name}\n{text}" for name, text in now.items() if before.get(name) != text]
    messages = SPEED.sub("", ran.err)
    return Facts(facts.text + "".join(written), facts.account, messages + facts.messages)


def _texts(folder: Path) -> dict[str, str]:
    """Return the files below `folder` that are texts, but those of git and of a batch's state."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not UNCOMPARED_FILES.search(name):
            try:
                found[name] = _without_places(path.read_bytes().decode(), folder)
            except UnicodeDecodeError:
                found[name] = "(no text)"
    return found


def _of_json(code: int, out: str) -> Facts:
    try:
        data = json.loads(out or "null")
    except json.JSONDecodeError:
        return Facts(out, code)  # some flags ask for a text all the same
    text, messages = "", "".join(f"{line}\n" for line in _sentences(data))
    if isinstance(data, dict):
        text = str(data.get("text", ""))
        if isinstance(data.get("warnings"), list):
            data["warnings"] = sorted(
                [w["code"], w["severity"], w["item"]] for w in data["warnings"]
            )
        if isinstance(data.get("findings"), list):
            keys = ("file", "path", "line", "column", "code", "severity")
            data["findings"] = [[f.get(key) for key in keys] for f in data["findings"]]
    return Facts(text, [code, plain(data)], messages)


def _sentences(value: Any) -> Iterator[str]:
    """Yield what `plain` leaves out and two runs have in common."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key in UNSAID - CHANGING:
                yield f"{key}: {json.dumps(each, ensure_ascii=False)}"
            elif key not in UNSAID:
                yield from _sentences(each)
    elif isinstance(value, list):
        for each in value:
            yield from _sentences(each)


def _line(
    label: str,
    line: str,
    files: Mapping[str, str],
    prepare: Callable[[Path], None] = lambda folder: None,
) -> Case:
    """Return the case of one command line."""
    arguments = shlex.split(line)
    run = functools.partial(_commanded, files, *arguments, prepare=prepare)
    flags = dict(itertools.pairwise(arguments))
    options = {
        key: flags[f"--{key}"]
        for key in ("to", "packing", "layout", "format")
        if f"--{key}" in flags
    }
    return Case(f"{label} {line}", run, uses_of(options) | {f"command {arguments[0]}"})


def commands() -> Iterator[Case]:
    """Yield runs of the command line in a small workspace."""
    for line in COMMANDS:
        case = _line("$", line, FILES)
        if line.startswith("schema"):
            case = case._replace(run=functools.partial(_schema, line))
        yield case
    for name in SHOWN:
        yield Case(f"$ show {name}", functools.partial(_shown, name))
    for line in FORTY_COMMANDS:
        yield _line("forty", line, MADE_FILES)
    for line in (*PROMPT_COMMANDS, *LOOKING_COMMANDS, *FAILING):
        yield _line("desk", line, FILES | MADE_FILES)
    for line, name, text in MISTAKEN:
        words = " ".join(text.split())
        case = _line("mistake", line, FILES | {name: text})
        yield case._replace(name=f"{case.name}: {words}")
    for name in ("", *sorted(COMMAND_NAMES)):
        run = functools.partial(_commanded, {}, *f"{name} --help".split())
        yield Case(f"help {name}".strip(), run)
    yield Case("$ rule --json", _rules, frozenset({"command rule"}))
    yield Case("$ guide", functools.partial(_commanded, {}, "guide"), frozenset({"command guide"}))
    yield Case("project", _project, frozenset({"command init", "command test", "command check"}))


def _schema(line: str) -> Facts:
    ran = _commanded({}, *shlex.split(line))
    return Facts("", sorted(plain(json.loads(ran.text))["properties"]), ran.text)


def _shown(name: str) -> Facts:
    # Comments and descriptions are sentences, and so may be said otherwise.
    source, code, place = _commanded({}, "show", name)
    text = re.sub(r"(?s)\{#.*?#\}|^ *#.*?$|^description:.*?$", "", source, flags=re.MULTILINE)
    return Facts("".join(text.split()), code, place + source)


def _rules() -> Facts:
    with tempfile.TemporaryDirectory() as folder:
        ran = command("rule", "--json", cwd=Path(folder))
    rules = json.loads(ran.out)["codes"]
    return Facts("", [[rule["code"], rule["severity"]] for rule in rules], ran.out)


def rows() -> Iterator[Case]:
    """Yield batches: rows of several shapes, some of them wrong."""
    yield Case("batch", _batch)
    yield Case("batch of prompts", lambda: _batch("--to", "openai"))
    for to in ("context", *SHAPES):
        yield Case(f"rows {to}", functools.partial(_rendered_rows, to), uses_of({"to": to}))
    for line in BATCH_COMMANDS:
        yield _line("rows", f"{line} --workers 1", FILES | MADE_FILES)


def _rendered_rows(to: str) -> Facts:
    """Render the rows in this process: a worker of `batch` takes half a second to start."""
    with tempfile.TemporaryDirectory() as name:
        write_files(Path(name), FILES)
        render = RenderBatch(to=to, workspace=name)
        made = render({"request": [json.dumps(row) for row in MIXED_ROWS]})
    texts = [made.pop("text"), made.pop("request")]
    errors = [error.partition(":") for error in made["error"]]
    made["error"] = [kind for kind, _, _ in errors]
    messages = "\n".join(sentence for _, _, sentence in errors)
    return Facts(json.dumps(texts, indent=1), made, messages.replace(name, "."))


def _batch(*more: str) -> Facts:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, FILES)
        ran = command(
            "batch", "rows.jsonl", "-o", "out.jsonl", "--workers", "1", "-q", *more, cwd=folder
        )
        written = (folder / "out.jsonl").read_text("utf-8")
    made = [json.loads(line) for line in written.splitlines()]
    texts = [row.pop("text", "") for row in made]
    for row in made:
        row["warnings"] = sorted(str(w.get("code")) for w in row.get("warnings") or ())
    return Facts(json.dumps(texts), [ran.code, plain(made)], written)


def folders() -> Iterator[Case]:
    """Yield runs in a small repository of git: three commits, and changes on top."""
    for line in REPOSITORY_COMMANDS:
        yield _line("repository", line, {}, make_repository)


def make_repository(folder: Path) -> None:
    """Make the repository of `COMMITS` and `CHANGES`; names, dates and so all hashes are fixed."""
    stream = b""
    for number, (message, files) in enumerate(COMMITS):
        stream += f"commit refs/heads/main\ncommitter Ada <ada@example.org> {1700000000 + 86400 * number} +0000\n".encode()
        stream += _data(message)
        for name, text in files.items():
            stream += f"M 100644 inline {name}\n".encode() + _data(text)
    for arguments in (
        ("init", "-q", "-b", "main"),
        ("fast-import", "--quiet"),
        ("reset", "-q", "--hard", "main"),
    ):
        subprocess.run(
            ["git", *arguments], cwd=folder, input=stream, check=True, capture_output=True
        )
    write_files(folder, CHANGES)


def _data(text: str) -> bytes:
    return b"data %d\n%s\n" % (len(text.encode()), text.encode())


def _project() -> Facts:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = command("init", "desk", cwd=folder)
        tested = command("test", "--json", cwd=folder / "desk")
        checked = command("check", "--json", cwd=folder / "desk")
        wrong = folder / "desk/templates/mine/item.md.j2"
        wrong.write_text(
            wrong.read_text("utf-8").replace("item.name", "item.nme"), encoding="utf-8"
        )
        again = command("check", "--json", cwd=folder / "desk")
    cases = [[c["passed"], c["tokens"], c["text"]] for c in json.loads(tested.out)["cases"]]
    checks = [_of_json(ran.code, ran.out).account for ran in (checked, again)]
    return Facts("", [made.code, tested.code, cases, checks])


def mistakes(blocks: Mapping[str, Mapping[str, str]]) -> Iterator[Case]:
    """Yield `check` of planted mistakes: as JSON, and some in each other form."""
    for number, (name, files) in enumerate(blocks.items()):
        checked = " ".join(sorted({name.partition("/")[0] for name in files}))
        uses = frozenset({"command check"})
        run = functools.partial(_commanded, files, *shlex.split(f"check {checked} --json"))
        yield Case(f"check {name}", run, uses)
        if number % QUARTER == 0:
            form = FORMS_OF_FINDINGS[number // QUARTER % len(FORMS_OF_FINDINGS)]
            line = f"check {checked} --output-format {form}"
            yield Case(
                f"{form} of check {name}", functools.partial(_commanded, files, *line.split()), uses
            )


def failures() -> Iterator[Case]:
    """Yield the commands of tests/golden/errors: exit code, output and message."""
    for path in sorted((TESTS / "golden" / "errors").glob("*/command.txt")):

        def run(path: Path = path) -> Facts:
            arguments = shlex.split(path.read_text("utf-8"))
            with tempfile.TemporaryDirectory() as folder:
                work = Path(folder) / "w"
                shutil.copytree(
                    path.parent, work, ignore=shutil.ignore_patterns("command.txt", "message.txt")
                )
                ran = command(*arguments, cwd=work)
            return Facts(ran.out, ran.code, ran.err)

        yield Case(f"error {path.parent.name}", run)


def sessions(examples: Sequence[Sequence[Sequence[str]]]) -> Iterator[Case]:
    """Yield the examples of the README and the guides: one command each."""
    for number, steps in enumerate(examples):
        files: dict[str, str] = {}
        for program, shown in steps:
            first, *arguments = shlex.split(program)
            if first == "cat":
                files[arguments[0]] = shown
                continue
            if arguments[0] not in ("render", "prompt"):
                arguments.append("--json")

            run = functools.partial(_commanded, dict(files), *arguments)
            yield Case(f"example {number} {program[:70]}", run)
