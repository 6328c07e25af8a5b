"""Files of a run: what is damaged, exchanged or edited by hand is done again, and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from batch_runs import ROWS, shard_files
from hypothesis import strategies as st

import promptforge as pf
from promptforge import batch
from promptforge.batch.rows import RenderedRows, Shard
from promptforge.batch.store import (
    ShardStore,
)

pytestmark = pytest.mark.usefixtures("batch_folder")


@pytest.mark.slow
def test_a_damaged_part_is_done_again(expected: bytes) -> None:
    batch.run("in.jsonl", "out.jsonl", part_rows=30)
    Path("out.jsonl").unlink()
    folder = Path("out.jsonl.batch/parts")
    names = shard_files("out.jsonl.batch")
    folder.joinpath(names[0]).write_bytes(b"")
    data = folder.joinpath(names[1]).read_bytes()
    folder.joinpath(names[1]).write_bytes(data[: len(data) // 2])
    folder.joinpath(names[2]).write_bytes(data.replace(b"word", b"WORD", 1))
    folder.joinpath(".000003-x.jsonl.abc.unfinished").write_bytes(data[:9])
    assert batch.run("in.jsonl", "out.jsonl", part_rows=30).kept == 30
    assert Path("out.jsonl").read_bytes() == expected
    assert shard_files("out.jsonl.batch") == names
    assert not list(Path().rglob(".*.unfinished"))


@pytest.mark.slow
def test_parts_that_were_exchanged_are_done_again(expected: bytes) -> None:
    batch.run("in.jsonl", "out.jsonl", part_rows=30)
    Path("out.jsonl").unlink()
    folder = Path("out.jsonl.batch/parts")
    one, other = (folder / name for name in shard_files("out.jsonl.batch")[:2])
    first = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(first)
    assert batch.run("in.jsonl", "out.jsonl", part_rows=30).kept == ROWS - 60
    assert Path("out.jsonl").read_bytes() == expected


def replaced_by_a_link(path: Path) -> None:
    other = path.with_name("other.txt")
    other.write_text("of somebody else")
    path.unlink()
    path.symlink_to(other.name)


def replaced_by_a_dead_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def replaced_by_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def altered_with_its_time_kept(path: Path) -> None:
    state = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "last line end gone": lambda path: os.truncate(path, path.stat().st_size - 1),
    "longer": lambda path: path.write_bytes(path.read_bytes() * 2),
    "one bit altered": altered_with_its_time_kept,
    "zeros of its length": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "replaced by text": lambda path: path.write_text("something else"),
    "replaced by a link": replaced_by_a_link,
    "replaced by a dead link": replaced_by_a_dead_link,
    "replaced by a pipe": replaced_by_a_pipe,
    "removed": lambda path: path.unlink(),
}
OUTPUTS: dict[str, dict[str, Any]] = {
    "out.jsonl": {},
    "out.parquet": {},
    "out": {"to": "openai-batch", "model": "m"},
}


def written_files(output: str) -> dict[Path, bytes]:
    places = [Path(output), *Path().glob(f"{output}/*"), *Path().glob(f"{output}.batch/*")]
    return {
        path: path.read_bytes()
        for path in places
        if path.is_file() and path.name not in ("manifest.json", "other.txt")
    }


@pytest.mark.slow
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_damaged_result_file_is_written_again(output: str) -> None:
    if output.endswith("parquet"):
        pytest.importorskip("pyarrow")
    given = {"limit": 30, "part_rows": 10, **OUTPUTS[output]}
    batch.run("in.jsonl", output, **given)
    whole = written_files(output)
    assert len(whole) == (3 if output == "out" else 2)
    for path, (how, damage) in product(whole, DAMAGES.items()):
        damage(path)
        report = batch.run("in.jsonl", output, **given)
        assert written_files(output) == whole, (path, how)
        assert report.kept == 30 and not path.is_symlink(), how
    assert sorted(map(Path, (*report.files, report.errors_file or ""))) == sorted(whole)


@pytest.mark.slow
def test_a_damaged_manifest_costs_no_result() -> None:
    batch.run("in.jsonl", "out.jsonl", limit=30, part_rows=10)
    whole = written_files("out.jsonl")
    manifest = Path("out.jsonl.batch/manifest.json")
    for damaged in (b"", manifest.read_bytes()[:-9], b"[]", None):
        manifest.unlink()
        if damaged is not None:
            manifest.write_bytes(damaged)
        Path("out.jsonl").write_bytes(b"")
        assert batch.run("in.jsonl", "out.jsonl", limit=30, part_rows=10).kept == 30
        assert written_files("out.jsonl") == whole


def test_a_manifest_that_somebody_edited_changes_no_result() -> None:
    rows = [{"items": [{"content": "x"}]}]
    whole = batch.run(rows, "out.jsonl")
    text = Path("out.jsonl").read_bytes()
    manifest = Path("out.jsonl.batch/manifest.json")
    for edit in ({"made_of": {"profile": "x"}}, {"complete": False}, {"batch": -(10**400)}):
        manifest.write_text(json.dumps(json.loads(manifest.read_bytes()) | edit))
        report = batch.run(rows, "out.jsonl")
        assert (report.errors, report.kept, report.files) == (0, 1, whole.files)
        assert Path("out.jsonl").read_bytes() == text


DEEP = b'{"a":' * 100_000


def test_a_manifest_that_nests_without_end_costs_no_result() -> None:
    batch.run("in.jsonl", "out.jsonl", limit=3)
    Path("out.jsonl.batch/manifest.json").write_bytes(DEEP)
    assert batch.run("in.jsonl", "out.jsonl", limit=3).kept == 3


@pytest.mark.slow
@pytest.mark.parametrize("other", ["pipe", "device", "folder", "deep", "dead link"])
def test_what_is_no_shard_is_not_waited_for(expected: bytes, other: str) -> None:
    batch.run("in.jsonl", "out.jsonl", part_rows=60)
    folder = Path("out.jsonl.batch/parts")
    path = folder / shard_files("out.jsonl.batch")[0]
    path.unlink()
    Path("out.jsonl").unlink()
    if other == "pipe":
        os.mkfifo(path)
    elif other == "deep":
        path.write_bytes(DEEP + b"\n")
    elif other == "folder":  # where a shard of another run would be: it is nobody's to remove
        (folder / f"000000-{'0' * 32}.jsonl").mkdir()
    else:
        path.symlink_to("/dev/zero" if other == "device" else "nowhere")
    assert batch.run("in.jsonl", "out.jsonl", part_rows=60).kept == ROWS - 60
    assert Path("out.jsonl").read_bytes() == expected


@pytest.mark.parametrize("device", ["pipe", "link"])
def test_a_manifest_that_is_no_file_is_refused(device: str) -> None:
    batch.run("in.jsonl", "out.jsonl", limit=3)
    manifest = Path("out.jsonl.batch/manifest.json")
    manifest.unlink()
    if device == "pipe":
        os.mkfifo(manifest)
    else:
        manifest.symlink_to("/dev/zero")
    with pytest.raises(OSError, match="not a file but a folder, a pipe or a device"):
        batch.run("in.jsonl", "out.jsonl", limit=3)


@pytest.mark.slow
def test_files_that_only_look_like_shards_stay() -> None:
    # `parts` may be a link to a folder that holds more than shards.
    mine = Path("out.jsonl.batch/parts/000000-notes.jsonl")
    batch.run("in.jsonl", "out.jsonl", limit=3)
    mine.write_text("precious")
    batch.run("in.jsonl", "out.jsonl")
    assert mine.read_text() == "precious"


def test_error_records_of_nobody_are_removed() -> None:
    rows = [{"items": [{"content": "x"}]}]
    batch.run(rows, "out.jsonl")
    Path("out.jsonl.batch/errors.jsonl").write_text('{"error": "a lie"}')
    assert batch.run(rows, "out.jsonl").errors_file is None
    assert not Path("out.jsonl.batch/errors.jsonl").exists()


def test_a_copied_output_is_whole_in_its_new_place() -> None:
    batch.run("in.jsonl", Path("a/out.jsonl").absolute(), limit=30)
    shutil.copytree("a", "b")
    Path("b/out.jsonl").unlink()  # the file of the same run is still at its old place
    report = batch.run("in.jsonl", Path("b/out.jsonl").absolute(), limit=30)
    assert (report.kept, report.files) == (30, (str(Path("b/out.jsonl").absolute()),))
    assert Path("b/out.jsonl").read_bytes() == Path("a/out.jsonl").read_bytes()


def test_a_shard_that_is_changed_while_the_run_goes_on_ends_it() -> None:
    def meddle(progress: batch.Progress) -> None:
        if progress.rows == 20:
            file = Path("out.jsonl.batch/parts", shard_files("out.jsonl.batch")[0])
            file.write_bytes(file.read_bytes().replace(b"word", b"WORD", 1))

    with pytest.raises(pf.PromptForgeError, match="was changed by somebody"):
        batch.run("in.jsonl", "out.jsonl", limit=20, part_rows=10, workers=1, progress=meddle)
    assert not Path("out.jsonl").exists()
    assert batch.run("in.jsonl", "out.jsonl", limit=20, part_rows=10).kept == 10


names = st.text("ab_-é /", max_size=3)


def test_the_file_of_another_part_is_none_of_this_one(tmp_path: Path) -> None:
    one, other = Shard(0, []), Shard(1, [])
    with contextlib.closing(ShardStore(tmp_path / "parts")) as store:
        for shard in (one, other):
            store.add(shard, "k" * 32, RenderedRows(b"{}\n", 1, 0, 2, []))
        assert store.find(one, "k" * 32) is not None
        first, second = sorted(tmp_path.glob("parts/*.jsonl"))
        first.write_bytes(second.read_bytes())
        assert store.find(one, "k" * 32) is None
