"""Find credentials in texts: tokens by their published patterns, keys, and files for passwords."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
        # SSH2 has four dashes and a blank.
        r"----[- ]BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?[- ]----"
        r"(?:[\s#>\"',+*/;|`-]|\\+[rn])++"
        r"(?:[A-Za-z-]+: (?:[^\n\\]*(?:\\+[rn])+|[^\n]*\n\s*)){0,9}([A-Za-z0-9+/=]{24,}+)"
        r"(?!(?:[\s#>-]|\\[rn])*(?:\.\.\.|…))",
    ),
    "a PuTTY key": (
        ("Private-Lines:",),
        # No line of a head, such as `Private-MAC: …`, is a line of the key.
        r"Private-Lines: *[0-9]+(?:[\s#>\"',+-]|\\+[rn])++([A-Za-z0-9+/=]{4,}+)(?![:-])",
    ),
    "a private key in Base64": (
        ("LS0tLS1CRUdJTi",),  # -----BEGIN
        r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFUR|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVE"
        r"|BFTkNSWVBURUQgUFJJVkFUR|BEU0EgUFJJVkFUR)[A-Za-z0-9+/]{40,}=*",
    ),
    "a key of minisign or signify": (
        ("untrusted comment:",),
        r"untrusted comment: [^\n]*(?:secret|encrypted) key[^\n]*\n[-+ ]?([A-Za-z0-9+/]{60,}=*)",
    ),
    "a WireGuard key": (
        ("PrivateKey", "PresharedKey"),
        r"(?:PrivateKey|PresharedKey)[ \t]*=[ \t]*([A-Za-z0-9+/]{43}=)",
    ),
    "a private key in JSON": (
        ('"kty"',),
        r"\"(?:d|k|p|q|d[pq]|qi)\"[ \t]*:[ \t]*\"([A-Za-z0-9_-]{32,})\"",
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
    "an Azure storage key": (("AccountKey=",), r"\bAccountKey=([A-Za-z0-9+/]{86}==)"),
    "an Azure access key": (("SharedAccessKey=",), r"\bSharedAccessKey=([A-Za-z0-9+/]{43}=)"),
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
KEYS = ("a private key", "a PuTTY key")
"""Credentials of several lines."""
DUMMIES = frozenset({
    # AWS General Reference and the IAM User Guide; all of AWS's own end so.
    *("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    *("AKIAI44QH8DHBEXAMPLE", "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY"),
    # Microsoft Learn: the keys of Azurite (storage) and of the emulator of Cosmos DB.
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==",
    # jwt.io, the token that its page opens with.
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwi"
    "aWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
})  # fmt: skip
"""Credentials that their issuers print in manuals; they open nothing."""
FILE_FOR_PASSWORDS = late_pattern(
    r"(?i)[\w-]*\.env(?:\.(?!example|sample|template|dist|default)[\w.-]+)?|[._]netrc|\.pgpass"
    r"|\.git-credentials|\.htpasswd"
)
"""Files for passwords, which have no pattern of their own."""
_SETTINGS_WITH_PASSWORDS = late_pattern(
    r"(?i)(?:.*/)?(?:application[\w.-]*\.(?:properties|ya?ml)|[\w.-]*kubeconfig[\w.-]*"
    r"|\.kube/config|[\w.-]*\.tfstate(?:\.backup)?|[\w.-]*\.tfvars)"
)
"""Files of settings that are known to hold passwords, by their path."""
ASSIGNMENT = late_pattern(
    # A name is looked through once, then passed over.
    r"(?<![\w.-])([\"']?)([A-Za-z_][\w.-]*+)\1"
    r"([ \t]*(?::[ \t]*[\w.\[\]|?]{1,40}[ \t]*(?==))?(?:=>|:=|[=:])[ \t]*)"  # a type between
    r"(\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'"
    r"|[^\s\"'(){}\[\]<>$,;#`]++(?=[ \t\r]*(?:[,;#\n]|\Z)))"
)
"""A name and its value: a text in quotes, or all that is left of the line."""
_NAME_OF_A_SECRET = late_pattern(
    r"(?i)passw|passphrase|pass$|pwd|secret|token$|credential|^_?auth$"
    r"|(?:api|access|account|auth|client|encryption|private|signing)[_.-]?key"
)
_REFERENCE = late_pattern(r"\$\{.*\}|\$\w+|\{\{.*\}\}|<.*>|%\(?\w+\)?s?%?")
"""A value that stands elsewhere, as `${TOKEN}`."""
MIN_PASSWORD_LETTERS = 6
_PASSWORD = late_pattern(
    # The word is looked through once, then passed over: a word of `tokentoken…` has no end.
    r"(?im)^[-+ \t]*(?:export[ \t]+)?"
    r"(?=\w*(?:key|secret|token|passw|pwd|credential))\w++[ \t]*=[ \t]*"
    r"[\"']?[^\s\"'#$<{]{6,}"
    r"|\bpassword[ \t\n]+[^\s=]{6,}|://[^\s:/@]{1,99}:[^\s/@]{6,}@|^[^\s:#]+:\w+:[^:\n]+:[^:\n]+:\S{6,}$"
    r"|^[^\s:#]+:(?:(?:\$\w+\$|\{S?SHA\})\S{6,}|[./0-9A-Za-z]{13}$)"
)
MIN_LETTERS_OF_A_SECRET = 10
"""Different characters of a credential; `ghp_xxxx…` in a manual has fewer."""
_MIN_LETTERS = {"a password in an address": 5, "a PuTTY key": 1}


def find_credential(text: str, place: str = "") -> str | None:
    """Return the kind of credential that a text holds, in words; `None` where none is seen.

    In a file for passwords, such as `.env`, any password counts. With the extra `secrets` the
    package detect-secrets looks for more kinds.
    Example: `find_credential("AKIA" + "I7QXSU2JTPNN4B6M")` is "an AWS access key".
    """
    return next((kind for kind, _ in find_credentials(text, place)), None)


def find_credentials(
    text: str, place: str = "", allowed: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the kind and the value of each credential in a text, but for the `allowed` values.

    Of a private key the value is the beginning of its body; in a file for passwords it is empty.
    """
    # Thirty words are not looked for in all of a text, where few lines can hold a token.
    lines = "\n".join(_lines_with_long_words(text))
    yield from _find_known(text, lines, allowed)
    if is_for_passwords(place) and _PASSWORD.search(text):
        yield "a password or key", ""
    elif _SETTINGS_WITH_PASSWORDS.fullmatch(place.replace("\\", "/")) or _is_kubeconfig(text):
        for value in assigned_secrets(text):
            if not is_harmless(value, allowed):
                yield "a password or key", value
    for name, secret in _find_more(text, lines):
        if not is_harmless(secret, allowed):
            yield f"what looks like {name}", secret


def _find_known(text: str, lines: str, allowed: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield what has a pattern of its issuer; `lines` are those that can hold a token."""
    for name, (words, pattern) in _CREDENTIALS.items():
        looked_in = text if name in _OF_SHORT_WORDS else lines
        if not any(word in looked_in for word in words):
            continue
        least = _MIN_LETTERS.get(name, MIN_LETTERS_OF_A_SECRET)
        for match in re.finditer(pattern, looked_in):
            secret = match[match.lastindex or 0]
            # Keys of one kind begin alike, so one is allowed by all of it.
            whole = _body_of_key(looked_in, match) if name in KEYS else secret
            if len(set(secret)) >= least and not is_harmless(whole, allowed):
                yield name, secret


def _body_of_key(text: str, match: re.Match[str]) -> str:
    """Return the body of a private key in one line."""
    stop = text.find("----", match.end())
    return re.sub(r"\\+[rn]|[^A-Za-z0-9+/=]", "", text[match.start(1) : stop % (len(text) + 1)])


def is_harmless(secret: str, allowed: Collection[str] = ()) -> bool:
    """Tell whether a value is a dummy of a manual, or allowed as it is."""
    # AWS's own, in every tutorial.
    return secret in DUMMIES or secret in allowed or secret.endswith(("EXAMPLE", "EXAMPLEKEY"))


def is_for_passwords(place: str) -> bool:
    """Tell whether a file holds passwords and little else, by its name."""
    return FILE_FOR_PASSWORDS.fullmatch(place.replace("\\", "/").rpartition("/")[2]) is not None


def _is_kubeconfig(text: str) -> bool:
    return "current-context" in text and "kind" in text and "clusters" in text


def assigned_secrets(text: str) -> Iterator[str]:
    """Yield what is assigned to names such as `db.password`, without its quotes."""
    for match in ASSIGNMENT.finditer(text):
        value = match[4].strip("\"'")
        is_long = len(value) >= MIN_PASSWORD_LETTERS
        if is_long and is_secret_name(match[2]) and not is_reference(value):
            yield value


def is_secret_name(name: str) -> bool:
    """Tell whether a name says that its value is a secret."""
    return _NAME_OF_A_SECRET.search(name) is not None


def is_reference(value: str) -> bool:
    """Tell whether a value names the place of a secret alone, as `${TOKEN}`."""
    return _REFERENCE.fullmatch(value) is not None


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


def _find_more(text: str, lines: str) -> Iterator[tuple[str, str]]:
    """Yield what detect-secrets finds in a text; `lines` are those that can hold a token."""
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
        for secret in find(looked_in):
            if not _PLACEHOLDER.fullmatch(secret):
                # Of a JSON Web Token it gives the first two of three parts.
                whole = re.search(re.escape(secret) + REST_OF_A_TOKEN, looked_in)
                yield name, whole[0] if whole else secret


@cache
def _more_detectors() -> Sequence[tuple[str, Callable[[str], Iterable[str]]]]:
    """Return the detectors of detect-secrets by name, where it is installed.

    Not those of what is found here already, nor of address, entropy and words such as `password`:
    tests and manuals are full of them.
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
REST_OF_A_TOKEN = r"[\w+/=~-]*+(?:\.[\w+/=~-]++)*+"
"""A pattern may end before its token does."""
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
    *("a Stripe webhook secret", "a PuTTY key", "a private key in Base64", "a WireGuard key"),
    *("a key of minisign or signify", "a private key in JSON"),
})  # fmt: skip
"""Credentials that `+`, `/` and `.` may cut into words shorter than `MIN_TOKEN`."""
_LETTERS = bytes(
    ord("a") if chr(code).isalnum() or chr(code) in "_-" else ord(" ") for code in range(128)
) + bytes(128)
"""A table for `bytes.translate`: "a" for what a word is made of, in ASCII."""
_LONG_RUN = b"a" * MIN_TOKEN
_LONG_WORD = late_pattern(rf"\b[\w-]{{{MIN_TOKEN}}}", re.ASCII)
