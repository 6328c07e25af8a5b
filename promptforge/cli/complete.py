"""Names that a shell completes.

They are found by listing folders: completion must answer at once, so no engine is loaded.

`promptforge completion`: what a shell needs to complete commands, options and names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from ..files import YAML_SUFFIXES, format_of, shipped_folder
from .output import write_output

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def _folders(context: click.Context, what: str) -> Iterator[Path]:
    """Yield folders of templates or profiles: of the line so far, of the environment, shipped."""
    yield from map(Path, context.params.get(what) or ())
    named = os.environ.get(f"PROMPTFORGE_{what.upper()}", "").split(os.pathsep)
    yield from map(Path, filter(None, named))
    yield shipped_folder(what)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except OSError:
        return []


def _pages(context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield layout and file name of each page and each `layout.yaml`."""
    for folder in _folders(context, "templates"):
        for entry in _listed(folder):
            if not entry.name.startswith(("_", ".")) and entry.is_dir():
                yield from (
                    (entry.name, f.name)
                    for f in _listed(Path(entry.path))
                    if f.name.startswith("layout.")
                )


def complete_layout(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the name of a layout."""
    return _some({layout for layout, _ in _pages(context)}, begun)


def complete_format(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the name of a format."""
    endings = {
        n.removeprefix("layout.").removesuffix(".j2")
        for _, n in _pages(context)
        if n.endswith(".j2")
    }
    return _some({format_of(ending) for ending in endings}, begun)


def complete_profile(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the name of a profile."""
    found = (entry.name for folder in _folders(context, "profiles") for entry in _listed(folder))
    return _some({Path(name).stem for name in found if name.endswith(YAML_SUFFIXES)}, begun)


def complete_prompt(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the name of a set of templates for whole prompts."""
    folders = (_listed(folder / "prompt") for folder in _folders(context, "templates"))
    return _some({entry.name for listed in folders for entry in listed if entry.is_dir()}, begun)


def complete_tokenizer(
    _context: click.Context, _parameter: click.Parameter, begun: str
) -> list[str]:
    """Complete the name of a tokenizer."""
    from ..tokenizers.registry import list_tokenizers as names  # it names them without loading one

    return _some({name for name, _ in names() if name != "file:PATH"}, begun)


def complete_source(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the argument of `show`: a layout, a profile, a prompt set or a template."""
    files = set()
    lead = begun.rpartition("/")[0]
    for folder in _folders(context, "templates"):
        for entry in _listed(folder / lead) if lead and ".." not in lead else ():
            files.add(f"{lead}/{entry.name}")
    files |= {f"prompt/{name}" for name in complete_prompt(context, parameter, "")}
    return [
        *complete_layout(context, parameter, begun),
        *complete_profile(context, parameter, begun),
        *_some(files, begun),
    ]


def complete_original(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the original that `new` copies."""
    by: dict[str, Complete] = {
        "layout": complete_layout,
        "format": complete_format,
        "prompt": complete_prompt,
        "profile": complete_profile,
    }
    # The kind is not known yet where the line ends in --from: then every name is offered.
    what = context.params.get("what")
    chosen = [complete for kind, complete in by.items() if what not in by or kind == what]
    return [name for complete in chosen for name in complete(context, parameter, begun)]


def complete_code(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Complete a code."""
    from ..lint.findings import CODES

    return _some(CODES, begun.upper())


def _some(names: Iterable[str], begun: str) -> list[str]:
    return sorted(name for name in names if name.startswith(begun))


COMPLETIONS: dict[str, Complete] = {
    "layout": complete_layout,
    "format": complete_format,
    "prompt": complete_prompt,
    "tokenizer": complete_tokenizer,
}
"""Option → completion of its value."""

_SHELLS = {
    "bash": 'eval "$(promptforge completion bash)"   # in ~/.bashrc; bash 4.4 or later',
    "zsh": 'eval "$(promptforge completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "promptforge completion fish | source   # in ~/.config/fish/config.fish",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the script by which a shell completes commands, options and the names of layouts, profiles and the like.

    \b
      eval "$(promptforge completion bash)"     in ~/.bashrc
      eval "$(promptforge completion zsh)"      in ~/.zshrc, after compinit
      promptforge completion fish | source      in ~/.config/fish/config.fish
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace
    kind = get_completion_class(shell)
    assert kind is not None
    made = kind(ctx.find_root().command, {}, "promptforge", "_PROMPTFORGE_COMPLETE")
    write_output(f"# {_SHELLS[shell]}\n{made.source_template % made.source_vars()}", None)
