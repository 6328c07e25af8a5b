"""`promptforge preview` as a process: its start, its end, and the files it saves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from build_vocabulary import format_tiktoken
from commandline import run
from preview_browser import start, until
from preview_process import Preview, preview, write_items


@pytest.mark.slow
def test_saves_over_the_wire_need_the_hash(tmp_path: Path) -> None:  # [W027]
    (tmp_path / "t").mkdir()
    with preview(tmp_path, "--templates", tmp_path / "t", "--edit") as running:
        file = running.enter().files()["chunks/item.md.j2"]
        path = f"/api/files/{file}"
        tag = running.request(path).json()["tag"]
        assert running.request(path, "PUT", body={"text": "x"}).status == 428
        assert running.request(path, "PUT", {"If-Match": '"other"'}, {"text": "x"}).status == 412
        assert running.request(path, "PUT", {"If-Match": f'"{tag}"'}, {"text": 1}).status == 409
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


@pytest.mark.slow
def test_it_ends_quietly_and_a_taken_port_is_said(tmp_path: Path) -> None:
    for _ in range(4):
        with preview(tmp_path) as running:
            pass  # Ctrl-C comes with the link, before anything is rendered
        assert running.process.returncode == 0, running.said
        assert running.said[2:] == ["promptforge: the preview has ended\n"]
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


@pytest.mark.slow
def test_all_tests_are_run_with_what_is_not_saved(tmp_path: Path) -> None:
    folder, tests = tmp_path / "templates", tmp_path / "tests"
    write(folder, "saved")
    write(tmp_path / "other", "other")
    (tmp_path / "profiles").mkdir()
    tests.mkdir()
    (tests / "a.yaml").write_text(
        "items: [{content: x, name: n}]\n"
        "cases:\n"
        "- {name: held, templates: [../templates], contains: [saved n]}\n"
        "- {name: near, templates: [../other], contains: [other n], options: {profile: own}}\n"
        "- {name: bad, items: nowhere.json, text: ''}\n",
        encoding="utf-8",
    )
    (tests / "b.yaml").write_text("cases: 3\n", encoding="utf-8")
    (tests / "no_cases.yaml").write_text("a: 1\n", encoding="utf-8")
    (tmp_path / "profiles" / "own.yaml").write_text("header: H\n", encoding="utf-8")
    flags = ("--templates", folder, "--profiles", tmp_path / "profiles", "--edit")
    with preview(tmp_path, *flags) as running:
        ids = running.enter().files() | {
            each["name"]: each["id"] for each in running.request("/api/start").json()["mine"]
        }

        def problems(**drafts: str) -> dict[str, list[str]]:
            found = running.draw("tests", drafts={ids[name]: text for name, text in drafts.items()})
            return {case["name"]: case["problems"] for case in found["cases"]}

        plain = problems()
        assert plain["held"] == plain["near"] == []
        assert "nowhere.json" in plain["bad"][0] and "cases" in plain["b.yaml"][0]
        assert list(plain) == ["held", "near", "bad", "b.yaml"]
        assert str(tmp_path) not in repr(plain)
        drafted = problems(**{LAYOUT: "DRAFT {{ item.name }}\n"})
        assert 'lacks "saved n"' in drafted["held"][0] and 'lacks "other n"' in drafted["near"][0]
        drafted = problems(**{"own.yaml": "max_tokens: 1\nmarker: ''\n"})
        assert drafted["held"] == [] and drafted["near"] != []
        assert "saved" in (folder / LAYOUT).read_text(encoding="utf-8")
    with preview(tmp_path) as running:
        assert running.enter().draw("tests") == {"cases": []}


# --- files that others change ---------------------------------------------------------------------

LAYOUT = "chunks/item.md.j2"


def write(folder: Path, word: str, name: str = LAYOUT) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("{# One. #}\n" + word + " {{ item.name }}\n", encoding="utf-8")


def shows(running: Preview, word: str) -> bool:
    """Wait until the text holds a word."""
    until(lambda: word in running.draw().get("text", ""))
    return True


def noticed(running: Preview, change: Callable[[], object]) -> None:
    """Change a file, and wait until the preview tells of it."""
    heard = start(running)["changes"]
    change()
    until(lambda: start(running)["changes"] > heard)


def remake(folder: Path, running: Preview) -> None:
    noticed(running, lambda: shutil.rmtree(folder))
    write(folder, "second")


def move_away_and_back(folder: Path, running: Preview) -> None:
    noticed(running, lambda: folder.rename(folder.with_name("away")))
    folder.with_name("away").rename(folder)
    write(folder, "second")


def put_another_in_its_place(folder: Path, _: Preview) -> None:
    write(folder.with_name("new"), "second")
    folder.rename(folder.with_name("old"))
    folder.with_name("new").rename(folder)


def remake_a_subfolder(folder: Path, running: Preview) -> None:
    noticed(running, lambda: shutil.rmtree(folder / "chunks"))
    write(folder, "second")


def save_by_renaming(folder: Path, _: Preview) -> None:
    write(folder, "second", f"{LAYOUT}.new")
    (folder / f"{LAYOUT}.new").replace(folder / LAYOUT)


def write_in_place(folder: Path, _: Preview) -> None:
    """Keep size and time: only the time of its inode tells."""
    state = (folder / LAYOUT).stat()
    write(folder, "scond")
    os.utime(folder / LAYOUT, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    folder = tmp_path_factory.mktemp("followed")
    write(folder / "templates", "first")
    with preview(folder, "--templates", folder / "templates") as running:
        yield running.enter()


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        remake,
        move_away_and_back,
        put_another_in_its_place,
        remake_a_subfolder,
        save_by_renaming,
        write_in_place,
    ],
)
def test_a_folder_is_followed_whatever_becomes_of_it(
    followed: Preview, change: Callable[[Path, Preview], None]
) -> None:
    folder = followed.folder / "templates"
    write(folder, "first")
    assert shows(followed, "first ")
    change(folder, followed)
    assert shows(followed, "scond " if change is write_in_place else "second ")
    for number in range(2):  # what comes later is seen too
        write(folder, f"later{number}")
        assert shows(followed, f"later{number} ")


@pytest.mark.slow
def test_links_are_followed_where_they_lead_now(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, name)
    link = tmp_path / "templates"
    link.symlink_to("one")
    with preview(tmp_path, "--templates", link, "--edit", "--follow") as running:
        assert shows(running.enter(), "one ")
        write(tmp_path / "one", "edited")
        assert shows(running, "edited ")
        (tmp_path / "next").symlink_to("two")
        (tmp_path / "next").replace(link)
        assert shows(running, "two ")
        write(tmp_path / "two", "behind")
        assert shows(running, "behind ")
        # A file inside that is a link, as a shared part may be.
        write(tmp_path / "two", "shared", "shared.md.j2")
        (tmp_path / "two" / LAYOUT).unlink()
        (tmp_path / "two" / LAYOUT).symlink_to("../shared.md.j2")
        assert shows(running, "shared ")
        write(tmp_path / "two", "again", "shared.md.j2")
        assert shows(running, "again ")
        saved = running.request(f"/api/files/{running.files()[LAYOUT]}")
        assert "again" in saved.json()["text"]


@pytest.mark.slow
def test_a_change_of_branches_is_followed(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    folder = tmp_path / "templates"
    git("init", "-q", "-b", "one")
    write(folder, "one")
    git("add", "templates")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "without")
    git("rm", "-qr", "templates")
    git("commit", "-qm", "none")
    git("checkout", "-q", "one")
    git("checkout", "-qb", "two")
    write(folder, "two")
    (folder / "own.yaml").write_text("header: OF THE BRANCH\n", encoding="utf-8")
    git("add", "templates")
    git("commit", "-qm", "two")
    git("checkout", "-q", "one")
    flags = ("--templates", folder, "--profiles", folder)
    with preview(tmp_path, *flags) as running:
        assert shows(running.enter(), "one ")
        for branch in ("two", "without", "one", "two"):
            git("checkout", "-q", branch)
            if branch != "without":
                assert shows(running, f"{branch} ")
        drawn = running.draw(view={"profile": "own"})
        assert "OF THE BRANCH" in drawn["text"]
        (folder / "new.yaml").write_text("header: OF NOW\n", encoding="utf-8")
        assert "OF NOW" in running.draw(view={"profile": "new"})["text"]  # before the next look
        until(lambda: "new" in running.request("/api/start").body.decode())
        (folder / "new.yaml").unlink()
        assert "no profile" in running.draw(view={"profile": "new"})["error"]["message"]


@pytest.mark.slow
def test_a_tokenizer_file_that_a_profile_names_is_followed(tmp_path: Path) -> None:
    words = [bytes([byte]) for byte in range(256)]
    vocabulary = tmp_path / "own.tiktoken"
    vocabulary.write_bytes(format_tiktoken(words))
    (tmp_path / "own.yaml").write_text("tokenizer: file:own.tiktoken\n", encoding="utf-8")
    with preview(tmp_path, "--profiles", tmp_path, "--profile", "own") as running:
        before = running.enter().draw()
        assert before["tokens"] == len(before["text"].encode())
        profile = running.files()["own.yaml"]
        drafted = running.draw(drafts={profile: "tokenizer: file:own.tiktoken\nheader: H\n"})
        assert drafted["text"].startswith("H") and drafted["tokenizer"] == "file:own.tiktoken"
        heard = running.request("/api/start").json()["changes"]
        newer = tmp_path / "newer"
        newer.write_bytes(format_tiktoken([*words, b"ee"]))
        newer.replace(vocabulary)  # at one stroke: one change
        until(lambda: running.draw()["tokens"] != before["tokens"])
        assert running.request("/api/start").json()["changes"] <= heard + 1


@pytest.mark.slow
def test_a_folder_that_is_gone_is_said_and_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    write(folder, "first")
    with preview(tmp_path, "--templates", folder) as running:
        assert shows(running.enter(), "first ")
        heard = running.request("/api/start").json()["changes"]
        shutil.rmtree(folder)
        until(lambda: running.request("/api/start").json()["changes"] > heard)
        said = running.draw()["error"]["message"]
        assert "there is no template folder" in said
        write(folder, "second")
        assert shows(running, "second ")


# --- what fails beside it -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_full_folder_for_drafts_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the place of the folder stands for a full disk: a test may run as root."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with preview(tmp_path, "--profiles", tmp_path) as running:
        ids = running.enter().files()
        profile, template = ids["default.yaml"], ids[LAYOUT]
        draft = {profile: "header: DRAFT\n"}
        assert "DRAFT" in running.draw(drafts=draft)["text"]
        shutil.rmtree(temporary)
        temporary.write_text("")
        for what, drafts in (("page", draft), ("findings", {template: "{{ item.nme }}"})):
            reply = running.request(
                f"/api/{what}",
                "POST",
                body={"view": {}, "drafts": drafts, "file": template},
            )
            error = reply.json()["error"]
            assert reply.status == 200 and "they stay on this page" in error["message"]
            assert str(tmp_path) not in error["message"]
        assert "text" in running.draw(drafts={template: "{{ item.name }}"})  # it needs no folder
        temporary.unlink()
        temporary.mkdir()
        assert "DRAFT" in running.draw(drafts=draft)["text"]
        (left,) = temporary.iterdir()
        assert left.stat().st_mode & 0o777 == 0o700
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_an_unsaved_profile_that_is_wrong_is_named_without_its_folder(tmp_path: Path) -> None:
    with preview(tmp_path, "--profiles", tmp_path) as running:
        profile = running.enter().files()["default.yaml"]
        error = running.draw(drafts={profile: "max_tokns: 3\n"})["error"]
        assert (error["name"], error["line"], error["file"]) == ("default.yaml", 1, profile)


@pytest.mark.slow
def test_a_killed_worker_costs_no_request(tmp_path: Path) -> None:
    with preview(tmp_path) as running:
        before = running.enter().draw()["text"]
        assert running.draw("needs", rows=[0])["rows"] == [0]
        children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
        if not children.exists():
            pytest.skip("this system does not list the children of a process")
        for pid in workers_of(running.process.pid):
            os.kill(pid, signal.SIGKILL)
        assert running.draw()["text"] == before
        assert running.draw("needs", rows=[0])["rows"] == [0]


def workers_of(parent: int) -> list[int]:
    """Return the children of all threads of a process."""
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text().split()]


def test_a_change_before_the_first_look_is_seen(tmp_path: Path) -> None:
    """What changes while the items are read is not taken for what was read."""
    pytest.importorskip("starlette")
    from promptforge.preview.app import PreviewApp
    from promptforge.preview.session import Session, file_stamp

    folder, items = tmp_path / "templates", tmp_path / "items.json"
    write(folder, "first")
    items.write_text("[]", encoding="utf-8")
    before = {items: file_stamp(items)}
    session = Session([], None, {}, [folder], [])
    assert not session.follow_files()
    write(folder, "second")
    items.write_text("[ ]", encoding="utf-8")
    assert session.follow_files() and not session.follow_files()
    reloads: list[int] = []
    app = PreviewApp(session, watched=before, reload=lambda: reloads.append(1))
    assert app._follow_items() and not app._follow_items() and reloads == [1]


@pytest.mark.slow
def test_problems_with_items_are_told_to_the_page(tmp_path: Path) -> None:
    bad = [{"name": "a", "content": "x", "score": "high"}, {"nonsense": 1}]
    with preview(tmp_path, items=bad) as running:
        running.enter()

        def notes() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = running.request("/api/start").json()["notes"]
            return found

        score, skipped = notes()
        assert (
            score["where"] == "items.json:1[0]" and "score: expected a number" in score["message"]
        )
        assert score["item"] == running.draw()["items"][0][0]
        assert skipped["code"] == "PF204" and skipped["where"] == "items.json:1[1]"
        write_items(tmp_path, '[{"content":')
        until(lambda: [note["code"] for note in notes()] == ["PF606"])
        (failed,) = notes()
        assert failed["where"] == "items.json:1" and str(tmp_path) not in json.dumps(failed)
        assert "the items of before stay" in failed["message"]
        assert running.draw()["text"]
        write_items(tmp_path, '[{"content": "mended"}]')
        until(lambda: not notes())
        assert "mended" in running.draw()["text"]
