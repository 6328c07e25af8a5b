"""The workspace: paths stay inside, and bytes become text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptforge.errors import Diagnostics, ItemError
from promptforge.files.access import Access, is_inside
from promptforge.sources import workspace
from promptforge.sources.workspace import decode_text, read_text


@pytest.fixture
def place(tmp_path: Path) -> Path:
    inside = tmp_path / "space"
    (inside / "sub").mkdir(parents=True)
    (inside / "a.txt").write_text("alpha\n")
    (inside / "sub" / "b.txt").write_text("beta\n")
    (tmp_path / "secret.txt").write_text("secret\n")
    (tmp_path / "spaces").mkdir()
    (tmp_path / "spaces" / "c.txt").write_text("gamma\n")
    return inside


def read(path: str, space: Path) -> tuple[str, list[str]]:
    diagnostics = Diagnostics()
    text = read_text(path, workspace=space, diagnostics=diagnostics)
    return text, [f"{d.code} {d.where}" for d in diagnostics]


def refused(path: str, space: Path) -> str:
    with pytest.raises(ItemError) as caught:
        read_text(path, workspace=space, diagnostics=Diagnostics())
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_relative_paths_stay_inside_and_absolute_ones_are_the_users_word(place: Path) -> None:
    assert read("a.txt", place) == ("alpha\n", [])
    assert read("sub/../a.txt", place) == ("alpha\n", [])
    assert read(str(place.parent / "secret.txt"), place) == ("secret\n", [])
    for path in ("../secret.txt", "sub/../../secret.txt", "../spaces/c.txt"):
        assert "outside the workspace" in refused(path, place)


def test_links(place: Path) -> None:
    (place / "in").symlink_to("sub/b.txt")
    (place / "out").symlink_to("../secret.txt")
    (place / "dir").symlink_to("..")
    (place / "nowhere").symlink_to("gone.txt")
    (place / "loop").symlink_to("loop")
    assert read("in", place)[0] == "beta\n"
    assert "outside the workspace" in refused("out", place)
    assert "outside the workspace" in refused("dir/secret.txt", place)
    assert "no such file" in refused("nowhere", place)
    assert "loop" in refused("loop", place)
    assert read(str(place / "out"), place)[0] == "secret\n"


def test_what_is_no_file(place: Path) -> None:
    os.mkfifo(place / "pipe")
    assert "not a file but a folder" in refused("sub", place)
    assert "pipe, socket or device" in refused("pipe", place)
    assert "pipe, socket or device" in refused("/dev/zero", place)
    assert "not a name of a file" in refused("a\0b", place)
    assert "too long" in refused("x" * 5000, place)
    assert refused("", place)


def test_a_message_names_the_nearest_file_and_hides_hostile_names(place: Path) -> None:
    assert (
        refused("a.tx", place)
        == 'a.tx: cannot read it: no such file or directory; did you mean "a.txt"?'
    )
    assert "did you mean" not in refused("quite-different", place)
    assert refused("a\x1b[2J\n", place).startswith('"a\\x1b[2J\\n": ')
    assert "no folder sbu either" in refused("sbu/b.txt", place)


@pytest.mark.parametrize(
    ("data", "text", "codes"),
    [
        (b"", "", []),
        ("é漢😀\n".encode(), "é漢😀\n", []),
        ("é\n".encode("utf-8-sig"), "é\n", []),
        ("é\n".encode("utf-16"), "é\n", []),
        (b"\xfe\xff\x00a", "a", []),
        ("é\n".encode("utf-32"), "é\n", []),
        (b"ok\na\xffb\n", "ok\na�b\n", ["PF301 f:2"]),
        (b"\xff\xfea\x00\xd8", "a�", ["PF301 f:1"]),
        (b"a\r\nb\rc\x1f", "a\r\nb\rc\x1f", []),
        (b"a" * 8192 + b"\x00", "a" * 8192 + "\x00", []),
    ],
)
def test_bytes_become_text(data: bytes, text: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(data)
    assert read("f", tmp_path) == (text, codes)


LEGACY = {
    "cp1251": "// Комментарий на русском языке\n$a = 1;\n",
    "koi8_r": "# Комментарий на русском языке\n",
    "cp866": "rem Комментарий на русском языке\n",
    "cp932": "# 日本語のコメントです。設定を読み込みます\n",
    "euc_jp": "# 日本語のコメントです。設定を読み込みます\n",
    "gb18030": "// 这是一个中文注释，用于测试编码\n",
    "big5": "// 這是一個中文註解，用於測試編碼\n",
    "cp949": "# 한국어 주석입니다 설정 파일을 읽습니다\n",
    "cp1250": "# Příliš žluťoučký kůň úpěl ďábelské ódy\n",
    "cp1252": "Le café\u2019s \u201cmenu\u201d \u2013 naïve: 5 €\n",
    "latin_1": "# Größe\nx = 1\n",
    "latin_1 fr": "// Le numéro de référence à côté de la fenêtre a été déjà créé\n",
    "latin_1 es": "// La contraseña no es válida: inténtelo otra vez, señor\n",
    "latin_1 pt": "// Não foi possível encontrar a configuração\n",
    "latin_1 da": "// Filen kunne ikke åbnes på grund af en fejl, prøv igen\n",
    "cp1250 pl": "// Proszę wprowadzić nazwę użytkownika i hasło, aby się zalogować\n",
    "cp1250 hu": "// Kérjük, adja meg a felhasználónevét és a jelszavát, őrült tűz\n",
}


@pytest.mark.parametrize("key", LEGACY)
def test_an_encoding_that_nobody_names_is_guessed_and_the_guess_is_told(key: str) -> None:
    text, diagnostics = LEGACY[key], Diagnostics()
    encoding = key.split()[0]
    assert decode_text(text.encode(encoding), where="f", diagnostics=diagnostics) == text
    (told,) = diagnostics
    assert (told.code, told.severity) == ("PF301", "info") and "a guess" in told.message


@pytest.mark.parametrize("head", ['@charset "iso-8859-2";', "<p><meta charset=iso-8859-2>"])
def test_a_page_and_its_styles_name_their_encoding(head: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(f"{head}\nprůměr\n".encode("iso8859_2"))
    assert read("f", tmp_path) == (f"{head}\nprůměr\n", [])


def test_few_wrong_bytes_in_utf_8_stay_wrong() -> None:
    diagnostics = Diagnostics()
    text = decode_text("é ü ö ä".encode() + b"\xe9\xff", where="f", diagnostics=diagnostics)
    assert text == "é ü ö ä\ufffd\ufffd" and [d.severity for d in diagnostics] == ["warning"]


def test_a_large_file_is_cut_at_a_line_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "MAX_FILE_BYTES_READ", 10)
    (tmp_path / "f").write_text("12345\n7890\n")
    assert read("f", tmp_path) == ("12345\n", ["PF602 f"])
    (tmp_path / "f").write_text("1234567890")
    assert read("f", tmp_path) == ("1234567890", [])


def test_a_file_that_changes_while_it_is_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_text("a")
    real, seen = os.fstat, iter(range(100))

    def touched(handle: int) -> os.stat_result:
        os.utime(path, ns=(0, next(seen)))
        return real(handle)

    monkeypatch.setattr(os, "fstat", touched)
    assert read("f", tmp_path) == ("a", ["PF603 f"])


def test_locate_gives_the_real_place(place: Path) -> None:
    assert Access.of(place).locate("sub") == place / "sub"
    assert Access.of(place).locate(".") == place
    assert is_inside(place, place)
    assert not is_inside(place.parent / "spaces", place)
