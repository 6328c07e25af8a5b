"""Write files to start from: a project, or a copy of a layout, format, item template and the like.

The copies are the user's to edit. All files of one command are written or none, and nothing is
overwritten; only a schema for editors may be there already.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..config.layouts import layout_schema
from ..config.profiles import find_profiles, load_profile, profile_schema
from ..engine import FORMAT_EXTENSIONS, PROMPTS_FOLDER, Templates, known_syntax
from ..errors import OptionError, TemplateError, did_you_mean, quote, suggest_name
from ..files import shipped_folder
from ..files.access import (
    Access,
    make_folder,
    read_utf8,
    remove_file,
    remove_folder,
    remove_unfinished,
    write_whole,
)
from ..templating.loader import KIND_NAME
from ..yaml_reader import SCHEMA_MODELINE

_LAYOUT_SCHEMA = "layout.schema.json"
_START = Path(__file__).parent / "start"
# In the order that a reader should open them.
_PROJECT_FILES = (
    "promptforge.toml",
    "items.json",
    "templates/mine/layout.yaml",
    "templates/mine/item.md.j2",
    "profiles/mine.yaml",
    "tests/mine.yaml",
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PROFILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_FIRST_COMMENT = re.compile(r"\A\{#.*?#\}", re.DOTALL)
# Keys that are true of the original alone: its LLMs, and the sources of its figures.
_ORIGIN = re.compile(
    r"^(?:match|as_of|references|unknown):.*\n(?:[ \t]+\S.*\n|- .*\n)*", re.MULTILINE
)


class NewFile(NamedTuple):
    """A file to be written."""

    path: Path
    text: str
    shared: bool = False
    """True if an existing file is kept instead of being an error."""


# --- writing ---


def missing_files(files: Sequence[NewFile]) -> list[NewFile]:
    """Return the files to write: all but shared ones that exist."""
    return [file for file in files if not (file.shared and file.path.exists())]


def write_files(files: Sequence[NewFile]) -> list[NewFile]:
    """Write all files or none; return those written.

    Raises `OptionError` if one exists, `ItemError` if a link leads elsewhere, `OSError` if one
    cannot be written.
    """
    for file in files:
        Access(os.curdir, typed=True, follow=None).locate_output(file.path)
    for file in files:
        if file.path.parent.is_dir():
            remove_unfinished(file.path.parent, file.path.name)
    files = missing_files(files)
    for file in files:
        _check_place(file.path)
    done: list[Path] = []
    try:
        for file in files:
            for folder in reversed([p for p in file.path.parents if not p.exists()]):
                make_folder(folder, above=False)
                done.append(folder)
            done.append(file.path)
            with write_whole(file.path, new=True) as stream:
                stream.write(file.text.encode())
    except BaseException as error:
        # An interrupt takes the files back too. A file that exists by now is somebody else's.
        if isinstance(error, FileExistsError):
            done = done[:-1]
        _remove(done)
        raise
    return list(files)


def _remove(made: Sequence[Path]) -> None:
    for path in reversed(made):
        with contextlib.suppress(OSError):
            if path.is_dir():
                remove_folder(path)
            else:
                remove_file(path)


def _check_place(path: Path) -> None:
    existing = next(p for p in (path, *path.parents, Path()) if p.exists() or p.is_symlink())
    if existing == path:
        raise OptionError(f"{quote(str(path))} exists, and nothing is overwritten")
    if not existing.is_dir():
        raise OptionError(f"{quote(str(existing))} is a file, so no folder can be made there")


# --- contents ---


def project_files(folder: Path) -> list[NewFile]:
    """Return the files of a project: a layout, a profile, items to try them on, golden cases."""
    texts = {name: read_utf8(_START / name) for name in _PROJECT_FILES}
    texts["templates/layout.schema.json"] = _json(layout_schema())
    texts["profiles/schema.json"] = _json(profile_schema())
    return [NewFile(folder / name, text) for name, text in texts.items()]


def copy_layout(
    templates: Templates, folder: Path, name: str, like: str | None = None
) -> list[NewFile]:
    """Copy the layout `like` as `name`; the default is `name` itself, or else chunks.

    Names of the copied folder in the files become the new one. Raises `OptionError`.
    """
    _check_name("layout", name, _NAME, {"shipped", "prompt"})
    plain, origin = _original("layout", like, name, templates.layouts(), "chunks")
    texts = _copied(templates, origin, f"{plain}/", f"{name}/")
    if "layout.yaml" not in texts:
        texts = {"layout.yaml": f'description: "A copy of {plain}"\n', **texts}
    # Editors find the schema by this line.
    if not texts["layout.yaml"].startswith(SCHEMA_MODELINE):
        texts["layout.yaml"] = f"{SCHEMA_MODELINE}../{_LAYOUT_SCHEMA}\n{texts['layout.yaml']}"
    files = [NewFile(folder / name / file, text) for file, text in texts.items()]
    return [*files, NewFile(folder / _LAYOUT_SCHEMA, _json(layout_schema()), shared=True)]


def copy_format(
    templates: Templates, folder: Path, name: str, like: str | None = None, only: Sequence[str] = ()
) -> list[NewFile]:
    """Copy the templates of the format `like` (default markdown) as `name`.

    `only` names layouts; the default is all. The copies keep the ending of the originals, and so
    their escaping; only a name of the same syntax, such as html for XML, is an ending itself.
    Raises `OptionError`.
    """
    taken = {*FORMAT_EXTENSIONS, *FORMAT_EXTENSIONS.values(), "yaml", "j2"}
    _check_name("format", name, _NAME, taken)
    source = like or "markdown"
    known = templates.layouts()
    for one in only:
        _check_layout(one, known)
    formats = {one: templates.formats(one) for one in only or known}
    _check_known("format", source, {each for have in formats.values() for each in have})
    missing = [one for one, have in formats.items() if source not in have]
    if only and missing:
        message = f'the layout "{missing[0]}" has no format {quote(source)}'
        raise OptionError(message, option="format")
    files: list[NewFile] = []
    for one in sorted(set(formats) - set(missing)):
        layout = templates.layout(one, source)
        syntax = layout.ending.rpartition(".")[2]
        ending = f"{name}.{syntax}"
        if known_syntax(name) is layout.syntax:
            ending = name
        # A named layout gets the templates it inherits too; of all layouts, each has its own.
        originals = [file for file in layout.files() if only or file.startswith(f"{one}/")]
        renamed = {file: f"{one}/{_stem(file)}.{ending}.j2" for file in originals}
        for file, new in renamed.items():
            text = templates.source(file)[0]
            for old in renamed:
                text = text.replace(f'"{old}"', f'"{renamed[old]}"')
            files.append(NewFile(folder / new, text))
    return files


def copy_item_template(
    templates: Templates,
    folder: Path,
    name: str,
    of: str,
    like: str | None = None,
    formats: Sequence[str] = (),
) -> list[NewFile]:
    """Copy an item template of the layout `of` for items of the kind `name`.

    The original is that of the kind `like`; the default is that of all other kinds. Raises
    `OptionError`.
    """
    _check_name("kind", name, KIND_NAME, {"layout", "item"})
    _check_layout(of, templates.layouts())
    have = templates.formats(of)
    for one in formats:
        if one not in have:
            message = f'the layout "{of}" has no format {quote(one)}{suggest_name(one, have)}'
            raise OptionError(message, option="format")
    files = []
    for one in formats or have:
        layout = templates.layout(of, one)
        by_stem = {_stem(file): file for file in layout.files()}
        if like and like not in by_stem and (hint := did_you_mean(like, by_stem)):
            raise OptionError(f'the layout "{of}" has no template of the kind {quote(like)}{hint}')
        original = by_stem.get(like or name) or by_stem.get("item")
        if original is None:
            raise TemplateError(f'the layout "{of}" has no "item.{layout.ending}.j2" to copy')
        text = templates.source(original)[0]
        # Of the first comment, the list of uses is true of the copy too.
        comment = _FIRST_COMMENT.match(text)
        if comment:
            uses = re.search(r"Uses:.*", comment[0], re.DOTALL)
            about = f'{{# One item of the kind "{name}". {uses[0] if uses else "#}"}'
            text = about + text[comment.end() :]
        files.append(NewFile(folder / of / f"{name}.{layout.ending}.j2", text))
    return files


def copy_prompt_templates(
    templates: Templates, folder: Path, name: str, like: str | None = None
) -> list[NewFile]:
    """Copy the prompt templates `like` as `name`; the default is `name` itself, or else default.

    The copy is whole: it holds the templates of default that `like` lacks. Raises `OptionError`.
    """
    _check_name("prompt", name, _NAME, {"shipped"})
    plain, origin = _original("prompt", like, name, templates.prompts(), "default")
    new = f"{PROMPTS_FOLDER}/{name}/"
    texts = _copied(templates, origin, f"{PROMPTS_FOLDER}/{plain}/", new)
    parts = {file.partition(".")[0] for file in texts}
    others = _copied(templates, "", f"{PROMPTS_FOLDER}/default/", new)
    texts |= {f: text for f, text in others.items() if f.partition(".")[0] not in parts}
    target = folder / PROMPTS_FOLDER / name
    return [NewFile(target / file, text) for file, text in sorted(texts.items())]


def copy_profile(
    folders: Sequence[Path], folder: Path, name: str, like: str | None = None
) -> list[NewFile]:
    """Copy the profile `like` as `name`, with the schema; by default, list every key as a comment.

    Raises `OptionError`, and `ProfileError` where the original cannot be used.
    """
    _check_name("profile", name, _PROFILE_NAME)
    known = {each: path for each, _, path in find_profiles(folders)}
    source, origin = _original("profile", like, name, known, "default")
    path = known[source]
    if origin:
        path = shipped_folder("profiles") / f"{source}.yaml"
    text = read_utf8(path)
    load_profile(path, folders)  # says what is wrong with it
    if source == "default":
        # A key that is set binds every layout, so the copy sets none.
        first, _, rest = text.partition("\n")
        rest = re.sub(r"^(?!description)[a-z_]+:", r"# \g<0>", rest, flags=re.MULTILINE)
        rest = re.sub(r"^description:.*", f'description: "{name}"', rest, flags=re.MULTILINE)
        text = f"{first}\n{rest}"
    elif name != source:
        text = _ORIGIN.sub("", text)
    schema = NewFile(folder / "schema.json", _json(profile_schema()), shared=True)
    return [NewFile(folder / f"{name}.yaml", text), schema]


def _original(
    thing: str, like: str | None, name: str, known: Collection[str], default: str
) -> tuple[str, str]:
    """Return the name of the original, and `shipped/` if the shipped one is asked for."""
    source = like or (name if name in known else default)
    _check_known(thing, source, known)
    plain = source.removeprefix("shipped/")
    return plain, source.removesuffix(plain)


def _copied(templates: Templates, origin: str, lead: str, new: str) -> dict[str, str]:
    """Return the texts of all templates below `lead`; names in them begin with `new`."""
    found = {}
    for name in templates.names():
        # A file of the user's own is not there in a shipped folder of the same name.
        if name.startswith(lead) and templates.find(f"{origin}{name}"):
            text = templates.source(f"{origin}{name}")[0]
            found[name.removeprefix(lead)] = text.replace(f'"{lead}', f'"{new}')
    return found


def _json(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _stem(name: str) -> str:
    return name.partition("/")[2].partition(".")[0]


def _check_name(thing: str, name: str, allowed: re.Pattern[str], taken: Iterable[str] = ()) -> None:
    """Raise `OptionError` for a name that no file should have."""
    problem = None
    if len(name) > 64 and allowed.fullmatch(name[:64]):
        problem = f"it has {len(name)} characters; at most 64 are allowed"
    elif not allowed.fullmatch(name):
        letters = "small letters" if allowed is KIND_NAME else "letters"
        dot = ", '.'" if allowed is _PROFILE_NAME else ""
        problem = (
            f"a name keeps to {letters}, digits, '_'{dot} and '-', and begins"
            " with a letter or digit"
        )
    elif name.lower() in taken:
        problem = "that word has a meaning of its own"
    if problem:
        raise OptionError(f"a {thing} cannot be called {quote(name)}: {problem}")


def _check_known(thing: str, name: str, known: Iterable[str]) -> None:
    if name.removeprefix("shipped/") not in known:
        hint = suggest_name(name, known)
        raise OptionError(f"there is no {thing} {quote(name)}{hint}", option=thing)


def _check_layout(layout: str, known: Sequence[str]) -> None:
    """Raise `OptionError` for an unknown layout, with the command that makes it."""
    if layout not in known:
        hint = suggest_name(layout, known)
        if _NAME.fullmatch(layout):
            make = f"; make it first: promptforge new layout {layout}"
            hint = did_you_mean(layout, known) or make
        raise OptionError(f"there is no layout {quote(layout)}{hint}", option="layout")
