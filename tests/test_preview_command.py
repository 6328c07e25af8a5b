"""`promptforge preview` as a process: its start, its end, and the files it saves."""

from __future__ import annotations

import os
from pathlib import Path

from commandline import run
from preview_process import preview


def test_saves_over_the_wire_need_the_hash(tmp_path: Path) -> None:  # [W027]
    (tmp_path / "t").mkdir()
    with preview(tmp_path, "--templates", tmp_path / "t", "--edit") as running:
        file = running.enter().files()["chunks/item.md.j2"]
        path = f"/api/files/{file}"
        tag = running.request(path).json()["tag"]
        assert running.request(path, "PUT", body={"text": "x"}).status == 428
        assert running.request(path, "PUT", {"If-Match": '"other"'}, {"text": "x"}).status == 412
        assert running.request(path, "PUT", {"If-Match": f'"{tag}"'}, {"text": 1}).status == 400
        assert list((tmp_path / "t").iterdir()) == []
        saved = running.request(path, "PUT", {"If-Match": f'"{tag}"'}, {"text": "SAVED"})
        assert (saved.status, saved.json()["copied"]) == (200, True)
        assert running.request(path, "PUT", {"If-Match": f'"{tag}"'}, {"text": "x"}).status == 412
        assert "SAVED" in running.draw()["text"]
        assert running.draw(drafts={file: "{% for"})["error"]["file"] == file
        assert str(tmp_path) not in running.request("/api/start").body.decode()
        cases = running.request("/api/cases").json()
        assert (cases["file"], cases["names"]) == ("tests/preview.yaml", [])
        wish, match = (
            {"view": {}, "name": "one", "expect": "text"},
            {"If-Match": f'"{cases["tag"]}"'},
        )
        for headers, body, status in (
            ({}, wish, 428),
            ({"If-Match": '"other"'}, wish, 412),
            (match, {**wish, "expect": "x"}, 409),
            (match, {**wish, "name": ""}, 409),
            (match, {**wish, "path": "/etc/x"}, 409),
            (match, {**wish, "view": {"layout": "../x"}}, 409),
        ):
            refused = running.request("/api/cases", "PUT", headers, body)
            assert refused.status == status and refused.json().keys() == {"error"}
            assert str(tmp_path) not in refused.body.decode()
        assert not (tmp_path / "tests" / "preview.yaml").exists()
        assert running.request("/api/cases", "PUT", match, wish).json() == {
            "file": "tests/preview.yaml"
        }
        assert running.request("/api/cases", "PUT", match, {**wish, "name": "two"}).status == 412
        assert run("test", tmp_path / "tests").code == 0


def test_it_ends_quietly_and_a_taken_port_is_said(tmp_path: Path) -> None:
    with preview(tmp_path) as running:
        ran = run("preview", tmp_path / "items.json", "--port", running.port)  # type: ignore[arg-type]
        assert (ran.code, ran.out) == (2, "") and f"port {running.port} cannot be used" in ran.err
    assert running.process.returncode == 0
    assert running.said[-1] == "promptforge: the preview has ended\n" and len(running.said) == 3


def test_what_is_wrong_is_said_before_anything_is_served(tmp_path: Path) -> None:
    source = tmp_path / "items.json"
    source.write_text('[{"content": "x"}]', encoding="utf-8")
    for arguments, said in (
        (["--edit"], "--edit needs a folder of your own"),
        (["--profile", "clade"], 'did you mean "claude"'),
        (["--layout", "chunkz"], "chunks"),
        (["--port", "80"], "--port"),
        (["--host", "0.0.0.0"], "--host"),
    ):
        ran = run("preview", source, *arguments)
        assert ran.code == 2 and said in ran.err and "http://" not in ran.err
    assert run("preview", tmp_path / "none.json").code == 4
    assert os.listdir(tmp_path) == ["items.json"]
