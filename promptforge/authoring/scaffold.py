"""Copies of layouts, formats, item templates, prompts and profiles, to be edited.

The files of a project to start from: one layout, one profile, items to try them on, and golden
cases.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..config.layouts import layout_schema
from ..config.profiles import find_profiles, profile_schema
from ..errors import OptionError, TemplateError, did_you_mean, quote, suggest_name
from ..files import FORMAT_EXTENSIONS, remove_unfinished, shipped_folder, write_whole
from ..templating.loader import PROMPTS_FOLDER, Templates
from ..text.escape import syntax_of
from ..yaml_reader import SCHEMA_MODELINE

_SCHEMA = "layout.schema.json"

_LAYOUT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

_KIND = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

_PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

_FIRST_COMMENT = re.compile(r"\A\{#.*?#\}", re.DOTALL)

# Keys that are true of the original alone: its LLMs, and the sources of its figures.
_ORIGIN = re.compile(
    r"^(?:match|as_of|references|unknown):.*\n(?:[ \t]+\S.*\n|- .*\n)*", re.MULTILINE
)

_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)
"""Names of devices on Windows, with any ending."""


class NewFile(NamedTuple):
    """A file to be written."""

    path: Path
    text: str
    shared: bool = False
    """True if an existing file is kept instead of being an error."""


def missing_files(drafts: Sequence[NewFile]) -> list[NewFile]:
    """Return the files to write: all but shared ones that exist."""
    return [draft for draft in drafts if not (draft.shared and draft.path.exists())]


def write_files(drafts: Sequence[NewFile]) -> list[NewFile]:
    """Write all files or none; return those written.

    Raises `OptionError` if one exists, or if its folder cannot be made.
    """
    try:
        for draft in drafts:
            if draft.path.parent.is_dir():
                remove_unfinished(draft.path.parent, draft.path.name)
        drafts = missing_files(drafts)
        _see(drafts)
    except OSError as error:
        name = quote(str(error.filename))
        raise OptionError(f"{name} cannot be read: {error.strerror}") from None
    done: list[Path] = []
    try:
        for draft in drafts:
            for folder in reversed([p for p in draft.path.parents if not p.exists()]):
                folder.mkdir(exist_ok=True)
                done.append(folder)
            done.append(draft.path)
            with write_whole(draft.path, new=True) as file:
                file.write(draft.text.encode())
    except BaseException as error:
        # An interrupt takes the files back too. A file that exists by now is somebody else's.
        if isinstance(error, FileExistsError):
            done = done[:-1]
        _undo(done)
        if isinstance(error, OSError):
            name = quote(str(error.filename))
            raise OptionError(f"{name} cannot be written: {error.strerror}") from None
        raise
    return list(drafts)


def _see(drafts: Sequence[NewFile]) -> None:
    """Raise `OptionError` if a file cannot be made."""
    for draft in drafts:
        path = draft.path
        existing = next(p for p in (path, *path.parents, Path()) if p.exists() or p.is_symlink())
        if existing == path:
            raise OptionError(f"{quote(str(path))} is there already, and nothing is overwritten")
        if not existing.is_dir():
            raise OptionError(f"{quote(str(existing))} is a file, so no folder can be made there")
        if other := _same_name(path):
            name = quote(str(other))
            raise OptionError(f"{name} is there already; on some systems that is the same name")


def _undo(made: Sequence[Path]) -> None:
    """Remove files and folders made, the last first."""
    for path in reversed(made):
        with contextlib.suppress(OSError):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)


def _same_name(path: Path) -> Path | None:
    """Return a file beside `path`, or a folder beside its folder, that differs in case alone."""
    for each in (path, path.parent):
        try:
            for other in each.parent.iterdir():
                if other.name != each.name and other.name.lower() == each.name.lower():
                    return other
        except OSError:
            continue
    return None


def _check_name(thing: str, name: str, allowed: re.Pattern[str], taken: Iterable[str] = ()) -> None:
    """Raise `OptionError` for a name that no file should have."""
    problem = None
    if not allowed.fullmatch(name):
        letters = "small letters" if allowed is _KIND else "letters"
        dot = ", '.'" if allowed is _PROFILE else ""
        problem = (
            f"a name keeps to {letters}, digits, '_'{dot} and '-', and begins"
            " with a letter or digit"
        )
    elif name.split(".")[0].lower() in _DEVICES:
        problem = "Windows has a device of that name"
    elif name.lower() in taken:
        problem = "that word has a meaning of its own"
    if problem:
        raise OptionError(f"a {thing} cannot be called {quote(name)}: {problem}")


def copy_layout(
    templates: Templates, folder: Path, name: str, like: str | None = None
) -> list[NewFile]:
    """Copy the layout `like` as `name`; the default is `name` itself, or else chunks.

    Names of the copied folder in the files become the new one. Raises `OptionError`.
    """
    _check_name("layout", name, _LAYOUT, {"shipped", "prompt"})
    known = templates.layouts()
    source = like or (name if name in known else "chunks")
    plain = source.removeprefix("shipped/")
    if plain not in known:
        hint = suggest_name(source, known)
        raise OptionError(f"there is no layout {quote(source)}{hint}", option="layout")
    origin = source.removesuffix(plain)
    texts: dict[str, str] = {}
    for template in templates.names():
        if template.startswith(f"{plain}/"):
            text = templates.source(f"{origin}{template}")[0]
            texts[template.removeprefix(f"{plain}/")] = text.replace(f'"{plain}/', f'"{name}/')
    if "layout.yaml" not in texts:
        texts = {"layout.yaml": f'description: "A copy of {plain}"\n', **texts}
    # Editors find the schema by this line.
    if not texts["layout.yaml"].startswith(SCHEMA_MODELINE):
        texts["layout.yaml"] = f"{SCHEMA_MODELINE}../{_SCHEMA}\n{texts['layout.yaml']}"
    schema = json.dumps(layout_schema(), indent=2, ensure_ascii=False) + "\n"
    drafts = [NewFile(folder / name / file, text) for file, text in texts.items()]
    return [*drafts, NewFile(folder / _SCHEMA, schema, shared=True)]


def copy_format(
    templates: Templates, folder: Path, name: str, like: str | None = None, only: Sequence[str] = ()
) -> list[NewFile]:
    """Copy the templates of the format `like` (default markdown) as `name`, for all or some
    layouts.

    The copies keep the ending of the originals, and so their escaping; only a name of the same
    syntax, such as html for XML, is an ending itself. Raises `OptionError`.
    """
    _check_name(
        "format", name, _LAYOUT, {*FORMAT_EXTENSIONS, *FORMAT_EXTENSIONS.values(), "yaml", "j2"}
    )
    source = like or "markdown"
    known = templates.layouts()
    for one in only:
        _there(one, known)
    formats = {one: templates.formats(one) for one in only or known}
    if not any(source in have for have in formats.values()):
        hint = suggest_name(source, {each for have in formats.values() for each in have})
        raise OptionError(f"there is no format {quote(source)}{hint}", option="format")
    missing = [one for one, have in formats.items() if source not in have]
    if only and missing:
        message = f'the layout "{missing[0]}" has no format {quote(source)}'
        raise OptionError(message, option="format")
    drafts: list[NewFile] = []
    for one in sorted(set(formats) - set(missing)):
        look = templates.layout(one, source)
        ending = look.page_name.partition("/")[2].removeprefix("layout.").removesuffix(".j2")
        syntax = ending.rpartition(".")[2]
        new = name if syntax_of(name) == syntax_of(syntax) != "txt" else f"{name}.{syntax}"
        own = [n for n in look.files() if n.startswith(f"{one}/")] if not only else look.files()
        copied = {f'"{n}"': f'"{one}/{_stem(n)}.{new}.j2"' for n in own}
        for file in own:
            text = templates.source(file)[0]
            for old, changed in copied.items():
                text = text.replace(old, changed)
            drafts.append(NewFile(folder / one / f"{_stem(file)}.{new}.j2", text))
    return drafts


def _there(layout: str, known: Sequence[str]) -> None:
    """Raise `OptionError` if there is no such layout."""
    if layout not in known:
        hint = suggest_name(layout, known)
        if _LAYOUT.fullmatch(layout):
            make = f"; make it first: promptforge new layout {layout}"
            hint = did_you_mean(layout, known) or make
        raise OptionError(f"there is no layout {quote(layout)}{hint}", option="layout")


def _stem(name: str) -> str:
    return _part(name.partition("/")[2])


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
    _check_name("kind", name, _KIND, {"layout", "item"})
    _there(of, templates.layouts())
    have = templates.formats(of)
    for one in formats:
        if one not in have:
            message = f'the layout "{of}" has no format {quote(one)}{suggest_name(one, have)}'
            raise OptionError(message, option="format")
    drafts = []
    for one in formats or have:
        look = templates.layout(of, one)
        ending = look.page_name.partition("/")[2].removeprefix("layout.").removesuffix(".j2")
        files = {_stem(file): file for file in look.files()}
        source = files.get(like or name) or files.get("item")
        if source is None:
            raise TemplateError(f'the layout "{of}" has no "item.{ending}.j2" to copy')
        text = templates.source(source)[0]
        text = _FIRST_COMMENT.sub(lambda found: _about(name, found[0]), text, count=1)
        drafts.append(NewFile(folder / of / f"{name}.{ending}.j2", text))
    return drafts


def _about(kind: str, comment: str) -> str:
    """Rewrite the first comment of an item template for another kind; the list of uses stays."""
    uses = re.search(r"Uses:.*", comment, re.DOTALL)
    return f'{{# One item of the kind "{kind}". {uses[0] if uses else "#}"}'


def copy_prompt_templates(
    templates: Templates, folder: Path, name: str, like: str | None = None
) -> list[NewFile]:
    """Copy the prompt templates `like` as `name`; the default is `name` itself, or else default.

    The copy is whole: it holds the templates of default that `like` lacks. Raises `OptionError`.
    """
    _check_name("prompt", name, _LAYOUT, {"shipped"})
    known = templates.prompts()
    source = like or (name if name in known else "default")
    plain = source.removeprefix("shipped/")
    if plain not in known:
        hint = suggest_name(source, known)
        raise OptionError(f"there are no prompt templates {quote(source)}{hint}", option="prompt")
    copied: dict[str, str] = {}
    for own, shipped in ((plain, source.removesuffix(plain)), ("default", "")):
        lead = f"{PROMPTS_FOLDER}/{own}/"
        there = {_part(file) for file in copied}
        for template in templates.names():
            file, original = template.removeprefix(lead), f"{shipped}{template}"
            if file != template and _part(file) not in there and templates.find(original):
                text = templates.source(original)[0]
                copied[file] = text.replace(f'"{lead}', f'"{PROMPTS_FOLDER}/{name}/')
    return [
        NewFile(folder / PROMPTS_FOLDER / name / file, text)
        for file, text in sorted(copied.items())
    ]


def _part(file: str) -> str:
    return file.partition(".")[0]


def copy_profile(
    folders: Sequence[Path], folder: Path, name: str, like: str | None = None
) -> list[NewFile]:
    """Copy the profile `like` as `name`, with the schema; by default, list every key as a comment.

    Raises `OptionError`.
    """
    _check_name("profile", name, _PROFILE)
    known = {each: path for each, _, path in find_profiles(folders)}
    source = (like or (name if name in known else "default")).removeprefix("shipped/")
    if source not in known:
        hint = suggest_name(source, known)
        raise OptionError(f"there is no profile {quote(source)}{hint}", option="profile")
    path = known[source]
    if like is not None and like.startswith("shipped/"):
        path = shipped_folder("profiles") / f"{source}.yaml"
    text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    if source == "default":
        text = _every_key(text, name)
    elif name != source:
        text = _ORIGIN.sub("", text)
    keys = json.dumps(profile_schema(), indent=2, ensure_ascii=False) + "\n"
    return [
        NewFile(folder / f"{name}.yaml", text),
        NewFile(folder / "schema.json", keys, shared=True),
    ]


def _every_key(text: str, name: str) -> str:
    """Turn each key of the default profile into a comment, since a key set there binds every
    layout.
    """
    first, _, rest = text.partition("\n")
    lines = []
    for line in rest.split("\n"):
        key = re.match(r"([a-z_]+):", line)
        if key and key[1] == "description":
            line = f'description: "{name}"'
        elif key:
            line = f"# {line}"
        lines.append(line)
    return "\n".join([first, *lines])


_START = Path(__file__).parent / "start"
"""The folder of the files."""

PROJECT_FILE_NAMES = (
    "items.json",
    "templates/mine/layout.yaml",
    "templates/mine/item.md.j2",
    "profiles/mine.yaml",
    "tests/mine.yaml",
)

PROJECT_SCHEMAS = {
    "templates/layout.schema.json": layout_schema,
    "profiles/schema.json": profile_schema,
}
"""The schemas for editors, made when the project is."""


def project_files(folder: Path) -> list[NewFile]:
    """Return the files of a project in `folder`."""
    texts = {name: (_START / name).read_text(encoding="utf-8") for name in PROJECT_FILE_NAMES}
    schemas = {
        name: json.dumps(make(), indent=2, ensure_ascii=False) + "\n"
        for name, make in PROJECT_SCHEMAS.items()
    }
    return [NewFile(folder / name, text) for name, text in {**texts, **schemas}.items()]
