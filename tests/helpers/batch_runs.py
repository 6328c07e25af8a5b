"""Folders, workers and results for tests of batches."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kill_campaign import requests

from promptforge import batch
from promptforge.batch import ShardServer
from promptforge.batch.rows import (
    BatchSpec,
)

ROWS = 120
HAS_RAY = importlib.util.find_spec("ray") is not None
ENGINES = ["local", pytest.param("ray", marks=pytest.mark.skipif(not HAS_RAY, reason="needs ray"))]


class InProcessWorker:
    """A worker without a process, for tests of other things: starts took most of their time."""

    def __init__(self, spec: BatchSpec, fingerprint: str) -> None:
        self._settings = msgspec.msgpack.encode((spec, fingerprint))

    def start(self) -> None:
        self._server = ShardServer(self._settings)

    def render(self, task: bytes) -> bytes:
        return self._server.render(task)

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def batch_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Work in a folder with an input; workers are no processes unless `processes` asks for them."""
    if "processes" not in request.fixturenames:
        monkeypatch.setattr(batch, "LocalWorker", InProcessWorker)
    monkeypatch.setattr(
        os, "fsync", lambda handle: None
    )  # nothing here survives a power cut, or has to
    Path("in.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in requests(ROWS)), encoding="utf-8"
    )


@pytest.fixture
def processes() -> None:
    """Have workers that are processes of their own, as they are for users."""


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the results of one worker."""
    output = tmp_path_factory.mktemp("expected") / "out.jsonl"
    batch.run(requests(ROWS), output, workers=1, part_rows=1000)
    return output.read_bytes()


def records(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def shard_files(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder, "parts").glob("*.jsonl"))
