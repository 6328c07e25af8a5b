"""Job and profile files name only what lies in their folder, unless the command line allows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import run

import promptforge as pf
from promptforge import batch
from promptforge.errors import ProfileError
from promptforge.files.access import leads_outside
from promptforge.sandbox import Sandbox

SECRET = "the secret of somebody else"
ITEM = [{"content": "an item"}]


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder with a secret, and in it a repository from elsewhere, which is entered."""
    repository = tmp_path / "repository"
    (repository / "docs").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "secret.json").write_text(json.dumps([{"content": SECRET}]))
    (tmp_path / "other.yaml").write_text("layout: knowledge\n")
    (repository / "link.txt").symlink_to("../secret.txt")
    (repository / "docs/link.json").symlink_to(tmp_path / "secret.json")
    (repository / "outside").symlink_to("..")
    (repository / "docs/inner.txt").write_text("an inner text")
    (repository / "mine.yaml").write_text("layout: knowledge\n")
    monkeypatch.chdir(repository)


def jobs(root: str) -> dict[str, str]:
    """Return jobs that name what is outside of their folder, by the key that does it."""
    return {
        "items": f"items: {root}secret.json",
        "files": f"files: [docs/inner.txt, {root}secret.txt]",
        "knowledge.documents": f"knowledge:\n  documents:\n  - docs/inner.txt\n  - {root}secret.txt",
        "context_config.documents": f"context_config: {{documents: {root}secret.txt}}",
        "search.in": f"search: {{query: secret, in: {root}}}",
        "history": f"files: docs/inner.txt\nhistory: {root}secret.json",
        "attack": f"files: docs/inner.txt\nattack: {root}secret.json",
        "profile": f"files: docs/inner.txt\nprofile: {root}other.yaml",
        "tokenizer": f"files: docs/inner.txt\ntokenizer: file:{root}secret.txt*1.5",
    }


def test_a_job_beside_its_files_says_from_where_they_are_named() -> None:
    Path("docs/job.yaml").write_text("files: [inner.txt]\n")
    ran = run("render", "--job", "docs/job.yaml")
    assert ran.code == 4 and '; names count from the workspace, as --workspace "docs"; ' in ran.err
    assert run("render", "--job", "docs/job.yaml", "--workspace", "docs").code == 0
    Path("docs/job.yaml").write_text("files: [../mine.yaml]\n")
    assert "--workspace" not in run("render", "--job", "docs/job.yaml").err


@pytest.mark.parametrize("root", ["/", "../", "outside/", "docs/../../"])
@pytest.mark.parametrize("key", jobs(""))
def test_a_job_names_nothing_outside_of_its_folder(key: str, root: str, tmp_path: Path) -> None:
    root = f"{tmp_path}/" if root == "/" else root
    Path("job.yaml").write_text(jobs(root)[key])
    for command in ("render", "prompt", "explain"):
        ran = run(command, "--job", "job.yaml")
        assert (ran.code, SECRET in ran.out + ran.err) == (4, False)
        line = 1 + Path("job.yaml").read_text().count("\n")
        assert f"job.yaml:{line}: {key}: " in ran.err and "--allow-outside" in ran.err
        assert ("is an absolute path" in ran.err) == root.startswith("/")


@pytest.mark.parametrize(
    "names", ["link.txt", "'*.txt'", "'/etc/host*'", "'../*.txt'", "'docs/*.json'", "link.txt:1-2"]
)
def test_links_and_patterns_lead_nowhere(names: str) -> None:
    Path("job.yaml").write_text(f"items: [{{content: an item}}]\nfiles: {names}")
    ran = run("render", "--job", "job.yaml")
    assert SECRET not in ran.out + ran.err
    # A link among the matches of a pattern is passed over, and said; a name itself is refused.
    refused = ran.code == 4 and "job.yaml:2: files: " in ran.err
    assert refused or "outside the workspace" in ran.err


def test_a_job_in_a_subfolder_names_what_is_in_it() -> None:
    Path("docs/job.yaml").write_text("files: 'docs/*.txt'")
    assert "an inner text" in run("render", "--job", "docs/job.yaml").out
    Path("docs/own.txt").symlink_to("../mine.yaml")  # in the workspace, not in the job's folder
    ran = run("render", "--job", "docs/job.yaml")
    assert ran.code == 4 and 'files: "docs/*.txt" matches a link: "docs/own.txt"' in ran.err
    Path("docs/job.yaml").write_text("files: mine.yaml")
    assert run("render", "--job", "docs/job.yaml").code == 4
    assert "layout" in run("render", "--job", "docs/job.yaml", "--allow-outside").out
    Path("docs/job.yaml").write_text("files: inner.txt")
    assert run("render", "--job", "docs/job.yaml", "--workspace", "docs").code == 0


def test_the_command_line_allows_it(tmp_path: Path) -> None:
    text = f"files: {tmp_path}/secret.txt\nprofile: ../other.yaml"
    Path("job.yaml").write_text(text)
    ran = run("render", "--job", "job.yaml", "--allow-outside")
    assert (ran.code, SECRET in ran.out) == (0, True)
    Path("job.xml").write_text("<context><documents><d>/etc/hostname</d></documents></context>")
    ran = run("render", "--job", "job.xml")
    assert ran.code == 4 and 'job.xml: knowledge.documents: "/etc/hostname" is an abs' in ran.err


@pytest.mark.parametrize("key", ["layout", "profile", "format", "tokenizer"])
def test_whatever_is_wrong_in_a_job_is_bad_input(key: str) -> None:
    Path("job.yaml").write_text(f"files: docs/inner.txt\n{key}: nowhere\n")
    ran = run("render", "--job", "job.yaml")
    assert (ran.code, ran.err.startswith("promptforge: job.yaml:2: ")) == (4, True)
    assert run("render", "--job", "job.yaml", f"--{key}", "nowhere").code == 2


def test_names_on_the_command_line_stay_free(tmp_path: Path) -> None:
    assert SECRET in run("render", "--file", str(tmp_path / "secret.txt")).out
    Path("job.yaml").write_text("files: docs/inner.txt")
    ran = run("render", "--job", "job.yaml", "--file", str(tmp_path / "secret.txt"))
    assert SECRET in ran.out and "an inner text" in ran.out


def vocabulary(path: Path) -> None:
    """Write a vocabulary of single bytes in tiktoken's format."""
    import base64

    lines = [f"{base64.b64encode(bytes([n])).decode()} {n}" for n in range(256)]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.slow
def test_a_profile_names_a_tokenizer_in_its_folder(tmp_path: Path) -> None:
    vocabulary(tmp_path / "bytes.tiktoken")
    vocabulary(Path("docs/bytes.tiktoken"))
    Path("docs/near.yaml").write_text("tokenizer: file:bytes.tiktoken")
    assert pf.render(ITEM, profile="docs/near.yaml").tokens == len(pf.render(ITEM).text)
    Path("docs/link.tiktoken").symlink_to(tmp_path / "bytes.tiktoken")
    for name in ("link.tiktoken", "../../bytes.tiktoken", f"{tmp_path}/bytes.tiktoken*1.5"):
        Path("docs/far.yaml").write_text(f"# far\ntokenizer: file:{name}")
        with pytest.raises(ProfileError, match=r"far.yaml:2: tokenizer: .*--allow-outside"):
            pf.render(ITEM, profile="docs/far.yaml")
        assert pf.render(ITEM, profile="docs/far.yaml", allow_outside=True).tokens > 20
        with Sandbox(seconds=60) as sandbox:
            with pytest.raises(ProfileError):
                sandbox.render(ITEM, profile="docs/far.yaml")
            assert sandbox.render(ITEM, profile="docs/far.yaml", allow_outside=True)["tokens"] > 20


@pytest.mark.slow
def test_each_command_takes_the_flag(tmp_path: Path) -> None:
    vocabulary(tmp_path / "bytes.tiktoken")
    Path("far.yaml").write_text("tokenizer: file:../bytes.tiktoken")
    Path("items.json").write_text(json.dumps(ITEM))
    Path("in.jsonl").write_text(json.dumps({"items": ITEM}) + "\n")
    for arguments in (
        ("render", "items.json"), ("prompt", "items.json"), ("explain", "items.json"),
        ("batch", "in.jsonl", "-o", "out.jsonl"), ("count", "items.json"),
    ):  # fmt: skip
        refused = run(*arguments, "--profile", "far.yaml")
        assert (refused.code, "far.yaml:1: tokenizer: " in refused.err) == (2, True), arguments
        allowed = run(*arguments, "--profile", "far.yaml", "--allow-outside")
        assert (allowed.code, "Traceback" in allowed.err) == (0, False), allowed.err
    Path("case.yaml").write_text("cases: [{name: a, items: [{content: an item}], expect: an item}]")
    for line in ("check far.yaml --costs", "list profiles", "test case.yaml"):
        ran = run(*line.split(), "--profiles", ".", "--allow-outside")
        assert (ran.code in (0, 1), "Traceback" in ran.err) == (True, False), ran.err
    ran = run("diff", "profile=far.yaml", "format=xml", "--allow-outside", "items.json")
    assert ran.code == 0, ran.err
    with pytest.raises(ProfileError):
        batch.RenderBatch(profile="far.yaml")
    assert batch.RenderBatch(profile="far.yaml", allow_outside=True)({"request": ["{}"]})


@pytest.mark.slow
def test_a_row_of_a_batch_allows_nothing() -> None:
    batch.run([{"items": ITEM, "allow_outside": True}], "out.jsonl")
    assert "allow_outside" in Path("out.jsonl.batch/errors.jsonl").read_text()


def test_names_that_no_system_takes_are_left_to_the_reader() -> None:
    assert leads_outside("a\0b", ".") is None
    Path("job.yaml").write_text('files: ["a\\0b", docs/inner.txt]')
    assert "an inner text" in run("render", "--job", "job.yaml").out


@pytest.mark.parametrize("command", [["@list"], ["--files-from", "list"], ["--file", "@list"]])
def test_a_list_in_a_file_names_nothing_outside_of_the_workspace(
    command: list[str], tmp_path: Path
) -> None:
    inner, secret = Path("docs/inner.txt").resolve(), tmp_path / "secret.txt"
    Path("list").write_text(f"{inner}\n{secret}\n")
    ran = run("render", *command)
    assert ran.code == 4 and SECRET not in ran.out + ran.err
    assert "list:2: " in ran.err and "is outside the folder" in ran.err
    assert "--allow-outside" in ran.err
    assert SECRET in run("render", *command, "--allow-outside").out
    piped = run("render", "--files-from", "-", stdin=Path("list").read_text())
    assert SECRET in piped.out and "an inner text" in piped.out
    Path("list").write_text(f"{inner}\n../secret.txt\noutside/secret.txt\n")
    ran = run("render", *command)
    assert ran.code == 4 and SECRET not in ran.out + ran.err
    for name in ("link.txt:1-2", "../*.txt", "outside/*.txt"):
        Path("list").write_text(f"{name}\n")
        ran = run("render", *command)
        assert ran.code == 4 and SECRET not in ran.out + ran.err, name
    Path("docs/list").write_text("mine.yaml\n")
    assert run("render", "@docs/list").code == 4, "it is not in the folder of the list"
    Path("docs/list").write_text("docs/inner.txt:1-1\n")
    assert "an inner text" in run("render", "@docs/list").out
