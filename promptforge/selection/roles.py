"""The role of a file in its repository, by its path: listings, ranks and queries ask here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from ..model import Item
from ..text.words import late_patterns

Role = Literal[
    "main", "aside", "manual", "log", "licence", "patch", "picture", "entry", "manifest", ""
]
"""`main`: a program that a user starts, a book's list of chapters. `aside`: a test, an example, or
others' work. `manual`: a program that makes a manual. `log`: a list of changes. `entry`: a README
at the top."""

NO_MARKS: Mapping[str, bool] = {}

_PATTERNS = late_patterns("roles")
_ROLES_BY_NAME: tuple[Role, ...] = ("entry", "manifest", "picture", "log", "licence", "main")
"""Roles with a pattern of their own, the first that matches counts."""
_ASIDE = _PATTERNS["aside"]
_PACKAGE = _PATTERNS["package"]
_EXAMPLE = _PATTERNS["example"]
"""No example in a program's package: that of a new program for Spring is `com.example.demo`."""
_MANUAL = _PATTERNS["manual"]
_BUILD_SUFFIX = _PATTERNS["build suffix"]
"""The end of a module that was built, or written, for one of two systems of modules."""
_BUILD_FOLDER = _PATTERNS["build folder"]
_LANGUAGE = _PATTERNS["language"]
"""A language in a path, but English: `docs/zh-cn/`, `README.ja.md`, `locales/de.json`."""
_ENGLISH = ("en", "en-US", "en-us", "en_US", "Base")
_IN_WORDS = _PATTERNS["in words"]
"""Files that hold words to translate: settings may be of a country, a program of a language."""


def role_of(path: str, marked: Mapping[str, bool] = NO_MARKS) -> Role:
    """Return the role of a file by its path below the folder that all lie in.

    `marked` is what `.gitattributes` says, such as `{"vendored": False}`.

    >>> [role_of(path) for path in ("pool/src/jvmTest/Pool.kt", "deps/lua/lua.h", "src/pool.c")]
    ['aside', 'aside', '']
    """
    if path.endswith((".patch", ".diff")):  # in a folder of scripts, too: it is no change of now
        return "patch"
    package = _PACKAGE.search(path)
    start = package.end() if package else len(path)
    is_aside = _ASIDE.search(path[:start] + _EXAMPLE.sub("", path[start:])) is not None
    if marked.get("vendored", is_aside):
        return "aside"
    for role in _ROLES_BY_NAME:
        if _PATTERNS[role].search(path):
            return role
    return "manual" if marked.get("documentation", _MANUAL.match(path) is not None) else ""


def find_asides(paths: Sequence[str], roles: Sequence[Role]) -> set[int]:
    """Return the numbers of tests, examples, others' work, logs, translations, and second builds.

    A package has `pool.js` and the same as `pool.cjs`, or `src/pool/` and `build/lib/pool/`; a
    manual has `de/pool.md` beside `pool.md`, or beside `en/pool.md`.
    """
    known = set(paths)
    found: set[int] = set()
    for number, path in enumerate(paths):
        first = _BUILD_SUFFIX.sub(r".\1\2", path)
        places = {first, _BUILD_FOLDER.sub("", path), _BUILD_FOLDER.sub("src/", path)}
        is_build = not known.isdisjoint(places - {path})
        is_same = is_build or path.endswith(".po") or english_of(path, known) is not None
        if is_same or roles[number] in ("aside", "log", "patch"):
            found.add(number)
    return found


def english_of(path: str, known: Collection[str]) -> str | None:
    """Return the file among `known` that one in another language than English repeats."""
    for found in _LANGUAGE.finditer(path) if _IN_WORDS.fullmatch(path) else ():
        before, after = path[: found.start()], path[found.end() :]
        others = [f"{before}{name}{after}" for name in _ENGLISH]
        if before.endswith((".", "_", "-")):
            others.append(before[:-1] + after)
        elif not after.lower().startswith("/readme"):  # that of a package called `id`
            others.append(before + after[1:])
        english = next(filter(known.__contains__, others), None)
        if english is not None:
            return english
    return None


def roles_of(items: Sequence[Item]) -> tuple[list[str], list[Role]]:
    """Return the paths of files below the folder that all lie in, and their roles."""
    paths = below_shared_folder([item.path or "" for item in items])
    roles: list[Role] = []
    for item, path in zip(items, paths, strict=True):
        marked = item.metadata.get("linguist")
        roles.append(role_of(path, marked if isinstance(marked, dict) else NO_MARKS))
    return paths, roles


def below_shared_folder(paths: Sequence[str]) -> list[str]:
    """Return paths without the folder that all lie in.

    So `examples/shop` has a README at its top, and of its files the tests alone are tests.
    """
    folders = [path.split("/")[:-1] for path in paths if path]
    depth = 0
    for names in zip(*folders, strict=False):
        if len(set(names)) > 1:
            break
        depth += 1
    return [path.split("/", depth)[-1] for path in paths]
