"""What all rows of a run have in common, as plain data, and the key of everything that their results depend on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from .. import __version__, _shipped
from ..errors import OptionError, nearest, quote
from ..folders import Folders, paths
from ..options import Options
from ..profiles import load_profile
from ..prompting.renderer import Renderer
from ..prompting.shapes import SHAPES
from ..tokens import get_tokenizer
from ..writing import naming

CONTEXT = "context"
"""What `to` says for the context text alone."""


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """How the rows of a run are rendered. Plain data: it travels to other processes and machines."""

    profile: str | None = None
    templates: tuple[str, ...] = ()
    """Folders of the user's, the first wins; so are `profiles`."""
    profiles: tuple[str, ...] = ()
    workspace: str = "."
    """What a row names lies in this folder."""
    attack: str | None = None
    """Where techniques are looked up."""
    to: str = CONTEXT
    """`context`, or a shape of `Renderer.prompt`."""
    options: dict[str, Any] = {}


def make(
    to: str,
    profile: str | Path | None,
    templates: Folders,
    profiles: Folders,
    workspace: str | Path,
    attack: str | None,
    options: dict[str, Any],
) -> Spec:
    """Return the spec of what a caller said, with folders that mean the same to a process elsewhere."""
    return Spec(
        profile=None if profile is None else str(profile),
        templates=_absolute(templates),
        profiles=_absolute(profiles),
        workspace=os.path.abspath(workspace),
        attack=None if attack is None else os.path.abspath(attack),
        to=to,
        options=options,
    )


def check(spec: Spec) -> Options:
    """Return the options in force; raises `PromptForgeError` for what no row could be rendered with."""
    if spec.to != CONTEXT and spec.to not in SHAPES:
        raise OptionError(
            f"there is no shape {quote(spec.to)}{nearest(spec.to, [CONTEXT, *SHAPES])}", option="to"
        )
    try:
        msgspec.json.encode(spec.options)
    except TypeError as error:
        raise OptionError(
            f"options of a batch are plain data, for other processes: {error}"
        ) from None
    return renderer(spec).check()


def renderer(spec: Spec, profile: str | None = None) -> Renderer:
    """Return the renderer of a run, or that of a row with a profile of its own."""
    return Renderer(
        profile=profile or spec.profile,
        templates=spec.templates,
        profiles=spec.profiles,
        **spec.options,
    )


def made_of(spec: Spec) -> dict[str, str]:
    """Return a hash of each thing, besides the row itself, that a result depends on.

    All templates and profiles count, since a row may name another layout or profile.
    """
    chosen = check(spec)
    chain = {
        file.name: file.sha256
        for file in load_profile(spec.profile or "default", spec.profiles).chain
    }
    things: dict[str, object] = {
        "version": __version__,
        "options": [spec.to, spec.options],
        "profile": [spec.profile, chain, list(_files(spec.profiles, "profiles"))],
        "templates": list(_files(spec.templates, "templates")),
        "tokenizer": [
            get_tokenizer(chosen.tokenizer).name,
            get_tokenizer(chosen.tokenizer).fingerprint,
        ],
    }
    return {
        name: digest(msgspec.json.encode(thing, order="deterministic"))
        for name, thing in things.items()
    }


def ground(things: dict[str, str]) -> str:
    """Return one hash of all that `made_of` names."""
    return digest(msgspec.json.encode(things, order="deterministic"))


def digest(data: bytes) -> str:
    """Return the SHA-256 of `data`, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _absolute(folders: Folders) -> tuple[str, ...]:
    return tuple(os.path.abspath(folder) for folder in paths(folders))


def _files(folders: Sequence[str], kind: str) -> Iterator[tuple[str, str]]:
    """Yield the name and hash of each file in `folders` and in the shipped folder of that kind."""
    for folder in (*map(Path, folders), _shipped.folder(kind)):
        for path in sorted(_below(folder)):
            if path.suffix in (".j2", ".yaml", ".yml") and path.is_file():
                with naming(path):
                    yield path.relative_to(folder).as_posix(), digest(path.read_bytes())


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that is there; raises `OSError` where one cannot be looked into."""

    def closed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise error

    for inside, _, names in os.walk(folder, onerror=closed):
        yield from (Path(inside, name) for name in names)
