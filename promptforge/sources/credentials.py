"""Find credentials in texts: tokens by their published patterns, keys, and files for passwords."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ..text.words import late_pattern

# Each with the words that are looked for first: a pattern over all of a text costs fifty times it.
_CREDENTIALS = {
    "a private key": (
        ("PRIVATE KEY",),
        # The line alone is in many programs, and in manuals `...` stands below it. A key has base64
        # below it: behind `#` in a comment, behind `\n` as two letters in JSON. Headers may come
        # first. One that a manual shortens by `...` is none.
        r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[\s#>-]|\\[rn])+"
        r"(?>[A-Za-z-]+: [^\n]*\n\s*){0,9}([A-Za-z0-9+/=]{24,}+)"
        r"(?!(?:[\s#>-]|\\[rn])*(?:\.\.\.|…))",
    ),
    "an AWS access key": (("AKIA", "ASIA"), r"\bA[KS]IA[A-Z2-7]{16}\b"),
    "a GitHub token": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\bgh[pousr]_[A-Za-z0-9]{36}\b|\bgithub_pat_[A-Za-z0-9_]{60,}\b",
    ),
    "a GitLab token": (("glpat-",), r"\bglpat-[A-Za-z0-9_-]{20,}"),
    "a Slack token": (
        ("xox", "hooks.slack.com"),
        r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}|\bhooks\.slack\.com/services/T\w+/B\w+/\w{20,}",
    ),
    "a Google API key": (("AIza",), r"\bAIza[A-Za-z0-9_-]{35}"),
    "a Stripe key": (("k_live_",), r"\b[rs]k_live_[A-Za-z0-9]{20,}"),
    "an Anthropic key": (("sk-ant-",), r"\bsk-ant-[A-Za-z0-9_-]{32,}"),
    "an OpenAI key": (("T3BlbkFJ",), r"\bsk-[A-Za-z0-9_-]{16,}T3BlbkFJ[A-Za-z0-9_-]{16,}"),
    "a Hugging Face token": (("hf_",), r"\bhf_[A-Za-z]{34}\b"),
    "an npm token": (("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    "a SendGrid key": (("SG.",), r"\bSG\.[\w-]{22}\.[\w-]{43}\b"),
    "an Azure storage key": (("AccountKey=",), r"\bAccountKey=[A-Za-z0-9+/]{86}=="),
    "a Telegram token": ((":AA",), r"\b\d{8,10}:AA[\w-]{33}\b"),
    "a PyPI token": (("pypi-AgEI",), r"\bpypi-AgEI[A-Za-z0-9_-]{50,}"),
}
"""Credential → words of it, and its pattern, as its issuer has published it."""
_NAME_OF_SECRETS = late_pattern(
    r"(?i)[\w-]*\.env(?:\.(?!example|sample|template|dist|default)[\w.-]+)?|[._]netrc|\.pgpass"
    r"|\.git-credentials"
)
"""Files for passwords, which have no pattern of their own."""
_PASSWORD = late_pattern(
    # The word is looked through once, then passed over: a word of `tokentoken…` has no end.
    r"(?im)^[-+ \t]*(?:export[ \t]+)?"
    r"(?=\w*(?:key|secret|token|passw|pwd|credential))\w++[ \t]*=[ \t]*"
    r"[\"']?[^\s\"'#$<{]{6,}"
    r"|\bpassword[ \t\n]+[^\s=]{6,}|://[^\s:/@]{1,99}:[^\s/@]{6,}@|^[^\s:#]+:\w+:[^:\n]+:[^:\n]+:\S{6,}$"
)
MIN_LETTERS_OF_A_SECRET = 10
"""Different characters of a credential; `ghp_xxxx…` in a manual has fewer."""


def find_credential(text: str, place: str = "") -> str | None:
    """Return the kind of credential that a text holds, in words; `None` where none is seen.

    In a file for passwords, such as `.env`, any password counts. With the extra `secrets` the
    package detect-secrets looks for more kinds.
    Example: `find_credential("AKIA" + "I7QXSU2JTPNN4B6M")` is "an AWS access key".
    """
    # Thirty words are not looked for in all of a text, where few lines can hold a token.
    lines = "\n".join(_lines_with_long_words(text))
    for name, (words, pattern) in _CREDENTIALS.items():
        looked_in = text if name in _OF_BASE64 else lines
        if not any(word in looked_in for word in words):
            continue
        for match in re.finditer(pattern, looked_in):
            secret = match[match.lastindex or 0]
            is_example = secret.endswith("EXAMPLE")  # AWS's own, in every tutorial
            if len(set(secret)) >= MIN_LETTERS_OF_A_SECRET and not is_example:
                return name
    for_passwords = _NAME_OF_SECRETS.fullmatch(place.replace("\\", "/").rpartition("/")[2])
    if for_passwords and _PASSWORD.search(text):
        return "a password or key"
    return _detect_more(text, lines)


def _lines_with_long_words(text: str) -> Iterator[str]:
    """Yield the lines that have a word as long as the shortest token."""
    data = text.encode("utf-8", "surrogatepass")
    letters = data.translate(_LETTERS)  # then a long word is found at the speed of `in`
    stop = 0
    while (found := letters.find(_LONG_RUN, stop)) >= 0:
        start = data.rfind(b"\n", stop, found) + 1 or stop
        stop = data.find(b"\n", found)
        if stop < 0:
            stop = len(data)
        line = data[start:stop].decode("utf-8", "surrogatepass")
        if _LONG_WORD.search(line):
            yield line


def _detect_more(text: str, lines: str) -> str | None:
    """Return what detect-secrets finds in a text; `lines` are those that can hold a token."""
    for name, find in _more_detectors():
        looked_in = text
        if name in _IN_LONG_WORDS:
            has_shape = _IN_LONG_WORDS[name].search
            if not has_shape(lines):
                continue
            looked_in = "\n".join(filter(has_shape, lines.split("\n")))
        elif name in _IN_TEXT and not _IN_TEXT[name].search(text):
            continue
        elif name == "JSON Web Token":
            if "eyJ" not in text:
                continue
            # Of `eyJeyJ…` without a dot it reads all that is left, at each `eyJ`.
            looked_in = "\n".join(_WEB_TOKEN.findall(text))
        if any(not _PLACEHOLDER.fullmatch(secret) for secret in find(looked_in)):
            return f"what looks like {name}"
    return None


@cache
def _more_detectors() -> Sequence[tuple[str, Callable[[str], Iterable[str]]]]:
    """Return the detectors of detect-secrets by name, where it is installed.

    Not those of what is found here already, nor of address, entropy and words such as `password`:
    tests and manuals are full of them, and a whole file is left out.
    """
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins.base import RegexBasedDetector
    except ImportError:
        return ()
    found: Mapping[str, Any] = get_mapping_from_secret_type_to_class()
    return [
        (name, kind().analyze_string)
        for name, kind in sorted(found.items())
        if issubclass(kind, RegexBasedDetector) and not _COVERED.match(name)
    ]


_COVERED = late_pattern(
    r"(?i)(?:AWS|Azure|GitHub|GitLab|NPM|OpenAI|Private Key|PyPI|SendGrid|Slack|Stripe|Telegram"
    r"|Public IP|Secret Keyword)\b"
)
"""Detectors of detect-secrets that are not asked."""
_PLACEHOLDER = late_pattern(
    r"(?i)\.+|\*+|\W{0,2}(?:pw|pwd|pass|password|passwd|passphrase|secret|token|x+)\W{0,2}"
)
"""Words in the place of a password, as in `ftp://user:pw@host` of a manual."""
_IN_LONG_WORDS = {
    "Cloudant Credentials": late_pattern(r"[0-9A-Fa-f]{64}|[A-Za-z]{24}"),
    "SoftLayer Credentials": late_pattern(r"[0-9A-Za-z]{64}"),
    "IBM COS HMAC Credentials": late_pattern(r"[0-9A-Fa-f]{48}"),
    "IBM Cloud IAM Key": late_pattern(r"[\w-]{44}", re.ASCII),
    "Discord Bot Token": late_pattern(r"[MNO][\w-]{23,25}\.[\w-]{6}\.", re.ASCII),
    "Mailchimp Access Key": late_pattern(r"-us[0-9]"),
    "Square OAuth Secret": late_pattern(r"sq0csp-"),
    "Twilio API Key": late_pattern(r"(?:AC|SK)[a-z0-9]{32}"),
}
"""Detectors with credentials of 20 letters or more → their shape.

Without it they would take two thirds of the time for all: each looks for many a name first.
"""
_IN_TEXT = {
    "Artifactory Credentials": late_pattern(r"AKC[0-9A-Za-z]{10}|AP[0-9A-F][0-9A-Za-z]{8}"),
}
"""The same of shorter ones."""
_WEB_TOKEN = late_pattern(
    r"(?<![\w=-])(?=[\w=-]*?eyJ[\w=-])[\w=-]++\.[\w=-]++\.?[\w=-]*+", re.ASCII
)
"""Two or three words of Base64 with dots between, as a token has."""
MIN_TOKEN = 20
"""Letters, digits and signs of the shortest token, an access key of AWS."""
_OF_BASE64 = frozenset({"a private key", "an Azure storage key"})
"""Credentials that `+` and `/` may cut into short words."""
_LETTERS = bytes(
    ord("a") if chr(code).isalnum() or chr(code) in "_-" else ord(" ") for code in range(128)
) + bytes(128)
"""A table for `bytes.translate`: "a" for what a word is made of, in ASCII."""
_LONG_RUN = b"a" * MIN_TOKEN
_LONG_WORD = late_pattern(rf"\b[\w-]{{{MIN_TOKEN}}}", re.ASCII)
