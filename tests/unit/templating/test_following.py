"""Edits are followed: each rendering sees one whole version of all templates, never a mixed one."""

from __future__ import annotations

import asyncio
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from example_counts import MULTIPLIER
from template_edits import ITEMS, busy_editor, follower, save, texts, versions, whole

import promptforge as pf


def test_without_following_nothing_changes(tmp_path: Path) -> None:
    save(tmp_path, texts("v1"))
    renderer = pf.Renderer(templates=tmp_path, layout="t", format="plain")
    save(tmp_path, texts("v2"))
    assert versions(renderer.render(ITEMS).text) == {"v1"}


@pytest.mark.parametrize("in_place", [True, False])
def test_the_next_rendering_sees_an_edit(tmp_path: Path, in_place: bool) -> None:
    save(tmp_path, texts("v1"))
    renderer = follower(tmp_path)
    for number in range(1, 4):
        save(tmp_path, texts(f"v{number}"), in_place=in_place)
        assert versions(renderer.render(ITEMS).text) == {f"v{number}"}
        assert f"v{number}" in renderer.render_item(ITEMS[0])


def test_an_edit_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    save(tmp_path, texts("v1"))
    renderer = follower(tmp_path)
    for name in texts("v2"):
        state = (tmp_path / name).stat()
        save(tmp_path, {name: texts("v2")[name]})
        os.utime(tmp_path / name, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert versions(renderer.render(ITEMS).text) == {"v2"}


def test_a_new_file_and_one_that_is_gone_are_seen(tmp_path: Path) -> None:
    save(tmp_path, texts("v1"))
    renderer = follower(tmp_path)
    save(tmp_path, {"t/text.txt.j2": "v7"})
    assert versions(renderer.render([{"content": "x", "kind": "text"}]).text) == {"v1", "v7"}
    (tmp_path / "t/text.txt.j2").unlink()
    assert versions(renderer.render([{"content": "x", "kind": "text"}]).text) == {"v1"}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"t/item.txt.j2": "{% if item %}"}, r"t/item\.txt\.j2:1: {% if %} is not closed"),
        (
            {"t/item.txt.j2": "{{ item.name | uper }}"},
            'unknown filter "uper"; did you mean "upper"',
        ),
        ({"t/_part.txt.j2": "{% include 't/item.txt.j2' %}"}, "extends or includes itself"),
        ({"t/layout.yaml": "separater: x"}, 'unknown key "separater"; did you mean "separator"'),
        ({"t/item.txt.j2": "x" * 300_000}, "is larger than 256 kB"),
    ],
)
def test_a_bad_edit_keeps_the_last_good_set_and_says_so(
    tmp_path: Path, bad: dict[str, str], words: str
) -> None:
    save(tmp_path, texts("v1"))
    renderer = follower(tmp_path)
    save(tmp_path, {**texts("v2"), **bad})
    for _ in range(2):
        result = renderer.render(ITEMS)
        assert versions(result.text) == {"v1"}
        (said,) = (d for d in result.warnings if d.code == "PF402")
        assert re.search(words, said.message)
        assert said.message.endswith("the templates as they were before this edit were used")
    with pytest.raises(pf.StrictError, match="PF402"):
        renderer.render(ITEMS, strict=True)
    if "t/layout.yaml" in bad:
        (tmp_path / "t/layout.yaml").unlink()
    save(tmp_path, texts("v3"))
    result = renderer.render(ITEMS)
    assert (versions(result.text), result.warnings) == ({"v3"}, ())


def test_a_folder_that_goes_away_is_a_bad_edit(tmp_path: Path) -> None:
    save(tmp_path / "mine", texts("v1"))
    renderer = follower(tmp_path / "mine")
    (tmp_path / "mine").rename(tmp_path / "gone")
    result = renderer.render(ITEMS)
    assert versions(result.text) == {"v1"}
    assert [d.code for d in result.warnings] == ["PF402"]


@pytest.mark.slow
@pytest.mark.parametrize("in_place", [True, False])
def test_threads_never_see_a_mixed_or_torn_version(tmp_path: Path, in_place: bool) -> None:
    save(tmp_path, texts("v1"))
    renderer = follower(tmp_path)
    seen: set[str] = set()

    def render(_: int) -> None:
        result = renderer.render(ITEMS)
        assert {d.code for d in result.warnings} <= {"PF402"}
        seen.add(result.text)

    with busy_editor(tmp_path, in_place=in_place) as pauses, ThreadPoolExecutor(8) as pool:
        until = time.monotonic() + 600 * MULTIPLIER
        while time.monotonic() < until and len(seen) < 3 * MULTIPLIER:
            list(pool.map(render, range(40)))
    assert len(seen) > 1
    assert all(whole(text, pauses) for text in seen)


def test_tasks_never_see_a_mixed_or_torn_version(tmp_path: Path) -> None:
    save(tmp_path, texts("v1"))
    renderer = follower(tmp_path)

    async def many() -> list[pf.Result]:
        return await asyncio.gather(
            *(asyncio.to_thread(renderer.render, ITEMS) for _ in range(100 * MULTIPLIER))
        )

    with busy_editor(tmp_path, in_place=True) as pauses:
        results = asyncio.run(many())
    assert all(whole(result.text, pauses) for result in results)
