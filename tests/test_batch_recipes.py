"""The guide's recipes for other engines, each run as it stands there, with the engine itself."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commandline import ROOT

import promptforge as pf

README = (ROOT / "promptforge" / "batch" / "README.md").read_text(encoding="utf-8")
ROWS: list[dict[str, Any]] = [
    {"id": f"q{n}", "items": [{"content": f"fact {n}"}], "user": f"question {n}?"} for n in range(20)
]
pytestmark = pytest.mark.filterwarnings("ignore")  # of the engines themselves


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [*map(json.dumps, ROWS), '{"id": "bad", "itms": []}']
    Path("requests.jsonl").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))


def cook(title: str) -> Any:
    """Return `results` of the recipe under a comment in the README."""
    (code,) = re.findall(rf"^```python\n(# {title}\n.*?)^```$", README, re.DOTALL | re.MULTILINE)
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "README.md", "exec"), space)
    return space["results"]


def judge(records: list[dict[str, Any]]) -> None:
    found = {record["id"]: record for record in records}
    assert len(records) == len(found) == len(ROWS) + 1
    assert 'did you mean "items"' in found.pop("bad")["error"]
    for row in ROWS:
        prompt = pf.Renderer().prompt(row["items"], user=row["user"], to="openai")
        record = found[row["id"]]
        assert (json.loads(record["request"]), record["tokens"], record["error"]) == (prompt.request, prompt.tokens, "")


@pytest.fixture
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    pytest.importorskip("pandas")
    ray.init(include_dashboard=False, _node_ip_address="127.0.0.1", num_cpus=3, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_ray_data(ray: Any) -> None:
    judge(cook("Ray Data").take_all())


def test_hugging_face_datasets() -> None:
    pytest.importorskip("datasets")
    judge(list(cook("Hugging Face datasets")))


@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")
def test_spark() -> None:
    pytest.importorskip("pyspark")
    pytest.importorskip("pandas")
    from pyspark.sql import SparkSession

    settings: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    try:
        judge([row.asDict() for row in cook("Spark").collect()])
    finally:
        session.stop()
