"""Credentials are masked where that is certain; else the text is left out."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
import yaml
from found_credentials import find_credential
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.errors import Diagnostics
from promptforge.sources.credentials import known_credentials
from promptforge.sources.secret_scan import MASK, SecretScan

# In parts, so that no scanner takes this file for the place of one.
BEGIN, END = (f"-----{word} RSA " + "PRIVATE KEY-----" for word in ("BEGIN", "END"))
BODY = ["MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn", "AbCdEfGhIjKlMnOpQrStUvWxYz01234", "5Ux8zQ=="]
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
PUTTY = """PuTTY-User-Key-File-3: ssh-ed25519
Encryption: none
Comment: mine
Public-Lines: 2
AAAAC3NzaC1lZDI1NTE5AAAAIHh1
eHh4eHh4
Private-Lines: 1
AAAAIKq0R3cD9xW1fVbN7mLzXcYuTq
Private-MAC: 0a1b2c3d4e5f
"""


def clean(text: str, place: str = "a.txt", allowed: tuple[str, ...] = ()) -> str | None:
    return SecretScan(allowed).clean(text, place, place)


@pytest.mark.parametrize(
    "written",
    [
        "{0}\n{1}\n{2}\n{3}\n{4}", "# {0}\n# {1}\n# {2}\n# {3}\n# {4}", "+{0}\n+{1}\n+{2}\n+{3}\n+{4}",
        "-{0}\n-{1}\n+{2}\n {3}\n {4}", "{0}\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,0F\r\n\r\n{1}\r\n{2}\r\n{3}\r\n{4}",
        "x = '{0}\\n{1}\\n{2}\\n{3}\\n{4}'", "// {0}\n// {1}\n// {2}\n// {3}\n// {4}", " * {0}\n * {1}\n * {2}\n * {3}\n * {4}",
        '"{0}\\nComment: a: b\\n\\n{1}\\n{2}\\n{3}\\n{4}"', "{0} {1} {2} {3} {4}", "`{0}\n{1}{2}{3}\n{4}`",
    ],
)  # fmt: skip
def test_the_body_of_a_key_is_masked_and_its_lines_stay(written: str) -> None:
    text = f"before\n{written.format(BEGIN, *BODY, END)}\nafter\n"
    masked = clean(text)
    assert masked is not None and masked.startswith("before\n") and masked.endswith("\nafter\n")
    assert not [part for part in BODY if part in masked]
    assert masked.count("\n") == text.count("\n") and BEGIN in masked and END in masked


@pytest.mark.parametrize(
    "written", ["{0}\nMHcCAQEEIBk9\n7fGhJkLm==\n{1}", "'{0}\\nMHcCAQEEIBk9\\n{1}'"]
)
def test_a_key_of_short_lines_is_masked(written: str) -> None:
    masked = clean(f"before\n{written.format(BEGIN, END)}\nafter\n")
    assert masked is not None and "MHcC" not in masked and "7fGh" not in masked and MASK in masked


@pytest.mark.parametrize(
    "body", ["...", "your key here", "MIIEowIBAAKC...", "<key1234567890>", "key"]
)
def test_what_only_stands_for_a_key_stays(body: str) -> None:
    text = f"before\n{BEGIN}\n{body}\n{END}\n"
    assert clean(text) == text


def test_what_holds_a_key_can_still_be_read() -> None:
    key = "\n".join([BEGIN, *BODY, END, ""])
    for masked in (clean(json.dumps({"a": 1, "key": key})), clean(json.dumps([key, TOKEN, "x"]))):
        assert masked is not None and MASK in masked
        json.loads(masked)
    text = "a: 1\nkey: |\n  " + key.replace("\n", "\n  ") + f"\ntoken: {TOKEN}\n"
    masked = clean(text)
    assert masked is not None and yaml.safe_load(masked)["token"] == MASK
    lines = " +\n    ".join(f'"{line}\\n"' for line in [BEGIN, *BODY, END])
    program = f'KEY = ({lines})\nTOKEN = "{TOKEN}"\nPASSWORD: str = "not found by itself"\n'
    masked = clean(program)
    assert masked is not None
    assert [ast.unparse(node) for node in ast.parse(masked).body[1:]] == [
        f"TOKEN = '{MASK}'",
        f"PASSWORD: str = '{MASK}'",
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"note\n{BEGIN}\n{BODY[0]}\n{BODY[1]}\nafter\n", "a.txt"),  # nobody knows its end
        (f"note\n{BEGIN}\n{BODY[0]}\n{BEGIN}\n{BODY[1]}\n{END}\n", "a.txt"),
        ("\n".join([BEGIN, *BODY, END]), "id_rsa"),  # nothing else is in it
        (PUTTY, "mine.ppk"),
        ("\n".join(f"{TOKEN[:-4]}{n:04}" for n in range(1001)), "a.txt"),  # each is looked for
        ("PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\nAAAA…", "a.ppk"),
        (PUTTY.replace("-Lines: 1", "-Lines: 9") + "see above", "a.txt"),
        ("A_TOKEN=abcdef123456\nmore of it\n", ".env"),
        ("A_TOKEN='abcdef123456\nmore of it'\n", ".env"),
        ("diff --git a/.env b/.env\n@@ -1 +1 @@ OLD=1\n-A_TOKEN=abcdef123456\n", ".env"),
        ("machine a login b password s3cretpassw0rd\nmacdef x\n put y\n", ".netrc"),
    ],
)  # fmt: skip
def test_what_cannot_be_masked_for_certain_is_left_out(text: str, place: str) -> None:
    assert clean(text, place) is None


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("key.md", f"See\n{PUTTY}end", "Private-Lines: 1\nREDACTED\nPrivate-MAC: REDACTED"),
        ("a.ppk", "x\n---- BEGIN SSH2 ENCRYPTED " + f"PRIVATE KEY ----\nComment: a\n{BODY[0]}\n---- END SSH2 ENCRYPTED " + "PRIVATE KEY ----\n", "Comment: a\nREDACTED\n"),
        ("wg0.conf", "PrivateKey = " + "aB3dE5gH7jK9" * 3 + "xYzW123=\nPort = 1", "PrivateKey = REDACTED\nPort = 1"),
        ("jwk.json", '{"kty": "OKP", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "d": "' + "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A" + '"}', '7hcvPapiMlrwIaaPcHURo", "d": "REDACTED"}'),
        ("a.key", "untrusted comment: minisign encrypted secret key\n" + "RWRTY0Iy" + "aB3dE5gH" * 12 + "\nend", "key\nREDACTED\nend"),
        ("kubeconfig", "users:\n- user:\n    client-key-data: LS0tLS1CRUdJTi" + "BSU0EgUFJJVkFURSBLRVktLS0tLQ" + "aB3dE5gH" * 9, "client-key-data: REDACTED"),
        ("home/.kube/config", "user:\n    token: abc123def456\n    name: x", "    token: REDACTED\n    name: x"),
        ("prod.tfstate", '{"password": "hunter2pass", "name": "db"}', '{"password": "REDACTED", "name": "db"}'),
        ("src/application-prod.properties", "spring.datasource.password=hunter2pass\na=b", "spring.datasource.password=REDACTED\na=b"),
        (".htpasswd", "bob:$apr1$x1$hunter2pass\n", "bob:REDACTED\n"),
        ("auth/htpasswd", "bob:$2y$10$hunter2pass\n", "bob:REDACTED\n"),
        (".env.production", "DB_PASS=hunter2pass\n", "DB_PASS=REDACTED\n"),
        (".docker/config.json", '{"auth": "Ym9iOmh1bnRlcjI="}', '{"auth": "REDACTED"}'),
        (".npmrc", "//npm.acme.io/:_authToken=hunter2-pass", "//npm.acme.io/:_authToken=REDACTED"),
        ("config/database.yml", "prod:\n  password: hunter2pass\n", "prod:\n  password: REDACTED\n"),
        ("deploy/a.yaml", "apiVersion: v1\nkind: Secret\nstringData:\n  token: hunter2pass\n", "  token: REDACTED\n"),
        ("web.config", '<add c="Data Source=x;User Id=sa;Password=Tr0ub4dor9xQ" />', ';Password=REDACTED" />'),
        ("settings.xml", "<password>Tr0ub4dor9xQ</password>", "<password>REDACTED</password>"),
        ("wp-config.php", "define('DB_PASSWORD', 'Tr0ub4dor9xQ');", "define('DB_PASSWORD', 'REDACTED');"),
        (".pgpass", "localhost:5432:db:me:s3cretpassw0rd", "localhost:5432:db:me:REDACTED"),
        (".git-credentials", "https://me:s3cretpassw0rd@github.com", "https://REDACTED@github.com"),
        (".netrc", "machine a login me password s3cretpassw0rd", "machine a login me password REDACTED"),
        ("a/.env", "# was s3cret\nexport KEY='abcdef123456'\nDB=me:longvalue\nPORT=8080\nX_TOKEN=${OTHER_ONE}\n",
         "# REDACTED\nexport KEY='REDACTED'\nDB=REDACTED\nPORT=8080\nX_TOKEN=${OTHER_ONE}\n"),
        ("a.py", f"a = '{TOKEN}'  # {TOKEN[4:]}\nb('{TOKEN[:-1]}')", "a = 'REDACTED'"),
        ("a.py", f"t = '{TOKEN}'\npassword = 'correct horse'\nmax_tokens = 400000\n", "password = 'REDACTED'\nmax_tokens = 400000"),
        ("url.txt", "postgres://bob:" + "ZeA5jbsBXA3hcM@x@db.acme.io/x", "postgres://bob:REDACTED@db.acme.io/x"),
        ("a.yaml", f"t: {TOKEN}\nurl: mq://me:hush@localhost\nb: mq://me:${{PW}}@h\n", "mq://me:REDACTED@localhost\nb: mq://me:${PW}@h\n"),
        ("t.txt", "glpat-" + "AbCdEfGhIjKlMnOpQrStUvWxYz0.01.0a1b2c3d4 end", "REDACTED end"),
    ],
)  # fmt: skip
def test_a_value_is_masked_in_its_place(place: str, text: str, expected: str) -> None:
    masked = clean(text, place)
    assert masked is not None and expected in masked
    assert masked.count("\n") == text.count("\n")


def test_the_message_is_one_line_and_names_what_is_left_out() -> None:
    scan, said = SecretScan(), Diagnostics()
    for number in range(5):
        assert scan.clean(f"x = '{TOKEN}'", f"{number}.py", f"{number}.py") == f"x = '{MASK}'"
    names = (f"{TOKEN}.ppk", *(f"{number}.ppk" for number in range(4)))
    assert {scan.clean(PUTTY, name, name) for name in names} == {None}
    scan.report(said)
    scan.report(said)
    (note,) = said
    assert note.severity == "info" and note.code == "PF609"
    token = "a GitHub token"
    assert note.message == (
        f"masked 5 texts with credentials: 0.py ({token}), 1.py ({token}), 2.py ({token}) …;"
        f" skipped 5 texts with credentials: {', '.join(f'{name} (a PuTTY key)' for name in names)};"
        " --no-secret-scan includes all, secret_allowlist lets one value through"
    )


def test_beside_a_credential_the_words_of_a_program_stay() -> None:
    program = (
        "let password: String\nw.token = params\nself.token = token_of_v2\npassword = 'Password'\n"
    )
    masked = clean(f"{program}x = '{TOKEN}'\npassword = 'Tr0ub4dor'\n", "a.swift")
    assert masked == f"{program}x = '{MASK}'\npassword = '{MASK}'\n"
    news = f"a_credentials: REMOVED\n{TOKEN}\n"
    assert clean(news, "NEWS") == news.replace(TOKEN, MASK)
    assert clean(f"password: hunter\nx: {TOKEN}\n", "a.yaml") == f"password: {MASK}\nx: {MASK}\n"


def test_dummies_of_manuals_and_allowed_values_are_shown() -> None:
    for dummy in known_credentials().dummies:
        text = f"AccountKey={dummy}\naws_secret_access_key = {dummy}\nx = '{dummy}'\n"
        assert clean(text) == text
    text = f"x = '{TOKEN}'\n"
    assert clean(text, allowed=(TOKEN,)) == text
    assert clean(text, allowed=(TOKEN[:-1], "ghp_", "*", "x")) == f"x = '{MASK}'\n"
    key = "\n".join(["note", BEGIN, *BODY, END, ""])
    assert clean(key, allowed=("".join(BODY),)) == key
    assert clean(key, allowed=(BODY[0],)) != key  # all keys of a kind begin so


def test_the_allow_list_is_of_a_trusted_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from commandline import run

    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("promptforge.toml").write_text(f'secret_allowlist = ["{TOKEN}"]\n')
    Path("a.py").write_text(f"x = '{TOKEN}'\n")
    assert TOKEN not in run("render", "a.py", ".", "--include", "a.py").out.partition("a.py")[0]
    ran = run("render", ".", "--include", "*.py")
    assert TOKEN not in ran.out and "PF609" in ran.err  # a stranger's list
    assert run("trust").code == 0
    ran = run("render", ".", "--include", "*.py")
    assert TOKEN in ran.out and "PF609" not in ran.err
    Path("promptforge.toml").write_text('secret_allowlist = ["*"]\n')
    run("trust")
    assert "secret_allowlist" in run("render", ".").err


PARTS = [
    *(
        "x = ",
        "password: ",
        "\n",
        "\\n",
        '"',
        "'",
        "# ",
        "+",
        "://a:",
        "@db.io",
        " ",
        "é",
        "\ud800",
    ),
    *(BEGIN, END, *BODY, TOKEN, PUTTY, "Private-Lines: 2\n", "AKIA" + "I7QXSU2JTPNN4B6M", "{", "}"),
]


@given(
    st.lists(st.sampled_from(PARTS), max_size=12).map("".join), st.sampled_from(["a.py", ".env"])
)
def test_whatever_is_shown_holds_no_credential(text: str, place: str) -> None:
    masked = clean(text, place)
    if masked is None:
        return
    assert find_credential(masked.replace(MASK, "*"), place) is None
    assert masked.count("\n") == text.count("\n")
    if find_credential(text, place) is None:
        assert masked == text


def test_tokens_are_counted_after_masking(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"x = '{TOKEN}'\n")
    (item,) = pf.load(files=".", workspace=tmp_path)
    result = pf.render([item])
    assert item.content == f"x = '{MASK}'"
    assert result.tokens == pf.render([{"content": f"x = '{MASK}'", "path": "a.py"}]).tokens


def test_the_note_masks_of_a_path_only_what_is_a_credential_by_itself() -> None:
    scan, said = SecretScan(), Diagnostics()
    scan.clean("- POSTGRES_PASSWORD=payments\n", "a/compose.yml", "shop-payments/compose.yml")
    scan.clean(f"x = '{TOKEN}'\n", "a.py", f"{TOKEN}/a.py")
    scan.report(said)
    (note,) = said
    assert "shop-payments/compose.yml" in note.message
    assert TOKEN not in note.message and f"{MASK}/a.py" in note.message


def test_a_file_with_a_credential_in_its_path_is_left_out(tmp_path: Path) -> None:
    build = "fc-" + "0a1b2c3d" * 4 + ".py"
    for name in ("a.py", build, f"{TOKEN}.py", f"d-{TOKEN}/b.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"x = {len(name)}\n")
    found = pf.load(files=".", workspace=tmp_path)
    assert [item.path for item in found] == ["a.py", build]
    (said,) = (each.message for each in found.warnings if each.code == "PF609")
    assert f"d-{MASK}/b.py (a GitHub token in its path: ghp_…)" in said
    assert "skipped 2 texts" in said and TOKEN not in said


def test_a_notebook_is_searched_as_it_is_shown(tmp_path: Path) -> None:
    # Written as JSON, each quote has a backslash before it.
    secret = "vyAIZVAgkmOt8Fsw/YBfHe" + "+LMyIeMwlLgHE9bwWH"
    source = f'connect(aws_secret_access_key="{secret}")\n'
    cell = {"cell_type": "code", "source": [source], "outputs": []}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4}))
    (item,) = pf.load(files=".", workspace=tmp_path)
    assert f'aws_secret_access_key="{MASK}"' in (item.content or "")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (".netrc", "login xdefault " * 40 + "!"),
        (".env", f"A=x{' ' * 20_000}y"),
        ("a.py", f"password: a{'_1' * 60}-"),
        ("a.txt", "PuTTY-User-Key-File-2: " * 2_000 + "Private-Lines:"),
    ],
)
def test_a_line_with_many_readings_is_read_once(name: str, line: str) -> None:
    masked = clean(f"machine h password {TOKEN}\n{line}\n", name)
    assert masked is None or TOKEN not in masked
