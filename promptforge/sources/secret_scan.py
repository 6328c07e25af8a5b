"""Mask credentials in texts, or leave the text out, and say so once for a whole run.

A masked text has the lines of the original. What cannot be masked for certain is left out: after
masking the text is searched again, and it must hold none of the values that were found.

Codes: PF609 texts with credentials.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import partial
from itertools import chain, islice

from ..errors import Diagnostics
from ..files.access import show_path
from ..files.memory import recall_clean
from ..text.format import plural
from ..text.words import late_pattern
from .credentials import (
    ASSIGNMENT,
    IN_PROSE,
    KEYS,
    MIN_PASSWORD_LETTERS,
    NAME_IN_A_PROGRAM,
    NAME_OF_A_SECRET,
    REFERENCE,
    REST_OF_A_TOKEN,
    find_credentials,
    is_harmless,
    is_likely,
    is_placeholder,
    is_secret,
    is_secret_alone,
    rules_of,
)
from .diff_sides import Side, sides_of

MASK = "REDACTED"
"""The word in the place of a value: letters alone, so that YAML, JSON and programs stay valid."""
MAX_MASKED_NAMED, MAX_LEFT_OUT_NAMED = 3, 50
"""Texts that the message names: those that are left out stand nowhere else."""
MAX_SECRETS = 1_000
"""Values to mask in one text: each is looked for in all of it; a text of more is left out."""
MAX_KEY_CHARACTERS = 1 << 17
"""Characters between the first and the last line of a private key."""
_Found = tuple[str, str]
"""The kind and the value of a credential."""

_KEY_BLOCK = late_pattern(
    r"(----[- ]BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?[- ]----)"
    rf"((?:(?!----[- ]BEGIN)[\s\S]){{1,{MAX_KEY_CHARACTERS}}}?)"
    r"(?=----[- ]END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?[- ]----)"
)
_KEY_END = late_pattern(r"----[- ]END [A-Z0-9 ]+[- ]----")
_PUTTY_BLOCK = late_pattern(
    r"(?:PuTTY-User-Key-File-[0-9]+:(?:.{0,200}\n){1,99}?)?[-+ ]?"
    r"Private-Lines: *([0-9]{1,3})[ \t\r]*\n((?:[-+ ]?[A-Za-z0-9+/=]+[ \t\r]*(?:\n|\Z))+)"
    r"(?:[-+ ]?Private-(?:MAC|Hash): .*)?"
)
_HEADER_OF_A_KEY = late_pattern(r"[-+ \t#>*\"']*[A-Z][A-Za-z-]+: (?!.*[A-Za-z0-9+/=]{24})[^\\]*\Z")
_BASE64 = late_pattern(r"\\+[rnt]|[A-Za-z0-9][A-Za-z0-9+/=]*")
_REST_OF_A_PASSWORD = r"(?:[^\s/\"'`<>\\]*(?=\\?@))?"
"""A password may hold `@`, too."""
_IN_AN_ADDRESS = late_pattern(
    r"(://[^\s:/\"'`]{0,99}:)(?!\d{1,5}[^\w@.%-])"
    r"([^\s/@\"'`<>{}$\\][^\s/@\"'`<>{}\\]{0,98})(?=\\?@)"
)
_SETTING = late_pattern(
    r"([ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*[=:][ \t]*+)((?:.*[^ \t\r\n])?)([ \t\r]*)"
)
_IN_QUOTES = late_pattern(r"\"([^\"\\]|\\.)*\"|'[^']*'")
_LINE_END, _ESCAPED_LINE_END = late_pattern(r"\n"), late_pattern(r"\\n|\n")
_FORMS = {
    # Address, and five or two fields with colons between; in a `.netrc` all names are shown.
    "git-credentials": r"(\w+://)[^\s/]+(@\S*)",
    "pgpass": r"((?:(?:[^:\\\n]|\\.)*:){4}).+()",
    "htpasswd": r"([^:\n]+:).+()",
    "htdigest": r"([^:\n]+:[^:\n]+:).+()",
}
_DIGEST = late_pattern(r"[a-z]{2,4}-[0-9a-f]+")
"""A token of hexadecimal digits; in a path it is mostly the number of a build."""
_NETRC = late_pattern(r"(?:\s*+(?:(?:machine|login|password|account|port)\s++\S++|default))*+\s*+")


class SecretScan:
    """The credentials of one run: masks them, and remembers where they were."""

    def __init__(self, allowed: Collection[str] = ()) -> None:
        """Let the values in `allowed` through; a value must be equal, not a part."""
        self._allowed = frozenset(allowed)
        self._masked: dict[str, str] = {}
        """Place → what was masked there."""
        self._left_out: dict[str, str] = {}

    def clean(self, text: str, place: str, shown: str, whole: str = "") -> str | None:
        """Return a text with its credentials masked; `None` where it must be left out.

        `shown` is the place as messages print it. Both sides of each file in a diff are searched,
        too; `whole` is the diff of its one file with many lines of that as context.
        """
        found: list[_Found] = []
        sides: list[tuple[Side, list[_Found]]] = []
        is_patch = "@@ -" in text

        def find() -> bool:
            found.extend(self._find(text, place))
            if not is_patch:
                return bool(found)
            for side in sides_of(_line_end(text).sub("\n", text), place, whole):
                in_side = self._find("\n".join(side.lines), side.place)
                if in_side:
                    sides.append((side, in_side))
            return bool(found or sides)

        named = place if is_patch else ""
        if recall_clean(text, [rules_of(place) or "", named, whole, *sorted(self._allowed)], find):
            return text
        masked = mask(text, place, found, self._allowed) if found else text
        if masked is not None and sides:
            masked = self._mask_sides(sides, text, masked, is_one_file=bool(whole))
        if masked != text:  # else the diff does not show what its file holds
            found += [each for _, in_side in sides for each in in_side]
            self._note(shown, found, is_masked=masked is not None)
        return masked

    def refuse_name(self, place: str) -> bool:
        """Tell whether a path holds a credential, and note that its text is left out."""
        found = [each for each in self._find(place, "") if not _DIGEST.fullmatch(each[1])]
        if found:
            self._note(show_path(place), found, is_masked=False, is_path=True)
        return bool(found)

    def _find(self, text: str, place: str) -> list[_Found]:
        return [*islice(find_credentials(text, place, self._allowed), MAX_SECRETS + 1)]

    def _note(
        self, shown: str, found: Sequence[_Found], *, is_masked: bool, is_path: bool = False
    ) -> None:
        # A path may be one, too. A password such as `payments` is only a word there.
        in_path = {secret for _, secret in self._find(shown, "")}
        for _, secret in found:
            if secret and secret in in_path:
                shown = shown.replace(secret, MASK)
        listed = self._masked if is_masked else self._left_out
        kinds = [
            f"{kind} in its path: {secret[:4]}…" if is_path else kind for kind, secret in found
        ]
        listed[shown] = ", ".join(dict.fromkeys(kinds))

    def _mask_sides(
        self,
        sides: Sequence[tuple[Side, list[_Found]]],
        text: str,
        masked: str,
        *,
        is_one_file: bool,
    ) -> str | None:
        """Return a masked diff without what its files hold; `None` for one file to leave out."""
        line_end = _line_end(text)
        given, lines = line_end.split(text), line_end.split(masked)
        if len(given) != len(lines):  # a value held line ends of a string
            return None
        for side, found in sides:
            clean = self._mask_side(side, found)
            if clean is None and side.in_hunks is not None:
                # What cannot be masked in the file may be far from what has changed.
                side = side.in_hunks()
                clean = self._mask_side(side, self._find("\n".join(side.lines), side.place))
            if clean is None and is_one_file:
                return None
            side.put(clean or [MASK] * len(side.lines), given, lines, MASK)
        ends = [*line_end.findall(masked), ""]
        return "".join(chain.from_iterable(zip(lines, ends, strict=True)))

    def _mask_side(self, side: Side, found: Sequence[_Found]) -> list[str] | None:
        if not found:
            return side.lines
        clean = mask("\n".join(side.lines), side.place, found, self._allowed, is_part=True)
        return None if clean is None else clean.split("\n")

    def report(self, diagnostics: Diagnostics) -> None:
        """Say in one line what was masked and what was left out (PF609); forget it."""
        said = []
        if self._masked:
            said.append(f"masked {_listed(self._masked, MAX_MASKED_NAMED)}")
        if self._left_out:
            said.append(f"skipped {_listed(self._left_out, MAX_LEFT_OUT_NAMED)}")
        if said:
            way_out = "--no-secret-scan includes all, secret_allowlist lets one value through"
            diagnostics.add("PF609", "; ".join([*said, way_out]), severity="info")
        self._masked, self._left_out = {}, {}


def _line_end(text: str) -> re.Pattern[str]:
    """Return what ends the lines of a patch; in a string, as of JSON, it is written as an escape.

    A patch of a program with such a string has its own line ends.
    """
    return _ESCAPED_LINE_END if "\\n@@ -" in text and "\n@@ -" not in text else _LINE_END


def _listed(found: dict[str, str], most: int) -> str:
    named = [f"{place} ({kinds})" for place, kinds in [*found.items()][:most]]
    count = plural(len(found), "text with credentials", "texts with credentials")
    return f"{count}: {', '.join(named)}{' …' * (len(found) > most)}"


def mask(
    text: str,
    place: str,
    found: Sequence[_Found],
    allowed: Collection[str] = (),
    *,
    is_part: bool = False,
) -> str | None:
    """Return a text without the credentials `found` in it; `None` where that is not certain.

    Where one is found others are likely, so all private keys, all values of names such as
    `password` and all passwords in addresses are masked, too. Lines stay as many as they are. A key
    alone says nothing, unless it `is_part` of a diff.
    """
    masked, outside = _mask_keys(text)
    if not is_part and outside is not None and not re.search(r"\w", outside):
        return None
    if len(found) > MAX_SECRETS or is_secret_alone(text, rules_of(place)):
        return None
    secrets = {secret: kind for kind, secret in found if secret}
    for secret in sorted(secrets, key=len, reverse=True):
        if secrets[secret] in KEYS:  # only a whole one can be masked, above
            continue
        is_password = secrets[secret].startswith("a password")
        rest = _REST_OF_A_PASSWORD if is_password else REST_OF_A_TOKEN
        masked = re.sub(re.escape(secret) + rest, MASK, masked)
    if rules_of(place) == "passwords":
        by_line = _mask_file_for_passwords(masked, place)
        if by_line is None:
            return None
        masked = by_line

    is_bare = rules_of(place) not in IN_PROSE
    masked = ASSIGNMENT.sub(partial(_mask_value, allowed, is_bare), masked)
    masked = _IN_AN_ADDRESS.sub(partial(_mask_in_address, allowed), masked)
    if any(secret in masked for secret in secrets):
        return None
    # A star is no letter of any credential.
    if next(find_credentials(masked.replace(MASK, "*"), place, allowed), None) is not None:
        return None
    return masked


def _mask_value(allowed: Collection[str], is_bare: bool, match: re.Match[str]) -> str:
    """Return an assignment without its value where its name is that of a secret.

    A word without quotes is a value where `is_bare`: a program has `password: String`.
    """
    value = match[4]
    bare = value.strip("\"'")
    if not is_secret(match[2], bare) or is_harmless(bare, allowed):
        return match[0]
    is_name = bare == value and (not is_likely(value) or NAME_IN_A_PROGRAM.fullmatch(value))
    if not is_bare and (is_name or is_placeholder(bare)):
        return match[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match[0][: -len(value)]}{quote}{MASK}{quote}"


def _mask_in_address(allowed: Collection[str], match: re.Match[str]) -> str:
    """Return the head of an address without its password, unless that only stands for one."""
    value = match[2]
    is_user = match[1].endswith((f"//{value}:", f"//{MASK}:"))
    if is_user or is_placeholder(value) or is_harmless(value, allowed):
        return match[0]
    return match[1] + MASK


def _mask_keys(text: str) -> tuple[str, str | None]:
    """Return a text with the bodies of its private keys masked, and what stands outside of them.

    The second is `None` where there is no key.
    """
    if "PRIVATE KEY" not in text and "Private-Lines:" not in text:
        return text, None

    def mask_body(match: re.Match[str]) -> str:
        lines = match[2].split("\n")
        return match[1] + "\n".join(map(_mask_line, lines))

    def mask_lines(match: re.Match[str]) -> str:
        lines = match[2].count("\n") + (not match[2].endswith("\n"))
        if lines < int(match[1]):  # a part of a key
            return match[0]
        head, _, mac = match[0].partition(match[2])
        mac = re.sub(r"(: ).*", rf"\g<1>{MASK}", mac)
        return head + "\n".join(map(_mask_line, match[2].split("\n"))) + mac

    outside = _PUTTY_BLOCK.sub("", _KEY_END.sub("", _KEY_BLOCK.sub("", text)))
    masked = _PUTTY_BLOCK.sub(mask_lines, _KEY_BLOCK.sub(mask_body, text))
    return masked, outside if outside != text else None


def _mask_line(line: str) -> str:
    """Return a line of a key with its Base64 masked; signs of its surroundings stay.

    These are quotes, commas, `#`, the first character of a diff, and line ends written as escapes.
    """
    if _HEADER_OF_A_KEY.match(line):
        return line
    return _BASE64.sub(lambda match: match[0] if match[0][0] == "\\" else MASK, line)


def _mask_file_for_passwords(text: str, place: str) -> str | None:
    """Return a file such as `.env` without its values; `None` for lines of another form."""
    name = place.replace("\\", "/").rpartition("/")[2]
    if "netrc" in name or "authinfo" in name:
        if not _NETRC.fullmatch(text):
            return None
        return re.sub(r"((?:password|account)\s+)\S+", rf"\g<1>{MASK}", text)
    form = next((form for part, form in _FORMS.items() if part in name), None)
    lines = []
    for line in text.split("\n"):
        bare = line.strip()
        if not bare:
            lines.append(line)
        elif bare.startswith("#"):  # may be a password of another day
            lines.append(f"# {MASK}")
        elif form is not None:
            found = re.fullmatch(form, bare)
            if not found:
                return None
            lines.append(f"{found[1]}{MASK}{found[2]}")
        else:
            masked = _mask_setting(line)
            if masked is None:
                return None
            lines.append(masked)
    return "\n".join(lines)


def _mask_setting(line: str) -> str | None:
    """Return `NAME=value` without its value; short values of other names than secrets stay."""
    found = _SETTING.fullmatch(line)
    if found is None:
        return None
    head, name, value, end = found.groups()
    quote = ""
    if value[:1] in ('"', "'"):
        if not _IN_QUOTES.fullmatch(value):  # it goes on in the next line
            return None
        quote = value[0]
    bare = value.strip("\"'")
    is_short = len(bare) < MIN_PASSWORD_LETTERS and not NAME_OF_A_SECRET.search(name)
    if not bare or is_short or REFERENCE.fullmatch(bare):
        return line
    return f"{head}{quote}{MASK}{quote}{end}"
