"""An encoding is guessed by the letters of the languages that are written in it."""

from __future__ import annotations

import pytest

from promptforge.sources.encodings import guess_encoding

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
    "ar": "الرجاء إدخال اسم المستخدم وكلمة المرور للمتابعة",
}
ENCODINGS = {
    **dict.fromkeys(("pl", "cs", "hu", "ro", "hr"), "cp1250 iso8859_2"),
    "tr": "cp1254 iso8859_9", "is": "cp1252", "fi": "cp1252", "it": "cp1252", "lt": "cp1257",
    "uk": "cp1251", "el": "cp1253", "he": "cp1255", "ar": "cp1256",
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_comment_of_any_language_tells_its_encoding(language: str) -> None:
    text = f"// {LANGUAGES[language]}\nint take(int n) {{\n    return n;\n}}\n"
    for encoding in ENCODINGS[language].split():
        guessed = guess_encoding(text.encode(encoding))
        assert guessed is not None and text.encode(encoding).decode(guessed) == text
