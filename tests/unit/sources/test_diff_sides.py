"""Credentials in diffs are judged by the files that their lines come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from git_space import git, needs_git

import promptforge as pf
from promptforge.errors import Diagnostics
from promptforge.files import memory
from promptforge.sources import changes
from promptforge.sources import git as git_module
from promptforge.sources.diff_sides import LINES_AROUND, sides_of
from promptforge.sources.secret_scan import MASK, SecretScan

# In parts, so that no scanner takes this file for the place of one.
BEGIN, END = (f"-----{word} RSA " + "PRIVATE KEY-----" for word in ("BEGIN", "END"))
KEY = [
    f"{chr(65 + row)}bCdEfGh1jKlMnOpQrStUvWxYz0123456789+/aBcDeFgH{row:02}JkLmNoPqRsTuVwXy"
    for row in range(12)
]
FORMS = {
    "server.pem": "{}", "a.yaml": "    {}", "Test.java": '      + "{}\\n"', "a.py": "# {}",
    "a.ts": "// {}", "a.json": '"{}",',
}  # fmt: skip


def commit(space: Path, text: str, name: str) -> None:
    (space / name).write_text(text)
    git(space, "add", "-A")
    git(space, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x")


def key_in(form: str, lines: list[str]) -> str:
    held = [form.format(line) for line in [BEGIN, *lines, END]]
    return "\n".join(["class A:", "  a = 1", "key: |", *held, "  end = 2", "done", ""])


def clean(patch: str, place: str = "a.patch") -> str:
    return SecretScan().clean(patch, place, place) or ""


@needs_git
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("context", [0, 1, 3])
@pytest.mark.parametrize("changed", [5, 11])
def test_a_line_within_a_key_is_masked_in_its_diff(
    space: Path, name: str, context: int, changed: int
) -> None:
    commit(space, key_in(FORMS[name], KEY), name)
    (space / name).write_text(
        key_in(FORMS[name], [*KEY[:changed], KEY[0][::-1], *KEY[changed + 1 :]])
    )
    git(space, "config", "diff.context", str(context))
    patch = git(space, "diff")
    (item,) = pf.load(git_diff="")
    for text in (item.content or "", clean(patch)):
        assert text.count("\n") in (patch.count("\n"), patch.count("\n") - 1)
        assert f"+{FORMS[name].format(MASK)}" in text
        assert not [line for line in [*KEY, KEY[0][::-1]] if line[:9] in text]


SECRET = """apiVersion: v1
kind: Secret
metadata:
  name: db
  namespace: shop
type: Opaque
data:
  dsn: cG9zdGdyZXM6Ly9h
  other: aHVudGVyMmh1bnRlcjI=
  third: {}
  zone: ZXVyb3BlMTIz
"""
NEW, OLD = "c2VjcmV0IG51bWJlciAx", "c2VjcmV0IG51bWJlciAy"


@needs_git
@pytest.mark.parametrize("context", [0, 3])
def test_a_value_of_a_secret_is_masked_in_its_diff(space: Path, context: int) -> None:
    commit(space, SECRET.format(OLD), "db.yaml")
    (space / "db.yaml").write_text(SECRET.format(NEW))
    git(space, "config", "diff.context", str(context))
    patch = git(space, "diff")
    said = Diagnostics()
    (item,) = pf.load(git_diff="")
    scan = SecretScan()
    for text in (item.content or "", scan.clean(patch, "a.patch", "a.patch") or ""):
        assert f"-  third: {MASK}\n+  third: {MASK}" in text
        assert "ZXVy" not in text and "aHVu" not in text and "data:" in text
    scan.report(said)
    assert "masked 1 text with credentials: a.patch (a password or key)" in next(iter(said)).message


@needs_git
def test_the_line_that_git_repeats_behind_the_range_is_masked(space: Path) -> None:
    text = f"{BEGIN}\n" + "\n".join(KEY) + f"\n{END}\n" + "  1\n  2\n  3\n  4\n  5\n"
    commit(space, text, "a.txt")
    (space / "a.txt").write_text(text.replace("  5", "  6"))
    assert f"@@ {KEY[-1]}" in git(space, "diff")
    (item,) = pf.load(git_diff="")
    assert f"@@ {MASK}\n" in (item.content or "")


@needs_git
def test_what_cannot_be_masked_far_away_leaves_the_change_in(space: Path) -> None:
    text = f"x = 1\ny = 2\n{'z' * 9}\n\n\n\n\n\n{BEGIN}\n{KEY[0]}\n"
    commit(space, text, "a.py")
    (space / "a.py").write_text(text.replace("x = 1", "x = 3"))
    (item,) = pf.load(git_diff="")
    assert "+x = 3" in (item.content or "")


@needs_git
def test_files_too_large_for_git_are_judged_by_their_hunks(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.pem", "b.pem"):
        commit(space, key_in("{}", KEY), name)
    git(space, "mv", "b.pem", "c.pem")
    for name in ("a.pem", "c.pem"):
        (space / name).write_text(key_in("{}", [*KEY[:5], KEY[0][::-1], *KEY[6:]]))
    git(space, "add", "-A")
    asked: list[tuple[str, ...]] = []
    run_git = git_module.run_git

    def run(folder: Path, *arguments: str, **more: object) -> str:
        if f"-U{LINES_AROUND}" in arguments:
            asked.append(arguments[arguments.index("--") + 1 :])
            if len(asked[-1]) == 1:
                raise pf.ItemError("git prints more than 64 MiB")
        return run_git(folder, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(changes, "run_git", run)
    items = pf.load(git_diff="")
    assert asked == [(".",), (":(literal)a.pem",), (":(literal)c.pem", ":(literal)b.pem")]
    assert [item.path for item in items] == ["a.pem", "c.pem"]
    assert not [line for line in KEY for item in items if line in (item.content or "")]


def hunk(name: str, *lines: str, heading: str = "") -> str:
    count = len(lines)
    return (
        f"--- a/{name}\n+++ b/{name}\n@@ -9,{count} +9,{count} @@ {heading}\n"
        + "\n".join(lines)
        + "\n"
    )


@pytest.mark.parametrize(
    ("patch", "hidden"),
    [
        (hunk(".env", " DB=me:longvalue1", "-A_TOKEN=abcdef123456", "+A_TOKEN=abcdef654321"), ["longvalue", "abcdef"]),
        (hunk(".env", " 'more of it'", "-A_TOKEN=abcdef123456"), ["abcdef", "more of"]),  # no form of it
        (hunk("config/database.yml", "-  password: hunter2pass", "+  password: hunter3pass"), ["hunter"]),
        (hunk("a.yaml", "+  dsn: hunter2pass1", heading="stringData:"), ["hunter"]),
        (hunk("a.tf", "+  type = string", '+  default = "Tr0ub4dor9xQ"', heading='variable "db_password" {'), ["Tr0ub"]),
        (hunk("a.ppk", f"-{KEY[0]}", f"+{KEY[1]}", " Private-MAC: 0a1b2c3d4e5f"), [KEY[0], KEY[1]]),
        (hunk("x.md", f"-{KEY[0]}", f"+{KEY[1]}", f" {KEY[2]}", " 5Ux8zQ==", heading=KEY[3]), [*KEY[:4], "5Ux8"]),
        (hunk("x.md", f"-{KEY[0]}", f"+{KEY[1]}", f" {KEY[2]}", heading=KEY[3][:40]), [*KEY[:3], KEY[3][:40]]),
        (hunk("a.md", f" {KEY[0]}", f" {END}") + hunk("b.md", "+# Title"), [KEY[0]]),
        (hunk("id_rsa", f"+{BEGIN}", *(f"+{line}" for line in KEY), f"+{END}"), KEY),
        (f"Index: a.pem\n--- a.pem\t(revision 1)\n+++ a.pem\t(revision 2)\n@@ -1,2 +1,1 @@\n {KEY[0]}\r\n-{KEY[1]}\r\n", KEY[:2]),
        (f"diff --cc a.pem\n--- a/a.pem\n+++ b/a.pem\n@@@ -7,2 -7,2 +7,2 @@@\n- {KEY[0]}\n -{KEY[1]}\n++{KEY[2]}\n  {KEY[3]}\n", KEY[:4]),
        ('--- "a/\\303\\274/.env"\n+++ "b/\\303\\274/.env"\n@@ -1 +1 @@\n-A_TOKEN=abcdef123456\n', ["abcdef"]),
        (f"--- a/a.pem\n+++ b/a.pem\n@@ -1 +1 @@\n+{KEY[0]}\n+{KEY[1]}\n+{KEY[2]}\n-- \n2.39\n", KEY[:3]),  # a wrong count
        (f"--- a/x.md\n+++ b/x.md\n@@ -9,2 +9,2 @@\n-{KEY[0]}\n+{KEY[1]}\n {KEY[2]}\n-- \n2.39.5\n\n", KEY[:3]),
        (f"--- a/x.md\n+++ b/x.md\n@@ -9,2 +9,2 @@\n-{KEY[0]}\n+{KEY[1]}\n {KEY[2]}\n--\n2.39.5\n", KEY[:3]),
        ("--- a/.env\n+++ b/prod.conf\n@@ -1 +1 @@\n-DB=plainhorse9x\n+DB=plainhorse9x # new\n", ["plainhorse"]),
    ],
)  # fmt: skip
def test_a_patch_is_judged_by_its_paths_and_by_what_a_hunk_shows(
    patch: str, hidden: list[str]
) -> None:
    masked = clean(patch)
    assert MASK in masked and not [part for part in hidden if part in masked]
    assert masked.count("\n") == patch.count("\n")
    headers = [line for line in patch.split("\n") if line.startswith(("---", "+++", "diff"))]
    assert not [line for line in headers if line not in masked.split("\n")]


@pytest.mark.parametrize(
    "quote",
    [
        "> ",
        ">> ",
        "    ",
        "# ",
        " * ",
        "\t| ",
        "// ",
        "-- ",
        "; ",
        "% ",
        "+ ",
        "- ",
        "+",
        "! ",
        "rem ",
    ],
)
def test_a_patch_in_a_mail_or_a_document_is_read_without_what_stands_before_its_lines(
    quote: str,
) -> None:
    lines = [f" {KEY[0]}", f"-{KEY[1]}", f"+{KEY[2]}", f" {END}", " ", " name: b"]
    patch = ["--- a/x.md", "+++ b/x.md", f"@@ -9,5 +9,5 @@ {KEY[3]}", *lines]
    patch += ["--- a/a.pem", "+++ b/a.pem", "@@ -7 +7 @@", f"-{KEY[4]}", f"+{KEY[5]}"]
    patch += ["--- a/b.txt", "+++ b/b.txt", "@@ -7 +7 @@", "-one", "+two"]
    quoted = [f"{quote}{line}".rstrip() for line in patch]
    text = "\n".join(["Look at this:", "", *quoted, "", "What is it?", ""])
    masked = clean(text, "mail.txt")
    assert not [line for line in KEY if line in masked] and "name: b" in masked
    assert f"{quote}-{MASK}\n{quote}+{MASK}\n" in masked
    assert masked.endswith(f"{quote}-one\n{quote}+two\n\nWhat is it?\n")
    assert masked.count("\n") == text.count("\n")


def test_a_patch_in_a_string_of_json_is_read_as_one() -> None:
    lines = [f" {KEY[0]}", f"-{KEY[1]}", f"+{KEY[2]}", f" {KEY[3]}"]
    patch = "\n".join(["--- a/a.pem", "+++ b/a.pem", "@@ -9,3 +9,3 @@", *lines, ""])
    text = json.dumps({"role": "user", "content": patch, "name": "b"}, indent=1)
    masked = clean(text, "chat.json")
    assert not [line for line in KEY if line in masked] and json.loads(masked)["name"] == "b"
    assert json.loads(masked)["content"].startswith("--- a/a.pem\n+++ b/a.pem\n@@ -9,3 +9,3 @@\n")


@needs_git
def test_a_change_is_judged_by_the_lines_around_it(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "LINES_AROUND", 20)
    rows = [f"row {number}" for number in range(60)]
    key = [f"  {line}" for line in (BEGIN, *KEY, END)]
    lines = [
        "top",
        *rows,
        *key,
        *rows,
        "end",
        *key,
        KEY[3],
        *(f"  {row}" for row in rows),
        "",
        "x",
        "",
    ]
    commit(space, "\n".join(lines), "a.txt")
    changed = "\n".join(lines).replace(KEY[5], KEY[5][::-1]).replace("top", "Top")
    (space / "a.txt").write_text(changed.replace("\nx\n", "\ny\n"))
    (item,) = pf.load(git_diff="")
    shown = item.content or ""
    assert "-top\n+Top" in shown and "-x\n+y" in shown and f"+  {MASK}" in shown
    assert not [line for line in [*KEY, KEY[5][::-1]] if line in shown]


@pytest.mark.parametrize(
    "patch",
    [
        hunk("a.yaml", "+  level: debug12", "+  url: https://a.io/x1", heading="data:"),  # of a ConfigMap
        hunk("a.yaml", "+  image: YWJjZGVmZzE=", heading="kind: ConfigMap") + hunk("a.yaml", " data:"),
        hunk("sums.txt", f"-{'0a1b2c3d' * 8}", f"+{'1a1b2c3d' * 8}"),
        hunk("a.py", "-    return averyLongNameThatIsOneWord123", f' if line == "{END}":'),
        hunk("a.pem", f"-{KEY[0]}", f"+{KEY[1]}", " -----END CERTIFICATE-----"),
        hunk("a.py", f"-{KEY[0]}", f"+{KEY[1]}", " x = 1"),
        hunk("a.yaml", " data:", "   mode: Prod2Live", "-  host: Abcd1234", "+  host: Abcd1235"),
        hunk("a.yaml", "     name: database2cluster", "-    kind: SecretStore", "+    kind: SecretStorage"),
        hunk("a.py", '     "HttpClientConfigurationV2",', '-    "GrpcClientConfigurationV2",', '+    "GrpcClientConfigurationV3",'),
        hunk("list.txt", " src/Components/Button1Primary", "-src/Components/Button2Primary", "+src/Components/Button3Primary"),
        hunk("strings.key", "-AVeryLongTranslationKeyNameHere", "+AVeryLongTranslationKeyNameThere"),
        hunk("picture.py", f' "{KEY[0]}"', " )", "+x = 1"),
        "@@ -1,2 +1,2 @@\n", "--- a\n+++ b\n@@ -0,0 +1 @@\n", "@@ -\n+x", "--- \n" * 3 + "@@ -1 +1 @@\n\\ No newline\n",
    ],
)  # fmt: skip
def test_what_is_no_secret_in_a_patch_is_shown(patch: str) -> None:
    assert clean(patch) == patch


def test_a_hunk_has_the_lines_of_both_sides() -> None:
    patch = hunk("a.txt", " one", "-two", "+three", "\\ No newline at end of file", heading="top")
    old, new = sides_of(patch)
    assert (old.place, old.lines) == ("a/a.txt", ["top", "one", "two"])
    assert (new.place, new.lines) == ("b/a.txt", ["top", "one", "three"])
    assert [*sides_of("text without a diff")] == []


def test_a_file_that_has_changed_meanwhile_is_judged_by_its_hunks() -> None:
    patch = hunk("a.txt", " one", "-two", "+three")
    whole = patch.replace("one", "One")
    assert [side.in_hunks for side in sides_of(patch, whole=whole)] == [None, None]
    assert None not in [side.in_hunks for side in sides_of(patch, whole=patch)]


@needs_git
def test_more_credentials_than_are_masked_leave_a_far_change_in(space: Path) -> None:
    users = "".join(f"p{n}:\n  password: qW98zz{n}\n" for n in range(1_001))
    commit(space, f"{users}# one\n# two\n# three\n# note\n", "users.yaml")
    (space / "users.yaml").write_text(f"{users}# one\n# two\n# three\n# news\n")
    (item,) = pf.load(git_diff="")
    assert "+# news" in (item.content or "")


def test_a_text_known_as_clean_under_one_name_is_searched_under_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = f"@@ -5,2 +5,2 @@\n-{KEY[0]}\n+{KEY[1]}\n x = 1\n"
    memory.open_memory([str(tmp_path)])
    try:
        shown = [clean(text, name) == text for name in ("a.pem", "a.txt", "a.pem")]
    finally:
        memory.close_memory()
    assert shown == [False, True, False]
