"""An encoding is guessed by the letters of the languages that are written in it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from promptforge.errors import Diagnostics
from promptforge.sources.encodings import encoding_of_git, guess_encoding
from promptforge.sources.workspace import read_text

LANGUAGES = {
    "pl": "Proszę wprowadzić nazwę użytkownika i hasło, aby się zalogować",
    "cs": "Zadejte prosím uživatelské jméno a heslo, příliš žluťoučký kůň",
    "hu": "Kérjük, adja meg a felhasználónevét és a jelszavát, őrült tűz",
    "ro": "Vă rugăm să introduceţi numele şi parola, în câmpul următor",
    "hr": "Molimo unesite korisničko ime i šifru, možda već postoji, ćevap",
    "tr": "Lütfen kullanıcı adınızı ve şifrenizi girin, değiştirildi",
    "is": "Það þarf að skrá notandann aftur í kerfið",
    "fi": "Käyttäjän nimi on väärä, yritä myöhemmin",
    "it": "Il file è già aperto, perché non può essere più letto",
    "lt": "Prašome įvesti naudotojo vardą ir slaptažodį, ačiū, žąsis",
    "uk": "Введіть ім'я користувача та пароль, будь ласка, ще раз",
    "el": "Παρακαλώ εισάγετε το όνομα χρήστη και τον κωδικό",
    "he": "אנא הכנס את שם המשתמש והסיסמה שלך כדי להמשיך",
    "th": "กรุณาใส่ชื่อผู้ใช้และรหัสผ่านของคุณเพื่อดำเนินการต่อ",
    "ar": "الرجاء إدخال اسم المستخدم وكلمة المرور للمتابعة",
}
ENCODINGS = {
    **dict.fromkeys(("pl", "cs", "hu", "ro", "hr"), "cp1250 iso8859_2"),
    "tr": "cp1254 iso8859_9", "is": "cp1252", "fi": "cp1252", "it": "cp1252", "lt": "cp1257",
    "uk": "cp1251", "el": "cp1253", "he": "cp1255", "ar": "cp1256", "th": "cp874",
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_comment_of_any_language_tells_its_encoding(language: str) -> None:
    text = f"// {LANGUAGES[language]}\nint take(int n) {{\n    return n;\n}}\n"
    for encoding in ENCODINGS[language].split():
        guessed = guess_encoding(text.encode(encoding))
        assert guessed is not None and text.encode(encoding).decode(guessed) == text


@pytest.mark.parametrize(
    "text",
    [
        "// © 2007 J. Doe\n",
        "delay(5); // 5 µs, ±2 %\n",
        "/* 25°C, 3 × 4 m², £42 */\n",
        "• one\n• two ½\n",
        "# größe über déjà vu\nname = 'Müller'\n",
        "// la colonna è vuota, perché è così\n",
        "// één categorie van Brazilië\n",
    ],
)
def test_signs_and_names_of_other_languages_are_western(text: str) -> None:
    guessed = guess_encoding(text.encode("cp1252"))
    assert guessed is not None and text.encode("cp1252").decode(guessed) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("// Łódź, są i był\n", "cp1250"),
        ("/* wejście */ // użyj\n", "iso8859_2"),
        ("// függőleges, hűvös\n", "cp1250"),
        ("// čtvrť města, Šťáva\n", "iso8859_2"),
        ("// 하드 링크\n", "euc_kr"),
    ],
)
def test_letters_at_the_places_of_signs_stay_letters(text: str, encoding: str) -> None:
    guessed = guess_encoding(text.encode(encoding))
    assert guessed is not None and text.encode(encoding).decode(guessed) == text


@pytest.mark.parametrize(
    ("attributes", "data", "text"),
    [
        ("*.c working-tree-encoding=latin1", b"// \xa9 \xb5m", "// \xa9 \xb5m"),
        ("*.c encoding=cp1252", b"// \xd7 \x80", "// \xd7 \u20ac"),
        ("*.c working-tree-encoding=SHIFT-JIS", b"// \x81\x5c", "// \u2015"),
        ("*.c encoding=cp1252\nsub/*.c encoding=cp866", b"// \xae", "// \u043e"),
    ],
)
def test_the_encoding_that_git_knows_is_taken_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attributes: str, data: bytes, text: str
) -> None:
    file = _file(tmp_path, attributes, data)
    said = Diagnostics()
    assert read_text(file, workspace=tmp_path, diagnostics=said) == text
    assert list(said) == []
    monkeypatch.chdir(file.parent)
    assert encoding_of_git("") is None, "a text of no file"


@pytest.mark.parametrize("name", ["utf-8", "utf-7", "rot13", "cp0", "ascii", "unicode_escape"])
def test_an_encoding_of_git_that_does_not_fit_leaves_the_guess(tmp_path: Path, name: str) -> None:
    file = _file(tmp_path, f"*.c encoding={name}", "Größe ändern".encode("cp1252"))
    said = Diagnostics()
    assert read_text(file, workspace=tmp_path, diagnostics=said) == "Größe ändern"
    assert "a guess" in next(iter(said)).message


def _file(folder: Path, attributes: str, data: bytes) -> Path:
    """Return a file in a new repository with these attributes."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / ".gitattributes").write_text(attributes)
    (folder / "sub").mkdir()
    file = folder / "sub/a.c"
    file.write_bytes(data)
    return file


def test_fractions_behind_letters_are_letters_of_another_encoding() -> None:
    for text, name in (("Režim potomka\n", "iso8859_2"), ("Валмјера", "cp1251")):
        data = text.encode(name)
        assert data.decode(guess_encoding(data) or "ascii") == text
