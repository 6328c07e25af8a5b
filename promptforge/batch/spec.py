"""Settings shared by all rows of a run, as plain data, and the hash that results depend on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from .._version import __version__
from ..config.options import Options
from ..config.profiles import load_profile
from ..errors import OptionError, quote, suggest_name
from ..files import Folders, folder_paths, naming_path, shipped_folder
from ..prompts.prompt import Renderer
from ..prompts.providers import SHAPES
from ..tokenizers.registry import get_tokenizer

CONTEXT_ONLY = "context"
"""The value of `to` for the context text alone, without a prompt around it."""


class BatchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a run. Plain data: it travels to other processes and machines."""

    profile: str | None = None
    templates: tuple[str, ...] = ()
    """Folders of the user's; the first wins. The same holds for `profiles`."""
    profiles: tuple[str, ...] = ()
    workspace: str = "."
    """Folder that holds all files a row may name."""
    attack: str | None = None
    """ATT&CK data, in which techniques are looked up."""
    to: str = CONTEXT_ONLY
    """`context`, or a shape of `Renderer.prompt`."""
    options: dict[str, Any] = {}


def make_spec(
    to: str,
    profile: str | Path | None,
    templates: Folders,
    profiles: Folders,
    workspace: str | Path,
    attack: str | None,
    options: dict[str, Any],
) -> BatchSpec:
    """Build the spec; its folders are absolute, so they mean the same to any process."""
    return BatchSpec(
        profile=None if profile is None else str(profile),
        templates=_absolute(templates),
        profiles=_absolute(profiles),
        workspace=os.path.abspath(workspace),
        attack=None if attack is None else os.path.abspath(attack),
        to=to,
        options=options,
    )


def check_spec(spec: BatchSpec) -> Options:
    """Return the options in force; raises `PromptForgeError` for settings that no row can use."""
    if spec.to != CONTEXT_ONLY and spec.to not in SHAPES:
        hint = suggest_name(spec.to, [CONTEXT_ONLY, *SHAPES])
        raise OptionError(f"there is no shape {quote(spec.to)}{hint}", option="to")
    try:
        msgspec.json.encode(spec.options)
    except TypeError as error:
        message = f"options of a batch are plain data, for other processes: {error}"
        raise OptionError(message) from None
    return make_renderer(spec).check()


def make_renderer(spec: BatchSpec, profile: str | None = None) -> Renderer:
    """Build the renderer of a run, or of a row with another profile."""
    return Renderer(
        profile=profile or spec.profile,
        templates=spec.templates,
        profiles=spec.profiles,
        **spec.options,
    )


def hash_inputs(spec: BatchSpec) -> dict[str, str]:
    """Hash each input of a run that results depend on, rows excepted; keys name the inputs.

    All templates and profiles count, since a row may name another layout or profile.
    """
    tokenizer = get_tokenizer(check_spec(spec).tokenizer)
    profile = load_profile(spec.profile or "default", spec.profiles)
    chain = {file.name: file.sha256 for file in profile.chain}
    inputs: dict[str, object] = {
        "version": __version__,
        "options": [spec.to, spec.options],
        "profile": [spec.profile, chain, list(_files(spec.profiles, "profiles"))],
        "templates": list(_files(spec.templates, "templates")),
        "tokenizer": [tokenizer.name, tokenizer.fingerprint],
    }
    return {name: _digest_of(value) for name, value in inputs.items()}


def fingerprint_of(things: dict[str, str]) -> str:
    """Combine the hashes of `made_of` into one."""
    return _digest_of(things)


def _digest_of(value: object) -> str:
    return digest(msgspec.json.encode(value, order="deterministic"))


def digest(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _absolute(folders: Folders) -> tuple[str, ...]:
    return tuple(os.path.abspath(folder) for folder in folder_paths(folders))


def _files(folders: Sequence[str], kind: str) -> Iterator[tuple[str, str]]:
    """Yield name and hash of each file in `folders` and in the shipped folder of that kind."""
    for folder in (*map(Path, folders), shipped_folder(kind)):
        for path in sorted(_walk(folder)):
            if path.suffix in (".j2", ".yaml", ".yml") and path.is_file():
                with naming_path(path):
                    yield path.relative_to(folder).as_posix(), digest(path.read_bytes())


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder; raises `OSError` for a folder that cannot be read.

    `os.walk` and `Path.rglob` pass over such a folder in silence: a template that nobody could
    read would then be missing from the hash.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise error

    for inside, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(inside, name) for name in names)
