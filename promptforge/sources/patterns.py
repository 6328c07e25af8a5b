"""Narrow the files of a folder down by patterns as of `.gitignore`, or by names that are theirs."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import ItemError, quote
from ..files.access import show_path
from ..text.words import is_pattern, late_pattern, read_patterns, take_folders_back

if TYPE_CHECKING:
    from .folders import FolderFilter

_BRACKET = late_pattern(r"(?<!\\)[\[\]]")
_BRACES = late_pattern(r"\{([^{}]*,[^{}]*)\}")
_FROM_HERE = late_pattern(r"(!?)(?:\./+)+")
_SPECIAL = late_pattern(r"[\\*?\[\] ]")


def narrow_down(names: list[str], wanted: FolderFilter, tops: Sequence[str] = ()) -> list[str]:
    """Return the names in a folder that match `include`, without those that match `exclude`.

    `tops` are the whole names of the folder; with them it is noted which patterns match a file.
    Raises `ItemError` for a pattern that cannot be read, and for several in one, which exclude
    nothing: `a.md,b.md`, `*.{a,b}`.
    """
    every = names
    if wanted.matched is not None:
        wanted.matched["", ""] = True  # there was something to narrow down
    if wanted.below:
        names = [name for name in names if f"{name}/".startswith(f"{wanted.below}/")]
        if not names:
            message = "the file does not exist, or .gitignore hides it"
            raise ItemError(message, where=show_path(wanted.below))
    if wanted.include:
        patterns = _spell_all("--include", wanted.include, every, wanted, tops)
        include = read_patterns(_take_brackets(take_folders_back(patterns), names))
        names = [name for name in names if include.match_file(name)]
    if wanted.exclude:
        patterns = _spell_all("--exclude", wanted.exclude, every, wanted, tops)
        exclude = read_patterns(_take_brackets(patterns, names))
        names = [name for name in names if not exclude.match_file(name)]
    return names


def name_unmatched(matched: Mapping[tuple[str, str], bool]) -> str:
    """Return a clause that names the patterns without a file; "" where each has one."""
    vain = [f"{flag} {quote(pattern)}" for (flag, pattern), found in matched.items() if not found]
    if not vain:
        return ""
    return f"no file matches {', '.join(vain)}; patterns are relative to the folder"


def _spell_all(
    flag: str,
    patterns: Sequence[str],
    names: Sequence[str],
    wanted: FolderFilter,
    tops: Sequence[str],
) -> list[str]:
    """Return patterns in the words of `.gitignore`, and note which of them match a name."""
    known = frozenset(names)
    found: list[str] = []
    for pattern in patterns:
        spelled = _spell(pattern, known, tops)
        _refuse_unusable(flag, pattern, spelled, names)
        found += spelled
        if wanted.matched is not None and tops and not pattern.startswith("!"):
            found_before = wanted.matched.get((flag, pattern), False)
            # `--exclude node_modules` is no slip of the pen where git ignores that folder.
            named = os.path.join(tops[-1], spelled[0].strip("/"))
            is_there = flag == "--exclude" and os.path.lexists(named)
            rules = read_patterns(_take_brackets(take_folders_back(spelled), names))
            is_found = found_before or is_there or any(map(rules.match_file, names))
            wanted.matched[flag, pattern] = is_found
    return found


def _spell(pattern: str, names: Collection[str], tops: Sequence[str]) -> list[str]:
    """Return what a pattern is in a `.gitignore`, and once more where it is the name of a file.

    There `./a.py` and `/home/me/project/a.py` match nothing, `#a` is a comment, `!a` the contrary.
    """
    placed = _FROM_HERE.sub(r"\1/", pattern, count=1) if _FROM_HERE.match(pattern) else pattern
    for top in tops:
        lead = top.replace(os.sep, "/").rstrip("/") + "/"
        if placed.startswith(lead):
            placed = f"/{placed.removeprefix(lead)}"
    name = placed.removeprefix("/")
    if name in names and (_SPECIAL.search(name) or name[0] in "!#"):
        return [placed, "/" + _SPECIAL.sub(r"\\\g<0>", name)]
    return [placed]


def _take_brackets(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return patterns, and each with brackets once more where these are letters of a name.

    Next.js has `app/[slug]/page.tsx`, which as a set of characters matches `app/s/page.tsx` alone.
    """
    found: list[str] = []
    for pattern in patterns:
        found.append(pattern)
        literal = _BRACKET.sub(r"\\\g<0>", pattern)
        if literal != pattern and any(map(read_patterns([literal]).match_file, names)):
            found.append(literal)
    return found


def _refuse_unusable(flag: str, pattern: str, spelled: Sequence[str], names: Sequence[str]) -> None:
    if not any(map(is_pattern, spelled)):
        message = "not a gitignore pattern; write \\! and \\[ for these characters"
        raise ItemError(message, where=f"{flag} {quote(pattern)}")
    if "," not in pattern:
        return
    parts = pattern.split(",")
    braces = _BRACES.search(pattern)
    if braces:
        start, end = braces.span()
        parts = [f"{pattern[:start]}{part}{pattern[end:]}" for part in braces[1].split(",")]
    whole, each = read_patterns(spelled), read_patterns([part.strip() for part in parts])
    if any(map(each.match_file, names)) and not any(map(whole.match_file, names)):
        message = "no file matches it, but some match a part; as in .gitignore a pattern has"
        message += f" neither commas nor braces: repeat {flag} for each part"
        raise ItemError(message, where=f"{flag} {quote(pattern)}")
