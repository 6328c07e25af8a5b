"""Files to begin with: copies of layouts, formats, looks of kinds, prompts and profiles, under a name of one's own."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from . import _shipped, layouts
from .errors import OptionError, TemplateError, did_you_mean, nearest, quote
from .escaping import syntax_of
from .profiles import find_profiles, schema
from .template_files import EXTENSIONS
from .templates import PROMPTS, Templates
from .writing import clean, whole
from .yamltext import MODELINE

_SCHEMA = "layout.schema.json"
_LAYOUT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KIND = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_FIRST = re.compile(r"\A\{#.*?#\}", re.DOTALL)
_ORIGIN = re.compile(
    r"^(?:match|as_of|references|unknown):.*\n(?:[ \t]+\S.*\n|- .*\n)*", re.MULTILINE
)
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)
"""What Windows takes for a device whatever its ending."""


class Draft(NamedTuple):
    """A file that is to be written."""

    path: Path
    text: str
    shared: bool = False
    """Whether it may be there already, and stays as it is."""


def missing(drafts: Sequence[Draft]) -> list[Draft]:
    """Return those that are to be written: all but what is shared and there."""
    return [draft for draft in drafts if not (draft.shared and draft.path.exists())]


def write(drafts: Sequence[Draft]) -> list[Draft]:
    """Write files that are not there yet, all of them or none; return those that are `missing`.

    Raises `OptionError` where one is there already, or lies where no file can be.
    """
    try:
        for draft in drafts:
            if draft.path.parent.is_dir():
                clean(draft.path.parent, draft.path.name)
        drafts = missing(drafts)
        _see(drafts)
    except OSError as error:
        raise OptionError(
            f"{quote(str(error.filename))} cannot be read: {error.strerror}"
        ) from None
    done: list[Path] = []
    try:
        for draft in drafts:
            for folder in reversed([p for p in draft.path.parents if not p.exists()]):
                folder.mkdir(exist_ok=True)
                done.append(folder)
            done.append(draft.path)
            with whole(draft.path, new=True) as file:
                file.write(draft.text.encode())
    except BaseException as error:
        if not isinstance(error, FileExistsError):
            _undo(done)
        elif done:
            _undo(done[:-1])  # somebody else has just made the last one
        if isinstance(error, OSError):
            raise OptionError(
                f"{quote(str(error.filename))} cannot be written: {error.strerror}"
            ) from None
        raise
    return list(drafts)


def _see(drafts: Sequence[Draft]) -> None:
    """Raise `OptionError` where a file cannot be made."""
    for draft in drafts:
        there = next(
            (p for p in (draft.path, *draft.path.parents) if p.exists() or p.is_symlink()), None
        )
        if there == draft.path:
            raise OptionError(
                f"{quote(str(draft.path))} is there already, and nothing is overwritten"
            )
        if there is not None and not there.is_dir():
            raise OptionError(f"{quote(str(there))} is a file, so no folder can be made there")
        twin = _twin(draft.path)
        if twin is not None:
            raise OptionError(
                f"{quote(str(twin))} is there already; on some systems that is the same name"
            )


def _undo(made: Sequence[Path]) -> None:
    """Remove files and folders that were made, the last first."""
    for path in reversed(made):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True) if not path.is_dir() else path.rmdir()


def _twin(path: Path) -> Path | None:
    """Return the file or folder beside `path` whose name differs in capitals alone."""
    for each in (path, path.parent):
        try:
            for other in each.parent.iterdir():
                if other.name != each.name and other.name.lower() == each.name.lower():
                    return other
        except OSError:
            continue
    return None


def _named(what: str, name: str, allowed: re.Pattern[str], taken: Iterable[str] = ()) -> None:
    if not allowed.fullmatch(name):
        letters = "small letters" if allowed is _KIND else "letters"
        dot = ", '.'" if allowed is _PROFILE else ""
        raise OptionError(
            f"a {what} cannot be called {quote(name)}: a name keeps to {letters}, digits, '_'{dot} and '-', and begins"
            " with a letter or digit"
        )
    if name.split(".")[0].lower() in _DEVICES:
        raise OptionError(
            f"a {what} cannot be called {quote(name)}: Windows has a device of that name"
        )
    if name.lower() in taken:
        raise OptionError(
            f"a {what} cannot be called {quote(name)}: that word has a meaning of its own"
        )


def layout(templates: Templates, folder: Path, name: str, like: str | None = None) -> list[Draft]:
    """Return a copy of the layout `like` (of the layout `name` itself, if there is one; else of chunks) as `name`.

    What the copied files say of their own folder is changed to the new one. Raises `OptionError`.
    """
    _named("layout", name, _LAYOUT, {"shipped", "prompt"})
    known = templates.layouts()
    source = like or (name if name in known else "chunks")
    if source.removeprefix("shipped/") not in known:
        raise OptionError(
            f"there is no layout {quote(source)}{nearest(source, known)}", option="layout"
        )
    drafts = []
    plain = source.removeprefix("shipped/")
    for template in templates.names():
        if template.startswith(f"{plain}/"):
            text = templates.source(f"shipped/{template}" if source != plain else template)[0]
            text = text.replace(f'"{plain}/', f'"{name}/')
            drafts.append(Draft(folder / name / template.removeprefix(f"{plain}/"), text))
    if not any(draft.path.name == "layout.yaml" for draft in drafts):
        drafts.insert(
            0, Draft(folder / name / "layout.yaml", f'description: "A copy of {plain}"\n')
        )
    drafts = [_told(draft) if draft.path.name == "layout.yaml" else draft for draft in drafts]
    schema = json.dumps(layouts.schema(), indent=2, ensure_ascii=False) + "\n"
    return [*drafts, Draft(folder / _SCHEMA, schema, shared=True)]


def _told(settings: Draft) -> Draft:
    """Return the settings of a layout with the line that tells editors where the schema is."""
    line = f"{MODELINE}../{_SCHEMA}\n"
    return (
        settings
        if settings.text.startswith(MODELINE)
        else Draft(settings.path, line + settings.text)
    )


def new_format(
    templates: Templates, folder: Path, name: str, like: str | None = None, only: Sequence[str] = ()
) -> list[Draft]:
    """Return copies of the templates of the format `like` (default markdown), for all or some layouts, as `name`.

    The copies end as the originals do, so that they are escaped alike; one of XML that is called html ends in html.
    Raises `OptionError`.
    """
    _named("format", name, _LAYOUT, {*EXTENSIONS, *EXTENSIONS.values(), "yaml", "j2"})
    source = like or "markdown"
    known = templates.layouts()
    for one in only:
        _there(one, known)
    formats = {one: templates.formats(one) for one in only or known}
    if not any(source in have for have in formats.values()):
        every = {each for have in formats.values() for each in have}
        raise OptionError(
            f"there is no format {quote(source)}{nearest(source, every)}", option="format"
        )
    missing = [one for one, have in formats.items() if source not in have]
    if only and missing:
        raise OptionError(
            f'the layout "{missing[0]}" has no format {quote(source)}', option="format"
        )
    drafts: list[Draft] = []
    for one in sorted(set(formats) - set(missing)):
        look = templates.look(one, source)
        ending = look.page_name.partition("/")[2].removeprefix("layout.").removesuffix(".j2")
        syntax = ending.rpartition(".")[2]
        new = name if syntax_of(name) == syntax_of(syntax) != "txt" else f"{name}.{syntax}"
        own = [n for n in look.files() if n.startswith(f"{one}/")] if not only else look.files()
        copied = {f'"{n}"': f'"{one}/{_stem(n)}.{new}.j2"' for n in own}
        for file in own:
            text = templates.source(file)[0]
            for old, changed in copied.items():
                text = text.replace(old, changed)
            drafts.append(Draft(folder / one / f"{_stem(file)}.{new}.j2", text))
    return drafts


def _there(layout: str, known: Sequence[str]) -> None:
    """Raise `OptionError` where a layout is not there yet."""
    if layout not in known:
        hint = did_you_mean(layout, known) or f"; make it first: promptforge new layout {layout}"
        hint = hint if _LAYOUT.fullmatch(layout) else nearest(layout, known)
        raise OptionError(f"there is no layout {quote(layout)}{hint}", option="layout")


def _stem(name: str) -> str:
    return _part(name.partition("/")[2])


def kind(
    templates: Templates,
    folder: Path,
    name: str,
    of: str,
    like: str | None = None,
    formats: Sequence[str] = (),
) -> list[Draft]:
    """Return the look of items of the kind `name` in the layout `of`: a copy of that of `like` (default: any other).

    Raises `OptionError`.
    """
    _named("kind", name, _KIND, {"layout", "item"})
    _there(of, templates.layouts())
    have = templates.formats(of)
    for one in formats:
        if one not in have:
            raise OptionError(
                f'the layout "{of}" has no format {quote(one)}{nearest(one, have)}', option="format"
            )
    drafts = []
    for one in formats or have:
        look = templates.look(of, one)
        ending = look.page_name.partition("/")[2].removeprefix("layout.").removesuffix(".j2")
        files = {_stem(file): file for file in look.files()}
        source = files.get(like or name) or files.get("item")
        if source is None:
            raise TemplateError(f'the layout "{of}" has no "item.{ending}.j2" to copy')
        text = _FIRST.sub(
            lambda found: _about(name, found[0]), templates.source(source)[0], count=1
        )
        drafts.append(Draft(folder / of / f"{name}.{ending}.j2", text))
    return drafts


def _about(kind: str, comment: str) -> str:
    """Return the first comment of a look, of which only what it uses stays, for another kind."""
    uses = re.search(r"Uses:.*", comment, re.DOTALL)
    return f'{{# One item of the kind "{kind}". {uses[0] if uses else "#}"}'


def prompt(templates: Templates, folder: Path, name: str, like: str | None = None) -> list[Draft]:
    """Return a copy of the prompt templates `like` (of `name` itself, if there are such; else of default) as `name`.

    It is whole: what `like` leaves to default is in it too. Raises `OptionError`.
    """
    _named("prompt", name, _LAYOUT, {"shipped"})
    known = templates.prompts()
    source = like or (name if name in known else "default")
    plain = source.removeprefix("shipped/")
    if plain not in known:
        raise OptionError(
            f"there are no prompt templates {quote(source)}{nearest(source, known)}",
            option="prompt",
        )
    copied: dict[str, str] = {}
    for own, shipped in ((plain, source.removesuffix(plain)), ("default", "")):
        lead = f"{PROMPTS}/{own}/"
        there = {_part(file) for file in copied}
        for template in templates.names():
            file = template.removeprefix(lead)
            if (
                file != template
                and _part(file) not in there
                and templates.find(f"{shipped}{template}")
            ):
                text = templates.source(f"{shipped}{template}")[0]
                copied[file] = text.replace(f'"{lead}', f'"{PROMPTS}/{name}/')
    return [Draft(folder / PROMPTS / name / file, text) for file, text in sorted(copied.items())]


def _part(file: str) -> str:
    return file.partition(".")[0]


def profile(
    folders: Sequence[Path], folder: Path, name: str, like: str | None = None
) -> list[Draft]:
    """Return a copy of the profile `like` as `name`, or one that lists every key and sets none; and its schema.

    Raises `OptionError`.
    """
    _named("profile", name, _PROFILE)
    known = {each: path for each, _, path in find_profiles(folders)}
    source = (like or (name if name in known else "default")).removeprefix("shipped/")
    if source not in known:
        raise OptionError(
            f"there is no profile {quote(source)}{nearest(source, known)}", option="profile"
        )
    path = known[source]
    if like is not None and like.startswith("shipped/"):
        path = _shipped.folder("profiles") / f"{source}.yaml"
    text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    if source == "default":
        text = _every_key(text, name)
    elif (
        name != source
    ):  # which LLMs it is for, and where its figures are from, is said of the original alone
        text = _ORIGIN.sub("", text)
    keys = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    return [Draft(folder / f"{name}.yaml", text), Draft(folder / "schema.json", keys, shared=True)]


def _every_key(text: str, name: str) -> str:
    """Return the default profile with each key as a comment: a key that is stated takes it out of a layout's hands."""
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
