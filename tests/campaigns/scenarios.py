"""What promptforge does with files: each is prepared on a good disk, done on one that fails, and
done again.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec

import promptforge as pf
from promptforge import batch as runner
from promptforge.authoring import project
from promptforge.batch import ShardServer, rows
from promptforge.batch.rows import BatchSpec
from promptforge.cli.main import main
from promptforge.config.profiles import load_profile
from promptforge.errors import Diagnostics
from promptforge.preview import session
from promptforge.preview.session import EditableFile, Session
from promptforge.sources.gather import SourceRequest, gather

ITEMS = [
    {"content": "x = 1\n", "path": "a.py", "kind": "code"},
    {"content": "Some words.", "kind": "document"},
]


@dataclass
class Answer:
    """What came of it."""

    value: object = None
    said: str = ""
    """All messages: warnings, or what stands on standard error."""
    failed: bool = False
    """Whether a message says that it was not done."""


@dataclass(frozen=True)
class Scenario:
    """One thing that is done with files."""

    name: str
    prepare: Callable[[Path], Any]
    act: Callable[[Path, Any], Answer]
    api: type[Exception] | tuple[type[Exception], ...] = pf.PromptForgeError
    """What it may raise."""
    together: bool = False
    """Whether its files are there all or not at all after an error."""
    again: bool = True
    """Whether it can be done once more after it was killed."""
    anew: Callable[[Path, Any, bool], Any] = lambda folder, given, killed: given
    """What to do it with once more: `killed` says that a new process does."""


def put(folder: Path, files: dict[str, str]) -> None:
    """Write files, as somebody else would."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def command(*arguments: str | Path) -> Answer:
    """Run a command line in this process."""
    out, said = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            main(list(map(str, arguments)))
        except SystemExit as end:
            code = end.code
    out.flush()
    return Answer((code, out.buffer.getvalue()), said.getvalue(), code in (1, 2, 3, 4))


def _shown(result: pf.Result) -> Answer:
    return Answer(result.text, "\n".join(f"{d.where} {d.message}" for d in result.warnings))


# --- reading --------------------------------------------------------------------------------------

LOOK = {
    "mine/chunks/item.md.j2": 'v1 {% include "chunks/_own.md.j2" %}\n{{ item.content | fence }}\n',
    "mine/chunks/_own.md.j2": "{{ item.path }}\n",
    "mine/chunks/layout.yaml": 'separator: "~~~~\\n"\n',
}


def _templates(folder: Path, _: object) -> Answer:
    return _shown(
        pf.Renderer(templates=folder / "mine", layout="chunks", format="markdown").render(ITEMS)
    )


PROFILES = {
    "mine/claude.yaml": "extends: other\nmax_tokens: 77\n",  # a shipped one has that name
    "mine/other.yaml": "max_items: 3\n",
    "mine/default.yaml": "min_score: 0.25\n",
}


def _profiles(folder: Path, _: object) -> Answer:
    found = load_profile("claude", [folder / "mine"])
    return Answer((found.options, [file.sha256 for file in found.chain]))


def _follower(folder: Path) -> pf.Renderer:
    return pf.Renderer(
        templates=folder / "mine", layout="chunks", format="markdown", follow_edits=True
    )


def _followed(folder: Path) -> pf.Renderer:
    put(folder, LOOK)
    renderer = _follower(folder)
    renderer.render(ITEMS)
    put(
        folder,
        {
            name: text.replace("v1", "v2").replace("item.path", "item.kind")
            for name, text in LOOK.items()
        },
    )
    return renderer


SOURCES = {
    "src/a.py": "x = 1\n",
    "src/b.py": "y = 2\n",
    "guide.md": "---\nauthor: A\n---\nSome words.\n",
    "items.jsonl": json.dumps({"content": "one"}) + "\n" + json.dumps({"content": "two"}) + "\n",
    "attack/one.json": json.dumps(
        {"type": "bundle", "objects": [{"type": "attack-pattern", "id": "attack-pattern--1", "name": "N",
         "external_references": [{"source_name": "mitre-attack", "external_id": "T1003"}]}]}
    ),
}  # fmt: skip


def _sources(folder: Path, _: object) -> Answer:
    said = Diagnostics()
    wanted = SourceRequest(
        items=["items.jsonl"],
        files=["src/*.py"],
        documents=["guide.md"],
        techniques=["T1003"],
        attack=str(folder / "attack"),
        workspace=str(folder),
    )
    items = gather(wanted, said)
    return Answer(
        [(i.kind, i.path, i.content, dict(i.metadata)) for i in items], "\n".join(map(str, said))
    )


# --- writing --------------------------------------------------------------------------------------


def _rendered(folder: Path, _: object) -> Answer:
    return command(
        "render", folder / "items.json", "--workspace", folder, "-o", folder / "out[1].txt"
    )


def _settings_in(folder: Path) -> contextlib.AbstractContextManager[Any]:
    """Keep the user's list of projects in `folder`."""
    places = {"XDG_CONFIG_HOME": str(folder / "config"), "HOME": str(folder)}
    return mock.patch.dict(os.environ, places)


def _new(folder: Path, _: object) -> Answer:
    return command("new", "layout", "brief", "--from", "context", "--templates", folder / "mine")


def _init(folder: Path, _: object) -> Answer:
    with _settings_in(Path(os.devnull)):  # the list of projects would be a file more
        return command("init", folder / "desk")


def _desk(folder: Path) -> Any:
    put(folder, LOOK)
    return _opened(folder)


def _opened(folder: Path) -> Any:
    name = "chunks/item.md.j2"
    file = EditableFile("1", "templates", name, folder / "mine" / name, folder / "mine", False)
    return file, session.read_file(file).tag


def _saved(folder: Path, given: Any) -> Answer:
    file, seen = given
    return Answer(
        session.save_file(
            Session([], None, {}, [], [], True), file, "v2 {{ item.content | fence }}\n", seen
        )
    )


def _project(folder: Path) -> None:
    put(
        folder,
        {
            f"work/.promptforge/templates/{name.removeprefix('mine/')}": text
            for name, text in LOOK.items()
        },
    )
    put(
        folder,
        {
            "work/.promptforge/profiles/mine.yaml": "max_tokens: 5\n",
            "config/promptforge/trusted.json": "{}\n",
        },
    )


def _trusted(folder: Path, _: object) -> Answer:
    with _settings_in(folder):
        place = project.locate_project(folder / "work")
        assert place is not None
        found = project.read_project(place)
        project.trust_project(found)
        return Answer((found.files, project.trust_state(found)))


class InProcessWorker:
    """A worker of a batch in this process, on the same disk."""

    def __init__(self, spec: BatchSpec, fingerprint: str) -> None:
        self._server = ShardServer(msgspec.msgpack.encode((spec, fingerprint)))

    def start(self) -> None: ...

    def render(self, task: bytes) -> bytes:
        return self._server.render(task)

    def stop(self) -> None: ...

    def close(self) -> None: ...


def _rows(folder: Path) -> None:
    given = [{"id": f"r{n}", "items": [{"content": f"text {n}"}]} for n in range(3)]
    put(
        folder,
        {
            "in.jsonl": "".join(
                json.dumps(row) + "\n" for row in [*given, {"id": "bad", "items": 3}]
            )
        },
    )


def _resumed(folder: Path) -> None:
    """A run that did one shard of its four, and was ended."""
    _rows(folder)
    _batch(folder, None, limit=1)


_make = functools.cache(
    functools.partial(
        rows.make_renderer, rows.make_spec("context", None, None, None, ".", None, {})
    )
)


def _batch(folder: Path, _: object, **more: Any) -> Answer:
    """Do a batch with shipped templates alone, which are compiled once for all."""
    with (
        mock.patch.object(
            runner,
            "_worker_source",
            lambda _, spec, fingerprint, *__: nullcontext(
                lambda: InProcessWorker(spec, fingerprint)
            ),
        ),
        mock.patch.object(rows, "make_renderer", lambda _, profile=None: _make(profile)),
    ):
        report = runner.run(
            folder / "in.jsonl", folder / "out.jsonl", part_rows=1, workers=1, **more
        )
    results = (
        (folder / "out.jsonl").read_bytes(),
        (folder / "out.jsonl.batch/errors.jsonl").exists(),
    )
    return Answer((report.rows, report.errors, report.complete, results))


SCENARIOS = [
    Scenario("templates", lambda folder: put(folder, LOOK), _templates),
    Scenario("profiles", lambda folder: put(folder, PROFILES), _profiles),
    Scenario(
        "reload",
        _followed,
        lambda folder, renderer: _shown(renderer.render(ITEMS)),
        anew=lambda folder, given, killed: _follower(folder) if killed else given,
    ),
    Scenario("sources", lambda folder: put(folder, SOURCES), _sources),
    Scenario(
        "render -o",
        lambda folder: put(folder, {"items.json": json.dumps(ITEMS), "out[1].txt": "old"}),
        _rendered,
        (),
    ),
    Scenario("new", lambda folder: put(folder, LOOK), _new, (), together=True, again=False),
    Scenario("init", lambda folder: None, _init, (), together=True, again=False),
    Scenario("preview save", _desk, _saved, anew=lambda folder, *_: _opened(folder)),
    Scenario("trust", _project, _trusted, (pf.PromptForgeError, OSError)),
    Scenario("batch", _rows, _batch, (pf.PromptForgeError, OSError)),
    Scenario("batch resumed", _resumed, _batch, (pf.PromptForgeError, OSError)),
]
