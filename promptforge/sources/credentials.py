"""Find credentials in texts: tokens by their published patterns, keys, and files for passwords."""

from __future__ import annotations

import base64
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache
from itertools import filterfalse
from pathlib import Path

import msgspec

from ..files.access import read_utf8
from ..text.languages import language_of
from ..text.words import late_pattern
from ..yaml_reader import load_shipped_yaml

KEYS = ("a private key", "a PuTTY key")
"""Credentials of several lines."""


class _Credential(msgspec.Struct, frozen=True):
    name: str
    words: list[str]
    pattern: str | list[str]
    short: bool = False
    letters: int = 10
    mixed: bool = False
    password: bool = False

    def find(self, text: str) -> Iterator[re.Match[str]]:
        """Yield what matches; `ghp_xxxx…` in a manual has too few different characters."""
        for match in re.finditer("".join(self.pattern), text):
            value = match[match.lastindex or 0]
            if self.password:
                if is_placeholder(value):
                    continue
                value = _PERCENT_CODE.sub("%", value)
            if self.mixed and len(_WORDS_AND_NUMBERS.findall(value)) * 7 < len(value) * 2:
                continue
            if len(set(value)) >= self.letters:
                yield match


class _Table(msgspec.Struct, frozen=True):
    credentials: list[_Credential]
    dummies: frozenset[str]
    files: dict[str, list[str]]
    """Rules for credentials → parts of a pattern of paths; the first one that matches counts."""
    assigned: list[str]


@cache
def known_credentials() -> _Table:
    """Return credentials, and the dummies of manuals."""
    path = Path(__file__).with_name("credentials.yaml")
    return msgspec.convert(load_shipped_yaml(read_utf8(path), path.name)[0], _Table)


class WordFinder:
    """Finds words in texts, all of them in one pass: 300 searches by `in` took a fifth of a run.

    tiktoken leaves out what its pattern does not match. So with words for a pattern, the tokens of
    a text are the words in it, found by an automaton.
    """

    def __init__(self, words: Collection[str]) -> None:
        from tiktoken import Encoding

        self._words = sorted(words, key=len, reverse=True)  # the longest at a place
        ranks = {word.encode(): number for number, word in enumerate(self._words)}
        pattern = "|".join(re.sub(r"([][(){}?*+|^$\\.])", r"\\\1", word) for word in self._words)
        self._encoding = Encoding("", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        self._hidden: dict[int, set[str]] = {}

    def find(self, text: str) -> set[str]:
        """Return the words that are in a text."""
        numbers = {*self._encoding.encode_ordinary(text)}
        found = {*map(self._words.__getitem__, numbers)}
        # Where two words overlap, the later one is not seen: `wd=` behind `passw`.
        hidden = set[str]().union(*map(self._hidden_by, numbers)) - found
        return found.union(filter(text.__contains__, hidden))

    def _hidden_by(self, number: int) -> set[str]:
        """Return the words that may begin within this one."""
        if number not in self._hidden:
            word = self._words[number]
            ends = [word[start:] for start in range(len(word))]
            self._hidden[number] = {
                other
                for other in self._words
                if other.startswith((*ends,)) or any(end.startswith(other) for end in ends)
            }
        return self._hidden[number]


@cache
def _numbers_by_word(short: bool) -> tuple[dict[str, list[int]], WordFinder]:
    """Return the credentials that a word belongs to, by their numbers, and what finds the words."""
    held: dict[str, list[int]] = defaultdict(list)
    for number, known in enumerate(known_credentials().credentials):
        for word in known.words if known.short == short else ():
            held[word].append(number)
    return held, WordFinder(held)


KEY_FILE = late_pattern(
    r"(?i).*[/\\](?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|[^/\\]+\.(?:pem|key|p12|pfx|jks|kdbx|ppk))"
)
ASSIGNMENT = late_pattern(
    # A name is looked through once, then passed over.
    r"(?<![\w.-])([\"']?)([A-Za-z_][\w.-]*+)\1"
    # A type between; `=` at the end of the line belongs to Base64.
    r"([ \t]*(?::[ \t]*[\w.\[\]|?]{1,40}[ \t]*(?==[ \t]*[^\s=]))?(?:=>|:=|[=:])[ \t]*)"
    r"(\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'"
    # `a=a=a=…` with an end of another kind is not read from each name again.
    r"|(?=[^\s\"'(){}\[\]<>$,;#`])[^\s\"'(){}\[\]<>$,;#`=:]*+"
    r"(?:[=:][^\s\"'(){}\[\]<>$,;#`=:]*+){0,99}+(?=[=:]|[ \t\r]*(?:[,;#\n]|\Z)))"
)
"""A name and its value: a text in quotes, or all that is left of the line."""
NAME_OF_A_SECRET = late_pattern(
    # `secretName` and `existingSecret` say where one is.
    r"(?i)passw|passphrase|pass$|pwd|(?<!existing)secret(?![_-]?(?:name|ref|store)s?\b)|token$|credential|^_?auth$"
    r"|(?:api|access|account|auth|client|encryption|private|signing)[_.-]?key"
)
_REFERENCE = r"\$\{.*\}|\$\w+|\{\{.*\}\}|<.*>|%\(?\w+\)?s?%?"
REFERENCE = late_pattern(_REFERENCE)
"""A value that stands elsewhere, as `${TOKEN}`."""
_ELSEWHERE_OR_A_DATE = late_pattern(
    rf"{_REFERENCE}|\d{{4}}-\d\d-\d\d(?:[T ][\d:.]{{5,20}}(?:Z|[+-]\d\d:?\d\d)?)?"
)
"""So is no `"PasswordLastUsed": "2026-01-05T10:00:00Z"`."""
MIN_PASSWORD_LETTERS, MAX_CHARACTERS_ALONE = 6, 2_000
_LANGUAGES_OF_SETTINGS = frozenset(
    {None, "text", "json", "json5", "yaml", "toml", "ini", "properties", "xml", "hcl", "bash"}
    | {"batch", "dockerfile", "makefile", "powershell"}
)
IN_PROSE = (None, "text", "example")
"""The rules for programs, manuals, texts and examples, where a bare word is seldom a value."""
_COUNTED = late_pattern(r"(?i)123|abc")
"""A dummy such as `abcdef123456`."""
_EXAMPLE = late_pattern(r"(?i)(?:example|sample|template|dist)[^/]*\Z")
_WORD_OF_A_SECRET = late_pattern(
    r"(?i)pass|pwd|psk|secret|token|cred|auth|key|salt|_pat\b|<master| on >"
)
_LIKELY_VALUE = late_pattern(r"(?=\S*[A-Za-z])(?=\S*\d)[^\s<>{}()$,;]{8,200}")
NAME_IN_A_PROGRAM = late_pattern(
    r"_*[A-Za-z][a-z]*+(?:[A-Z]{1,9}+[a-z]++){0,9}+[A-Z]{0,9}+"
    r"(?:\d{1,3}+(?:[A-Z]{0,9}+[a-z]{2,}+){0,9}+){0,2}+|[A-Za-z\d]++(?:_(?:[a-z\d]++(?![A-Z])|[A-Z\d]++))++"
)
"""Words with a short number between them: `OAuth2PasswordBearer`."""
_NO_SECRET = late_pattern(
    r"[\^~<>=v]*\d+\.|[./~@%]|\w+(?:\.\w+)+\Z|.*(?:://|\.\w{1,5}:?\Z)"
    # No word of a name is as long as the digits and letters behind `sqp_`.
    r"|[A-Za-z]+\d?(?:[-_./:]+"
    r"(?:[a-z\d]{1,31}|[a-z]{32,}\d{0,4}|[A-Z]+|[a-z]+(?:[A-Z][a-z]+){1,9}))*\Z"
    r"|(?:Get|New|Read|Import|Convert(?:To|From))-[A-Z]\w+\Z"
)
"""Versions, paths and names."""
_WORDS_OF_MANUALS = (
    r"p[a4@][s5$]{2}(?:[-_]?(?:w[o0]?r?d|phrase|code))?|pwd?|s[e3]cr[e3]ts?|t[o0]k[e3]n"
    r"|[e3]xample|fake|dummy|t[e3]st(?:ing)?|chang[e3](?:[-_]?(?:me|it|this))?|redacted|x{3,}"
    r"|sample|placeholder"
)
_SPEAKS_OF_A_SECRET = late_pattern(
    rf"(?i){_WORDS_OF_MANUALS}|tiger|filter|\A(?:postgres|mysql|root|admin|guest|user|foobar)\Z"
)
_WITH_A_NUMBER = late_pattern(
    r"(?i)(?:(?:a|bad|db|fake|my|new|old|the|test|user|wrong|your)[\W_]{0,9}+){0,3}"
    rf"(?:(?:{_WORDS_OF_MANUALS})[-_.]){{0,2}}"
    rf"(?:{_WORDS_OF_MANUALS}|hunter)[\W_]{{0,9}}+\d{{0,4}}[\W_]{{0,9}}"
)
_OF_USER_AND_PASSWORD = late_pattern(r"(?:[A-Za-z0-9+/]{4}){2,99}(?:[A-Za-z0-9+/]{2,3}={0,2})?")
_SIGN_BEFORE_A_VALUE = late_pattern(r"[=:>|?]")
_WORDS_AND_NUMBERS = late_pattern(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_PERCENT_CODE = late_pattern(r"%[0-9A-Fa-f]{2}")
_PASSWORD = late_pattern(
    # The word is looked through once, then passed over: a word of `tokentoken…` has no end.
    r"(?im)^[-+ \t]*(?:export[ \t]+)?"
    r"(?=\w*(?:key|secret|token|pass|pwd|credential))\w++[ \t]*=[ \t]*"
    r"[\"']?[^\s\"'#$<{]{6,}"
    r"|\bpassword[ \t\n]+[^\s=]{6,}|://[^\s:/@]{1,99}:[^\s/@]{6,}@|^[^\s:#]+:[\w*]+:[^:\n]+:[^:\n]+:\S{6,}$"
    r"|^[^\s:#]+:[^:\n]+:[0-9a-f]{32}$|^[^\s:#]+:(?:(?:\$\w+\$|\{S?SHA\})\S{6,}|[./0-9A-Za-z]{13}$)"
)
_MANIFEST = late_pattern(r"^[ \t-]{0,9}apiVersion:[ \t]", re.MULTILINE)
"""A line of a manifest, which may stand below a comment or a template's `{{- if … }}`."""
_SECRET = late_pattern(r"^[ \t-]{0,9}kind:[ \t]{1,9}[\"']?Secret\b", re.MULTILINE)
_BODY_OF_A_KEY = late_pattern(r"(?:[A-Za-z0-9+/=\s#>\"',*;|`]|-(?!---)|\\+[rn])*+")
REST_OF_A_TOKEN = r"[\w+/=~-]*+(?:\.[\w+/=~-]++)*+"
"""A pattern may end before its token does."""
MIN_TOKEN = 20
"""Letters, digits and signs of the shortest token, an access key of AWS."""
_LETTERS = bytes(
    ord("a") if chr(code).isalnum() or chr(code) in "_-" else ord(" ") for code in range(128)
) + bytes(128)
"""A table for `bytes.translate`: "a" for what a word is made of, in ASCII."""
_LONG_RUN = b"a" * MIN_TOKEN


def find_credentials(
    text: str, place: str = "", allowed: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the kind and the value of each credential in a text, but for the `allowed` values.

    Of a private key the value is the beginning of its body; in a file for passwords it is empty.
    """
    yield from _find_known(text, allowed)
    values: Iterable[str] = ()
    rules = rules_of(place)
    if is_secret_alone(text, rules) or (rules == "passwords" and _holds_passwords(text)):
        values = ("",)
    elif rules in ("settings", "secrets") or _is_for_kubernetes(text):
        any_name = rules == "secrets" or _is_secret_of_kubernetes(text)
        values = (*assigned_secrets(text, any_name), *_likely_secrets(text))
    elif rules is not None:
        values = _likely_secrets(text, is_prose=rules in IN_PROSE)
        if rules == "example":
            values = filterfalse(_COUNTED.search, values)
    for value in values:
        if not is_harmless(value, allowed):
            yield "a password or key", value


def _find_known(text: str, allowed: Collection[str]) -> Iterator[tuple[str, str]]:
    # Few lines can hold a token, and few texts a word of one: no pattern is tried in the others.
    lines = "\n".join(_lines_with_long_words(text))
    numbers: set[int] = set()
    for looked_in, short in ((text, True), (lines, False)):
        if looked_in:
            held, words = _numbers_by_word(short)
            numbers.update(*map(held.__getitem__, words.find(looked_in)))
    seen: set[str] = set()
    for known in map(known_credentials().credentials.__getitem__, sorted(numbers)):
        looked_in = text if known.short else lines
        if known.mixed:  # a token has the name of its issuer alone
            for secret in seen:
                looked_in = looked_in.replace(secret, "*")
        for match in known.find(looked_in):
            secret = match[match.lastindex or 0]
            # Keys of one kind begin alike, so one is allowed by all of it.
            whole = _body_of_key(looked_in, match) if known.name in KEYS else secret
            if not is_harmless(whole, allowed):
                seen.add(secret)
                yield known.name, secret


def _body_of_key(text: str, match: re.Match[str]) -> str:
    # The head of another key ends it: a text may hold a thousand heads, and no end.
    body = next(_BODY_OF_A_KEY.finditer(text, match.start(1)))[0]
    return re.sub(r"\\+[rn]|[^A-Za-z0-9+/=]", "", body)


def is_harmless(secret: str, allowed: Collection[str] = ()) -> bool:
    """Tell whether a value is a dummy of a manual, or allowed as it is."""
    # AWS's own, in every tutorial.
    is_given = secret in known_credentials().dummies or secret in allowed
    return is_given or secret.endswith(("EXAMPLE", "EXAMPLEKEY"))


@cache
def _patterns_of_files() -> dict[str, re.Pattern[str]]:
    return {
        rules: re.compile(rf"(?i)(?:.*/)?(?:{''.join(parts)})")
        for rules, parts in known_credentials().files.items()
    }


@lru_cache(maxsize=16)  # each text asks twice
def rules_of(place: str) -> str | None:
    """Return which rules for credentials hold in a file of this name, beside those for any text.

    `passwords`: all values, for it holds little else. `alone`: a word that is the whole text.
    `settings`: values of names of secrets. `secrets`: also values that look like secrets beside
    any name. `likely`: values of names of secrets that look like some. `text`: the same behind a
    sign such as `=`. `example`: so in an `.env.sample`, which may hold values of a real `.env`.
    Callers remember a text by these rules: nothing else about a name may decide.
    """
    for rules, pattern in _patterns_of_files().items():
        if pattern.fullmatch(place.replace("\\", "/")):
            return "secrets" if rules == "settings" and "secret" in place.lower() else rules
    language = language_of(place)
    if not place or place.endswith(".ipynb") or language not in _LANGUAGES_OF_SETTINGS:
        return None
    if _EXAMPLE.search(place):
        return None if language is not None else "example"
    return "text" if language in IN_PROSE else "likely"


def may_hold_credentials(path: str) -> bool:
    """Tell by the name of a file whether it is made for credentials: `.env`, `id_ed25519`."""
    return rules_of(path) not in (*IN_PROSE, "likely") or KEY_FILE.fullmatch(path) is not None


def is_secret_alone(text: str, rules: str | None) -> bool:
    """Tell whether a text is a password and little else, in lines of few words."""
    if rules != "alone" or len(text) > MAX_CHARACTERS_ALONE:
        return False
    lines = [line.split() for line in text.splitlines() if not line.lstrip().startswith("#")]
    words = [word for line in lines for word in line]
    if len(words) == 1:
        return len(words[0]) >= MIN_PASSWORD_LETTERS
    return max(map(len, lines), default=9) <= 8 and any(map(_LIKELY_VALUE.search, words))


def _holds_passwords(text: str) -> bool:
    values = (match[4].strip("\"'") for match in ASSIGNMENT.finditer(text) if "=" in match[3])
    return _PASSWORD.search(text) is not None or any(map(is_likely, values))


def is_placeholder(value: str) -> bool:
    """Tell whether a value stands for a secret in manuals, or names one that is elsewhere.

    `mypassword` and `passw0rd123` do; `s3cretpw99` has two words, so somebody thought it out.
    """
    if REFERENCE.fullmatch(value) or _WITH_A_NUMBER.fullmatch(value):
        return True
    if _OF_USER_AND_PASSWORD.fullmatch(value):
        user, colon, password = base64.b64decode(value + "==").decode("latin-1").partition(":")
        if user.isprintable() and colon and is_placeholder(password):
            return True
    return not any(map(str.isdigit, value)) and _SPEAKS_OF_A_SECRET.search(value) is not None


def is_likely(value: str) -> bool:
    """Tell whether a value looks like a secret: it has letters and digits, and is no name."""
    return _LIKELY_VALUE.fullmatch(value) is not None and not _is_no_secret(value)


def _is_no_secret(value: str) -> bool:
    return _NO_SECRET.match(value) is not None or is_placeholder(value)


def _likely_secrets(text: str, *, is_prose: bool = False) -> Iterator[str]:
    """Yield values that look like secrets beside names of some, in any form of settings.

    Where it `is_prose`, such as a manual page, `the secret key-of-v2` has none.
    """
    if _WORD_OF_A_SECRET.search(text):
        for match in re.finditer("".join(known_credentials().assigned), text):
            value = match[match.lastindex or 0]
            head = match[0].removesuffix(value)
            if is_prose and (not _SIGN_BEFORE_A_VALUE.search(head) or "\\" in value):
                continue
            if not _is_no_secret(value):
                yield value


def _is_for_kubernetes(text: str) -> bool:
    """Tell whether a text is the settings of a user of Kubernetes, or a secret there."""
    return _is_secret_of_kubernetes(text) or (
        "current-context" in text and "kind" in text and "clusters" in text
    )


def _is_secret_of_kubernetes(text: str) -> bool:
    # Charts have some in comments, and others name a `SecretStore`.
    is_one = "Secret" in text and _SECRET.search(text) is not None
    return is_one and _MANIFEST.search(text) is not None


def assigned_secrets(text: str, any_name: bool = False) -> Iterator[str]:
    """Yield what is assigned to names such as `db.password`, without its quotes.

    With `any_name` also values of other names that look like secrets.
    """
    for match in ASSIGNMENT.finditer(text):
        value = match[4].strip("\"'")
        if is_secret(match[2], value) or (any_name and is_likely(value)):
            yield value


def is_secret(name: str, value: str) -> bool:
    """Tell whether a name says that its value is a secret, and it does not stand elsewhere."""
    is_long = len(value) >= MIN_PASSWORD_LETTERS and not _ELSEWHERE_OR_A_DATE.fullmatch(value)
    return is_long and NAME_OF_A_SECRET.search(name) is not None


def _lines_with_long_words(text: str) -> Iterator[str]:
    data = text.encode("utf-8", "surrogatepass")
    letters = data.translate(_LETTERS)  # then a long word is found at the speed of `in`
    stop = 0
    while (found := letters.find(_LONG_RUN, stop)) >= 0:
        start = data.rfind(b"\n", stop, found) + 1 or stop
        stop = data.find(b"\n", found)
        if stop < 0:
            stop = len(data)
        yield data[start:stop].decode("utf-8", "surrogatepass")
