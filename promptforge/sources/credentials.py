"""Find credentials in texts: tokens by their published patterns, keys, and files for passwords."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ..text.words import late_pattern

_WORD_FOR_A_PASSWORD = (
    r"(?i:[^\s/@]{0,99}?(?:pass|pw|secret|token|example|fake|dummy|test|change|redacted|xxxx"
    r"|hunter2|tiger))"
)
"""A word within what stands for a password in manuals and tests."""
_HOST_OF_AN_EXAMPLE = (
    r"(?i:(?:[\w-]{1,63}\.){0,9}(?:localhost|127\.\d+\.\d+\.\d+|example(?:\.(?:com|net|org))?|test"
    r"|invalid)(?![\w.-])|\[::1\])"
)
"""Hosts that are reserved for examples and tests, and one's own machine."""
# Each with the words that are looked for first: a pattern over all of a text costs fifty times it.
_CREDENTIALS = {
    "a private key": (
        ("PRIVATE KEY",),
        # The line alone is in many programs, and in manuals `...` stands below it. A key has base64
        # below it: behind `#` in a comment, behind `\n` as two letters in JSON, behind `" + "` in
        # a program. Headers may come first. One that a manual shortens by `...` is none.
        r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[\s#>\"',+-]|\\+[rn])++"
        r"(?>[A-Za-z-]+: [^\n]*\n\s*){0,9}([A-Za-z0-9+/=]{24,}+)"
        r"(?!(?:[\s#>-]|\\[rn])*(?:\.\.\.|…))",
    ),
    "an age key": (("AGE-SECRET-KEY-1",), r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    "an AWS access key": (("AKIA", "ASIA"), r"\bA[KS]IA[A-Z2-7]{16}\b"),
    "an AWS secret key": (
        ("secret_access_key", "SECRET_ACCESS_KEY", "ecretAccessKey"),
        r"(?i:secret_?access_?key)[\"']?[ \t]*[=:][ \t]*[\"']?([A-Za-z0-9/+]{40})(?![\w/+=])",
    ),
    "an Amazon Bedrock key": (("ABSK",), r"\bABSK[A-Za-z0-9+/]{100,}"),
    "a GitHub token": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{60,}\b",
    ),
    "a GitLab token": (
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "gloas-", "glsoat-", "GR1348941"),
        r"\b(?:gl(?:pat|dt|rt|cbt|ptt|oas|soat)-|GR1348941)[A-Za-z0-9_-]{20,}",
    ),
    "a Slack token": (
        ("xox", "xapp-"),
        r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}|\bxapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]{20,}",
    ),
    "a Slack webhook": (
        ("hooks.slack.com",),
        r"\bhooks\.slack\.com/(?:services|workflows|triggers)/\w+/\w+/(?:[0-9]+/)?(\w{20,})",
    ),
    "a Google API key": (("AIza",), r"\bAIza[A-Za-z0-9_-]{35}"),
    "a Google OAuth secret": (("GOCSPX-",), r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    "a Google access token": (("ya29.",), r"\bya29\.[A-Za-z0-9_-]{30,}"),
    "a Stripe key": (("k_live_",), r"\b[rs]k_live_[A-Za-z0-9]{20,}"),
    "a Stripe webhook secret": (("whsec_",), r"\bwhsec_[A-Za-z0-9+/]{32,}"),
    "an Anthropic key": (("sk-ant-",), r"\bsk-ant-[A-Za-z0-9_-]{32,}"),
    "an OpenAI key": (("T3BlbkFJ",), r"\bsk-[A-Za-z0-9_-]{16,}T3BlbkFJ[A-Za-z0-9_-]{16,}"),
    "a Hugging Face token": (("hf_",), r"\bhf_[A-Za-z]{34}\b"),
    "an npm token": (("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    "a SendGrid key": (("SG.",), r"\bSG\.[\w-]{22}\.[\w-]{43}\b"),
    "an Azure storage key": (("AccountKey=",), r"\bAccountKey=[A-Za-z0-9+/]{86}=="),
    "an Azure access key": (("SharedAccessKey=",), r"\bSharedAccessKey=[A-Za-z0-9+/]{43}="),
    "an Azure client secret": (("Q~",), r"(?<![\w.~-])[\w.~-]{3}[0-9]Q~[\w.~-]{31,34}(?![\w.~-])"),
    "an Azure DevOps token": (("AZDO",), r"\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b"),
    "a Telegram token": ((":AA",), r"\b\d{8,10}:AA[\w-]{33}\b"),
    "a PyPI token": (("pypi-AgE",), r"\bpypi-AgE[IN][A-Za-z0-9_-]{50,}"),
    "a password in an address": (
        ("://",),
        # Manuals and tests are full of `postgres://user:password@localhost`.
        r"://([^\s:/@\"'`<>{}$]{1,99}):(?!\1@)"
        rf"(?!{_WORD_FOR_A_PASSWORD})([^\s:/@\"'`<>{{}}$*]{{8,99}})@(?!{_HOST_OF_AN_EXAMPLE})[\w\[]",
    ),
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
_MIN_LETTERS = {"a password in an address": 5}


def find_credential(text: str, place: str = "") -> str | None:
    """Return the kind of credential that a text holds, in words; `None` where none is seen.

    In a file for passwords, such as `.env`, any password counts. With the extra `secrets` the
    package detect-secrets looks for more kinds.
    Example: `find_credential("AKIA" + "I7QXSU2JTPNN4B6M")` is "an AWS access key".
    """
    # Thirty words are not looked for in all of a text, where few lines can hold a token.
    lines = "\n".join(_lines_with_long_words(text))
    for name, (words, pattern) in _CREDENTIALS.items():
        looked_in = text if name in _OF_SHORT_WORDS else lines
        if not any(word in looked_in for word in words):
            continue
        for match in re.finditer(pattern, looked_in):
            secret = match[match.lastindex or 0]
            # AWS's own, in every tutorial.
            is_example = secret.endswith(("EXAMPLE", "EXAMPLEKEY"))
            least = _MIN_LETTERS.get(name, MIN_LETTERS_OF_A_SECRET)
            if len(set(secret)) >= least and not is_example:
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
    r"(?i)(?:AWS|Azure|Basic Auth|GitHub|GitLab|NPM|OpenAI|Private Key|PyPI|SendGrid|Slack|Stripe"
    r"|Telegram|Public IP|Secret Keyword)\b"
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
    # A long name of a function has no digit.
    "IBM Cloud IAM Key": late_pattern(r"(?<![\w-])(?=[A-Z_a-z-]{0,43}[0-9])[\w-]{44}", re.ASCII),
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
_OF_SHORT_WORDS = frozenset({
    *("a private key", "an AWS secret key", "an Amazon Bedrock key", "a password in an address"),
    *("an Azure storage key", "an Azure access key", "an Azure client secret"),
    "a Stripe webhook secret",
})  # fmt: skip
"""Credentials that `+`, `/` and `.` may cut into words shorter than `MIN_TOKEN`."""
_LETTERS = bytes(
    ord("a") if chr(code).isalnum() or chr(code) in "_-" else ord(" ") for code in range(128)
) + bytes(128)
"""A table for `bytes.translate`: "a" for what a word is made of, in ASCII."""
_LONG_RUN = b"a" * MIN_TOKEN
_LONG_WORD = late_pattern(rf"\b[\w-]{{{MIN_TOKEN}}}", re.ASCII)
