"""List the files of a folder as git sees them, and leave out those that no reader wants.

In a repository git itself is asked, so global excludes count, and tracked dot files are in.
Elsewhere `.gitignore` and `.ignore` are read here. Links are not followed.

Codes: PF601 a folder that cannot be read, PF602 too many names, PF608 files that were left out,
PF609 files with credentials, which were left out.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import Diagnostics, ItemError
from ..files import is_inside
from ..text.words import late_pattern, match_in_one_pass
from .workspace import (
    MAX_FOLDERS_NESTED,
    MAX_NAMES_VISITED,
    BinaryFileError,
    StrPath,
    decode_text,
    locate_file,
    peek_file,
    read_text,
    show_path,
    system_reason,
    too_deep,
)

if TYPE_CHECKING:
    from subprocess import CompletedProcess

    from pathspec import GitIgnoreSpec

MAX_LISTED_BYTES = 4 << 20
"""Bytes above which a file that nobody named is left out."""
MAX_NAMES_SHOWN = 3
"""Files that a message names for each reason to leave some out."""
MAX_GIT_SECONDS = 60
MAX_GIT_BYTES = 4 << 30
"""Memory of git: it reads a device that stands for its attributes without end."""
MAX_BYTES_FROM_GIT = 64 << 20
"""Bytes that git may print: a repository of 600 kB may hold files of gigabytes."""
MAX_COMMITS_READ = 200
"""Commits that tell which files were changed lately."""
# Inside a hook these name the repository of the hook, not the one of the folder.
_GIT_PLACES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")
# Settings of a repository that name a program, or change the form of what is read here.
_GIT_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.quotePath": "false",
    "log.showSignature": "false",  # it would run `gpg.program`
    "log.follow": "false",
    # Two that name a file: a pipe there is waited for. (`_FILE_SETTINGS` are two more.)
    "log.mailmap": "false",
    "diff.orderFile": os.devnull,
    "i18n.logOutputEncoding": "UTF-8",
    "safe.bareRepository": "explicit",
}
# The user may have set these for all repositories, so they count where they name a file.
_FILE_SETTINGS = ("config", "-z", "--path", "--get-regexp", r"^core\.(attributes|excludes)file$")
_unanswered: set[Path | None] = set()
"""Repositories in which git was waited for in vain: it is not asked there again."""
_TRACKED = ("ls-files", "-z", "--cached", "--recurse-submodules")
_MARK = ":(attr:linguist-generated{})"
_GENERATED_BY_MARK = ("ls-files", "-z", "--", _MARK.format(""), _MARK.format("=true"))
NEW_FILES = ("ls-files", "-z", "--others", "--exclude-standard")
"""Asks for files that git neither tracks nor ignores."""
_PARTS_OF_GIT = ("HEAD", "commondir", "objects", "refs")
# Objects that a partial clone lacks would be fetched by programs that its settings name.
_GIT_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C.UTF-8",
}
_UNREADABLE, _NO_TEXT = "files that cannot be read", "files without text"
_WRITTEN = "files that this run writes"
PACKED = "texts packed of the other files"
_LINKS, _DEVICES = "links", "pipes, sockets and devices"
_ABSENT = "tracked files that are not there"
_SUBMODULES, _REPOSITORIES = "submodules without files", "other repositories"
_LOCKED, _MINIFIED, _GENERATED = "lock files", "minified files", "generated files"
_UNWANTED = (_LOCKED, _MINIFIED, _GENERATED)
"""Reasons that `--ignored` overrules."""
_REMEDIES = {
    _ABSENT: "git restore, or git sparse-checkout add, brings tracked files back",
    _REPOSITORIES: "name another repository that is meant",
    _SUBMODULES: "git submodule update --init fetches the files of submodules",
    _UNREADABLE: "name a file to hear why it cannot be read",
    # Named they are no text either, and a run does not read what it writes.
    **dict.fromkeys((_NO_TEXT, _DEVICES, _WRITTEN), ""),
}
"""Reason → what brings the files back; for all others a file is named."""
_LOCK_NAME = late_pattern(
    r"(?i).*\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|packages\.lock\.json"
    r"|go\.(work\.)?sum|bun\.lockb|\.terraform\.lock\.hcl"
)
_MINIFIED_NAME = late_pattern(r"(?i).*[.-]min\.(js|mjs|cjs|css)|.*\.(js|mjs|cjs|css)\.map")
_PROGRAM_OF_A_PAGE = late_pattern(r"(?i).*\.(js|mjs|cjs|css)")
MIN_MINIFIED_LINE = 4_000
"""Characters without a line end at the start of a script or style sheet: a bundler's work."""
# The marks that Go's tools and review systems know, in a comment at the top.
_GENERATED_HEAD = late_pattern(
    r"(?:.*\n){0,20}?[ \t]*(?://|#|/?\*|--|;|<!--).*"
    r"(?:@generated\b|Code generated .*DO NOT EDIT)"
)

# Each with the words that are looked for first: a pattern over all of a text costs fifty times it.
_CREDENTIALS = {
    "a private key": (
        ("PRIVATE KEY",),
        # The line alone is in many a program; a key is one with base64 below it.
        r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----\s+(?:[A-Za-z0-9+/=:, -]+\s+){2}",
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
    r"(?im)^[-+ \t]*(?:export[ \t]+)?\w*(?:key|secret|token|passw|pwd|credential)\w*[ \t]*=[ \t]*"
    r"[\"']?[^\s\"'#$<{]{6,}"
    r"|\bpassword[ \t\n]+[^\s=]{6,}|://[^\s:/@]{1,99}:[^\s/@]{6,}@|^[^\s:#]+:\w+:[^:\n]+:[^:\n]+:\S{6,}$"
)
MAY_BE_PACKED = late_pattern(r"(?i).*\.(md|markdown|txt|xml|json|ya?ml)")
_HEADER = late_pattern(r"(?im)^[ \t]*(?:#|<|(?:- )?(?:file|source|path):).*")
_YAML_KEY = late_pattern(r"(?m)^[ \t]*(?:- )?content: ")
_HEADER_KEYS = ("file", "source", "path")
_PATH_IN_HEADER = late_pattern(r"[\w.@+~-]+(?:/[\w.@+~-]+)*")
# The last is of YAML, such as `content: |2-`.
_FRAME = late_pattern(r"[ \t]*(?:```|</|.*\blines? left out\b|(?:- )?\w+:(?: [\w|+\[\]-]+)?$)")
_LINE_NUMBER = late_pattern(r"\s*\d+[:|\t ]")
MIN_PACKED_SHARE, MIN_PACKED_OF_ONE = 0.75, 0.95
"""Share of a text that is lines of the files its headers name, above which it is packed of them:
of several, or of one, as a part of `--split` may be. Outlines had 0.83 and more, manuals up to 0.4.
"""
MIN_LETTERS_OF_A_SECRET = 10
"""Different characters of a credential; `ghp_xxxx…` in a manual has fewer."""


class FolderFilter(msgspec.Struct, frozen=True):
    """The files of a folder that are wanted, in patterns as of `.gitignore`."""

    include: Sequence[str] = ()
    """Files that match none of these are left out; what matches is wanted, generated or not."""
    exclude: Sequence[str] = ()
    ignored: bool = False
    """Take what git ignores, and lock files, minified and generated ones."""
    hidden: bool = False
    """Take dot files that git does not track."""
    secret_scan: bool = True
    """Leave out files and changes that hold a credential."""
    written: re.Pattern[str] | None = None
    """Real paths that the run writes: a text that reads its last self is filled by it."""


ALL_FILES = FolderFilter()
LeftOut = defaultdict[str, list[str]]
"""Reason → the names of the files that were left out for it."""
Progress = Callable[[int, int], None]
"""Called with the number of files that have been read, and the number of all."""


class IgnoreRules:
    """Tells whether a path in a folder is ignored; the nearest file that mentions it decides.

    Files above the folder count up to the top of its repository. Where the folder itself is ignored
    none of them counts: a user who names it wants its files.
    """

    def __init__(self, folder: Path, names: Sequence[str] = (".gitignore", ".ignore")) -> None:
        """Read the files of these `names`; a later one overrules an earlier."""
        repositories = (
            above for above in (folder, *folder.parents) if os.path.exists(above / ".git")
        )
        self._root = next(repositories, folder)
        self._names = names
        self._rules: dict[str, GitIgnoreSpec | None] = {}
        """Folder → the rules of its files, if it has one."""
        self._lead = "".join(f"{part}/" for part in folder.relative_to(self._root).parts)
        # `build/` is in most files of this sort, and yet `--in build` asks for its files.
        if self._lead and self._ignores(self._lead):
            self._root, self._rules, self._lead = folder, {}, ""

    def __call__(self, path: str) -> bool:
        """Tell of a path below the folder, with `/` between its parts and after a folder's."""
        return self._ignores(self._lead + path)

    def _ignores(self, path: str) -> bool:
        above = path.rstrip("/")
        while above:
            above = above.rpartition("/")[0]
            folder = f"{above}/" if above else ""
            if folder not in self._rules:
                self._rules[folder] = self._read(self._root / folder)
            rules = self._rules[folder]
            verdict = None if rules is None else _verdict(rules, path[len(folder) :])
            if verdict is not None:  # `!pattern` says False
                return verdict
        return False

    def _read(self, folder: Path) -> GitIgnoreSpec | None:
        lines: list[str] = []
        for name in self._names:
            try:
                text = read_text(folder / name, workspace=self._root, diagnostics=Diagnostics())
            except ItemError:  # there is none, or it is not ours to read
                continue
            lines += text.splitlines()
        return _patterns(lines) if lines else None


def _verdict(rules: GitIgnoreSpec, path: str) -> bool | None:
    """Return what the last pattern that matches a path says: ignored, not so, or nothing."""
    for pattern in reversed(rules.patterns):
        found = None if pattern.include is None else pattern.match_file(path)
        if found is None:
            continue
        # The one group is the `/` behind a folder. Of `b` and `!a/`, git asks the first of `a/b`:
        # the second names the folder alone, and `check_file` would take it for all that is inside.
        match = found.match
        if not match.re.groups or match.end(1) in (-1, len(path)):
            return pattern.include
    return None


def _patterns(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # 36 ms that only a folder is worth

    return match_in_one_pass(GitIgnoreSpec.from_lines(lines))


def read_folder(
    path: str,
    *,
    workspace: StrPath,
    diagnostics: Diagnostics,
    wanted: FolderFilter = ALL_FILES,
    progress: Progress | None = None,
) -> Iterator[tuple[str, str, Diagnostics]]:
    """Yield name, text and diagnostics of each wanted file in a folder, sorted by name.

    Files without text and huge ones are left out, and said in one line. So are lock files, minified
    and generated ones, but for those that `include` or `ignored` ask for. Nothing is opened before
    the names are filtered. Raises `ItemError` where the folder lies outside the workspace, or has
    no file that is wanted.
    """
    left_out: LeftOut = defaultdict(list)
    read: list[tuple[str, str, Diagnostics]] = []
    top = locate_file(path, workspace)
    names = _list_folder(top, diagnostics, wanted, left_out)
    for number, name in enumerate(names):
        if progress is not None:
            progress(number, len(names))
        place = os.path.normpath(os.path.join(path, name))
        if wanted.written and wanted.written.fullmatch(os.path.join(top, name)):
            left_out[_WRITTEN].append(name)
            continue
        found = _read_wanted(name, place, workspace, wanted)
        if isinstance(found, str):
            left_out[found].append(name)
            continue
        read.append((place, *found))
    packed = set() if wanted.include or wanted.ignored else find_packed([each[:2] for each in read])
    if packed:
        left_out[PACKED] += sorted(os.path.relpath(place, path) for place in packed)
    for place, text, said in read:
        if place not in packed and not leaves_out_secret(text, place, diagnostics, wanted):
            yield place, text, said
    report_left_out(left_out, path, diagnostics)
    if not read:
        raise _no_files(path, wanted, left_out)


def _no_files(path: str, wanted: FolderFilter, left_out: LeftOut) -> ItemError:
    message = "a folder without files to read"
    if left_out:
        message += ", but for those that are left out by default"
    elif wanted.include or wanted.exclude:
        message += ", as they were narrowed down"
    return ItemError(message, where=show_path(path))


def find_packed(files: Sequence[tuple[str, str]]) -> set[str]:
    """Return the paths of those files (path and text) that were packed of the others.

    An earlier `-o context.md` says everything twice, and hides the files that it holds.
    """
    by_name: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for file in files:
        by_name[file[0].rpartition("/")[2]].append(file)

    def named(path: str, header: str) -> Iterator[tuple[str, str]]:
        for word in names_in(header):
            name = word.rpartition("/")[2]
            if name == path.rpartition("/")[2]:  # each pom.xml of a project is like the others
                continue
            for other in by_name.get(name, ()):
                # Either may have been read from a folder above.
                whole, end = sorted((f"/{word}", f"/{other[0]}"), key=len, reverse=True)
                # Two copies of a page have its headers in common.
                if other[0] != path and whole.endswith(end) and header not in other[1]:
                    yield other

    packed: set[str] = set()
    for path, whole in files:
        if not MAY_BE_PACKED.fullmatch(path):
            continue
        text = _lines_of_data(path, whole)
        headers = {line: list(named(path, line)) for line in set(_HEADER.findall(text))}
        sources = dict(file for found in headers.values() for file in found)
        least = MIN_PACKED_SHARE if len(sources) > 1 else MIN_PACKED_OF_ONE
        between = (line for line in text.split("\n") if not headers.get(line))
        if sources.keys() - packed and _share_known(between, sources.values()) > least:
            packed.add(path)
    return packed


def names_in(text: str) -> list[str]:
    """Return the words of a text that may be paths."""
    return _PATH_IN_HEADER.findall(text)


def _lines_of_data(path: str, text: str) -> str:
    """Return the texts and `file: PATH` of JSON or YAML as lines; all else as it is."""
    if not path.lower().endswith(".json"):
        return _YAML_KEY.sub("", text) if path.lower().endswith(("yaml", "yml")) else text
    lines: list[str] = []
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        left: list[tuple[str, Any]] = [("", msgspec.json.decode(text))]
        while left:
            key, value = left.pop()
            if isinstance(value, dict):
                left += reversed(value.items())
            elif isinstance(value, list):
                left += [(key, each) for each in reversed(value)]
            elif isinstance(value, str):
                if "\n" in value:
                    lines += [f"file: {key}", value]
                elif key in _HEADER_KEYS:
                    lines.append(f"{key}: {value}")
    return "\n".join(lines) or text


def _share_known(lines: Iterable[str], sources: Iterable[str]) -> float:
    """Return the share of the characters of `lines` that stand in lines of `sources`."""
    known = {_bare(line) for source in sources for line in source.split("\n")}
    sizes = [0, 0]
    for line in lines:
        if not _FRAME.match(line):
            sizes[_bare(line) in known] += len(_bare(line))
    return sizes[True] / (sum(sizes) or 1)


def _bare(line: str) -> str:
    """Return the letters and digits of a line, which formats neither escape nor frame."""
    from html import unescape  # a table that few folders need

    number = _LINE_NUMBER.match(line)
    return "".join(re.findall(r"\w+", unescape(line[number.end() if number else 0 :])))


def _read_wanted(
    name: str, place: str, workspace: StrPath, wanted: FolderFilter
) -> tuple[str, Diagnostics] | str:
    """Return the text of a file and its diagnostics, or the reason to leave it out."""
    is_asked_for = bool(wanted.include) or wanted.ignored
    reason = None if is_asked_for else unwanted_name(name)
    if reason is None:
        reason = unwanted_content(place, workspace=workspace, asked_for=is_asked_for)
    if reason is not None:
        return reason
    said = Diagnostics()
    try:
        return read_text(place, workspace=workspace, diagnostics=said), said
    except ItemError:  # gone since it was looked at
        return _UNREADABLE


def report_left_out(left_out: LeftOut, path: str, diagnostics: Diagnostics) -> None:
    """Say what was left out of a folder or a pattern, and how to have it (PF608)."""
    if not left_out:
        return
    counts = ", ".join(
        f"{reason}: {len(names)} ({', '.join(map(show_path, names[:MAX_NAMES_SHOWN]))}"
        f"{' …' * (len(names) > MAX_NAMES_SHOWN)})"
        for reason, names in sorted(left_out.items())
    )
    name_it = "name a file that is meant"
    if not left_out.keys().isdisjoint(_UNWANTED):
        name_it += ", or give --ignored"
    hints = {_REMEDIES.get(reason, name_it) for reason in left_out} - {""}
    message = "; ".join([f"left out {counts}", *sorted(hints)])
    diagnostics.add("PF608", message, where=show_path(path), severity="info")


def leaves_out_secret(
    text: str, place: str, diagnostics: Diagnostics, wanted: FolderFilter
) -> bool:
    """Tell whether a text holds a credential and is left out for it, and say so (PF609)."""
    found = find_credential(text, place) if wanted.secret_scan else None
    if found is not None:
        message = f"left out: it holds {found}; --no-secret-scan takes it"
        diagnostics.add("PF609", message, where=show_path(place))
    return found is not None


def find_credential(text: str, place: str = "") -> str | None:
    """Return the kind of credential that a text holds, in words; `None` where none is seen.

    In a file for passwords, such as `.env`, any password counts. With the extra `secrets` the
    package detect-secrets looks for more kinds.
    Example: `find_credential("AKIA" + "I7QXSU2JTPNN4B6M")` is "an AWS access key".
    """
    # Thirty words are not looked for in all of a text, where few lines can hold a token.
    find_long = _LONG_WORD.search
    lines = "\n".join(
        line for line in text.split("\n") if len(line) >= MIN_TOKEN and find_long(line)
    )
    for name, (words, pattern) in _CREDENTIALS.items():
        looked_in = text if name in _OF_BASE64 else lines
        if not any(word in looked_in for word in words):
            continue
        for match in re.finditer(pattern, looked_in):
            is_example = match[0].endswith("EXAMPLE")  # AWS's own, in every tutorial
            if len(set(match[0])) >= MIN_LETTERS_OF_A_SECRET and not is_example:
                return name
    for_passwords = _NAME_OF_SECRETS.fullmatch(place.replace("\\", "/").rpartition("/")[2])
    if for_passwords and _PASSWORD.search(text):
        return "a password or key"
    return _detect_more(text, lines)


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
        if any(True for _ in find(looked_in)):
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
MIN_TOKEN = 20
"""Letters, digits and signs of the shortest token, an access key of AWS."""
_OF_BASE64 = frozenset({"a private key", "an Azure storage key"})
"""Credentials that `+` and `/` may cut into short words."""
_LONG_WORD = late_pattern(rf"\b[\w-]{{{MIN_TOKEN}}}", re.ASCII)


def unwanted_name(name: str) -> str | None:
    """Return the reason to leave out a file of a folder by its name, or `None`."""
    base = name.rpartition("/")[2]
    if _LOCK_NAME.fullmatch(base):
        return _LOCKED
    if base == "PKG-INFO":  # packaging's copy of a README
        return _GENERATED
    return _MINIFIED if _MINIFIED_NAME.fullmatch(base) else None


def unwanted_content(place: str, *, workspace: StrPath, asked_for: bool = True) -> str | None:
    """Return the reason to leave out a file by its size and its first 8 KiB, or `None`."""
    try:
        size, beginning = peek_file(place, workspace=workspace)
    except ItemError:
        return _UNREADABLE
    if size > MAX_LISTED_BYTES:
        return f"files larger than {MAX_LISTED_BYTES >> 20} MiB"
    try:
        text = decode_text(beginning, where=place, diagnostics=Diagnostics())
    except BinaryFileError:
        return _NO_TEXT
    if asked_for:
        return None
    if "\n" not in text[:MIN_MINIFIED_LINE] and size > MIN_MINIFIED_LINE:
        return _MINIFIED if _PROGRAM_OF_A_PAGE.fullmatch(place) else None
    return _GENERATED if _GENERATED_HEAD.match(text) else None


def _list_folder(
    top: Path, diagnostics: Diagnostics, wanted: FolderFilter, left_out: LeftOut
) -> list[str]:
    """Return the names of the regular files below a real folder that the filter lets through.

    Links are put into `left_out`: they may lead anywhere.
    """
    names = None if wanted.ignored else _ask_git(top, diagnostics, wanted.hidden)
    if names is None:
        names = _walk(top, diagnostics, wanted)
    else:
        is_ignored = IgnoreRules(top, [".ignore"])
        if not wanted.include and any(name.endswith(".gitattributes") for name in names):
            names = _without_marked(top, names, left_out)
        names = [name for name in names if not _is_below_ignored(name, is_ignored)]
    names = narrow_down(_without_own_files_of_git(top, names), wanted)
    inside: dict[str, bool] = {}
    found = [name for name in names if _is_regular(top, name, inside, left_out)]
    return sorted(found)


def _without_marked(top: Path, names: list[str], left_out: LeftOut) -> list[str]:
    """Return the names without those of `linguist-generated`, GitHub's mark for generated files."""
    try:
        marked = {*run_git(top, *_GENERATED_BY_MARK, names=True).split("\0")}
    except ItemError:  # an old git, which finds none by their marks
        return names
    kept = [name for name in names if name not in marked]
    if len(kept) < len(names):
        left_out[_GENERATED] += sorted(marked.intersection(names))
    return kept


def narrow_down(names: list[str], wanted: FolderFilter) -> list[str]:
    """Return the names in a folder that match `include`, without those that match `exclude`."""
    if wanted.include:
        include = _patterns(wanted.include)
        names = [name for name in names if include.match_file(name)]
    if wanted.exclude:
        exclude = _patterns(wanted.exclude)
        names = [name for name in names if not exclude.match_file(name)]
    return names


def _without_own_files_of_git(top: Path, names: list[str]) -> list[str]:
    """Return the names without those in bare repositories. Raises `ItemError` where all are."""
    heads = [name[: -len("HEAD")] for name in names if re.fullmatch(r"(?:.*/)?HEAD", name)]
    bare = tuple(folder for folder in heads if _looks_like_git(top / folder))
    if "" in bare:
        message = "a repository without files, such as a bare clone; clone it to have them"
        raise ItemError(message, where=show_path(top))
    return [name for name in names if not name.startswith(bare)] if bare else names


def _is_below_ignored(name: str, is_ignored: Callable[[str], bool]) -> bool:
    parts = name.split("/")
    folders = ("/".join(parts[:end]) + "/" for end in range(1, len(parts)))
    return any(map(is_ignored, folders)) or is_ignored(name)


def _is_regular(top: Path, name: str, inside: dict[str, bool], left_out: LeftOut) -> bool:
    """Tell whether it is a file, no link, in a folder that lies in `top` for real."""
    folder = name.rpartition("/")[0]
    if folder not in inside:
        # git lists `a/b` as tracked where a link has taken the place of the folder `a` since.
        inside[folder] = is_inside(os.path.realpath(top / folder), top)
    try:
        mode = os.lstat(top / name).st_mode
    except OSError:  # deleted since, or outside of a sparse checkout
        left_out[_ABSENT].append(name)
        return False
    if inside[folder] and stat.S_ISREG(mode):
        return True
    reason = _DEVICES
    if stat.S_ISDIR(mode):
        reason = _REPOSITORIES if os.path.lexists(top / name / ".git") else _SUBMODULES
    if stat.S_ISLNK(mode) or not inside[folder]:
        reason = _LINKS
    left_out[reason].append(name)
    return False


def _ask_git(folder: Path, diagnostics: Diagnostics, hidden: bool) -> list[str] | None:
    """Return the names of the files that git sees in a folder; `None` where git cannot tell."""
    if not any(os.path.exists(above / ".git") for above in (folder, *folder.parents)):
        return None
    with contextlib.suppress(ItemError):
        run_git(folder, "check-ignore", "-q", ".")
        return None  # the folder is ignored itself, and was named: all of it is wanted
    try:
        if _work_tree(folder) is None:  # a `.git` that is empty, say
            return None
        tracked = run_git(folder, *_TRACKED, names=True)
        others = run_git(folder, *NEW_FILES, names=True, diagnostics=diagnostics)
    except ItemError as error:
        message = f"git cannot list the files, so they are listed without it: {error.bare}"
        diagnostics.add("PF601", message, where=show_path(folder))
        return None
    found = dict.fromkeys(filter(None, tracked.split("\0")))
    for name in filter(None, others.split("\0")):
        if hidden or not any(part.startswith(".") for part in name.split("/")):
            found[name] = None
    return list(found)


def commits_since_change(folder: Path) -> dict[str, int]:
    """Return how many commits ago each file below a folder was changed, for the last ones.

    Commits that changed something in the folder count, the newest is 1. A file that none of the
    last `MAX_COMMITS_READ` has changed is not in it. Empty where git cannot tell.
    """
    if not any(os.path.exists(above / ".git") for above in (folder, *folder.parents)):
        return {}
    form = ("--name-only", "--format=%x00", "--no-renames", "--no-ext-diff", "--relative")
    try:
        printed = run_git(
            folder, "log", f"--max-count={MAX_COMMITS_READ}", *form, "--", ".", names=True
        )
    except ItemError:
        return {}
    found: dict[str, int] = {}
    for number, names in enumerate(printed.split("\0")):
        for name in filter(None, names.split("\n")):
            found.setdefault(name, number)
    return found


def run_git(
    folder: Path,
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    names: bool = False,
    diagnostics: Diagnostics | None = None,
) -> str:
    """Return what a command of git prints in a folder. No program of the repository's is run.

    With `names` it is names of files, as Python writes them, else text. `settings` come before
    those of the repository. Raises `ItemError`, with git's own first line, where it fails, takes
    more than `MAX_GIT_SECONDS`, or is not installed. Where it took more, it is not asked again. Its
    warnings are added to `diagnostics`.
    """
    ran = _ask(folder, arguments, _GIT_SETTINGS | _without_devices(folder) | dict(settings or {}))
    if ran.returncode:
        said = ran.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        if _work_tree(folder) is None:  # git speaks of HEAD, or of usage
            said = f"{show_path(folder.absolute())} is not a git repository"
        elif "revision" in said and _is_shallow(folder):
            said += "; this clone is shallow, git fetch --unshallow brings the earlier commits"
        raise ItemError(said.removeprefix("fatal: ") or "git failed", where=f"git {arguments[0]}")
    if diagnostics is not None:
        for warning in re.findall("^warning: (.+)", ran.stderr.decode("utf-8", "replace"), re.M):
            diagnostics.add("PF601", f"skipped: git: {warning}")
    return os.fsdecode(ran.stdout) if names else ran.stdout.decode("utf-8", "replace")


def _is_shallow(folder: Path) -> bool:
    """Tell whether the earlier commits of a repository were not cloned."""
    ran = _ask(folder, ("rev-parse", "--is-shallow-repository"), _GIT_SETTINGS)
    return ran.stdout.strip() == b"true"


def _ask(
    folder: Path, arguments: tuple[str, ...], settings: Mapping[str, str]
) -> CompletedProcess[bytes]:
    import subprocess
    from tempfile import TemporaryFile
    from threading import Timer

    top, command = _work_tree(folder), ["git", *arguments]
    if top in _unanswered:
        raise ItemError("git did not answer before, and is not asked again", where="git")
    environment = _git_environment(top, settings)
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}

    def end() -> None:
        _unanswered.add(top)
        process.kill()

    try:
        with (
            TemporaryFile() as said,
            subprocess.Popen(
                command, cwd=folder, env=environment, stderr=said, **streams
            ) as process,
        ):
            _limit_memory(process.pid)
            late = Timer(MAX_GIT_SECONDS, end)
            late.start()
            try:
                assert process.stdout
                out = process.stdout.read(MAX_BYTES_FROM_GIT + 1)
                if len(out) <= MAX_BYTES_FROM_GIT:
                    process.wait()
            finally:
                late.cancel()
                process.kill()
            said.seek(0)
            errors = said.read(MAX_BYTES_FROM_GIT)
    except FileNotFoundError:
        raise ItemError("git is not installed", where="git") from None
    except OSError as error:
        raise ItemError(f"git cannot be run: {type(error).__name__}", where="git") from None
    if top in _unanswered:
        message = f"git did not answer in {MAX_GIT_SECONDS} s: is one of its files a pipe?"
        raise ItemError(message, where="git")
    if len(out) > MAX_BYTES_FROM_GIT:
        message = f"git prints more than {MAX_BYTES_FROM_GIT >> 20} MiB; ask for fewer files"
        raise ItemError(message, where=f"git {arguments[0]}")
    return subprocess.CompletedProcess(command, process.returncode, out, errors)


def _limit_memory(process: int) -> None:
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(OSError):  # it has ended, or may use even less
            resource.prlimit(process, resource.RLIMIT_DATA, (MAX_GIT_BYTES, MAX_GIT_BYTES))


def _without_devices(folder: Path) -> dict[str, str]:
    """Return the settings that name a pipe or a device in the place of a file, each with none."""
    top = _work_tree(folder) or folder.absolute()
    with contextlib.suppress(OSError):
        return _devices_set_to_none(top, os.stat(top / ".git/config").st_mtime_ns)
    return _devices_set_to_none(top, 0)


@lru_cache(maxsize=64)
def _devices_set_to_none(top: Path, _changed: int) -> dict[str, str]:
    said = os.fsdecode(_ask(top, _FILE_SETTINGS, _GIT_SETTINGS).stdout)
    named = dict(setting.partition("\n")[::2] for setting in filter(None, said.split("\0")))
    return {name: os.devnull for name, path in named.items() if _is_device(top / path)}


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _git_environment(top: Path | None, settings: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _GIT_PLACES}
    kept |= _GIT_ENVIRONMENT
    # `core.worktree` could name any folder, whose files would be shown as changes.
    if top:
        kept["GIT_WORK_TREE"] = str(top)
    # Not `-c`: a name that holds `=` would be read as another one.
    count = kept.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    for number, (name, value) in enumerate(settings.items(), first):
        kept |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return kept | {"GIT_CONFIG_COUNT": str(first + len(settings))}


def _work_tree(folder: Path) -> Path | None:
    """Return the folder above with a `.git` that git takes for a repository.

    Raises `ItemError` where git would take a folder before that for a bare repository: its files
    may have come as files of the repository around it, with settings that name programs.
    """
    for above in (folder.absolute(), *folder.absolute().parents):
        place = above / ".git"
        if place.is_file() or _looks_like_git(place):
            return above
        if _looks_like_git(above):
            message = "a folder that git takes for a repository without files; it is not asked"
            raise ItemError(message, where=show_path(folder))
    return None


def _looks_like_git(folder: Path) -> bool:
    there = {name for name in _PARTS_OF_GIT if os.path.lexists(folder / name)}
    return "HEAD" in there and ("commondir" in there or {"objects", "refs"} <= there)


def _is_never(_name: str) -> bool:
    return False


def _walk(top: Path, diagnostics: Diagnostics, wanted: FolderFilter) -> list[str]:
    """Return the names of the files below a folder, but for ignored and hidden ones."""

    def say(error: OSError) -> None:
        if error.filename == os.fspath(top):
            raise ItemError(f"cannot read it: {system_reason(error)}", where=show_path(top))
        if not isinstance(error, FileNotFoundError):
            where = show_path(error.filename)
            diagnostics.add("PF601", f"skipped: {system_reason(error)}", where=where)

    is_ignored: Callable[[str], bool] = IgnoreRules(top)
    if wanted.ignored:
        is_ignored = _is_never
    found: list[str] = []
    visited = 0
    for folder, folders, files in os.walk(top, onerror=say):
        lead = os.path.relpath(folder, top).replace(os.sep, "/") + "/"
        lead = lead.removeprefix("./")
        visited += len(folders) + len(files)
        if visited > MAX_NAMES_VISITED:
            message = f"more than {MAX_NAMES_VISITED} names; not all were looked at"
            diagnostics.add("PF602", message, where=show_path(top))
            break

        def is_seen(name: str, lead: str = lead) -> bool:
            if name.startswith(".") and not wanted.hidden:
                return False
            return not is_ignored(lead + name)

        folders[:] = sorted(n for n in folders if n != ".git" and is_seen(f"{n}/"))
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        found += (lead + name for name in (*files, *links) if is_seen(name))
        if folders and lead.count("/") >= MAX_FOLDERS_NESTED:
            say(too_deep(os.path.join(folder, folders[0])))
            folders.clear()
    return found
