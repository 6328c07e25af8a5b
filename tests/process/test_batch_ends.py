"""Ends of a batch: killed, hung, interrupted, refused by a cluster; the next run goes on."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from batch_runs import ENGINES, HAS_RAY, ROWS
from commandline import command, python
from example_counts import MULTIPLIER
from kill_campaign import campaign

import promptforge as pf
from promptforge import batch
from promptforge.batch import LocalWorker, ShardJob, WorkerDied, render_shards
from promptforge.batch.rows import (
    RenderedRows,
    Shard,
    fingerprint_of,
    make_spec,
)
from promptforge.batch.store import (
    ShardStore,
    hash_inputs,
)
from promptforge.errors import OptionError

REAL_PYTHON = sys.executable
pytestmark = pytest.mark.usefixtures("batch_folder")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_worker_costs_nothing(engine: str, expected: bytes, processes: None) -> None:
    struck: list[int] = []

    def strike(progress: batch.Progress) -> None:
        for worker in workers(engine)[: 1 if len(struck) < 3 else 0]:
            with contextlib.suppress(ProcessLookupError):  # it ended since it was listed
                os.kill(worker, signal.SIGKILL)
                struck.append(worker)

    report = batch.run(
        "in.jsonl", "out.jsonl", engine=engine, workers=2, part_rows=5, progress=strike
    )
    assert Path("out.jsonl").read_bytes() == expected
    assert struck and report.errors == 12


def workers(engine: str) -> list[int]:
    """Return the processes that work for this one."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    found = [
        (int(pid), int(parent), args)
        for pid, parent, args in (line.split(None, 2) for line in listed.splitlines())
    ]
    mine = [(pid, args) for pid, parent, args in found if parent == os.getpid()]
    if engine == "local":
        return [pid for pid, args in mine if "promptforge.batch import serve" in args]
    raylets = {pid for pid, args in mine if "/raylet " in args}
    return [
        pid
        for pid, parent, args in found
        if parent in raylets and args.startswith("ray::ShardServer")
    ]


def test_more_processes_than_a_machine_has_files_for_are_refused() -> None:
    with pytest.raises(OptionError, match="99999999 workers: one machine runs at most 256"):
        batch.run("in.jsonl", "out.jsonl", workers=99_999_999)


@pytest.mark.skipif(not HAS_RAY, reason="needs ray")
def test_actors_that_would_wait_for_ever_are_refused() -> None:
    import ray

    many = 4 * (os.cpu_count() or 1)
    with pytest.raises(
        OptionError, match=rf"{many} actors need .* CPUs and Ray has .* free: --workers \d"
    ):
        batch.run("in.jsonl", "out.jsonl", engine="ray", workers=many)
    assert not ray.is_initialized()


@pytest.mark.skipif(not HAS_RAY, reason="needs ray")
def test_a_node_that_does_not_start_in_time_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def init(*_: object, **__: object) -> None:
        raise Exception("The current node timed out during startup.")  # as Ray does

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(OptionError, match=r"timed out .*; if the machine is busy, try again"):
        batch.run("in.jsonl", "out.jsonl", engine="ray")


@pytest.mark.skipif(not HAS_RAY, reason="needs ray")
def test_an_actor_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make_spec("context", None, None, None, ".", None, {})
    task = msgspec.msgpack.encode((Shard(0, [(1, b'{"items": [{"content": "a"}]}')]), ""))
    with batch.ray_workers(spec, fingerprint_of(hash_inputs(spec)), None, 1) as make:
        worker = make()
        worker.start()
        assert b'"text"' in worker.render(task)
        [process] = workers("ray")
        monkeypatch.setattr(batch, "MAX_ANSWER_SECONDS", 1.0)
        os.kill(process, signal.SIGSTOP)
        with pytest.raises(WorkerDied, match="timed out"):
            worker.render(task)
        monkeypatch.undo()
        worker.start()
        assert b'"text"' in worker.render(task)
        worker.close()
        monkeypatch.setattr(batch, "CPUS_PER_ACTOR", 1000)  # no node has room for it
        monkeypatch.setattr(batch, "MAX_ACTOR_START_SECONDS", 1.0)
        with pytest.raises(pf.PromptForgeError, match=r"no worker within 1 s: .* fewer --workers"):
            make().start()


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, dict[str, str]]]:
    """Give the address of a cluster that asks for a token, and the environment of who has it."""
    folder = Path(
        tempfile.mkdtemp(prefix="ray")
    )  # a socket's name is short, and that of a test's folder long
    (folder / "token").write_text("0123456789abcdef" * 2)
    known = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(folder / "token")}
    flags = ["--node-ip-address=127.0.0.1", f"--temp-dir={folder}", "--num-cpus=3"]
    flags += ["--include-dashboard=false", "--disable-usage-stats"]
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", *flags]
    said = folder / "said"
    # Ray gives a node 30 s to start, which a busy machine may not keep; a port may be taken
    # between the look for a free one and the start.
    for _ in range(3):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with said.open("wb") as out:
            head = subprocess.Popen(
                [*command, f"--port={port}"], env={**os.environ, **known}, stdout=out, stderr=out
            )
        while head.poll() is None and b"Ray runtime started" not in said.read_bytes():
            time.sleep(0.1)
        if head.poll() is None:
            break
    yield f"127.0.0.1:{port}", known
    head.terminate()
    head.wait()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(not HAS_RAY, reason="needs ray")
def test_a_cluster_is_worked_on_by_who_has_its_token(
    cluster: tuple[str, dict[str, str]], expected: bytes, tmp_path: Path
) -> None:
    address, known = cluster
    flags = ["--engine", "ray", "--address", address, "-j", "2", "--part-rows", "17", "-q"]
    assert (
        command("batch", "in.jsonl", "-o", "out.jsonl", *flags, env=known).code == 1
    )  # some rows are bad
    assert Path("out.jsonl").read_bytes() == expected
    for wrong, way_out in [
        ({"RAY_AUTH_TOKEN": "f" * 32, "RAY_AUTH_MODE": "token"}, "RAY_AUTH_TOKEN_PATH to the file"),
        ({"RAY_AUTH_TOKEN_PATH": str(tmp_path / "none"), "RAY_AUTH_MODE": "token"}, "none"),
    ]:
        ran = command("batch", "in.jsonl", "-o", "other.jsonl", *flags, env=wrong)
        assert ran.code == 2 and f"promptforge: no Ray at {address}: " in ran.err
        assert (
            way_out in ran.err and "Traceback" not in ran.err and not Path("other.jsonl").exists()
        )


class MortalWorker:
    """A worker that dies of one row, and of nothing else."""

    def __init__(self, deaths: list[int]) -> None:
        self._deaths = deaths

    def start(self) -> None:
        self._alive = True

    def render(self, task: bytes) -> bytes:
        shard, _ = msgspec.msgpack.decode(task, type=tuple[Shard, str])
        count = len(shard.rows)
        if any(raw == b'{"id":"bad"}' for _, raw in shard.rows):
            self._deaths.append(count)
            raise WorkerDied("signal 11")
        body = b"".join(raw + b"\n" for _, raw in shard.rows)
        return msgspec.msgpack.encode(RenderedRows(body, count, 0, count, []))

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_row_that_kills_its_workers_becomes_a_record() -> None:
    deaths: list[int] = []
    jobs = [
        ShardJob(
            Shard(n, [(3 * n + k, b'{"id":"bad"}' if n == k == 1 else b"{}") for k in range(3)]), ""
        )
        for n in range(3)
    ]
    made: Any = contextlib.nullcontext(lambda: MortalWorker(deaths))
    outcomes = dict(
        (job.shard.index, rendered) for job, rendered in render_shards(iter(jobs), made, 2)
    )
    assert deaths == [3, 1, 1, 1]
    made = outcomes[1]
    assert made is not None and (made.rows, made.errors, made.tokens) == (3, 1, 2)
    before, record, after = made.body.splitlines()
    assert before == after == b"{}"
    assert json.loads(record) == {
        "error": "WorkerDied",
        "id": "bad",
        "line": 4,
        "message": "the worker died 3 times while it rendered this row: signal 11",
    }


def test_workers_that_cannot_begin_end_the_run() -> None:
    class Stillborn(MortalWorker):
        def start(self) -> None:
            raise WorkerDied("exit code 1")

    made: Any = contextlib.nullcontext(lambda: Stillborn([]))
    with pytest.raises(pf.PromptForgeError, match="die before they begin: exit code 1"):
        list(render_shards(iter([ShardJob(Shard(0, []), "")]), made, 2))


@pytest.mark.slow
def test_a_worker_that_hangs_ends_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row sleeps in C code, where no signal and no thread of Python's could end it."""
    Path("hanging.py").write_text(
        "import ctypes, promptforge.batch as runner\n"
        "runner.MAX_ROW_SECONDS = 0.3\n"
        "runner.RowRenderer.row = lambda *_: ctypes.PyDLL(None).sleep(60)\n"
        "runner.serve()\n"
    )
    monkeypatch.setattr(sys, "executable", str(Path("python").absolute()))
    Path("python").write_text(f"#!/bin/sh\nexec {REAL_PYTHON} hanging.py\n")
    Path("python").chmod(0o755)
    spec = make_spec("context", None, None, None, ".", None, {})
    worker = LocalWorker(spec, fingerprint_of(hash_inputs(spec)))
    worker.start()
    with pytest.raises(WorkerDied, match="no result within"):
        worker.render(msgspec.msgpack.encode((Shard(0, [(1, b"{}")]), "")))
    worker.close()


@pytest.mark.slow
def test_templates_that_change_meanwhile_end_the_run(processes: None) -> None:
    Path("t/chunks").mkdir(parents=True)

    def meddle(progress: batch.Progress) -> None:
        Path("t/chunks/item.md.j2").write_text("{# An item. item: the item #}\nother\n")
        for worker in workers("local"):
            os.kill(worker, signal.SIGKILL)

    with pytest.raises(pf.PromptForgeError, match="another version, profile, template"):
        batch.run("in.jsonl", "out.jsonl", templates="t", part_rows=5, workers=1, progress=meddle)


INTERRUPTED = """
import os, signal
from promptforge.batch.store import ShardStore
from promptforge.cli.main import main

kept = ShardStore.add
left = iter([1, 2, 3])

def add(*given):
    summary = kept(*given)
    if next(left, None) is None:
        os.kill(os.getpid(), signal.SIGINT)
    return summary

ShardStore.add = add
main(["batch", "in.jsonl", "-o", "out.jsonl", "--part-rows", "2", "-j", "1"])
"""
"""The command, to which Ctrl-C comes after its fourth part."""


@pytest.mark.slow
def test_ctrl_c_stops_and_the_next_run_goes_on(expected: bytes) -> None:
    ran = python("-c", INTERRUPTED)
    assert ran.code == 130 and "the same command goes on" in ran.err, ran
    assert "Traceback" not in ran.err
    assert not Path("out.jsonl").exists()
    report = batch.run("in.jsonl", "out.jsonl", part_rows=2)
    assert not list(Path().rglob(".*.unfinished"))
    assert 0 < report.kept < ROWS and report.changed == ()
    assert Path("out.jsonl").read_bytes() == expected


@pytest.mark.nightly
def test_kills_at_any_moment_lose_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    folder.mkdir()
    verdict = campaign(4 * MULTIPLIER, folder, seed=MULTIPLIER)
    assert verdict.kills >= 4 and verdict.finished and verdict.faults == []


def test_two_runs_do_not_write_to_one_folder() -> None:
    held = ShardStore(Path("out.jsonl.batch/parts"))
    Path(".out.jsonl.x.unfinished").touch()  # what the other run is writing
    with pytest.raises(OptionError, match="another run is writing"):
        batch.run("in.jsonl", "out.jsonl")
    assert Path(".out.jsonl.x.unfinished").exists()
    held.close()
    assert batch.run("in.jsonl", "out.jsonl", limit=5).rows == 5
    assert not Path(".out.jsonl.x.unfinished").exists()
